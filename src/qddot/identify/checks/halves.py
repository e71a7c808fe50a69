"""Cross-validation between the two halves of a log.

Parameters that a motion determines come out the same from both halves. If a log is too short, each half is explained well by
parameters that fail in the other, because they absorb errors of the model, of friction above all, which differ from time to time.
Neither a small residual nor a good condition number shows that, and neighbouring blocks of time are too similar. So each half
serves as validation of the other.

Every recording is halved by itself: a motion of one joint must not be asked to predict a rich one.
"""

from __future__ import annotations

import numpy as np

from qddot.identify.checks.recordings import by_segment
from qddot.identify.regression.estimators import Estimate, solve, squared_errors
from qddot.identify.regression.reduction import Factors


def unpredicted(estimate: Estimate, factors: Factors, ends: np.ndarray) -> np.ndarray:
    """Rms torque of each joint (nv,) that parameters of one half of the log miss of the other, over both halves, N m, without what
    the parameters of the whole log miss anyway. 0 if the log cannot be halved. `ends`: index of the filtered sample behind each
    recording."""
    both = halves(factors, ends)
    if not all(both):
        return np.zeros(len(factors.columns))
    first, second = (factors.merged(blocks) for blocks in both)
    columns = factors.columns
    by_first, by_second = (solve(estimate.base, columns, R, estimate.sigma) for R in (first, second))
    unseen = squared_errors(columns, first, by_second) + squared_errors(columns, second, by_first)
    own = squared_errors(columns, first, estimate.theta) + squared_errors(columns, second, estimate.theta)
    return np.sqrt(np.maximum(unseen - own, 0.0) / factors.counts.sum())


def halves(factors: Factors, ends: np.ndarray) -> tuple[list[int], list[int]]:
    """Indices of the blocks in the first and in the second half of every recording."""
    first: list[int] = []
    second: list[int] = []
    start = 0
    for recording in by_segment(factors, ends):
        stop = start + len(recording.R)
        middle = (start + stop + (len(first) <= len(second))) // 2  # the middle one of an odd number goes to the smaller half
        first += range(start, middle)
        second += range(middle, stop)
        start = stop
    return first, second
