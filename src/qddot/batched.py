"""Products and solutions of matrices (..., n, m) and vectors (..., n), state by state."""

from __future__ import annotations

import numpy as np


def T(A: np.ndarray) -> np.ndarray:
    """Return `A^T`, state by state; also of tensors."""
    return A.swapaxes(-1, -2)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return `A x`, state by state; also of tensors."""
    return (A @ x[..., None])[..., 0]


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return `A^-1 b`, state by state."""
    return np.linalg.solve(A, b[..., None])[..., 0]
