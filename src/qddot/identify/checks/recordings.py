"""Do several recordings show the same robot? A payload, another unit or another zero makes each of them fit, but not together.

Chow's test: with parameters of their own, two recordings leave

    (s_1 + s_2) / (N_1 + N_2 - 2 r)        and with the same ones        s / (N_1 + N_2 - r),

of the weighted squared torques a degree of freedom. The ratio is 1 where they agree. It is 2 where half of what the common
parameters leave is disagreement. All of that comes from the triangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from qddot.identify.regression.estimators import Estimate, solve
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.triangles import Triangles, tree
from qddot.thresholds import INDEPENDENT


def disagreement(estimate: Estimate, columns: list[np.ndarray], one: Factors, other: Factors) -> float:
    """How many times more the common parameters leave of two recordings than parameters of their own do."""
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
    """Sum of the squared torques, in units of each joint's noise, that the best parameters of these samples leave."""
    theta = solve(estimate.base, columns, R, estimate.sigma)
    left = [r[:, -1] - r[:, :-1] @ theta[here] for here, r in zip(columns, R)]
    return float(sum(np.sum((e / s) ** 2) for e, s in zip(left, estimate.sigma)))


def part(factors: Factors, blocks: Sequence[int]) -> Factors:
    """Some blocks of a log."""
    some = list(blocks)
    return Factors(factors.base, factors.columns, [factors.R[k] for k in some], factors.counts[some], factors.rows[some])


def by_segment(factors: Factors, ends: np.ndarray) -> list[Factors]:
    """The factors of each segment, which ends there; of neighbours together, where a block holds the end of one and the start of
    the next."""
    cuts = [0, *(k + 1 for k, end in enumerate(np.cumsum(factors.counts)) if end in ends)]
    return [part(factors, range(a, b)) for a, b in pairwise(cuts)]
