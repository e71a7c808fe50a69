"""IR that writes wide results of a GPU: a warp collects the rows of its 32 states in shared memory, and writes them line by line.

A thread that stored its own row would touch one line of memory for each number, and a line written in pieces costs as much as
several. So a tile in shared memory has a row for each thread, and the lanes write it side by side. If whole rows do not fit, the
outputs are cut into ranges of columns, as long as possible, one after the other.

Each piece has its own part of the tile. If its number of columns is no multiple of four, at most two of its rows share a bank: then
the part is an exact copy of the memory to be written, and is written by 16 bytes a lane. Else rows are one number longer.

Measured (H200, regressor of a 7-joint arm, 539 floats a state, share of the bandwidth of a copy): whole rows, three warps on a
multiprocessor, 76 %; halves of rows 69 %; thirds 55 %; ranges of 96 columns, which keep values in registers, 41 %; 64 columns as
they are computed, in pieces of ten, 14 %. So few warps that write whole lines are better than many that do not; by 16 bytes a lane
whole rows reach 87 %. Narrow results are stored directly, and inputs read directly: through the tile, inverse dynamics of that arm
falls from 29 to 20 billion/s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from qddot.compile.gpu.thread import WARP
from qddot.graph.program import Output
from qddot.model.scalar import Scalar

UNROLLED = 4
"""Number of rows whose writes are in flight together."""

TOGETHER = 8
"""Number of 16-byte writes of a lane that are in flight together."""


class Piece(NamedTuple):
    """The columns `start` to `start + count` of one output. In the tile its rows are `pitch` numbers apart, after the `at` numbers
    that other pieces have for each thread."""

    output: int
    start: int
    count: int
    at: int

    @property
    def pitch(self) -> int:
        return pitch(self.count)


def pitch(columns: int) -> int:
    """Return the distance of rows with this number of columns such that no more than two rows of a warp share a bank."""
    return columns if columns % 4 else columns + 1


@dataclass(frozen=True, eq=False)
class Window:
    """The part of the results that the tile holds at one time."""

    number: int  # counts the windows of a kernel
    pieces: tuple[Piece, ...]
    values: tuple[tuple[Scalar, ...], ...]  # the values in the columns of each piece, nodes or numbers


def windows(outputs: Sequence[Output], most: int) -> list[Window]:
    """Return windows for all columns, with at most `most` numbers of a tile for each thread; outputs that do not fit are cut into
    ranges of equal length."""
    groups: list[list[Piece]] = []
    used = most
    for k, output in enumerate(outputs):
        parts = -(-output.size // most)
        while pitch(-(-output.size // parts)) > most:
            parts += 1
        for n in range(parts):
            start, end = (output.size * i // parts for i in (n, n + 1))
            piece = Piece(k, start, end - start, used)
            if used + piece.pitch > most:
                groups.append([])
                used, piece = 0, piece._replace(at=0)
            groups[-1].append(piece)
            used += piece.pitch
    held = [tuple(outputs[p.output].values[p.start : p.start + p.count] for p in group) for group in groups]
    return [Window(number, tuple(group), values) for number, (group, values) in enumerate(zip(groups, held))]


def room_of(found: Sequence[Window]) -> int:
    """Return the size of the tile, in numbers for each thread."""
    return max(sum(piece.pitch for piece in window.pieces) for window in found)


def flush(window: Window, real: str, outputs: Sequence[Output]) -> Iterable[str]:
    """Yield IR that writes the tile, after which it is free."""
    yield "call void @together()"
    for piece in window.pieces:
        size = outputs[piece.output].size
        name = f"w{window.number}_{piece.output}"
        yield from (whole_rows if piece.count == size else range_of_columns)(piece, name, real, size)
    yield "call void @together()"


def whole_rows(piece: Piece, w: str, real: str, size: int) -> Iterable[str]:
    """Yield IR that writes whole rows, which together are one range of memory."""
    yield f"%{w}_base = mul i64 %warp_first, {size}\n%{w}_to = getelementptr {real}, ptr %out{piece.output}, i64 %{w}_base"
    yield f"%{w}_tile = getelementptr {real}, ptr addrspace(3) %tile, i32 {WARP * piece.at}"
    if piece.pitch == size:
        yield f"%{w}_place = ptrtoint ptr %{w}_to to i64\n%{w}_off = and i64 %{w}_place, 15\n%{w}_even = icmp eq i64 %{w}_off, 0"
        yield f"%{w}_all = icmp eq i32 %rows, {WARP}\n%{w}_fast = and i1 %{w}_even, %{w}_all"
        yield f"br i1 %{w}_fast, label %{w}_wide, label %{w}_each\n{w}_wide:"
        yield from by_16_bytes(w, real, size)
        yield f"br label %{w}_end\n{w}_each:"
    yield f"%{w}_count = mul i32 %rows, {size}\n%{w}_some = icmp ult i32 %lane, %{w}_count\nbr label %{w}_start\n{w}_start:"
    yield f"br i1 %{w}_some, label %{w}_loop, label %{w}_end\n{w}_loop:"
    yield f"%{w}_k = phi i32 [ %lane, %{w}_start ], [ %{w}_next, %{w}_loop ]"
    if piece.pitch == size:
        yield f"%{w}_from = add i32 %{w}_k, 0"
    else:  # rows of the tile are longer
        yield f"%{w}_r = udiv i32 %{w}_k, {size}\n%{w}_from = add i32 %{w}_k, %{w}_r"
    yield f"%{w}_p = getelementptr {real}, ptr addrspace(3) %{w}_tile, i32 %{w}_from\n%{w}_x = load {real}, ptr addrspace(3) %{w}_p"
    yield f"%{w}_kw = zext i32 %{w}_k to i64\n%{w}_o = getelementptr {real}, ptr %{w}_to, i64 %{w}_kw"
    yield f"store {real} %{w}_x, ptr %{w}_o\n%{w}_next = add i32 %{w}_k, {WARP}"
    yield f"%{w}_more = icmp ult i32 %{w}_next, %{w}_count\nbr i1 %{w}_more, label %{w}_loop, label %{w}_end\n{w}_end:"


def by_16_bytes(w: str, real: str, size: int) -> Iterable[str]:
    """Yield IR that copies 32 rows, with several writes of each lane at a time."""
    wide = 4 if real == "float" else 2
    quad, turns = f"<{wide} x {real}>", -(-size // wide)
    yield f"%{w}_lane_from = getelementptr {quad}, ptr addrspace(3) %{w}_tile, i32 %lane"
    yield f"%{w}_lane_to = getelementptr {quad}, ptr %{w}_to, i32 %lane"
    last = WARP * size // wide - WARP * (turns - 1)  # lanes that have a write in the last turn
    for first in range(0, turns, TOGETHER):
        some = range(first, min(first + TOGETHER, turns))
        if last < WARP and turns - 1 in some:
            some = some[:-1]
        yield from copied(w, quad, some)
    if last < WARP:
        yield f"%{w}_has = icmp ult i32 %lane, {last}\nbr i1 %{w}_has, label %{w}_rest, label %{w}_through\n{w}_rest:"
        yield from copied(w, quad, range(turns - 1, turns))
        yield f"br label %{w}_through\n{w}_through:"


def copied(w: str, quad: str, turns: Iterable[int]) -> Iterable[str]:
    """Yield IR for some turns of the copy, with all reads before the first write."""
    for t in turns:
        yield f"%{w}_f{t} = getelementptr {quad}, ptr addrspace(3) %{w}_lane_from, i32 {t * WARP}"
        yield f"%{w}_v{t} = load {quad}, ptr addrspace(3) %{w}_f{t}, align 16"
    for t in turns:
        yield f"%{w}_t{t} = getelementptr {quad}, ptr %{w}_lane_to, i32 {t * WARP}"
        yield f"store {quad} %{w}_v{t}, ptr %{w}_t{t}, align 16"


def range_of_columns(piece: Piece, w: str, real: str, size: int) -> Iterable[str]:
    """Yield IR that writes a range of columns row by row, the lanes side by side."""
    w = f"{w}_{piece.start}"
    yield f"%{w}_skip = mul i64 %warp_first, {size}\n%{w}_first = add i64 %{w}_skip, {piece.start}"
    yield f"%{w}_mine = add i64 %{w}_first, %lane_wide\n%{w}_to = getelementptr {real}, ptr %out{piece.output}, i64 %{w}_mine"
    yield f"%{w}_at = add i32 %lane, {WARP * piece.at}\n%{w}_from = getelementptr {real}, ptr addrspace(3) %tile, i32 %{w}_at"
    yield f"%{w}_full = icmp eq i32 %rows, {WARP}\nbr label %{w}_enter\n{w}_enter:"
    yield f"br i1 %{w}_full, label %{w}_many, label %{w}_few"
    for label, rows in (("many", UNROLLED), ("few", 1)):  # only the last warp may have fewer rows
        yield from rows_together(f"{w}_{label}", w, rows, piece, real, size)
    yield f"{w}_end:"


def rows_together(loop: str, w: str, rows: int, piece: Piece, real: str, size: int) -> Iterable[str]:
    """Yield a loop that writes `rows` rows at a time."""
    yield f"{loop}:\n%{loop}_r = phi i32 [ 0, %{w}_enter ], [ %{loop}_next, %{loop}_last ]"
    yield f"%{loop}_row_at = mul i32 %{loop}_r, {piece.pitch}\n%{loop}_out_at = mul i32 %{loop}_r, {size}"
    yield f"%{loop}_row = getelementptr {real}, ptr addrspace(3) %{w}_from, i32 %{loop}_row_at"
    yield f"%{loop}_out_wide = zext i32 %{loop}_out_at to i64"
    yield f"%{loop}_out = getelementptr {real}, ptr %{w}_to, i64 %{loop}_out_wide"
    full, rest = divmod(piece.count, WARP)
    for some, active in ((range(full), None), (range(full, full + 1), rest)):
        if active == 0:
            continue
        if active:
            yield f"%{loop}_has = icmp ult i32 %lane, {active}"
            yield f"br i1 %{loop}_has, label %{loop}_rest, label %{loop}_last\n{loop}_rest:"
        for c in some:
            for k in range(rows):
                yield f"%{loop}_q{c}_{k} = getelementptr {real}, ptr addrspace(3) %{loop}_row, i32 {c * WARP + k * piece.pitch}"
                yield f"%{loop}_x{c}_{k} = load {real}, ptr addrspace(3) %{loop}_q{c}_{k}"
            for k in range(rows):
                yield f"%{loop}_o{c}_{k} = getelementptr {real}, ptr %{loop}_out, i64 {c * WARP + k * size}"
                yield f"store {real} %{loop}_x{c}_{k}, ptr %{loop}_o{c}_{k}"
    yield f"br label %{loop}_last\n{loop}_last:"
    yield f"%{loop}_next = add i32 %{loop}_r, {rows}\n%{loop}_more = icmp ult i32 %{loop}_next, %rows"
    yield f"br i1 %{loop}_more, label %{loop}, label %{w}_end"
