"""Sums grouped by rates: `(m1 + m2) L1^2 qdd1 - m2 L1 L2 s2 (2 qd1 qd2 + qd2^2)`, or `-L1 s1 qd1 - L2 s12 (qd1 + qd2)`."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, groupby
from typing import TYPE_CHECKING

from flint import fmpq

from qddot.symbolic.printing.angles import wave_order
from qddot.symbolic.printing.coefficients import Monomial, Term, flattened, fraction, gathered, scale, term_of
from qddot.symbolic.printing.tree import Node, size, total

if TYPE_CHECKING:
    from qddot.symbolic.printing.presentation import Presentation

Coefficient = dict[tuple, dict[Monomial, fmpq]]
"""Waves -> polynomial in the parameters and positions, which together multiply a product of rates."""

Rates = dict[Monomial, fmpq]
"""A sum of products of rates."""


def by_rates(shown: Presentation, terms: list[tuple[Monomial, tuple, dict[Monomial, fmpq]]], inside: bool = False) -> Node:
    """Return the sum with terms grouped by products of rates, and rates with the same coefficient put together. `terms`: as from
    `Presentation.terms`; `inside`: the sum stands in parentheses, so that common factors may stand before them."""
    groups: dict[Monomial, Coefficient] = {}
    for motion, waves, q in terms:
        rates = tuple(x for x in motion if shown.ring.generators[x[0]].kind != "position")
        places = tuple(x for x in motion if x not in rates)
        part = groups.setdefault(rates, {}).setdefault(waves, {})
        part.update({tuple(sorted((*m, *places))): x for m, x in q.items()})
    found: list[Term] = []
    for degree, same in groupby(sorted(groups, key=shown.motion_order), key=lambda rates: velocities(shown, rates)):
        block = {rates: groups[rates] for rates in same}
        plain = each(shown, block, degree > 0)
        turning = by_turning(shown, block) if degree and shown.may_choose else None
        found += turning if turning and size(total_of(turning)) < size(total_of(plain)) else plain
    kinds = {(velocities(shown, rates), bool(rates)) for rates in groups}
    return gathered(found, inside) if inside or kinds in ({(0, False)}, {(1, True)}, {(2, True)}) else total_of(found)


def total_of(terms: list[Term]) -> Node:
    return total([term.node for term in terms])


def velocities(shown: Presentation, rates: Monomial) -> int:
    """Return 1 for a velocity, 2 for a product of two, 0 for anything else."""
    degree = sum(e for _, e in rates)
    return degree if degree <= 2 and all(shown.ring.generators[i].kind == "velocity" for i, _ in rates) else 0


def each(shown: Presentation, block: dict[Monomial, Coefficient], joins: bool) -> list[Term]:
    """Return one term for each product of rates; with `joins`, one for all whose coefficients differ only by a number."""
    alike: dict[object, Rates] = {}
    for rates, coefficient in block.items():
        flat = {(waves, m): x for waves, q in coefficient.items() for m, x in q.items()}
        lead = next(iter(flat.values()))
        shape = frozenset((key, x / lead) for key, x in flat.items()) if joins else rates
        alike.setdefault(shape, {})[rates] = lead
    found = []
    for members in alike.values():
        first = next(iter(members))
        own = parts_of(shown, block[first])
        if first:
            own = [times(shown, own, {rates: x / members[first] for rates, x in members.items()})]
        found += own
    return found


def by_turning(shown: Presentation, block: dict[Monomial, Coefficient]) -> list[Term] | None:
    """Return one term for each rate at which a body turns, `qd1 + qd2`, or its square; None if there are other rates."""
    by: dict[tuple, Rates] = {}
    for rates, coefficient in block.items():
        for waves, q in coefficient.items():
            for m, x in q.items():
                by.setdefault((waves, m), {})[rates] = x
    classes: dict[frozenset, tuple[Rates, Coefficient]] = {}
    for (waves, m), rates in by.items():
        lead = next(iter(rates.values()))
        sum_ = {key: x / lead for key, x in rates.items()}
        coefficient = classes.setdefault(frozenset(sum_.items()), (sum_, {}))[1]
        coefficient.setdefault(waves, {})[m] = lead
    if not all(is_turning(sum_) for sum_, _ in classes.values()):
        return None
    return [times(shown, parts_of(shown, coefficient), sum_) for sum_, coefficient in classes.values()]


def parts_of(shown: Presentation, coefficient: Coefficient) -> list[Term]:
    ordered = sorted(coefficient.items(), key=lambda item: (bool(item[0]), [wave_order(x) for x in item[0]]))
    return flattened([shown.term((), waves, q) for waves, q in ordered])


def times(shown: Presentation, parts: list[Term], rates: Rates) -> Term:
    """Return the sum of some parts times a sum of rates."""
    root = square_root(rates)
    by = Fraction(1) if root else scale([fraction(x) for x in rates.values()])
    parts = [Term(term.number * by, term.factors) for term in parts]
    number = scale([term.number for term in parts])
    number = abs(number) if any(term.number > 0 for term in parts) else number
    parts = flattened([Term(term.number / number, term.factors) for term in parts])
    own = term_of(gathered(parts, inside=True), number)
    if len(rates) == 1:
        return Term(own.number, (*own.factors, *shown.term(next(iter(rates)), (), {(): fmpq(1)}).factors))
    if root:
        return Term(own.number, (*own.factors, (total_of([shown.term(rate, (), {(): x}) for rate, x in root.items()]), 2)))
    sum_ = total_of([shown.term(rate, (), {(): x / fmpq(by.numerator, by.denominator)}) for rate, x in rates.items()])
    return Term(own.number, (*own.factors, (sum_, 1)))


def is_turning(rates: Rates) -> bool:
    """Tell whether rates are one product, a sum of single rates (with factors 1 or -1), or the square of such a sum."""
    linear = all(sum(e for _, e in m) == 1 and abs(x) == 1 for m, x in rates.items())
    return len(rates) == 1 or linear or square_root(rates) is not None


def square_root(rates: Rates) -> Rates | None:
    """Return the root of a square, `qd1 + qd2` for `qd1^2 + 2 qd1 qd2 + qd2^2`; None if it is no square of a sum."""
    letters = [m[0][0] for m, x in rates.items() if len(m) == 1 and m[0][1] == 2 and x == 1]
    if len(letters) < 2 or len(rates) != len(letters) * (len(letters) + 1) // 2:
        return None
    mixed = {frozenset((i, j)): rates.get(((i, 1), (j, 1)), rates.get(((j, 1), (i, 1)))) for i, j in combinations(letters, 2)}
    sign = {letters[0]: fmpq(1)} | {j: (mixed[frozenset((letters[0], j))] or fmpq(0)) / 2 for j in letters[1:]}
    if any(x != 2 * sign[i] * sign[j] for (i, j), x in ((tuple(pair), x) for pair, x in mixed.items())):
        return None
    return {((i, 1),): x for i, x in sign.items()}
