"""LLVM IR that checks the inputs inside the loop over a batch, so that the data need not be read once more.

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

FAR = 1e6
"""Magnitude of an angle, in radians, from which on there is a warning, since rounding has taken much of its precision."""

FAR_BITS, INFINITE_BITS = (struct.unpack("<q", struct.pack("<d", x))[0] for x in (FAR, float("inf")))
MAGNITUDE = (1 << 63) - 1
"""Mask of all bits of a float64 but its sign."""

LARGEST = 1000
"""Largest number of elements of an input, for one state, and of margins, for which there is a direct entry."""


def limit(name: str, lanes: Lanes) -> int:
    """Return the magnitude from which on an input raises the flag, as bits: `FAR` for q, infinity for others."""
    code = "<q" if lanes.bits == 64 else "<i"
    real = "<d" if lanes.bits == 64 else "<f"
    return struct.unpack(code, struct.pack(real, FAR if name == "q" else float("inf")))[0]


def sign_mask(lanes: Lanes) -> int:
    """Return the mask of all bits of a number but its sign."""
    return (1 << (lanes.bits - 1)) - 1


def define(lanes: Lanes) -> Iterable[str]:
    """Define `peak(x, n, place)`, which updates the largest magnitude by one state, and `invalid()`, which raises the flag."""
    I, real = f"i{lanes.bits}", lanes.real
    yield "@zero = internal global double 0.0\n@sink = internal global double 0.0"
    yield f"define void {lanes.function('invalid')}() noinline nounwind {{"
    yield "%z = load volatile double, ptr @zero\n%r = fdiv double %z, %z\nstore volatile double %r, ptr @sink\nret void\n}"
    yield "define internal void @peak(ptr %x, i64 %n, ptr %place) noinline nounwind {"
    yield f"entry:\n%start = load {I}, ptr %place\nbr label %next\nnext:"
    yield "%k = phi i64 [ 0, %entry ], [ %k1, %next ]"
    yield f"%most = phi {I} [ %start, %entry ], [ %more, %next ]"
    yield f"%p = getelementptr {real}, ptr %x, i64 %k\n%bits = load {I}, ptr %p, align 1"
    yield f"%size = and {I} %bits, {sign_mask(lanes)}\n%larger = icmp ugt {I} %size, %most"
    yield f"%more = select i1 %larger, {I} %size, {I} %most\n%k1 = add i64 %k, 1"
    yield f"%left = icmp slt i64 %k1, %n\nbr i1 %left, label %next, label %end\nend:\nstore {I} %more, ptr %place\nret void\n}}"


def begin(lanes: Lanes) -> Iterable[str]:
    """Yield IR that allocates %many, the largest magnitudes in q, and %sum, the sum of all other inputs, for W states each."""
    yield f"%many = alloca {lanes.integer}, align 64\nstore {lanes.integer} zeroinitializer, ptr %many, align 64"
    yield f"%sum = alloca {lanes.number}, align 64\nstore {lanes.number} zeroinitializer, ptr %sum, align 64"


def declarations(lanes: Lanes) -> Iterable[str]:
    """Yield declarations of the functions that a loop over vectors calls."""
    I = f"i{lanes.bits}"
    yield f"declare {lanes.integer} @llvm.umax.v{lanes.width}{I}({lanes.integer}, {lanes.integer})"
    yield f"declare {I} @llvm.vector.reduce.umax.v{lanes.width}{I}({lanes.integer})"


def note(name: str, vectors: Sequence[str], tag: str, lanes: Lanes) -> Iterable[str]:
    """Yield IR that updates the largest magnitudes in q, or the sum of the other inputs, with vectors of the input of this name."""
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


def judge(lanes: Lanes, bad: str) -> Iterable[str]:
    """Yield IR for the end of the loop, which raises the flag if an input is too large or the condition `bad` is true."""
    I, V = f"i{lanes.bits}", lanes.integer
    yield f"%sum_bits = load {V}, ptr %sum, align 64\n%sum_size = and {V} %sum_bits, {lanes.whole(sign_mask(lanes))}"
    yield f"%many_size = load {V}, ptr %many, align 64"
    for kind, name in (("many", "q"), ("sum", "")):
        yield f"%{kind}_top = call {I} @llvm.vector.reduce.umax.v{lanes.width}{I}({V} %{kind}_size)"
        yield f"%{kind}_far = icmp uge {I} %{kind}_top, {limit(name, lanes)}\n%{kind}_bad = or i1 {bad}, %{kind}_far"
        bad = f"%{kind}_bad"
    yield f"br i1 {bad}, label %raise, label %done\nraise:\ncall void {lanes.function('invalid')}()\nbr label %done"
