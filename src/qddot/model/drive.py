"""What sits on a joint: friction, gear and rotor, spring and damper. A term of the joint, so that no algorithm branches on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from qddot.errors import ModelValueError
from qddot.model.scalar import Scalar, as_scalar, is_symbolic, is_zero

SIDES = ("joint", "motor")


@dataclass(frozen=True)
class Drive:
    """A joint's drive. Besides what the links ask for, the joint needs

        armature * qdd + viscous * qd + coulomb * sign(qd) + stiffness * (q - rest),

    each as felt at the joint (`at_joint`). Units are those of a hinge; for a slider read N for N m and m for rad.

    Args:
        viscous: viscous friction, N m s/rad.
        coulomb: dry friction, N m: one magnitude, or a pair (positive direction, negative direction; the sign is ignored).
        damping: of a damper beside the spring, N m s/rad; adds to `viscous`.
        stiffness: of a spring, N m/rad.
        rest: joint position where the spring is relaxed, rad; always on the joint side.
        gear_ratio: N, motor turns per joint turn.
        rotor_inertia: Jm, kg m^2, always of the rotor itself; the joint feels `N^2 Jm`.
        side: where friction, damping and stiffness were measured: `"joint"`, or `"motor"`: then viscous friction, damping and
            stiffness scale with `N^2`, Coulomb friction with `|N|`.

    Raises:
        ModelValueError: a negative friction, stiffness or inertia, a zero gear ratio, an unknown side.
    """

    viscous: Scalar = 0.0
    coulomb: Scalar | tuple[Scalar, Scalar] = 0.0
    damping: Scalar = 0.0
    stiffness: Scalar = 0.0
    rest: Scalar = 0.0
    gear_ratio: Scalar = 1.0
    rotor_inertia: Scalar = 0.0
    side: str = "joint"

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise refuse("side", self.side, f"not one of {', '.join(SIDES)}")
        for field in fields(self):
            if field.name in ("side", "coulomb"):
                continue
            value = _number(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if field.name not in ("rest", "gear_ratio"):
                _not_negative(field.name, value)
        if is_zero(self.gear_ratio):
            raise refuse("gear_ratio", self.gear_ratio, "the motor would not turn the joint")
        object.__setattr__(self, "coulomb", _coulomb(self.coulomb))

    @property
    def at_joint(self) -> JointSide:
        """The same drive as the joint feels it."""
        N = self.gear_ratio
        square, linear = (N * N, abs(N)) if self.side == "motor" else (1.0, 1.0)
        positive, negative = self.coulomb if isinstance(self.coulomb, tuple) else (self.coulomb, self.coulomb)
        return JointSide(
            armature=N * N * self.rotor_inertia,
            viscous=(self.viscous + self.damping) * square,
            coulomb=(positive * linear, negative * linear),
            stiffness=self.stiffness * square,
            rest=self.rest,
        )

    def map(self, f: Callable[[Scalar], Scalar]) -> Drive:
        """The drive with `f` applied to every number."""
        coulomb = tuple(map(f, self.coulomb)) if isinstance(self.coulomb, tuple) else f(self.coulomb)
        numbers = {x.name: f(getattr(self, x.name)) for x in fields(self) if x.name not in ("side", "coulomb")}
        return replace(self, coulomb=coulomb, **numbers)


@dataclass(frozen=True)
class JointSide:
    """A drive's values at the joint: `armature` is the reflected rotor inertia, `coulomb` the pair (positive, negative)."""

    armature: Scalar = 0.0
    viscous: Scalar = 0.0
    coulomb: tuple[Scalar, Scalar] = (0.0, 0.0)
    stiffness: Scalar = 0.0
    rest: Scalar = 0.0

    def driven_by(self, multiplier: Scalar, offset: Scalar) -> JointSide:
        """As felt at the coordinate of a leader, for a joint at `multiplier * q + offset`."""
        square, linear = multiplier * multiplier, abs(multiplier)
        coulomb = self.coulomb if is_symbolic(multiplier) or multiplier > 0 else self.coulomb[::-1]
        return JointSide(
            armature=self.armature * square,
            viscous=self.viscous * square,
            coulomb=(coulomb[0] * linear, coulomb[1] * linear),
            stiffness=self.stiffness * square,
            rest=0.0 if is_zero(self.stiffness) or is_zero(multiplier) else (self.rest - offset) / multiplier,
        )

    def map(self, f: Callable[[Scalar], Scalar]) -> JointSide:
        positive, negative = map(f, self.coulomb)
        return JointSide(f(self.armature), f(self.viscous), (positive, negative), f(self.stiffness), f(self.rest))


def _coulomb(value: Scalar | Sequence[Scalar]) -> Scalar | tuple[Scalar, Scalar]:
    if not isinstance(value, Sequence):
        value = _number("coulomb", value)
        _not_negative("coulomb", value)
        return value
    if len(value) != 2:
        raise refuse("coulomb", value, "one number or a pair is needed")
    positive, negative = (abs(_number("coulomb", c)) for c in value)
    return positive, negative


def _not_negative(name: str, value: Scalar) -> None:
    if not is_symbolic(value) and value < 0:
        raise refuse(name, value, "friction, stiffness and inertia are not negative")


def _number(name: str, value: object) -> Scalar:
    try:
        return as_scalar(value)
    except (TypeError, ValueError) as error:
        raise refuse(name, value, str(error)) from None


def refuse(name: str, value: object, rule: str) -> ModelValueError:
    return ModelValueError(rule, element="drive", attribute=name, text=str(value))
