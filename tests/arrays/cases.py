"""What is tried with every library."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import qddot
from qddot.errors import ModelWarning
from qddot.model.model import Model
from tests.robots import random_model

CALLS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "bias_torque": ("q", "qd"),
    "kinetic_energy": ("q", "qd"),
    "potential_energy": ("q",),
    "transform": ("q",),
    "jacobian": ("q",),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "forward_dynamics_derivatives": ("q", "qd", "tau"),
    "regressor": ("q", "qd", "qdd"),
    "friction_torque": ("qd",),
}


def fresh_arm() -> qddot.Robot:
    """One that has not computed anything yet."""
    return qddot.load("arm7")


@cache
def arm() -> qddot.Robot:
    return fresh_arm()


@cache
def with_quaternions() -> qddot.Robot:
    """A chain with a spherical and a free joint among others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return qddot.Robot(random_model(np.random.default_rng(5), 4, ("revolute", "spherical", "free"), chain=True))


def without_joints() -> qddot.Robot:
    from qddot.model.description import Link

    return qddot.Robot(Model("block", (Link("base"),), ()))


def singular_where_the_mass_is_on_the_axis() -> qddot.Robot:
    """A point mass on two hinges: at q2 = 90 degrees it lies on the first axis."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        first = qddot.Builder("gimbal").body("a", axis=(0, 0, 1))
        return first.body("b", parent="a", axis=(0, 1, 0), inertia=qddot.Inertia(1.0, (1.0, 0.0, 0.0))).robot()


def states(robot: qddot.Robot, lead: tuple[int, ...] = (), seed: int = 0) -> dict[str, np.ndarray]:
    """Inputs by name."""
    rng = np.random.default_rng(seed)
    count = int(np.prod(lead))
    q = np.array([robot.random_configuration(rng) for _ in range(count)]).reshape(*lead, robot.nq)
    return {"q": q, **{name: rng.normal(size=(*lead, robot.nv)) for name in ("qd", "qdd", "tau", "v", "p")}}


def parts(result) -> tuple:
    return result if isinstance(result, tuple) else (result,)
