"""Polynomials of the ring as trees to print: sums of (parameters) x (sines and cosines) x (rates), as short as can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from flint import fmpq

from qddot.errors import InputError, unknown_name
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.printing.abbreviations import Abbreviations
from qddot.symbolic.printing.angles import clusters_of, shortest, wave_order, weight
from qddot.symbolic.printing.coefficients import Coefficients, Monomial, Term, flattened, gathered, term_of
from qddot.symbolic.printing.notation import EXACT, NOTATIONS
from qddot.symbolic.printing.quotients import quotient_tree
from qddot.symbolic.printing.rates import by_rates
from qddot.symbolic.printing.sympy_tree import tree_of
from qddot.symbolic.printing.tree import ZERO, Call, Inverse, Node, Number, Product, Sum, Symbol, product, size, total

if TYPE_CHECKING:
    from qddot.symbolic.robot_in_letters import RobotInLetters

SortedTerms: TypeAlias = list[tuple[Monomial, tuple, dict[Monomial, fmpq]]]

REMEMBERED = 1000
"""The most terms of a polynomial whose sorted terms are kept for the next printing: the search for short sines is slow."""

_SORTED_OUT: WeakKeyDictionary[RobotInLetters, dict[tuple, list[tuple[Poly, SortedTerms]]]] = WeakKeyDictionary()

MOTION = ("acceleration", "force", "multiplier", "momentum", "velocity", "sign", "soft", "position", "quaternion")
ANGLES, GROUPS = ("sum", "single"), ("trigonometric", "parameter", "rates", "none")


@dataclass(frozen=True)
class Style:
    """The options of writing a form.

    Attributes:
        angles: `"sum"`: sines and cosines of sums, `c_{12}`, where that is shorter; `"single"`: only of each joint's angle.
        group: `"trigonometric"`: one term for each product of sines, cosines and rates, its parameters collected; `"parameter"`:
            one term for each product of parameters and rates, its sines and cosines collected; `"rates"`: one term for each
            acceleration and product of rates, all else collected, as equations of motion are written; `"none"`: expanded.
        abbreviate: collects short names for products and sums of parameters; None writes them out.
        notation: the book whose letters are used: see `qddot.symbolic.printing.notation`.
        digits: significant digits of a number that has no short exact form. Such a number is cut and ends in `...`.
        rounded: round such a number instead of cutting it.
        exact: the most digits of a decimal that is written in full.
        lhs: begin with the name of the quantity, `M(q) = `.
    """

    angles: str = "sum"
    group: str = "trigonometric"
    abbreviate: Abbreviations | None = None
    notation: str = "qddot"
    digits: int = 6
    rounded: bool = False
    exact: int = EXACT
    lhs: bool = False

    def __post_init__(self) -> None:
        for name, allowed in (("angles", ANGLES), ("group", GROUPS), ("notation", tuple(NOTATIONS))):
            if getattr(self, name) not in allowed:
                raise InputError(f"{name}={getattr(self, name)!r} is not one of {', '.join(map(repr, allowed))}")
        for name in ("digits", "exact"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)!r} is not a positive integer")
        if self.abbreviate is not None and not isinstance(self.abbreviate, Abbreviations):
            raise InputError(f"abbreviate={self.abbreviate!r} is not an Abbreviations object: see Form.abbreviated")


def style_of(options: Mapping[str, Any]) -> Style:
    for name in options:
        if name not in Style.__dataclass_fields__:
            raise unknown_name("style option", name, Style.__dataclass_fields__)
    return Style(**options)


class Presentation:
    """Writes the polynomials of some equations in one style."""

    def __init__(self, equations: RobotInLetters, style: Style) -> None:
        self.equations, self.style = equations, style
        alphabet = equations.alphabet
        self.ring = alphabet.ring
        self.angles = list(alphabet.angles)
        self.clusters = clusters_of(equations.lifted, self.angles)
        place = {angle: (k, j) for k, cluster in enumerate(self.clusters) for j, angle in enumerate(cluster.angles)}
        self.sort: list[int] = []  # for each letter: 0 moves, 1 is a parameter, 2 is the sine or cosine of a joint
        self.turning: dict[int, tuple[int, int]] = {}  # letter -> cluster, place of its exponent there
        for i, g in enumerate(self.ring.generators):
            turns = g.kind in ("cos", "sin") and g.of.coordinate is not None
            self.sort.append(0 if g.kind in MOTION else 2 if turns else 1)
            if turns:
                k, j = place[self.angles.index(g.of)]
                self.turning[i] = k, 2 * j + (g.kind == "sin")
        self.one = tuple(cluster.one for cluster in self.clusters)
        self.nodes: dict[int, Node] = {}
        self.coefficients = Coefficients(self.letter, self.ring.generators)
        self._done: dict[tuple, list[tuple[Poly, Node]]] = {}
        if style.abbreviate is not None:
            style.abbreviate.bind(equations)

    def entry(self, x: Any) -> Node:
        """Return a polynomial, or a fraction of two, as a tree."""
        if hasattr(x, "den"):
            return quotient_tree(self, x.num, x.den)
        key = len(x), x.p.monomial(0) if x else ()
        for known, node in self._done.setdefault(key, []):
            if known == x:
                return node
        node = self._entry(x)
        self._done[key].append((x, node))
        return node

    @property
    def may_choose(self) -> bool:
        """True if several trees may be made and the shortest taken: not if making one defines abbreviations."""
        return self.style.group != "none" and self.style.abbreviate is None

    def compact(self, p: Poly) -> Node:
        """Return part of a fraction in the shortest grouping, common factors taken out since it is in parentheses anyway."""
        plain = self.entry(p)
        if not self.may_choose or p.letters() & self.equations.alphabet.loads.keys():
            return plain
        terms = self.terms(p)
        inside = gathered(flattened([self.term(*term) for term in terms]), inside=True)
        return min((by_rates(self, terms, inside=True), inside, plain), key=size)

    def _entry(self, p: Poly) -> Node:
        for i in p.letters() & self.equations.alphabet.loads.keys():
            times, rest = self.equations.alphabet.by_magnitude(p, i)
            if times:
                return self._with_magnitude(i, self.entry(times), self.entry(rest))
        terms = self.terms(p)
        if self.style.group == "none":
            singles = [(motion, waves, {m: x}) for motion, waves, q in terms for m, x in sorted(q.items())]
            return total([self.term(*single).node for single in singles])
        if self.style.group == "trigonometric":
            return gathered(flattened([self.term(*term) for term in terms]))
        if self.style.group == "rates":
            return by_rates(self, terms)
        by: dict[tuple[Monomial, Monomial], list[Term]] = {}
        for motion, waves, q in terms:
            for m, x in q.items():
                by.setdefault((motion, m), []).append(self.term((), waves, {(): x}))
        return gathered([self._with_waves(motion, m, waves) for (motion, m), waves in by.items()])

    def _with_magnitude(self, i: int, times: Node, rest: Node) -> Node:
        """Return `rest + times |load|` for the load whose sign is letter i."""
        last = product([*(times.factors if isinstance(times, Product) else [times]), Call("abs", (self._load(i),))])
        return total([*(rest.terms if isinstance(rest, Sum) else [rest] if rest != ZERO else []), last])

    def _with_waves(self, motion: Monomial, m: Monomial, waves: list[Term]) -> Term:
        """Return one product of parameters and rates times its sum of waves."""
        own = self.term(motion, (), {m: fmpq(1)})
        inner = term_of(gathered(waves, inside=True), own.number)
        last = len(own.factors) - len(motion)
        return Term(inner.number, (*own.factors[:last], *inner.factors, *own.factors[last:]))

    def term(self, motion: Monomial, waves: tuple, q: Mapping[Monomial, fmpq]) -> Term:
        short = self.style.abbreviate
        own = short.term(self.coefficients, q) if short is not None else self.coefficients.term(q)
        rates = tuple((self.letter(i), e) for i, e in sorted(motion, key=lambda x: self._motion_rank(x[0])))
        return Term(own.number, (*own.factors, *waves, *rates))

    # sorting terms --------------------------------------------------------------------------------------------------------

    def terms(self, p: Poly) -> SortedTerms:
        """Return the terms (rates, waves, polynomial in the parameters) in the order in which they are written."""
        if len(p) > REMEMBERED:
            return self._sorted_out(p)
        first = p.p.monomial(0) if p else ()
        key = self.style.angles, len(self.ring.generators), len(self.angles), len(p), first
        known = _SORTED_OUT.setdefault(self.equations, {}).setdefault(key, [])
        for other, terms in known:
            if other == p:
                return terms
        known.append((p, self._sorted_out(p)))
        return known[-1][1]

    def _sorted_out(self, p: Poly) -> SortedTerms:
        found: dict[tuple[Monomial, tuple], dict[Monomial, fmpq]] = {}
        for motion, part in self.split(p).items():
            for (key, m), x in self._rewritten(part).items():
                pairs = (pair for cluster, local in zip(self.clusters, key) for pair in cluster.waves(local))
                waves = tuple(sorted(pairs, key=wave_order))
                found.setdefault((motion, waves), {})[m] = x
        ordered = sorted(found, key=lambda key: (self.motion_order(key[0]), not key[1], [wave_order(x) for x in key[1]]))
        return [(motion, waves, found[motion, waves]) for motion, waves in ordered]

    def split(self, p: Poly) -> dict[Monomial, dict[tuple, fmpq]]:
        """Return rates -> {((exponents in each cluster), parameters): number}."""
        found: dict[Monomial, dict[tuple, fmpq]] = {}
        used = sorted(p.letters())
        motion, parameters, turning = ([i for i in used if self.sort[i] == sort] for sort in range(3))
        places = [(i, *self.turning[i]) for i in turning]
        for powers, x in p.p.terms():
            key = self.one
            if turning:
                exponents = [list(one) for one in self.one]
                for i, k, j in places:
                    exponents[k][j] = int(powers[i])
                key = tuple(map(tuple, exponents))
            rates = tuple((i, int(powers[i])) for i in motion if powers[i])
            found.setdefault(rates, {})[key, tuple((i, int(powers[i])) for i in parameters if powers[i])] = x
        return found

    def _rewritten(self, part: dict[tuple, fmpq]) -> dict[tuple, fmpq]:
        """Rewrite sines and cosines in the shorter of two ways: for each product of parameters by itself, or for all alike."""
        single = self.style.angles == "single"
        by_parameter: dict[Monomial, dict[tuple, fmpq]] = {}
        for (key, m), x in part.items():
            by_parameter.setdefault(m, {})[key, None] = x
        own: dict[tuple, fmpq] = {}
        classes: dict[frozenset, dict[tuple, fmpq]] = {}  # sums that differ only by a factor are written alike
        for m, terms in by_parameter.items():
            lead = next(iter(terms.values()))
            shape = frozenset((key, x / lead) for key, x in terms.items())
            if shape not in classes:
                classes[shape] = shortest({key: x / lead for key, x in terms.items()}, self.clusters, single)
            for (key, _), x in classes[shape].items():
                own[key, m] = x * lead
        if len(by_parameter) == 1:
            return own
        alike = shortest(part, self.clusters, single)
        return min((own, alike), key=weight)

    def _motion_rank(self, i: int) -> tuple[int, int]:
        return MOTION.index(self.ring.generators[i].kind), i

    def motion_order(self, m: Monomial) -> tuple:
        """Return a sorting key: accelerations, then products of velocities, then single ones, then terms without rates."""
        ranks = sorted((self._motion_rank(i), -e) for i, e in m)
        return not any(rank[0] == 0 for rank, _ in ranks), -sum(e for _, e in m), ranks

    # letters --------------------------------------------------------------------------------------------------------------

    def letter(self, i: int) -> Node:
        if i not in self.nodes:
            self.nodes[i] = self._letter(i)
        return self.nodes[i]

    def _letter(self, i: int) -> Node:
        name, kind, of = self.ring.generators[i]
        if kind == "root":
            return Call("sqrt", (Number(Fraction(of)),))
        if kind == "sign":
            alphabet = self.equations.alphabet
            inside = self._load(i) if i in alphabet.loads else self.entry(self.ring.adopted(alphabet.signs[i]))
            return Call("sign", (inside,))
        if kind == "soft":
            inside = self.entry(self.ring.adopted(self.equations.alphabet.softened[i]))
            return Inverse(Call("fourth_root", (inside,)))
        if kind in ("cos", "sin"):
            return Call(kind, (tree_of(of.multiple),))
        if kind == "inverse":
            return Inverse(tree_of(of))
        if kind == "atom":
            return tree_of(of)
        return Symbol(name, kind, of if kind in MOTION else 0)

    def _load(self, i: int) -> Symbol:
        column = self.equations.alphabet.loads[i]
        return Symbol(f"load{column + 1}", "load", column)

    def load(self, symbol: Symbol) -> Node:
        """Return the expression that the symbol of a load stands for."""
        alphabet = self.equations.alphabet
        letter = next(i for i, column in alphabet.loads.items() if column == symbol.index)
        return self.entry(self.ring.adopted(alphabet.signs[letter]))
