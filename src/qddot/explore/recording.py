"""A motion that the page plays: simulated, or recorded with what was measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES = 1200
"""What is kept of a long motion."""

DIGITS = 9


@dataclass(frozen=True, eq=False)
class Recording:
    """Times (samples,), and at each of them the motion and the joint forces (samples, n).

    Attributes:
        measured: joint forces that were measured, where `tau` are predicted; None without.
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    measured: np.ndarray | None = None

    def data(self) -> dict[str, Any]:
        """As plain data: samples at equal distances, and the last."""
        count = len(self.t)
        kept = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).round().astype(int))
        arrays = {name: getattr(self, name) for name in ("t", "q", "qd", "qdd", "tau", "measured")}
        return {name: rounded(x[kept]) for name, x in arrays.items() if x is not None}


def rounded(x: np.ndarray) -> list:
    """With as many digits as a picture needs."""
    return np.vectorize(lambda v: float(f"{v:.{DIGITS}g}"), otypes=[float])(x).tolist() if x.size else []
