"""Comparison of recordings: with a payload, another unit or another zero each of them can be fitted, but not all together.

Chow's test: with separate parameters, the squared weighted residual of two recordings per degree of freedom is

    (s_1 + s_2) / (N_1 + N_2 - 2 r)        and with common ones        s / (N_1 + N_2 - r).

The ratio is 1 if they agree, and 2 if half of the common squared residual is disagreement. Triangular factors are all it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from qddot.identify.regression.estimators import Estimate, errors, solve
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.triangles import Triangles, tree
from qddot.thresholds import INDEPENDENT


def disagreement(estimate: Estimate, columns: list[np.ndarray], one: Factors, other: Factors) -> float:
    """Ratio of the squared residual of two recordings with common parameters to that with separate ones, see above."""
    both = [f.merged(range(len(f.R))) for f in (one, other)]
    counts = [INDEPENDENT * float(f.rows.sum()) for f in (one, other)]
    r = estimate.base.rank
    apart = sum(unexplained(estimate, columns, R) for R in both)
    together = unexplained(estimate, columns, tree(both))
    freedom = sum(max(count - r, 0.0) for count in counts)
    if freedom <= r or apart <= 0:
        return 1.0  # too short to tell
    return together / (sum(counts) - r) / (apart / freedom)


def unexplained(estimate: Estimate, columns: list[np.ndarray], R: Triangles) -> float:
    """Sum of squared residuals of the best parameters for these samples, in units of each joint's noise."""
    theta = solve(estimate.base, columns, R, estimate.sigma)
    return float(sum(np.sum((e / s) ** 2) for e, s in zip(errors(columns, R, theta), estimate.sigma)))


def part(factors: Factors, blocks: Sequence[int]) -> Factors:
    """The factors of some blocks only."""
    some = list(blocks)
    return Factors(factors.base, factors.columns, [factors.R[k] for k in some], factors.counts[some], factors.rows[some])


def by_segment(factors: Factors, ends: np.ndarray) -> list[Factors]:
    """The factors of each segment, by the index of the filtered sample behind it; segments that share a block stay together."""
    cuts = [0, *(k + 1 for k, end in enumerate(np.cumsum(factors.counts)) if end in ends)]
    return [part(factors, range(a, b)) for a, b in pairwise(cuts)]
