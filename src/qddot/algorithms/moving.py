"""A scalar that moves: it carries its first and second rate along a motion, over any other scalar.

What is written for one kind of scalar so gives its exact derivatives with respect to time, too. Rates nobody asks for leave no
trace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from qddot.algorithms.factor import reciprocal
from qddot.model.field import Field
from qddot.model.scalar import Scalar


class Moving(NamedTuple):
    """A value, its rate, the rate of its rate. Other operands stand still."""

    x: Scalar
    dx: Scalar
    ddx: Scalar = 0

    def __add__(self, o: Any) -> Moving:  # type: ignore[override]
        o = moving(o)
        return Moving(self.x + o.x, self.dx + o.dx, self.ddx + o.ddx)

    def __neg__(self) -> Moving:
        return Moving(-self.x, -self.dx, -self.ddx)

    def __sub__(self, o: Any) -> Moving:
        return self + -o

    def __rsub__(self, o: Any) -> Moving:
        return -self + o

    def __mul__(self, o: Any) -> Moving:  # type: ignore[override]
        o = moving(o)
        return Moving(self.x * o.x, self.dx * o.x + self.x * o.dx, self.ddx * o.x + self.dx * o.dx * 2 + self.x * o.ddx)

    def __truediv__(self, o: Any) -> Moving:
        o = moving(o)
        inverse = reciprocal(o.x)
        quotient = self.x * inverse
        rate = (self.dx - quotient * o.dx) * inverse
        return Moving(quotient, rate, (self.ddx - rate * o.dx * 2 - quotient * o.ddx) * inverse)

    def __rtruediv__(self, o: Any) -> Moving:
        return moving(o) / self

    __radd__ = __add__
    __rmul__ = __mul__


def moving(x: Scalar) -> Moving:
    """The scalar itself, or one that stands still."""
    return x if isinstance(x, Moving) else Moving(x, 0)


class MovingField:
    """The field of such scalars over another field (see `qddot.model.field`); constants stand still."""

    def __init__(self, field: Field) -> None:
        self.field, self.rounding = field, field.rounding

    def constant(self, x: Scalar) -> Scalar:
        return self.field.constant(x)

    def cos_sin(self, angle: Scalar) -> tuple[Moving, Moving]:
        x, dx, ddx = moving(angle)
        c, s = self.field.cos_sin(x)
        square = dx * dx
        return Moving(c, -s * dx, -(c * square + s * ddx)), Moving(s, c * dx, c * ddx - s * square)

    def sign(self, x: Scalar) -> Moving:
        """It does not move, except where it jumps."""
        return moving(self.field.sign(moving(x).x))

    def sqrt(self, x: Scalar) -> Moving:
        x, dx, ddx = moving(x)
        root = self.field.sqrt(x)
        rate = dx * reciprocal(2 * root)
        return Moving(root, rate, (ddx / 2 - rate * rate) * reciprocal(root))

    def inverse_fourth_root(self, x: Scalar) -> Moving:
        return 1 / self.sqrt(self.sqrt(x))

    def atan2(self, y: Scalar, x: Scalar) -> Moving:
        """Its rate is (x y' - y x') / (x^2 + y^2)."""
        y, x = moving(y), moving(x)
        turn = Moving(x.x * y.dx - y.x * x.dx, x.x * y.ddx - y.x * x.ddx)
        rate = turn / Moving(x.x * x.x + y.x * y.x, (x.x * x.dx + y.x * y.dx) * 2)
        return Moving(self.field.atan2(y.x, x.x), rate.x, rate.dx)

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Moving:
        condition = moving(x).x
        return Moving(*(self.field.where_positive(condition, a, b) for a, b in zip(moving(then), moving(otherwise))))
