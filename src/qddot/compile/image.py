"""Machine code in memory, from an object file, without LLVM: a program whose code is in the cache never loads LLVM's library.

An image is one mapping of memory: first code, constants and jumps to functions outside, which become executable once they are
written and cannot be written then, and after them variables, on pages of their own. As it is one mapping, all of it is within reach
of an instruction's 32 bits (the small code model). LLVM places code and constants apart, and then code needs 64 bits, and an
instruction more for each constant.

This is for x86-64 under Linux; elsewhere LLVM loads the code that it has made (`emit`).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

POSSIBLE = sys.platform == "linux" and sys.maxsize > 2**32 and os.uname().machine == "x86_64"
"""True if code can be loaded in this way here."""

START = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 1, 62)
"""The first bytes of an object file for x86-64."""

HEADER, SECTION = struct.Struct("<40x Q 10x HH"), struct.Struct("<4x I Q 8x QQ II Q 8x")
SYMBOL = np.dtype([("name", "<u4"), ("info", "<u2"), ("section", "<u2"), ("value", "<i8"), ("size", "<u8")])
RELOCATION = np.dtype([("place", "<i8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
CONTENT, SYMBOLS, RELOCATIONS, ZEROS = 1, 2, 4, 8  # kinds of sections
WRITTEN, KEPT = 1, 2  # flags of sections: changed while the program runs; part of the program
SPECIAL = 0xFF00  # the first number that stands for no section

ADDRESS, DISTANCES, BY_TABLE = 1, (2, 4), (9, 41, 42)
"""Kinds of relocations: an address; the distance from an instruction to a place, or to a word that holds its address."""

JUMP = b"\xff\x25\x02\0\0\0\xcc\xcc"
"""`jmp *2(%rip)`, which goes to the address that follows these bytes; the last two are skipped."""

ROW, LINE = len(JUMP) + 8, 64


class Unloadable(ValueError):
    """An object file with something that is not known here."""


class Section(NamedTuple):
    """A section of an object file: `size` bytes from `at` on, and the sections that it refers to."""

    kind: int
    flags: int
    at: int
    size: int
    link: int
    info: int
    align: int


class Memory:
    """Pages of this process that are written first and become executable then. They are released with this object, unless Python
    is ending: threads that do not hold its lock still run then."""

    def __init__(self, size: int) -> None:
        self.mapping = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.bytes = np.frombuffer(self.mapping, np.uint8)
        self.address: int = self.bytes.ctypes.data

    def __del__(self, ending=sys.is_finalizing, keep=ctypes.pythonapi.Py_IncRef, of=ctypes.py_object) -> None:
        if ending():
            keep(of(self.mapping))

    def write(self, place: int, content: bytes) -> None:
        self.bytes[place : place + len(content)] = np.frombuffer(content, np.uint8)

    def seal(self, size: int) -> None:
        """Make the pages of the first bytes executable, and no longer writable. Raises OSError: the system forbids it."""
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        if protect(self.address, size, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "this system lets no program make machine code (see docs/installation.md)")


class Image:
    """The loaded code of an object file, which must be trusted and made here: it may call functions outside, but not read variables
    outside, and nothing is run when it is loaded. It is released with this object.

    Args:
        known: addresses of functions that the code may call, by name; all others are those of the process.

    Raises:
        Unloadable: there is something in the file that is not known here.
    """

    def __init__(self, file: bytes, known: Mapping[str, int]) -> None:
        sections = sections_of(file)
        symbols, names = symbols_of(file, sections)
        target, found = relocations_of(file, sections, symbols)
        kind, symbol, of = found["kind"], found["symbol"], symbols["section"]
        # each section has a place in memory, and each function outside, or whose address is read from a word, has a row: a jump to
        # the address, and the address
        rows = sorted(set(symbol[(of[symbol] == 0) | among(kind, BY_TABLE)].tolist()))
        places, end = np.zeros(SPECIAL + 0x100, np.int64), 0
        for written in (0, WRITTEN):
            for k, s in enumerate(sections):
                if s.flags & KEPT and s.flags & WRITTEN == written:
                    places[k] = end = up(end, max(s.align, LINE))
                    end += s.size
            if not written:
                first_row = up(end, LINE)
                sealed = end = up(first_row + ROW * max(len(rows), 1), mmap.PAGESIZE)
        self.memory = memory = Memory(end)
        for k, s in enumerate(sections):
            if s.flags & KEPT and s.kind == CONTENT:
                memory.write(int(places[k]), file[s.at : s.at + s.size])
        there, word = symbols["value"] + places[of], np.zeros(len(symbols), np.int64)
        self.functions = {names[k]: memory.address + int(there[k]) for k in np.flatnonzero((of > 0) & (of < SPECIAL)) if names[k]}
        for place, k in enumerate(rows):
            jump = first_row + ROW * place
            address = memory.address + int(there[k]) if of[k] else known.get(names[k]) or of_process(names[k])
            memory.write(jump, JUMP + struct.pack("<Q", address))
            word[k] = jump + len(JUMP)
            if not of[k]:
                there[k] = jump
        # the distances and addresses that the code needs
        at, whole = places[target] + found["place"], kind == ADDRESS
        distance = np.where(among(kind, BY_TABLE), word[symbol], there[symbol]) + found["addend"] - at
        for which, values, size in ((whole, memory.address + there[symbol] + found["addend"], 8), (~whole, distance, 4)):
            content = values[which].astype(f"<i{size}").view(np.uint8).reshape(-1, size)
            memory.bytes[at[which][:, None] + np.arange(size)] = content
        memory.seal(sealed)

    def get_function_address(self, name: str) -> int:
        return self.functions[name]


def sections_of(file: bytes) -> list[Section]:
    """Return the sections of an object file."""
    if not file.startswith(START):
        raise Unloadable("no object file for x86-64")
    start, size, count = HEADER.unpack_from(file)
    if size != SECTION.size:
        raise Unloadable(f"descriptions of sections of {size} bytes")
    sections = [Section(*SECTION.unpack_from(file, start + k * size)) for k in range(count)]
    if odd := [s.kind for s in sections if s.flags & KEPT and s.kind not in (CONTENT, ZEROS)]:
        raise Unloadable(f"sections of the kinds {odd}")  # such as tables for exceptions, which would have to be registered
    if max((s.align for s in sections if s.flags & KEPT), default=0) > mmap.PAGESIZE:
        raise Unloadable("a section that is aligned to more than a page")
    return sections


def symbols_of(file: bytes, sections: list[Section]) -> tuple[np.ndarray, list[str]]:
    """Return the symbols of an object file, and their names."""
    table = next(s for s in sections if s.kind == SYMBOLS)
    symbols, texts = rows_of(file, table, SYMBOL), sections[table.link].at
    return symbols, [file[texts + n : file.index(b"\0", texts + n)].decode() for n in symbols["name"].tolist()]


def relocations_of(file: bytes, sections: list[Section], symbols: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the relocations of an object file, and the section that each of them changes."""
    parts = [(s.info, rows_of(file, s, RELOCATION)) for s in sections if s.kind == RELOCATIONS and sections[s.info].flags & KEPT]
    found = np.concatenate([np.zeros(0, RELOCATION), *(part for _, part in parts)])
    target = np.concatenate([np.zeros(0, int), *(np.full(len(part), info) for info, part in parts)])
    kind, of = found["kind"], symbols["section"][found["symbol"]]
    known = among(kind, (ADDRESS, *DISTANCES, *BY_TABLE)) & (of < SPECIAL) & ((of > 0) | (kind != ADDRESS))
    if not known.all():
        raise Unloadable(f"relocations of the kinds {sorted(set(kind[~known].tolist()))}")
    return target, found


def rows_of(file: bytes, section: Section, kind: np.dtype) -> np.ndarray:
    return np.frombuffer(file, kind, section.size // kind.itemsize, section.at)


def among(kind: np.ndarray, kinds: tuple[int, ...]) -> np.ndarray:
    """Return which elements are among these kinds; `np.isin` imports masked arrays, which takes as long as all the rest."""
    return (kind[:, None] == np.array(kinds)).any(axis=1)


def up(n: int, step: int) -> int:
    """Return the smallest multiple of a step that is not less than n."""
    return -(-n // step) * step


def of_process(name: str) -> int:
    """Return the address of a function of the C library."""
    for library in libraries():
        if hasattr(library, name):
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
    raise Unloadable(f"there is no function {name!r}")


@cache
def libraries() -> tuple[Any, ...]:
    """Return the process with its libraries, and NumPy's with its own, of which the C library is one."""
    return ctypes.CDLL(None), ctypes.CDLL(_multiarray_umath.__file__)
