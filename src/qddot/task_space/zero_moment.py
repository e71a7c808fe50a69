"""The zero moment point: where the ground must carry a robot in a motion (Vukobratovic 1972)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.arrays import as_array
from qddot.compile.kinds import guest
from qddot.errors import InputError, SingularityError

if TYPE_CHECKING:
    from qddot.model.model import Model
    from qddot.robot import Robot

LIGHT = 1e-9
"""A normal force below this fraction of the weight counts as none."""


def zero_moment_point(robot: Robot, q: Any, qd: Any, qdd: Any, point: Any, normal: Any) -> np.ndarray:
    """Return the zero moment point `p = point + n x moment / (n . F)`, with the force F and moment about `point` of the ground."""
    rate, c = robot.momentum_rate(q, qd, qdd), robot.center_of_mass(q)
    if guest((rate,)):
        return of_tensors(rate, c, *robot._guests.known(ground, point, normal))
    o, n, weight = map(np.array, ground(robot.model, point, normal))
    force = rate[..., 3:] - weight
    moment = rate[..., :3] + np.cross(c - o, force)
    carried = force @ n
    if not (carried > LIGHT * (np.linalg.norm(weight) + 1e-300)).all():
        raise SingularityError(
            "the ground carries nothing in this motion, or would have to pull: there is no zero moment point (take normal= along "
            "the ground's reaction, away from gravity)"
        )
    return o + np.cross(n, moment) / carried[..., None]


def ground(model: Model, point: Any, normal: Any) -> tuple[tuple[float, ...], ...]:
    """Return a point of the ground, its unit normal, and the robot's weight, N. Raises InputError: not a point, or not a
    direction."""
    o, n = as_array("point", point, (3,)), as_array("normal", normal, (3,))
    length = np.linalg.norm(n)
    if n.ndim != 1 or o.ndim != 1 or not length > 0:
        raise InputError(f"normal={normal!r}, point={point!r}: one direction and one point are needed")
    weight = sum(float(body.inertia.m) for body in model.bodies) * np.array(model.gravity, float)
    return tuple(map(float, o)), tuple(map(float, n / length)), tuple(map(float, weight))


def of_tensors(rate: Any, c: Any, o: tuple[float, ...], n: tuple[float, ...], weight: tuple[float, ...]) -> Any:
    """Return the zero moment point by operations that every library has; NaN where the ground carries nothing."""
    from qddot.arrays.guests import guest_module

    library, axes = guest_module(rate), range(3)
    force = [rate[..., 3 + k] - weight[k] for k in axes]
    arm = [c[..., k] - o[k] for k in axes]
    cross = lambda a, b: [a[k - 2] * b[k - 1] - a[k - 1] * b[k - 2] for k in axes]  # noqa: E731
    moment = [rate[..., k] + x for k, x in zip(axes, cross(arm, force))]
    carried = sum(x * f for x, f in zip(n, force))
    carried = library.where(carried > LIGHT * math.hypot(*weight), carried, float("nan"))
    return library.stack([o[k] + x / carried for k, x in zip(axes, cross(n, moment))], -1)
