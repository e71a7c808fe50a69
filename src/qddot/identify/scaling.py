"""Scales by which columns and residuals of any unit become comparable."""

from __future__ import annotations

import numpy as np


def nonzero(sizes: np.ndarray) -> np.ndarray:
    """Sizes to divide by: 1 in place of every 0."""
    return np.where(sizes > 0, sizes, 1.0)


def column_lengths(X: np.ndarray) -> np.ndarray:
    """Length of each column of X (k, n), to divide by: (n,), 1 for a column of zeros."""
    return nonzero(np.linalg.norm(X, axis=0))
