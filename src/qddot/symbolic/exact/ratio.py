"""Fractions of polynomials: quotients whose divisor varies, such as the entries of an inverse Jacobian.

A common factor may hide behind a relation: `s / (1 - c^2)` is `1 / s`. So fractions have no canonical form here; they are kept
short, and compared by multiplying across, which is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from qddot.errors import SingularityError
from qddot.symbolic.exact.ring import NotPolynomialError, Poly, Ring

LONG = 40  # terms of a denominator from which on hidden factors are not looked for


class Ratio:
    """`num / den` of two polynomials, den not a number. Made by `divide`."""

    is_constant, is_open = False, True
    __slots__ = ("den", "num", "ring")

    def __init__(self, num: Poly, den: Poly) -> None:
        self.ring, self.num, self.den = num.ring, num, den

    def __add__(self, o: Any) -> Any:
        if isinstance(o, Ratio):
            if self.den == o.den:
                return divide(self.num + o.num, self.den)
            return divide(self.num * o.den + o.num * self.den, self.den * o.den)
        return divide(self.num + self.den * o, self.den)

    __radd__ = __add__

    def __neg__(self) -> Ratio:
        return Ratio(-self.num, self.den)

    def __sub__(self, o: Any) -> Any:
        return self + -o

    def __rsub__(self, o: Any) -> Any:
        return -self + o

    def __mul__(self, o: Any) -> Any:
        if isinstance(o, Ratio):
            return divide(self.num * o.num, self.den * o.den)
        return divide(self.num * o, self.den)

    __rmul__ = __mul__

    def __truediv__(self, o: Any) -> Any:
        if isinstance(o, Ratio):
            return divide(self.num * o.den, self.den * o.num)
        return divide(self.num, self.den * o)

    def __rtruediv__(self, o: Any) -> Any:
        return divide(self.den * o, self.num)

    def __pow__(self, n: int) -> Ratio:
        return Ratio(self.num**n, self.den**n)

    def __eq__(self, o: Any) -> bool:
        num, den = (o.num, o.den) if isinstance(o, Ratio) else (o, 1)
        return not self.num * den - self.den * num

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self.num)

    def __len__(self) -> int:
        """Number of terms, above and below."""
        return len(self.num) + len(self.den)

    def __repr__(self) -> str:
        return f"({self.num})/({self.den})"

    def adopted(self, ring: Ring) -> Ratio:
        """Return the fraction in the letters of the same names of another ring."""
        return Ratio(ring.adopted(self.num), ring.adopted(self.den))

    @property
    def value(self) -> Fraction:
        raise NotPolynomialError(f"{self} is not a number")

    def letters(self) -> set[int]:
        """Return the indices of the generators that occur."""
        return self.num.letters() | self.den.letters()

    def partial(self, i: int) -> Poly | Ratio:
        """Return the formal derivative with respect to one generator, all others held."""
        num, den = self.num, self.den
        return divide(num.partial(i) * den - num * den.partial(i), den * den)

    def evaluate(self, values: Callable[[int], Any], constant: Callable[[Fraction], Any] = float) -> Any:
        """Return the value with `values(i)` for generator i, in the arithmetic of these values. Raises SingularityError: the
        denominator is 0 there."""
        num, den = self.num.evaluate(values, constant), self.den.evaluate(values, constant)
        if den == 0:
            raise SingularityError(f"the denominator {self.den} is 0 here")
        return num / den


def divide(num: Any, den: Any) -> Poly | Ratio:
    """Return the polynomial `num / den` if it is one, otherwise a shortened ratio. Raises SingularityError: den is 0;
    NotPolynomialError: den changes with the sign of a velocity."""
    if not den:
        raise SingularityError(f"{num} is divided by 0")
    ring = den.ring
    if any(ring.generators[i].kind == "sign" for i in den.letters()):
        raise NotPolynomialError(f"division by {den}: it may be 0 wherever the sign of a velocity changes")
    num, den = without_roots(*lowest(ring.constant(num), den))
    while not den.is_constant and len(den) <= LONG:
        shorter = min(equal_fractions(num, den), key=size, default=(num, den))
        if size(shorter) >= size((num, den)):
            break
        num, den = shorter
    return num / den if den.is_constant else Ratio(num, den)


def lowest(num: Poly, den: Poly) -> tuple[Poly, Poly]:
    """Cancel common factors of a fraction and make the last coefficient of den 1, as in `1 - c^2`."""
    g = num.p.gcd(den.p)
    g = g * (den.p.coefficient(len(den) - 1) / g.coefficient(len(g) - 1))
    num, den = (Poly(x.ring, divmod(x.p, g)[0], x.marks) for x in (num, den))
    return num, den


def without_roots(num: Poly, den: Poly) -> tuple[Poly, Poly]:
    """Remove square roots of constants and reciprocals of parameters from the denominator."""
    ring = den.ring
    for i, generator in enumerate(ring.generators):
        if not den.degree(i):
            continue
        if generator.kind in ("root", "atom") and ring.letters[i].marks:
            num, den = extended(num, den, conjugate(den, i))
        elif generator.kind == "inverse":
            for k, other in enumerate(ring.generators):
                if other.kind == "parameter" and other.of == generator.of:
                    num, den = extended(num, den, ring.letters[k] ** int(den.degree(i)))
    return num, den


def equal_fractions(num: Poly, den: Poly) -> Iterator[tuple[Poly, Poly]]:
    """Yield equal fractions, expanded by a sine, or by what removes a sine from the denominator: a common factor may appear. The
    last has no sine in the denominator; if the fraction is a polynomial, this shows it."""
    ring = den.ring
    angles = {ring.generators[i].of for i in den.letters() if ring.generators[i].kind in ("sin", "cos")}
    rational = num, den
    for i, generator in enumerate(ring.generators):
        if generator.kind == "sin" and generator.of in angles:
            yield extended(num, den, conjugate(den, i) if den.degree(i) else ring.letters[i])
            if rational[1].degree(i):
                rational = extended(*rational, conjugate(rational[1], i))
    yield rational


def extended(num: Poly, den: Poly, by: Poly) -> tuple[Poly, Poly]:
    """Multiply numerator and denominator by the same polynomial, then cancel."""
    return lowest(num * by, den * by)


def conjugate(p: Poly, i: int) -> Poly:
    """Return the polynomial with the sign of a letter reversed that occurs in first power only."""
    return p - p.partial(i) * p.ring.letters[i] * 2


def size(fraction: tuple[Poly, Poly]) -> tuple[int, int]:
    """Return (terms, degree), by which fractions are compared."""
    num, den = fraction
    return len(num) + len(den), sum(p.p.total_degree() for p in fraction if p)
