"""Least squares from triangular factors, weighted by joint, with standard deviations that allow for coloured residuals.

    theta = argmin sum_j |tau_j - X_j theta|^2 / sigma_j^2

The classical covariance assumes that samples err independently. Real residuals are coloured (by filters, by friction that the
model does not have), so standard deviations here come from blocks of time: each block is left out once, and the spread of the
estimates (the jackknife, a block-sandwich covariance corrected for leverage) is the uncertainty. The same estimates predict the
blocks that were left out, which is the cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from qddot.errors import InputError
from qddot.identify.regression.base import Base, prior_rows
from qddot.identify.regression.reduction import Factors
from qddot.identify.scaling import column_lengths
from qddot.thresholds import CONFIDENCE, WEIGHT_ROUNDS


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimate of base parameters with its uncertainty.

    Attributes:
        base: the base parameters.
        method: `"ols"`, `"wls"`, `"irls"` or `"iv"`.
        theta: their values (r,).
        sigma: noise of each joint's torque (nv,), N m.
        classical: covariance (r, r) if all samples erred independently.
        sandwich: covariance (r, r) from the blocks, and from the priors.
        unseen: rms torque error of each joint (nv,), N m, in blocks predicted by an estimate made without them.
        blocks: number of blocks.
        samples: number of samples of the joint that rests least.
        freedom: degrees of freedom of each standard deviation (r,): blocks less one if all blocks show a parameter equally well.
        memory: factor by which the sandwich was enlarged because the errors of neighbouring blocks are correlated; else 1.
        condition: condition number of the weighted regressor of the data with columns scaled to length 1, in the directions that
            motion can show (others are known by their priors).
        condition_raw: condition number of the weighted regressor in SI units.
        weakest: direction (r,) in the scaled parameters that the data determine least.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> estimate = least_squares(reduce(base, pieces(signals)))
    >>> estimate.names == base.names, estimate.intervals.shape
    (True, (13, 2))
    """

    base: Base
    method: str
    theta: np.ndarray
    sigma: np.ndarray
    classical: np.ndarray
    sandwich: np.ndarray
    unseen: np.ndarray
    blocks: int
    freedom: np.ndarray
    samples: int
    memory: float
    condition: float
    condition_raw: float
    weakest: np.ndarray

    def __repr__(self) -> str:
        return (
            f"Estimate of {len(self.theta)} base parameters by {self.method}, {self.samples} samples a joint in {self.blocks} "
            f"blocks, condition {self.condition:.3g}"
        )

    @property
    def names(self) -> tuple[str, ...]:
        return self.base.names

    @cached_property
    def std(self) -> np.ndarray:
        """Standard deviations (r,) from blocks of time."""
        return np.sqrt(np.diagonal(self.sandwich))

    @cached_property
    def std_classical(self) -> np.ndarray:
        """Standard deviations (r,) if all samples erred independently."""
        return np.sqrt(np.diagonal(self.classical))

    @property
    def reach(self) -> np.ndarray:
        """Half of each 95 % interval, in standard deviations (r,): Student's t, which has few degrees of freedom if few blocks
        determine a parameter."""
        return stats.t.ppf((1 + CONFIDENCE) / 2, np.maximum(self.freedom, 1.0))

    @property
    def intervals(self) -> np.ndarray:
        """95 % intervals (r, 2)."""
        return np.stack([self.theta - self.reach * self.std, self.theta + self.reach * self.std], axis=1)

    @property
    def known(self) -> np.ndarray:
        """True for parameters (r,) whose 95 % interval extends by less than half the value to each side."""
        return self.reach * self.std < np.abs(self.theta) / 2

    @property
    def by_chance(self) -> int:
        """Largest number of parameters that seem `known` by chance if all are zero: one in twenty 95 % intervals misses."""
        return int(stats.binom.ppf(CONFIDENCE, len(self.theta), 1 - CONFIDENCE))


def least_squares(factors: Factors, method: str = "wls") -> Estimate:
    """Return the estimate by ordinary (`"ols"`) or weighted (`"wls"`, `"irls"`) least squares.

    The weights make the variance of each joint's residuals 1; weights and estimate are computed in turn.

    Raises:
        InputError: fewer samples than parameters.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> estimate = least_squares(reduce(base, pieces(signals)))
    >>> round(float(estimate.theta[base.names.index("body_2.mcx")]), 3)  # kg m: what it shows of the second link
    0.245
    """
    return assessed(factors, method, *weighted(factors, method))


def weighted(factors: Factors, method: str = "wls") -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters (r,) without their uncertainty, and the noise of each joint's torque (nv,) used as weight."""
    base, n = factors.base, len(factors.columns)
    total = factors.merged(range(len(factors.R)))
    count = factors.rows.sum(axis=0)
    if count.sum() <= base.rank:
        raise InputError(f"{count.max()} samples of {n} joints do not determine {base.rank} parameters")
    if not any(np.any(R[:, -1]) for R in total):
        raise InputError("all torques are zero: was the right column of the log read?")
    sigma = np.ones(n)
    theta = solve(base, factors.columns, total, sigma)
    for _ in range(WEIGHT_ROUNDS):
        before, sigma = sigma, noise(factors.columns, total, theta, count)
        if method == "ols":
            sigma = np.full(n, np.sqrt(np.mean(sigma**2)))
        theta = solve(base, factors.columns, total, sigma)
        if np.allclose(before, sigma, rtol=1e-6):
            break
    return theta, sigma


def solve(base: Base, columns: list[np.ndarray], R: list[np.ndarray], sigma: np.ndarray) -> np.ndarray:
    """Return theta (r,) from the factors of all data: the shortest solution in scaled parameters, joints weighted by 1 / sigma."""
    X, y = stacked(base, columns, R, sigma)
    scale = column_lengths(X)
    return np.linalg.lstsq(X / scale, y, rcond=1e-12)[0] / scale


def equations(factors: Factors, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of the system X theta = y of a whole log: its weighted triangles, and the priors."""
    return stacked(factors.base, factors.columns, factors.merged(range(len(factors.R))), sigma)


def stacked(base: Base, columns: list[np.ndarray], R: list[np.ndarray], sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of the system X theta = y of weighted triangles, and the priors."""
    A, b = base_prior(base)
    X = np.zeros((sum(map(len, R)) + len(A), base.rank))
    y = np.zeros(len(X))
    row = 0
    for j, (here, r) in enumerate(zip(columns, R)):
        X[row : row + len(r), here] = r[:, :-1] / sigma[j]
        y[row : row + len(r)] = r[:, -1] / sigma[j]
        row += len(r)
    X[row:], y[row:] = A, b
    return X, y


def base_prior(base: Base) -> tuple[np.ndarray, np.ndarray]:
    """Return the priors as equations of base parameters: (A (k, r), b (k,)). Every parameter with a prior is independent."""
    A, b = prior_rows(base.parameter_set)
    return A[:, list(base.independent)], b


def errors(columns: Sequence[np.ndarray], R: Sequence[np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
    """Return the residuals of each joint's triangle, N m, whose sum of squares is that of its samples."""
    return [r[:, -1] - r[:, :-1] @ theta[here] for here, r in zip(columns, R)]


def squared_errors(columns: Sequence[np.ndarray], R: Sequence[np.ndarray], theta: np.ndarray) -> np.ndarray:
    """Return the sum of squared residuals of each joint (nv,), (N m)^2."""
    return np.array([np.sum(e**2) for e in errors(columns, R, theta)])


def noise(columns: list[np.ndarray], R: list[np.ndarray], theta: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the noise of each joint's torque (nv,): rms of its residuals, over the degrees of freedom instead of the samples."""
    left = np.array([np.linalg.norm(e) for e in errors(columns, R, theta)])
    freedom = np.maximum(1.0, count - len(theta) / len(R))
    largest = max(np.linalg.norm(r[:, -1]) for r in R)
    return np.maximum(left, 1e-12 * largest) / np.sqrt(freedom)


def assessed(factors: Factors, method: str, theta: np.ndarray, sigma: np.ndarray) -> Estimate:
    """Return the estimate with parameters theta (r,) and noise sigma (nv,), and the uncertainty from the blocks."""
    base, columns, count = factors.base, factors.columns, factors.rows.sum(axis=0)
    X, _ = equations(factors, sigma)
    scale = column_lengths(X)
    _, s, Vt = np.linalg.svd(X / scale, full_matrices=False)
    s = np.maximum(s, 1e-14 * s[0])
    inverse = (Vt.T / s**2) @ Vt
    some = [R for R, rows in zip(factors.R, factors.rows) if rows.any()]  # blocks at rest have no equations
    blocks = [stacked(base, columns, R, sigma) for R in some]
    rows = len(X) - len(base_prior(base)[0])  # priors belong to no block
    condition, weakest = conditioned(X[:rows], base.shown)
    moved, told = np.zeros((2, len(blocks), base.rank))
    unseen = np.zeros(len(columns))
    for k, (Xk, yk) in enumerate(blocks):
        Xk, yk = Xk[:rows] / scale, yk[:rows]
        H = Xk @ inverse @ Xk.T  # leverage of the block
        left = np.linalg.solve((1 + 1e-9) * np.eye(len(H)) - H, yk - Xk @ (theta * scale))  # error of a fit to the other blocks
        moved[k], told[k] = inverse @ Xk.T @ left, np.sum((inverse @ Xk.T) ** 2, axis=1)
        parts = np.split(left, np.cumsum([len(r) for r in some[k]])[:-1])
        unseen += [np.sum(part**2) for part in parts]
    B = len(blocks)
    spread = moved - moved.mean(axis=0) if B > 1 else moved
    alike = memory(spread @ Vt.T * s)
    prior = inverse @ (X[rows:] / scale).T  # priors are assumed to have the given deviation
    outer = np.outer(scale, scale)
    return Estimate(
        base=base,
        method=method,
        theta=theta,
        sigma=sigma,
        classical=inverse / outer,
        sandwich=(alike * (B - 1) / B * spread.T @ spread + prior @ prior.T) / outer if B > 1 else np.full_like(inverse, np.nan),
        unseen=np.sqrt(unseen / np.maximum(count, 1)) * sigma,
        blocks=B,
        freedom=np.sum(told, axis=0) ** 2 / np.maximum(np.sum(told**2, axis=0), 1e-300) - 1,  # Satterthwaite's
        samples=int(count.max()),
        memory=alike,
        condition=condition,
        condition_raw=float(np.linalg.cond(X)),
        weakest=weakest,
    )


def conditioned(X: np.ndarray, shown: int) -> tuple[float, np.ndarray]:
    """Return the condition number of a regressor with columns scaled to length 1, in the `shown` directions that motion can show,
    and the weakest of those directions (r,)."""
    _, s, Vt = np.linalg.svd(X / column_lengths(X), full_matrices=False)
    last = min(shown, len(s)) - 1
    return float(s[0] / max(s[last], 1e-14 * s[0])), Vt[last]


def memory(moved: np.ndarray) -> float:
    """Return the factor by which correlation of neighbouring blocks (B, r) raises the variance of their sum, by Bartlett's sum."""
    B = len(moved)
    reach = int(np.sqrt(B))
    power = np.sum(moved**2)
    if B < 4 or power == 0:
        return 1.0
    lags = ((k, float(np.sum(moved[k:] * moved[:-k]) / power)) for k in range(1, reach + 1))
    return max(1.0, 1 + 2 * sum((1 - k / (reach + 1)) * c for k, c in lags))


def essential(factors: Factors, estimate: Estimate, *, rise: float = 0.01) -> tuple[str, ...]:
    """Return the names of the essential parameters (Gautier), which explain the torques nearly as well as all do.

    The least certain are dropped, one by one, as long as the weighted residual rises by no more than the fraction `rise`.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, essential, least_squares, pieces, prepare, reduce
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> factors = reduce(base, pieces(signals))
    >>> few, fewer = (len(essential(factors, least_squares(factors), rise=rise)) for rise in (0.01, 0.5))
    >>> fewer < few < base.rank  # fewer explain as much, and still fewer nearly as much
    True
    """
    base = factors.base
    X, y = equations(factors, estimate.sigma)
    scale = column_lengths(X)
    X = X / scale
    kept = list(range(base.rank))
    limit = (1 + rise) ** 2 * np.sum((y - X @ (estimate.theta * scale)) ** 2)
    while len(kept) > 1:
        x, *_ = np.linalg.lstsq(X[:, kept], y, rcond=None)
        inverse = np.linalg.pinv(X[:, kept].T @ X[:, kept], hermitian=True)
        least = int(np.argmin(x**2 / np.diagonal(inverse)))  # dropping it raises the squared residual by this much
        fewer = kept[:least] + kept[least + 1 :]
        left = np.linalg.lstsq(X[:, fewer], y, rcond=None)[0]
        if np.sum((y - X[:, fewer] @ left) ** 2) > limit:
            break
        kept = fewer
    return tuple(base.names[j] for j in kept)
