"""Configurations in which a robot stays at rest: gravity and springs exert no force at joints that are not driven.

They are found by Newton's method on the rows of `g(q) + springs(q)` without a drive, with their exact derivative; the shortest step
is taken if there are more joints than rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.arguments import names
from qddot.errors import ConvergenceError, InputError
from qddot.linear.linearization import driven_columns

if TYPE_CHECKING:
    from qddot.robot import Robot

ROUNDS = 100
LONGEST = 0.5  # rad or m: longest step
TOLERANCE = 1e-10  # relative to the largest force of gravity and springs


class Equilibrium(NamedTuple):
    """`q` (..., nq) with the joint forces `tau` (..., nv) that hold it, and `stable` (...), True if it is stable under these
    forces.

    It is stable if the stiffness `d(g + springs)/dq` has only positive eigenvalues; without friction it is not damped.

    >>> found = qddot.load("two_link").equilibrium([1.5, 0.1])  # upright
    >>> found.q.round(3), bool(found.stable)
    (array([1.571, 0.   ]), False)
    """

    q: np.ndarray
    tau: np.ndarray
    stable: np.ndarray


def equilibrium(robot: Robot, q: Any, actuated: Sequence[str], hold: Sequence[str]) -> Equilibrium:
    """See `Robot.equilibrium`."""
    if robot.model.constraints:
        raise InputError(f"{robot.name} has constraints: the equilibrium is that of an open tree")
    q = robot._evaluate.configuration("q", q)
    idle = [k for k in range(robot.nv) if k not in driven_columns(robot, names("actuated", actuated))]
    free = [k for k in range(robot.nv) if k not in driven_columns(robot, names("hold", hold))]
    for _ in range(ROUNDS):
        force, stiffness = rest(robot, q)
        scale = np.abs(force).max(-1, initial=0.0) + np.abs(stiffness).max((-1, -2), initial=0.0)
        left = force[..., idle]
        if (np.abs(left) <= TOLERANCE * scale[..., None]).all():
            break
        rows = stiffness[..., idle, :][..., :, free]
        step = np.zeros((*q.shape[:-1], robot.nv))
        step[..., free] = -np.einsum("...ij,...j->...i", np.linalg.pinv(rows, rcond=1e-9), left)
        size = np.abs(step).max(-1, keepdims=True)
        q = robot.integrate(q, step * np.minimum(1.0, LONGEST / np.maximum(size, LONGEST)))
    else:
        worst = float(np.abs(left).max())
        idlers = ", ".join(dict.fromkeys(c.name for c in robot.model.mechanism.coordinates if set(c.v) & set(idle)))
        raise ConvergenceError(
            f"no equilibrium found near the start: {worst:.3g} N m (or N) are left at joints that nothing drives ({idlers}). Start "
            "elsewhere, hold fewer joints, or name the joints that are actuated"
        )
    force, stiffness = rest(robot, q)
    force[..., idle] = 0.0
    stable = np.linalg.eigvalsh((stiffness + stiffness.swapaxes(-1, -2)) / 2)[..., 0] > 0 if robot.nv else np.array(True)
    return Equilibrium(q, force, stable)


def rest(robot: Robot, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return `g + springs` (..., nv) and its derivative (..., nv, nv)."""
    still = np.zeros(robot.nv)
    force = robot.gravity_torque(q) + robot.spring_torque(q)
    return force, robot.inverse_dynamics_derivatives(q, still, still).dtau_dq
