"""Least squares by normal equations, which are so small that hundreds of models of one log are fitted in the time of one.

For each part of the rows (halves of a log, or more) and each joint they are `G = [X | tau]^T [X | tau]`, (parts, nv, k + 1, k + 1)
together. A further column, or other torques, take a few products with the rows. The fits are only compared, and never returned to a
user, so six of sixteen digits suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qddot.identify.scaling import nonzero
from qddot.thresholds import TRIAL_ROUNDS, TRIAL_SETTLED


class Left(NamedTuple):
    """Residuals of a fit: rms of each joint (nv,), N m; the fraction of the torques in each part that parameters of the other parts
    miss (see `Alternative`); the rms of each joint's residual when so predicted (nv,), N m; and the parameters (k,), unless each
    part of the log has its own."""

    noise: np.ndarray
    unpredicted: float
    unseen: np.ndarray
    theta: np.ndarray | None = None


def score(left: Left) -> float:
    """Score of a fit for comparison, smaller if more is explained: sum of the logarithms of the joints' rms residuals."""
    return float(np.sum(np.log(left.noise)))


class Equations:
    """The rows `[X_j | tau_j]` of each joint, split into parts, and their normal equations.

    Attributes:
        columns: for each joint, indices of those of the k parameters that its rows have.
        parts: for each part, the mask of its rows (M,).
        rows: for each part and joint, (rows of the part, len(columns[j]) + 1).
        G: (parts, nv, k + 1, k + 1).
    """

    def __init__(self, rows: Sequence[np.ndarray], columns: Sequence[np.ndarray], count: int, part: np.ndarray) -> None:
        """Keep rows and columns; `part` (M,) is the part of each row, 0 and up."""
        self.columns, self.samples = columns, len(part)
        self.parts = [part == k for k in range(int(part.max(initial=0)) + 1)]
        self.rows = [[a[kept] for a in rows] for kept in self.parts]
        self.places = [np.append(here, count) for here in columns]
        self.G = np.zeros((len(self.parts), len(rows), count + 1, count + 1))
        for h, each in enumerate(self.rows):
            for j, (a, here) in enumerate(zip(each, self.places)):
                self.G[h, j, here[:, None], here] = a.T @ a

    def with_columns(self, Z: np.ndarray) -> np.ndarray:
        """Normal equations (parts, nv, k + d + 1, k + d + 1) with further columns Z (M, nv, d), placed before the torques."""
        k, d = self.G.shape[-1] - 1, Z.shape[-1]
        old, new = np.append(np.arange(k), k + d), np.arange(k, k + d)
        G = np.zeros((*self.G.shape[:2], k + d + 1, k + d + 1))
        G[:, :, old[:, None], old] = self.G
        for h, kept in enumerate(self.parts):
            for j, (a, here) in enumerate(zip(self.rows[h], self.places)):
                z = Z[kept, j]
                cross = a.T @ z
                G[h, j, old[here][:, None], new] = cross
                G[h, j, new[:, None], old[here]] = cross.T
                G[h, j, new[:, None], new] = z.T @ z
        return G

    def of_rows(self, kept: np.ndarray) -> np.ndarray:
        """Normal equations of those rows of each joint for which `kept` (M, nv) is True."""
        G = self.G.copy()
        for h, part in enumerate(self.parts):
            for j in np.flatnonzero(~kept.all(axis=0)).tolist():
                a, here = self.rows[h][j][kept[part, j]], self.places[j]
                G[h, j, here[:, None], here] = a.T @ a
        return G

    def with_torques(self, tau: np.ndarray) -> np.ndarray:
        """Normal equations with other torques (M, nv)."""
        G = self.G.copy()
        for h, kept in enumerate(self.parts):
            for j, (a, here) in enumerate(zip(self.rows[h], self.columns)):
                y = tau[kept, j]
                G[h, j, here, -1] = G[h, j, -1, here] = a[:, :-1].T @ y
                G[h, j, -1, -1] = y @ y
        return G


def fitted(G: np.ndarray, samples: int) -> tuple[np.ndarray, Left]:
    """Solve normal equations (parts, nv, k + 1, k + 1) by weighted least squares: parameters (k,) and residuals."""
    total = G.sum(axis=0)
    theta, noise = balanced(total, samples)
    unseen = np.sum([remaining(part, solved(total - part, noise)) for part in G], axis=0)
    beyond = max(float(np.sum(unseen - remaining(total, theta))), 0.0)
    missed = float(np.sqrt(beyond / np.sum(total[:, -1, -1])))
    return theta, Left(noise, missed, np.maximum(np.sqrt(unseen / samples), least_noise(total, samples)), theta)


def balanced(G: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Solve normal equations (nv, k + 1, k + 1), each joint weighted by its rms residual: parameters (k,) and residuals (nv,)."""
    noise, theta = np.ones(len(G)), np.zeros(G.shape[-1] - 1)
    for _ in range(TRIAL_ROUNDS):
        before, theta = noise, solved(G, noise)
        noise = np.maximum(np.sqrt(remaining(G, theta) / samples), least_noise(G, samples))
        if np.abs(noise / before - 1).max() <= TRIAL_SETTLED:
            break
    return theta, noise


def least_noise(G: np.ndarray, samples: int) -> float:
    """Rms torque below which everything is rounding, N m."""
    return 1e-7 * float(np.sqrt(G[:, -1, -1].max() / samples))


def solved(G: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Solve normal equations G (nv, k + 1, k + 1), the joints weighted by 1 / noise: parameters (k,)."""
    whole = np.tensordot(1 / noise**2, G, axes=1)
    scale = nonzero(np.sqrt(np.diagonal(whole)[:-1]))
    scaled = whole[:-1, :-1] / np.outer(scale, scale) + 1e-12 * np.eye(len(scale))  # invertible for dependent columns too
    return np.linalg.solve(scaled, whole[:-1, -1] / scale) / scale


def remaining(G: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Sum of squared residuals of each joint (nv,)."""
    left = np.append(-theta, 1.0)
    return np.maximum((G @ left) @ left, 0.0)
