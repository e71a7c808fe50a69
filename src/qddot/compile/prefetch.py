"""Lines of memory that results will go to and the next states come from, asked for between the instructions of a kernel.

A store to a line that is not in the nearest cache waits for it, and everything the kernel puts down meanwhile waits behind it.
Asked for in good time, at an even pace while states are computed, the line is there. On a processor with slow outer caches
matrices of some hundred bytes a state take up to a half less; where they are fast it gains nothing, and costs 3 % at most.

Inputs are read in order, which processors foresee by themselves; but while a long kernel computes they forget. Asked for (Zen 4,
4,096 states of a humanoid), inverse dynamics take 2 to 3 % less, forward 0 to 5, the Coriolis matrix 7 to 13, derivatives 6 to 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Input, Output, Program

LINE = 64
"""Bytes that caches and memory exchange."""

FEW = 16
"""Results with fewer columns than this wait for nothing."""

NEAR = 1 << 14
"""Rows of W states with more bytes than this would drive what the kernel works with out of the nearest cache."""

DECLARATION = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"


class Rows(NamedTuple):
    """W rows that begin at a pointer: to be read, or written."""

    pointer: str
    size: int
    to_write: bool


def results(pointers: Sequence[str], program: Program, lanes: Lanes) -> list[Rows]:
    """Rows to which results will go, if it is worth asking for them."""
    rows = [Rows(pointer, row_bytes(x, lanes), True) for pointer, x in zip(pointers, written(program))]
    few = sum(x.size for x in written(program)) < FEW
    return [] if few or sum(x.size for x in rows) > NEAR else rows


def inputs(pointers: Sequence[str], program: Program, lanes: Lanes) -> list[Rows]:
    """Rows from which the next states come."""
    return [Rows(pointer, row_bytes(x, lanes), False) for pointer, x in zip(pointers, program.inputs)]


def row_bytes(x: Input | Output, lanes: Lanes) -> int:
    return x.size * lanes.width * lanes.bits // 8


def written(program: Program) -> list[Output]:
    """Results but for margins, which are few and seldom written."""
    return [x for x in program.outputs if x.name != "margins"]


def between(nodes: Sequence[Expr], rows: Sequence[Rows]) -> dict[Expr, list[str]]:
    """For some nodes what follows them: a request for one line of the rows."""
    found: dict[Expr, list[str]] = {}
    lines = [(x, at) for x in rows for at in range(0, x.size + LINE, LINE)]
    for k, (x, at) in enumerate(lines if nodes else ()):
        line = f"{x.pointer}_{at} = getelementptr i8, ptr {x.pointer}, i64 {at}"
        call = f"call void @llvm.prefetch.p0(ptr {x.pointer}_{at}, i32 {int(x.to_write)}, i32 3, i32 1)"  # near, data
        found.setdefault(nodes[k * len(nodes) // len(lines)], []).append(f"{line}\n{call}")
    return found
