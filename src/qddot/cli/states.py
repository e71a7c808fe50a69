"""Files of many states, and of results for them: columns `q1, q2, ...` by number, or `q_elbow` by the joint's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.logs.column_names import WORDS, shown, tokens
from qddot.logs.groups import Group, grouped
from qddot.logs.layout import Layout, guessed, in_robot_order
from qddot.logs.readers import read
from qddot.logs.table import Table, joined
from qddot.robot import Robot
from qddot.simulate.trajectory import write_csv, write_parquet


class States(NamedTuple):
    """States of a file: name of an input -> (states, n), in SI units; and notes on the columns that were read and those that were
    not."""

    inputs: dict[str, np.ndarray]
    notes: list[str]


def read_states(robot: Robot, path: str, wanted: tuple[str, ...]) -> States:
    """Return the inputs in a file: by our names, or by those that recordings use (`dq1`, `q1 [deg]`, `elbow/velocity`). Raises
    InputError: rows that are not numbers, no column of any input, or not one for each coordinate."""
    table = joined(list(read(path)))
    if table.faults:
        row, why = next(iter(table.faults.items()))
        raise InputError(f"{path}: row {row}: {why}")
    names = [c.name for c in robot.model.mechanism.coordinates for _ in c.q] if robot.nq == robot.nv else []
    groups = grouped(table, names)
    found: dict[str, np.ndarray] = {}
    notes: list[str] = []
    used: set[str] = {name for name in table.columns if tokens(name) & WORDS["t"]}
    for name in wanted:
        n = robot.nq if name == "q" else robot.nv
        labels = [(f"{name}{i + 1}", f"{name}[{i}]", f"{name}_{names[i]}" if names else "") for i in range(n)]
        columns = [next((x for x in choices if x in table.columns), None) for choices in labels]
        missing = [choices[0] for choices, column in zip(labels, columns) if column is None]
        group = guessed(table, groups, name, None, names, []) if missing and name in WORDS else None
        if n and not missing:
            found[name] = np.column_stack([np.asarray(table.columns[str(column)], float) for column in columns])
            used.update(str(column) for column in columns)
        elif n and group is not None and len(group.members) > 1:
            group = in_robot_order(table, name, group, names, False, []) if names else group
            if len(group.members) != n:
                raise InputError(f"{path}: {name} of {robot.name} takes {n} columns, and {group} are {len(group.members)}")
            found[name], unit = in_si_units(table, name, group)
            notes.append(f"{name} is read from {group}{unit}")
            used.update(member for member, _ in group.members)
        elif len(missing) < n:  # a single column for all coordinates is not used, which is reported below
            raise InputError(f"{path} has no column {missing[0]!r}: {name} of {robot.name} takes {n}")
    if not found:
        raise InputError(f"{path} has no columns of {', '.join(wanted)}, such as {wanted[0]}1: it has {shown(table.columns)}")
    if unused := [name for name in (*table.columns, *table.left_out) if name not in used]:
        notes.append(f"not used of {path}: {shown(unused)}")
    return States(found, notes)


def in_si_units(table: Table, name: str, group: Group) -> tuple[np.ndarray, str]:
    """Return samples (states, n) of an input in SI units, which are assumed if names of columns have none; and the units in
    words."""
    layout = Layout({name: group}, ())
    units = layout.units(name)
    if other := next((unit for unit in units if unit is not None and unit.kind), None):
        raise InputError(f"{table.file}: {group} are in {other.name}, and {name} is in N m (N)")
    named = dict.fromkeys(unit.name for unit in units if unit is not None)
    if named and None in units:
        raise InputError(
            f"{table.file}: some of {group} tell a unit, {', '.join(named)}, and some do not: name it for all or for none"
        )
    scale = np.array([1.0 if unit is None else unit.scale for unit in units])
    return np.asarray(layout.take(table, name), float) * scale, f", in {', '.join(named)}" if named else ""


def write_results(path: str, parts: dict[str, Any], states: int | None) -> None:
    """Write a row per state and a column per element: `M11`, `M12`, ... or `tau1`, `tau2`, ..."""
    columns: dict[str, np.ndarray] = {}
    for name, values in parts.items():
        array = np.asarray(values, float)
        array = array if states is not None else array[None]
        for index in np.ndindex(array.shape[1:]):
            label = name + ("" if not index else "".join(str(i + 1) for i in index) if max(array.shape[1:]) < 10 else str([*index]))
            columns[label.replace(" ", "")] = array[(slice(None), *index)]
    (write_parquet if Path(path).suffix.lower() == ".parquet" else write_csv)(path, columns)
