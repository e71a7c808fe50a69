"""CSV: blocks of lines are parsed by NumPy; if a block does not parse, its rows are read one by one to name the bad one."""

from __future__ import annotations

import csv
import gzip
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TextIO

import numpy as np

from qddot.errors import InputError
from qddot.files import LOG_COLUMNS, LOG_LINE
from qddot.logs.clock import Clock, has_day, is_clock, is_day
from qddot.logs.column_names import NAMES, WORDS, says_quantity, shown, tokens, words_of
from qddot.logs.list_cells import without_lists
from qddot.logs.one_row_a_joint import side_by_side, tall
from qddot.logs.table import Finding, Table, bad_row
from qddot.logs.units import is_unit
from qddot.thresholds import LONGEST_PREAMBLE

FORMULA = ("=", "@")
GZIP = b"\x1f\x8b"  # the first bytes of packed data, whatever the file is called
COMMENT = ("#", "%", "//")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Dialect:
    """Syntax of a file's lines, and the names of their columns."""

    names: list[str]
    delimiter: str | None
    decimal_comma: bool
    kept: list[int]
    """indices of columns that hold numbers or times"""
    clock: Clock | None = None
    """for files with dates or times of day"""
    clock_at: Sequence[int] = ()
    """index of the column with date and time, or indices of that with dates and that with times"""

    def cells(self, line: str) -> list[str]:
        """Return the texts of a line, numbers with a decimal point; a separator at the end of the line begins no further cell."""
        found = cells(line, self.delimiter)
        if len(found) == len(self.names) + 1 and not found[-1]:
            found.pop()
        return [text.replace(",", ".") for text in found] if self.decimal_comma else found

    def for_loadtxt(self, lines: list[str]) -> list[str]:
        """Return lines as NumPy reads them: decimal points, seconds instead of dates, and no separator at their ends."""
        if self.delimiter and lines[0].rstrip("\r\n ").endswith(self.delimiter):
            lines = [line.rstrip("\r\n ").removesuffix(self.delimiter) for line in lines]
        if self.decimal_comma:
            lines = [line.replace(",", ".") for line in lines]
        return [self.in_seconds(line, self.clock) for line in lines] if self.clock else lines

    def in_seconds(self, line: str, clock: Clock) -> str:
        """Return a line with seconds instead of date and time."""
        found = line.split(self.delimiter)
        found[self.clock_at[-1]] = repr(clock.seconds(self.stamp(found)))
        return (self.delimiter or " ").join(found)

    def stamp(self, found: list[str]) -> str:
        """Return the date and time of a row as one text."""
        return " ".join(found[i].strip(' "') for i in self.clock_at)


def read_csv(path: Path, rows: int, repair: bool) -> Iterator[Table]:
    """Yield blocks of at most `rows` rows. Without a header the columns are called `c0`, `c1`, ..."""
    with opened(path) as file:
        every = lines_of(path.name, file)
        head = list(islice(every, LONGEST_PREAMBLE))
        refuse_wide(path.name, head)
        if (plain := without_lists(head, usual_separator(head))) is not None:
            head, flattened = plain
            every = map(flattened, every)
        head, every, found = one_line_per_time(path.name, head, every)
        dialect, start, findings = read_head(path.name, head)
        findings += found
        left_out = {name: "text" for i, name in enumerate(dialect.names) if i not in (*dialect.kept, *dialect.clock_at)}
        joints = joints_named(dialect, head[start:])
        lines, row = without_trailing_blanks(chain(head[start:], every)), 1
        while block := list(islice(lines, rows)):
            columns, faults = parsed(path.name, dialect, block, row, repair)
            yield Table(path.name, columns, row, faults, left_out, joints, tuple(findings))
            row += len(block)
        if row == 1:
            raise InputError(f"{path.name}: a header and no rows")


def refuse_wide(file: str, head: list[str]) -> None:
    """Raise InputError: more columns than the limit. Checked first, since what follows looks at each column."""
    counts = (line.count(delimiter) + 1 if (delimiter := separator(line)) else len(line.split()) for line in head)
    if rule := LOG_COLUMNS.over("number of columns", max(counts, default=0)):
        raise InputError(f"{file}: {rule}")


def one_line_per_time(file: str, head: list[str], every: Iterator[str]) -> tuple[list[str], Iterator[str], list[Finding]]:
    """Return the first lines and all lines of a file; if each row is of one joint, with all joints of one time in one line."""
    first = next((i for i, line in enumerate(head) if is_text(line)), len(head))
    delimiter = separator(head[first]) if first < len(head) else None
    rows = [cells(line, delimiter) for line in head[first + 1 :] if line.strip()] if delimiter else []
    table = tall(cells(head[first], delimiter), rows) if rows else None
    if table is None or delimiter is None:
        return head, every, []
    lines = side_by_side(file, table, rows, lambda line: cells(line, delimiter), chain(head[first + 1 :], every), delimiter)
    message = f"a row for each joint, as {table.names[table.joint]} says: those of one {table.names[table.time]} are one sample"
    return list(islice(lines, LONGEST_PREAMBLE)), lines, [Finding("found", "rows", message)]


def without_trailing_blanks(lines: Iterable[str]) -> Iterator[str]:
    """Yield all lines but the empty ones at the end: an empty line waits until another line follows."""
    empty: list[str] = []
    for line in lines:
        if line.strip():
            yield from empty
            yield line
            empty.clear()
        else:
            empty.append(line)


def lines_of(file: str, text: TextIO) -> Iterator[str]:
    """Yield the lines of a file. Raises InputError: a line over the limit, as in a file without line ends, which is no table."""
    most = LOG_LINE.value
    for number, line in enumerate(iter(lambda: text.readline(most + 1), ""), 1):
        if len(line) > most:
            raise InputError(f"{file}: line {number}: {LOG_LINE.over('its length', len(line))}")
        yield line


def opened(path: Path) -> TextIO:
    """Open a text file, packed or not: UTF-8, UTF-16 if it has its mark, otherwise Windows' Western alphabet (cp1252)."""
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    unpacked = gzip.open if packed or path.suffix.lower() == ".gz" else open
    with unpacked(path, "rb") as file:
        first = file.read(100_000)
    encoding = "utf-16" if first[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        first[: first.rfind(b"\n") + 1].decode(encoding)
    except UnicodeDecodeError:
        encoding = "cp1252" if encoding == "utf-8-sig" else encoding
    return unpacked(path, "rt", encoding=encoding, errors="replace", newline=None)  # type: ignore[return-value]


def read_head(file: str, head: list[str]) -> tuple[Dialect, int, list[Finding]]:
    """Return the dialect by the first lines (names, separators, kinds of columns), and the index of the first row's line."""
    text = [i for i, line in enumerate(head) if is_text(line)]
    comments = [i for i, line in enumerate(head) if line.strip() and not is_text(line)]
    if not text and not comments:
        raise InputError(f"{file}: empty: a log begins with a line of column names")
    ((delimiter, _),) = Counter(separator(head[i]) for i in text or comments).most_common(1)
    first_row = next((i for i in text if is_row(cells(head[i], delimiter))), None)
    header, findings = header_line(head, text, comments, first_row, delimiter), []
    start = header + 1 if header is not None else text[0]
    names = names_in(head[header], delimiter) if header is not None else bare_names(head, first_row, delimiter)
    while names and not names[-1]:
        names.pop()
    names = [name or f"c{i}" for i, name in enumerate(names)]
    while start < len(head) and (start in comments or not head[start].strip()):
        start += 1
    if start < len(head) and start != first_row and len(units := cells(head[start], delimiter)) == len(names) and are_units(units):
        names = [f"{name} [{unit}]" if unit else name for name, unit in zip(names, units)]
        findings.append(Finding("found", "columns", f"units in the line below the names: {shown(dict.fromkeys(units))}"))
        start += 1
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"{file}: column {sorted(repeated)[0]!r} appears twice in the header (rename one)")
    above = [i for i in text if header is not None and i < header]
    if above:
        findings.append(
            Finding("found", "rows", f"{len(above)} lines above the names left out: {head[above[0]].strip()[:60]!r}, ...")
        )
    return dialect_of(names, delimiter, head[start:], findings), start, findings


def header_line(head: list[str], text: list[int], comments: list[int], first_row: int | None, delimiter: str | None) -> int | None:
    """Return the line of the names: the first that is no comment; below a preamble, the last as wide as the rows; a comment above
    the rows; None without one."""
    if not text:
        return comments[-1]
    if first_row is None or first_row != text[0]:
        width = len(cells(head[first_row], delimiter)) if first_row is not None else 0
        above = [i for i in text if first_row is None or i < first_row]
        as_wide = [i for i in above if len(cells(head[i], delimiter)) == width and not are_units(cells(head[i], delimiter))]
        preamble = width > 1 and len(cells(head[above[0]], delimiter)) != width
        return as_wide[-1] if preamble and as_wide else above[0]
    width = len(cells(head[first_row], delimiter))
    return next((i for i in reversed(comments) if i < first_row and len(names_in(head[i], delimiter)) == width), None)


def bare_names(head: list[str], first_row: int | None, delimiter: str | None) -> list[str]:
    """Return `c0`, `c1`, ...; for the output of `ros2 topic echo --csv` (stamp, frame, names of joints, then their positions,
    velocities and efforts) names that say so."""
    found = cells(head[first_row], delimiter) if first_row is not None else []
    joints = []
    for text in found[3:]:
        if is_number(text) or not text:
            break
        joints.append(text)
    kinds, left = divmod(len(found) - 3 - len(joints), max(len(joints), 1))
    if not joints or left or kinds not in (1, 2, 3) or not all(text.isdigit() for text in found[:2]):
        return [f"c{i}" for i in range(len(found))]
    names = ["sec", "nanosec", "frame", *(f"name{i}" for i in range(len(joints)))]
    return [*names, *(f"{kind}/{joint}" for kind in ("position", "velocity", "effort")[:kinds] for joint in joints)]


def is_text(line: str) -> bool:
    """Return True if a line is neither blank nor a comment."""
    return bool(line.strip()) and not line.lstrip().startswith(COMMENT)


def names_in(line: str, delimiter: str | None) -> list[str]:
    """Return the names in a header line, which may be a comment."""
    return cells(line.lstrip("#%/ \t"), delimiter)


def separator(line: str) -> str | None:
    """Return the separator of a line: semicolon, tab, bar or comma; None for white space."""
    return next((c for c in ";\t|," if c in line), None)


def usual_separator(head: list[str]) -> str | None:
    """Return the separator of the line of names: in rows, cells may hold lists with separators of their own."""
    return next((separator(line) for line in head if is_text(line) and "[" not in line and "(" not in line), None)


def is_row(found: list[str]) -> bool:
    """Return True if the cells of a line are a sample: mostly numbers or times."""
    values = [text for text in found if text]
    return len(values) > 0 and sum(is_number(text.replace(",", ".")) or is_clock(text) for text in values) * 2 > len(values)


def are_units(found: list[str]) -> bool:
    """Return True if the cells of a line are units, as below a line of names."""
    return any(found) and all(is_unit(text.strip("[]() ")) or text in ("", "-") for text in found)


def dialect_of(names: list[str], delimiter: str | None, body: list[str], findings: list[Finding]) -> Dialect:
    """Return the dialect of a file by its first rows: delimiter, decimal comma, kinds of columns."""
    found = cells(next((line for line in body if line.strip()), ""), delimiter)
    decimal_comma = any(DECIMAL_COMMA.fullmatch(text) for line in body for text in cells(line, delimiter))
    first = [text.replace(",", ".") for text in found] if decimal_comma else found
    if decimal_comma:
        findings.append(Finding("found", "numbers", "commas for points: 0,5 is read as 0.5"))
    clock_at = clock_columns(names, first)
    texts = {
        i
        for i, (name, text) in enumerate(zip(names, first))
        if i not in clock_at and not (is_number(text) or text.startswith(FORMULA)) and (not says_quantity(name) or is_clock(text))
    }
    kept = [i for i in range(len(names)) if i not in texts and i not in clock_at[:-1]]
    if not clock_at:
        return Dialect(names, delimiter, decimal_comma, kept)
    begin, columns = " ".join(first[i] for i in clock_at), " and ".join(names[i] for i in clock_at)
    findings.append(Finding("found", "time", f"{columns} begins at {begin}, read as date and time of day"))
    return Dialect(names, delimiter, decimal_comma, kept, Clock(begin), clock_at)


def clock_columns(names: list[str], first: list[str]) -> list[int]:
    """Return the column of dates and times, or that of dates and that of times; none if a file counts seconds."""
    clocks = [i for i, (name, text) in enumerate(zip(names, first)) if is_clock(text) and time_like(name)]
    if not clocks:
        return []
    clock = min(clocks, key=lambda i: not has_day(first[i]))
    days = [i for i, (name, text) in enumerate(zip(names, first)) if is_day(text) and time_like(name)]
    return [*days[:1], clock] if not has_day(first[clock]) else [clock]


def time_like(name: str) -> bool:
    """Return True if a column of dates or times of day may be the time of the log."""
    return bool(tokens(name) & (WORDS["t"] | {"date", "day", "datetime", "clock"}))


def joints_named(dialect: Dialect, body: Sequence[str]) -> dict[int, str]:
    """Return number -> joint from columns `name0`, `name1`, ... of names, whose numbers are those of the other columns."""
    line = next((line for line in body if line.strip()), "")
    found = {}
    for i, (name, text) in enumerate(zip(dialect.names, dialect.cells(line))):
        numbers = [int(word.text) for word in words_of(name) if word.text.isdigit()]
        if i not in dialect.kept and tokens(name) & NAMES and numbers:
            found[numbers[-1]] = text
    return found


def parsed(file: str, dialect: Dialect, lines: list[str], row: int, repair: bool) -> tuple[dict[str, np.ndarray], dict[int, str]]:
    """Return a block of lines as columns, and the rows that cannot be read, with the reason."""
    names, kept = dialect.names, dialect.kept
    faults: dict[int, str] = {}
    whole = len(kept) == len(names)
    try:
        if dialect.decimal_comma and dialect.delimiter == ",":
            raise ValueError("not numbers as NumPy reads them")
        plain = dialect.for_loadtxt(lines)
        if not whole and any(len(line.split(dialect.delimiter)) != len(names) or "=" in line or "@" in line for line in plain):
            raise ValueError("ragged, or a formula among texts")
        usecols = None if whole else kept
        values = np.loadtxt(plain, delimiter=dialect.delimiter, comments=None, quotechar='"', ndmin=2, usecols=usecols)
        if values.shape != (len(lines), len(kept)):
            raise ValueError("ragged")
    except (ValueError, IndexError):
        values = np.full((len(lines), len(kept)), np.nan)
        for i, line in enumerate(lines):
            try:
                values[i] = numbers_of(dialect, dialect.cells(line))
            except BadRow as bad:
                if not repair:
                    raise bad_row(file, row + i, *(written_apart(dialect, lines) or (bad.fault, bad.fix))) from None
                if bad.is_formula:
                    raise bad_row(file, row + i, bad.fault, bad.fix) from None
                faults[row + i] = bad.fault
    called = [f"{names[i]} [s]" if i in dialect.clock_at else names[i] for i in kept]
    return dict(zip(called, values.T)), faults


class BadRow(Exception):
    """A row that is no sample: its fault, and the fix. A formula is an error even where other bad rows are left out."""

    def __init__(self, fault: str, fix: str, *, is_formula: bool = False) -> None:
        super().__init__(fault)
        self.fault, self.fix, self.is_formula = fault, fix, is_formula


def numbers_of(dialect: Dialect, found: list[str]) -> list[float]:
    """Return the numbers of one row. Raises BadRow: it is no sample, and why."""
    names = dialect.names
    if len(found) != len(names):
        fix = "a truncated line? repair=True leaves such rows out" if len(found) < len(names) else "text with separators in it?"
        raise BadRow(f"{len(found)} of {len(names)} columns", fix)
    for i, (name, text) in enumerate(zip(names, found)):
        if text.startswith(FORMULA):
            fix = "export values; formulas are never run"
            raise BadRow(f"{name} = {text[:40]!r} is a formula, not a number", fix, is_formula=True)
        if i in dialect.kept and i not in dialect.clock_at and not is_number(text):
            fault = f"{name} = {text[:40]!r} is not a number" if text else f"{name} is empty"
            raise BadRow(fault, hint(text))
    if dialect.clock:
        at = dialect.clock_at[-1]
        try:
            found[at] = repr(dialect.clock.seconds(dialect.stamp(found)))
        except ValueError as error:
            fault = f"{names[at]} = {found[at][:40]!r} {error}" if found[at] else f"{names[at]} is empty"
            fix = "write all rows alike" if is_clock(found[at]) else hint(found[at])
            raise BadRow(fault, fix) from None
    return [float(found[i]) for i in dialect.kept]


def written_apart(dialect: Dialect, lines: list[str]) -> tuple[str, str] | None:
    """Return the fault and the fix of a file whose rows fill different columns in turn; None for other files."""
    filled = {tuple(bool(x) for x in found) for line in lines if len(found := dialect.cells(line)) == len(dialect.names)}
    some = [[dialect.names[i] for i in dialect.kept if row[i] and i not in dialect.clock_at] for row in filled]
    if len(some) < 2 or any(all(row[i] for i in dialect.kept) for row in filled):
        return None
    first, second = (names[-1] for names in some[:2])
    fault = f"no row has all columns: {first} is in some, {second} in others"
    return fault, "quantities with times of their own: bring them to the times of one, as docs/logs.md does with np.interp"


def hint(text: str) -> str:
    """Return advice on a text that stands where a number belongs."""
    if DECIMAL_COMMA.fullmatch(text):
        return "a comma for a point? write points, or commas in every row"
    if re.search(r"\d[-./:]\d+[-./:]\d", text):
        return "a date? those like 2024-01-31T12:00:00.5, 31.01.2024 12:00:00 and 11:59:59.5 PM are read, or write seconds"
    return "repair=True leaves such rows out"


def cells(line: str, delimiter: str | None) -> list[str]:
    """Return the texts between delimiters; None stands for white space."""
    if delimiter is None:
        return line.split()
    return [cell.strip() for cell in next(csv.reader([line.rstrip("\r\n")], delimiter=delimiter), [])]


def is_number(text: str) -> bool:
    """Return True if a text is a number as NumPy reads it: no underscores, no hexadecimal."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
