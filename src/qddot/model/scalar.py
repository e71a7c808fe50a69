"""The numbers of a model: floats, or SymPy expressions with symbols.

SymPy is imported here only if an expression came in, so numeric work does not pay for it.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

from qddot.errors import as_written

Scalar = Any  # float, SymPy expression, traced node, exact polynomial, interval: anything that adds and multiplies

SNAP = 1e-15
"""Numbers this close to 0, 1 or -1 differ from these by the rounding of a rotation; made exact, they disappear from traced code."""


def is_symbolic(x: object) -> bool:
    """True for an object of SymPy, and for an exact polynomial that is not constant."""
    return type(x).__module__.partition(".")[0] == "sympy" or getattr(x, "is_open", False)


def as_scalar(x: Any) -> Scalar:
    """Return a float, or the SymPy expression itself (its value, if it has no free symbol). Raises TypeError: neither a real number
    nor a SymPy expression (strings and booleans are not numbers); ValueError: not finite."""
    if getattr(x, "is_open", False):
        return x
    if is_symbolic(x):
        if x.free_symbols:
            return x
        if not x.is_real:
            raise ValueError(f"{x} is not a finite real number")
        x = float(x)
    if isinstance(x, bool) or not isinstance(x, numbers.Real):
        raise TypeError(f"{x!r} is neither a number nor a SymPy expression")
    try:
        found = float(x)
    except OverflowError:  # a whole number of hundreds of digits
        found = math.inf
    if not math.isfinite(found):
        raise ValueError(f"{as_written(x)} is not a finite number")
    return found


def snap(x: Scalar) -> Scalar:
    """Return a float, or exactly 0, 1 or -1 if it is one of these up to rounding."""
    if isinstance(x, float) and abs(x) < 2:  # an overflow upstream must not fail here
        nearest = round(x)
        if abs(x - nearest) <= SNAP:
            return float(nearest)
    return x


def cos_sin(angle: Scalar) -> tuple[Scalar, Scalar]:
    """Return (cos, sin) of an angle in radians; exact at multiples of pi/2."""
    if is_symbolic(angle):
        import sympy

        return sympy.cos(angle), sympy.sin(angle)
    return snap(math.cos(angle)), snap(math.sin(angle))


def is_zero(x: Scalar) -> bool:
    """True for an exact zero; a symbol is not zero."""
    return not is_symbolic(x) and x == 0


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of a float or a SymPy expression."""
    if is_symbolic(x):
        import sympy

        return sympy.sqrt(x)
    return math.sqrt(x)


def few_digits(x: Scalar | None) -> str:
    """Return a number in six digits, for people; an expression as it is."""
    return f"{x:g}" if isinstance(x, (int, float)) else str(x)
