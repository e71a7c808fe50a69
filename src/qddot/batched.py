"""Matrices and vectors of a batch of states (..., n, m): without NumPy's rules for what is a vector."""

from __future__ import annotations

import numpy as np


def T(A: np.ndarray) -> np.ndarray:
    """`A^T`, state by state; of tensors, too."""
    return A.swapaxes(-1, -2)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`A x`, state by state; of tensors, too."""
    return (A @ x[..., None])[..., 0]


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`A^-1 b`, state by state."""
    return np.linalg.solve(A, b[..., None])[..., 0]
