"""A motion that the page plays: simulated, or recorded with measured joint forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SAMPLES = 1200
"""Most samples of a motion that the page contains."""

DIGITS = 9


@dataclass(frozen=True, eq=False)
class Recording:
    """Times (samples,), and at each of them the motion and the joint forces (samples, n)."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray | None = None
    tau: np.ndarray | None = None
    measured: np.ndarray | None = None  # measured joint forces, if `tau` are predicted ones
    external: np.ndarray | None = None  # joint forces of contacts and stops, if any
    # forces of all pairs (samples, pairs, 3) along normal and tangents, N, like `ContactMotion.force`, if any
    contact: np.ndarray | None = None

    def data(self) -> dict[str, Any]:
        """Return the motion as plain data: samples at equal distances, and the last one."""
        count = len(self.t)
        kept = np.unique(np.linspace(0, count - 1, min(count, SAMPLES)).round().astype(int))
        arrays = {name: getattr(self, name) for name in ("t", "q", "qd", "qdd", "tau", "measured", "external")}
        found = {name: rounded(x[kept]) for name, x in arrays.items() if x is not None}
        if self.contact is not None:
            found["contact"] = [[[k, *rounded(x[k])] for k in map(int, np.flatnonzero(x[:, 0] > 0))] for x in self.contact[kept]]
        return found


def rounded(x: np.ndarray) -> list:
    """Return numbers rounded to the digits that a picture needs."""
    return np.vectorize(lambda v: float(f"{v:.{DIGITS}g}"), otypes=[float])(x).tolist() if x.size else []
