"""Standard deviations of a nonlinear least-squares estimate, from the Jacobian of its residuals."""

from __future__ import annotations

import numpy as np

from qddot.identify.scaling import column_lengths
from qddot.thresholds import JACOBIAN_RANK


def deviations(J: np.ndarray, residuals: np.ndarray, samples: int) -> np.ndarray:
    """Standard deviations (n,) of the unknowns; inf for those that the Jacobian J (k, n) leaves open. `samples`: number of errors
    that the residuals (k,) represent: as many as there are, or more if they were reduced."""
    size = column_lengths(J)
    _, s, Vt = np.linalg.svd(np.asarray(np.linalg.qr(J / size, mode="r")), full_matrices=True)
    rank = int(np.count_nonzero(s > JACOBIAN_RANK * s.max(initial=0.0)))
    variance = residuals @ residuals / max(samples - rank, 1)
    seen, unseen = np.split(Vt.T, [rank], axis=1)
    found = np.sqrt(variance) * np.linalg.norm(np.diag(1 / size) @ seen / s[:rank], axis=1)
    return np.where(np.linalg.norm(unseen, axis=1) > 1e-6, np.inf, found)
