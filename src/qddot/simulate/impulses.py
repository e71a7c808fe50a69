"""Impulses that end a step: dry friction that brings a shaft to rest, stops that a joint runs into.

The velocity after the impulses, `v = v* + M^-1 N^T p`, must agree with them: a shaft whose friction is not used up stands
still; one that moves has all of it against it; a stop pushes only, and only where the joint does not leave. This is a convex
problem (that of Jean and Moreau), solved by projected Gauss-Seidel, row by row over the whole batch at once.
"""

from __future__ import annotations

import numpy as np

SWEEPS = 200
ENOUGH = 1e-12  # of the largest impulse


def solve_impulses(W: np.ndarray, speed: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """p (..., rows) within [lower, upper], with `speed + W p` zero where p is inside, and against p where it is at a bound.

    Args:
        W: (..., rows, rows), `N M^-1 N^T`.
        speed: (..., rows) without impulses.
        lower, upper: (..., rows), N m s; both zero where nothing acts.
    """
    p = np.zeros_like(speed + lower)
    for _ in range(SWEEPS):
        change = 0.0
        for i in range(W.shape[-1]):
            rest = speed[..., i] + (W[..., i, :] * p).sum(-1)
            new = np.clip(p[..., i] - rest / W[..., i, i], lower[..., i], upper[..., i])
            change = max(change, float(abs(new - p[..., i]).max(initial=0.0)))
            p[..., i] = new
        if change <= ENOUGH * float(abs(p).max(initial=0.0)):
            break
    return p
