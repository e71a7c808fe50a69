"""IR for very long programs: a table of instructions, and one short loop that interprets them.

For half a million operations LLVM takes ten seconds to make code. A table needs no such time, and code so long would not stay in
the caches either: its instructions are longer than the table's rows of 8 bytes.

A row is `to, a, b, c`: indices in one array of values that begins with the inputs, sines and cosines, and constants, followed by
computed values; an index is used again when its value is no longer needed. Sums, differences and products are all `a b + c`, so
that the loop has no branch for them: `x + y = x 1 + y` and `x y = x y + -0` have the bits of the operations themselves. Rows of
other kinds, which are few, are in runs of their own. So a table computes the bits of code.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

import numpy as np

from qddot.compile.kernel_ir import Emitter, slots
from qddot.compile.lanes import Lanes
from qddot.compile.memory import leave_rooms, rooms
from qddot.compile.operation_ir import choice, lane_by_lane, sign_of
from qddot.graph.expr import Expr
from qddot.graph.program import Program
from qddot.model.scalar import Scalar

SUM = "a b + c"
KINDS = (SUM, "/", "sqrt", "sign", "select", "atan2", "sin", "cos")
OTHER_SIGN = 1 << 31
"""The bit of `a` or `c` in a sum that negates the value; in 16-bit rows too it is the highest one."""


class Table(NamedTuple):
    """The table that the loop reads. A place is an index in the array of values."""

    rows: np.ndarray  # (n, 4) of `to, a, b, c`; 16 bits each if that is enough for the places, else 32
    runs: array  # see `Rows.runs`
    constants: tuple[float, ...]  # the numbers whose places begin at `constants_at`
    constants_at: int
    leaving: array  # the place of each result, in the order in which they are written
    size: int  # number of places


class Rows:
    """Instructions before places are assigned: operands are the numbers of nodes, or of constants, which count down from -1.

    Attributes:
        to, a, b, c: one element for each row.
        a_sign, c_sign: `OTHER_SIGN` or 0, for each row.
        kinds: the kind of each row, of `KINDS`.
    """

    def __init__(self, emit: Emitter) -> None:
        self.to, self.a, self.b, self.c = (array("i") for _ in range(4))
        self.a_sign, self.c_sign, self.kinds = array("I"), array("I"), []
        self.constants: dict[float | str, int] = {}
        fused = emit.fused
        for node in emit.kept:
            op, args = node.op, node.args
            if op == "*":
                self.add(SUM, node, (*args, -0.0))
            elif op == "neg":
                self.add(SUM, node, (args[0], -1.0, -0.0))
            elif op in ("+", "-"):
                (left, right), sign = args, OTHER_SIGN if op == "-" else 0
                if left in fused:
                    self.add(SUM, node, (*left.args, right), c_sign=sign)
                elif right in fused:
                    self.add(SUM, node, (*right.args, left), a_sign=sign)
                elif op == "+":
                    self.add(SUM, node, (left, 1.0, right))
                else:
                    self.add(SUM, node, (right, -1.0, left))
            elif op in KINDS:
                self.add(op, node, (*args, 1.0, 1.0)[:3])
            else:
                raise ValueError(f"no row of a table for {op!r}")

    def add(self, kind: str, node: Expr, operands: tuple, a_sign: int = 0, c_sign: int = 0) -> None:
        """Append a row."""
        self.kinds.append(kind)
        self.to.append(node.number)
        for column, x in zip((self.a, self.b, self.c), operands):
            column.append(self.number_of(x))
        self.a_sign.append(a_sign)
        self.c_sign.append(c_sign)

    def number_of(self, x: Scalar) -> int:
        """Return the number of an operand: a node or a constant."""
        if x.__class__ is Expr:
            return x.number
        key = x if x else str(float(x))  # 0.0 and -0.0 are equal as keys, but not as constants
        return self.constants.setdefault(key, ~len(self.constants))

    def runs(self) -> array:
        """Return, for each run of rows of one kind, the index of the kind in `KINDS`, and the number of rows."""
        return array("I", [x for kind, members in groupby(self.kinds) for x in (KINDS.index(kind), len([*members]))])


def tabled(emit: Emitter) -> Table:
    """Return the table of a program: every value has a place, which is free again after the value is read for the last time."""
    rows = Rows(emit)
    results = [rows.number_of(x) for x in leaving(emit)]
    constants_at = sum(x.size for x in emit.program.inputs) + emit.trig_numbers
    size = constants_at + len(rows.constants)
    last = max((node.number for node in emit.program.nodes), default=0) + 1  # negative numbers index both arrays from their ends
    place, until = (array("i", bytes(4 * (last + len(rows.constants)))) for _ in range(2))
    for k, operands in enumerate(zip(rows.a, rows.b, rows.c)):
        for x in operands:
            until[x] = k
    for x, at in (*leaves(emit).items(), *((~k, constants_at + k) for k in range(len(rows.constants)))):
        place[x], until[x] = at, len(rows.to)
    for x in results:
        until[x] = len(rows.to)
    free, found = [], array("I")
    for k, (to, a, b, c, a_sign, c_sign) in enumerate(zip(rows.to, rows.a, rows.b, rows.c, rows.a_sign, rows.c_sign)):
        at_a, at_b, at_c = place[a], place[b], place[c]
        free += [place[x] for x in {a, b, c} if until[x] == k]
        if not free:
            free.append(size)
            size += 1
        place[to] = free.pop()
        found.extend((place[to], at_a | a_sign, at_b, at_c | c_sign))
    left = array("I", [place[x] for x in results])
    return Table(
        short(np.array(found).reshape(-1, 4), size), rows.runs(), tuple(map(float, rows.constants)), constants_at, left, size
    )


def short(rows: np.ndarray, size: int) -> np.ndarray:
    """Return the rows in 16 bits, if that is enough for the places."""
    return rows if size > 1 << 15 else ((rows & (OTHER_SIGN - 1)) | ((rows & OTHER_SIGN) >> 16)).astype(np.uint16)


def leaving(emit: Emitter) -> list[Scalar]:
    """Return the results in the order in which they are written: for one state all, for many states each distinct one."""
    if emit.lanes.width > 1:
        return [*slots(emit.program)]
    return [x for output in emit.program.outputs for x in output.values]


def leaves(emit: Emitter) -> dict[int, int]:
    """Return the places of inputs, and of the sines and cosines after them, by the numbers of their nodes."""
    first, found, at = [], {}, 0
    for x in emit.program.inputs:
        first.append(at)
        at += x.size
    for node in emit.program.nodes:
        if node.op == "var":
            found[node.number] = first[node.args[0]] + node.args[1]
        elif emit.is_leaf(node):
            found[node.number] = at + emit.trig.place(emit.angles[node.args[0]], node.op)
    return found


def define_table_kernel(program: Program, lanes: Lanes) -> Iterable[str]:
    """Define the function that `kernel_ir.define_kernel` defines, by a table."""
    emit, single, V, item = Emitter(program, lanes), lanes.width == 1, lanes.number, lanes.bits // 8
    table, vector = tabled(emit), lanes.width * item
    yield constant("rows", table.rows.tobytes())
    yield constant("runs", table.runs.tobytes())
    yield constant("leaving", table.leaving.tobytes())
    yield constant("constants", struct.pack(f"={len(table.constants)}{'d' if item == 8 else 'f'}", *table.constants))
    inputs = [f"%in{i}" for i in range(len(program.inputs))]
    outputs = [f"%out{i}" for i in range(len(program.outputs))] if single else ["%results"]
    names = [*inputs, *outputs] if single else [*inputs, *outputs, "%trig", "%rows"]
    given = ", ".join(f"ptr noalias {'readonly ' if name in inputs else ''}{name}" for name in names)
    sizes = {"values": table.size * vector, **(emit.trig_sizes() if single else {})}
    yield f"define void {lanes.kernel}({given}) noinline nounwind {{"
    yield from rooms(sizes)
    yield from emit.late_rooms()
    at = 0
    for name, x in zip(inputs, program.inputs):
        yield from copied(name, at, x.size, vector)
        at += x.size
    if single:
        yield from emit.angles_first()
    if emit.angles:
        yield from copied("%trig", at, emit.trig_numbers, vector)
    yield from fill(table, lanes)
    yield from walk(table, emit)
    at = 0
    for name, count in zip(outputs, [x.size for x in program.outputs] if single else [len(table.leaving)]):
        yield f"br label %{name[1:]}_entry\n{name[1:]}_entry:\nbr label %{name[1:]}_next\n{name[1:]}_next:"
        yield f"{name}_k = phi i64 [ 0, %{name[1:]}_entry ], [ {name}_k1, %{name[1:]}_next ]"
        yield f"{name}_from = getelementptr [{len(table.leaving)} x i32], ptr @leaving, i64 0, i64 {at}"
        yield f"{name}_ip = getelementptr i32, ptr {name}_from, i64 {name}_k\n{name}_i = load i32, ptr {name}_ip"
        yield from load(f"{name}_x", f"{name}_i", "i32", lanes)
        yield f"{name}_to = getelementptr {V}, ptr {name}, i64 {name}_k\nstore {V} {name}_x, ptr {name}_to, align {item}"
        yield f"{name}_k1 = add i64 {name}_k, 1\n{name}_more = icmp ult i64 {name}_k1, {count}"
        yield f"br i1 {name}_more, label %{name[1:]}_next, label %{name[1:]}_done\n{name[1:]}_done:"
        at += count
    yield from leave_rooms(sizes)
    yield "ret void\n}"


def constant(name: str, data: bytes) -> str:
    """Return the definition of a constant array of bytes."""
    return "".join((f'@{name} = internal constant [{len(data)} x i8] c"', "\\" if data else "", data.hex("\\"), '", align 16'))


def copied(source: str, at: int, count: int, vector: int) -> Iterable[str]:
    """Yield IR that copies numbers to the places from `at` on."""
    yield f"{source}_place = getelementptr i8, ptr %values, i64 {at * vector}"
    yield f"call void @llvm.memcpy.p0.p0.i64(ptr {source}_place, ptr {source}, i64 {count * vector}, i1 false)"


def fill(table: Table, lanes: Lanes) -> Iterable[str]:
    """Yield a loop that writes the constants to their places, each in every lane."""
    V, item = lanes.number, lanes.bits // 8
    yield "br label %fill_entry\nfill_entry:\nbr label %fill\nfill:"
    yield "%f = phi i64 [ 0, %fill_entry ], [ %f1, %fill ]"
    yield f"%fp = getelementptr {lanes.real}, ptr @constants, i64 %f\n%f_one = load {lanes.real}, ptr %fp, align {item}"
    yield from splat("%fx", "%f_one", lanes.real, lanes)
    yield f"%f_at = add i64 %f, {table.constants_at}\n%f_to = getelementptr {V}, ptr %values, i64 %f_at"
    yield f"store {V} %fx, ptr %f_to, align {item}\n%f1 = add i64 %f, 1"
    yield f"%f_more = icmp ult i64 %f1, {len(table.constants)}\nbr i1 %f_more, label %fill, label %filled\nfilled:"


def walk(table: Table, emit: Emitter) -> Iterable[str]:
    """Yield the loops that interpret the rows, run by run."""
    kinds, lanes, short = sorted(set(table.runs[::2])), emit.lanes, f"i{8 * table.rows.itemsize}"
    yield "br label %run\nrun:\n%r = phi i64 [ 0, %filled ], [ %r1, %run_end ]"
    yield "%first = phi i64 [ 0, %filled ], [ %last, %run_end ]"
    yield "%run_at = getelementptr [2 x i32], ptr @runs, i64 %r\n%kind = load i32, ptr %run_at"
    yield "%count_at = getelementptr i32, ptr %run_at, i64 1\n%count = load i32, ptr %count_at"
    yield "%rows_here = zext i32 %count to i64\n%last = add i64 %first, %rows_here"
    yield f"switch i32 %kind, label %run_end [ {' '.join(f'i32 {k}, label %kind{k}' for k in kinds)} ]"
    for k in kinds:
        x = f"%k{k}"
        yield f"kind{k}:\n{x} = phi i64 [ %first, %run ], [ {x}_next, %kind{k} ]"
        yield f"{x}_row = getelementptr [4 x {short}], ptr @rows, i64 {x}"
        for n, name in enumerate(("to", "a", "b", "c")):
            yield f"{x}_{name}_p = getelementptr {short}, ptr {x}_row, i64 {n}\n{x}_{name} = load {short}, ptr {x}_{name}_p"
        yield from (add_product(x, short, lanes) if KINDS[k] == SUM else other(KINDS[k], x, short, emit))
        yield f"{x}_to_wide = zext {short} {x}_to to i64\n{x}_place = getelementptr {lanes.number}, ptr %values, i64 {x}_to_wide"
        yield f"store {lanes.number} {x}_y, ptr {x}_place, align {lanes.bits // 8}"
        yield f"{x}_next = add i64 {x}, 1\n{x}_more = icmp ult i64 {x}_next, %last\nbr i1 {x}_more, label %kind{k}, label %run_end"
    yield f"run_end:\n%r1 = add i64 %r, 1\n%more_runs = icmp ult i64 %r1, {len(table.runs) // 2}"
    yield "br i1 %more_runs, label %run, label %walked\nwalked:"


def load(name: str, place: str, kind: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR that loads the value at a place, an integer of type `kind`."""
    yield f"{name}_wide = zext {kind} {place} to i64\n{name}_p = getelementptr {lanes.number}, ptr %values, i64 {name}_wide"
    yield f"{name} = load {lanes.number}, ptr {name}_p, align {lanes.bits // 8}"


def splat(name: str, one: str, kind: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR for a vector with one number in every lane."""
    if lanes.width == 1:
        yield f"{name} = select i1 true, {kind} {one}, {kind} {one}"
        return
    several = f"<{lanes.width} x {kind}>"
    yield f"{name}_0 = insertelement {several} poison, {kind} {one}, i64 0"
    yield f"{name} = shufflevector {several} {name}_0, {several} poison, <{lanes.width} x i32> zeroinitializer"


def add_product(x: str, kind: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR for `a b + c`, with `a` and `c` negated by the bits beside their places."""
    V, I, bits, sign = lanes.number, lanes.integer, lanes.bits, int(kind[1:]) - 1
    for name in "ac":
        at = f"{x}_{name}"
        yield f"{at}_at = and {kind} {at}, {(1 << sign) - 1}\n{at}_bit = and {kind} {at}, {-1 << sign}"
        yield f"{at}_bit_wide = zext {kind} {at}_bit to i64\n{at}_mask64 = shl i64 {at}_bit_wide, {bits - 1 - sign}"
        yield f"{at}_mask = {f'trunc i64 {at}_mask64 to i32' if bits == 32 else f'or i64 {at}_mask64, 0'}"
        yield from splat(f"{at}_masks", f"{at}_mask", f"i{bits}", lanes)
        yield from load(f"{at}_x", f"{at}_at", kind, lanes)
        yield f"{at}_bits = bitcast {V} {at}_x to {I}\n{at}_turned = xor {I} {at}_bits, {at}_masks"
        yield f"{at}_y = bitcast {I} {at}_turned to {V}"
    yield from load(f"{x}_b_y", f"{x}_b", kind, lanes)
    if lanes.fma:
        yield f"{x}_y = {lanes.call('fma', f'{x}_a_y', f'{x}_b_y', f'{x}_c_y')}"
    else:
        yield f"{x}_ab = fmul {V} {x}_a_y, {x}_b_y\n{x}_y = fadd {V} {x}_ab, {x}_c_y"


def other(op: str, x: str, kind: str, emit: Emitter) -> Iterable[str]:
    """Yield IR for a row of another kind."""
    lanes, V = emit.lanes, emit.lanes.number
    for name in "abc":
        yield from load(f"{x}_{name}_y", f"{x}_{name}", kind, lanes)
    a, b, c = (f"{x}_{name}_y" for name in "abc")
    if op == "/":
        yield f"{x}_y = fdiv {V} {a}, {b}"
    elif op == "sqrt":
        yield f"{x}_y = {lanes.call('sqrt', a)}"
    elif op == "atan2":
        yield from lane_by_lane("atan2", f"{x}_y", [a, b], lanes)
    elif op == "select":
        yield from choice(f"{x}_y", [a, b, c], lanes)
    elif op == "sign":
        yield from sign_of(f"{x}_y", a, lanes)
    else:
        yield f"store {V} {a}, ptr %late, align {lanes.bits // 8}"
        yield f"call void {lanes.shared.function('sincos')}(ptr %late, ptr %late_trig, i64 1)"
        room = lanes.shared.width * lanes.bits // 8
        yield f"{x}_t = getelementptr i8, ptr %late_trig, i64 {room if op == 'cos' else 0}"
        yield f"{x}_y = load {V}, ptr {x}_t, align {lanes.bits // 8}"
