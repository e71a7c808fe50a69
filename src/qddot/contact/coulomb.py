"""Impulses that satisfy Coulomb's law at many contacts at once.

With `W = J M^-1 J^T` and the velocities c that there would be without contact, impulses `r` and velocities `u = W r + c` obey

    0 <= r_n  perpendicular to  u_n >= 0        |r_t| <= mu r_n, against u_t where that is not zero

With `u_n` replaced by `u_n + mu |u_t|`, r and u are in dual cones and perpendicular (De Saxce), which makes this a projection. For
a fixed shift `s = mu |u_t|` it is the convex problem `min r^T W r / 2 + r^T (c + s n)` over the friction cones. It is solved here
by accelerated projected gradients with restart (Nesterov; Mazhar and others 2015): each iteration takes one product with W, also
for many contacts that depend on one another. The shift is found by a few rounds of fixed-point iteration (Cadoux 2009).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import eigsh

from qddot.errors import ConvergenceError

FEW = 12
"""Up to this many contacts are solved to all digits; first it is tried if none of them slips, which is one linear problem."""

ROUNDS, STEPS, TOLERANCE = (60, 5), (5000, 600), (1e-11, 1e-6)
"""For few contacts, and for many: rounds of the shift, iterations of each, and tolerance relative to the largest velocity."""

SPARSE = 0.2
"""A matrix with a smaller fraction of nonzero elements than this is stored as a sparse one."""

ENOUGH = 1e-3
"""Largest residual that is accepted after all iterations: less exact, but still a law of friction."""


def impulses(W: np.ndarray, c: np.ndarray, mu: float, start: np.ndarray | None = None, least: float = 0.0) -> np.ndarray:
    """Return impulses r (k, 3), normal first, for W (3 k, 3 k) and c (k, 3), starting from `start`; tolerances are relative to the
    largest velocity, or to `least`, m/s. Raises ConvergenceError: none were found."""
    k = len(c)
    if not k:
        return np.zeros((0, 3))
    scale = max(float(np.abs(c).max()), least, 1e-300)
    many = int(k > FEW)
    tolerance = TOLERANCE[many] * scale
    if not many:  # try if none of them slips
        held = -np.linalg.lstsq(W, c.ravel(), rcond=1e-12)[0].reshape(k, 3)
        stands = np.abs((W @ held.ravel()).reshape(k, 3) + c).max() <= tolerance
        if stands and (held[:, 0] >= 0).all() and (np.linalg.norm(held[:, 1:], axis=1) <= mu * held[:, 0]).all():
            return held
    size = largest(W)
    if many and np.count_nonzero(W) < SPARSE * W.size:  # most contacts do not affect each other
        W = csr_array(W)  # type: ignore[assignment]
    r = np.zeros((k, 3)) if start is None else start.copy()
    shift = np.zeros(k)
    for _ in range(ROUNDS[many]):
        shifted = c.copy()
        shifted[:, 0] += shift
        r, left = cone_problem(W, shifted, mu, r, size, STEPS[many], tolerance)
        u = (W @ r.ravel()).reshape(k, 3) + c
        new = mu * np.linalg.norm(u[:, 1:], axis=1)
        if np.abs(new - shift).max() <= 10 * tolerance:
            break
        shift = new
    if left > ENOUGH * scale:
        raise ConvergenceError(f"impulses of {k} contacts were not found: {left:.2g} m/s are left of their laws; shorten the step")
    return r


def largest(W: np.ndarray) -> float:
    """Return the largest eigenvalue; of large matrices a little more, since a few Lanczos steps approximate it from below."""
    if len(W) <= 3 * FEW:
        return float(np.linalg.eigvalsh(W)[-1])
    return 1.02 * float(eigsh(W, k=1, tol=1e-2, v0=np.ones(len(W)), return_eigenvectors=False)[0])  # type: ignore[arg-type]


def cone_problem(
    W: np.ndarray, c: np.ndarray, mu: float, r: np.ndarray, size: float, steps: int, tolerance: float
) -> tuple[np.ndarray, float]:
    """Minimise `r^T W r / 2 + r^T c` over the friction cones; return r and the size of the last step, as a velocity."""
    step = 1.0 / max(size, 1e-300)
    y, t, left = r, 1.0, np.inf
    for _ in range(steps):
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
    """Return the nearest impulses (k, 3) in the cones `|r_t| <= mu r_n`."""
    n, t = r[:, 0], r[:, 1:]
    length = np.hypot(t[:, 0], t[:, 1])
    found = np.empty_like(r)
    normal = np.maximum(np.where(length <= mu * n, n, (mu * length + n) / (mu * mu + 1)), 0.0)
    found[:, 0] = normal
    found[:, 1:] = t * np.minimum(mu * normal / np.maximum(length, 1e-300), 1.0)[:, None]
    return found
