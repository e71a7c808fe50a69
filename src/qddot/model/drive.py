"""What sits on a joint: friction, gear and rotor, spring and damper. A term of the joint, so that no algorithm branches on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

from qddot.errors import ModelValueError
from qddot.model.pose import unit, z_onto
from qddot.model.scalar import Scalar, as_scalar, is_symbolic, is_zero
from qddot.model.spatial import Mat, Vec, map_scalars, vec

SIDES = ("joint", "motor")


@dataclass(frozen=True)
class Drive:
    """A joint's drive. Besides what the links ask for, `load` with the rotor in it, the joint needs::

        viscous * qd + (coulomb + (static - coulomb) / (1 + (qd / stribeck_velocity)^2) + load_friction * |load|) * sign(qd),

    and its spring adds `stiffness * (q - rest)`; each as felt at the joint (`at_joint`). Units are those of a hinge; for a slider
    read N for N m and m for rad.

    Args:
        viscous: viscous friction, N m s/rad.
        coulomb: dry friction, N m: one magnitude, or a pair (positive direction, negative direction; the sign is ignored).
        static: what dry friction holds at standstill, N m, in the same forms; not less than `coulomb`, which 0 means.
        stribeck_velocity: speed at which the difference of static and Coulomb friction has halved, rad/s; 0: at once.
        load_friction: friction that grows with the load, as a part of it: a bad gear has 0.3.
        damping: of a damper, N m s/rad; adds to `viscous`, so it is the motor's where the gear is elastic. A negative one, which
            feeds energy, is kept with a warning.
        stiffness: of a spring between the joint's two links, N m/rad.
        rest: joint position where the spring is relaxed, rad; always on the joint side.
        gear_ratio: N, motor turns per joint turn.
        rotor_inertia: Jm, kg m^2, always of the rotor itself, about its axis; the joint feels `N^2 Jm`.
        rotor_axis: direction (3,) of that axis on the joint's parent link, in the link's frame: then the rotor is a gyroscope,
            which turns with the parent and at N times the joint's rate on top of it, and the parent's inertia must not contain Jm
            (it does contain the rotor's mass and its moments across the axis). Without it, only `N^2 Jm` is felt, at the joint.
        series_stiffness: of an elastic gear between motor and joint, N m/rad, None for a rigid one. The motor then has a coordinate
            of its own, `<joint>.motor`, in radians of the joint, after those of all joints: its rotor, friction and damper stay
            with it, joint forces act on it, and the gear pulls both together (Spong 1987); the spring stays with the links.
        series_damping: of that gear, N m s/rad. Both are on the joint's side.
        torque_speed: (stall torque N m, no-load speed rad/s) of the motor itself: the line that limits what it can give.
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
    static: Scalar | tuple[Scalar, Scalar] = 0.0
    stribeck_velocity: Scalar = 0.0
    load_friction: Scalar = 0.0
    rotor_axis: Vec | None = None
    torque_speed: tuple[float, float] | None = None
    series_stiffness: Scalar | None = None
    series_damping: Scalar = 0.0

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise refuse("side", self.side, f"not one of {', '.join(SIDES)}")
        for field in fields(self):
            if field.name not in NUMBERS:
                continue
            value = _number(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if field.name not in ("rest", "gear_ratio", "damping"):
                _not_negative(field.name, value)
        if is_zero(self.gear_ratio):
            raise refuse("gear_ratio", self.gear_ratio, "the motor would not turn the joint")
        if not is_symbolic(self.load_friction) and self.load_friction >= 1:
            raise refuse("load_friction", self.load_friction, "it is less than 1: the joint would never move under load")
        for name in ("coulomb", "static"):
            object.__setattr__(self, name, _dry(name, getattr(self, name)))
        for dry, static in zip(pair(self.coulomb), pair(self.static)):
            if not is_zero(static) and not is_symbolic(static - dry) and static < dry:
                raise refuse("static", self.static, f"less than the Coulomb friction {dry}: a joint at rest holds at least as much")
        if self.series_stiffness is not None:
            object.__setattr__(self, "series_stiffness", _positive("series_stiffness", self.series_stiffness))
        elif not is_zero(self.series_damping):
            raise refuse("series_damping", self.series_damping, "only an elastic gear has it: give series_stiffness")
        if self.rotor_axis is not None:
            object.__setattr__(self, "rotor_axis", _axis(self.rotor_axis))
        if self.torque_speed is not None:
            object.__setattr__(self, "torque_speed", _torque_speed(self.torque_speed))

    @property
    def rotor_turn(self) -> Mat:
        """A rotation that takes z to the rotor's axis."""
        return z_onto(self.rotor_axis or Vec(0.0, 0.0, 1.0))

    @property
    def at_joint(self) -> JointSide:
        """The same drive as the joint feels it."""
        N = self.gear_ratio
        square, linear = (N * N, abs(N)) if self.side == "motor" else (1.0, 1.0)
        dry, static = pair(self.coulomb), pair(self.static)
        rise = [0.0 if is_zero(s) else (s - d) * linear for s, d in zip(static, dry)]
        return JointSide(
            armature=N * N * self.rotor_inertia,
            viscous=(self.viscous + self.damping) * square,
            coulomb=(dry[0] * linear, dry[1] * linear),
            stiffness=self.stiffness * square,
            rest=self.rest,
            rise=(rise[0], rise[1]),
            steepness=0.0 if is_zero(self.stribeck_velocity) else linear / self.stribeck_velocity,
            load=self.load_friction,
        )

    def map(self, f: Callable[[Scalar], Scalar]) -> Drive:
        """The drive with `f` applied to every number."""
        numbers = {name: f(getattr(self, name)) for name in NUMBERS}
        pairs = {name: _each(f, getattr(self, name)) for name in ("coulomb", "static")}
        axis = self.rotor_axis and map_scalars(f, self.rotor_axis)
        series = None if self.series_stiffness is None else f(self.series_stiffness)
        return replace(self, rotor_axis=axis, series_stiffness=series, **pairs, **numbers)


NUMBERS = (
    "viscous",
    "damping",
    "stiffness",
    "rest",
    "gear_ratio",
    "rotor_inertia",
    "stribeck_velocity",
    "load_friction",
    "series_damping",
)
"""The fields of a drive that are one number."""


@dataclass(frozen=True)
class JointSide:
    """A drive's values at the joint.

    Attributes:
        armature: reflected rotor inertia.
        coulomb: (positive, negative) dry friction while moving.
        rise: by how much static friction exceeds it, in the same order.
        steepness: the reciprocal of the Stribeck velocity; 0 where the rise is gone as soon as the joint moves.
        load: friction as a part of the load.
    """

    armature: Scalar = 0.0
    viscous: Scalar = 0.0
    coulomb: tuple[Scalar, Scalar] = (0.0, 0.0)
    stiffness: Scalar = 0.0
    rest: Scalar = 0.0
    rise: tuple[Scalar, Scalar] = (0.0, 0.0)
    steepness: Scalar = 0.0
    load: Scalar = 0.0

    @property
    def is_dry(self) -> bool:
        """Some friction depends on the direction."""
        return not all(map(is_zero, (*self.coulomb, self.load))) or self.has_stribeck

    @property
    def has_stribeck(self) -> bool:
        return not is_zero(self.steepness) and not all(map(is_zero, self.rise))

    def driven_by(self, multiplier: Scalar, offset: Scalar) -> JointSide:
        """As felt at the coordinate of a leader, for a joint at `multiplier * q + offset`."""
        square, linear = multiplier * multiplier, abs(multiplier)
        forward = is_symbolic(multiplier) or multiplier > 0
        coulomb, rise = (x if forward else x[::-1] for x in (self.coulomb, self.rise))
        return JointSide(
            armature=self.armature * square,
            viscous=self.viscous * square,
            coulomb=(coulomb[0] * linear, coulomb[1] * linear),
            stiffness=self.stiffness * square,
            rest=0.0 if is_zero(self.stiffness) or is_zero(multiplier) else (self.rest - offset) / multiplier,
            rise=(rise[0] * linear, rise[1] * linear),
            steepness=self.steepness * linear,
            load=self.load,
        )

    def map(self, f: Callable[[Scalar], Scalar]) -> JointSide:
        return JointSide(**{x.name: _each(f, getattr(self, x.name)) for x in fields(self)})


def _each(f: Callable[[Scalar], Scalar], x: Scalar | tuple[Scalar, Scalar]) -> Scalar | tuple[Scalar, ...]:
    return tuple(map(f, x)) if isinstance(x, tuple) else f(x)


def pair(value: Scalar | tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    """(positive, negative), the same for both where only one is given."""
    return value if isinstance(value, tuple) else (value, value)


def _dry(name: str, value: Scalar | Sequence[Scalar]) -> Scalar | tuple[Scalar, Scalar]:
    if not isinstance(value, Sequence):
        value = _number(name, value)
        _not_negative(name, value)
        return value
    if len(value) != 2:
        raise refuse(name, value, "one number or a pair is needed")
    positive, negative = (abs(_number(name, c)) for c in value)
    return positive, negative


def _axis(value: Sequence[Scalar]) -> Vec:
    try:
        axis, length = unit(vec(value))
    except (TypeError, ValueError) as error:
        raise refuse("rotor_axis", value, str(error)) from None
    if is_zero(length):
        raise refuse("rotor_axis", value, "an axis has a direction")
    return axis


def _torque_speed(value: Sequence[float]) -> tuple[float, float]:
    numbers = tuple(_number("torque_speed", x) for x in value) if isinstance(value, Sequence) else ()
    if len(numbers) != 2 or any(is_symbolic(x) or x <= 0 for x in numbers):
        raise refuse("torque_speed", value, "two positive numbers are needed, stall torque and no-load speed")
    return numbers[0], numbers[1]


def _positive(name: str, value: object) -> Scalar:
    number = _number(name, value)
    if not is_symbolic(number) and number <= 0:
        raise refuse(name, value, "a positive number is needed")
    return number


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
