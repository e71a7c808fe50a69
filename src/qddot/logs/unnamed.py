"""Columns without names, of a known robot: recognised by how many there are, and by which are derivatives of which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from qddot.errors import InputError
from qddot.logs.column_names import says_quantity
from qddot.logs.table import Finding, Table
from qddot.thresholds import SAME_CURVE

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
        f"{table.file}: {width} columns without names, which are not time, positions, velocities and torques of {n} joints "
        f"(t, q, tau would be {1 + 2 * n}; t, q, qd, tau {1 + 3 * n}): say which, columns={{'q': [...], 'tau': [...]}}"
    )


def fits(values: np.ndarray, at: Mapping[str, Sequence[int]], timed: bool) -> bool:
    """Return True if the columns for velocities are the rates of the positions, and those for torques are not."""
    t = values[:, 0] if timed else np.arange(len(values), dtype=float)
    if len(t) < 3:
        return True
    rates = np.gradient(values[:, at["q"]], t, axis=0)
    return all(same_curve(values[:, at[name]], rates) == (name == "qd") for name in ("qd", "tau") if name in at)


def same_curve(x: np.ndarray, y: np.ndarray) -> bool:
    """Return True if most columns of x and y are correlated."""
    x, y = (each - each.mean(axis=0) for each in (x, y))
    size = np.linalg.norm(x, axis=0) * np.linalg.norm(y, axis=0)
    return bool(np.median(np.sum(x * y, axis=0) / np.where(size > 0, size, np.inf)) > SAME_CURVE)
