"""IR for sine and cosine of all angles of a kernel at once, with the same bits for one state and a batch.

An angle is reduced by multiples of pi/2 in three parts, each subtraction a fused multiply-add (without one: in parts so short that
their products are exact, with the roundings of the subtractions carried along). Then two polynomials on [-pi/4, pi/4] are evaluated
and swapped or negated by quadrant. One loop takes all angles, so that its constants stay in registers; for a single state each
vector holds as many angles as fit. Angles beyond `LIMIT`, which are rare, are computed by the C library in a second pass, which
also raises the flag for an invalid operation, so that the caller checks them.
Largest error against the exact values: 1.6 units in the last place of the result, 0.2 in the median, any finite argument
(tests/compile/test_sincos.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from qddot.compile.lanes import Lanes
from qddot.graph.expr import Expr
from qddot.graph.program import Program

TRIG = frozenset(("sin", "cos"))

REACH = {"double": 1 << 19, "float": 1 << 13}
"""Largest number of quarter turns that the reduction can subtract."""

LIMIT = {real: turns * math.pi / 2 for real, turns in REACH.items()}
"""Largest angle that is reduced here, in radians."""

ROUND = {"double": 1.5 * 2.0**52, "float": 1.5 * 2.0**23}
"""A number so large that adding it rounds to a whole number, which is then in the last bits of the sum."""

ROUND_BITS = {"double": 0x4338 << 48, "float": 0x4B40 << 16}

PARTS = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    "float": (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512449109825e-15),
}
"""pi/2 as a sum of three numbers, for fused multiply-add."""

HALF_PI = 0x1921FB54442D18469898CC51701B839A252049C1114CF98E
"""pi/2 in units of 2^-188."""

EXACT = {"double": (33, 33, 33, 53), "float": (11, 11, 11, 11, 11, 24)}
"""Bits of each part of pi/2 without fused multiply-add: all products with up to REACH quarter turns but the last are exact."""

SINE = {
    "double": (
        1.58962301576546568060e-10,
        -2.50507477628578072866e-08,
        2.75573136213857245213e-06,
        -1.98412698295895385996e-04,
        8.33333333332211858878e-03,
        -1.66666666666666307295e-01,
    ),
    "float": (2.718121985e-06, -1.983931783e-04, 8.333330043e-03, -1.666666716e-01),
}
COSINE = {
    "double": (
        -1.13585365213876817300e-11,
        2.08757008419747316778e-09,
        -2.75573141792967388112e-07,
        2.48015872888517045348e-05,
        -1.38888888888730564116e-03,
        4.16666666666665929218e-02,
    ),
    "float": (2.439044928e-05, -1.388676377e-03, 4.166664556e-02),
}


class Rooms(NamedTuple):
    """Layout in memory of `count` angles of a kernel over `lanes`, and of their sines and cosines."""

    count: int
    lanes: Lanes

    @property
    def vectors(self) -> int:
        """Number of vectors in the loop: one for each angle of W states; for one state, a vector holds as many angles as fit."""
        return self.count if self.lanes.width > 1 else -(-self.count // self.lanes.native)

    @property
    def bytes(self) -> int:
        """Size of the angles; their sines and cosines take twice as many."""
        return self.vectors * self.lanes.shared.width * self.lanes.bits // 8

    def place(self, angle: int, function: str) -> int:
        """Return the index of a `sin` or `cos` among the results, counted in numbers of `lanes`."""
        if self.lanes.width > 1:
            return 2 * angle + (function == "cos")
        vector, lane = divmod(angle, self.lanes.native)
        return (2 * vector + (function == "cos")) * self.lanes.native + lane


def define(lanes: Lanes) -> Iterable[str]:
    """Define `sincos(angles, results, n)`, which writes for each of n vectors of angles a vector of sines and one of cosines."""
    V, T, I, W, name = lanes.number, lanes.truth, lanes.integer, lanes.width, lanes.function("sincos")
    yield from define_far(lanes)
    yield f"define void {name}(ptr noalias %in, ptr noalias %out, i64 %n) noinline nounwind {{\nentry:"
    yield "br label %next\nnext:\n%k = phi i64 [ 0, %entry ], [ %k1, %next ]"
    yield f"%far = phi {I} [ {'zeroinitializer' if W > 1 else '0'}, %entry ], [ %further, %next ]"
    yield f"%xp = getelementptr {V}, ptr %in, i64 %k\n%x = load {V}, ptr %xp, align {lanes.bits // 8}"
    yield from turns(lanes)
    yield from near_zero(lanes)
    yield f"%k2 = shl i64 %k, 1\n%sp = getelementptr {V}, ptr %out, i64 %k2\n%cp = getelementptr {V}, ptr %sp, i64 1"
    yield f"store {V} %sine, ptr %sp, align {lanes.bits // 8}\nstore {V} %cosine, ptr %cp, align {lanes.bits // 8}"
    yield f"%further = or {I} %far, %beyond"
    yield "%k1 = add i64 %k, 1\n%more = icmp slt i64 %k1, %n\nbr i1 %more, label %next, label %end\nend:"
    yield f"%lost = icmp ugt {I} %further, {lanes.whole(2 * REACH[lanes.real] - 1)}"
    if W > 1:
        yield f"%any = call i1 @llvm.vector.reduce.or.v{W}i1({T} %lost)"
    yield f"br i1 {'%any' if W > 1 else '%lost'}, label %rare, label %done, !prof !0"
    yield f"rare:\ncall void {name}.far(ptr %in, ptr %out, i64 %n)"
    yield f"call void {lanes.function('invalid')}()\nbr label %done"
    yield "done:\nret void\n}"


def turns(lanes: Lanes) -> Iterable[str]:
    """Yield IR for %turns, whose last bits are REACH plus the number of quarter turns nearest to %x, and for %beyond, in which only
    these bits are set unless |x| is beyond `LIMIT`."""
    V, I, real = lanes.number, lanes.integer, lanes.real
    yield from fused(lanes, "%turns", "%x", lanes.literal(2 / math.pi), lanes.literal(ROUND[real] + REACH[real]))
    yield f"%q = bitcast {V} %turns to {I}\n%beyond = xor {I} %q, {lanes.whole(ROUND_BITS[real])}"


def near_zero(lanes: Lanes) -> Iterable[str]:
    """Yield IR for %sine and %cosine of %x, from %turns."""
    V, I, real = lanes.number, lanes.integer, lanes.real
    yield f"%whole_turns = fsub {V} %turns, {lanes.literal(ROUND[real] + REACH[real])}"
    yield f"%minus = fneg {V} %whole_turns"
    yield from reduced(lanes) if lanes.fma else reduced_exactly(lanes)
    yield f"%z = fmul {V} %rest, %rest"
    yield from horner(lanes, "ps", SINE[real])
    yield from horner(lanes, "pc", (*COSINE[real], -0.5, 1.0))
    yield f"%cube = fmul {V} %z, %rest"
    yield from fused(lanes, "%s", "%cube", "%ps", "%rest")
    # the quadrant: odd ones swap, bit 1 of n negates the sine, bit 1 of n + 1 the cosine
    yield f"%low = and {I} %q, {lanes.whole(1)}"
    yield f"%odd = icmp ne {I} %low, {lanes.whole(0)}"
    yield f"%s0 = select {lanes.truth} %odd, {V} %pc, {V} %s"
    yield f"%c0 = select {lanes.truth} %odd, {V} %s, {V} %pc"
    yield f"%after = add {I} %q, {lanes.whole(1)}"
    for value, count, out in (("s0", "q", "sine"), ("c0", "after", "cosine")):
        yield f"%{out}_up = shl {I} %{count}, {lanes.whole(lanes.bits - 2)}"
        yield f"%{out}_sign = and {I} %{out}_up, {lanes.whole(-(1 << (lanes.bits - 1)))}"
        yield f"%{out}_bits = bitcast {V} %{value} to {I}"
        yield f"%{out}_done = xor {I} %{out}_bits, %{out}_sign"
        yield f"%{out} = bitcast {I} %{out}_done to {V}"


def reduced(lanes: Lanes) -> Iterable[str]:
    """Yield IR for %rest, %x less the quarter turns, with one rounding for each part of pi/2."""
    rest, parts = "%x", PARTS[lanes.real]
    for k, part in enumerate(parts):
        after = "%rest" if k == len(parts) - 1 else f"%rest{k}"
        yield f"{after} = {lanes.call('fma', '%minus', lanes.literal(part), rest)}"
        rest = after


def reduced_exactly(lanes: Lanes) -> Iterable[str]:
    """Yield IR for %rest without fused multiply-add: the error of every difference (Knuth's two-sum) is added at the end."""
    V, rest, lost = lanes.number, "%x", lanes.literal(0.0)
    for k, part in enumerate(exact_parts(lanes.real)):
        yield f"%part{k} = fmul {V} %minus, {lanes.literal(part)}\n%sum{k} = fadd {V} {rest}, %part{k}"
        yield f"%b{k} = fsub {V} %sum{k}, {rest}\n%a{k} = fsub {V} %sum{k}, %b{k}"
        yield f"%off{k} = fsub {V} {rest}, %a{k}\n%cut{k} = fsub {V} %part{k}, %b{k}"
        yield f"%error{k} = fadd {V} %off{k}, %cut{k}\n%lost{k} = fadd {V} {lost}, %error{k}"
        rest, lost = f"%sum{k}", f"%lost{k}"
    yield f"%rest = fadd {V} {rest}, {lost}"


def exact_parts(real: str) -> Iterable[float]:
    """Yield numbers of a few bits each, whose sum is pi/2."""
    left, at = HALF_PI, 189
    for bits in EXACT[real]:
        at -= bits
        part = left >> at
        left -= part << at
        yield math.ldexp(part, at - 188)


def fused(lanes: Lanes, out: str, a: str, b: str, c: str) -> Iterable[str]:
    """Yield IR for out = a b + c, with one rounding if the computer has a fused multiply-add."""
    if lanes.fma:
        yield f"{out} = {lanes.call('fma', a, b, c)}"
    else:
        yield f"{out}_product = fmul {lanes.number} {a}, {b}\n{out} = fadd {lanes.number} {out}_product, {c}"


def horner(lanes: Lanes, out: str, coefficients: Sequence[float]) -> Iterable[str]:
    """Yield IR for a polynomial in %z."""
    value = lanes.literal(coefficients[0])
    for k, c in enumerate(coefficients[1:]):
        last = k == len(coefficients) - 2
        yield from fused(lanes, f"%{out}{'' if last else k}", value, "%z", lanes.literal(c))
        value = f"%{out}{k}"


def define_far(lanes: Lanes) -> Iterable[str]:
    """Define the second pass: sines and cosines of angles beyond the limit, by the C library, one number after the other."""
    real, W, end, name = lanes.real, lanes.width, "f" if lanes.real == "float" else "", lanes.function("sincos")
    yield f"define internal void {name}.far(ptr noalias %in, ptr noalias %out, i64 %n) noinline nounwind {{\nentry:"
    yield f"%count = mul i64 %n, {W}\nbr label %next\nnext:\n%k = phi i64 [ 0, %entry ], [ %k1, %end ]"
    yield f"%xp = getelementptr {real}, ptr %in, i64 %k\n%x = load {real}, ptr %xp"
    yield from turns(lanes.scalar)
    yield f"%near = icmp ult i{lanes.bits} %beyond, {2 * REACH[real]}\nbr i1 %near, label %end, label %far\nfar:"
    yield f"%vector = udiv i64 %k, {W}\n%skip = mul i64 %vector, {W}"
    yield f"%place = add i64 %k, %skip\n%sp = getelementptr {real}, ptr %out, i64 %place"
    yield f"%cp = getelementptr {real}, ptr %sp, i64 {W}"
    yield f"%s = call {real} @sin{end}({real} %x)\n%c = call {real} @cos{end}({real} %x)"
    yield f"store {real} %s, ptr %sp\nstore {real} %c, ptr %cp\nbr label %end"
    yield "end:\n%k1 = add i64 %k, 1\n%more = icmp slt i64 %k1, %count\nbr i1 %more, label %next, label %done\ndone:\nret void\n}"


def late_angles(program: Program) -> set[Expr]:
    """Return the angles that depend on the sine or cosine of others."""
    if all(node.args[0].op == "var" for node in program.nodes if node.op in TRIG):  # as usual
        return set()
    turning: set[Expr] = set()
    for node in program.nodes:
        if node.op in TRIG or any(a in turning for a in node.args if a.__class__ is Expr):
            turning.add(node)
    return {node.args[0] for node in program.nodes if node.op in TRIG and node.args[0] in turning}


def side_by_side(angles: Sequence[Expr]) -> bool:
    """Return True if the angles are consecutive elements of one input."""
    first = angles[0]
    return first.op == "var" and all(x.op == "var" and x.args == (first.args[0], first.args[1] + k) for k, x in enumerate(angles))
