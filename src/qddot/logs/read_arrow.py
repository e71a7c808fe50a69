"""Feather files and other files and streams of Arrow's IPC format."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from qddot.errors import InputError, missing_extra
from qddot.files import open_regular
from qddot.logs.arrow_columns import refuse_names, tables
from qddot.logs.read_arrays import refuse_bomb
from qddot.logs.table import Table

MAGIC = b"ARROW1"  # at both ends of a file; a stream has none
OLD = b"FEA1"
BATCH, DICTIONARY = "record batch", "dictionary"


def read_arrow(path: Path, rows: int) -> Iterator[Table]:
    """Yield columns like those of Parquet. A file is read as the stream that it contains, so that both have one way."""
    try:
        from pyarrow import ipc
    except ImportError:
        raise missing_extra("pyarrow", "logs", "reading Feather and Arrow") from None
    with open_regular(path) as file:
        start = begin(path, file)
        refuse_packed(path, ipc.MessageReader.open_stream(file))
        file.seek(start)
        with ipc.open_stream(file) as stream:
            refuse_names(path.name, stream.schema.names)
            yield from tables(path.name, grouped(path, stream, rows))


def begin(path: Path, file: BinaryIO) -> int:
    """Return the place at which the stream of a file begins, and go there."""
    start = file.read(8)
    if start.startswith(OLD):
        raise InputError(f"{path.name}: Feather version 1, which is no longer read (write it anew: version 2)")
    if not start.startswith(MAGIC):
        file.seek(0)
        return 0
    file.seek(-min(len(MAGIC), os.fstat(file.fileno()).st_size), os.SEEK_END)
    if file.read() != MAGIC:
        raise InputError(f"{path.name}: truncated: its last bytes are not {MAGIC.decode()} (copy the file anew)")
    return file.seek(8)


def refuse_packed(path: Path, messages: Any) -> None:
    """Refuse a small file that unpacks to much, before it is unpacked: each packed buffer begins with its size."""
    size = 0
    for message in messages:
        if message.type in (BATCH, DICTIONARY):
            size += unpacked(memoryview(message.metadata), memoryview(message.body), message.type)
    refuse_bomb(path, [((size,), 1)])


def unpacked(head: memoryview, body: memoryview, kind: str) -> int:
    """Return the size of a message when it is unpacked; 0 if it is not packed. `head` is a FlatBuffer, which Arrow has verified."""

    def number(form: str, at: int) -> int:
        return struct.unpack_from(form, head, at)[0]

    def member(table: int, k: int) -> int | None:
        """Return the place of a member of a table, or None."""
        layout = table - number("<i", table)
        offset = number("<H", layout + 4 + 2 * k) if 4 + 2 * k < number("<H", layout) else 0
        return table + offset if offset else None

    def target(table: int | None, k: int) -> int | None:
        """Return the place that a member refers to."""
        at = None if table is None else member(table, k)
        return None if at is None else at + number("<I", at)

    batch = target(number("<I", 0), 2)
    batch = target(batch, 1) if kind == DICTIONARY else batch
    buffers = target(batch, 2)
    if batch is None or buffers is None or target(batch, 3) is None:
        return 0
    size = 0
    for k in range(number("<I", buffers)):
        at = buffers + 4 + 16 * k
        offset, length = number("<q", at), number("<q", at + 8)
        if length >= 8:
            size += max(struct.unpack_from("<q", body, offset)[0], 0)  # -1: this buffer is not packed
    return size


def grouped(path: Path, stream: Any, rows: int) -> Iterator[Any]:
    """Yield tables of `rows` rows, the last one of fewer. Raises an error of Arrow: offsets lead outside of their buffers."""
    import pyarrow as arrow

    waiting: list[Any] = []
    count = total = 0
    for batch in stream:
        total += batch.num_rows
        refuse_bomb(path, [((total,), 8)] * batch.num_columns)
        batch.validate(full=True)  # Arrow trusts what it maps into memory
        while batch.num_rows:
            part = batch.slice(0, rows - count)
            batch = batch.slice(len(part))
            waiting.append(part)
            count += len(part)
            if count == rows:
                yield arrow.Table.from_batches(waiting)
                waiting, count = [], 0
    if waiting:
        yield arrow.Table.from_batches(waiting)
