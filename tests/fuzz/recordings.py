"""Mutants of recordings: columns of numbers in the way each format keeps them, and what only that format can get wrong.

Every turn away from a plain, valid file is taken where `random.random()` is small, so `Quiet` writes innocent ones.
"""

from __future__ import annotations

import contextlib
import io
import re
import sqlite3
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from tests.fuzz import mutate

Columns = dict[str, list[Any]]
SAMPLES = 60
LARGE = (0, 1, 255, 2**16, 2**31 - 1, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)


class Quiet(Random):
    """Never takes an unusual turn."""

    def random(self) -> float:
        return 0.999

    def choice(self, seq: Any) -> Any:
        return seq[0]


def write(random: Random, path: Path, table: Columns) -> None:
    """A file in the format its suffix tells, at times with some bytes changed.

    A library that refuses to write so odd a thing has often begun to: what lies there is a mutant as well.
    """
    path.write_bytes(b"")
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        WRITERS[path.suffix](random, path, table)
    if path.suffix != ".csv" and random.random() < 0.3:
        path.write_bytes(mutate.bytes_of(random, path.read_bytes()))


def arrays(table: Columns) -> dict[str, np.ndarray]:
    """Columns as numbers; what is none becomes NaN. Names as archives can hold them."""
    named = {"".join(c for c in name if c.isascii() and c.isalnum())[:30] or "x": values for name, values in table.items()}
    return {name: np.array([x if isinstance(x, float) else np.nan for x in values]) for name, values in named.items()}


def resized(table: Columns) -> dict[str, np.ndarray]:
    return {name: np.resize(values, SAMPLES) for name, values in arrays(table).items()}


# CSV ----------------------------------------------------------------------------------------------------------------------


def csv(random: Random, path: Path, table: Columns) -> None:
    separator = random.choice(",,,;\t ")
    rows = [separator.join(table)]
    for i in range(max(map(len, table.values()))):
        rows.append(separator.join(str(values[i]) if i < len(values) else "" for values in table.values()))
    if random.random() < 0.2:
        rows.insert(random.randrange(len(rows)), random.choice(("", "# comment", "rad;Nm", "a,b,c", '"', "=1+1")))
    data = "\n".join(rows).encode(random.choice(("utf-8", "utf-8", "utf-16", "latin-1")), "replace")
    path.write_bytes(mutate.bytes_of(random, data) if random.random() < 0.2 else data)


# NumPy --------------------------------------------------------------------------------------------------------------------


def unusual(random: Random, array: np.ndarray) -> np.ndarray:
    """Another type, order or shape of the same numbers."""
    kinds = ("f4", "f2", "i8", "u1", "?", "c16", "S4", "U4", "O", "M8[ns]", "m8[ms]", "i4,f8", "(2,)f8", ">f8", "g")
    with np.errstate(all="ignore"):
        match random.randrange(4):
            case 0:
                clean = np.nan_to_num(array).clip(-1e9, 1e9)
                return clean.astype(random.choice(kinds)) if random.random() < 0.9 else np.empty(0, random.choice(kinds))
            case 1:
                return np.asfortranarray(np.column_stack([array] * random.choice((2, 3, 7))))
            case 2:
                return array[: random.choice((0, 1, 2, 30))]
            case _:
                return array.reshape(random.choice(((-1,), (1, -1), (-1, 1), (-1, 1, 1), (1, 1, 1, -1))))


def with_unusual(random: Random, table: Columns) -> dict[str, np.ndarray]:
    found = arrays(table)
    if random.random() < 0.3:
        found = {"t": resized(table).get("t", np.arange(60.0)), "q": np.column_stack(list(resized(table).values())), **found}
    return {name: unusual(random, x) if random.random() < 0.1 else x for name, x in found.items()}


def header_changed(random: Random, data: bytes) -> bytes:
    """The text at the head of a NumPy array with one of its words or numbers changed, of the length it claims."""
    (length,) = struct.unpack_from("<H", data, 8)
    head = data[10 : 10 + length]
    words = list(re.finditer(rb"-?\d+|'[^']*'|True|False|[(){},:]", head))
    if not words:
        return data
    word = random.choice(words)
    odd = (b"-1", b"0", b"1", b"60", b"9" * 30, b"'O'", b"'<f4'", b"'<c16'", b"True", b"None", b"()", b"open('x')", b"", b"((")
    changed = head[: word.start()] + random.choice(odd) + head[word.end() :]
    changed = changed.ljust(length) if random.random() < 0.7 else changed
    return data[:8] + struct.pack("<H", len(changed)) + changed + data[10 + length :]


def npz(random: Random, path: Path, table: Columns) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if random.random() < 0.5 else zipfile.ZIP_STORED) as archive:
        for name, array in with_unusual(random, table).items():
            stream = io.BytesIO()
            np.save(stream, array)
            data = stream.getvalue()
            member = f"{name}.npy" if random.random() > 0.02 else random.choice((name, f"../{name}.npy", "t.npy", ""))
            archive.writestr(member, header_changed(random, data) if random.random() < 0.1 else data)


def npy(random: Random, path: Path, table: Columns) -> None:
    columns = resized(table)
    array: np.ndarray = np.rec.fromarrays(list(columns.values()), names=list(columns))
    if random.random() < 0.2:
        array = np.column_stack(list(columns.values()))
    elif random.random() < 0.2:
        array = unusual(random, array["t"])
    np.save(path, array)
    if random.random() < 0.3:
        path.write_bytes(header_changed(random, path.read_bytes()))


# MATLAB, HDF5, Parquet, Feather ------------------------------------------------------------------------------------------------


def mat(random: Random, path: Path, table: Columns) -> None:
    from scipy.io import savemat

    plain = {name: x for name, x in with_unusual(random, table).items() if x.dtype.kind in "fiuSU" and x.dtype.itemsize < 16}
    found: dict[str, Any] = {name if name[0].isalpha() else f"x{name}": x for name, x in plain.items()} or {"t": np.arange(9.0)}
    if random.random() < 0.3:
        found = {"rec": found, "names": np.array(["a", "b"], dtype=object)}
    elif random.random() < 0.2:
        cell = np.empty(len(found), dtype=object)
        cell[:] = list(found.values())
        found = {"rec": cell}
    version = "4" if random.random() < 0.1 and "rec" not in found else "5"
    savemat(path, found, format=version, do_compression=version == "5" and random.random() < 0.5)


def hdf5(random: Random, path: Path, table: Columns) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        group = file.create_group("rec/deep") if random.random() < 0.3 else file
        for name, array in with_unusual(random, table).items():
            if array.dtype.kind in "OMmU" or name in group:
                continue
            packed = {"compression": "gzip", "chunks": True} if random.random() < 0.3 and array.ndim and array.size else {}
            data = group.create_dataset(name, data=array, **packed)
            if random.random() < 0.1:
                data.attrs["MATLAB_class"] = random.choice((b"char", b"cell", b"double", "text", 3, b"\xff"))
        if random.random() < 0.3:
            odd_parts(random, h5py, file)


def odd_parts(random: Random, h5py: Any, file: Any) -> None:
    """Links, references, texts and types that only HDF5 has."""
    match random.randrange(9):
        case 0:
            file["link"] = random.choice((h5py.SoftLink("/"), h5py.SoftLink("/nowhere"), h5py.ExternalLink("other.h5", "/q")))
        case 1:
            file["again"] = file["/"]
        case 2:
            references = file.create_dataset("refs", (3,), dtype=h5py.ref_dtype)
            references[0] = random.choice(list(file.values())).ref
        case 3:
            file.create_dataset("names", data=["a", "b"], dtype=h5py.string_dtype())
        case 4:
            file.create_dataset("huge", (10**6, 9), "f8", chunks=(100, 9))
        case 5:
            file.create_dataset("many", data=[np.arange(3.0), np.arange(2.0)], dtype=h5py.vlen_dtype(float))
        case 6:
            layout = h5py.VirtualLayout((3,), "f8")
            layout[:] = h5py.VirtualSource("other.h5", "q", shape=(3,))
            file.create_virtual_dataset("virtual", layout)
        case 7:
            file.create_dataset("outside", (3,), "f8", external=[("/etc/hostname", 0, 24)])
        case _:
            file["empty"] = h5py.Empty("f8")


def arrow_table(random: Random, table: Columns) -> Any:
    import pyarrow as arrow

    columns: dict[str, Any] = {name: arrow.array(values) for name, values in resized(table).items()}
    if random.random() < 0.3:
        odd = {
            "name": arrow.array([["a", "b"]] * SAMPLES),
            "position": arrow.array([[0.1, 0.2]] * random.choice((SAMPLES, 7)) + [[0.1]] * 60)[:SAMPLES],
            "stamp": arrow.array(range(SAMPLES), arrow.timestamp(random.choice(("ns", "s")))),
            "nothing": arrow.nulls(SAMPLES),
            "text": arrow.array(["x"] * SAMPLES).dictionary_encode(),
            "q": arrow.array([{"a": 1.0, "b": None}] * SAMPLES),
            "nested": arrow.array([[[1.0], [2.0]]] * SAMPLES),
            "sum": arrow.array([None, *[1] * (SAMPLES - 1)]),
            "flag": arrow.array([True] * SAMPLES),
            "half": arrow.array(np.ones(SAMPLES, np.float16)),
        }
        for name in random.sample(sorted(odd), 2):
            columns[name] = odd[name]
    return arrow.table(columns)


def parquet(random: Random, path: Path, table: Columns) -> None:
    from pyarrow.parquet import write_table

    made = arrow_table(random, table)
    packing, rows = random.choice(("snappy", "none", "zstd")), random.choice((60, 7))
    write_table(made, path, compression=packing, row_group_size=rows)


def arrow(random: Random, path: Path, table: Columns) -> None:
    from pyarrow import ipc

    made = arrow_table(random, table)
    packing, rows = random.choice((None, "lz4", "zstd")), random.choice((60, 7))
    make = ipc.new_file if random.random() > 0.3 else ipc.new_stream
    with make(str(path), made.schema, options=ipc.IpcWriteOptions(compression=packing)) as file:
        file.write_table(made, max_chunksize=rows)
    if random.random() < 0.2:  # outside of packed data, so that offsets and sizes change
        data = bytearray(path.read_bytes())
        at = random.randrange(0, len(data) - 8, 8)
        struct.pack_into("<q", data, at, random.choice((*LARGE[:-1], -1, len(data))))
        path.write_bytes(data)


# recordings of ROS --------------------------------------------------------------------------------------------------------


def joint_state(random: Random, stamp: int, names: list[str], *values: np.ndarray) -> bytes:
    """One message in CDR, with counts, order of bytes and lengths that may be wrong."""
    order = "<" if random.random() > 0.01 else ">"
    out = bytearray(struct.pack(f"{order}iI", stamp // 10**9 % 2**31, stamp % 10**9))

    def count(n: int) -> bytes:
        return b"\0" * (-len(out) % 4) + struct.pack(f"{order}I", n if random.random() > 0.0002 else random.choice(LARGE) % 2**32)

    for text in ("base", None, *names):
        if text is None:
            out.extend(count(len(names)))
            continue
        data = text.encode("utf-8", "replace") + b"\0"
        out.extend(count(len(data)))
        out.extend(data)
    for array in values:
        out.extend(count(len(array)))
        if len(array):
            out.extend(b"\0" * (-len(out) % 8) + struct.pack(f"{order}{len(array)}d", *array))
    data = (b"\0\1\0\0" if order == "<" else b"\0\0\0\0") + bytes(out)
    return mutate.bytes_of(random, data) if random.random() < 0.001 else data


def messages(random: Random, table: Columns) -> Iterator[tuple[int, bytes]]:
    """(nanoseconds, message) for each row; columns without a known name are further joints."""
    columns = resized(table)
    clock = columns.pop("t", np.arange(SAMPLES) / 100)
    torques = [name for name in columns if name.startswith("tau")]
    names = [name for name in columns if name not in torques][:3]
    for k in range(SAMPLES):
        stamp = int(1.7e18 + 1e9 * np.nan_to_num(clock[k], posinf=1e3, neginf=-1e3).clip(-1e6, 1e6))
        q = np.array([columns[name][k] for name in names])
        effort = np.array([columns[name][k] for name in torques])
        given = [name if random.random() > 0.0005 else random.choice(mutate.TEXTS) for name in names]
        yield stamp, joint_state(random, stamp, given, q, q if random.random() < 0.002 else np.array([]), effort)


def topic_type(random: Random) -> str | None:
    kind = random.random()
    return "sensor_msgs/msg/JointState" if kind > 0.08 else random.choice(("sensor_msgs/JointState", "std_msgs/msg/String", None))


def mcap(random: Random, path: Path, table: Columns) -> None:
    from mcap.writer import CompressionType, Writer

    with path.open("wb") as file:
        packing = random.choice((CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD))
        writer = Writer(file, chunk_size=random.choice((10**6, 1000)), compression=packing)
        writer.start(profile="ros2", library="fuzz")
        channels = []
        for topic in ("/joint_states",) if random.random() > 0.1 else ("/joint_states", "/other", ""):
            schema = writer.register_schema(name=topic_type(random) or "", encoding="ros2msg", data=b"")
            encoding = "cdr" if random.random() > 0.05 else "json"
            channels.append(writer.register_channel(topic=topic, message_encoding=encoding, schema_id=schema))
        for stamp, data in messages(random, table):
            told = stamp if random.random() > 0.001 else random.choice(LARGE)
            writer.add_message(channel_id=random.choice(channels), log_time=told, publish_time=told, data=data)
        if random.random() > 0.03:
            writer.finish()
    if random.random() < 0.4:
        path.write_bytes(records_changed(random, path.read_bytes()))


def records_changed(random: Random, data: bytes) -> bytes:
    """One record of an MCAP file with another kind, length or place, or without some of its bytes."""
    records, at = [], 8
    while at + 9 <= len(data) - 8:
        length = struct.unpack_from("<Q", data, at + 1)[0]
        records.append(data[at : at + 9 + length])
        at += 9 + length
    i = random.randrange(len(records))
    record = records[i]
    match random.randrange(5):
        case 0:
            records[i] = bytes([random.randrange(18)]) + record[1:]
        case 1:
            records[i] = record[:1] + struct.pack("<Q", random.choice((*LARGE, len(record) + 3))) + record[9:]
        case 2:
            del records[i]
        case 3:
            records.insert(random.randrange(len(records)), record)
        case _:
            records[i] = record[:9] + mutate.bytes_of(random, record[9:])
            if random.random() < 0.7:
                records[i] = record[:1] + struct.pack("<Q", len(records[i]) - 9) + records[i][9:]
    return data[:8] + b"".join(records) + data[-8:]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 1 AS topic_id, i AS timestamp, x'' AS data FROM n"


def db3(random: Random, path: Path, table: Columns) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous=OFF")
        db.execute("PRAGMA journal_mode=OFF")
        db.execute("BEGIN")
        if random.random() > 0.03:
            db.execute("CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT, type TEXT, serialization_format TEXT)")
            for key, topic in enumerate(("/joint_states",) if random.random() > 0.1 else ("/joint_states", None), 1):
                db.execute("INSERT INTO topics VALUES (?, ?, ?, 'cdr')", (key, topic, topic_type(random)))
        if random.random() < 0.04:
            db.execute(f"CREATE VIEW messages AS {ENDLESS}")
        else:
            db.execute("CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER, data BLOB)")
            rows = [changed_row(random, stamp, data) for stamp, data in messages(random, table)]
            db.executemany("INSERT INTO messages(topic_id, timestamp, data) VALUES (1, ?, ?)", rows)
        db.execute("COMMIT")


def changed_row(random: Random, stamp: int, data: bytes) -> tuple[Any, Any]:
    if random.random() < 0.001:
        return random.choice((None, "now", 1.5, -1, 2**63 - 1, b"x")), data
    if random.random() < 0.001:
        return stamp, random.choice((None, "text", 3, 1.5, b"", b"\x28\xb5\x2f\xfd", b"\0\1\0\0"))
    return stamp, data


WRITERS: dict[str, Callable[[Random, Path, Columns], None]] = {
    ".csv": csv,
    ".npz": npz,
    ".npy": npy,
    ".mat": mat,
    ".h5": hdf5,
    ".parquet": parquet,
    ".feather": arrow,
    ".arrow": arrow,
    ".mcap": mcap,
    ".db3": db3,
}
