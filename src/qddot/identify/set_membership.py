"""Set membership: intervals of all parameters for which no torque is off by more than a bound.

    theta_i from  min theta_i  to  max theta_i      subject to  |tau - Y theta| <= bound  at every sample

If errors are bounded, these intervals are certain; no statistics is assumed. They take two linear programs a parameter. Of long
logs some samples are left out, which makes intervals wider and never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from qddot.arguments import finite_array
from qddot.errors import ConvergenceError, InputError
from qddot.identify.fit import Fit
from qddot.identify.more_columns import joint_rows
from qddot.identify.scaling import nonzero
from qddot.thresholds import BOUND_SLACK, MEMBERSHIP_RANGE, MEMBERSHIP_ROWS


@dataclass(frozen=True)
class SetMembership:
    """Intervals of base parameters from bounds of the errors alone.

    Attributes:
        names: names of the base parameters (r,).
        intervals: range (r, 2) of the values that the bound allows; infinite for a parameter that the log does not show.
        bound: bound of each joint's error (nv,), N m, after the low-pass.
        samples: number of samples of each joint that were used.
    """

    names: tuple[str, ...]
    intervals: np.ndarray
    bound: np.ndarray
    samples: int


def set_membership(fit: Fit, bound: ArrayLike | None = None) -> SetMembership:
    """See `Fit.bounded_intervals`."""
    n = fit.parameter_set.robot.nv
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
    size = nonzero(np.linalg.norm(X, axis=0) / np.sqrt(len(X)))
    centre = fit.estimate.theta * size  # the programs are solved for small differences from the fit
    A, b = np.vstack([X / size, -X / size]), np.concatenate([1 + y - X / size @ centre, 1 - y + X / size @ centre])
    found = np.empty((fit.base.rank, 2))
    for i in range(fit.base.rank):
        for side, sign in enumerate((1.0, -1.0)):
            found[i, side] = (centre[i] + sign * least(A, b, sign * np.eye(len(size))[i], limit)) / size[i]
    return SetMembership(fit.base.names, found, limit, max(map(len, some)))


def least(A: np.ndarray, b: np.ndarray, goal: np.ndarray, limit: np.ndarray) -> float:
    """Minimum of a linear goal subject to `A x <= b`; -inf if it is unbounded. Raises InputError: no x satisfies that."""
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
