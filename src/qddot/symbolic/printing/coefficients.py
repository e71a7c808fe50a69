"""Polynomials in the parameters as short products: `L1^2 m1 + L1^2 m2` is `(m1 + m2) L1^2`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import gcd, lcm
from typing import NamedTuple

from flint import Ordering, fmpq, fmpq_mpoly_ctx

from qddot.symbolic.exact.ring import Generator
from qddot.symbolic.printing.tree import Node, Number, Power, Product, Sum, power, product, size, total

Monomial = tuple[tuple[int, int], ...]
"""(letter, exponent) for each letter that occurs."""

RANKS = tuple(map(re.compile, (r"sqrt\(", r"m[a-z]?\d*$", r"[IJ]", r"g[xyz]?\d*$", r"(?!id?\d+$)", "")))
"""Names of letters in the order in which people write them in a product; currents last."""
MASS, INERTIA = 1, 2

FACTORED = 40
"""The most terms of a polynomial that is factored: longer ones rarely can be, and trying is slow."""


class Term(NamedTuple):
    """A number times powers of nodes, in the order in which they are written."""

    number: Fraction
    factors: tuple[tuple[Node, int], ...]

    @property
    def node(self) -> Node:
        return product([Number(self.number), *(power(x, e) for x, e in self.factors)])


class Coefficients:
    """Makes terms from polynomials `{monomial: number}`. `letter`: index of a letter -> node; `generators`: all letters, by whose
    names factors are ordered: masses, inertias, gravity, then the others."""

    def __init__(self, letter: Callable[[int], Node], generators: Sequence[Generator]) -> None:
        self.letter, self.generators = letter, generators
        self._known: dict[frozenset, Term] = {}
        self._ranks: dict[int, tuple] = {}

    def term(self, p: Mapping[Monomial, fmpq]) -> Term:
        """Return the polynomial as one term: a number, sums, letters."""
        if len(p) == 1:
            ((m, x),) = p.items()
            return Term(fraction(x), self.letters(m))
        key = frozenset(p.items())
        if key not in self._known:
            self._known[key] = self._term(p)
        return self._known[key]

    def letters(self, m: Monomial) -> tuple[tuple[Node, int], ...]:
        return tuple((self.letter(i), e) for i, e in sorted(m, key=lambda x: self.rank(x[0])))

    def rank(self, i: int) -> tuple:
        """Return the rank of a letter: roots and masses first, then moments of inertia, gravity, others by name and number, and
        joint variables."""
        if i not in self._ranks:
            name = self.generators[i].name
            stem = name.rstrip("0123456789")
            number = int(name[len(stem) :] or 0) if name.isascii() else 0
            group = len(RANKS) if self.generators[i].kind == "position" else next(k for k, x in enumerate(RANKS) if x.match(name))
            self._ranks[i] = group, stem, number, i
        return self._ranks[i]

    def is_of(self, i: int, group: int) -> bool:
        return self.rank(i)[0] == group

    def order(self, m: Monomial) -> tuple:
        """Return the rank of a monomial in a sum: from low to high degree, then by letters; moments of inertia last."""
        return any(self.is_of(i, INERTIA) for i, _ in m), sum(e for _, e in m), sorted((self.rank(i), -e) for i, e in m)

    def sorted(self, p: Mapping[Monomial, fmpq]) -> list[Monomial]:
        """Return monomials in the order of a written sum, which begins with a positive term if there is one."""
        ordered = sorted(p, key=self.order)
        first = next((m for m in ordered if p[m] > 0), ordered[0])
        return [first, *(m for m in ordered if m != first)]

    def _term(self, p: Mapping[Monomial, fmpq]) -> Term:
        low = dict(next(iter(p)))
        for m in p:
            powers = dict(m)
            low = {i: min(e, powers[i]) for i, e in low.items() if i in powers}
        rest = {tuple((i, e - low.get(i, 0)) for i, e in m if e > low.get(i, 0)): x for m, x in p.items()}
        ordered = self.sorted(rest)
        number = scale([fraction(rest[m]) for m in ordered])
        rest = {m: rest[m] / fmpq(number.numerator, number.denominator) for m in ordered}
        outer = tuple(low.items())
        best = Term(number, self._product([(rest, 1)], outer))
        if 1 < len(rest) <= FACTORED and not is_prime(rest):
            other, factors = self._factored(rest)
            if len(factors) > 1 or factors[0][1] > 1:
                found = Term(number * other, self._product(factors, outer))
                if size(found.node) < size(best.node):
                    return found
        return best

    def _product(self, sums: list[tuple[Mapping[Monomial, fmpq], int]], outer: Monomial) -> tuple[tuple[Node, int], ...]:
        """Return powers of sums (in order) and of letters, sorted by first letters: `(m1 + m2) g L1`, but `m1 (L1 + L2)`."""
        first = lambda p: min((self.rank(i) for i, _ in next((m for m in p if m), ())), default=())  # noqa: E731
        parts = [(first(p), 0, self._sum(p), e) for p, e in sums]
        parts += [(self.rank(i), 1, self.letter(i), e) for i, e in outer]
        return tuple((node, e) for _, _, node, e in sorted(parts, key=lambda x: x[:2]))

    def _sum(self, p: Mapping[Monomial, fmpq]) -> Node:
        """Return a sum in which masses with the same factor are put together: `(m1 + m2) L1^2 + m2 L2^2`."""
        by: dict[Monomial, dict[Monomial, fmpq]] = {}
        for m, x in p.items():
            masses = tuple(pair for pair in m if self.is_of(pair[0], MASS))
            rest = tuple(pair for pair in m if pair not in masses)
            by.setdefault(rest, {})[masses] = x
        terms = []
        for rest, masses in by.items():
            if len(masses) == 1 or not rest:
                terms += [Term(fraction(x), self.letters((*m, *rest))).node for m, x in masses.items()]
                continue
            number = scale([fraction(x) for x in masses.values()])
            parts = [Term(fraction(x) / number, self.letters(m)).node for m, x in masses.items()]
            terms.append(Term(number, ((total(parts), 1), *self.letters(rest))).node)
        return total(terms)

    def _factored(self, p: Mapping[Monomial, fmpq]) -> tuple[Fraction, list[tuple[Mapping[Monomial, fmpq], int]]]:
        """Return the factors, found by FLINT over the few letters that occur."""
        used = sorted({i for m in p for i, _ in m})
        at = {i: k for k, i in enumerate(used)}
        context = fmpq_mpoly_ctx.get([f"x{k}" for k in range(len(used))], Ordering.lex)
        dense = {}
        for m, x in p.items():
            powers = [0] * len(used)
            for i, e in m:
                powers[at[i]] = e
            dense[tuple(powers)] = x
        number, parts = context.from_dict(dense).factor()
        factors, whole = [], fraction(number)
        for part, exponent in parts:
            terms = {tuple((used[k], int(e)) for k, e in enumerate(powers) if e): x for powers, x in part.terms()}
            ordered = self.sorted(terms)
            by = scale([fraction(terms[m]) for m in ordered])
            whole *= by ** int(exponent)
            factors.append(({m: terms[m] / fmpq(by.numerator, by.denominator) for m in ordered}, int(exponent)))
        return whole, factors


def scale(numbers: list[Fraction]) -> Fraction:
    """Return the number to take out of a sum: the sign of its first term, times its content if that makes one of the numbers 1."""
    content = Fraction(reduce(gcd, (abs(x.numerator) for x in numbers)), reduce(lcm, (x.denominator for x in numbers)))
    sign = 1 if numbers[0] > 0 else -1
    return sign * content if any(abs(x) == content for x in numbers) else Fraction(sign)


def is_prime(p: Mapping[Monomial, fmpq]) -> bool:
    """Tell whether a polynomial is surely irreducible: a letter stands alone in one term and nowhere else."""
    count = Counter(i for m in p for i, _ in m)
    return any(len(m) == 1 and m[0][1] == 1 and count[m[0][0]] == 1 for m in p)


def fraction(x: fmpq) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def gathered(terms: list[Term], inside: bool = False) -> Node:
    """Return the sum of terms, with common factors in front of it if that is shorter; `inside` a product, where the sum stands in
    parentheses anyway, also if it is as long."""
    plain = total([term.node for term in terms])
    if len(terms) < 2:
        return plain
    common = dict(terms[0].factors)
    for term in terms[1:]:
        own = dict(term.factors)
        common = {x: min(e, own[x]) for x, e in common.items() if x in own}
    number = scale([term.number for term in terms])
    if any(term.number > 0 for term in terms):
        number = abs(number)
    if not common and abs(number) == 1:
        return plain
    rest = [
        Term(term.number / number, tuple((x, e - common.get(x, 0)) for x, e in term.factors if e > common.get(x, 0)))
        for term in terms
    ]
    inner = total([term.node for term in flattened(rest)])
    outer = Term(number, tuple((x, common[x]) for x, _ in terms[0].factors if x in common)).node
    found = Product((*(outer.factors if isinstance(outer, Product) else (outer,)), inner))
    return found if isinstance(inner, Sum) and size(found) <= size(plain) - (0 if inside else 2) else plain


def flattened(terms: list[Term]) -> list[Term]:
    """Return the terms with each one that is only a sum replaced by the terms of this sum."""
    found = []
    for term in terms:
        if len(term.factors) == 1 and abs(term.number) == 1 and isinstance(term.factors[0][0], Sum) and term.factors[0][1] == 1:
            found += [term_of(x, term.number) for x in term.factors[0][0].terms]
        else:
            found.append(term)
    return found


def term_of(node: Node, number: Fraction) -> Term:
    """Return a node times a number as a term."""
    factors = list(node.factors) if isinstance(node, Product) else [node]
    if isinstance(factors[0], Number):
        number *= factors[0].value
        del factors[0]
    return Term(number, tuple((x.base, x.exponent) if isinstance(x, Power) else (x, 1) for x in factors))
