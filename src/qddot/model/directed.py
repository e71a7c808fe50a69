"""Constants of a drive: one number for both directions, or a pair for positive and for negative speed."""

from __future__ import annotations

from collections.abc import Sequence

from qddot.errors import ModelValueError
from qddot.model.scalar import Scalar, as_scalar, is_symbolic

Pair = tuple[Scalar, Scalar]
"""A constant for positive and for negative speed."""


def turned(values: Pair, ratio: Scalar, size: Scalar, power: int) -> Pair:
    """Return a pair of constants as felt at another shaft: scaled by `size**power`, and swapped if that shaft turns the other
    way."""
    positive, negative = values
    scale = size**power
    if positive == negative or not is_symbolic(ratio) or ratio.is_positive:
        backward = not is_symbolic(ratio) and ratio < 0
        return (negative * scale, positive * scale) if backward else (positive * scale, negative * scale)
    even, odd = (positive + negative) * scale / 2, (positive - negative) * size ** (power - 1) * ratio / 2
    return even + odd, even - odd


def pair(value: Scalar | Pair) -> Pair:
    """(positive, negative), the same for both where only one is given."""
    return value if isinstance(value, tuple) else (value, value)


def either_way(name: str, value: Scalar | Sequence[Scalar]) -> Scalar | Pair:
    """Read a constant that is one number or a pair. Raises ModelValueError: neither, or one negative number."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        value = number(name, value)
        not_negative(name, value)
        return value
    if len(value) != 2:
        raise refuse(name, value, "one number or a pair is needed", "give one, or (positive, negative)")
    positive, negative = (abs(number(name, c)) for c in value)
    return positive, negative


def not_negative(name: str, value: Scalar) -> None:
    """Refuse a negative constant. Raises ModelValueError."""
    if not is_symbolic(value) and value < 0:
        raise refuse(
            name, value, "friction, stiffness, inertia and the constants of a motor are not negative", "give its magnitude"
        )


def number(name: str, value: object) -> Scalar:
    """Return a finite number or an expression. Raises ModelValueError: anything else."""
    try:
        return as_scalar(value)
    except (TypeError, ValueError) as error:
        raise refuse(name, value, str(error), "give a finite number") from None


def refuse(name: str, value: object, rule: str, fix: str) -> ModelValueError:
    """Return the error for a constant of a drive: its value, the rule and the fix."""
    text = "a variable" if getattr(value, "is_open", False) else str(value)
    return ModelValueError(rule, element="drive", attribute=name, text=text, fix=fix)
