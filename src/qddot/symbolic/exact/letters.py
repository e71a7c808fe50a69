"""The letters that a robot's equations need: its joint variables, and the leaves of the expressions in its description."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import sympy

from qddot.errors import InputError
from qddot.model.joints import Helical, Revolute
from qddot.model.lower import Mechanism
from qddot.model.scalar import Scalar, is_symbolic
from qddot.symbolic.exact.numbers import rational
from qddot.symbolic.exact.reading import angle_parts, exactly, read, squared
from qddot.symbolic.exact.ring import Generator

ARRAYS = {
    "position": "q",
    "quaternion": "q",
    "velocity": "qd",
    "acceleration": "qdd",
    "force": "tau",
    "multiplier": "lam",
    "momentum": "p",
}
"""The array that holds the values of each kind of letter that changes with the motion."""

FURTHER = {"force": "tau", "multiplier": "lambda", "momentum": "p"}
"""Kinds of letters that only some equations have, and the beginnings of their names: `tau1`, `lambda1`, `p1`."""

WHOLE = 8  # the largest multiple of a common angle; beyond it, each angle has a sine and a cosine of its own


class Angle(NamedTuple):
    """The argument of a sine and cosine: `multiple * q_coordinate`, or a constant angle (then `coordinate` is None)."""

    name: str
    coordinate: int | None = None
    multiple: Any = Fraction(1)


Turns = tuple[tuple[int, Scalar], ...]
"""The rate of a shaft: columns of qd and their factors."""


class Load(NamedTuple):
    """The force on a column of qd, without friction."""

    column: int


class Soft(NamedTuple):
    """A smoothed rate, `(w^4 + v^4)^(-1/4)`, of a column or shaft with rate v whose friction is smoothed over a speed w."""

    of: int | Turns
    number: int = 1  # counts those of the same rate, whose w may differ


Signed = int | Turns | Load | Soft
"""The arguments of the letters of friction: the sign of a column's rate, of a shaft's rate or of a load; a smoothed rate."""


class Leaves:
    """The leaves of some expressions, inner before outer: symbols, roots of primes, reciprocals, atoms; and constant angles."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, Any], None] = dict.fromkeys((("root", 2), ("root", 3), ("atom", sympy.pi)))
        self.multiples: dict[Any, list[Fraction]] = {}

    def add(self, x: Scalar) -> None:
        """Add the letters of one number of a description."""
        if is_symbolic(x):
            read(x if x.is_Symbol else exactly(x), self._leaf)

    def add_angle(self, x: Scalar) -> None:
        """Add the letters of an angle whose sine and cosine are needed."""
        if is_symbolic(x):
            self._leaf("cos", exactly(x))

    def of(self, kind: str) -> Iterator[tuple[str, Any]]:
        """Yield the leaves of one kind."""
        return (leaf for leaf in self.found if leaf[0] == kind)

    def angles(self) -> list[Angle]:
        """Return the constant angles, one for all whole multiples of it."""
        return [
            Angle(str(unit * monomial), None, unit * monomial)
            for monomial, multiples in self.multiples.items()
            for unit in units(multiples)
        ]

    def _leaf(self, kind: str, x: Any) -> int:
        if kind in ("cos", "sin"):
            for monomial, times in angle_parts(x)[0].items():
                read(monomial, self._leaf)
                self.multiples.setdefault(monomial, []).append(times)
            return 1
        inside = x if kind == "inverse" else squared(x) if kind == "atom" else None
        if inside is not None:
            read(inside, self._leaf)
        elif kind == "atom":
            for symbol in sorted(x.free_symbols, key=str):
                read(symbol, self._leaf)
        self.found[kind, x] = None
        return 1


def units(multiples: Iterable[Fraction]) -> list[Any]:
    """Return the greatest common divisor of the multiples; each of them, where it would be a small fraction of the largest."""
    distinct = sorted({abs(m) for m in multiples if m})
    if not distinct:
        return []
    unit = common_divisor(distinct)
    chosen = [unit] if distinct[-1] <= WHOLE * unit else distinct
    return [sympy.Rational(m.numerator, m.denominator) for m in chosen]


def common_divisor(multiples: Iterable[Fraction]) -> Fraction:
    """Return the largest number of which each is a whole multiple."""
    tops, bottoms = zip(*(m.as_integer_ratio() for m in multiples))
    return Fraction(math.gcd(*tops), math.lcm(*bottoms))


def joint_angles(mechanism: Mechanism) -> list[Angle]:
    """Return the angles of each coordinate that turns something: the angle itself, or parts of it such that every joint that the
    coordinate drives turns by whole multiples of them."""
    rates: dict[tuple[int, Any], list[Fraction]] = {}
    for body in mechanism.bodies:
        if isinstance(body.joint, (Revolute, Helical)):
            i = body.coordinates[0]
            parts, plain = angle_parts(exactly(body.rate)) if is_symbolic(body.rate) else ({}, float(body.rate))
            for monomial, times in ((1, rational(plain)), *parts.items()):
                if times:
                    rates.setdefault((i, monomial), []).append(times)
    found = []
    for (i, monomial), multiples in sorted(rates.items(), key=lambda item: item[0][0]):
        for unit in units([*multiples, Fraction(1)] if monomial == 1 else multiples):
            factor = Fraction(int(unit.p), int(unit.q)) if monomial == 1 else unit * monomial
            found.append(Angle(multiple_name(factor, f"q{i + 1}"), i, factor))
    return found


def multiple_name(factor: Any, letter: str) -> str:
    """Return the name of a multiple of a letter: `q1`, `q1/2`, `7*q1/10`, `k*q1`."""
    if not isinstance(factor, Fraction):
        return f"{factor}*{letter}"
    top = letter if factor.numerator == 1 else f"{factor.numerator}*{letter}"
    return top if factor.denominator == 1 else f"{top}/{factor.denominator}"


def letters_of(
    mechanism: Mechanism,
    angles: list[Angle],
    leaves: Leaves,
    symbols: Iterable[str],
    signed: Iterable[Signed],
    further: Mapping[str, int],
) -> list[Generator]:
    """Return all letters, numbered from 1; a letter that a relation rewrites stands before those it is rewritten by. Raises
    InputError: two letters would have the same name."""
    taken = {x.name for _, x in leaves.of("parameter")} | set(symbols)
    outer = [Generator(str(x), kind, x) for kind, x in reversed(list(leaves.of("atom"))) if squared(x) is not None]
    bound = [Generator(f"sqrt({p})", kind, p) for kind, p in leaves.of("root")]
    free: list[Generator] = []
    for angle in angles:
        sine, cosine = names_of(angle, taken)
        bound.append(Generator(sine, "sin", angle))
        free.append(Generator(cosine, "cos", angle))
    for part, q, _ in mechanism.parts():
        position = q.start + 4 if part.quaternion else q.start
        bound += [Generator(f"q{i + 1}", "quaternion", i) for i in range(q.start, position)]
        free += [Generator(f"q{i + 1}", "position", i) for i in range(position, q.stop)]
    for v in range(mechanism.nv):
        free += [Generator(f"qd{v + 1}", "velocity", v), Generator(f"qdd{v + 1}", "acceleration", v)]
    free += [Generator(f"{FURTHER[kind]}{i + 1}", kind, i) for kind, size in further.items() for i in range(size)]
    signed = list(signed)
    bound += [Generator(sign_name(x), "sign", x) for x in signed if not isinstance(x, Soft)]
    free += [Generator(soft_name(x), "soft", x) for x in signed if isinstance(x, Soft)]
    bound += [Generator(f"1/{x}" if x.is_Symbol else f"1/({x})", kind, x) for kind, x in leaves.of("inverse")]
    free += [Generator(x.name, kind, x) for kind, x in sorted(leaves.of("parameter"), key=lambda leaf: natural(leaf[1].name))]
    free += [Generator(str(x), kind, x) for kind, x in leaves.of("atom") if squared(x) is None]
    free += [Generator(name, "parameter", name) for name in symbols]
    letters = [*outer, *bound, *free]
    for name in taken & {ARRAYS[kind] for kind in further}:
        raise InputError(f"the symbol {name} of this robot is also the name of an array of these equations: call it something else")
    check_names(letters)
    return letters


def soft_name(x: Soft) -> str:
    again = f"_{x.number}" if x.number > 1 else ""
    return f"soft_qd{x.of + 1}{again}" if isinstance(x.of, int) else f"soft{again}({shown_turns(x.of)})"


def sign_name(of: int | Turns | Load) -> str:
    if isinstance(of, int):
        return f"sign_qd{of + 1}"
    return f"sign(load{of.column + 1})" if isinstance(of, Load) else f"sign({shown_turns(of)})"


def shown_turns(turns: Turns) -> str:
    """Return the rate of a shaft as text: `qd2 - qd3`."""
    return str(sympy.Add(*(sympy.sympify(ratio) * sympy.Symbol(f"qd{c + 1}") for c, ratio in turns)))


def known_sign(x: Any) -> int:
    """Return 1 or -1 if an expression can have no other sign, such as a symbol declared positive; otherwise 0."""
    return int(bool(getattr(x, "is_positive", False))) - int(bool(getattr(x, "is_negative", False)))


def natural(name: str) -> tuple[str, int, str]:
    """Return a sorting key that puts `m2` before `m10`."""
    return name.rstrip("0123456789"), len(name), name


def names_of(angle: Angle, taken: set[str]) -> tuple[str, str]:
    """Return the names of sine and cosine: `s1, c1` unless these are symbols of the robot."""
    if angle.coordinate is not None and angle.multiple == 1:
        short = angle.name.removeprefix("q")
        if taken.isdisjoint((f"s{short}", f"c{short}")):
            return f"s{short}", f"c{short}"
    return f"sin({angle.name})", f"cos({angle.name})"


def check_names(letters: Iterable[Generator]) -> None:
    """Refuse two letters of the same name."""
    seen: dict[str, Generator] = {}
    for letter in letters:
        other = seen.setdefault(letter.name, letter)
        if other is letter:
            continue
        if letter.kind == other.kind:
            raise InputError(f"two different symbols of this robot are called {letter.name}: declare them alike, or rename one")
        other = other if letter.kind == "parameter" else letter
        what = "a joint variable" if other.kind in ARRAYS else "another letter"
        raise InputError(f"the symbol {letter.name} of this robot is also the name of {what}: call it something else")
