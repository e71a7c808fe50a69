"""Sine and cosine together, for W angles at once: our own, so that one state and a batch give the same bits.

An angle is reduced by multiples of pi/2 in three parts, each subtraction a fused multiply-add, then two polynomials on
[-pi/4, pi/4] are evaluated and swapped or negated by quadrant. Beyond `LIMIT` the C library does the reduction, lane by lane: rare,
and out of the way. Largest error against the exact values: 1.6 units in the last place of the result, 0.2 in the median, any finite
argument (tests/compile/test_sincos.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from qddot.compile.lanes import Lanes

LIMIT = {"double": 1e8, "float": 1e4}
PARTS = {
    "double": (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    "float": (1.57079637050628662109375, -4.37113900018624283e-8, -1.71512449109825e-15),
}
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


def name(lanes: Lanes) -> str:
    return f"@sincos.{lanes.suffix}"


def pair(lanes: Lanes) -> str:
    """The type of its result."""
    return f"{{{lanes.number}, {lanes.number}}}"


def define(lanes: Lanes) -> Iterable[str]:
    """`{sine, cosine} sincos(angle)`."""
    V = lanes.number
    yield f"define internal {pair(lanes)} {name(lanes)}({V} %x) noinline nounwind {{"
    if not lanes.fma:  # the reduction needs it
        yield from from_library(lanes, "%x", "all")
        yield from result(lanes, "%all_sin", "%all_cos")
        return
    yield f"%size = {lanes.call('fabs', '%x')}"
    yield f"%near = fcmp ole {V} %size, {lanes.literal(LIMIT[lanes.real])}"
    yield f"%a = select {lanes.truth} %near, {V} %x, {V} {lanes.literal(0.0)}"
    yield from near_zero(lanes)
    far = "%far_lane"
    yield f"{far} = xor {lanes.truth} %near, {'splat (i1 true)' if lanes.width > 1 else 'true'}"
    if lanes.width > 1:
        yield f"%any = call i1 @llvm.vector.reduce.or.v{lanes.width}i1({lanes.truth} {far})"
    yield f"br i1 {'%any' if lanes.width > 1 else far}, label %rare, label %usual, !prof !0"
    yield "usual:"
    yield from result(lanes, "%sine", "%cosine", close=False)
    yield "rare:"
    yield from from_library(lanes, "%x", "far")
    yield f"%s9 = select {lanes.truth} %near, {V} %sine, {V} %far_sin"
    yield f"%c9 = select {lanes.truth} %near, {V} %cosine, {V} %far_cos"
    yield from result(lanes, "%s9", "%c9", tag="9")


def near_zero(lanes: Lanes) -> Iterable[str]:
    """%sine and %cosine of %a."""
    V, I, real = lanes.number, lanes.integer, lanes.real
    yield f"%turns = fmul {V} %a, {lanes.literal(2 / math.pi)}"
    yield f"%n = {lanes.call('rint', '%turns')}"
    yield f"%minus = fneg {V} %n"
    rest = "%a"
    for k, part in enumerate(PARTS[real]):
        yield f"%rest{k} = {lanes.call('fma', '%minus', lanes.literal(part), rest)}"
        rest = f"%rest{k}"
    yield f"%z = fmul {V} {rest}, {rest}"
    yield from horner(lanes, "ps", SINE[real])
    yield from horner(lanes, "pc", COSINE[real])
    yield f"%cube = fmul {V} %z, {rest}"
    yield f"%s = {lanes.call('fma', '%cube', '%ps', rest)}"
    yield f"%half = {lanes.call('fma', '%z', lanes.literal(-0.5), lanes.literal(1.0))}"
    yield f"%square = fmul {V} %z, %z"
    yield f"%c = {lanes.call('fma', '%square', '%pc', '%half')}"
    # the quadrant: odd ones swap, bit 1 of n negates the sine, bit 1 of n + 1 the cosine
    yield f"%q = fptosi {V} %n to {I}"
    yield f"%low = and {I} %q, {lanes.whole(1)}"
    yield f"%odd = icmp ne {I} %low, {lanes.whole(0)}"
    yield f"%s0 = select {lanes.truth} %odd, {V} %c, {V} %s"
    yield f"%c0 = select {lanes.truth} %odd, {V} %s, {V} %c"
    yield f"%next = add {I} %q, {lanes.whole(1)}"
    for value, count, out in (("s0", "q", "sine"), ("c0", "next", "cosine")):
        yield f"%{out}_up = shl {I} %{count}, {lanes.whole(lanes.bits - 2)}"
        yield f"%{out}_sign = and {I} %{out}_up, {lanes.whole(-(1 << (lanes.bits - 1)))}"
        yield f"%{out}_bits = bitcast {V} %{value} to {I}"
        yield f"%{out}_done = xor {I} %{out}_bits, %{out}_sign"
        yield f"%{out} = bitcast {I} %{out}_done to {V}"


def horner(lanes: Lanes, out: str, coefficients: Sequence[float]) -> Iterable[str]:
    """A polynomial in %z."""
    value = lanes.literal(coefficients[0])
    for k, c in enumerate(coefficients[1:]):
        last = k == len(coefficients) - 2
        yield f"%{out}{'' if last else k} = {lanes.call('fma', value, '%z', lanes.literal(c))}"
        value = f"%{out}{k}"


def from_library(lanes: Lanes, x: str, tag: str) -> Iterable[str]:
    """%tag_sin and %tag_cos, lane by lane."""
    V, real, end = lanes.number, lanes.real, "f" if lanes.real == "float" else ""
    for function in ("sin", "cos"):
        if lanes.width == 1:
            yield f"%{tag}_{function} = call {real} @{function}{end}({real} {x})"
            continue
        built = "poison"
        for k in range(lanes.width):
            yield f"%{tag}_{function}_x{k} = extractelement {V} {x}, i64 {k}"
            yield f"%{tag}_{function}_y{k} = call {real} @{function}{end}({real} %{tag}_{function}_x{k})"
            out = f"%{tag}_{function}" if k == lanes.width - 1 else f"%{tag}_{function}_v{k}"
            yield f"{out} = insertelement {V} {built}, {real} %{tag}_{function}_y{k}, i64 {k}"
            built = out


def result(lanes: Lanes, sine: str, cosine: str, tag: str = "", close: bool = True) -> Iterable[str]:
    yield f"%pair{tag} = insertvalue {pair(lanes)} poison, {lanes.number} {sine}, 0"
    yield f"%both{tag} = insertvalue {pair(lanes)} %pair{tag}, {lanes.number} {cosine}, 1"
    yield f"ret {pair(lanes)} %both{tag}"
    if close:
        yield "}"
