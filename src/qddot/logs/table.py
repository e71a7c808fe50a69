"""Table that every reader makes of a file: named columns, and the row numbers in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from qddot.errors import InputError

Level = Literal["found", "assumed", "repaired", "warning"]


@dataclass(frozen=True)
class Finding:
    """One fact that was found in a log, assumed about it, or repaired in it, or that makes it doubtful.

    Attributes:
        code: its subject, one or two words.
        serious: True if parameters identified from this log are not to be trusted.

    >>> t = np.linspace(0, 1, 101)
    >>> log = qddot.logs.Log(t, q=np.zeros((101, 2)), tau=np.zeros((101, 2)))
    >>> finding = log.audit().warnings[0]
    >>> finding.level, finding.code
    ('warning', 'still')
    """

    level: Level
    code: str
    message: str
    serious: bool = False

    def __str__(self) -> str:
        return f"{self.level:<8}  {self.code:<9}  {self.message}"


@dataclass(frozen=True)
class Table:
    """Rows of a log file, as written."""

    file: str  # its name, for messages
    columns: dict[str, np.ndarray]  # name -> samples (N,), or (N, k) where the file keeps a matrix
    row: int = 1  # number of the first row in the file, from 1; a header does not count
    # row number, counted as `row` is -> why the reader could not read it; such a row is NaN in every column. `convert` refuses
    # them, or leaves them out where a log is to be repaired
    faults: dict[int, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)  # name -> why the column is left out (`text`, `of another length`)
    # number of a column -> joint, where the file names joints beside numbers
    joints: dict[int, str] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()  # those of the reader

    def __len__(self) -> int:
        return max((len(column) for column in self.columns.values()), default=0)


class Hints(NamedTuple):
    """Hints for a reader: go on after a bad row, the topic of a bag, the robot's joints."""

    repair: bool = False
    topic: str | None = None
    joint_names: tuple[str, ...] = ()


def bad_row(file: str, row: int, rule: str, fix: str = "") -> InputError:
    """Return the error for a row: `log.csv: row 3: t not increasing: 0.05 after 0.1 (...)`."""
    return InputError(f"{file}: row {row}: {rule}" + (f" ({fix})" if fix else ""))


def joined(tables: Sequence[Table]) -> Table:
    """Return consecutive blocks of one file as one table. Raises InputError: their columns differ."""
    first = tables[0]
    if len(tables) == 1:
        return first
    shapes = {name: column.shape[1:] for name, column in first.columns.items()}
    for table in tables:
        other = next((name for name, column in table.columns.items() if column.shape[1:] != shapes.get(name)), None)
        if other is not None or len(table.columns) != len(shapes):
            rule = f"from here on {repr(other) + ' is of another width' if other else 'columns are missing'}"
            raise bad_row(first.file, table.row, rule, "save each part to a file of its own")
    columns = {name: np.concatenate([table.columns[name] for table in tables]) for name in first.columns}
    faults = {row: why for table in tables for row, why in table.faults.items()}
    findings = tuple(dict.fromkeys(finding for table in tables for finding in table.findings))
    return replace(first, columns=columns, faults=faults, findings=findings)
