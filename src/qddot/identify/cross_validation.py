"""Cross-validation: each recording, or each fifth of a single one, is predicted by parameters of the others.

It takes only the triangular factors of the log: to leave out a recording, those of the others are merged.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qddot.identify.fit import Fit
from qddot.identify.regression.estimators import solve, squared_errors
from qddot.identify.regression.residuals import StreamedResiduals
from qddot.logs.log_summary import lasting
from qddot.thresholds import FOLDS


@dataclass(frozen=True)
class CrossValidation:
    """Errors of torques predicted by parameters that were fitted without them.

    Attributes:
        what: unit that is left out: a `"recording"`, or a `"part of the log"`.
        rows: (name, duration in s, |error| / |tau| with parameters of the whole log, |error| / |tau| with those of the others).
        error: |error| / |tau| of all together, each predicted by the others.
    """

    what: str
    rows: tuple[tuple[str, float, float, float], ...]
    error: float

    def __repr__(self) -> str:
        lines = [
            f"{name}: {unseen:.2%} predicted by the others, {own:.2%} fitted ({lasting(seconds)})"
            for name, seconds, own, unseen in self.rows
        ]
        return "\n".join([f"each {self.what} predicted by the others: {self.error:.2%}", *lines])


def cross_validation(fit: Fit) -> CrossValidation | None:
    """See `Fit.cross_validation`."""
    factors, sigma = fit.factors, fit.estimate.sigma
    left = fit.training
    names = left.recordings if isinstance(left, StreamedResiduals) else fit.signals.recordings
    groups = by_recording(factors.counts, left.ends, names)
    what = "recording"
    if len(groups) < 2:
        what, edges = "part of the log", np.linspace(0, len(factors.R), FOLDS + 1).astype(int)
        groups = {f"part {k + 1}": list(range(a, b)) for k, (a, b) in enumerate(itertools.pairwise(edges)) if b > a}
    if len(groups) < 2:
        return None
    rows, missed, size = [], 0.0, 0.0
    for name, blocks in groups.items():
        others = [k for k in range(len(factors.R)) if k not in blocks]
        here = factors.merged(blocks)
        theta = solve(fit.base, factors.columns, factors.merged(others), sigma)
        whole = float(sum(np.sum(R[:, -1] ** 2) for R in here))
        own, unseen = (float(squared_errors(factors.columns, here, x).sum()) for x in (fit.estimate.theta, theta))
        seconds = float(factors.counts[blocks].sum()) * fit.signals.factor / fit.signals.rate
        rows.append((name, seconds, float(np.sqrt(own / whole)), float(np.sqrt(unseen / whole))))
        missed, size = missed + unseen, size + whole
    return CrossValidation(what, tuple(rows), float(np.sqrt(missed / size)))


def by_recording(counts: np.ndarray, ends: np.ndarray, recordings: Sequence[str]) -> dict[str, list[int]]:
    """Recording -> its blocks; a block that spans two recordings belongs to the second.

    Args:
        counts: number of samples in each block.
        ends: index of the sample behind each segment.
        recordings: name of the recording of each segment; if their numbers differ (no names), each segment counts by itself.
    """
    if len(recordings) != len(ends):
        recordings = [f"segment {k + 1}" for k in range(len(ends))]
    found: dict[str, list[int]] = {}
    for block, stop in enumerate(np.cumsum(counts)):
        segment = min(int(np.searchsorted(ends, stop)), len(ends) - 1)
        found.setdefault(recordings[segment], []).append(block)
    return found
