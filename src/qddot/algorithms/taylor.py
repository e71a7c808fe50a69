"""Rates along a motion: a scalar that carries its first and second derivative with respect to time, over any other scalar."""

from __future__ import annotations

from typing import Any, NamedTuple

from qddot.algorithms.inverse_dynamics import inverse_dynamics
from qddot.algorithms.kinematics import Scalars
from qddot.model.field import Field
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar


def torque_rates(
    model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, jerk: Scalars, snap: Scalars
) -> tuple[list[Scalar], list[Scalar], list[Scalar]]:
    """tau, dtau/dt and d2tau/dt2 of inverse dynamics along a motion with this jerk and snap (third and fourth derivative of q)."""
    moving = LiftedModel(model.source, Moving(model.field))
    motion = [[Taylor(*x) for x in zip(*rates)] for rates in ((q, qd, qdd), (qd, qdd, jerk), (qdd, jerk, snap))]
    tau = [x if isinstance(x, Taylor) else Taylor(x, 0, 0) for x in inverse_dynamics(moving, motion[0], motion[1], motion[2])]
    return [t.x for t in tau], [t.dx for t in tau], [t.ddx for t in tau]


class Taylor(NamedTuple):
    """A value that moves: itself, its rate, the rate of its rate. Other operands stand still."""

    x: Scalar
    dx: Scalar
    ddx: Scalar

    def __add__(self, o: Any) -> Taylor:  # type: ignore[override]
        return Taylor(self.x + o.x, self.dx + o.dx, self.ddx + o.ddx) if isinstance(o, Taylor) else Taylor(self.x + o, *self[1:])

    __radd__ = __add__

    def __neg__(self) -> Taylor:
        return Taylor(-self.x, -self.dx, -self.ddx)

    def __sub__(self, o: Any) -> Taylor:
        return self + -o

    def __rsub__(self, o: Any) -> Taylor:
        return -self + o

    def __mul__(self, o: Any) -> Any:  # type: ignore[override]
        if not isinstance(o, Taylor):
            return Taylor(self.x * o, self.dx * o, self.ddx * o)
        return Taylor(self.x * o.x, self.dx * o.x + self.x * o.dx, self.ddx * o.x + self.dx * o.dx * 2 + self.x * o.ddx)

    __rmul__ = __mul__

    def __truediv__(self, o: Any) -> Any:
        return self * o.reciprocal() if isinstance(o, Taylor) else Taylor(self.x / o, self.dx / o, self.ddx / o)

    def __rtruediv__(self, o: Any) -> Any:
        return self.reciprocal() * o

    def reciprocal(self) -> Taylor:
        r = 1 / self.x
        return Taylor(r, -self.dx * r * r, (self.dx * self.dx * r * 2 - self.ddx) * r * r)


class Moving:
    """The field of Taylor scalars over another field; constants stand still."""

    def __init__(self, field: Field) -> None:
        self.field, self.rounding = field, field.rounding

    def constant(self, x: Scalar) -> Scalar:
        return self.field.constant(x)

    def cos_sin(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        if not isinstance(angle, Taylor):
            return self.field.cos_sin(angle)
        c, s = self.field.cos_sin(angle.x)
        square = angle.dx * angle.dx
        return Taylor(c, -s * angle.dx, -(c * square + s * angle.ddx)), Taylor(s, c * angle.dx, c * angle.ddx - s * square)

    def sign(self, x: Scalar) -> Scalar:
        """It does not move, except where it jumps."""
        return self.field.sign(x.x if isinstance(x, Taylor) else x)

    def sqrt(self, x: Taylor) -> Taylor:
        root = self.field.sqrt(x.x)
        rate = x.dx / (root * 2)
        return Taylor(root, rate, (x.ddx / 2 - rate * rate) / root)

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        raise NotImplementedError("no quantity whose rates are wanted takes an arc tangent")

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        raise NotImplementedError("no quantity whose rates are wanted chooses by sign")
