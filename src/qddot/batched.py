"""Matrices and vectors of a batch of states (..., n, m): NumPy's, without its rules for what is a vector."""

from __future__ import annotations

import numpy as np


def T(A: np.ndarray) -> np.ndarray:
    """`A^T`, state by state."""
    return np.swapaxes(A, -1, -2)


def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """`A x`, state by state."""
    return (A @ x[..., None])[..., 0]


def solve(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """`A^-1 b`, state by state."""
    return np.linalg.solve(A, b[..., None])[..., 0]
