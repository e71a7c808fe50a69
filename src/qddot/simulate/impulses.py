"""Bounded forces: dry friction that brings a shaft to rest, and stops that a joint runs into.

Forces p and velocities `v = v* + W p` must be consistent: a shaft stands still if its friction is below the limit; if it moves, the
full friction acts against it; a stop only pushes, and only if the joint does not leave it. This is a convex problem (of Jean and
Moreau), for impulses and velocities as well as for forces and accelerations.
"""

from __future__ import annotations

import numpy as np

from qddot.batched import solve, times

ROUNDS, SWEEPS = 20, 200
ENOUGH = 1e-12  # change at which sweeps end, relative to the largest impulse


def solve_bounded(W: np.ndarray, v: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return p (..., rows) within [lower, upper], with `v + W p` zero where p is inside, and directed against p at a bound.

    The set of rows that are inside is guessed and corrected (primal-dual active set); if that does not end, projected Gauss-Seidel
    sweeps solve the problem.

    Args:
        W: (..., rows, rows), `N M^-1 N^T`.
        v: (..., rows) without p.
        lower, upper: (..., rows); both zero where no force acts.
    """
    W, v, lower, upper = np.broadcast_arrays(W, v[..., None], lower[..., None], upper[..., None])
    v, lower, upper = (x[..., 0] for x in (v, lower, upper))
    inside = lower < upper
    p, diagonal = np.clip(0.0, lower, upper), np.einsum("...ii->...i", W)
    for _ in range(ROUNDS):
        p = np.where(inside, 0.0, p)
        p = p + masked_solve(W, inside, -(v + times(W, p)))
        aim = p - (v + times(W, p)) / diagonal
        still = (aim > lower) & (aim < upper)
        p = np.clip(p, lower, upper)
        if (still == inside).all():
            return p
        p, inside = np.where(still, p, np.clip(aim, lower, upper)), still
    return sweep(W, v, lower, upper, p)


def masked_solve(W: np.ndarray, chosen: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return x with `(W x)[chosen] = right[chosen]`, and zero elsewhere."""
    both = chosen[..., :, None] & chosen[..., None, :]
    part = np.where(both, W, np.eye(W.shape[-1]))
    return solve(part, np.where(chosen, right, 0.0))


def sweep(W: np.ndarray, v: np.ndarray, lower: np.ndarray, upper: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Solve the problem of `solve_bounded` row by row, for the whole batch at once, until p no longer changes."""
    p = np.clip(p, lower, upper)
    for _ in range(SWEEPS):
        change = 0.0
        for i in range(W.shape[-1]):
            rest = v[..., i] + (W[..., i, :] * p).sum(-1)
            new = np.clip(p[..., i] - rest / W[..., i, i], lower[..., i], upper[..., i])
            change = max(change, float(abs(new - p[..., i]).max(initial=0.0)))
            p[..., i] = new
        if change <= ENOUGH * float(abs(p).max(initial=0.0)):
            break
    return p
