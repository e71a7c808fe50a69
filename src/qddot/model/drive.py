"""Drive of a joint: friction, gear and rotor, spring and damper, as one term of the joint, so that no algorithm branches on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from qddot.model.directed import not_negative, number, pair, refuse
from qddot.model.friction import FRICTION, Friction, ShaftFriction
from qddot.model.pose import unit, z_onto
from qddot.model.scalar import Scalar, is_symbolic, is_zero
from qddot.model.spatial import Mat, Vec, map_scalars, vec

SIDES = ("joint", "motor")
Harmonic = tuple[int, Scalar, Scalar]
"""(k, a, b) of `a cos(k q) + b sin(k q)`."""


@dataclass(frozen=True, repr=False)
class Drive(Friction):
    """A joint's drive: friction, gear, rotor and spring. To the force `load` that links and rotor need, the joint adds::

        viscous * qd + (coulomb + (static - coulomb) / (1 + (qd / stribeck_velocity)^2) + load_friction * |load|) * sign(qd),

    the other terms of `Friction`, and `stiffness * (q - rest)` of its spring; each as felt at the joint (`at_joint`). Units are
    those of a hinge; for a slider read N for N m and m for rad.

    Args:
        viscous, coulomb, static, stribeck_velocity, load_friction, smoothing_velocity, viscous_quadratic, viscous_cubic, offset:
            see `qddot.model.friction.Friction`.
        damping: of a damper, N m s/rad; adds to `viscous`, so it is the motor's where the gear is elastic. A negative one, which
            feeds energy, is kept with a warning.
        stiffness: of a spring between the joint's two links, N m/rad.
        rest: joint position where the spring is relaxed, rad; always on the joint side.
        harmonics: of a hinge, (k, a, b) for each additional joint torque `a cos(k q) + b sin(k q)`, N m: of a cylinder that
            balances the arm, or of a motor that cogs k times per turn; always on the joint side.
        gear_ratio: N, motor turns per joint turn.
        rotor_inertia: Jm, kg m^2, always of the rotor itself, about its axis; the joint feels `N^2 Jm`.
        rotor_axis: direction (3,) of that axis on the joint's parent link, in the link's frame. With it the rotor is a gyroscope:
            it turns with the parent, and relative to it at N times the joint's rate. The parent's inertia must then not contain Jm,
            but does contain the rotor's mass and its moments across the axis. Without it, only `N^2 Jm` acts, at the joint.
        series_stiffness: of an elastic gear between motor and joint, N m/rad, None for a rigid one. The motor then has a coordinate
            of its own, `<joint>.motor`, in radians of the joint, after those of all joints: its rotor, friction and damper stay
            with it, joint forces act on it, and the gear pulls both together (Spong 1987); the spring stays with the links.
        series_damping: of that gear, N m s/rad. Both are on the joint's side.
        torque_speed: (stall torque N m, no-load speed rad/s) of the motor itself: the line that limits its torque.
        resistance, inductance, torque_constant: R ohm, L H and k N m/A of an electric motor, for simulations under voltage:
            `u = R i + L di/dt + k N qd` and `tau = N k i`. In SI units k is also the constant of the back-EMF, V s/rad.
        side: where friction, damping and stiffness were measured: `"joint"`, or `"motor"`: then viscous friction, damping and
            stiffness scale with `N^2`, Coulomb friction with `|N|`, and so on (`qddot.model.friction`).

    Raises:
        ModelValueError: a negative friction, stiffness or inertia, a zero gear ratio, an unknown side.

    >>> drive = qddot.Drive(gear_ratio=100, rotor_inertia=1e-4, viscous=0.01, coulomb=0.05)
    >>> drive.at_joint.armature  # gears multiply the rotor's inertia by the square of their ratio
    1.0
    >>> drive
    Drive(viscous=0.01, coulomb=0.05, gear_ratio=100.0, rotor_inertia=0.0001)
    """

    damping: Scalar = 0.0
    stiffness: Scalar = 0.0
    rest: Scalar = 0.0
    gear_ratio: Scalar = 1.0
    rotor_inertia: Scalar = 0.0
    side: str = "joint"
    rotor_axis: Vec | None = None
    torque_speed: tuple[float, float] | None = None
    series_stiffness: Scalar | None = None
    series_damping: Scalar = 0.0
    resistance: Scalar = 0.0
    inductance: Scalar = 0.0
    torque_constant: Scalar = 0.0
    harmonics: tuple[Harmonic, ...] = ()

    def __post_init__(self) -> None:
        if self.side not in SIDES:
            raise refuse("side", self.side, f"not one of {', '.join(SIDES)}", "give one of them")
        self.check_friction()
        for name in MECHANICAL:
            value = number(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if name not in ("rest", "gear_ratio", "damping"):
                not_negative(name, value)
        object.__setattr__(self, "harmonics", _harmonics(self.harmonics))
        if is_zero(self.gear_ratio):
            raise refuse("gear_ratio", self.gear_ratio, "the motor would not turn the joint", "give motor turns per joint turn")
        if self.series_stiffness is not None:
            object.__setattr__(self, "series_stiffness", _positive("series_stiffness", self.series_stiffness))
        elif not is_zero(self.series_damping):
            raise refuse("series_damping", self.series_damping, "only an elastic gear has it", "give series_stiffness")
        for given, needed in (("torque_constant", "resistance"), ("resistance", "torque_constant"), ("inductance", "resistance")):
            if not is_zero(getattr(self, given)) and is_zero(getattr(self, needed)):
                raise refuse(
                    given, getattr(self, given), f"an electric motor has a {needed.replace('_', ' ')} too", f"give {needed}"
                )
        if self.rotor_axis is not None:
            object.__setattr__(self, "rotor_axis", _axis(self.rotor_axis))
        if self.torque_speed is not None:
            object.__setattr__(self, "torque_speed", _torque_speed(self.torque_speed))

    @property
    def given(self) -> dict[str, Any]:
        """The constants that differ from their defaults, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self) if getattr(self, field.name) != field.default}

    def __repr__(self) -> str:
        return f"Drive({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"

    @property
    def is_electric(self) -> bool:
        """True if the drive has a motor that can be put under voltage."""
        return not is_zero(self.resistance)

    @property
    def rotor_turn(self) -> Mat:
        """A rotation that takes z to the rotor's axis."""
        return z_onto(self.rotor_axis or Vec(0.0, 0.0, 1.0))

    @property
    def at_joint(self) -> JointSide:
        """The drive as felt at the joint: constants of the motor's side are scaled by the gear ratio."""
        N = self.gear_ratio
        friction = replace(self.friction, viscous=tuple(x + self.damping for x in pair(self.viscous)))
        stiffness = self.stiffness
        if self.side == "motor":
            friction, stiffness = friction.geared(abs(N)), stiffness * (N * N)  # directions are those of the joint already
        return JointSide(N * N * self.rotor_inertia, stiffness, self.rest, friction, self.harmonics)

    def map(self, f: Callable[[Scalar], Scalar]) -> Drive:
        """The drive with `f` applied to every number."""
        numbers = {name: map_scalars(f, getattr(self, name)) for name in NUMBERS}
        axis = self.rotor_axis and map_scalars(f, self.rotor_axis)
        series = None if self.series_stiffness is None else f(self.series_stiffness)
        harmonics = tuple((k, f(a), f(b)) for k, a, b in self.harmonics)
        return replace(self, rotor_axis=axis, series_stiffness=series, harmonics=harmonics, **numbers)


MECHANICAL = (
    "damping", "stiffness", "rest", "gear_ratio", "rotor_inertia", "series_damping", "resistance", "inductance", "torque_constant",
)  # fmt: skip

NUMBERS = (*FRICTION, *MECHANICAL)
"""The fields of a drive that are one number or a pair of numbers."""


@dataclass(frozen=True)
class JointSide:
    """The constants of a drive as felt at the joint."""

    armature: Scalar = 0.0  # reflected rotor inertia
    stiffness: Scalar = 0.0
    rest: Scalar = 0.0
    friction: ShaftFriction = ShaftFriction()
    harmonics: tuple[Harmonic, ...] = ()  # torques that repeat in every turn

    def driven_by(self, multiplier: Scalar, offset: Scalar) -> JointSide:
        """Return the drive as felt at the coordinate q of a leader, for a joint at `multiplier * q + offset`."""
        square = multiplier * multiplier
        return JointSide(
            armature=self.armature * square,
            stiffness=self.stiffness * square,
            rest=0.0 if is_zero(self.stiffness) or is_zero(multiplier) else (self.rest - offset) / multiplier,
            friction=self.friction.geared(multiplier),
        )

    def map(self, f: Callable[[Scalar], Scalar]) -> JointSide:
        harmonics = tuple((k, f(a), f(b)) for k, a, b in self.harmonics)
        return JointSide(f(self.armature), f(self.stiffness), f(self.rest), self.friction.map(f), harmonics)


def _harmonics(value: object) -> tuple[Harmonic, ...]:
    """Return the (k, a, b) of a drive, checked. Raises ModelValueError: not rows of three numbers, or a wrong order."""
    fix = "give [[k, a, b], ...] for a cos(k q) + b sin(k q), each k once"
    try:
        rows = [tuple(row) for row in value]  # type: ignore[union-attr]
        orders = [int(k) for k, _, _ in rows]
        whole = all(k == row[0] and k > 0 for k, row in zip(orders, rows)) and len(set(orders)) == len(orders)
    except (TypeError, ValueError):
        raise refuse("harmonics", value, "no list of three numbers each", fix) from None
    if not whole:
        raise refuse("harmonics", value, "orders are whole numbers from 1 on, each once", fix)
    return tuple((k, number("harmonics", a), number("harmonics", b)) for k, (_, a, b) in zip(orders, rows))


def _axis(value: Sequence[Scalar]) -> Vec:
    """Return the unit vector of a rotor's axis. Raises ModelValueError: not three numbers, or zero."""
    try:
        axis, length = unit(vec(value))
    except (TypeError, ValueError) as error:
        raise refuse("rotor_axis", value, str(error), "give three finite numbers") from None
    if is_zero(length):
        raise refuse("rotor_axis", value, "an axis has a direction", "give a vector that is not zero")
    return axis


def _torque_speed(value: Sequence[float]) -> tuple[float, float]:
    """Return (stall torque, no-load speed), checked. Raises ModelValueError: not two positive numbers."""
    numbers = tuple(number("torque_speed", x) for x in value) if isinstance(value, Sequence) else ()
    if len(numbers) != 2 or any(is_symbolic(x) or x <= 0 for x in numbers):
        raise refuse("torque_speed", value, "two positive numbers are needed, stall torque and no-load speed", "give both")
    return numbers[0], numbers[1]


def _positive(name: str, value: object) -> Scalar:
    """Return a positive number or an expression. Raises ModelValueError: anything else."""
    x = number(name, value)
    if not is_symbolic(x) and x <= 0:
        raise refuse(name, value, "a positive number is needed", "give a number above zero")
    return x
