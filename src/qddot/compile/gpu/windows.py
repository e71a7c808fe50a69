"""Wide results of a GPU: a warp collects the rows of its 32 states in shared memory and writes them together, line after line.

A thread that stored its own row would touch a line of memory for each number, and a line written in pieces costs as much as
several. So a tile in shared memory takes a row a thread, and the lanes then write it side by side. Where whole rows do not fit, the
outputs are cut into ranges of columns as long as can be, one after the other.

Measured (H200, regressor of a 7-joint arm, 539 floats a state, share of the bandwidth of a copy): whole rows, three warps a
multiprocessor, 76 %; halves of rows 69 %; thirds 55 %; ranges of 96 columns, for which values wait in registers, 41 %; 64 columns
as they are computed, in pieces of ten, 14 %. So few warps that write whole lines are worth more than many that do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from qddot.compile.gpu.thread import WARP
from qddot.graph.program import Output
from qddot.model.scalar import Scalar

UNROLLED = 4
"""Rows whose writes are under way together."""


class Piece(NamedTuple):
    """Columns of one output, `start` to `start + count`, which stand in the tile from column `at` on."""

    output: int
    start: int
    count: int
    at: int


@dataclass(frozen=True, eq=False)
class Window:
    """What the tile holds at one time.

    Attributes:
        number: counts the windows of a kernel.
        pieces: which columns of which outputs.
        values: what stands in each column of the tile, a node or a number.
    """

    number: int
    pieces: tuple[Piece, ...]
    values: tuple[Scalar, ...]


def windows(outputs: Sequence[Output], most: int) -> list[Window]:
    """All columns, at most so many at a time: of outputs that do not fit, ranges of equal length."""
    groups: list[list[Piece]] = []
    free = 0
    for k, output in enumerate(outputs):
        parts = -(-output.size // most)
        for n in range(parts):
            start, end = (output.size * i // parts for i in (n, n + 1))
            if end - start > free:
                groups.append([])
                free = most
            groups[-1].append(Piece(k, start, end - start, most - free))
            free -= end - start
    values = [tuple(x for p in group for x in outputs[p.output].values[p.start : p.start + p.count]) for group in groups]
    return [Window(number, tuple(group), held) for number, (group, held) in enumerate(zip(groups, values))]


def room_of(found: Sequence[Window]) -> int:
    """Numbers from one row of the tile to the next: odd, so that 32 rows lie in 32 banks."""
    return max(len(window.values) for window in found) | 1


def flush(window: Window, room: int, real: str, outputs: Sequence[Output]) -> Iterable[str]:
    """Write the tile and leave it free."""
    yield "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
    for piece in window.pieces:
        name = f"w{window.number}_{piece.output}"
        whole = piece.count == outputs[piece.output].size
        yield from (whole_rows if whole else range_of_columns)(piece, name, room, real, outputs[piece.output].size)
    yield "call void @llvm.nvvm.bar.warp.sync(i32 -1)"


def whole_rows(piece: Piece, w: str, room: int, real: str, size: int) -> Iterable[str]:
    """Rows side by side are one stretch of memory."""
    yield f"%{w}_count = mul i32 %rows, {size}\n%{w}_base = mul i64 %warp_first, {size}"
    yield f"%{w}_to = getelementptr {real}, ptr %out{piece.output}, i64 %{w}_base"
    yield f"%{w}_some = icmp ult i32 %lane, %{w}_count\nbr label %{w}_start\n{w}_start:"
    yield f"br i1 %{w}_some, label %{w}_loop, label %{w}_end\n{w}_loop:"
    yield f"%{w}_k = phi i32 [ %lane, %{w}_start ], [ %{w}_next, %{w}_loop ]"
    if room == size:
        yield f"%{w}_from = add i32 %{w}_k, {piece.at}"
    else:  # rows of the tile are longer
        yield f"%{w}_r = udiv i32 %{w}_k, {size}\n%{w}_skip = mul i32 %{w}_r, {room - size}"
        yield f"%{w}_there = add i32 %{w}_k, %{w}_skip\n%{w}_from = add i32 %{w}_there, {piece.at}"
    yield f"%{w}_p = getelementptr {real}, ptr addrspace(3) %tile, i32 %{w}_from\n%{w}_x = load {real}, ptr addrspace(3) %{w}_p"
    yield f"%{w}_kw = zext i32 %{w}_k to i64\n%{w}_o = getelementptr {real}, ptr %{w}_to, i64 %{w}_kw"
    yield f"store {real} %{w}_x, ptr %{w}_o\n%{w}_next = add i32 %{w}_k, {WARP}"
    yield f"%{w}_more = icmp ult i32 %{w}_next, %{w}_count\nbr i1 %{w}_more, label %{w}_loop, label %{w}_end\n{w}_end:"


def range_of_columns(piece: Piece, w: str, room: int, real: str, size: int) -> Iterable[str]:
    """Row after row, the lanes side by side."""
    w = f"{w}_{piece.start}"
    yield f"%{w}_skip = mul i64 %warp_first, {size}\n%{w}_first = add i64 %{w}_skip, {piece.start}"
    yield f"%{w}_mine = add i64 %{w}_first, %lane_wide\n%{w}_to = getelementptr {real}, ptr %out{piece.output}, i64 %{w}_mine"
    yield f"%{w}_at = add i32 %lane, {piece.at}\n%{w}_from = getelementptr {real}, ptr addrspace(3) %tile, i32 %{w}_at"
    yield f"%{w}_full = icmp eq i32 %rows, {WARP}\nbr label %{w}_enter\n{w}_enter:"
    yield f"br i1 %{w}_full, label %{w}_many, label %{w}_few"
    for label, rows in (("many", UNROLLED), ("few", 1)):  # the last warp alone may have fewer rows
        yield from rows_together(f"{w}_{label}", w, rows, piece.count, room, real, size)
    yield f"{w}_end:"


def rows_together(loop: str, w: str, rows: int, count: int, room: int, real: str, size: int) -> Iterable[str]:
    """A loop that writes `rows` rows at a time."""
    yield f"{loop}:\n%{loop}_r = phi i32 [ 0, %{w}_enter ], [ %{loop}_next, %{loop}_last ]"
    yield f"%{loop}_row_at = mul i32 %{loop}_r, {room}\n%{loop}_out_at = mul i32 %{loop}_r, {size}"
    yield f"%{loop}_row = getelementptr {real}, ptr addrspace(3) %{w}_from, i32 %{loop}_row_at"
    yield f"%{loop}_out_wide = zext i32 %{loop}_out_at to i64"
    yield f"%{loop}_out = getelementptr {real}, ptr %{w}_to, i64 %{loop}_out_wide"
    full, rest = divmod(count, WARP)
    for some, active in ((range(full), None), (range(full, full + 1), rest)):
        if active == 0:
            continue
        if active:
            yield f"%{loop}_has = icmp ult i32 %lane, {active}"
            yield f"br i1 %{loop}_has, label %{loop}_rest, label %{loop}_last\n{loop}_rest:"
        for c in some:
            for k in range(rows):
                yield f"%{loop}_q{c}_{k} = getelementptr {real}, ptr addrspace(3) %{loop}_row, i32 {c * WARP + k * room}"
                yield f"%{loop}_x{c}_{k} = load {real}, ptr addrspace(3) %{loop}_q{c}_{k}"
            for k in range(rows):
                yield f"%{loop}_o{c}_{k} = getelementptr {real}, ptr %{loop}_out, i64 {c * WARP + k * size}"
                yield f"store {real} %{loop}_x{c}_{k}, ptr %{loop}_o{c}_{k}"
    yield f"br label %{loop}_last\n{loop}_last:"
    yield f"%{loop}_next = add i32 %{loop}_r, {rows}\n%{loop}_more = icmp ult i32 %{loop}_next, %rows"
    yield f"br i1 %{loop}_more, label %{loop}, label %{w}_end"
