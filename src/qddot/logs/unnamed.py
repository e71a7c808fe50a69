"""Columns without names, of a known robot: recognised by how many there are, and by which are derivatives of which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from qddot.errors import InputError
from qddot.logs.column_names import says_quantity
from qddot.logs.table import Finding, Table
from qddot.thresholds import RATE_MISFIT, ROUGHER

ORDERS = {1: (), 2: (("q", "tau"),), 3: (("q", "qd", "tau"), ("q", "tau", "qd")), 4: (("q", "qd", "qdd", "tau"),)}
"""Possible sequences of quantities after the time, by their number."""


def is_unnamed(table: Table) -> bool:
    """Return True if columns are only numbered, or are one matrix, as Simulink writes to a file."""
    names = list(table.columns)
    if len(names) == 1 and table.columns[names[0]].ndim == 2:
        return not says_quantity(names[0])
    return bool(names) and all(re.fullmatch(r"c\d+", name) for name in names)


def by_position(table: Table, joints: Sequence[str]) -> tuple[Mapping[str, Sequence[int]], Finding]:
    """Return the columns (from 0) of each quantity. Raises InputError: their number or their values fit no sequence."""
    values = np.column_stack(list(table.columns.values()))
    n, width = len(joints), values.shape[1]
    if width == 1:
        raise InputError(
            f"{table.file}: one column of {len(values)} numbers: time, positions and torques one below the other? (then "
            f"x = np.loadtxt(...).reshape(-1, k) for k numbers a sample in a row, or .reshape(k, -1).T; "
            f"Log(x[:, 0], x[:, 1:n + 1], x[:, n + 1:]))"
        )
    if not n:
        raise InputError(f"{table.file}: {width} columns without names (give the robot, Log.load(path, robot), or columns={{...}})")
    timed = bool(np.all(np.diff(values[:, 0]) > 0)) and width % n == 1 % n
    kinds, left = divmod(width - timed, n)
    for order in ORDERS.get(kinds, ()) if not left else ():
        at = {name: list(range(timed + n * k, timed + n * (k + 1))) for k, name in enumerate(order)}
        if fits(values, at, timed):
            found = ({"t": [0]} if timed else {}) | at
            order_found = ", ".join(
                f"{name} {'to'.join(dict.fromkeys(f' {k} ' for k in (at[0], at[-1]))).strip()}" for name, at in found.items()
            )
            message = f"no names; by their number and what they do, from 0: {order_found} (columns=)"
            return found, Finding("assumed", "columns", message)
    raise InputError(
        f"{table.file}: {width} columns without names, which are not time, positions, velocities and torques of {n} joints, in "
        f"this order (t, q, tau would be {1 + 2 * n}; t, q, qd, tau {1 + 3 * n}): say which, columns={{'q': [...], 'tau': [...]}}"
    )


def fits(values: np.ndarray, at: Mapping[str, Sequence[int]], timed: bool) -> bool:
    """Return True if the columns for velocities are the rates of the positions and those for torques are not, and if positions are
    not rougher than torques, of which they are double integrals."""
    t = values[:, 0] if timed else np.arange(len(values), dtype=float)
    if len(t) < 3:
        return True
    q, tau = values[:, at["q"]], values[:, at["tau"]]
    if "qd" in at:
        return rate_misfit(q, values[:, at["qd"]], t) < min(RATE_MISFIT, rate_misfit(q, tau, t))
    return rate_misfit(q, tau, t) > RATE_MISFIT and roughness(q) < ROUGHER * roughness(tau)


def rate_misfit(q: np.ndarray, x: np.ndarray, t: np.ndarray) -> float:
    """Return the fraction that positions q (N, n), times one unit for all joints, leave of the sums of x (N, n) over time.

    It is nearly 0 if x are their rates. Sums are compared, since derivatives of noisy positions are mostly noise; and with one
    unit, since friction is in proportion to the rates, too, but not the same at all joints.
    """
    sums = np.vstack([np.zeros((1, q.shape[1])), np.cumsum((x[1:] + x[:-1]) / 2 * np.diff(t)[:, None], axis=0)])
    line = np.linalg.qr(np.column_stack([np.ones_like(t), t - t.mean()]))[0]  # where sums begin, and zeros of x, tell nothing
    sums, moved = (each - line @ (line.T @ each) for each in (sums, q))
    size, left = np.sum(moved**2, axis=0), np.linalg.norm(sums, axis=0)
    unit = np.median(np.sum(sums * moved, axis=0) / np.where(size > 0, size, np.inf))
    return float(np.median(np.linalg.norm(sums - unit * moved, axis=0) / np.where(left > 0, left, np.inf)))


def roughness(x: np.ndarray) -> float:
    """Return the rms of the steps between the samples of x (N, n) over that of x, of the usual column."""
    spread = x.std(axis=0)
    return float(np.median(np.sqrt(np.mean(np.diff(x, axis=0) ** 2, axis=0)) / np.where(spread > 0, spread, np.inf)))
