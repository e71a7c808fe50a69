"""The letters in which a robot's equations are written, and the field that lets the algorithms write them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple

from qddot.errors import InputError
from qddot.model.joints import Free, Helical, Prismatic, Revolute, Spherical
from qddot.model.model import Model
from qddot.model.scalar import Scalar, is_symbolic
from qddot.symbolic.exact import Surd, rational, turn
from qddot.symbolic.reading import read
from qddot.symbolic.ring import Generator, NotPolynomialError, Poly, Ring

BOUND = ("sin", "root", "quaternion", "sign", "inverse")  # kinds that a relation may rewrite: they stand first


class Angle(NamedTuple):
    """What sines and cosines are taken of: `multiple * q_coordinate`, or a constant angle (then `coordinate` is None)."""

    name: str
    coordinate: int | None = None
    multiple: Any = Fraction(1)


class Alphabet:
    """A robot's letters.

    Attributes:
        ring: the polynomials in them.
        q, qd, qdd: joint variables as polynomials: (nq,), (nv,), (nv,).
        parameters: names of the parameters -> polynomial.
        angles: each `Angle` with (cos, sin).
    """

    rounding = 0.0
    symbolic = True

    def __init__(self, model: Model, constants: Iterable[Scalar], symbols: Iterable[str] = ()) -> None:
        leaves = leaves_of(constants)
        self.angles: dict[Angle, tuple[Poly, Poly]] = {}
        angles = [*joint_angles(model), *(Angle(str(x), None, x) for kind, x in leaves if kind == "cos")]
        generators = [*letters_of(model, angles, leaves), *(Generator(name, "parameter") for name in symbols)]
        generators.sort(key=lambda g: g.kind not in BOUND)
        self.ring = ring = Ring(generators)
        self._at = {(g.kind, g.of): i for i, g in enumerate(ring.generators)}
        self._bind(model, angles, leaves)
        nq, nv = model.mechanism.nq, model.mechanism.nv
        position = lambda i: self[("position", i)] if ("position", i) in self._at else self[("quaternion", i)]  # noqa: E731
        self.q = [position(i) for i in range(nq)]
        self.qd = [self[("velocity", c)] for c in range(nv)]
        self.qdd = [self[("acceleration", c)] for c in range(nv)]
        self.parameters = {
            g.name: ring.letters[i] for i, g in enumerate(ring.generators) if g.kind in ("parameter", "inverse", "atom")
        }
        self.gradients = self._gradients(model)

    def __getitem__(self, key: tuple[str, Any]) -> Poly:
        return self.ring.letters[self._at[key]]

    def _bind(self, model: Model, angles: list[Angle], leaves: Iterable[tuple[str, Any]]) -> None:
        ring, at = self.ring, self._at
        for p in (2, 3):
            ring.bind(at["root", p], 2, p)
        for angle in angles:
            c = self["cos", angle]
            ring.bind(at["sin", angle], 2, 1 - c * c)
            self.angles[angle] = c, self["sin", angle]
        for i, g in enumerate(ring.generators):
            if g.kind == "sign":
                ring.bind(i, 3, ring.letters[i])
        for c in model.mechanism.coordinates:
            if c.parts[0].quaternion:
                x, y, z = (self["quaternion", c.q.start + k] for k in (1, 2, 3))
                ring.bind(at["quaternion", c.q.start], 2, 1 - x * x - y * y - z * z)
        for kind, x in leaves:
            if kind == "inverse" and ("parameter", x) in at:
                ring.bind(at["inverse", x], 1, 1, at["parameter", x])

    # reading constants ----------------------------------------------------------------------------------------------------

    def exact(self, x: Scalar) -> Scalar:
        """A number of the description as a fraction, an expression as a polynomial; what is exact already, as it is."""
        if isinstance(x, float):
            return rational(x)
        if isinstance(x, Surd):
            two, three = self["root", 2], self["root", 3]
            return (two * x.b + three * x.c + two * three * x.d + x.a) / 4 if any(x[1:]) else Fraction(x.a, 4)
        if is_symbolic(x) and not isinstance(x, Poly):
            return read(x, self._leaf)
        return x

    def _leaf(self, kind: str, x: Any) -> Poly:
        return self[kind, Angle(str(x), None, x) if kind in ("cos", "sin") else x]

    # the field ------------------------------------------------------------------------------------------------------------

    def constant(self, x: Scalar) -> Scalar:
        return self.exact(x)

    def cos_sin(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        """Of a sum of joint variables, each times one of the multiples the robot has, and a number."""
        if not isinstance(angle, Poly) or angle.is_constant:
            c, s, _ = turn(float(angle.value if isinstance(angle, Poly) else angle))
            return self.exact(c), self.exact(s)
        total: tuple[Scalar, Scalar] = (1, 0)
        for powers, coefficient in angle.terms():
            if not powers:
                part = self.cos_sin(coefficient)
            else:
                part = self._multiple(self.ring.from_terms({exponents(powers, self.ring): 1}), coefficient)
            total = total[0] * part[0] - total[1] * part[1], total[1] * part[0] + total[0] * part[1]
        return total

    def _multiple(self, unit: Poly, times: Fraction) -> tuple[Scalar, Scalar]:
        """(cos, sin) of `times * unit` by de Moivre."""
        for angle, (c, s) in self.angles.items():
            if angle.coordinate is None:
                continue
            ratio = times / angle.multiple if isinstance(angle.multiple, Fraction) else times
            whole = self.q[angle.coordinate] * (1 if isinstance(angle.multiple, Fraction) else self.exact(angle.multiple))
            if whole == unit and ratio.denominator == 1:
                power: tuple[Scalar, Scalar] = (1, 0)
                for _ in range(abs(ratio.numerator)):
                    power = power[0] * c - power[1] * s, power[1] * c + power[0] * s
                return power[0], power[1] if ratio > 0 else -power[1]
        raise NotPolynomialError(f"cos({times} {unit}) is not a polynomial in the letters of this robot")

    def sign(self, x: Scalar) -> Scalar:
        for c, rate in enumerate(self.qd):
            if x is rate:
                return self["sign", c]
        raise NotPolynomialError(f"sign({x}) is not a polynomial")

    def sqrt(self, x: Scalar) -> Scalar:
        raise NotPolynomialError("a square root is not a polynomial: this quantity has no closed form in the ring")

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        raise NotPolynomialError("an arc tangent is not a polynomial: this quantity has no closed form in the ring")

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        raise NotPolynomialError("a choice by sign is not a polynomial: this quantity has no closed form in the ring")

    # calculus -------------------------------------------------------------------------------------------------------------

    def _gradients(self, model: Model) -> list[list[tuple[int, Poly]]]:
        """For each column of qd: which letters it changes, and at what rate."""
        found: list[list[tuple[int, Poly]]] = [[] for _ in range(model.mechanism.nv)]
        for c in model.mechanism.coordinates:
            q, v = c.q.start, c.v.start
            for part in c.parts:
                if isinstance(part, (Revolute, Prismatic, Helical)):
                    found[v].append((self._at["position", q], self.ring.constant(1)))
                    for angle, (cos, sin) in self.angles.items():
                        if angle.coordinate == q:
                            rate = self.exact(angle.multiple)
                            found[v] += [(self._at["cos", angle], -sin * rate), (self._at["sin", angle], cos * rate)]
                else:
                    w, x, y, z = self.q[q : q + 4]
                    rates = [(-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w)]
                    for k, rate in enumerate(rates):
                        found[v + k] += [(self._at["quaternion", q + j], r / 2) for j, r in enumerate(rate)]
                    if isinstance(part, Free):
                        R = part.transform(self, self.q[q : q + 7]).R
                        for k in range(3):
                            found[v + 3 + k] += [(self._at["position", q + 4 + j], R[j][k]) for j in range(3)]
                q, v = q + part.nq, v + part.nv
        return found

    def derivative(self, p: Poly, column: int) -> Poly:
        """With respect to the joint variable of a column (along the tangent, for a quaternion)."""
        present = p.letters()
        total = self.ring.constant(0)
        for i, rate in self.gradients[column]:
            if i in present:
                total = total + p.partial(i) * rate
        return total

    def time_derivative(self, p: Poly) -> Poly:
        """Along the motion: `sum dp/dq_i qd_i + dp/dqd_i qdd_i`."""
        total = self.ring.constant(0)
        for c, (rate, rate2) in enumerate(zip(self.qd, self.qdd)):
            total = total + self.derivative(p, c) * rate + p.partial(self._at["velocity", c]) * rate2
        return total


def leaves_of(constants: Iterable[Scalar]) -> dict[tuple[str, Any], None]:
    """Every leaf in the SymPy expressions among some numbers, in order of appearance; an inverse also has its symbol."""
    found: dict[tuple[str, Any], None] = {}

    def leaf(kind: str, x: Any) -> int:
        found["cos" if kind == "sin" else kind, x] = None
        if kind == "inverse" and x.is_Symbol:
            found["parameter", x] = None
        return 1

    for x in constants:
        if is_symbolic(x):
            read(x, leaf)
    return found


def joint_angles(model: Model) -> list[Angle]:
    """One angle a coordinate: the largest of which every joint driven by it makes a whole multiple; others where that fails."""
    rates: dict[int, list[Any]] = {}
    for body in model.bodies:
        if isinstance(body.joint, (Revolute, Helical)):
            rates.setdefault(body.coordinates[0], []).append(body.rate if is_symbolic(body.rate) else rational(float(body.rate)))
    angles = []
    for i, multiples in sorted(rates.items()):
        plain = [m for m in multiples if isinstance(m, Fraction)]
        if plain:
            unit = Fraction(1, math.lcm(*(m.denominator for m in plain)))
            angles.append(Angle(f"q{i + 1}" if unit == 1 else f"q{i + 1}/{unit.denominator}", i, unit))
        angles += [Angle(f"{m}*q{i + 1}", i, m) for m in dict.fromkeys(m for m in multiples if not isinstance(m, Fraction))]
    return angles


def letters_of(model: Model, angles: list[Angle], leaves: Iterable[tuple[str, Any]]) -> list[Generator]:
    """Numbered from 1, as on paper."""
    letters = [Generator(f"sqrt({p})", "root", p) for p in (2, 3)]
    taken = {str(x) for kind, x in leaves if kind == "parameter"}
    for angle in angles:
        short = angle.name.removeprefix("q") if angle.multiple == 1 else f"({angle.name})"
        names = (
            (f"s{short}", f"c{short}")
            if taken.isdisjoint((f"s{short}", f"c{short}"))
            else (f"sin({angle.name})", f"cos({angle.name})")
        )
        letters += [Generator(names[0], "sin", angle), Generator(names[1], "cos", angle)]
    for c in model.mechanism.coordinates:
        q = c.q.start
        for part in c.parts:
            quaternion = 4 if isinstance(part, (Spherical, Free)) else 0
            letters += [Generator(f"q{i + 1}", "quaternion", i) for i in range(q, q + quaternion)]
            letters += [Generator(f"q{i + 1}", "position", i) for i in range(q + quaternion, q + part.nq)]
            q += part.nq
    for v in range(model.mechanism.nv):
        letters += [
            Generator(f"{name}{v + 1}", kind, v)
            for name, kind in (("qd", "velocity"), ("qdd", "acceleration"), ("sign_qd", "sign"))
        ]
    for kind, x in leaves:
        if kind in ("parameter", "atom"):
            letters.append(Generator(str(x), kind, x))
        elif kind == "inverse":
            letters.append(Generator(f"1/{x}" if x.is_Symbol else f"1/({x})", kind, x))
    clash = taken & {g.name for g in letters if g.kind != "parameter"}
    if clash:
        raise InputError(f"the symbol {min(clash)} of this robot is also the name of a joint variable: call it something else")
    return letters


def exponents(powers: dict[int, int], ring: Ring) -> tuple[int, ...]:
    return tuple(powers.get(i, 0) for i in range(len(ring.generators)))
