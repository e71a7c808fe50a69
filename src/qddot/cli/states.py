"""Many states from a file, and their results into one: columns `q1, q2, ...` by number, or `q_elbow` by the joint's name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from qddot.errors import InputError, missing_extra
from qddot.logs.readers import read
from qddot.logs.table import joined
from qddot.robot import Robot


def read_states(robot: Robot, path: str, wanted: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The inputs that the file has: name -> (states, n).

    Raises:
        InputError: rows that are not numbers, no column of any input, or not one for each coordinate.
    """
    table = joined(list(read(path)))
    if table.faults:
        row, why = next(iter(table.faults.items()))
        raise InputError(f"{path}: row {row}: {why}")
    names = [c.name for c in robot.model.mechanism.coordinates for _ in c.q]
    found = {}
    for name in wanted:
        n = robot.nq if name == "q" else robot.nv
        labels = [(f"{name}{i + 1}", f"{name}[{i}]", f"{name}_{names[i]}" if robot.nq == robot.nv else "") for i in range(n)]
        columns = [next((x for x in choices if x in table.columns), None) for choices in labels]
        missing = [choices[0] for choices, column in zip(labels, columns) if column is None]
        if missing and len(missing) < n:
            raise InputError(f"{path} has no column {missing[0]!r}: {name} of {robot.name} takes {n}")
        if n and not missing:
            found[name] = np.column_stack([np.asarray(table.columns[str(column)], float) for column in columns])
    if not found:
        shown = ", ".join(list(table.columns)[:12])
        raise InputError(f"{path} has no columns of {', '.join(wanted)}, such as {wanted[0]}1: it has {shown}")
    return found


def write_results(path: str, parts: dict[str, Any], states: int | None) -> None:
    """A row a state, a column an element: `M11`, `M12`, ... or `tau1`, `tau2`, ..."""
    columns: dict[str, np.ndarray] = {}
    for name, values in parts.items():
        array = np.asarray(values, float)
        array = array if states is not None else array[None]
        for index in np.ndindex(array.shape[1:]):
            label = name + ("" if not index else "".join(str(i + 1) for i in index) if max(array.shape[1:]) < 10 else str([*index]))
            columns[label.replace(" ", "")] = array[(slice(None), *index)]
    if Path(path).suffix.lower() == ".parquet":
        try:
            import pyarrow  # type: ignore[import-not-found]
            import pyarrow.parquet  # type: ignore[import-not-found]
        except ImportError:
            raise missing_extra("pyarrow", "parquet", "writing Parquet") from None
        pyarrow.parquet.write_table(pyarrow.table({name: np.ascontiguousarray(x) for name, x in columns.items()}), path)
    else:
        header = ",".join(f'"{name}"' if "," in name else name for name in columns)
        np.savetxt(path, np.column_stack(list(columns.values())), delimiter=",", header=header, comments="", fmt="%.17g")
