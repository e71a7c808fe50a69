"""Prefetching, between the instructions of a kernel, of the cache lines for its results and for the next states.

A store to a line that is not in the nearest cache waits for the line, and all later stores wait behind it. Prefetched early enough,
at an even pace while states are computed, the line is there. On a processor with slow outer caches, matrices of some hundred bytes
a state take up to half the time less; where they are fast this gains nothing, and costs 3 % at most.

Inputs are read in order, which processors prefetch by themselves, but not across a long kernel. With prefetching (Zen 4, 4,096
states of a humanoid), inverse dynamics takes 2 to 3 % less, forward dynamics 0 to 5, the Coriolis matrix 7 to 13, derivatives 6 to
13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Input, Output, Program

LINE = 64
"""Bytes of a cache line."""

FEW = 16
"""Results with fewer columns than this are not prefetched: their stores do not wait."""

NEAR = 1 << 14
"""Rows of W states with more bytes than this are not prefetched: they would displace the kernel's values from the nearest cache."""

DECLARATION = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"


class Rows(NamedTuple):
    """W rows of memory, of `size` bytes in all, to be read or written."""

    pointer: str
    size: int
    to_write: bool


def results(pointers: Sequence[str], program: Program, lanes: Lanes) -> list[Rows]:
    """Return the rows to which results will be written, if prefetching them pays."""
    rows = [Rows(pointer, row_bytes(x, lanes), True) for pointer, x in zip(pointers, program.shown)]
    few = sum(x.size for x in program.shown) < FEW
    return [] if few or sum(x.size for x in rows) > NEAR else rows


def inputs(pointers: Sequence[str], program: Program, lanes: Lanes) -> list[Rows]:
    """Return the rows from which the next states are read."""
    return [Rows(pointer, row_bytes(x, lanes), False) for pointer, x in zip(pointers, program.inputs)]


def row_bytes(x: Input | Output, lanes: Lanes) -> int:
    return x.size * lanes.width * lanes.bits // 8


def between(nodes: Sequence[Expr], rows: Sequence[Rows]) -> dict[Expr, list[str]]:
    """Return, for some nodes, the IR after them that prefetches a line of the rows."""
    found: dict[Expr, list[str]] = {}
    lines = [(x, at) for x in rows for at in range(0, x.size + LINE, LINE)]
    for k, (x, at) in enumerate(lines if nodes else ()):
        line = f"{x.pointer}_{at} = getelementptr i8, ptr {x.pointer}, i64 {at}"
        call = f"call void @llvm.prefetch.p0(ptr {x.pointer}_{at}, i32 {int(x.to_write)}, i32 3, i32 1)"  # near, data
        found.setdefault(nodes[k * len(nodes) // len(lines)], []).append(f"{line}\n{call}")
    return found
