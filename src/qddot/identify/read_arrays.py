"""Files of whole arrays: NPZ, MAT and Parquet. Pickled objects are code, and refused."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from qddot.errors import InputError, missing_extra
from qddot.identify.table import Table


def read_npz(path: Path, rows: int) -> Iterator[Table]:
    """Every array of numbers in the archive; the longest axis of each runs over the rows.

    Arrays are read `rows` at a time, without the whole archive in memory, where all of them are stored row by row.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): archive.open(name) for name in archive.namelist()}
        heads = {name: header(path.name, name, file) for name, file in members.items()}
        heads = {name: head for name, head in heads.items() if head[2].kind in "fiu"}
        length = max((max(shape, default=0) for shape, _, _ in heads.values()), default=0)
        if all(shape[:1] == (length,) and not fortran for shape, fortran, _ in heads.values()):
            for start in range(0, length, rows):
                count = min(rows, length - start)
                yield Table(
                    path.name, {name: part(path.name, name, members[name], heads[name], count) for name in heads}, start + 1
                )
            return
    with np.load(path, allow_pickle=False) as arrays:
        yield from blocks(Table(path.name, along_rows({name: arrays[name] for name in arrays.files})), rows)


def header(file: str, name: str, stream: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and type of one array of an archive."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if dtype.hasobject:
        raise InputError(f"{file}: array {name!r} holds pickled Python objects, which could run code (save arrays of numbers)")
    return shape, fortran, dtype


def part(file: str, name: str, stream: Any, head: tuple[tuple[int, ...], bool, np.dtype], count: int) -> np.ndarray:
    """The next `count` rows of an array stored row by row."""
    shape, _, dtype = head
    wanted = (count, *shape[1:])
    data = stream.read(int(np.prod(wanted)) * dtype.itemsize)
    if len(data) != int(np.prod(wanted)) * dtype.itemsize:
        raise InputError(f"{file}: array {name!r} is truncated")
    return np.frombuffer(data, dtype).reshape(wanted)


def read_mat(path: Path, rows: int) -> Iterator[Table]:
    """Every matrix of numbers; those of a struct by their path, `rec.act_pos`."""
    from scipy.io import loadmat

    try:
        contents = loadmat(path, struct_as_record=True, chars_as_strings=True)
    except NotImplementedError:
        raise InputError(f"{path.name}: a MAT file of version 7.3 (in MATLAB: save(name, 'rec', '-v7'))") from None
    found: dict[str, np.ndarray] = {}
    for name, value in contents.items():
        if not name.startswith("__"):
            collect(name, value, found)
    yield from blocks(Table(path.name, along_rows(found)), rows)


def collect(name: str, value: Any, found: dict[str, np.ndarray]) -> None:
    """Numbers in nested structs, one entry each."""
    if not isinstance(value, np.ndarray):
        return
    if value.dtype.names and value.size == 1:
        for key in value.dtype.names:
            collect(f"{name}.{key}", value.reshape(-1)[0][key], found)
    elif value.dtype.kind in "fiu" and value.ndim <= 2:
        found[name] = value


def along_rows(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Vectors (N,) and matrices (N, k) as long as the longest of them; the rest, settings and results, is left."""
    turned = {}
    for name, array in arrays.items():
        if array.dtype.kind in "fiu" and 1 <= array.ndim <= 2 and array.size:
            column = array.T if array.ndim == 2 and array.shape[0] < array.shape[1] else array
            turned[name] = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    length = max((len(array) for array in turned.values()), default=0)
    return {name: array for name, array in turned.items() if len(array) == length}


def blocks(table: Table, rows: int) -> Iterator[Table]:
    """A table in memory, in parts."""
    for start in range(0, len(table), rows):
        yield Table(table.file, {name: column[start : start + rows] for name, column in table.columns.items()}, start + 1)


def read_parquet(path: Path, rows: int) -> Iterator[Table]:
    """Numbers and lists of numbers of one length; missing values become NaN."""
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise missing_extra("pyarrow", "logs", "reading Parquet") from None
    row = 1
    with parquet.ParquetFile(path) as file:
        for batch in batches(file, rows):
            columns = {}
            for name, column in zip(batch.schema.names, batch.columns):
                kind = column.type
                if arrow.types.is_fixed_size_list(kind) or arrow.types.is_list(kind):
                    columns[name] = np.array(column.to_pylist(), dtype=float)
                elif arrow.types.is_timestamp(kind):
                    columns[name] = column.cast(arrow.timestamp("ns")).cast(arrow.int64()).to_numpy(zero_copy_only=False) * 1e-9
                elif arrow.types.is_integer(kind) or arrow.types.is_floating(kind):
                    columns[name] = column.to_numpy(zero_copy_only=False).astype(float)
            yield Table(path.name, columns, row)
            row += len(batch)


def batches(file: Any, rows: int) -> Iterator[Any]:
    """At most `rows` rows at a time. A reader keeps all it has read of a file, so each gets only a few row groups of it."""
    sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
    groups: list[int] = []
    for k in range(len(sizes)):
        groups.append(k)
        if k + 1 == len(sizes) or sum(sizes[g] for g in groups) + sizes[k + 1] > rows:
            yield from file.iter_batches(batch_size=rows, row_groups=groups)
            groups = []
