"""CSV: parsed in blocks at NumPy's speed; where a block does not parse, its rows are read one by one to name the culprit."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from qddot.errors import InputError
from qddot.identify.layout import says_quantity
from qddot.identify.table import Table, bad_row

LONGEST_LINE = 1_000_000
FORMULA = ("=", "@")


def read_csv(path: Path, rows: int, repair: bool) -> Iterator[Table]:
    """Blocks of at most `rows` rows. Without a header the columns are called `c0`, `c1`, ..."""
    with path.open(encoding="utf-8-sig", errors="replace", newline=None) as file:
        first = file.readline(LONGEST_LINE)
        if not first.strip():
            raise InputError(f"{path.name}: empty: a log begins with a line of column names")
        delimiter = next((c for c in ",;\t" if c in first), None)
        names = cells(first.lstrip("# "), delimiter)
        pending: list[str] = []
        if all(is_number(name) for name in names):
            names, pending = [f"c{i}" for i in range(len(names))], [first]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise InputError(f"{path.name}: column {sorted(repeated)[0]!r} appears twice in the header (rename one)")
        row, kept = 1, None
        while lines := [*pending, *islice(file, rows - len(pending))]:
            pending = []
            if len(lines) < rows:
                while lines and not lines[-1].strip():
                    lines.pop()
            if lines:
                kept = kept or numeric_columns(names, cells(lines[0], delimiter))
                yield parsed(path.name, names, kept, lines, delimiter, row, repair)
            row += len(lines)
        if row == 1:
            raise InputError(f"{path.name}: a header and no rows")


def numeric_columns(names: list[str], first: list[str]) -> list[int]:
    """The columns to read: all but those that begin with text and whose name says nothing of time, motion or torque."""
    texts = {name for name, text in zip(names, first) if not (is_number(text) or text.startswith(FORMULA) or says_quantity(name))}
    return [i for i, name in enumerate(names) if name not in texts]


def parsed(file: str, names: list[str], kept: list[int], lines: list[str], delimiter: str | None, row: int, repair: bool) -> Table:
    """A block of lines as a table of the columns kept."""
    faults: dict[int, str] = {}
    whole = len(kept) == len(names)
    try:
        if not whole and any(len(line.split(delimiter)) != len(names) or "=" in line or "@" in line for line in lines):
            raise ValueError("ragged, or a formula among texts")
        values = np.loadtxt(lines, delimiter=delimiter, comments=None, quotechar='"', ndmin=2, usecols=None if whole else kept)
        if values.shape != (len(lines), len(kept)):
            raise ValueError("ragged")
    except ValueError:
        values = np.full((len(lines), len(kept)), np.nan)
        for i, line in enumerate(lines):
            try:
                values[i] = numbers_of(file, row + i, names, kept, cells(line, delimiter))
            except InputError as error:
                if not repair or "formula" in str(error):
                    raise
                faults[row + i] = str(error).partition(f"row {row + i}: ")[2].partition(" (")[0]
    texts = tuple(name for i, name in enumerate(names) if i not in kept)
    return Table(file, dict(zip((names[i] for i in kept), values.T)), row, faults, texts)


def numbers_of(file: str, row: int, names: list[str], kept: list[int], found: list[str]) -> list[float]:
    """The numbers of one row, or why they are none."""
    if len(found) != len(names):
        raise bad_row(file, row, f"{len(found)} of {len(names)} columns", "a truncated line? repair=True leaves such rows out")
    for i, (name, text) in enumerate(zip(names, found)):
        if text.startswith(FORMULA):
            raise bad_row(file, row, f"{name} = {text[:40]!r} is a formula, not a number", "export values; formulas are never run")
        if i in kept and not is_number(text):
            shown = f"{name} = {text[:40]!r} is not a number" if text else f"{name} is empty"
            raise bad_row(file, row, shown, "repair=True leaves such rows out")
    return [float(found[i]) for i in kept]


def cells(line: str, delimiter: str | None) -> list[str]:
    """The texts between delimiters; `None` stands for white space."""
    if delimiter is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])]


def is_number(text: str) -> bool:
    """As NumPy reads it: no underscores, no hexadecimal."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
