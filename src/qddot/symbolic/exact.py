"""From the numbers of a description to exact ones: decimals to fractions, rotations to rotations that are exactly orthogonal."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from qddot.model.pose import to_rpy
from qddot.model.scalar import is_symbolic
from qddot.model.spatial import Mat

STEP = math.pi / 12
NOISE = 1e-12  # rad: an angle this close to a multiple of 15 degrees is one, but for rounding
CLOSE = 1e-9  # rad: what rounding does to the angles of a matrix near gimbal lock
DECIMALS = range(4, 13)  # 1.5708 and 3.14159265 are multiples too, written with so many of them
HALF_TURN_DENOMINATOR = 10**9  # of tan(angle/2): two such fractions differ by 1e-18


def rational(x: float) -> Fraction:
    """The decimal that was written. A float of 16 or 17 digits was computed: then the simplest fraction that rounds to it."""
    decimal = Fraction(repr(x))
    digits = repr(x).partition("e")[0].replace(".", "").lstrip("-0")
    if len(digits) <= 15:
        return decimal
    exact, ulp = Fraction(x), Fraction(math.ulp(x))
    return simplest(exact - ulp / 2, exact + ulp / 2)


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator in an interval (by continued fractions)."""
    if low < 0 < high:
        return Fraction(0)
    if high <= 0:
        return -simplest(-high, -low)
    whole = -(-low.numerator // low.denominator)  # the next integer above
    if whole <= high:
        return Fraction(whole)
    whole -= 1
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))


class Surd(NamedTuple):
    """`(a + b sqrt(2) + c sqrt(3) + d sqrt(6)) / 4`."""

    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


COSINES = (Surd(4), Surd(b=1, d=1), Surd(c=2), Surd(b=2), Surd(2), Surd(b=-1, d=1), Surd(0))
"""Of 0, 15, ..., 90 degrees."""

Exact = Fraction | Surd


def turn(angle: float) -> tuple[Exact, Exact, float]:
    """(cos, sin) of an angle: by roots at multiples of 15 degrees, otherwise a rational point of the circle within 1e-16; and how
    far (rad) the angle was off the multiple it was taken for."""
    k = round(angle / STEP)
    off = angle - k * STEP
    if abs(off) <= CLOSE or is_written_short(angle, k * STEP):
        return cosine(k), cosine(k - 6), off if abs(off) > NOISE else 0.0
    swap = math.cos(angle) < 0  # keep the tangent of the half angle below 1
    t = Fraction(math.tan((angle - math.pi if swap else angle) / 2)).limit_denominator(HALF_TURN_DENOMINATOR)
    c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    return (-c, -s, 0.0) if swap else (c, s, 0.0)


def is_written_short(angle: float, multiple: float) -> bool:
    """The multiple with a few decimals, rounded or cut off."""
    return any(
        abs(short - angle) <= CLOSE for d in DECIMALS for short in (round(multiple, d), math.trunc(multiple * 10**d) / 10**d)
    )


def cosine(k: int) -> Surd:
    """Of k times 15 degrees."""
    k = abs((k + 12) % 24 - 12)
    return COSINES[k] if k <= 6 else Surd(*(-x for x in COSINES[12 - k]))


class Turned(NamedTuple):
    """An exact rotation as `Rz(yaw) Ry(pitch) Rx(roll)`; `off` lists each (angle, multiple of 15 degrees) taken for one another."""

    yaw: tuple[Exact, Exact]
    pitch: tuple[Exact, Exact]
    roll: tuple[Exact, Exact]
    off: tuple[tuple[float, int], ...]


def rotation(R: Mat) -> Turned:
    """A numeric rotation matrix as three exact turns."""
    roll, pitch, yaw = to_rpy(R)
    turns, off = [], []
    for angle in (yaw, pitch, roll):
        c, s, error = turn(angle)
        turns.append((c, s))
        if error:
            off.append((angle, round(angle / STEP)))
    return Turned(turns[0], turns[1], turns[2], tuple(off))


def is_numeric(R: Mat) -> bool:
    return not any(is_symbolic(x) for row in R for x in row)
