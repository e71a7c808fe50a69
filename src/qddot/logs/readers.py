"""Tables from paths: choice of the reader by suffix, and recordings in several files, one for each quantity."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path

import numpy as np

from qddot.errors import InputError, QddotError
from qddot.files import NotAFileError, refuse_irregular
from qddot.logs.column_names import WORDS, parsed_name
from qddot.logs.read_arrays import read_mat, read_npy, read_npz, read_parquet
from qddot.logs.read_arrow import read_arrow
from qddot.logs.read_bags import bag_files, read_bag
from qddot.logs.read_csv import read_csv
from qddot.logs.table import Hints, Table
from qddot.thresholds import HALF_SAMPLE, ROWS_AT_ONCE

TEXT = (".csv", ".txt", ".tsv", ".dat", ".log")
SUFFIXES = (*TEXT, ".csv.gz", ".npz", ".npy", ".mat", ".h5", ".hdf5", ".parquet", ".feather", ".arrow", ".db3", ".mcap")
NOTHING = Hints()
TO_ONE_CLOCK = "bring all to the times of one, as docs/logs.md does with np.interp"
# first bytes of binary formats
MAGIC = (b"PAR1", b"ARROW1", b"FEA1", b"\x89MCAP", b"\x89HDF", b"SQLite format 3", b"MATLAB", b"\x93NUMPY", b"PK")

Source = str | PathLike[str] | Mapping[str, str | PathLike[str]]


def read(source: Source, rows: int = ROWS_AT_ONCE, hints: Hints = NOTHING) -> Iterator[Table]:
    """Yield the rows of one recording in blocks of at most `rows`.

    A mapping `{"q": "positions.csv", "tau": "currents.csv"}` is one recording in several files, row beside row; all columns of a
    file but the time are that quantity.

    Raises:
        InputError: the file cannot be read, or has no rows.
    """
    if isinstance(source, Mapping):
        blocks = beside({name: read(path, rows, hints) for name, path in source.items()})
    elif isinstance(source, str | PathLike):
        blocks = read_file(Path(source), rows, hints)
    else:
        raise InputError(f"a log is read from a path, a mapping of paths, or several of them, not from {type(source).__name__}")
    empty = True
    for block in blocks:
        empty = False
        yield block
    if empty:
        raise InputError(f"{source}: no samples")


def read_file(path: Path, rows: int, hints: Hints) -> Iterator[Table]:
    """Yield the rows of one file, or of the folder of a bag."""
    try:
        os.stat(path)
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        raise InputError(f"{str(path)[:200]}: {'no such file' if missing else f'cannot be read: {error}'[:200]}") from None
    with readable(path):
        if not path.is_dir():
            refuse_irregular(path)
        if path.is_dir():
            if not (files := bag_files(path)):
                raise InputError(f"{path}: a folder without a bag (.db3, .mcap): name a file, or a list of files")
            for file in files:
                with readable(file):
                    yield from read_bag(file, rows, hints)
            return
        packed = path.suffix.lower() == ".gz"
        match Path(path.stem).suffix.lower() if packed else path.suffix.lower():
            case suffix if suffix in TEXT:
                yield from read_csv(path, rows, hints.repair)
            # cases of text formats, which may be packed, come before this one
            case suffix if packed:
                raise InputError(f"{path.name}: packed by gzip; only text is read so: unpack it (gunzip {path.name})")
            case suffix if suffix in SUFFIXES and is_text(path):
                raise InputError(f"{path.name}: text, not {suffix} (call it .csv if it is a table)")
            case ".npz":
                yield from read_npz(path, rows)
            case ".npy":
                yield from read_npy(path, rows)
            case ".mat" | ".h5" | ".hdf5":
                yield from read_mat(path, rows)
            case ".parquet":
                yield from read_parquet(path, rows)
            case ".feather" | ".arrow":
                yield from read_arrow(path, rows)
            case ".db3" | ".mcap":
                yield from read_bag(path, rows, hints)
            case ".zst" | ".zstd":
                raise InputError(f"{path.name}: packed by zstd: unpack it (zstd -d {path.name})")
            case suffix:
                raise InputError(f"{path.name}: no reader for {suffix or 'a file without suffix'!r} (known: {', '.join(SUFFIXES)})")


def is_text(path: Path) -> bool:
    """Return True if a file begins with printable characters only: all binary formats have other bytes there."""
    with path.open("rb") as file:
        start = file.read(500)
    return len(start) > 0 and not start.startswith(MAGIC) and all(byte >= 32 or byte in b"\t\r\n" for byte in start)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise errors of libraries, as in damaged files, again as InputError about the file."""
    try:
        yield
    except NotAFileError as error:
        raise InputError(f"{path.name}: {error}") from None
    except (QddotError, PermissionError):
        raise
    except MemoryError as error:
        raise InputError(f"{path.name}: claims more than fits into memory (copy the file anew, or record it in parts)") from error
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:300]
        raise InputError(f"{path.name}: damaged, or not {path.suffix}: {why} (copy the file anew, or convert it to CSV)") from error


def beside(streams: dict[str, Iterator[Table]]) -> Iterator[Table]:
    """Yield the blocks of several files side by side, as columns of one table."""
    while True:
        tables = {name: table for name, stream in streams.items() if (table := next(stream, None)) is not None}
        if not tables:
            return
        lengths = {name: len(tables[name]) if name in tables else 0 for name in streams}
        if len(set(lengths.values())) > 1:
            counts = ", ".join(f"{tables[name].file if name in tables else name}: {n}" for name, n in lengths.items())
            raise InputError(f"files that lie beside each other have as many rows each; here {counts} ({TO_ONE_CLOCK})")
        columns: dict[str, np.ndarray] = {}
        for name, table in tables.items():
            for column, values in table.columns.items():
                is_time = parsed_name(column).kind.lower() in WORDS["t"]
                if is_time and column in columns and not alike(columns[column], values):
                    raise InputError(f"{table.file}: its times are not those of the other files ({TO_ONE_CLOCK})")
                columns |= {column: values} if is_time else {f"{name}/{column}": values}
        first = next(iter(tables.values()))
        faults = {row: why for table in tables.values() for row, why in table.faults.items()}
        findings = tuple(finding for table in tables.values() for finding in table.findings)
        file = " + ".join(table.file for table in tables.values())
        left_out = {f"{name}/{column}": why for name, table in tables.items() for column, why in table.left_out.items()}
        yield Table(file, columns, first.row, faults, left_out, findings=findings)


def alike(t: np.ndarray, other: np.ndarray) -> bool:
    """Return True if two clocks agree to half a step."""
    step = np.nanmedian(np.abs(np.diff(t.astype(float)))) if len(t) > 1 else np.inf
    return bool(np.nanmax(np.abs(t - other), initial=0.0) < HALF_SAMPLE * step)
