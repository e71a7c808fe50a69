"""A drive's values at its coordinate, over fractions, or over SymPy expressions where it has symbols: nothing is rounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from qddot.model.description import symbols_in
from qddot.model.drive import NUMBERS, Drive, JointSide, pair
from qddot.model.scalar import Scalar, is_symbolic, is_zero
from qddot.symbolic.exact import rational


def exact_side(drive: Drive, follows: tuple[str, Scalar, Scalar] | None) -> JointSide:
    """As the joint feels it; where it follows another joint (name, multiplier, offset), as the coordinate of that one does."""
    symbolic = symbols_in(drive) or any(map(is_symbolic, (follows or ())[1:]))
    number = as_expression if symbolic else rational
    copy = object.__new__(Drive)  # its constructor would make floats of exact numbers again
    values: dict[str, Any] = {name: number(getattr(drive, name)) for name in NUMBERS}
    pairs = {name: tuple(map(number, pair(getattr(drive, name)))) for name in ("coulomb", "static")}
    armature = values["gear_ratio"] ** 2 * values["rotor_inertia"]
    if drive.side == "joint":
        values["gear_ratio"] = number(1.0)  # on the motor side of no gear: what is exact stays so
    for name, x in {**values, **pairs, "side": "motor"}.items():
        object.__setattr__(copy, name, x)
    side = replace(copy.at_joint, armature=armature)
    return driven(side, *map(number, follows[1:])) if follows else side


def driven(side: JointSide, multiplier: Scalar, offset: Scalar) -> JointSide:
    """As felt at the coordinate of a leader, for a joint at `multiplier * q + offset`, whatever the sign of the multiplier."""
    positive, negative = side.coulomb
    even, odd = (positive + negative) * abs(multiplier), (positive - negative) * multiplier
    square = multiplier**2
    relaxed = 0 if is_zero(side.stiffness) or is_zero(multiplier) else (side.rest - offset) / multiplier
    rising = (side.rise[0] + side.rise[1]) * abs(multiplier), (side.rise[0] - side.rise[1]) * multiplier
    return JointSide(
        side.armature * square,
        side.viscous * square,
        ((even + odd) / 2, (even - odd) / 2),
        side.stiffness * square,
        relaxed,
        rise=((rising[0] + rising[1]) / 2, (rising[0] - rising[1]) / 2),
        steepness=side.steepness * abs(multiplier),
        load=side.load,
    )


def as_expression(x: Scalar) -> Any:
    import sympy

    from qddot.symbolic.reading import exactly

    if is_symbolic(x):
        return exactly(x)
    return sympy.Rational(*rational(x).as_integer_ratio()) if x else 0  # a plain zero, so that it is seen to be one
