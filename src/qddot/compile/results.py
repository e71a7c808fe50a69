"""IR that writes the results of W states from vectors to rows of memory.

A kernel for W states stores each distinct value once, as a vector in its slot: half of a symmetric matrix, a single zero. Tables
give the slot of each element, and W elements are written at a time. Rows that follow each other are written in whole cache lines
(`lines`). Rows of mostly zeros are assembled in a buffer, the stage, where zeros stay from one round to the next. Results too large
for the caches bypass them, at more than twice the speed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from qddot.compile import lines
from qddot.compile.kernel_ir import slots
from qddot.compile.lanes import Lanes
from qddot.compile.transpose import write_columns
from qddot.graph.expr import Expr, is_zero
from qddot.graph.program import Output, Program

LARGE = 1 << 23
"""Results with more bytes than this bypass the caches, in which they would not stay."""

SPARSE = 0.8
"""Share of zeros from which on the stage costs less than writing the zeros again and again."""


class Results:
    """The results of W states: `slots` has the place of each distinct value. Margins that are `watched` are not written."""

    def __init__(self, program: Program, lanes: Lanes, watched: bool) -> None:
        self.outputs, self.lanes, self.first = program.shown if watched else program.outputs, lanes, len(program.inputs)
        self.slots = slots(program)

    @property
    def room(self) -> int:
        """Bytes of all slots."""
        return len(self.slots) * self.vector

    @property
    def vector(self) -> int:
        return self.lanes.width * self.lanes.bits // 8

    @cached_property
    def stages(self) -> list[int]:
        """Offsets in bytes at which the stage of each output begins, after one vector, and at which the last one ends."""
        ends = [self.vector]
        for output in self.outputs:
            ends.append(ends[-1] + ((is_sparse(output) * output.size + 1) * self.vector if self.is_tabled(output) else 0))
        return ends

    @property
    def tabled(self) -> list[tuple[int, Output]]:
        """Outputs that are written in whole vectors, with their number."""
        return [(i, x) for i, x in enumerate(self.outputs, self.first) if self.is_tabled(x)]

    @property
    def lined(self) -> list[tuple[int, Output]]:
        """Outputs that are written in whole cache lines when they bypass the caches, with their number."""
        return [(i, x) for i, x in self.tabled if not is_sparse(x)]

    def is_tabled(self, output: Output) -> bool:
        """Return True for an output that is at least one vector wide."""
        return output.size >= self.lanes.width

    def define(self) -> Iterable[str]:
        """Define the tables and functions. For each group of W elements a table has the first column, in bytes of a row, and the
        slots, in bytes of their memory."""
        W, item = self.lanes.width, self.lanes.bits // 8
        for i, output in self.tabled:
            slots = [self.slots[x] * self.vector for x in output.values]
            numbers = [f"i32 {x}" for k in groups_of(output, W) for x in (k * item, *slots[k : k + W])] or ["i32 0"]
            yield f"@table{i} = internal constant [{len(numbers)} x i32] [{', '.join(numbers)}]"
        yield from define_spread(self.lanes)
        yield from define_deliver(self.lanes)
        for rest in {x.size % W for _, x in self.lined}:
            for shift in lines.shifts(self.lanes):
                yield from lines.define_lines(rest, shift, self.lanes)
        for shift in lines.shifts(self.lanes):
            yield from lines.define_finish(shift, self.lanes)

    def begin(self) -> Iterable[str]:
        """Yield IR before the first states: store constants, clear the stages, and decide which results bypass the caches."""
        V, item = self.lanes.number, self.lanes.bits // 8
        for x, slot in self.slots.items():
            if x.__class__ is not Expr:
                yield f"%constant{slot} = getelementptr {V}, ptr %results, i64 {slot}"
                yield f"store {V} {self.lanes.literal(x)}, ptr %constant{slot}, align {self.vector}"
        yield f"call void @llvm.memset.p0.i64(ptr %stages, i8 0, i64 {self.stages[-1]}, i1 false)"
        yield f"%written = mul i64 %whole, {sum(x.size for x in self.outputs) * item}\n%large = icmp ugt i64 %written, {LARGE}"
        for i, output in self.tabled:
            yield f"%stage{i} = getelementptr i8, ptr %stages, i64 {self.stages[i - self.first]}"
            yield f"%wait{i} = getelementptr i8, ptr %stage{i}, i64 {-self.vector}"
            yield f"%packed{i} = icmp eq i64 %step{i}, {output.size * item}\n%stream{i} = and i1 %large, %packed{i}"
            yield f"%base_at{i} = ptrtoint ptr %base{i} to i64\n%over{i} = and i64 %base_at{i}, {self.vector - 1}"

    def tell(self) -> Iterable[str]:
        """Yield IR before each round: store at %rows the addresses of the next states, and of the results that do not bypass the
        caches, for prefetching."""
        for i in range(self.first):
            yield f"%ahead{i} = mul i64 %step{i}, {self.lanes.width}\n%near{i} = getelementptr i8, ptr %row{i}_0, i64 %ahead{i}"
        for i, output in enumerate(self.outputs, self.first):
            around = f"%stream{i}" if self.is_tabled(output) else "false"
            yield f"%near{i} = select i1 {around}, ptr %results, ptr %row{i}_0"
        for i in range(self.first + len(self.outputs)):
            yield f"%near{i}p = getelementptr ptr, ptr %rows, i64 {i}\nstore ptr %near{i}, ptr %near{i}p"

    def leave(self) -> Iterable[str]:
        """Yield IR after each round: write from the slots to the W rows at %row<i>_0 and so on."""
        W, item = self.lanes.width, self.lanes.bits // 8
        yield "%first = icmp eq i64 %k, 0"
        for i, output in self.tabled:
            groups, size = len(groups_of(output, W)), output.size * item
            spread = f"call void @spread(ptr %results, ptr @table{i}, i64 {groups}, ptr"
            if is_sparse(output):
                yield f"{spread} %stage{i}, i64 {size})"
                yield f"call void @deliver(ptr %stage{i}, ptr %row{i}_0, i64 %step{i}, i64 {size}, i1 %stream{i}, i1 %first)"
                continue
            yield f"br i1 %stream{i}, label %lines{i}, label %plain{i}\nlines{i}:"
            yield from self.for_each_shift(i, "lines", f"plain{i}")
            for shift in lines.shifts(self.lanes):
                given = f"ptr %results, ptr @table{i}, i64 {output.size // W}, ptr %row{i}_0, ptr %wait{i}, i1 %first"
                yield f"lines{i}_{shift}:\ncall void {lines.name(output.size, shift, self.lanes)}({given}, i64 {size})"
                yield f"br label %left{i}"
            yield f"plain{i}:\n{spread} %row{i}_0, i64 %step{i})\nbr label %left{i}\nleft{i}:"

    def end(self) -> Iterable[str]:
        """Yield IR after the last round: write the incomplete vectors that are left."""
        for i, output in self.tabled:
            yield f"br i1 %stream{i}, label %finish{i}, label %finished{i}\nfinish{i}:"
            yield f"%end{i} = mul i64 %whole, %step{i}\n%end_at{i} = getelementptr i8, ptr %base{i}, i64 %end{i}"
            if is_sparse(output):
                yield f"call void @finish(ptr %stage{i}, ptr %end_at{i})\nbr label %finished{i}"
            else:
                yield from self.for_each_shift(i, "finish", f"finished{i}")
                for shift in lines.shifts(self.lanes):
                    yield f"finish{i}_{shift}:\ncall void @finish_{shift}(ptr %wait{i}, ptr %end_at{i})\nbr label %finished{i}"
            yield f"finished{i}:"
        yield "fence seq_cst"  # stores that bypass the caches become visible before any later one

    def for_each_shift(self, i: int, label: str, other: str) -> Iterable[str]:
        """Yield a jump to the label for the shift of output i's array, or to `other`."""
        item = self.lanes.bits // 8
        cases = " ".join(f"i64 {shift * item}, label %{label}{i}_{shift}" for shift in lines.shifts(self.lanes))
        yield f"switch i64 %over{i}, label %{other} [ {cases} ]"


def is_sparse(output: Output) -> bool:
    return sum(map(is_zero, output.values)) >= SPARSE * output.size


def groups_of(output: Output, W: int) -> list[int]:
    """Return the first elements of groups of W such that every element, or in a sparse output every nonzero one, is in a group."""
    found, k, sparse = [], 0, is_sparse(output)
    while k < output.size:
        if sparse and is_zero(output.values[k]):
            k += 1
        else:
            found.append(min(k, output.size - W))
            k = found[-1] + W
    return found


def define_spread(lanes: Lanes) -> Iterable[str]:
    """Define `spread(slots, table, groups, to, step)`, which writes the vectors that a table names as W rows."""
    W, V, align = lanes.width, lanes.number, lanes.bits // 8
    yield "define internal void @spread(ptr noalias %slots, ptr noalias %table, i64 %groups, ptr noalias %to, i64 %step)"
    yield "noinline nounwind {\nentry:\n%some = icmp sgt i64 %groups, 0\nbr i1 %some, label %next, label %done"
    yield f"next:\n%k = phi i64 [ 0, %entry ], [ %k1, %next ]\n%at = mul i64 %k, {W + 1}"
    yield "%group = getelementptr i32, ptr %table, i64 %at\n%first = load i32, ptr %group\n%column = zext i32 %first to i64"
    for r in range(W):
        yield f"%np{r} = getelementptr i32, ptr %group, i64 {r + 1}\n%n{r} = load i32, ptr %np{r}\n%m{r} = zext i32 %n{r} to i64"
        yield f"%vp{r} = getelementptr i8, ptr %slots, i64 %m{r}\n%v{r} = load {V}, ptr %vp{r}, align {W * align}"
    yield "%p0 = getelementptr i8, ptr %to, i64 %column"
    for r in range(1, W):
        yield f"%p{r} = getelementptr i8, ptr %p{r - 1}, i64 %step"
    yield from write_columns([f"%v{r}" for r in range(W)], [f"%p{r}" for r in range(W)], lanes, "%t")
    yield "%k1 = add i64 %k, 1\n%more = icmp slt i64 %k1, %groups\nbr i1 %more, label %next, label %done\ndone:\nret void\n}"


def define_deliver(lanes: Lanes) -> Iterable[str]:
    """Define `deliver(stage, to, step, size, stream, first)`, which copies W rows of `size` bytes from the stage to memory.

    With `stream`, whole aligned vectors bypass the caches. If rows do not begin at a vector's address, the last vector is not
    complete: it is kept before the stage for the next round, and `finish(stage, to)` writes it after the last one.
    """
    W, V, item = lanes.width, lanes.number, lanes.bits // 8
    vector = W * item
    yield "define internal void @deliver(ptr noalias %stage, ptr noalias %to, i64 %step, i64 %size, i1 %stream, i1 %first)"
    yield "noinline nounwind {\nentry:\nbr i1 %stream, label %whole, label %row"
    yield "row:\n%r = phi i64 [ 0, %entry ], [ %r1, %row ]"
    yield "%here = mul i64 %r, %size\n%there = mul i64 %r, %step"
    yield "%source = getelementptr i8, ptr %stage, i64 %here\n%target = getelementptr i8, ptr %to, i64 %there"
    yield "call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %size, i1 false)"
    yield f"%r1 = add i64 %r, 1\n%rows = icmp slt i64 %r1, {W}\nbr i1 %rows, label %row, label %done"
    yield f"whole:\n%all = mul i64 %size, {W}\n%address = ptrtoint ptr %to to i64\n%over = and i64 %address, {vector - 1}"
    yield "%begin = sub i64 0, %over\n%end = sub i64 %all, %over\nbr i1 %first, label %partial, label %lines"
    yield "partial:"
    yield from part_of_vector("uge", "%stage", "%to", "%begin", "%over", lanes)
    yield f"%second = add i64 %begin, {vector}\nbr label %lines"
    yield "lines:\n%from = phi i64 [ %begin, %whole ], [ %second, %partial ]\nbr label %line"
    yield "line:\n%k = phi i64 [ %from, %lines ], [ %k1, %line ]"
    yield "%source1 = getelementptr i8, ptr %stage, i64 %k\n%target1 = getelementptr i8, ptr %to, i64 %k"
    yield f"%x = load {V}, ptr %source1, align {item}\nstore {V} %x, ptr %target1, align {vector}, !nontemporal !1"
    yield f"%k1 = add i64 %k, {vector}\n%more = icmp slt i64 %k1, %end\nbr i1 %more, label %line, label %keep"
    yield f"keep:\n%last = sub i64 %all, {vector}\n%last_at = getelementptr i8, ptr %stage, i64 %last"
    yield f"%wait_at = getelementptr i8, ptr %stage, i64 {-vector}\n%y = load {V}, ptr %last_at, align {vector}"
    yield f"store {V} %y, ptr %wait_at, align {vector}\nbr label %done\ndone:\nret void\n}}"
    yield "define internal void @finish(ptr noalias %stage, ptr noalias %to) noinline nounwind {"
    yield f"%address = ptrtoint ptr %to to i64\n%over = and i64 %address, {vector - 1}\n%begin = sub i64 0, %over"
    yield from part_of_vector("ult", "%stage", "%to", "%begin", "%over", lanes)
    yield "ret void\n}"


def part_of_vector(which: str, stage: str, to: str, at: str, over: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR that stores part of the vector at an offset: the elements whose bytes in it compare as `which` with `over`."""
    W, V, item, I = lanes.width, lanes.number, lanes.bits // 8, f"<{lanes.width} x i64>"
    yield f"%one = insertelement {I} poison, i64 {over}, i64 0"
    yield f"%every = shufflevector {I} %one, {I} poison, <{W} x i32> zeroinitializer"
    yield f"%mask = icmp {which} {I} <{', '.join(f'i64 {k * item}' for k in range(W))}>, %every"
    yield f"%part_from = getelementptr i8, ptr {stage}, i64 {at}\n%part_to = getelementptr i8, ptr {to}, i64 {at}"
    yield f"%part = load {V}, ptr %part_from, align {item}"
    yield f"call void @llvm.masked.store.{lanes.suffix}.p0({V} %part, ptr align {item} %part_to, {lanes.truth} %mask)"
