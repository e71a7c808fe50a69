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
    """Times (samples,), and at each of them the motion and the joint forces (samples, n)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray | None = None
    tau: np.ndarray | None = None
    measured: np.ndarray | None = None  # joint forces that were measured, where `tau` are predicted; None without
    external: np.ndarray | None = None  # joint forces from outside, of contacts and stops; None without
    # forces of all pairs (samples, pairs, 3) along normal and tangents, N, as `ContactMotion` has them; None without
    contact: np.ndarray | None = None

    def data(self) -> dict[str, Any]:
        """Motion as plain data: samples at equal distances, and the last."""
        count = len(self.t)
        kept = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).round().astype(int))
        arrays = {name: getattr(self, name) for name in ("t", "q", "qd", "qdd", "tau", "measured", "external")}
        found = {name: rounded(x[kept]) for name, x in arrays.items() if x is not None}
        if self.contact is not None:
            found["contact"] = [[[k, *rounded(x[k])] for k in map(int, np.flatnonzero(x[:, 0] > 0))] for x in self.contact[kept]]
        return found


def rounded(x: np.ndarray) -> list:
    """Numbers with as many digits as a picture needs."""
    return np.vectorize(lambda v: float(f"{v:.{DIGITS}g}"), otypes=[float])(x).tolist() if x.size else []
