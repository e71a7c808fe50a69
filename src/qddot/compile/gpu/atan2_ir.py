"""IR of atan2(y, x), for processors without a C library: within 2 units in the last place.

The smaller of |x| and |y| is divided by the larger, or, if that quotient is beyond tan(pi/8), their difference by their sum, which
turns the point by pi/4. So the quotient t is at most tan(pi/8), and its arc tangent is t + t^3 p(t^2). The result is a multiple of
pi/4 plus or minus that, rounded once; it is NaN where |x| + |y| is infinite.
"""

from __future__ import annotations

from collections.abc import Iterable

from qddot.compile.lanes import Lanes

NAMES = {"double": "atan2", "float": "atan2f"}

EIGHTH = {"double": (0.7853981633974483, 3.061616997868383e-17), "float": (0.7853981852531433, -2.1855694143368964e-08)}
"""pi/4, and its rounding error."""

TAN = 0.41421356237309503
"""tan(pi/8)"""

ARC = {
    "double": (
        -0.3333333333333333,
        0.19999999999999804,
        -0.14285714285659779,
        0.11111111105150588,
        -0.09090908753259112,
        0.07692296368042296,
        -0.0666642476020052,
        0.05878927554473807,
        -0.05230443640686948,
        0.045515447340221615,
        -0.03456931506332609,
        0.016284375050043393,
    ),
    "float": (-0.33333331760434554, 0.1999954031495797, -0.14263949753605723, 0.10743668324830098, -0.06451718869358958),
}
"""The polynomial p, which interpolates (atan(t) - t) / t^3 at the Chebyshev points of 0 <= t^2 <= tan(pi/8)^2: t^2 p is exact to
2e-19 and 3e-9."""


def define_atan2(lanes: Lanes) -> Iterable[str]:
    """Define a function with the name and the arguments of the C library's."""
    V, I, zero = lanes.number, lanes.integer, lanes.literal(0.0)
    high, low = (lanes.literal(x) for x in EIGHTH[lanes.real])
    yield f"declare {V} @llvm.copysign.{lanes.suffix}({V}, {V})"
    yield f"define internal {V} @{NAMES[lanes.real]}({V} %y, {V} %x) alwaysinline nounwind {{"
    yield f"%ax = {lanes.call('fabs', '%x')}\n%ay = {lanes.call('fabs', '%y')}\n%steep = fcmp ogt {V} %ay, %ax"
    yield f"%small = select i1 %steep, {V} %ax, {V} %ay\n%large = select i1 %steep, {V} %ay, {V} %ax"
    yield f"%edge = fmul {V} %large, {lanes.literal(TAN)}\n%far = fcmp ogt {V} %small, %edge"
    yield f"%difference = fsub {V} %small, %large\n%sum = fadd {V} %small, %large"
    yield f"%over = select i1 %far, {V} %difference, {V} %small\n%under = select i1 %far, {V} %sum, {V} %large"
    yield f"%origin = fcmp oeq {V} %large, {zero}\n%divisor = select i1 %origin, {V} {lanes.literal(1.0)}, {V} %under"
    yield f"%quotient = fdiv {V} %over, %divisor\n%t = {lanes.call('fma', '%sum', zero, '%quotient')}\n%z = fmul {V} %t, %t"
    *rest, p = (lanes.literal(x) for x in ARC[lanes.real])
    for k, coefficient in reversed(list(enumerate(rest))):
        yield f"%p{k} = {lanes.call('fma', '%z', p, coefficient)}"
        p = f"%p{k}"
    yield f"%cube = fmul {V} %z, %t\n%arc = {lanes.call('fma', '%cube', p, '%t')}"
    # multiples of pi/4: 1 if far, else 0; 2 minus that if steep; 4 minus that if x is negative
    yield f"%bits = bitcast {V} %x to {I}\n%left = icmp slt {I} %bits, 0\n%less = xor i1 %steep, %left"
    yield f"%one = select i1 %far, {V} {lanes.literal(1.0)}, {V} {zero}\n%from_two = fsub {V} {lanes.literal(2.0)}, %one"
    yield f"%two = select i1 %steep, {V} %from_two, {V} %one\n%from_four = fsub {V} {lanes.literal(4.0)}, %two"
    yield f"%eighths = select i1 %left, {V} %from_four, {V} %two"
    yield f"%minus = fneg {V} %arc\n%way = select i1 %less, {V} %minus, {V} %arc"
    yield f"%rest = {lanes.call('fma', '%eighths', low, '%way')}\n%angle = {lanes.call('fma', '%eighths', high, '%rest')}"
    yield f"%signed = call {V} @llvm.copysign.{lanes.suffix}({V} %angle, {V} %y)\nret {V} %signed\n}}"
