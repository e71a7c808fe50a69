"""IR that writes contiguous rows past the caches in whole aligned vectors, straight from registers.

Rows begin anywhere in a cache line, but only whole lines bypass the caches. So the last W elements of each row stay in registers,
and are combined with the next W to an aligned vector. The end of a row is combined with the beginning of the next row; the end of
the last row is kept for the next round.

The shift of rows against lines is the same in every round, and is compiled in: there is one function for each shift of an array
that begins at a multiple of 16 bytes, as NumPy's arrays do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qddot.compile.lanes import Lanes
from qddot.compile.transpose import exchange, indices

STEP = 16
"""Alignment of arrays, in bytes."""


def shifts(lanes: Lanes) -> range:
    """Return the possible numbers of elements between an aligned vector's address and the beginning of an array."""
    return range(0, lanes.width, STEP * 8 // lanes.bits)


def name(size: int, shift: int, lanes: Lanes) -> str:
    return f"@lines_{size % lanes.width}_{shift}"


def define_lines(size: int, shift: int, lanes: Lanes) -> Iterable[str]:
    """Define `lines(slots, table, groups, to, wait, first, step)`, which writes W rows from the vectors that a table names, in
    groups of W columns and the rest.

    Before the first row of the `first` round there is nothing to combine. The code depends on `size`, the number of columns, only
    by its rest after whole groups.
    """
    W, V, item = lanes.width, lanes.number, lanes.bits // 8
    vector, rest = W * item, size % W
    ahead = [-(shift + r * size) % W for r in range(W)]  # elements of each row before its first whole vector
    yield f"define internal void {name(size, shift, lanes)}(ptr noalias %slots, ptr noalias %table, i64 %groups, ptr noalias %to,"
    yield "ptr noalias %wait, i1 %first, i64 %step) noinline nounwind {"
    yield f"entry:\n%begun = alloca i8, i64 {W * vector}, align {vector}"
    for r in range(W):
        yield f"%o{r} = mul i64 %step, {r}\n%p{r} = getelementptr i8, ptr %to, i64 %o{r}"
        yield f"%row{r} = getelementptr i8, ptr %p{r}, i64 {(ahead[r] - W) * item}"  # the aligned vector in which the row begins
    heads = yield from columns("h", "%table", lanes)
    for r, head in enumerate(heads):
        yield f"%begun{r} = getelementptr {V}, ptr %begun, i64 {r}\nstore {V} {head}, ptr %begun{r}, align {vector}"
    yield "br label %whole\nwhole:\n%k = phi i64 [ 1, %entry ], [ %k1, %group ]"
    for r, head in enumerate(heads):
        yield f"%last{r} = phi {V} [ {head}, %entry ], [ %now{r}, %group ]"
    yield "%some = icmp slt i64 %k, %groups\nbr i1 %some, label %group, label %rests"
    yield f"group:\n%at = mul i64 %k, {4 * (W + 1)}\n%here = getelementptr i8, ptr %table, i64 %at"
    found = yield from columns("g", "%here", lanes)
    for r in range(W):
        yield f"%now{r} = bitcast {V} {found[r]} to {V}"
        yield f"%line{r} = shufflevector {V} %last{r}, {V} {found[r]}, {indices(range(ahead[r], ahead[r] + W))}"
    yield f"%column = mul i64 %k, {vector}"
    for r in range(W):
        yield f"%to{r} = getelementptr i8, ptr %row{r}, i64 %column"
    yield from store([f"%line{r}" for r in range(W)], [f"%to{r}" for r in range(W)], lanes)
    yield "%k1 = add i64 %k, 1\nbr label %whole"
    # the last W elements of each row: with those left in registers they may complete one more vector
    yield "rests:"
    ends = [f"%last{r}" for r in range(W)]
    if rest:
        yield f"%rest_at = mul i64 %groups, {4 * (W + 1)}\n%rest = getelementptr i8, ptr %table, i64 %rest_at"
        ends = yield from columns("e", "%rest", lanes)
    yield f"%end = mul i64 %groups, {vector}"
    vectors, places = [], []
    for r in range(W):
        if ahead[r] <= rest:
            order = [*range(ahead[r], W), *range(2 * W - rest, 2 * W - rest + ahead[r])]
            yield f"%more{r} = shufflevector {V} %last{r}, {V} {ends[r]}, {indices(order)}"
            yield f"%more_at{r} = getelementptr i8, ptr %row{r}, i64 %end"
            vectors.append(f"%more{r}")
            places.append(f"%more_at{r}")
    # the vectors in which one row ends and the next begins
    for r in range(1, W):
        if ahead[r]:
            yield f"%head{r} = load {V}, ptr %begun{r}, align {vector}"
            yield f"%edge{r} = shufflevector {V} {ends[r - 1]}, {V} %head{r}, {indices(range(ahead[r], ahead[r] + W))}"
            vectors.append(f"%edge{r}")
            places.append(f"%row{r}")
    yield from store(vectors, places, lanes)
    if ahead[0]:
        yield "br i1 %first, label %part, label %joint"
        yield f"joint:\n%before = load {V}, ptr %wait, align {vector}\n%head0 = load {V}, ptr %begun0, align {vector}"
        yield f"%edge0 = shufflevector {V} %before, {V} %head0, {indices(range(ahead[0], ahead[0] + W))}"
        yield from store(["%edge0"], ["%row0"], lanes)
        yield "br label %kept"
        yield f"part:\n%alone = load {V}, ptr %begun0, align {vector}"
        yield from store_part("%alone", "%to", range(ahead[0]), lanes)
        yield f"br label %kept\nkept:\nstore {V} {ends[W - 1]}, ptr %wait, align {vector}"
    yield "ret void\n}"


def define_finish(shift: int, lanes: Lanes) -> Iterable[str]:
    """Define `finish(wait, to)`, which writes the end of the very last row, up to the address `to`."""
    V, item = lanes.number, lanes.bits // 8
    vector = lanes.width * item
    yield f"define internal void @finish_{shift}(ptr noalias %wait, ptr noalias %to) noinline nounwind {{"
    yield f"%x = load {V}, ptr %wait, align {vector}\n%at = getelementptr i8, ptr %to, i64 {-vector}"
    yield from store_part("%x", "%at", range(lanes.width - shift, lanes.width), lanes)
    yield "ret void\n}"


def columns(tag: str, table: str, lanes: Lanes):
    """Yield IR that loads and transposes the vectors that an entry of the table names; return the names of the W rows."""
    W, V, item, lines = lanes.width, lanes.number, lanes.bits // 8, []
    for r in range(W):
        yield f"%{tag}p{r} = getelementptr i32, ptr {table}, i64 {r + 1}\n%{tag}n{r} = load i32, ptr %{tag}p{r}"
        yield f"%{tag}m{r} = zext i32 %{tag}n{r} to i64\n%{tag}v{r} = getelementptr i8, ptr %slots, i64 %{tag}m{r}"
        yield f"%{tag}x{r} = load {V}, ptr %{tag}v{r}, align {W * item}"
    rows = exchange([f"%{tag}x{r}" for r in range(W)], lanes, f"%{tag}t", lines)
    yield from lines
    return rows


def store(vectors: Sequence[str], places: Sequence[str], lanes: Lanes) -> Iterable[str]:
    """Yield stores of whole vectors that bypass the caches."""
    for x, place in zip(vectors, places):
        yield f"store {lanes.number} {x}, ptr {place}, align {lanes.width * lanes.bits // 8}, !nontemporal !1"


def store_part(x: str, place: str, which: range, lanes: Lanes) -> Iterable[str]:
    """Yield a store of some elements of a vector; memory before and after them is left as it is."""
    mask = ", ".join(f"i1 {'true' if k in which else 'false'}" for k in range(lanes.width))
    where = f"ptr align {lanes.bits // 8} {place}, <{lanes.width} x i1> <{mask}>"
    yield f"call void @llvm.masked.store.{lanes.suffix}.p0({lanes.number} {x}, {where})"
