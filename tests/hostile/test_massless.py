"""Joints that nothing resists are refused, also where only rounding pretends to: inertias that cancel at every scale."""

from __future__ import annotations

import numpy as np
import pytest

from qddot import Inertia
from qddot.algorithms.forward_dynamics import articulated_bodies, composite_bodies
from qddot.model.description import Joint, Link
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.model.pose import unit
from qddot.model.spatial import Mat, Transform, Vec
from qddot.rigid_motion import exp_rotation
from tests.robots import random_pose

Numbers = np.random.Generator


def pose(rng: Numbers, scale: float) -> Transform:
    found = random_pose(rng)
    return Transform(found.R, found.p * scale)


def direction(rng: Numbers) -> Vec:
    return unit(Vec(*rng.normal(size=3)))[0]


def point(mass: float, at: np.ndarray) -> Inertia:
    return Inertia(mass, at.tolist(), (0.0, 0.0, 0.0))


def turned(axis: Vec, angle: float) -> Mat:
    return Mat(*(Vec(*row) for row in exp_rotation(np.array(axis) * angle).tolist()))


def seen_from(there: Transform, p: np.ndarray) -> np.ndarray:
    """A point of the parent, in a frame."""
    return np.array(there.R, float).T @ (p - np.array(there.p, float))


def model(joints: list[Joint], *inertias: Inertia | None) -> Model:
    return Model("massless", [Link("base"), *(Link(f"l{k}", inertia) for k, inertia in enumerate(inertias))], joints)


def on_the_axis(rng: Numbers, scale: float) -> Model:
    """A point of mass that a fixed joint, turned and far off, puts on the axis."""
    axis, fixed = direction(rng), pose(rng, scale)
    mass = point(2.0, seen_from(fixed, np.array(axis) * rng.normal() * scale))
    hinge = Joint("j0", "continuous", "base", "l0", pose(rng, 1.0), axis)
    return model([hinge, Joint("j1", "fixed", "l0", "l1", fixed)], None, mass)


def one_axis_twice(rng: Numbers, scale: float) -> Model:
    """Two hinges about one line, the first without a mass of its own."""
    axis = direction(rng)
    first = Joint("j0", "continuous", "base", "l0", pose(rng, 1.0), axis)
    second = Joint("j1", "continuous", "l0", "l1", Transform(turned(axis, rng.normal()), axis * scale), axis)
    return model(
        [first, second],
        None,
        Inertia(1.5, (rng.normal(size=3) * scale).tolist(), (0.1 * scale**2, 0.2 * scale**2, 0.15 * scale**2)),
    )


def in_the_centre(rng: Numbers, scale: float) -> Model:
    """Three hinges through a point, where all mass is."""
    joints = [
        Joint(f"j{k}", "continuous", f"l{k - 1}" if k else "base", f"l{k}", pose(rng, 0.0 if k else 1.0), direction(rng))
        for k in range(3)
    ]
    fixed = pose(rng, scale)
    mass = point(1.0, seen_from(fixed, np.zeros(3)))
    return model([*joints, Joint("j3", "fixed", "l2", "l3", fixed)], None, None, None, mass)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("singular", [on_the_axis, one_axis_twice, in_the_centre])
def test_what_cancels_is_no_inertia(singular, scale):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        made = singular(rng, scale)
        n = made.mechanism.nv
        state = rng.normal(size=(3, n)).tolist()
        for regrouped in (False, True):
            for method in (articulated_bodies, composite_bodies):
                with np.errstate(all="ignore"):
                    _, margins = method(made.over(Floats(), regrouped=regrouped), *state)
                assert not min(margins) > 0
