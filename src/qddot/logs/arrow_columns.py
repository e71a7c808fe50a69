"""Columns of Arrow, in which Parquet and Feather files hold their rows, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from qddot.errors import InputError
from qddot.files import LOG_COLUMNS
from qddot.logs.clock import Clock
from qddot.logs.column_names import NAMES, WORDS, tokens
from qddot.logs.read_csv import clock_columns
from qddot.logs.table import Finding, Table


def tables(file: str, parts: Iterable[Any]) -> Iterator[Table]:
    """Yield the columns of numbers, times and lists of numbers of one length, also in structs, of each batch or table of Arrow.

    Missing values become NaN. A list of names beside lists of numbers, as in a dump of joint states, names their joints. Dates as
    texts become seconds if there is no other time.
    """
    import pyarrow as arrow

    conversion = Conversion(file)
    for part in parts:
        yield conversion.table(part if isinstance(part, arrow.Table) else arrow.Table.from_batches([part]))
    arrow.default_memory_pool().release_unused()  # several batches, which nobody else would use again


def refuse_names(file: str, names: Sequence[str]) -> None:
    """Raise InputError: too many columns, or two of one name."""
    if rule := LOG_COLUMNS.over("number of columns", len(names)):
        raise InputError(f"{file}: {rule}")
    if len(set(names)) < len(names):
        twice = min(name for name in names if names.count(name) > 1)
        raise InputError(f"{file}: column {twice!r} appears twice (rename one)")


class Conversion:
    """Conversion of one part of a file after the other, and what later parts must share with the first."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.row = 1  # number of the next part's first row
        self.widths: dict[str, int] = {}  # of the lists of each column
        self.joints: tuple[str, ...] = ()  # as the first row names them
        self.clock: Clock | None = None  # of dates as texts,
        self.clock_names: list[str] = []  # in these columns
        self.findings: list[Finding] = []

    def table(self, flat: Any) -> Table:
        """Return the next part of the file, a table of Arrow."""
        import pyarrow as arrow
        from pyarrow import types

        while any(types.is_struct(kind) for kind in flat.schema.types):
            flat = flat.flatten()
        refuse_names(self.file, flat.column_names)
        self.faults: dict[int, str] = {}
        columns: dict[str, np.ndarray] = {}
        rest: dict[str, Any] = {}  # columns that hold no numbers
        stamps: list[str] = []
        names: list[list[str] | None] | None = None
        for name, column in zip(flat.column_names, flat.columns):
            kind, column = column.type, column.combine_chunks()
            if is_list(kind) and is_text(kind.value_type) and tokens(name) & NAMES:
                names = column.to_pylist()
            elif is_list(kind) and is_number(kind.value_type):
                columns[name] = self.matrix(name, column)
            elif types.is_timestamp(kind):
                stamps.append(f"{name} [ns]")
                columns[stamps[-1]] = column.cast(arrow.timestamp("ns", kind.tz)).cast(arrow.int64()).to_numpy(zero_copy_only=False)
            elif types.is_integer(kind) and not column.null_count:
                columns[name] = column.to_numpy(zero_copy_only=False)
            elif is_number(kind):
                columns[name] = column.cast(arrow.float64()).to_numpy(zero_copy_only=False)
            else:
                rest[name] = column
        has_time = any(tokens(name) & WORDS["t"] for name in columns)
        if len(stamps) == 1 and not has_time:  # an index without a name, say
            columns = {"time [ns]" if name in stamps else name: values for name, values in columns.items()}
        if self.row == 1 and len(flat) and not has_time and not stamps:
            self.find_clock(flat.column_names, rest)
        if self.clock is not None:
            columns[f"{self.clock_names[-1]} [s]"] = self.seconds(self.clock, [rest.pop(name) for name in self.clock_names])
        if names is not None:
            columns = self.in_one_order(names, columns)
        columns = self.without_faulty(columns)
        left_out = dict.fromkeys(rest, "no numbers")
        joints = dict(enumerate(self.joints, 1))
        found = Table(self.file, columns, self.row, self.faults, left_out, joints, tuple(self.findings))
        self.row += len(flat)
        return found

    def matrix(self, name: str, column: Any) -> np.ndarray:
        """Return lists of numbers as a matrix, a row each; those that differ from the first in length are faults."""
        import pyarrow as arrow

        lengths = column.value_lengths().to_numpy(zero_copy_only=False)  # NaN: no list
        width = self.widths.setdefault(name, int(next(iter(lengths[lengths == lengths]), 0)))
        for i in np.flatnonzero((lengths != width) & (lengths == lengths)):
            self.faults.setdefault(self.row + int(i), f"{name} holds {int(lengths[i])} numbers, the first {width}")
        values = np.full((len(column), width), np.nan)
        fit = lengths == width
        flat = column.filter(arrow.array(fit)).flatten().cast(arrow.float64())
        values[fit] = flat.to_numpy(zero_copy_only=False).reshape(fit.sum(), width)
        return values

    def find_clock(self, names: list[str], rest: dict[str, Any]) -> None:
        """Find dates and times of day among the texts of the first row."""
        first = [rest[name][0].as_py() or "" if name in rest and is_text(rest[name].type) else "" for name in names]
        self.clock_names = [names[i] for i in clock_columns(names, first)]
        if self.clock_names:
            self.clock = Clock(" ".join(rest[name][0].as_py() for name in self.clock_names))
            begins = f"{' and '.join(self.clock_names)} begins at {self.clock.first}, read as date and time of day"
            self.findings.append(Finding("found", "time", begins))

    def seconds(self, clock: Clock, texts: list[Any]) -> np.ndarray:
        """Return dates and times of day as seconds; rows without one are faults."""
        name = self.clock_names[-1]
        values = np.full(len(texts[0]), np.nan)
        for i, parts in enumerate(zip(*(column.to_pylist() for column in texts))):
            if not all(parts):
                self.faults.setdefault(self.row + i, f"{self.clock_names[[bool(part) for part in parts].index(False)]} is missing")
                continue
            try:
                values[i] = clock.seconds(" ".join(parts))
            except ValueError as error:
                self.faults.setdefault(self.row + i, f"{name} = {parts[-1][:40]!r} {error}")
        return values

    def in_one_order(self, names: list[list[str] | None], columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the columns, each row of matrices sorted to the order of the joints; `names` are the joints of each row."""
        self.joints = self.joints or next((tuple(found) for found in names if found and None not in found), ())
        n = len(self.joints)
        order = np.tile(np.arange(n), (len(names), 1))
        for i, found in enumerate(names):
            if found is None or sorted(map(str, found)) != sorted(self.joints):
                why = "names are missing" if found is None else f"names of other joints than {', '.join(self.joints)}"[:200]
                self.faults.setdefault(self.row + i, why)
            else:
                order[i] = [found.index(joint) for joint in self.joints]
        return {
            name: np.take_along_axis(column, order, axis=1) if column.ndim == 2 and column.shape[1] == n else column
            for name, column in columns.items()
        }

    def without_faulty(self, columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the columns, with NaN in the rows that have a fault."""
        if not self.faults:
            return columns
        at = np.array(sorted(self.faults)) - self.row
        found = {name: np.array(column, dtype=float) for name, column in columns.items()}
        for values in found.values():
            values[at] = np.nan
        return found


def is_list(kind: Any) -> bool:
    from pyarrow import types

    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def is_number(kind: Any) -> bool:
    from pyarrow import types

    return types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)


def is_text(kind: Any) -> bool:
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind)
