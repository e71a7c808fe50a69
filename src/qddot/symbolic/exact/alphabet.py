"""The letters of a robot's equations, and the field over which the algorithms compute with them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import sympy

from qddot.algorithms.drives import multiple
from qddot.errors import InputError
from qddot.model.joints import Free, Helical, Prismatic, Revolute
from qddot.model.lower import Mechanism
from qddot.model.scalar import Scalar, is_symbolic
from qddot.symbolic.exact.letters import ARRAYS, FURTHER, Angle, Leaves, Load, Signed, joint_angles, known_sign, letters_of
from qddot.symbolic.exact.numbers import Surd, rational, turn
from qddot.symbolic.exact.reading import Leaf, angle_parts, exactly, read, squared
from qddot.symbolic.exact.ring import NotPolynomialError, Poly, Ring

MAX_MULTIPLE = 64
RATELESS = ("acceleration", *FURTHER)

Pair = tuple[Scalar, Scalar]


class Alphabet:
    """The letters of a robot, and the field of its closed forms.

    Args:
        mechanism: its joints (poses and inertias are not looked at).
        constants: every number and SymPy expression that will be read.
        symbols: names of further parameters.
        signed: the arguments of the signs and smoothed rates that friction needs.
        further: number of letters of each kind in `FURTHER`.

    Attributes:
        ring: the polynomials in the letters.
        q, qd, qdd: joint variables as polynomials: (nq,), (nv,), (nv,).
        further: kind in `FURTHER` -> its letters.
        sizes: array that holds values of letters -> its length.
        parameters: names of the parameters -> polynomial.
        angles: `Angle` -> (cos, sin).
        signs: letter that is a sign -> argument of the sign; loads only after `know_loads`.
        loads: letter that is the sign of a load -> column of the load.
        softened: letter that is an inverse fourth root -> argument of the root; only after `know_softened`.
        opaque: names of letters whose relations to other letters are not known, so that `==` does not see them.
    """

    rounding = 0.0
    symbolic = True

    def __init__(
        self,
        mechanism: Mechanism,
        constants: Iterable[Scalar],
        symbols: Iterable[str] = (),
        signed: Iterable[Signed] = (),
        further: Mapping[str, int] | None = None,
    ) -> None:
        further = further or {}
        leaves = Leaves()
        for x in constants:
            leaves.add(x)
        for body in mechanism.bodies:
            leaves.add(body.rate)
            if isinstance(body.joint, (Revolute, Helical)):
                leaves.add_angle(body.offset)
        angles = [*joint_angles(mechanism), *leaves.angles()]
        self.ring = ring = Ring(letters_of(mechanism, angles, leaves, tuple(symbols), signed, further))
        self._at = {(g.kind, g.of): i for i, g in enumerate(ring.generators)}
        self._bind(mechanism, angles, leaves)
        self._pi = self._at["atom", sympy.pi]
        position = lambda i: self[("position", i)] if ("position", i) in self._at else self[("quaternion", i)]  # noqa: E731
        self.q = [position(i) for i in range(mechanism.nq)]
        self.qd = [self[("velocity", c)] for c in range(mechanism.nv)]
        self.qdd = [self[("acceleration", c)] for c in range(mechanism.nv)]
        self.further = {kind: [self[(kind, i)] for i in range(size)] for kind, size in further.items()}
        self.sizes = {"q": mechanism.nq, "qd": mechanism.nv, "qdd": mechanism.nv} | {ARRAYS[k]: n for k, n in further.items()}
        self.angles = {angle: (self["cos", angle], self["sin", angle]) for angle in angles}
        self._arguments = {angle: self._argument(angle) for angle in angles}
        self._bind_roots(leaves)
        self.parameters = {
            g.name: ring.letters[i] for i, g in enumerate(ring.generators) if g.kind in ("parameter", "inverse", "atom")
        }
        signs = {i: g.of for i, g in enumerate(ring.generators) if g.kind == "sign"}
        self.loads = {i: of.column for i, of in signs.items() if isinstance(of, Load)}
        self.signs = {i: self._turning(of) for i, of in signs.items() if i not in self.loads}
        self.softened: dict[int, Poly] = {}
        self.opaque = self._opaque()
        self.gradients = self._gradients(mechanism)

    def __getitem__(self, key: tuple[str, Any]) -> Poly:
        return self.ring.letters[self._at[key]]

    def __contains__(self, key: tuple[str, Any]) -> bool:
        return key in self._at

    def index(self, kind: str, of: Any) -> int:
        """Return the index of a letter."""
        return self._at[kind, of]

    def _bind(self, mechanism: Mechanism, angles: list[Angle], leaves: Leaves) -> None:
        """Add the relations of the letters, inner before outer, reciprocals first: each needs only those before it."""
        ring, at = self.ring, self._at
        for kind, x in leaves.of("inverse"):
            inside = x.args[0] if x.args else None
            candidates = (("parameter", x), ("atom", x), ("cos", Angle(str(inside), None, inside)) if x.is_Function else None)
            other = next((at[key] for key in candidates if key in at), None)
            if other is not None and squared(x) is None:
                ring.bind(at[kind, x], 1, 1, other)
        for kind, p in leaves.of("root"):
            ring.bind(at[kind, p], 2, p)
        for i, g in enumerate(ring.generators):
            if g.kind == "sign":
                ring.bind(i, 3, ring.letters[i])
                if isinstance(g.of, int):  # shafts that share a joint would take many more relations
                    ring.bind(i, 2, self["velocity", g.of], at["velocity", g.of])
        for c in mechanism.coordinates:
            if c.parts[0].quaternion:
                x, y, z = (self["quaternion", c.q.start + k] for k in (1, 2, 3))
                ring.bind(at["quaternion", c.q.start], 2, 1 - x * x - y * y - z * z)
        for angle in angles:
            ring.bind(at["sin", angle], 2, 1 - self["cos", angle] ** 2)

    def _bind_roots(self, leaves: Leaves) -> None:
        for kind, x in leaves.of("atom"):
            square = squared(x)
            if square is not None:
                self.ring.bind(self._at[kind, x], 2, self.ring.constant(read(square, self._leaf)))

    def _opaque(self) -> list[str]:
        bound = {i for i, letter in enumerate(self.ring.letters) if letter.marks}
        names = [
            g.name
            for i, g in enumerate(self.ring.generators)
            if (g.kind in ("inverse", "atom") and i not in bound and g.name != "pi")
            or (g.kind == "sign" and not isinstance(g.of, int))
            or g.kind == "soft"
        ]
        seen: set[tuple[int | None, Any]] = set()
        for angle, (powers, _) in self._arguments.items():
            key = angle.coordinate, powers
            names += [f"cos({angle.name})"] if key in seen else []
            seen.add(key)
        return names

    # reading constants ----------------------------------------------------------------------------------------------------

    def exact(self, x: Scalar) -> Scalar:
        """Return a number of the description as a fraction, an expression as a polynomial, and exact numbers as they are."""
        kind = x.__class__
        if kind is Poly or kind is int or kind is Fraction:
            return x
        if isinstance(x, float):
            return rational(x) if x else 0
        if kind is Surd:
            two, three = self["root", 2], self["root", 3]
            if any(x[1:]):
                return (two * x.b + three * x.c + two * three * x.d + x.a) / 4
            return Fraction(x.a, 4) if x.a % 4 else x.a // 4
        return read(x if x.is_Symbol else exactly(x), self._leaf) if is_symbolic(x) else x

    def _leaf(self, kind: str, x: Any) -> Scalar:
        if kind not in ("cos", "sin"):
            return self[kind, x]
        return self.cos_sin_of(x, self._leaf)[kind == "sin"]

    def cos_sin_of(self, angle: Any, leaf: Leaf) -> Pair:
        """Return cosine and sine of a SymPy expression whose leaves are read by `leaf`."""
        parts, number = angle_parts(angle)
        total: Scalar = rational(number) if parts else number
        for monomial, times in parts.items():
            total = total + read(monomial, leaf) * times
        return self.cos_sin(total)

    def is_number(self, x: Scalar) -> bool:
        """Tell whether a scalar is a number: it has no letters but roots of numbers."""
        return not isinstance(x, Poly) or all(self.ring.generators[i].kind == "root" for i in x.letters())

    # the field ------------------------------------------------------------------------------------------------------------

    constant = exact

    def cos_sin(self, angle: Scalar) -> Pair:
        """Return cosine and sine of a number plus joint variables and constant angles, in multiples that the robot has."""
        if not isinstance(angle, Poly) or angle.is_constant:
            try:
                number = float(angle.value if isinstance(angle, Poly) else angle)
            except OverflowError:  # hundreds of digits
                raise InputError("an angle is beyond 1e308 rad: give angles of some turns") from None
            c, s, _ = turn(number, written=False)
            return self.exact(c), self.exact(s)
        total: Pair = (1, 0)
        for powers, coefficient in angle.terms():
            if powers.keys() <= {self._pi}:
                part = self.cos_sin(float(coefficient) * math.pi ** powers.get(self._pi, 0))
            else:
                part = self._multiple(powers, coefficient)
            (a, b), (c, s) = total, part
            total = a * c - b * s, b * c + a * s
        return total

    def _argument(self, angle: Angle) -> tuple[frozenset[tuple[int, int]], Fraction]:
        """Return the angle as a monomial (its powers) and the fraction that multiplies it."""
        whole = self.exact(angle.multiple)
        if angle.coordinate is not None:
            whole = self.q[angle.coordinate] * whole
        terms = list(whole.terms())
        return (frozenset(terms[0][0].items()), terms[0][1]) if len(terms) == 1 else (frozenset(), Fraction(1))

    def _multiple(self, powers: dict[int, int], times: Fraction) -> Pair:
        """Return (cos, sin) of a monomial times a fraction, from a known angle of which it is a multiple."""
        key = frozenset(powers.items())
        ratios = [(times / unit, angle) for angle, (argument, unit) in self._arguments.items() if argument == key]
        whole = [(abs(ratio), ratio, angle) for ratio, angle in ratios if ratio.denominator == 1 and abs(ratio) <= MAX_MULTIPLE]
        if not whole:
            unit = self.ring.from_terms({tuple(powers.get(i, 0) for i in range(len(self.ring.generators))): 1})
            raise NotPolynomialError(f"cos({unit * times}) is not a polynomial in the letters of this robot")
        size, ratio, angle = min(whole, key=lambda found: found[0])
        c, s = multiple(self.angles[angle], int(size))
        return c, s if ratio > 0 else -s

    def sign(self, x: Scalar) -> Scalar:
        """Return the sign of a number, or plus or minus the letter for the sign of a multiple of its argument. Raises
        NotPolynomialError: there is no such letter."""
        if not isinstance(x, Poly) or x.is_constant:
            number = x.value if isinstance(x, Poly) else x
            return int(number > 0) - int(number < 0)
        side, bare = self._bare(x)
        for i, known in self.signs.items():
            turned, other = self._bare(known)
            times = bare.p.leading_coefficient() / other.p.leading_coefficient()
            if other.p * times == bare.p:
                return self.ring.letters[i] * (side * turned * (1 if times > 0 else -1))
        raise NotPolynomialError(f"the sign of {x} is no letter of these equations")

    def _bare(self, x: Poly) -> tuple[int, Poly]:
        """Return (side, y): x without common factors whose signs are known; its sign is `side` times that of y."""
        side, p = 1, x.p
        for i, e in enumerate(x.p.term_content().degrees()):
            generator = self.ring.generators[i]
            known = 1 if generator.kind == "root" else known_sign(generator.of)
            if e and known:
                side, p = side * known ** int(e), divmod(p, self.ring.raw[i] ** e)[0]
        return side, Poly(self.ring, p, x.marks)

    def _turning(self, of: Any) -> Poly:
        """Return the rate of a column or of a shaft, without common factors of known sign."""
        turns = [(of, 1)] if isinstance(of, int) else of
        return self._bare(sum((self.qd[c] * self.exact(ratio) for c, ratio in turns), self.ring.constant(0)))[1]

    def know_loads(self, loads: Sequence[Scalar]) -> None:
        """Learn the load of every column: from now on their signs have a meaning."""
        known = {i: self.ring.constant(loads[column]) for i, column in self.loads.items()}
        self.signs.update({i: load for i, load in known.items() if load.is_open})

    def know_softened(self, roots: Iterable[Poly]) -> None:
        """Keep the polynomials whose inverse fourth roots the letters of smoothed rates are, in the order of these letters."""
        self.softened = dict(zip((i for i, g in enumerate(self.ring.generators) if g.kind == "soft"), roots))

    def inverse_fourth_root(self, x: Scalar) -> Poly:
        """Return the letter that is the inverse fourth root of x. Raises NotPolynomialError: there is none."""
        for i, known in self.softened.items():
            if known == x:
                return self.ring.letters[i]
        raise NotPolynomialError(f"({x})^(-1/4) is no letter of these equations")

    def by_magnitude(self, p: Poly, i: int) -> tuple[Poly, Poly]:
        """Return (times, rest) with `p = times |load| + rest`, where letter i is the sign of the load: `|load| = load * sign`."""
        times, rest = divmod(p.p, self.ring.raw[i] * self.ring.adopted(self.signs[i]).p)
        return Poly(self.ring, times, p.marks), Poly(self.ring, rest, p.marks)

    def length(self, p: Poly) -> int:
        """Return the number of terms in print, where the magnitude of a load is one letter."""
        for i in p.letters() & self.loads.keys():
            times, rest = self.by_magnitude(p, i)
            if times:
                return self.length(times) + self.length(rest)
        return len(p)

    def sqrt(self, x: Scalar) -> Scalar:
        raise NotPolynomialError("a square root is not a polynomial: this quantity has no closed form in the ring")

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        raise NotPolynomialError("an arc tangent is not a polynomial: this quantity has no closed form in the ring")

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        raise NotPolynomialError("a choice by sign is not a polynomial: this quantity has no closed form in the ring")

    # calculus -------------------------------------------------------------------------------------------------------------

    def _gradients(self, mechanism: Mechanism) -> list[dict[int, Poly]]:
        """Return for each column of qd the letters that change with it, and their derivatives."""
        found: list[dict[int, Poly]] = [{} for _ in range(mechanism.nv)]
        for part, places, columns in mechanism.parts():
            q, v = places.start, columns.start
            if isinstance(part, (Revolute, Prismatic, Helical)):
                found[v][self._at["position", q]] = self.ring.constant(1)
                for angle, (cos, sin) in self.angles.items():
                    if angle.coordinate == q:
                        rate = self.exact(angle.multiple)
                        found[v] |= {self._at["cos", angle]: -sin * rate, self._at["sin", angle]: cos * rate}
                continue
            w, x, y, z = self.q[q : q + 4]
            rates = [(-x, w, z, -y), (-y, -z, w, x), (-z, y, -x, w)]
            for k, rate in enumerate(rates):
                found[v + k] |= {self._at["quaternion", q + j]: r / 2 for j, r in enumerate(rate)}
            if isinstance(part, Free):
                R = part.transform(self, self.q[places]).R
                for k in range(3):
                    found[v + 3 + k] |= {self._at["position", q + 4 + j]: R[j][k] for j in range(3)}
        return found

    def _chain(self, p: Poly, slopes: Mapping[int, Poly]) -> Poly:
        """Return the derivative of p, given those of its letters, also through the smoothed rates that contain these."""
        total = self.ring.constant(0)
        for i in p.letters() & (slopes.keys() | self.softened.keys()):
            if i in slopes:
                total = total + p.partial(i) * slopes[i]
            elif inside := self._chain(self.softened[i], slopes):
                total = total - p.partial(i) * inside * self.ring.letters[i] ** 5 / 4
        return total

    def derivative(self, p: Poly, column: int) -> Poly:
        """Return the derivative with respect to the joint variable of a column (along the tangent, for a quaternion)."""
        return self._chain(p, self.gradients[column])

    def rate_derivative(self, p: Poly, i: int) -> Poly:
        """Return the derivative with respect to a rate or an acceleration, letter i."""
        return self._chain(p, {i: self.ring.constant(1)})

    def time_derivative(self, p: Poly) -> Poly:
        """Return the derivative along the motion, `sum dp/dq_i qd_i + dp/dqd_i qdd_i`. Raises NotPolynomialError: p has a letter
        whose rate has none, such as an acceleration."""
        for i in p.letters():
            if self.ring.generators[i].kind in RATELESS:
                raise NotPolynomialError(f"there is no letter for the rate of {self.ring.generators[i].name}")
        total = self.ring.constant(0)
        for c, (rate, rate2) in enumerate(zip(self.qd, self.qdd)):
            total = total + self.derivative(p, c) * rate + self.rate_derivative(p, self._at["velocity", c]) * rate2
        return total

    def dependents(self, i: int) -> list[int]:
        """Return the letters made of a parameter: sines of it, its reciprocal, roots and other atoms with it inside."""
        symbol = self.ring.generators[i].of
        inside = lambda x: getattr(x.multiple if isinstance(x, Angle) else x, "free_symbols", ())  # noqa: E731
        return [k for k, g in enumerate(self.ring.generators) if k != i and symbol in inside(g.of)]

    def parameter_derivative(self, p: Poly, i: int) -> Poly:
        """Return the derivative with respect to a parameter, through letters made of it. Raises NotPolynomialError: an atom with
        it inside has a derivative that is no polynomial."""
        symbol, slopes = self.ring.generators[i].of, {i: self.ring.constant(1)}
        present = p.letters().union(*(self.softened[k].letters() for k in p.letters() & self.softened.keys()))
        for k in present.intersection(self.dependents(i)):
            name, kind, of = self.ring.generators[k]
            if isinstance(of, Angle):
                c, s = self.angles[of]
                rate = self.exact(sympy.diff(of.multiple, symbol)) * (1 if of.coordinate is None else self.q[of.coordinate])
                slopes[k] = rate * (-s if kind == "cos" else c)
                continue
            try:
                slopes[k] = self.ring.constant(self.exact(sympy.diff(of if kind == "atom" else 1 / of, symbol)))
            except KeyError:
                raise NotPolynomialError(f"the derivative of {name} is no polynomial in these letters") from None
        return self._chain(p, slopes)
