"""Validation of MAT files of version 5: SciPy trusts every type, size and count in them, and may read beyond its memory."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from qddot.errors import InputError
from qddot.files import LOG_BYTES

COMPRESSED, MATRIX = 15, 14  # types of elements; those of numbers, with the size of an item in bytes:
ITEM_SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8, 14: 1, 16: 1, 17: 2, 18: 4}
CELL, STRUCT, OBJECT, CHAR, SPARSE, FUNCTION, OPAQUE = 1, 2, 3, 4, 5, 16, 17  # classes of matrices; 6 to 15 hold numbers
COMPLEX = 0x800  # flag of a matrix
DEEPEST = 64  # levels of nested structs and cells


class Element(NamedTuple):
    """One element of the file: its type, and the bytes after its tag."""

    type: int
    content: bytes


def check_mat(path: Path) -> None:
    """Check the variables of a file before SciPy reads it. Raises InputError: they unpack to more than the limit, or an element
    disagrees with its tag or its matrix."""
    total, most = path.stat().st_size, LOG_BYTES.value
    refuse_large(path.name, total)
    data = path.read_bytes()
    if 0 in data[:4]:  # version 4, which has no compressed elements
        return
    order, at = ">" if data[126:128] == b"MI" else "<", 128
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        if kind == COMPRESSED:
            variable = zlib.decompressobj().decompress(data[at + 8 : at + 8 + size], most + 1)
            total += len(variable)
            refuse_large(path.name, total)
        else:
            variable = data[at : at + 8 + size]
        for element in elements(path.name, variable, order, padded=False):
            if element.type == MATRIX and element.content:
                check_matrix(path.name, element.content, order, 0)
        at += 8 + size


def refuse_large(file: str, size: int) -> None:
    """Raise InputError: the size is over the limit."""
    if rule := LOG_BYTES.over("size in memory", size):
        raise InputError(f"{file}: {rule}")


def elements(file: str, data: bytes, order: str, *, padded: bool = True) -> Iterator[Element]:
    """Yield the elements of a block: each is a tag with type and size, then its content, padded to eight bytes; short elements have
    both in eight bytes."""
    at = 0
    while at + 8 <= len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        start, after = at + 8, at + 8 + size + (-size % 8 if padded else 0)
        if kind >> 16:
            kind, size, start, after = kind & 0xFFFF, kind >> 16, at + 4, at + 8
            expect(file, size <= 4, f"a short element of {size} bytes")
        left = len(data) - start
        expect(file, kind in ITEM_SIZES and size <= left, f"an element of type {kind} and {size} bytes where {left} are left")
        yield Element(kind, data[start : start + size])
        at = after


def check_matrix(file: str, content: bytes, order: str, depth: int) -> None:
    """Check that a matrix has as many parts, and as long ones, as its class and its dimensions say."""
    parts = list(elements(file, content, order))
    types = [part.type for part in parts]
    beginning = f"a matrix begins with elements of types {types[:3]}"
    expect(file, depth <= DEEPEST and types[:1] == [6] and len(parts[0].content) == 8, beginning)
    (flags,) = struct.unpack_from(f"{order}I", parts[0].content)
    kind = flags & 0xFF
    if kind == OPAQUE:
        return
    expect(file, types[:3] == [6, 5, 1] and len(parts[1].content) % 4 == 0, beginning)
    dimensions = struct.unpack(f"{order}{len(parts[1].content) // 4}i", parts[1].content)
    expect(file, min(dimensions, default=-1) >= 0, f"a matrix of shape {dimensions[:8]}")
    count = math.prod(dimensions)
    if kind in (CELL, STRUCT, OBJECT, FUNCTION):
        check_held(file, parts[3:], kind, count, order, depth)
    elif kind == CHAR:
        expect(file, len(parts) >= 4, "text without letters")
    else:
        values = parts[5:] if kind == SPARSE else parts[3:]
        expect(file, len(values) == (2 if flags & COMPLEX else 1), "a matrix without its numbers")
        if kind != SPARSE:
            sizes = [len(part.content) / ITEM_SIZES[part.type] for part in values]
            expect(file, all(size == count for size in sizes), f"a matrix of {count} elements with {sizes[0]:g} numbers")


def check_held(file: str, parts: list[Element], kind: int, count: int, order: str, depth: int) -> None:
    """Check the matrices in a cell array, or in the fields of a struct."""
    if kind == OBJECT:  # its first part is the name of its class
        parts = parts[1:]
    if kind in (STRUCT, OBJECT):
        expect(file, len(parts) >= 2 and parts[0].type == 5 and len(parts[0].content) == 4, "a struct without names of fields")
        (length,) = struct.unpack(f"{order}i", parts[0].content)
        expect(file, 0 < length <= 1024 and len(parts[1].content) % length == 0, f"names of {length} letters")
        count *= len(parts[1].content) // length
        parts = parts[2:]
    expect(file, len(parts) == (1 if kind == FUNCTION else count), f"{len(parts)} parts where {count} are claimed")
    for part in parts:
        expect(file, part.type == MATRIX, f"an element of type {part.type} where a matrix is claimed")
        if part.content:
            check_matrix(file, part.content, order, depth + 1)


def expect(file: str, holds: bool, why: str) -> None:
    """Raise InputError unless a condition holds: the file is damaged, and `why`."""
    if not holds:
        raise InputError(f"{file}: damaged: {why} (save or copy it anew)")
