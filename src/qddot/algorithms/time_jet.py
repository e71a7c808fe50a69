"""Scalars that carry their first and second time derivative along a motion, over any other kind of scalar.

An algorithm run over them returns its exact derivatives with respect to time too. In a trace, rates that no output needs cost
nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from qddot.algorithms.factor import reciprocal
from qddot.model.field import Field
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import map_scalars


class TimeJet(NamedTuple):
    """A value, its first and its second rate. Operands of other types count as constants."""

    x: Scalar
    dx: Scalar
    ddx: Scalar = 0

    __array_ufunc__ = None  # with it NumPy's scalars leave `+ - * /` to this class, instead of making arrays

    def __add__(self, o: Any) -> TimeJet:  # type: ignore[override]
        o = time_jet(o)
        return TimeJet(self.x + o.x, self.dx + o.dx, self.ddx + o.ddx)

    def __neg__(self) -> TimeJet:
        return TimeJet(-self.x, -self.dx, -self.ddx)

    def __sub__(self, o: Any) -> TimeJet:
        return self + -o

    def __rsub__(self, o: Any) -> TimeJet:
        return -self + o

    def __mul__(self, o: Any) -> TimeJet:  # type: ignore[override]
        o = time_jet(o)
        return TimeJet(self.x * o.x, self.dx * o.x + self.x * o.dx, self.ddx * o.x + self.dx * o.dx * 2 + self.x * o.ddx)

    def __truediv__(self, o: Any) -> TimeJet:
        o = time_jet(o)
        inverse = reciprocal(o.x)
        quotient = self.x * inverse
        rate = (self.dx - quotient * o.dx) * inverse
        return TimeJet(quotient, rate, (self.ddx - rate * o.dx * 2 - quotient * o.ddx) * inverse)

    def __rtruediv__(self, o: Any) -> TimeJet:
        return time_jet(o) / self

    __radd__ = __add__
    __rmul__ = __mul__


def time_jet(x: Scalar) -> TimeJet:
    """Return the scalar itself, or as a constant one."""
    return x if isinstance(x, TimeJet) else TimeJet(x, 0)


class TimeJetField:
    """The field of such scalars over another field (see `qddot.model.field`)."""

    def __init__(self, field: Field) -> None:
        self.field, self.rounding = field, field.rounding

    def constant(self, x: Scalar) -> Scalar:
        return self.field.constant(x)

    def cos_sin(self, angle: Scalar) -> tuple[TimeJet, TimeJet]:
        x, dx, ddx = time_jet(angle)
        c, s = self.field.cos_sin(x)
        square = dx * dx
        return TimeJet(c, -s * dx, -(c * square + s * ddx)), TimeJet(s, c * dx, c * ddx - s * square)

    def sign(self, x: Scalar) -> TimeJet:
        """Return the sign of the value, with zero rates."""
        return time_jet(self.field.sign(time_jet(x).x))

    def sqrt(self, x: Scalar) -> TimeJet:
        x, dx, ddx = time_jet(x)
        root = self.field.sqrt(x)
        rate = dx * reciprocal(2 * root)
        return TimeJet(root, rate, (ddx / 2 - rate * rate) * reciprocal(root))

    def inverse_fourth_root(self, x: Scalar) -> TimeJet:
        return 1 / self.sqrt(self.sqrt(x))

    def atan2(self, y: Scalar, x: Scalar) -> TimeJet:
        """Return the angle of (x, y), with the rate (x y' - y x') / (x^2 + y^2)."""
        y, x = time_jet(y), time_jet(x)
        turn = TimeJet(x.x * y.dx - y.x * x.dx, x.x * y.ddx - y.x * x.ddx)
        rate = turn / TimeJet(x.x * x.x + y.x * y.x, (x.x * x.dx + y.x * y.dx) * 2)
        return TimeJet(self.field.atan2(y.x, x.x), rate.x, rate.dx)

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> TimeJet:
        condition = time_jet(x).x
        return TimeJet(*(self.field.where_positive(condition, a, b) for a, b in zip(time_jet(then), time_jet(otherwise))))


def over_time(model: LiftedModel) -> LiftedModel:
    """Return the model over `TimeJet` scalars; its own numbers are constants."""
    constant = lambda x: x if isinstance(x, (int, float)) else time_jet(x)  # noqa: E731
    inertias = [map_scalars(constant, body.inertia) for body in model.bodies]  # also where they are inputs of a trace
    return LiftedModel(model.source, TimeJetField(model.field), regrouped=model.moved is not None, inertias=inertias)
