"""A drive's values at its coordinate, as fractions, or as SymPy expressions where it has symbols: nothing is rounded."""

from __future__ import annotations

from copy import copy
from typing import Any

import sympy

from qddot.model.description import symbols_in
from qddot.model.drive import NUMBERS, Drive, JointSide
from qddot.model.scalar import Scalar, is_symbolic
from qddot.model.spatial import map_scalars
from qddot.symbolic.exact.numbers import rational
from qddot.symbolic.exact.reading import exactly


def exact_side(drive: Drive, follows: tuple[str, Scalar, Scalar] | None) -> JointSide:
    """Return a drive seen from its joint; if this follows another joint (name, multiplier, offset), seen from that one's
    coordinate."""
    symbolic = symbols_in(drive) or any(map(is_symbolic, (follows or ())[1:]))
    exact = as_expression if symbolic else rational
    copied = copy(drive)  # its constructor would make floats of exact numbers again
    vars(copied).update({name: map_scalars(exact, getattr(drive, name)) for name in NUMBERS})
    vars(copied)["harmonics"] = tuple((k, exact(a), exact(b)) for k, a, b in drive.harmonics)
    side = copied.at_joint
    return side.driven_by(*map(exact, follows[1:])) if follows else side


def as_expression(x: Scalar) -> Any:
    """Return a scalar as an exact SymPy expression, 0 as a plain zero."""
    if is_symbolic(x):
        return exactly(x)
    return sympy.Rational(*rational(x).as_integer_ratio()) if x else 0  # a plain zero, so that it is seen to be one
