"""Estimates of base parameters together with further columns, for effects of sensors or temperature on the torques.

tau = Y_B theta + Z zeta,     joints weighted by their noise, uncertainty by leaving out blocks of time
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from qddot.arguments import finite_array
from qddot.errors import InputError
from qddot.identify.regression.base import Base
from qddot.identify.regression.residuals import relative
from qddot.identify.regression.signals import Signals
from qddot.identify.scaling import column_lengths, nonzero
from qddot.thresholds import COLUMN_ROUNDING, TIME_BLOCKS, WEIGHT_ROUNDS


@dataclass(frozen=True, eq=False)
class Extended:
    """An estimate with further columns."""

    base: Base  # the base parameters
    theta: np.ndarray  # their values (r,)
    alone: np.ndarray  # their values (r,) without the further columns
    names: tuple[str, ...]  # names of the further parameters (k,)
    # zeta, std: values of the further parameters (k,), and their standard deviations by blocks of time (k,)
    zeta: np.ndarray
    std: np.ndarray
    # before, after: |error| / |tau| of the filtered torques without and with the further columns
    before: float
    after: float

    @property
    def further(self) -> dict[str, tuple[float, float]]:
        """Further parameter -> (value, standard deviation)."""
        return {name: (float(x), float(s)) for name, x, s in zip(self.names, self.zeta, self.std)}


def extended(base: Base, signals: Signals, columns: Mapping[str, np.ndarray]) -> Extended:
    """Fit base parameters and further columns to a prepared log.

    Args:
        columns: name -> effect on the torques per unit (N, nv), at the samples of the signals.

    Raises:
        InputError: a column of another shape, one of zeros, or one that depends on the others.
    """
    shape = signals.q.shape
    for name, column in columns.items():
        if (found := finite_array(name, column).shape) != shape:
            raise InputError(f"{name}: a column of shape {found}; finite numbers of {shape} are meant")
    rows = [joint_rows(base, signals, list(columns.values()), j) for j in range(shape[1])]
    r, names = base.rank, tuple(columns)
    check_shown(names, rows, r)
    both, sigma = weighted(rows)
    without = [np.delete(A, np.s_[r:-1], axis=1) for A in rows]
    alone, _ = weighted(without)
    std = np.sqrt(np.diagonal(covariance_by_blocks(rows, sigma)))
    before, after = relative(*errors(without, alone)), relative(*errors(rows, both))
    return Extended(base, both[:r], alone, names, both[r:], std[r:], before, after)


def joint_rows(base: Base, signals: Signals, more: list[np.ndarray], j: int) -> np.ndarray:
    """Filtered rows `[Y_B | Z | tau]` of one joint (M, r + k + 1), without those in which it rests."""
    parameter_set, evaluator = base.parameter_set, base.parameter_set.evaluator()
    moved = evaluator.at(signals.q, signals.qd, signals.qdd)
    Y = moved.row(j) @ parameter_set.T[np.ix_(evaluator.used[j], np.array(base.independent, int))]
    tau = signals.tau_raw[:, j] - (moved.known()[:, j] if evaluator.knows else 0.0)
    moving = signals.moves(parameter_set.rest_speeds)[:, j : j + 1]
    A, counts = signals.decimated_where(np.column_stack([Y, *(z[:, j] for z in more), tau]), moving)
    return A[counts[:, 0]]


def check_shown(names: tuple[str, ...], rows: list[np.ndarray], r: int) -> None:
    """Refuse further columns of zeros, and those that depend on the others."""
    A = np.vstack(rows)[:, :-1]
    size = np.linalg.norm(A, axis=0)
    Q = np.linalg.qr(A[:, :r] / nonzero(size[:r]))[0]
    for k, name in enumerate(names, start=r):
        if size[k] == 0:
            raise InputError(f"{name} does nothing in this log, so nothing can be said of it (leave it out, or move that joint)")
        own = A[:, k] - Q @ (Q.T @ A[:, k])
        if np.linalg.norm(own) < COLUMN_ROUNDING * size[k]:
            raise InputError(f"{name} does nothing in this log that the model or another column does not do too (leave it out)")
        Q = np.column_stack([Q, own / np.linalg.norm(own)])


def weighted(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares: parameters, and the noise of each joint by which its rows are weighted, computed by turns."""
    sigma = np.ones(len(rows))
    theta = np.zeros(rows[0].shape[1] - 1)
    for _ in range(WEIGHT_ROUNDS):
        A = np.vstack([part / s for part, s in zip(rows, sigma)])
        size = column_lengths(A[:, :-1])
        theta = np.linalg.lstsq(A[:, :-1] / size, A[:, -1], rcond=1e-12)[0] / size
        before, floor = sigma, 1e-9 * max(np.abs(part[:, -1]).max(initial=0.0) for part in rows)
        left = (part[:, -1] - part[:, :-1] @ theta for part in rows)
        sigma = np.array([max(np.sqrt(np.mean(e**2)), floor) if len(e) else 1.0 for e in left])
        if np.allclose(before, sigma, rtol=1e-6):
            break
    return theta, sigma


def covariance_by_blocks(rows: list[np.ndarray], sigma: np.ndarray) -> np.ndarray:
    """Covariance of the parameters, by leaving out blocks of time."""
    every = [A / s for A, s in zip(rows, sigma)]
    size = column_lengths(np.vstack(every)[:, :-1])
    cuts = [np.linspace(0, len(A), TIME_BLOCKS + 1).astype(int)[1:-1] for A in every]
    blocks = zip(*(np.split(A / np.append(size, 1.0), at) for A, at in zip(every, cuts)))
    G = [np.sum([part.T @ part for part in block], axis=0) for block in blocks]
    total = np.sum(G, axis=0)
    others = (total - one for one in G)
    moved = np.array([np.linalg.lstsq(one[:-1, :-1], one[:-1, -1], rcond=1e-12)[0] for one in others]) / size
    spread = moved - moved.mean(axis=0)
    return (TIME_BLOCKS - 1) / TIME_BLOCKS * spread.T @ spread


def errors(rows: list[np.ndarray], theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and torques of all joints, one after the other."""
    A = np.vstack(rows)
    return A[:, -1] - A[:, :-1] @ theta, A[:, -1]
