"""Check of the inputs inside the loop over a batch: it costs no extra pass over the data.

The loop keeps the largest magnitude in q (except of elements that are angles: `sincos` checks those), and the sum of all elements
of other inputs, which is infinite or NaN if one of them is. Magnitudes are compared as integers: the bits of a number without its
sign. If one is too large, the processor's flag for an invalid operation is raised; NumPy reports it, and the caller looks for the
reason. A false alarm, such as a sum of finite numbers that overflows, only costs time.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qddot.compile.lanes import Lanes
    from qddot.graph.program import Program

FAR = 1e6
"""Angles beyond this, in radians, are warned of: their precision is lost to rounding."""

FAR_BITS, INFINITE_BITS = (struct.unpack("<q", struct.pack("<d", x))[0] for x in (FAR, float("inf")))
MAGNITUDE = (1 << 63) - 1

LARGEST = 1000
"""Most elements of one state's argument for which there is a direct entry."""


def limit(name: str, lanes: Lanes) -> int:
    """Return the bits of the magnitude from which on an input raises the flag: infinity, and for q `FAR`."""
    code = "<q" if lanes.bits == 64 else "<i"
    real = "<d" if lanes.bits == 64 else "<f"
    return struct.unpack(code, struct.pack(real, FAR if name == "q" else float("inf")))[0]


def sign_mask(lanes: Lanes) -> int:
    return (1 << (lanes.bits - 1)) - 1


def define(lanes: Lanes) -> Iterable[str]:
    """Define `peak(x, n, place)`, which updates the largest magnitude by one state, and `invalid()`, which raises the flag."""
    I, real = f"i{lanes.bits}", lanes.real
    yield "@zero = internal global double 0.0\n@sink = internal global double 0.0"
    yield "define internal void @invalid() noinline nounwind {"
    yield "%z = load volatile double, ptr @zero\n%r = fdiv double %z, %z\nstore volatile double %r, ptr @sink\nret void\n}"
    yield "define internal void @peak(ptr %x, i64 %n, ptr %place) noinline nounwind {"
    yield f"entry:\n%start = load {I}, ptr %place\nbr label %next\nnext:"
    yield "%k = phi i64 [ 0, %entry ], [ %k1, %next ]"
    yield f"%most = phi {I} [ %start, %entry ], [ %more, %next ]"
    yield f"%p = getelementptr {real}, ptr %x, i64 %k\n%bits = load {I}, ptr %p, align 1"
    yield f"%size = and {I} %bits, {sign_mask(lanes)}\n%larger = icmp ugt {I} %size, %most"
    yield f"%more = select i1 %larger, {I} %size, {I} %most\n%k1 = add i64 %k, 1"
    yield f"%left = icmp slt i64 %k1, %n\nbr i1 %left, label %next, label %end\nend:\nstore {I} %more, ptr %place\nret void\n}}"
    if lanes.width > 1:
        yield f"declare {lanes.integer} @llvm.umax.v{lanes.width}{I}({lanes.integer}, {lanes.integer})"
        yield f"declare {I} @llvm.vector.reduce.umax.v{lanes.width}{I}({lanes.integer})"


def begin(n_in: int, lanes: Lanes) -> Iterable[str]:
    """Yield memory for the peak of each input over single states, and for whole vectors, for the peak of q and the others' sum."""
    for i in range(n_in):
        yield f"%one{i} = alloca i{lanes.bits}\nstore i{lanes.bits} 0, ptr %one{i}"
    if lanes.width > 1:
        yield f"%many = alloca {lanes.integer}, align 64\nstore {lanes.integer} zeroinitializer, ptr %many, align 64"
        yield f"%sum = alloca {lanes.number}, align 64\nstore {lanes.number} zeroinitializer, ptr %sum, align 64"


def look(i: int, x: str, size: int) -> str:
    """Return IR that updates the peak of input i by one state."""
    return f"call void @peak(ptr {x}, i64 {size}, ptr %one{i})"


def note(name: str, vectors: Sequence[str], tag: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR that updates the peak of q, or the sum of the other inputs, by some vectors of an input."""
    V, I = lanes.number, lanes.integer
    if not vectors:
        return
    if name != "q":
        total = vectors[0]
        for k, x in enumerate(vectors[1:]):
            yield f"%nt{tag}_{k} = fadd {V} {total}, {x}"
            total = f"%nt{tag}_{k}"
        yield f"%before{tag} = load {V}, ptr %sum, align 64\n%after{tag} = fadd {V} %before{tag}, {total}"
        yield f"store {V} %after{tag}, ptr %sum, align 64"
        return
    most = f"%most{tag}"
    yield f"{most} = load {I}, ptr %many, align 64"
    for k, x in enumerate(vectors):
        yield f"%nb{tag}_{k} = bitcast {V} {x} to {I}\n%ns{tag}_{k} = and {I} %nb{tag}_{k}, {lanes.whole(sign_mask(lanes))}"
        yield f"%nm{tag}_{k} = call {I} @llvm.umax.v{lanes.width}i{lanes.bits}({I} {most}, {I} %ns{tag}_{k})"
        most = f"%nm{tag}_{k}"
    yield f"store {I} {most}, ptr %many, align 64"


def judge(program: Program, lanes: Lanes, bad: str) -> Iterable[str]:
    """Yield IR for the end of the loop, which raises the flag if an input was too large, or if `bad` is true."""
    I, V = f"i{lanes.bits}", lanes.integer
    for i, x in enumerate(program.inputs):
        yield f"%peak{i} = load {I}, ptr %one{i}\n%far{i} = icmp uge {I} %peak{i}, {limit(x.name, lanes)}"
        yield f"%bad{i} = or i1 {bad}, %far{i}"
        bad = f"%bad{i}"
    if lanes.width > 1:
        yield f"%sum_bits = load {V}, ptr %sum, align 64\n%sum_size = and {V} %sum_bits, {lanes.whole(sign_mask(lanes))}"
        yield f"%many_size = load {V}, ptr %many, align 64"
        for kind, name in (("many", "q"), ("sum", "")):
            yield f"%{kind}_top = call {I} @llvm.vector.reduce.umax.v{lanes.width}{I}({V} %{kind}_size)"
            yield f"%{kind}_far = icmp uge {I} %{kind}_top, {limit(name, lanes)}\n%{kind}_bad = or i1 {bad}, %{kind}_far"
            bad = f"%{kind}_bad"
    yield f"br i1 {bad}, label %raise, label %done\nraise:\ncall void @invalid()\nbr label %done"
