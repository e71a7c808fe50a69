"""Exact numbers from those of a description: fractions from decimals, exactly orthogonal rotations from rounded ones."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from qddot.errors import InputError
from qddot.model.pose import from_rpy, to_rpy
from qddot.model.scalar import is_symbolic
from qddot.model.spatial import Mat

STEP = math.pi / 12
NOISE = 1e-12  # rad: an angle this close to a multiple of 15 degrees is one, but for rounding
CLOSE = 1e-9  # rad: what rounding does to the angles of a matrix near gimbal lock
DECIMALS = range(4, 13)  # 1.5708 and 3.14159265 are multiples too, written with a number of decimals in this range
CHANCE = Fraction(1, 10000)  # how likely a fraction that simple may be near a float by accident
HALF = Fraction(499, 1000)  # of the way to the next float: a number that is nearer rounds to this one


def rational(x: float) -> Fraction:
    """Return the decimal that was written. A float with more digits than people write was computed: then it is a short decimal a
    few roundings away (0.1 + 0.2 is 3/10), or the simplest fraction that rounds to it (with 13 to 15 digits, only if it is too
    simple to be there by chance). Raises InputError: it is not finite."""
    if not math.isfinite(x):
        raise InputError(f"{x} is not a finite number")
    text = repr(float(x))
    for candidate in (text, f"{x:.15g}"):
        if digits(candidate) <= 12:
            return Fraction(candidate)
    size, way = Fraction(abs(x)), 1 if x > 0 else -1
    above, below = (abs(Fraction(math.nextafter(abs(x), to)) - size) * HALF for to in (math.inf, 0.0))
    found = way * simplest(size - below, size + above)
    return found if digits(text) > 15 or found.denominator**2 * above < CHANCE else Fraction(text)


def digits(text: str) -> int:
    """Count the significant digits of a decimal."""
    return len(text.partition("e")[0].replace(".", "").strip("-0"))


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """Return the fraction with the smallest denominator in an interval (by continued fractions)."""
    if low <= 0 <= high:
        return Fraction(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = -(-low.numerator // low.denominator)  # the next integer above
    if whole <= high:
        return Fraction(whole)
    whole -= 1
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))


class Surd(NamedTuple):
    """The number `(a + b sqrt(2) + c sqrt(3) + d sqrt(6)) / 4`."""

    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


COSINES = (Surd(4), Surd(b=1, d=1), Surd(c=2), Surd(b=2), Surd(2), Surd(b=-1, d=1), Surd(0))
"""The cosines of 0, 15, ..., 90 degrees."""

Exact = Fraction | Surd


LARGEST = 1e15
"""The first angle (rad) that is refused."""


def turn(angle: float, written: bool = True) -> tuple[Exact, Exact, float]:
    """Return (cos, sin, off) of an angle: roots at multiples of 15 degrees, otherwise a rational point of the circle within 1e-16;
    `off` is how far (rad) the angle was from the multiple it was taken for. An angle that is `written` in a file may be a multiple
    with a few decimals."""
    if not abs(angle) < LARGEST:
        raise InputError(f"an angle of {angle:g} rad: from {LARGEST:g} rad on, floating-point numbers tell no turns apart")
    k = round(angle / STEP)
    off = angle - k * STEP
    if abs(off) <= CLOSE or (written and is_written_short(off, k)):
        return cosine(k), cosine(k - 6), off if abs(off) > NOISE else 0.0
    swap = math.cos(angle) < 0  # keep the tangent of the half angle below 1
    t = rational(math.tan((angle - math.pi if swap else angle) / 2))
    c, s = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)
    return (-c, -s, 0.0) if swap else (c, s, 0.0)


def is_written_short(off: float, k: int) -> bool:
    """Tell whether an angle that is `off` from k times 15 degrees is that multiple written with a few decimals, rounded or cut off;
    or such an angle after half turns and reflections, since a matrix may give back other angles than it was made from."""
    if abs(off) > 10.0 ** -DECIMALS[0]:
        return False
    for way in (1, -1):
        for multiple in ((way * k + 12 * half_turns) * STEP for half_turns in range(-2, 3)):
            for scale in (10**d for d in DECIMALS):
                written = (round(multiple * scale) / scale, math.trunc(multiple * scale) / scale)
                if any(abs(way * (x - multiple) - off) <= CLOSE for x in written):
                    return True
    return False


def cosine(k: int) -> Surd:
    """Return the cosine of k times 15 degrees."""
    k = abs((k + 12) % 24 - 12)
    return COSINES[k] if k <= 6 else Surd(*(-x for x in COSINES[12 - k]))


def surd(x: float) -> Surd | None:
    """Return the sine or cosine of a multiple of 15 degrees that a float equals, up to rounding; None if there is none."""
    return next((cosine(k) for k in range(13) if abs(math.cos(k * STEP) - x) <= 1e-15), None)


class Turned(NamedTuple):
    """An exact rotation as `Rz(yaw) Ry(pitch) Rx(roll)`."""

    yaw: tuple[Exact, Exact]
    pitch: tuple[Exact, Exact]
    roll: tuple[Exact, Exact]
    off: tuple[tuple[float, int], ...]  # (angle, k) for each angle that was taken for k times 15 degrees
    error: float  # distance of the given matrix from a rotation, if more than rounding; else 0


def rotation(R: Mat) -> Turned:
    """Return a numeric rotation matrix as three exact turns."""
    roll, pitch, yaw = to_rpy(R)
    turns, off = [], []
    for angle in (yaw, pitch, roll):
        c, s, error = turn(angle)
        turns.append((c, s))
        if error:
            off.append((angle, round(angle / STEP)))
    again = from_rpy(roll, pitch, yaw)
    error = max(abs(a - b) for row, other in zip(R, again) for a, b in zip(row, other))
    return Turned(turns[0], turns[1], turns[2], tuple(off), error if error > CLOSE else 0.0)


def is_numeric(R: Mat) -> bool:
    """Tell whether a matrix has no symbols."""
    return not any(is_symbolic(x) for row in R for x in row)
