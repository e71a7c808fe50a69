"""Fractions as people write them: terms that divide evenly stand before the fraction, common factors before its sums.

A sum over one denominator may be whole in some of its letters: `(m1 c12^2 + m2 s2^2) / s2^2` is `m2 + m1 c12^2 / s2^2`, and the
energy `H(q, p)` is a fraction plus the potential energy. So the terms of the numerator are sorted by the letters that the
denominator does not have, and the coefficient of each is divided separately.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from qddot.symbolic.exact.ratio import Ratio, divide
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.printing.coefficients import Term, fraction, term_of
from qddot.symbolic.printing.tree import ONE, Inverse, Node, Sum, Wave, size, total

if TYPE_CHECKING:
    from qddot.symbolic.printing.presentation import Presentation

MOVES, WAVES = 0, 2
"""Values of `Presentation.sort`."""

LARGE = 1000
"""The largest whole number in a factor; one with larger numbers, which come from decimals, is scaled so that one of them is 1."""

LONG = 1000
"""The most terms of a numerator that is taken apart: longer ones nobody reads."""

APART = 4
"""The most fractions into which one is taken apart."""


def quotient_tree(shown: Presentation, num: Poly, den: Poly) -> Node:
    """Return `num / den`, as a sum of a polynomial and fractions if that is shorter."""
    if len(num) > LONG or not shown.may_choose:
        return fraction_tree(shown, num, den)
    whole, rest = divided(shown, num, den)
    if not rest:
        return shown.entry(whole)
    found = [added(shown, whole, fraction_tree(shown, rest, den))]
    found += [added(shown, whole, apart)] if (apart := taken_apart(shown, rest, den)) else []
    if not shown.equations.parameters and not moves(den):
        return min(found, key=size)
    quotient, left = (Poly(num.ring, part, num.marks | den.marks) for part in divmod(rest.p, den.p))
    if quotient and left:
        proper = added(shown, whole + quotient, fraction_tree(shown, left, den))
        if moves(den):  # friction: the limit at high speed, and what is added at low speed
            return proper
        found.append(proper)
    return min(found, key=size)


def moves(p: Poly) -> bool:
    return any(p.ring.generators[i].kind == "velocity" for i in p.letters())


def others(shown: Presentation, den: Poly, num: Poly) -> list[int]:
    """Return the letters of the numerator alone. Sines and cosines do not count: they belong together, whatever the joint."""
    return [i for i in sorted(num.letters() - den.letters()) if shown.sort[i] != WAVES]


def divided(shown: Presentation, num: Poly, den: Poly) -> tuple[Poly, Poly]:
    """Return (whole, rest) with `num = whole den + rest`: the coefficients that divide evenly, divided, and the others."""
    whole = rest = num.ring.constant(0)
    letters = others(shown, den, num)
    for powers, part in num.coefficients(letters).items():
        monomial = product_of(num, letters, powers)
        quotient = divide(part, den)
        if isinstance(quotient, Ratio):
            rest = rest + part * monomial
        else:
            whole = whole + quotient * monomial
    return whole, rest


def product_of(p: Poly, letters: list[int], powers: tuple[int, ...]) -> Poly:
    """Return the product of letters of p's ring with these exponents."""
    return prod((p.ring.letters[i] ** int(e) for i, e in zip(letters, powers)), start=p.ring.constant(1))


def taken_apart(shown: Presentation, num: Poly, den: Poly) -> Node | None:
    """Return a sum of one fraction for each product of moving letters, `p1^2 / (2 I1) + p2^2 / (2 m2)`; None if they are many."""
    letters = [i for i in others(shown, den, num) if shown.sort[i] == MOVES]
    parts = num.coefficients(letters)
    if not 1 < len(parts) <= APART:
        return None
    fractions = []
    for powers, part in parts.items():
        quotient, monomial = divide(part, den), product_of(num, letters, powers)
        top, bottom = (quotient.num, quotient.den) if isinstance(quotient, Ratio) else (quotient, num.ring.constant(1))
        fractions.append((top * monomial, bottom))
    ordered = sorted(fractions, key=lambda pair: shown.motion_order(next(iter(shown.split(pair[0])))))
    return total([fraction_tree(shown, *pair) for pair in ordered])


def added(shown: Presentation, whole: Poly, rest: Node) -> Node:
    if not whole:
        return rest
    return total([x for node in (shown.entry(whole), rest) for x in (node.terms if isinstance(node, Sum) else (node,))])


def fraction_tree(shown: Presentation, num: Poly, den: Poly) -> Node:
    """Return one fraction: numbers and a sign in front, powers of sums in the denominator."""
    above, below = product_term(shown.compact(num)), denominator(shown, den)
    bottom = Term(Fraction(1), below.factors).node
    return Term(above.number / below.number, (*above.factors, *([] if bottom == ONE else [(Inverse(bottom), 1)]))).node


def denominator(shown: Presentation, den: Poly) -> Term:
    """Return the denominator as a product of powers: parameters, then sines and cosines, then sums."""
    number, parts = den.p.factor_squarefree()
    found, powers = fraction(number), Counter[Node]()
    for part, exponent in parts:
        if max(map(abs, part.coeffs())) > LARGE:
            last = part.coefficient(len(part) - 1)
            found, part = found * fraction(last) ** int(exponent), part / last
        own = product_term(shown.compact(Poly(den.ring, part, den.marks)))
        found *= own.number ** int(exponent)
        for x, e in own.factors:
            powers[x] += e * int(exponent)
    ranks = {node: shown.coefficients.rank(i) for i, node in shown.nodes.items()}
    order = lambda pair: (isinstance(pair[0], Sum), isinstance(pair[0], Wave), ranks.get(pair[0], ()))  # noqa: E731
    return Term(found, tuple(sorted(powers.items(), key=order)))


def product_term(node: Node) -> Term:
    """Return a node as a product with a number; a sum with only negative terms as -1 times its opposite."""
    if isinstance(node, Sum) and all(term_of(x, Fraction(1)).number < 0 for x in node.terms):
        return Term(Fraction(-1), ((total([term_of(x, Fraction(-1)).node for x in node.terms]), 1),))
    return term_of(positive_first(node), Fraction(1))


def positive_first(node: Node) -> Node:
    """Return a sum with one of its positive terms first; other nodes as they are."""
    if not isinstance(node, Sum):
        return node
    first = next(x for x in node.terms if term_of(x, Fraction(1)).number > 0)
    return total([first, *(x for x in node.terms if x is not first)])
