"""Impulses that satisfy Coulomb's law at many contacts at once.

With `W = J M^-1 J^T` and the velocities c that there would be without contact, impulses `r` and velocities `u = W r + c` obey

    0 <= r_n  perpendicular to  u_n >= 0        |r_t| <= mu r_n, against u_t where that is not zero

Moreau's device turns this into a projection: with `u_n` replaced by `u_n + mu |u_t|`, r and u are in dual cones and perpendicular
(De Saxce). For a fixed shift `s = mu |u_t|` it is the convex problem `min r^T W r / 2 + r^T (c + s n)` over the friction cones,
solved here by accelerated projected gradients with restart (Nesterov; Mazhar and others 2015), each iteration a product with W,
however many contacts there are and however they depend on one another; the shift is then a fixed point of a few rounds (Cadoux
2009).
"""

from __future__ import annotations

import numpy as np

from qddot.errors import ConvergenceError

ROUNDS = 60
STEPS = 5000
TOLERANCE = 1e-11
"""Of the largest velocity: what is left of the projections at the end."""

FEW = 12
"""Contacts for which it is tried first whether all of them stand, which is one linear problem."""

ENOUGH = 1e-5
"""What may be left after all steps: less exact, and still a law of friction."""


def impulses(W: np.ndarray, c: np.ndarray, mu: float, start: np.ndarray | None = None) -> np.ndarray:
    """r (k, 3), normal first, for W (3 k, 3 k) and c (k, 3).

    Raises:
        ConvergenceError: none were found.
    """
    k = len(c)
    if not k:
        return np.zeros((0, 3))
    scale = max(float(np.abs(c).max()), 1e-300)
    if k <= FEW:  # do all of them stand?
        held = -np.linalg.lstsq(W, c.ravel(), rcond=1e-12)[0].reshape(k, 3)
        stands = np.abs((W @ held.ravel()).reshape(k, 3) + c).max() <= TOLERANCE * scale
        if stands and (np.linalg.norm(held[:, 1:], axis=1) <= mu * held[:, 0]).all():
            return held
    size = float(np.linalg.eigvalsh(W)[-1])
    r = np.zeros((k, 3)) if start is None else start.copy()
    shift = np.zeros(k)
    for _ in range(ROUNDS):
        shifted = c.copy()
        shifted[:, 0] += shift
        r, left = cone_problem(W, shifted, mu, r, size, TOLERANCE * scale)
        u = (W @ r.ravel()).reshape(k, 3) + c
        new = mu * np.linalg.norm(u[:, 1:], axis=1)
        if np.abs(new - shift).max() <= TOLERANCE * scale * 10:
            break
        shift = new
    if left > ENOUGH * scale:
        raise ConvergenceError(f"impulses of {k} contacts were not found: {left:.2g} m/s are left of their laws; shorten the step")
    return r


def cone_problem(W: np.ndarray, c: np.ndarray, mu: float, r: np.ndarray, size: float, tolerance: float) -> tuple[np.ndarray, float]:
    """The minimum of `r^T W r / 2 + r^T c` over the friction cones, and how far the last step still moved, as a velocity."""
    step = 1.0 / max(size, 1e-300)
    y, t, left = r, 1.0, np.inf
    for _ in range(STEPS):
        g = (W @ y.ravel()).reshape(r.shape) + c
        new = projected(y - step * g, mu)
        left = float(np.abs(new - y).max()) / step
        if left <= tolerance:
            return new, left
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        uphill = float((g * (new - r)).sum()) > 0
        y = new if uphill else new + (t - 1) / t_new * (new - r)
        t = 1.0 if uphill else t_new
        r = new
    return r, left


def projected(r: np.ndarray, mu: float) -> np.ndarray:
    """The nearest impulses (k, 3) in the cones `|r_t| <= mu r_n`."""
    n, t = r[:, 0], r[:, 1:]
    length = np.linalg.norm(t, axis=1)
    inside, below = length <= mu * n, mu * length <= -n
    on = (mu * length + n) / (mu * mu + 1)
    found = np.empty_like(r)
    found[:, 0] = np.where(inside, n, np.where(below, 0.0, on))
    ratio = np.where(inside, 1.0, np.where(below, 0.0, mu * on / np.maximum(length, 1e-300)))
    found[:, 1:] = t * ratio[:, None]
    return found
