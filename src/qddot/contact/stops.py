"""Joint limits among contacts: a stop is a contact without friction and without restitution."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.errors import InputError, InputWarning, stacklevel_outside
from qddot.model.directed import pair
from qddot.model.scalar import is_zero

if TYPE_CHECKING:
    from qddot.robot import Robot


class Stops(NamedTuple):
    """The finite limits of joints; each has a `gap = side (q - bound)`, positive within the limits."""

    q: np.ndarray  # which coordinate (k,)
    side: np.ndarray  # 1 for a lower limit, -1 for an upper one (k,)
    bound: np.ndarray  # (k,), rad or m
    jacobian: np.ndarray  # (k, 3, nv), the gap's rate first

    def gap(self, q: np.ndarray) -> np.ndarray:
        """Return the distances from the limits (k,), rad or m."""
        return self.side * (q[self.q] - self.bound)


def stops_of(robot: Robot, q0: np.ndarray) -> Stops:
    """Return the stops of a robot's joints. Raises InputError: a joint starts beyond one of them."""
    limits = robot.limits
    joints = [c for c in robot.model.mechanism.coordinates if c.single]
    sides = [(c, side, x[c.q.start]) for c in joints for side, x in ((1.0, limits.lower), (-1.0, limits.upper))]
    sides = [(c, side, float(bound)) for c, side, bound in sides if np.isfinite(bound)]
    J = np.zeros((len(sides), 3, robot.nv))
    for k, (c, side, bound) in enumerate(sides):
        J[k, 0, c.v.start] = side
        if side * (q0[c.q.start] - bound) < 0:
            raise InputError(f"q0 of joint {c.name!r} is {q0[c.q.start]:g}, beyond its limit {bound:g}: start within")
    q = np.array([c.q.start for c, _, _ in sides], int)
    return Stops(q, np.array([side for _, side, _ in sides]), np.array([bound for _, _, bound in sides]), J)


def warn_dry(robot: Robot) -> None:
    """Warn of joints that would stick in `Robot.simulate`, but do not here."""
    dry = [
        name
        for name, drive in robot.drives.items()
        if is_zero(drive.smoothing_velocity) and not all(is_zero(x) for x in pair(drive.coulomb))
    ]
    if dry:
        warnings.warn(
            f"dry friction of {', '.join(dry)} slows them among contacts but does not hold them at rest: with a smoothing_velocity "
            "of the drive they come to rest gently; Robot.simulate lets them stick, without contacts",
            InputWarning,
            stacklevel=stacklevel_outside(),
        )
