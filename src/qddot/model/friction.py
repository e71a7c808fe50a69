"""The laws of friction. A shaft that turns at the speed v needs, besides its load, the sum of

    constant            curve over v                    behind a gear ratio N the constant acts
    viscous             v                               N^2 times
    viscous_quadratic   v |v|                           |N|^3 times
    viscous_cubic       v^3                             N^4 times
    coulomb             s(v)                            |N| times
    stribeck            s(v) / (1 + (v / v_s)^2)        |N| times, v_s / |N|
    load                s(v) |load|                     unchanged
    offset              1                               N times

The step s(v) is the sign of v; such friction sticks, and `qddot.simulate` finds out when. Smoothed over a speed w, the step is
`v / (w^4 + v^4)^(1/4)`: its slope at rest is 1 / w, it is 1 to a per cent from `2.2 w` on, and nothing sticks. Viscous, Coulomb and
Stribeck friction may have a different constant for each direction.

The curves are written over any scalar, so kernels, closed forms, printed formulas, exported code and the columns of the regressor
all come from them. They use only `+ - * /`, square roots and signs, which every target rounds alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

from qddot.model.directed import Pair, either_way, not_negative, number, pair, refuse, turned
from qddot.model.field import Field
from qddot.model.scalar import Scalar, is_symbolic, is_zero
from qddot.model.spatial import map_scalars

# friction in a description --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Friction:
    """Friction as a description gives it: the part of a `Drive` about friction, on either side of its gear.

    A number that may depend on the direction is one number, or a pair (positive, negative), whose signs are ignored. Units are
    those of a hinge.

    Args:
        viscous: N m s/rad; may depend on the direction.
        coulomb: dry friction while moving, N m; may depend on the direction.
        static: the load that dry friction holds at standstill, N m, in the same forms; not less than `coulomb`; 0: equal to it.
        stribeck_velocity: speed at which static friction has fallen halfway to Coulomb friction, rad/s; 0: it falls at once.
        load_friction: friction that grows with the load, as a fraction of it: a bad gear has 0.3.
        smoothing_velocity: speed over which dry friction changes its sign, rad/s; 0: at once, and it sticks.
        viscous_quadratic: coefficient of `v |v|`, N m s^2/rad^2.
        viscous_cubic: coefficient of `v^3`, N m s^3/rad^3.
        offset: a force of any sign that does not depend on the speed, N m: of a drive that shows torque at rest.

    Raises:
        ModelValueError: a friction that is negative, or less at standstill than in motion, or that nothing could overcome.
    """

    viscous: Scalar | Pair = 0.0
    coulomb: Scalar | Pair = 0.0
    _: KW_ONLY
    static: Scalar | Pair = 0.0
    stribeck_velocity: Scalar = 0.0
    load_friction: Scalar = 0.0
    smoothing_velocity: Scalar = 0.0
    viscous_quadratic: Scalar = 0.0
    viscous_cubic: Scalar = 0.0
    offset: Scalar = 0.0

    def check_friction(self) -> None:
        """Convert the given values to numbers, and refuse impossible ones."""
        for name in FRICTION:
            value = getattr(self, name)
            value = either_way(name, value) if name in DIRECTED else number(name, value)
            object.__setattr__(self, name, value)
            if name not in (*DIRECTED, *ANY_SIGN):
                not_negative(name, value)
        if not is_symbolic(self.load_friction) and self.load_friction >= 1:
            raise refuse(
                "load_friction",
                self.load_friction,
                "it is less than 1: the joint would never move under load",
                "give the part of the load that is lost",
            )
        for dry, static in zip(pair(self.coulomb), pair(self.static)):
            if not is_zero(static) and not is_symbolic(static - dry) and static < dry:
                raise refuse(
                    "static",
                    self.static,
                    f"less than the Coulomb friction {dry}: a joint at rest holds at least as much",
                    "give more",
                )
        smooth = not is_zero(self.smoothing_velocity)
        if smooth and is_zero(self.stribeck_velocity) and not all(map(is_zero, pair(self.static))):
            raise refuse(
                "static", self.static, "smoothed friction holds nothing at rest", "give stribeck_velocity, or no smoothing_velocity"
            )

    @property
    def friction(self) -> ShaftFriction:
        """The friction as felt on the shaft on which it was measured."""
        dry, static = pair(self.coulomb), pair(self.static)
        rise = [0.0 if is_zero(s) else s - d for s, d in zip(static, dry)]
        return ShaftFriction(
            viscous=pair(self.viscous),
            viscous_quadratic=self.viscous_quadratic,
            viscous_cubic=self.viscous_cubic,
            coulomb=dry,
            stribeck=(rise[0], rise[1]),
            load=self.load_friction,
            offset=self.offset,
            steepness=0.0 if is_zero(self.stribeck_velocity) else 1 / self.stribeck_velocity,
            width=self.smoothing_velocity,
        )


FRICTION = tuple(field.name for field in fields(Friction))
"""The keys of friction in a description."""

DIRECTED = ("viscous", "coulomb", "static")
"""The keys whose value may be a pair, one number for each direction."""

DRY = ("coulomb", "static", "stribeck_velocity", "load_friction")
"""The keys of dry friction, which sticks unless it is smoothed."""


# friction on a shaft --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ShaftFriction:
    """Friction as a shaft feels it: the constants of the laws, and the parameters of their curves."""

    viscous: Pair = (0.0, 0.0)
    viscous_quadratic: Scalar = 0.0
    viscous_cubic: Scalar = 0.0
    coulomb: Pair = (0.0, 0.0)
    stribeck: Pair = (0.0, 0.0)
    load: Scalar = 0.0
    offset: Scalar = 0.0
    steepness: Scalar = 0.0  # reciprocal of the Stribeck velocity; 0: static friction falls to Coulomb's as soon as the shaft moves
    width: Scalar = 0.0  # speed over which dry friction is smoothed; 0: not at all

    @property
    def laws(self) -> tuple[Law, ...]:
        """The laws that act while the shaft moves, except friction by the load."""
        return tuple(law for law in LAWS if not all(map(is_zero, law.values(self))))

    @property
    def is_dry(self) -> bool:
        """True if some friction depends on the direction, however slow the motion."""
        return not all(map(is_zero, (*self.coulomb, *self.stribeck, self.load)))

    @property
    def least_damping(self) -> Scalar:
        """The smaller of the viscous constants, negative if it feeds energy; 0 if they are symbols."""
        return 0.0 if any(map(is_symbolic, self.viscous)) else min(self.viscous)

    @property
    def sticks(self) -> bool:
        """True if friction can hold the shaft at rest."""
        return self.is_dry and is_zero(self.width)

    @property
    def needs_sign(self) -> bool:
        """True if the curves contain the sign of the speed: in hard steps, magnitudes, or constants that depend on the
        direction."""
        bent = any(law.is_signed or not law.is_same_both_ways(self) for law in self.laws)
        hard = any(law.is_dry for law in self.laws) or not is_zero(self.load)
        return bent or (hard and is_zero(self.width))

    @property
    def is_smoothed(self) -> bool:
        """True if the curves contain the smoothed step."""
        return (any(law.is_dry for law in self.laws) or not is_zero(self.load)) and not is_zero(self.width)

    def map(self, f: Callable[[Scalar], Scalar]) -> ShaftFriction:
        """Return the friction with `f` applied to every number."""
        return ShaftFriction(**{x.name: map_scalars(f, getattr(self, x.name)) for x in fields(self)})

    def geared(self, ratio: Scalar) -> ShaftFriction:
        """Return the friction as felt at another shaft, for each turn of which this one makes `ratio` turns."""
        size = abs(ratio)

        def grown(value: Scalar | Pair, power: int) -> Scalar | Pair:
            return turned(value, ratio, size, power) if isinstance(value, tuple) else value * size**power

        return ShaftFriction(
            **{law.name: grown(getattr(self, law.name), law.power) for law in LAWS if law.power},
            load=self.load,
            offset=self.offset * ratio,
            steepness=self.steepness * size,
            width=self.width if is_zero(self.width) or is_zero(size) else self.width / size,
        )

    def constants(self, nominal: ShaftFriction) -> list[tuple[str, Scalar]]:
        """Return (name, value) of each constant that acts in motion, one for each direction where these differ.

        `nominal`: the same friction in plain numbers, which decide which laws and directions there are.
        """
        found: list[tuple[str, Scalar]] = []
        for law in nominal.laws:
            positive, negative = law.values(self)
            found.append((law.name, positive))
            found += [] if law.is_same_both_ways(nominal) else [(law.name + OTHER_WAY, negative)]
        return found + ([] if is_zero(nominal.load) else [(LOAD, self.load)])

    def at(self, field: Field, v: Scalar, direction: Scalar | None = None, nominal: ShaftFriction | None = None) -> Sliding:
        """Return the shaft at the speed v. `direction`: 1, -1 or 0, to be used instead of the sign of v; `nominal`: as in
        `constants`."""
        return Sliding(field, self, nominal or self, v, direction)


class Sliding:
    """A shaft with friction at some speed: the argument of the laws' curves. Terms that no law uses are never computed."""

    def __init__(self, field: Field, friction: ShaftFriction, nominal: ShaftFriction, v: Scalar, direction: Scalar | None) -> None:
        self.field, self.friction, self.nominal, self.v = field, friction, nominal, v
        self.direction = direction

    @cached_property
    def sign(self) -> Scalar:
        return self.field.sign(self.v) if self.direction is None else self.direction

    @cached_property
    def step(self) -> Scalar:
        """s(v)."""
        return self.sign if is_zero(self.nominal.width) else self.v * self._root

    @cached_property
    def step_slope(self) -> Scalar:
        """s'(v)."""
        if is_zero(self.nominal.width):
            return 0
        square, wide = self._root * self._root, self.friction.width * self.friction.width
        return wide * wide * square * square * self._root

    @cached_property
    def _root(self) -> Scalar:
        """`(w^4 + v^4)^(-1/4)`."""
        v, w = self.v * self.v, self.friction.width * self.friction.width
        return self.field.inverse_fourth_root(w * w + v * v)

    @cached_property
    def fall(self) -> Scalar:
        """`1 + (v / v_s)^2`, by which Stribeck's rise is divided."""
        x = self.v * self.friction.steepness
        return 1 + x * x

    @cached_property
    def fall_slope(self) -> Scalar:
        return self.v * self.friction.steepness * self.friction.steepness * 2

    def torque(self) -> Scalar:
        """Return the friction of the shaft, without the part that grows with the load."""
        return self._sum(lambda law: law.curve(self))

    def slope(self) -> Scalar:
        """Return the derivative of `torque` with respect to v."""
        return self._sum(lambda law: law.slope(self))

    def _sum(self, part: Callable[[Law], Scalar]) -> Scalar:
        total: Scalar = 0
        for law in self.nominal.laws:
            positive, negative = law.values(self.friction)
            curve = part(law)
            if law.is_same_both_ways(self.nominal):
                total = total + curve * positive
            else:
                total = total + curve * ((positive + negative) / 2) + curve * self.sign * ((positive - negative) / 2)
        return total

    def load_factor(self, load: Scalar) -> Scalar:
        """Return the factor by which the load grows through friction in the gear.

        The load, which is everything except friction, becomes `load + part * |load| * s(v)`. In the other direction, a force R is
        divided by the factor of R itself: `part` is less than one, so R and the load that it moves have the same sign.
        """
        return 1 + self.friction.load * self.step * self.field.sign(load)

    def load_factor_slope(self, load: Scalar) -> Scalar:
        """Return the derivative of `load_factor` with respect to v."""
        return self.friction.load * self.step_slope * self.field.sign(load)

    def curves(self, load: Scalar) -> dict[str, Scalar]:
        """Return the curve of each of `ShaftFriction.constants`, by its name. `load`: the force on the shaft without friction."""
        found: dict[str, Scalar] = {}
        for law in self.nominal.laws:
            curve = law.curve(self)
            if law.is_same_both_ways(self.nominal):
                found[law.name] = curve
            else:
                found[law.name] = (curve + curve * self.sign) / 2
                found[law.name + OTHER_WAY] = (curve - curve * self.sign) / 2
        if not is_zero(self.nominal.load):
            found[LOAD] = self.step * load * self.field.sign(load)
        return found


class Law(NamedTuple):
    """One law of friction: a constant times a curve."""

    name: str  # of the constant, in `ShaftFriction`, in the regressor and in a fit
    # curve, slope: over the speed of a shaft, per unit of the constant; its derivative
    curve: Callable[[Sliding], Scalar]
    slope: Callable[[Sliding], Scalar]
    power: int = 0  # of the gear ratio: how much larger the constant is at the other shaft; 0: the offset, which has a sign
    is_dry: bool = False  # the curve has a step where the speed changes its sign
    is_signed: bool = False  # the curve contains the sign of the speed, but has no step
    symbol: str = ""  # letter of the constant where numbers become symbols; empty: it stays a number

    def values(self, friction: ShaftFriction) -> Pair:
        """Return the constant for positive and for negative speed; zeros if it does not act in motion."""
        if self.name == "stribeck" and is_zero(friction.steepness):
            return 0, 0
        return pair(getattr(friction, self.name))

    def is_same_both_ways(self, friction: ShaftFriction) -> bool:
        """True if the constant is the same in both directions."""
        positive, negative = self.values(friction)
        return bool(positive == negative)


LAWS = (
    Law("viscous", lambda x: x.v, lambda x: 1, power=2, symbol="Fv"),
    Law("viscous_quadratic", lambda x: x.v * x.v * x.sign, lambda x: x.v * x.sign * 2, power=3, is_signed=True, symbol="Fq"),
    Law("viscous_cubic", lambda x: x.v * x.v * x.v, lambda x: x.v * x.v * 3, power=4, symbol="Fc"),
    Law("coulomb", lambda x: x.step, lambda x: x.step_slope, power=1, is_dry=True, symbol="Fs"),
    Law(
        "stribeck",
        lambda x: x.step / x.fall,
        lambda x: x.step_slope / x.fall - x.step * x.fall_slope / (x.fall * x.fall),
        power=1,
        is_dry=True,
    ),
    Law("offset", lambda x: 1, lambda x: 0, symbol="Fo"),
)
"""The laws that add to the joint forces, linear in their constants; friction by the load is `Sliding.load_factor`."""

LOAD = "load"  # name of the constant of friction by the load
OTHER_WAY = "_negative"  # suffix of the name of a constant for negative speeds, where it differs from that for positive ones
NAMES = (*(f"{law.name}{way}" for law in LAWS for way in ("", OTHER_WAY)), LOAD)
ANY_SIGN = ("offset",)  # constants that may be negative
SETTLED = 2.7  # times the smoothing velocity: from there on the smoothed step is 1 to half a per cent


def smooth_step(v: Any, width: Any) -> Any:
    """Return the smoothed step s(v), of arrays or of anything else that has powers."""
    return v * (width**4 + v**4) ** -0.25


def stribeck_part(x: Any) -> Any:
    """Return the fraction of Stribeck's rise that is left at x times its velocity, for arrays and numbers."""
    return 1 / (1 + x * x)
