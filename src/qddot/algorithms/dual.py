"""A scalar with its rate: what is written for one kind of scalar gives its exact derivative along a motion, too."""

from __future__ import annotations

from typing import NamedTuple

from qddot.algorithms.factor import reciprocal
from qddot.model.field import Field
from qddot.model.scalar import Scalar


class Dual(NamedTuple):
    """`value + rate dt`, with dt^2 = 0. Plain numbers beside it are constants."""

    value: Scalar
    rate: Scalar

    def __add__(self, o: Scalar) -> Dual:
        return Dual(self.value + value(o), self.rate + rate(o))

    def __sub__(self, o: Scalar) -> Dual:
        return Dual(self.value - value(o), self.rate - rate(o))

    def __mul__(self, o: Scalar) -> Dual:
        return Dual(self.value * value(o), self.rate * value(o) + self.value * rate(o))

    def __truediv__(self, o: Scalar) -> Dual:
        inverse = reciprocal(value(o))
        quotient = self.value * inverse
        return Dual(quotient, (self.rate - quotient * rate(o)) * inverse)

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.rate)

    def __rsub__(self, o: Scalar) -> Dual:
        return -self + o

    def __rtruediv__(self, o: Scalar) -> Dual:
        return Dual(o, 0) / self

    __radd__ = __add__
    __rmul__ = __mul__


class Duals:
    """The field of such scalars over another field (see `qddot.model.field`)."""

    def __init__(self, field: Field) -> None:
        self.field, self.rounding = field, field.rounding

    def constant(self, x: Scalar) -> Dual:
        return Dual(self.field.constant(x), 0)

    def cos_sin(self, angle: Scalar) -> tuple[Dual, Dual]:
        c, s = self.field.cos_sin(value(angle))
        return Dual(c, -s * rate(angle)), Dual(s, c * rate(angle))

    def sign(self, x: Scalar) -> Dual:
        return Dual(self.field.sign(value(x)), 0)

    def sqrt(self, x: Scalar) -> Dual:
        root = self.field.sqrt(value(x))
        return Dual(root, rate(x) * reciprocal(2 * root))

    def atan2(self, y: Scalar, x: Scalar) -> Dual:
        square = value(x) * value(x) + value(y) * value(y)
        return Dual(self.field.atan2(value(y), value(x)), (value(x) * rate(y) - value(y) * rate(x)) * reciprocal(square))

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Dual:
        choose, x = self.field.where_positive, value(x)
        return Dual(choose(x, value(then), value(otherwise)), choose(x, rate(then), rate(otherwise)))


def value(x: Scalar) -> Scalar:
    return x.value if isinstance(x, Dual) else x


def rate(x: Scalar) -> Scalar:
    return x.rate if isinstance(x, Dual) else 0
