"""Polynomials in canonical form: parameters, joint variables, and sines and cosines bound by `s^2 = 1 - c^2`.

Each relation rewrites a power of one generator (`s_i^2`, `sqrt(2)^2`, the scalar part of a unit quaternion squared) by lower
powers. The generators so bound stand first in the lexicographic order, and their leading powers have nothing in common: the
relations are a Groebner basis. (Those of the sign of a rate, `sign^3 = sign` and `sign^2 v = v`, share a factor, but reduce each
other to nothing.) Reduced polynomials are therefore equal if, and only if, they are the same: no `simplify` is ever needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any, NamedTuple

from flint import Ordering, fmpq, fmpq_mpoly, fmpq_mpoly_ctx

from qddot.errors import QddotError


class NotPolynomialError(QddotError, ArithmeticError):
    """An operation that leaves the polynomials: a division by something that varies, the root of a sum, an arc tangent."""


class Generator(NamedTuple):
    """One letter of the polynomials."""

    name: str  # as a Python identifier where that is possible: `m1`, `c2`, `qd3`
    # `"parameter"`, `"cos"`, `"sin"`, `"position"`, `"velocity"`, `"acceleration"`, `"sign"`, `"quaternion"`, `"root"` (of a
    # number), `"inverse"` (of a parameter), `"atom"` (an expression of parameters that is not polynomial)
    kind: str
    # what it belongs to: the angle of a sine (an `Angle`), the column of a velocity, what a sign is the sign of (`Signed`), the
    # SymPy expression of a parameter
    of: Any = None


SMALL = 2**20  # floats that the algorithms themselves write (0.5, 2.0) have no larger denominators


class Ring:
    """The polynomials over given generators, bound ones first."""

    def __init__(self, generators: Sequence[Generator]) -> None:
        self.generators = tuple(generators)
        self.context = fmpq_mpoly_ctx.get([f"x{i}" for i in range(len(self.generators))], Ordering.lex)
        self.raw = self.context.gens()
        self.relations: list[fmpq_mpoly] = []
        self.either = 0  # bits of the relations that rewrite a product of two letters: only one factor has their mark
        self.letters = [Poly(self, raw, 0) for raw in self.raw]
        self.index = {generator: i for i, generator in enumerate(self.generators)}

    def __reduce__(self) -> tuple:
        """Parts for `pickle` and `copy`, which cannot look into FLINT's polynomials."""
        relations, marks = [r.to_dict() for r in self.relations], [letter.marks for letter in self.letters]
        return Ring, (self.generators,), (relations, marks, self.either)

    def __setstate__(self, state: tuple[list[dict], list[int], int]) -> None:
        relations, marks, self.either = state
        self.relations = [self.context.from_dict(terms) for terms in relations]
        self.letters = [Poly(self, raw, bits) for raw, bits in zip(self.raw, marks)]

    def extended(self, generators: Sequence[Generator]) -> Ring:
        """Return the ring with further generators, bound to nothing, behind its own."""
        new, more = Ring([*self.generators, *generators]), (0,) * len(generators)
        new.relations = [new.context.from_dict({(*e, *more): c for e, c in relation.terms()}) for relation in self.relations]
        new.letters[: len(self.letters)] = [Poly(new, new.raw[i], letter.marks) for i, letter in enumerate(self.letters)]
        new.either = self.either
        return new

    def bind(self, i: int, power: int, to: Poly | int, other: int | None = None) -> None:
        """Rewrite `x_i^power` (times `x_other`) by the polynomial `to` from now on.

        The letters of `to` stand behind `x_i` and were bound before: one pass through the relations reduces everything.
        """
        lead = self.raw[i] ** power
        marks = 1 << len(self.relations)
        if other is not None:  # x_other has no mark, or each of its products would be reduced
            lead = lead * self.raw[other]
            self.either |= marks
        if isinstance(to, Poly):
            marks |= to.marks
        self.relations.append(lead - (to.p if isinstance(to, Poly) else to))
        self.letters[i] = Poly(self, self.raw[i], self.letters[i].marks | marks)

    def reduced(self, p: fmpq_mpoly, marks: int) -> fmpq_mpoly:
        """Return p reduced by the relations whose bits are set in `marks`, the last first."""
        while marks:
            k = marks.bit_length() - 1
            _, p = divmod(p, self.relations[k])
            marks ^= 1 << k
        return p

    def constant(self, x: Any) -> Poly:
        """Return an exact number as a polynomial; a polynomial as it is."""
        return x if x.__class__ is Poly else Poly(self, self.context.constant(number(x)), 0)

    def from_terms(self, terms: Mapping[tuple[int, ...], Any]) -> Poly:
        """Return the polynomial with these exponents and coefficients, which must be reduced."""
        return Poly(self, self.context.from_dict(dict(terms)), (1 << len(self.relations)) - 1)

    def adopted(self, p: Poly) -> Poly:
        """Return a polynomial of another ring in the letters of the same names here. Raises NotPolynomialError: a letter is missing
        here."""
        if p.ring is self:
            return p
        here = {(g.name, g.kind): i for i, g in enumerate(self.generators)}
        place = {}
        for i in p.letters():
            generator = p.ring.generators[i]
            if generator[:2] not in here:
                raise NotPolynomialError(f"{generator.name} is a letter of other equations, which these do not have")
            place[i] = here[generator[:2]]
        terms: dict[tuple[int, ...], Any] = {}
        for powers, coefficient in p.terms():
            exponents = [0] * len(self.generators)
            for i, e in powers.items():
                exponents[place[i]] = e
            terms[tuple(exponents)] = number(coefficient)
        every = (1 << len(self.relations)) - 1
        return Poly(self, self.reduced(self.context.from_dict(terms), every), every)


class Poly:
    """A reduced polynomial. `marks` has a bit for each relation whose (first) generator may occur in it."""

    __slots__ = ("marks", "p", "ring")

    def __init__(self, ring: Ring, p: fmpq_mpoly, marks: int) -> None:
        self.ring, self.p, self.marks = ring, p, marks

    def __reduce__(self) -> tuple:
        return unpickled, (self.ring, self.p.to_dict(), self.marks)

    def __add__(self, o: Any) -> Poly:
        if o.__class__ is Poly:
            if o.ring is not self.ring:
                o = self.ring.adopted(o)
            return Poly(self.ring, self.p + o.p, self.marks | o.marks)
        if o.__class__ not in NUMBERS:
            return NotImplemented
        return self if o == 0 else Poly(self.ring, self.p + number(o), self.marks)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly(self.ring, -self.p, self.marks)

    def __sub__(self, o: Any) -> Poly:
        return self + -o

    def __rsub__(self, o: Any) -> Poly:
        return -self + o

    def __mul__(self, o: Any) -> Any:
        if o.__class__ is Poly:
            if o.ring is not self.ring:
                o = self.ring.adopted(o)
            p, common = self.p * o.p, self.marks & o.marks | (self.marks | o.marks) & self.ring.either
            return Poly(self.ring, self.ring.reduced(p, common) if common else p, self.marks | o.marks)
        if o.__class__ not in NUMBERS:
            return NotImplemented
        if o == 0:
            return 0
        return self if o == 1 else Poly(self.ring, self.p * number(o), self.marks)

    __rmul__ = __mul__

    def __pow__(self, n: int) -> Poly:
        if n.__class__ is not int or n < 0:
            raise NotPolynomialError(f"({self})**{n} is no polynomial: an exponent is a whole number and not negative")
        return Poly(self.ring, self.ring.reduced(self.p**n, self.marks if n > 1 else 0), self.marks)

    def __truediv__(self, o: Any) -> Any:
        """Return the quotient: a polynomial if it is one, otherwise a `Ratio`."""
        if o.__class__ is Poly:
            if not o.is_constant:
                from qddot.symbolic.exact.ratio import divide

                return divide(self, o)
            o = o.value
        if o.__class__ not in NUMBERS:
            return NotImplemented
        return Poly(self.ring, self.p / number(o), self.marks)

    def __rtruediv__(self, o: Any) -> Any:
        return self.ring.constant(o) / self if o.__class__ in NUMBERS else NotImplemented

    def __eq__(self, o: object) -> bool:
        if o.__class__ is Poly:
            if o.ring is not self.ring:  # type: ignore[attr-defined]
                try:
                    o = self.ring.adopted(o)  # type: ignore[arg-type]
                except NotPolynomialError:
                    return False
            return self.p == o.p  # type: ignore[attr-defined]
        return self.is_constant and self.value == o if o.__class__ in NUMBERS else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return not self.p.is_zero()

    def __abs__(self) -> Poly:
        return -self if self < 0 else self

    def __lt__(self, o: Any) -> bool:
        return self.value < o

    def __gt__(self, o: Any) -> bool:
        return self.value > o

    def __len__(self) -> int:
        """Number of terms."""
        return len(self.p)

    def __repr__(self) -> str:
        from qddot.symbolic.printing.text import plain

        return plain(self)

    def adopted(self, ring: Ring) -> Poly:
        """Return the polynomial in another ring (see `Ring.adopted`)."""
        return ring.adopted(self)

    @property
    def is_constant(self) -> bool:
        """True for a rational number."""
        return self.p.is_constant()

    @property
    def is_open(self) -> bool:
        """True if it is no number, but has letters (see `qddot.model.scalar.is_symbolic`)."""
        return not self.p.is_constant()

    @property
    def value(self) -> Fraction:
        """The value of a constant."""
        if not self.p.is_constant():
            raise NotPolynomialError(f"{self} is not a number")
        c = self.p.leading_coefficient() if self.p else 0
        return Fraction(int(c.p), int(c.q)) if isinstance(c, fmpq) else Fraction(int(c))

    def terms(self) -> Iterator[tuple[dict[int, int], Fraction]]:
        """Yield (exponents by generator, coefficient) for each term."""
        for powers, c in self.p.terms():
            yield {i: int(e) for i, e in enumerate(powers) if e}, Fraction(int(c.p), int(c.q))

    def letters(self) -> set[int]:
        """Return the indices of the generators that occur."""
        return {i for i, degree in enumerate(self.p.degrees()) if degree} if self.p else set()

    def partial(self, i: int) -> Poly:
        """Return the formal derivative with respect to one generator, all others held."""
        return Poly(self.ring, self.p.derivative(i), self.marks)

    def degree(self, i: int) -> int:
        return self.p.degrees()[i] if self.p else 0

    def evaluate(self, values: Callable[[int], Any], constant: Callable[[Fraction], Any] = float) -> Any:
        """Return the value with `values(i)` for generator i, in the arithmetic of these values."""
        degrees = self.p.degrees() if self.p else ()
        known = [(i, power_table(values(i), int(degree))) for i, degree in enumerate(degrees) if degree]
        total: Any = 0
        for powers, c in self.p.terms():
            term = constant(Fraction(int(c.p), int(c.q)))
            for i, table in known:
                if powers[i]:
                    term = term * table[powers[i]]
            total = total + term
        return total

    def coefficients(self, letters: Iterable[int]) -> dict[tuple[int, ...], Poly]:
        """Collect the terms by their powers of some generators: exponents -> coefficient, a polynomial in the others."""
        chosen = tuple(letters)
        parts: dict[tuple[int, ...], dict] = {}
        for powers, c in self.p.terms():
            key = tuple(powers[i] for i in chosen)
            rest = list(powers)
            for i in chosen:
                rest[i] = 0
            parts.setdefault(key, {})[tuple(rest)] = c
        return {key: self.ring.from_terms(terms) for key, terms in parts.items()}


def power_table(x: Any, degree: int) -> list[Any]:
    """Return `[x**0, ..., x**degree]`, in the arithmetic of x."""
    table = [1, x]
    while len(table) <= degree:
        table.append(table[-1] * x)
    return table


def unpickled(ring: Ring, terms: dict[tuple[int, ...], Any], marks: int) -> Poly:
    return Poly(ring, ring.context.from_dict(terms), marks)


NUMBERS = frozenset((int, Fraction, float, fmpq))
"""The types of numbers that polynomials may be combined with."""


def number(x: Any) -> Any:
    """Return a coefficient for FLINT. Floats come from the algorithms (0.5, 2.0) and are exact; those of a robot have become
    fractions before (see `qddot.symbolic.exact.numbers`)."""
    if isinstance(x, Fraction):
        return fmpq(x.numerator, x.denominator)
    if isinstance(x, float):
        top, bottom = x.as_integer_ratio()
        if bottom > SMALL:
            raise NotPolynomialError(f"{x!r} was rounded: only exact numbers may be combined with polynomials")
        return fmpq(top, bottom)
    return int(x) if isinstance(x, Integral) else x
