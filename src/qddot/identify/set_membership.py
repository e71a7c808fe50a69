"""Intervals without statistics: all parameters for which no torque is off by more than a bound.

    theta_i from  min theta_i  to  max theta_i      subject to  |tau - Y theta| <= bound  at every sample

Where errors are bounded and nothing else is known of them, these hold for sure; two linear programs a parameter. If there are more
samples than can be looked at, some are left out, which makes intervals wider and never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from qddot.arguments import finite_array
from qddot.errors import ConvergenceError, InputError
from qddot.identify.more_columns import joint_rows
from qddot.thresholds import BOUND_SLACK, MEMBERSHIP_RANGE, MEMBERSHIP_ROWS

if TYPE_CHECKING:
    from qddot.identify.fit import Fit


@dataclass(frozen=True)
class SetMembership:
    """Intervals of base parameters from bounds of the errors alone.

    Attributes:
        names: of the base parameters.
        intervals: (r, 2), which hold every value that the bound allows; infinite where the log does not show a parameter.
        bound: of each joint's error (nv,), N m, after the low-pass.
        samples: of each joint that were looked at.
    """

    names: tuple[str, ...]
    intervals: np.ndarray
    bound: np.ndarray
    samples: int


def set_membership(fit: Fit, bound: ArrayLike | None = None) -> SetMembership:
    """See `Fit.bounded_intervals`."""
    n, size = fit.parameter_set.robot.nv, None
    rows = [joint_rows(fit.base, fit.signals, [], j) for j in range(n)]
    errors = np.array([np.abs(A[:, -1] - A[:, :-1] @ fit.estimate.theta).max(initial=0.0) for A in rows])
    if bound is None:
        limit = BOUND_SLACK * np.maximum(errors, 1e-9 * errors.max())
    else:
        given = finite_array("bound", bound)
        if given.shape not in ((), (n,)) or not (given > 0).all():
            raise InputError(f"bound={given.tolist()}: a positive torque, or one for each of {n} joints")
        limit = np.broadcast_to(given, (n,)).astype(float)
    each = max(1, MEMBERSHIP_ROWS // n)
    some = [A[np.unique(np.linspace(0, len(A) - 1, min(each, len(A))).astype(int))] / b for A, b in zip(rows, limit) if len(A)]
    X = np.vstack(some)
    if not np.abs(X).max(initial=0.0) < MEMBERSHIP_RANGE:
        raise InputError(f"bound={limit.tolist()}: so small a torque that the equations are {MEMBERSHIP_RANGE:g} times larger")
    X, y = X[:, :-1], X[:, -1]
    size = np.linalg.norm(X, axis=0) / np.sqrt(len(X))
    size = np.where(size > 0, size, 1.0)
    centre = fit.estimate.theta * size  # programs are solved for small differences from the fit
    A, b = np.vstack([X / size, -X / size]), np.concatenate([1 + y - X / size @ centre, 1 - y + X / size @ centre])
    found = np.empty((fit.base.rank, 2))
    for i in range(fit.base.rank):
        for side, sign in enumerate((1.0, -1.0)):
            found[i, side] = (centre[i] + sign * least(A, b, sign * np.eye(len(size))[i], limit)) / size[i]
    return SetMembership(fit.base.names, found, limit, max(map(len, some)))


def least(A: np.ndarray, b: np.ndarray, goal: np.ndarray, limit: np.ndarray) -> float:
    """The least of a linear goal within `A x <= b`; -inf if there is none."""
    solution = linprog(goal, A_ub=A, b_ub=b, bounds=(None, None), method="highs")
    if solution.status == 3:
        return -np.inf
    if solution.status == 2:
        raise InputError(
            f"no parameters keep every torque within {', '.join(f'{x:.3g}' for x in limit)} N m: errors are larger, or the "
            "model lacks something (a larger bound=)"
        )
    if solution.status != 0:
        raise ConvergenceError(f"the linear program ended with {solution.message!r} (another bound=)")
    return float(solution.fun)
