"""Guaranteed bounds of norms over a box of configurations, by branch and bound.

Each function of an `Enclosure` returns, box by box, an upper bound of a norm (or, for `least`, of minus the norm).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qddot.symbolic.properties.spectrum import Compact, Enclosure

SLACK = 1e-12  # relative, more than any rounding error of the linear algebra of small matrices
CLOSE = 1e-6  # relative gap between a box's bound and the attained value below which the box is not split
SPLIT = 64  # boxes that are split in a round
ROUNDS = 60  # the most rounds

Upper = Callable[[Enclosure], np.ndarray]


def certify(compact: Compact, upper: Upper, low: np.ndarray, high: np.ndarray, attained: float, work: float) -> float:
    """Return an upper bound of a norm in the box (nq,), where it is bounded box by box by `upper` and attains `attained`.

    Boxes with the largest bound are halved, along the variable that matters most, until all bounds are close to `attained` or
    `work` (boxes times waves times variables) is done.
    """
    spectrum = compact.spectrum
    at = spectrum.variables
    importance = (abs(spectrum.k[:, at]) + spectrum.powers[:, at]).T @ spectrum.amplitudes().max(0)
    evaluate = lambda c, h: upper(compact.enclose(c, h))  # noqa: E731
    fixed = np.where(np.isfinite(low), low, 0.0)
    centre, half = fixed[None].copy(), np.zeros((1, len(low)))
    centre[:, at], half[:, at] = (low[at] + high[at]) / 2, (high[at] - low[at]) / 2 * (1 + SLACK)
    bounds = evaluate(centre, half)
    enough = attained + CLOSE * abs(attained)
    settled = enough
    rounds = min(ROUNDS, int(work / (2 * SPLIT * max(1, len(spectrum.k)) * (len(at) + 2))))
    for _ in range(rounds if at.size else 0):
        open_ = bounds > enough
        settled = max([settled, *bounds[~open_]])
        centre, half, bounds = centre[open_], half[open_], bounds[open_]
        if not bounds.size:
            return settled
        order = np.argsort(-bounds)
        split, rest = order[:SPLIT], order[SPLIT:]
        axis = at[np.argmax(half[split][:, at] * importance, axis=1)]
        rows = np.arange(len(split))
        halves = half[split].copy()
        halves[rows, axis] *= 0.5 * (1 + SLACK)
        shift = np.zeros_like(halves)
        shift[rows, axis] = half[split][rows, axis] / 2
        c = np.concatenate([centre[split] - shift, centre[split] + shift])
        h = np.concatenate([halves, halves])
        new = np.minimum(evaluate(c, h), np.tile(bounds[split], 2))
        centre, half, bounds = (
            np.concatenate([centre[rest], c]),
            np.concatenate([half[rest], h]),
            np.concatenate([bounds[rest], new]),
        )
    return float(max([settled, *bounds]))


# norms of enclosures, box by box ------------------------------------------------------------------------------------------


def largest_sum(e: Enclosure) -> np.ndarray:
    """Return an upper bound of `max_i sum_j |e_ij|`."""
    return np.max(sums(e, np.ones(e.mid.shape)), axis=0)


def least_largest_sum(e: Enclosure) -> np.ndarray:
    """Return an upper bound of `-max_i sum_j |e_ij|`."""
    return np.min(sums(e, -np.ones(e.mid.shape)), axis=0)


def sums(e: Enclosure, sign: np.ndarray) -> np.ndarray:
    """Return upper bounds of `sum_j sign |e_ij|`, linear where the sign of an entry is certain."""
    spread = e.spread
    certain = abs(e.mid) > spread
    s = np.where(certain, np.sign(e.mid) * sign, 0.0)
    linear = (s * e.mid).sum(1) + abs((s[..., None, :] * e.slope).sum(1)).sum(-2) + np.where(certain, e.radius, 0.0).sum(1)
    return (linear + np.where(certain | (sign < 0), 0.0, abs(e.mid) + spread).sum(1)) + SLACK * abs(e.mid).sum(1)


def largest_eigenvalue(e: Enclosure) -> np.ndarray:
    """Return an upper bound of the largest eigenvalue of a symmetric matrix.

    In the eigenvectors of the middle, `[[a, b^T], [b, D]]` has no larger eigenvalue than `[[a, |b|], [|b|, largest of D]]`.
    """
    mid, slope = np.moveaxis(e.mid, -1, 0), np.moveaxis(e.slope, (-1, -2), (0, 1))
    values, V = np.linalg.eigh(mid)
    turned = np.swapaxes(V, -1, -2)[:, None] @ slope @ V[:, None]
    a = values[:, -1] + abs(turned[:, :, -1, -1]).sum(1)
    unknown = e.radius.sum(1).max(0) + SLACK * abs(e.mid).sum((0, 1))
    if mid.shape[-1] == 1:
        return a + unknown
    b = np.linalg.norm(turned[:, :, :-1, -1], axis=-1).sum(1)
    d = values[:, -2] + np.linalg.norm(turned[:, :, :-1, :-1], axis=(-2, -1)).sum(1)
    return np.minimum((a + d) / 2 + np.hypot((a - d) / 2, b) + unknown, largest_sum(e))


def least_eigenvalue(e: Enclosure) -> np.ndarray:
    """Return an upper bound of minus the least eigenvalue."""
    return largest_eigenvalue(-e)


def length(e: Enclosure) -> np.ndarray:
    """Return an upper bound of the spectral norm of a matrix, by the largest eigenvalue of `e e^T`; a vector is one row."""
    mid, slope, radius = np.moveaxis(e.mid, -1, 0), np.moveaxis(e.slope, (-1, -2), (0, 1)), np.moveaxis(e.radius, -1, 0)
    product = mid @ np.swapaxes(mid, -1, -2)
    cross = slope @ np.swapaxes(mid, -1, -2)[:, None]
    steps = np.linalg.norm(slope, axis=(-2, -1)).sum(1)
    known = Enclosure(
        np.moveaxis(product, 0, -1),
        np.moveaxis(cross + np.swapaxes(cross, -1, -2), (0, 1), (-1, -2)),
        np.zeros((*product.shape[1:], len(product))),
    )
    square = np.maximum(largest_eigenvalue(known), 0.0) + steps**2
    entry = np.minimum(np.sqrt(square), np.linalg.norm(mid, axis=(-2, -1)) + steps)
    return (entry + np.linalg.norm(radius, axis=(-2, -1))) * (1 + SLACK)
