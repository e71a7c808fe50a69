"""Lines of memory that results will go to, asked for between the instructions of a kernel.

A store to a line that is not in the nearest cache waits for it, and everything the kernel puts down meanwhile waits behind it.
Asked for in good time, at an even pace while states are computed, the line is there. On a processor with slow outer caches
matrices of some hundred bytes a state take up to a half less; where they are fast it gains nothing, and costs 3 % at most.
"""

from __future__ import annotations

from collections.abc import Sequence

from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Output, Program

LINE = 64
"""Bytes that caches and memory exchange."""

FEW = 16
"""Results with fewer columns than this wait for nothing."""

NEAR = 1 << 14
"""Rows of W states with more bytes than this would drive what the kernel works with out of the nearest cache."""

DECLARATION = "declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"


def is_worth_it(program: Program, lanes: Lanes) -> bool:
    columns = sum(x.size for x in written(program))
    return columns >= FEW and columns * lanes.width * lanes.bits // 8 <= NEAR


def written(program: Program) -> list[Output]:
    """Results but for margins, which are few and seldom written."""
    return [x for x in program.outputs if x.name != "margins"]


def between(nodes: Sequence[Expr], pointers: Sequence[str], program: Program, lanes: Lanes) -> dict[Expr, list[str]]:
    """For some nodes what follows them: a request for one line of the rows that begin at the pointers."""
    found: dict[Expr, list[str]] = {}
    if nodes and is_worth_it(program, lanes):
        sizes = [x.size * lanes.width * lanes.bits // 8 for x in written(program)]
        lines = [(pointer, at) for pointer, size in zip(pointers, sizes) for at in range(0, size + LINE, LINE)]
        for k, (pointer, at) in enumerate(lines):
            line = f"{pointer}_{at} = getelementptr i8, ptr {pointer}, i64 {at}"
            call = f"call void @llvm.prefetch.p0(ptr {pointer}_{at}, i32 1, i32 3, i32 1)"  # to write, near, data
            found.setdefault(nodes[k * len(nodes) // len(lines)], []).append(f"{line}\n{call}")
    return found
