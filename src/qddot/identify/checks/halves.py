"""Does each half of a log predict the other?

Parameters that a motion shows are the same in both halves of it. Where a log is too short for them, each half is explained well by
parameters that fail in the other: they have taken in what the model lacks, friction above all, which differs from stretch to
stretch. Neither a small residual nor a good condition number tells, and neighbouring blocks of time know too much of each other. A
half of a log is a log kept for validation that every log has.

Every recording is halved by itself: a motion of one joint beside a rich one must not be asked to predict it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.identify.checks.recordings import by_segment
from qddot.identify.regression.estimators import Estimate, solve
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.triangles import Triangles


def unpredicted(estimate: Estimate, factors: Factors, ends: np.ndarray) -> float:
    """Torque that parameters of one half of the log leave of the other, rms over both and all joints, N m; what the parameters of
    the whole log leave of it is taken off. 0 where nothing can be halved. `ends`: where each recording ends, in filtered
    samples."""
    both = halves(factors, ends)
    if not all(both):
        return 0.0
    first, second = (factors.merged(blocks) for blocks in both)
    columns = factors.columns
    by_first, by_second = (solve(estimate.base, columns, R, estimate.sigma) for R in (first, second))
    unseen = left(columns, first, by_second) + left(columns, second, by_first)
    own = left(columns, first, estimate.theta) + left(columns, second, estimate.theta)
    return float(np.sqrt(max(np.sum(unseen - own), 0.0) / factors.counts.sum()))


def halves(factors: Factors, ends: np.ndarray) -> tuple[list[int], list[int]]:
    """The blocks of the first and of the second half of every recording."""
    first: list[int] = []
    second: list[int] = []
    start = 0
    for recording in by_segment(factors, ends):
        stop = start + len(recording.R)
        middle = (start + stop + (len(first) <= len(second))) // 2  # of an odd number, the middle one goes where there is less
        first += range(start, middle)
        second += range(middle, stop)
        start = stop
    return first, second


def left(columns: Sequence[np.ndarray], R: Triangles, theta: np.ndarray) -> np.ndarray:
    """Sums of the squared torques that parameters leave of each joint (nv,), (N m)^2."""
    return np.array([np.sum((r[:, -1] - r[:, :-1] @ theta[here]) ** 2) for here, r in zip(columns, R)])
