"""Least squares by normal equations: small, so that hundreds of models of one log are fitted in the time of one.

For each part of some rows (halves of a log, or more) and each joint they are `G = [X | tau]^T [X | tau]`, (parts, nv, k + 1, k + 1)
in all. A column more, or other torques, are a few products with the rows that are known already. What is fitted here is compared,
and never returned to a user: six of sixteen digits do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qddot.thresholds import TRIAL_ROUNDS, TRIAL_SETTLED


class Left(NamedTuple):
    """Errors that a fit leaves of each joint's torque (nv,), rms; what parameters of all but a part miss of it (as in
    `Alternative`), and what they leave of each joint there (nv,), rms."""

    noise: np.ndarray
    unpredicted: float
    unseen: np.ndarray


def score(left: Left) -> float:
    """The smaller, the more is explained."""
    return float(np.sum(np.log(left.noise)))


class Equations:
    """The rows `[X_j | tau_j]` of each joint in some parts, and their normal equations.

    Attributes:
        columns: for each joint, which of the k parameters its row has.
        parts: which rows (M,) are of each.
        rows: for each part and joint, (M, len(columns[j]) + 1).
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
        """The normal equations (parts, nv, k + d + 1, k + d + 1) with columns Z (M, nv, d) before the torques."""
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
        """The normal equations of some rows (M, nv) of each joint."""
        G = self.G.copy()
        for h, part in enumerate(self.parts):
            for j in np.flatnonzero(~kept.all(axis=0)).tolist():
                a, here = self.rows[h][j][kept[part, j]], self.places[j]
                G[h, j, here[:, None], here] = a.T @ a
        return G

    def with_torques(self, tau: np.ndarray) -> np.ndarray:
        """The normal equations with other torques (M, nv)."""
        G = self.G.copy()
        for h, kept in enumerate(self.parts):
            for j, (a, here) in enumerate(zip(self.rows[h], self.columns)):
                y = tau[kept, j]
                G[h, j, here, -1] = G[h, j, -1, here] = a[:, :-1].T @ y
                G[h, j, -1, -1] = y @ y
        return G


def fitted(G: np.ndarray, samples: int) -> tuple[np.ndarray, Left]:
    """Parameters (k,) of normal equations (parts, nv, k + 1, k + 1) by weighted least squares, and what they leave."""
    total = G.sum(axis=0)
    theta, noise = balanced(total, samples)
    unseen = np.sum([remaining(part, solved(total - part, noise)) for part in G], axis=0)
    beyond = max(float(np.sum(unseen - remaining(total, theta))), 0.0)
    missed = float(np.sqrt(beyond / np.sum(total[:, -1, -1])))
    return theta, Left(noise, missed, np.maximum(np.sqrt(unseen / samples), least_noise(total, samples)))


def balanced(G: np.ndarray, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Parameters (k,) of normal equations (nv, k + 1, k + 1), the joints weighted by what is left of them, and that (nv,)."""
    noise, theta = np.ones(len(G)), np.zeros(G.shape[-1] - 1)
    for _ in range(TRIAL_ROUNDS):
        before, theta = noise, solved(G, noise)
        noise = np.maximum(np.sqrt(remaining(G, theta) / samples), least_noise(G, samples))
        if np.abs(noise / before - 1).max() <= TRIAL_SETTLED:
            break
    return theta, noise


def least_noise(G: np.ndarray, samples: int) -> float:
    """Torque, rms, below which all is rounding."""
    return 1e-7 * float(np.sqrt(G[:, -1, -1].max() / samples))


def solved(G: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Parameters (k,) of the normal equations G (nv, k + 1, k + 1), the joints weighted by 1 / noise."""
    whole = np.tensordot(1 / noise**2, G, axes=1)
    scale = np.sqrt(np.diagonal(whole)[:-1])
    scale = np.where(scale > 0, scale, 1.0)
    scaled = whole[:-1, :-1] / np.outer(scale, scale) + 1e-12 * np.eye(len(scale))  # columns that nothing tells apart
    return np.linalg.solve(scaled, whole[:-1, -1] / scale) / scale


def remaining(G: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Sum of the squared torques that parameters leave of each joint (nv,)."""
    left = np.append(-theta, 1.0)
    return np.maximum((G @ left) @ left, 0.0)
