"""Files of whole arrays: NPZ, MAT, HDF5 and Parquet. Pickled objects are code, and refused."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from qddot.errors import InputError, missing_extra
from qddot.files import LOG_BYTES, LOG_COLUMNS, open_regular
from qddot.logs.arrow_columns import tables
from qddot.logs.column_names import NAMES, tokens
from qddot.logs.mat_structure import check_mat
from qddot.logs.table import Table

OBJECT = np.empty(0, dtype=object)  # stands for a table or a timeseries of MATLAB, which cannot be read


def read_npz(path: Path, rows: int) -> Iterator[Table]:
    """Yield the rows of every array of numbers in an archive; the longest axis of each runs over the rows.

    Arrays are read `rows` at a time, without the whole archive in memory, where all of them are stored row by row.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name.removesuffix(".npy"): archive.open(name) for name in archive.namelist()}
        every = {name: header(path.name, name, file) for name, file in members.items()}
        refuse_bomb(path, [(shape, dtype.itemsize) for shape, _, dtype in every.values()])
        for name, (shape, _, dtype) in every.items():
            if math.prod(shape) * dtype.itemsize > archive.getinfo(members[name].name).file_size:
                raise InputError(f"{path.name}: array {name!r} is truncated")
        texts = [name for name, head in every.items() if head[2].kind in "US"]
        heads = {name: head for name, head in every.items() if head[2].kind in "fiu"}
        length = max((max(shape, default=0) for shape, _, _ in heads.values()), default=0)
        plain = all(dtype.kind not in "VM" for _, _, dtype in every.values())
        if plain and all(shape[:1] == (length,) and len(shape) <= 2 and not fortran for shape, fortran, _ in heads.values()):
            with np.load(path, allow_pickle=False) as arrays:
                widths = {shape[1] for shape, _, _ in heads.values() if len(shape) == 2}
                joints = joints_among({name: arrays[name] for name in texts}, widths)
            for start in range(0, length, rows):
                count = min(rows, length - start)
                columns = {name: part(path.name, name, members[name], heads[name], count) for name in heads}
                yield Table(path.name, columns, start + 1, joints=joints)
            return
    with np.load(path, allow_pickle=False) as arrays:
        yield from blocks(along_rows(path.name, {name: arrays[name] for name in arrays.files}), rows)


def read_npy(path: Path, rows: int) -> Iterator[Table]:
    """Yield the rows of one array; the columns of a matrix are called by number."""
    with open_regular(path) as file:
        shape, _, dtype = header(path.name, path.stem, file)
        size = math.prod(shape) * dtype.itemsize
        if size > os.fstat(file.fileno()).st_size:
            raise InputError(f"{path.name}: truncated: its header claims {size} bytes")
    refuse_large(path.name, [(shape, dtype.itemsize)])
    yield from blocks(along_rows(path.name, {"data": np.load(path, allow_pickle=False)}), rows)


def refuse_bomb(path: Path, arrays: Sequence[tuple[Sequence[int], int]]) -> None:
    """Refuse large arrays (shape, bytes per element) in a file that unpacks to over a hundred times its size."""
    if sum(math.prod(shape) * item for shape, item in arrays) > 100 * path.stat().st_size:
        refuse_large(path.name, arrays)


def refuse_large(file: str, arrays: Sequence[tuple[Sequence[int], int]]) -> None:
    """Refuse arrays (shape, bytes per element) that are over a limit, before they are read. Raises InputError: too large, or too
    many columns."""
    size = sum(math.prod(shape) * item for shape, item in arrays)
    columns = sum(min(shape, default=0) if len(shape) == 2 else 1 for shape, _ in arrays)
    if rule := LOG_BYTES.over("size in memory", size) or LOG_COLUMNS.over("number of columns", columns):
        raise InputError(f"{file}: {rule}")


def header(file: str, name: str, stream: Any) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Return shape, Fortran order and type of one array of an archive."""
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(stream)
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise InputError(f"{file}: damaged: array {name!r} of shape {shape} (save it anew)")
    if dtype.hasobject:
        raise InputError(f"{file}: array {name!r} holds pickled Python objects, which could run code (save arrays of numbers)")
    return shape, fortran, dtype


def part(file: str, name: str, stream: Any, head: tuple[tuple[int, ...], bool, np.dtype], count: int) -> np.ndarray:
    """Return the next `count` rows of an array stored row by row."""
    shape, _, dtype = head
    wanted = (count, *shape[1:])
    size = math.prod(wanted) * dtype.itemsize
    data = stream.read(size)
    if len(data) != size:
        raise InputError(f"{file}: array {name!r} is truncated")
    return np.frombuffer(data, dtype).reshape(wanted)


def read_mat(path: Path, rows: int) -> Iterator[Table]:
    """Yield the rows of every matrix of numbers; those of a struct are called by their path, `rec.act_pos`. Version 7.3 is HDF5."""
    from scipy.io import loadmat

    with path.open("rb") as file:
        start = file.read(520)
    if b"\x89HDF\r\n\x1a\n" in start or b"MATLAB 7.3" in start:
        found = hdf_arrays(path)
    else:
        check_mat(path)
        contents = loadmat(path, struct_as_record=True, chars_as_strings=True)
        found = {}
        for name, value in contents.items():
            if not name.startswith("__"):
                collect(path.name, name, value, found)
    yield from blocks(along_rows(path.name, found), rows)


def collect(file: str, name: str, value: Any, found: dict[str, np.ndarray]) -> None:
    """Add the arrays of numbers and texts in nested structs and cells to `found`, by path."""
    if not isinstance(value, np.ndarray):
        return
    if type(value).__name__ == "MatlabOpaque":  # SciPy before 1.18 keeps its name in a field
        found[value["s0"].reshape(-1)[0].decode() if "s0" in (value.dtype.names or ()) else name] = OBJECT
    elif {"values", "label"} <= set(value.dtype.names or ()):  # signals of a scope of Simulink
        for number, one in enumerate(value.reshape(-1), 1):
            label = "".join(map(str, np.asarray(one["label"]).reshape(-1)))
            collect(file, f"{name}.{label or number if label or value.size > 1 else 'values'}", one["values"], found)
    elif value.dtype.names and value.size == 1:
        for key in value.dtype.names:
            collect(file, f"{name}.{key}", value.reshape(-1)[0][key], found)
    elif value.dtype.names:  # an array of structs: one per sample, or one per recording
        for key in value.dtype.names:
            collect_parts(file, f"{name}.{key}", [one[key] for one in value.reshape(-1)], found, samples=True)
    elif value.dtype.kind == "O":
        collect_parts(file, name, list(value.reshape(-1)), found)
    elif value.dtype.kind in "fiuUS" and np.squeeze(value).ndim <= 2:  # Simulink keeps vectors as (k, 1, N)
        found[name] = value if value.ndim <= 2 else np.squeeze(value)


def collect_parts(file: str, name: str, parts: list[Any], found: dict[str, np.ndarray], samples: bool = False) -> None:
    """Add the parts of a cell array, or of an array of structs, to `found` as one array: of texts, a row each, or a column each."""
    arrays = [np.asarray(part) for part in parts]
    if all(array.dtype.kind in "US" for array in arrays):
        found[name] = np.array([str(array.reshape(-1)[0]) if array.size else "" for array in arrays])
    elif not all(array.dtype.kind in "fiu" for array in arrays):
        return
    elif samples and len({array.size for array in arrays}) == 1 and arrays[0].size < len(arrays):
        found[name] = np.stack([array.reshape(-1) for array in arrays])
    elif not samples and len({array.size for array in arrays}) == 1 and max(arrays[0].shape, default=0) == arrays[0].size > 1:
        found[name] = np.column_stack([array.reshape(-1) for array in arrays])
    elif any(min(array.shape, default=0) > 1 or array.size > 100 for array in arrays):
        raise InputError(
            f"{file}: {name} holds {len(arrays)} arrays: several recordings? (save each to a file, and load a list of them)"
        )


def hdf_arrays(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an HDF5 file by their path, `rec.act_pos`; of MAT 7.3 also texts and cells."""
    try:
        import h5py
        from h5py import h5o  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError:
        raise missing_extra("h5py", "logs", "reading MAT 7.3 and HDF5 (or in MATLAB: save(name, 'rec', '-v7'))") from None
    found: dict[str, np.ndarray] = {}
    seen: set[int] = set()
    size = 0

    def matlab_class(item: Any) -> bytes | None:
        """Return the attribute if it is a text of fixed length: those of variable length lie in a heap, and a damaged one makes
        HDF5 loop without end."""
        if "MATLAB_class" not in item.attrs or item.attrs.get_id("MATLAB_class").dtype.kind != "S":
            return None
        return bytes(item.attrs["MATLAB_class"])

    def elsewhere(name: str) -> InputError:
        return InputError(f"{path.name}: {name} lies in another file, which is not opened (h5repack copies it into this one)")

    def value_of(item: Any) -> np.ndarray:
        nonlocal size
        if item.is_virtual or item.external:
            raise elsewhere(item.name)
        size += item.nbytes
        refuse_large(path.name, [((size,), 1)])
        if matlab_class(item) == b"char":
            return np.array(["".join(chr(int(code)) for code in item[()].reshape(-1))])
        return item.asstr()[()] if h5py.check_string_dtype(item.dtype) else item[()]

    def visit(name: str, item: Any) -> None:
        address = h5o.get_info(item.id).addr  # links may form cycles, or lead to one item on many paths
        if address in seen or not isinstance(item, h5py.Group | h5py.Dataset):
            return
        seen.add(address)
        if "MATLAB_object_decode" in item.attrs:
            found[name] = OBJECT
        elif isinstance(item, h5py.Group):
            for key in map(str, item):
                link = item.get(key, getlink=True)
                if isinstance(link, h5py.ExternalLink):
                    raise elsewhere(key)
                if not key.startswith("#") and (child := item.get(key)) is not None:  # None: a link to nothing
                    visit(f"{name}.{key}" if name else key, child)
        elif item.shape is None or h5py.check_vlen_dtype(item.dtype):
            return
        elif h5py.check_ref_dtype(item.dtype):
            parts = [file[reference] for reference in item[()].reshape(-1) if reference]
            if all(isinstance(part, h5py.Dataset) for part in parts):
                samples = matlab_class(item) != b"cell"
                collect_parts(path.name, name, [value_of(part) for part in parts], found, samples)
        else:
            value = np.atleast_1d(np.asarray(value_of(item)))
            found[name] = value.astype(str) if value.dtype.kind == "O" else value

    with h5py.File(path) as file:
        visit("", file)
    return found


def along_rows(file: str, arrays: dict[str, np.ndarray]) -> Table:
    """Return vectors (N,) and matrices (N, k) as long as the longest of them as a table; shorter ones (settings) are left out.

    An array of texts called names, one for each column of a matrix, names the joints.
    """
    turned: dict[str, np.ndarray] = {}
    for name, array in fields(arrays):
        if array.dtype.kind in "fiu" and 1 <= array.ndim <= 2 and array.size:
            column = array.T if array.ndim == 2 and array.shape[0] < array.shape[1] else array
            turned[name] = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    length = max((len(array) for array in turned.values()), default=0)
    left_out = {name: f"{len(array)} long, not {length}" for name, array in turned.items() if 1 < len(array) != length}
    left_out |= {
        name: "a MATLAB object; save arrays: table2struct(T, 'ToScalar', true)" for name, array in arrays.items() if array is OBJECT
    }
    joints = joints_among(arrays, {array.shape[1] for array in turned.values() if array.ndim == 2})
    columns = {name: array for name, array in turned.items() if len(array) == length}
    if not length:
        raise InputError(f"{file}: no arrays of numbers" + "".join(f"; {name}: {why}" for name, why in left_out.items()))
    return Table(file, columns, left_out=left_out, joints=joints)


def fields(arrays: dict[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays by name: those of records field by field, dates in nanoseconds."""
    for name, array in arrays.items():
        if array.dtype.names:
            yield from fields({f"{name}.{field}": array[field] for field in array.dtype.names})
        elif array.dtype.kind == "M":
            yield f"{name} [ns]", array.astype("datetime64[ns]").astype(np.int64)
        else:
            yield name, array


def joints_among(arrays: dict[str, np.ndarray], widths: set[int]) -> dict[int, str]:
    """Return number -> joint from an array of texts that is called names and has one for each column of a matrix."""
    texts = (array.reshape(-1) for name, array in arrays.items() if array.dtype.kind in "US" and tokens(name) & NAMES)
    return next((dict(enumerate((str(name).strip() for name in names), 1)) for names in texts if len(names) in widths), {})


def blocks(table: Table, rows: int) -> Iterator[Table]:
    """Yield a table in blocks of at most `rows` rows."""
    for start in range(0, len(table), rows):
        columns = {name: column[start : start + rows] for name, column in table.columns.items()}
        yield replace(table, columns=columns, row=start + 1)


def read_parquet(path: Path, rows: int) -> Iterator[Table]:
    """Yield columns of numbers, times and lists of numbers (`arrow_columns`)."""
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise missing_extra("pyarrow", "logs", "reading Parquet") from None
    with parquet.ParquetFile(path) as file:
        refuse_bomb(path, [((file.metadata.num_rows,), 8)] * file.metadata.num_columns)
        yield from tables(path.name, batches(file, rows))


def batches(file: Any, rows: int) -> Iterator[Any]:
    """Yield batches of at most `rows` rows. A reader keeps in memory what it has read, so each one gets only a few row groups."""
    sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
    groups: list[int] = []
    for k in range(len(sizes)):
        groups.append(k)
        if k + 1 == len(sizes) or sum(sizes[g] for g in groups) + sizes[k + 1] > rows:
            yield from file.iter_batches(batch_size=rows, row_groups=groups)
            groups = []
