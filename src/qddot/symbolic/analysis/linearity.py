"""Torque as a linear function of parameters, `tau = Y pi + tau_0`, and linear dependences among the columns of Y.

Ranks are proven from both sides: columns are independent because they are so at some point, modulo some prime; they are dependent
because their combination is the polynomial 0.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy
from flint import nmod_mat

from qddot.algorithms import regressor as standard
from qddot.arguments import names as as_names
from qddot.errors import InputError, QddotError, unknown_name
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import Generator, Poly, Ring
from qddot.symbolic.form import Form

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

CONSTANT = ("parameter", "root", "inverse", "atom")
BITS = 61  # length of the primes
TRIES = 10  # attempts, each of which fails once in many millions


class Regressor(NamedTuple):
    """`tau = Y pi + remainder`.

    Attributes:
        Y: (nv, p).
        remainder: (nv,), the terms without any of the parameters.
        names: the parameters' names (p,).
    """

    Y: Form
    remainder: Form
    names: tuple[str, ...]


def regressor(equations: Equations, names: Sequence[str] | None = None) -> Regressor:
    """See `Equations.regressor`."""
    if names is None:
        a = equations.alphabet
        if a.loads:
            _ = equations.load_torque  # makes the signs of loads known
        titles = tuple(name for name, _ in standard.named_parameters(equations.lifted))
        Y = np.array(standard.regressor(equations.lifted, a.q, a.qd, a.qdd), dtype=object).reshape(equations.nv, len(titles))
        return Regressor(Form(equations, Y, "regressor"), Form(equations, [0] * equations.nv), titles)
    names = as_names("parameters", names)
    letters = [parameter(equations, name) for name in names]
    if len(set(letters)) < len(letters):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise InputError(f"{twice} stands twice among the parameters")
    tau = equations.inverse_dynamics.entries
    fractions = [(p.num, p.den) if isinstance(p, Ratio) else (p, 1) for p in tau]
    for row, (top, bottom) in enumerate(fractions):
        refuse_products(top, letters, f"tau_{row + 1}")
        refuse_signs(equations, top, letters, f"tau_{row + 1}")
        refuse_below(bottom, letters, f"tau_{row + 1}")
    Y = np.array([[p.partial(i) / bottom for i in letters] for p, bottom in fractions], dtype=object)
    Y = Y.reshape(equations.nv, len(letters))
    remainder = [p.coefficients(letters).get((0,) * len(letters), 0) / bottom for p, bottom in fractions]
    return Regressor(Form(equations, Y, "regressor"), Form(equations, remainder), tuple(names))


def parameter(equations: Equations, name: str) -> int:
    """Return the index of a parameter's letter."""
    if name not in equations.alphabet.parameters:
        raise unknown_name("parameter", name, equations.parameters)
    return equations.letter(name)


def refuse_products(p: Poly, letters: Sequence[int], where: str) -> None:
    """Refuse a polynomial with a product of the letters, or with another letter that is made of one. Raises InputError: naming the
    shortest product."""
    generators = p.ring.generators
    found = set()
    for powers, _ in p.terms():
        chosen = [i for i in letters if i in powers]
        if sum(powers[i] for i in chosen) > 1:
            others = sorted(powers.keys() - set(chosen), key=lambda i: generators[i].name)
            factors = [*chosen, *(i for i in others if is_constant(generators[i]))]
            product = "*".join(generators[i].name + (f"**{powers[i]}" if powers[i] > 1 else "") for i in factors)
            names = " and ".join(generators[i].name for i in chosen)
            found.add((sum(powers[i] for i in factors), len(chosen) == 1, product, names))
        for i in powers:
            for k in letters:
                if i != k and generators[k].of is not None and generators[k].of in symbols_of(generators[i]):
                    raise InputError(f"{where} is not linear in {generators[k].name}: it contains {generators[i].name}")
    if found:
        _, single, product, names = min(found)
        together, fix = ("", "") if single else (" together", "; leave one of them out")
        raise InputError(f"{where} is not linear in {names}{together}: it has the product {product}{fix}")


def refuse_signs(equations: Equations, p: Poly, letters: Sequence[int], where: str) -> None:
    """Refuse a polynomial with a smoothed rate, or a sign of a load or of a shaft behind a gear, that changes with one of the
    letters. Raises InputError: naming the first."""
    signs, generators = equations.alphabet.signs | equations.alphabet.softened, p.ring.generators
    for i in sorted(p.letters() & signs.keys()):
        for k in letters:
            if signs[i].letters() & {k, *equations.alphabet.dependents(k)}:
                raise InputError(f"{where} is not linear in {generators[k].name}: it contains {generators[i].name}")


def refuse_below(p: Poly | int, letters: Sequence[int], where: str) -> None:
    """Refuse a denominator with any of the letters. Raises InputError: naming the first."""
    names = [p.ring.generators[i].name for i in letters if i in p.letters()] if isinstance(p, Poly) else []
    if names:
        raise InputError(f"{where} is not linear in {names[0]}: it is divided by {p}; leave it out")


def symbols_of(generator: Generator) -> set[Any]:
    """Return the SymPy symbols inside a letter that is not a parameter itself."""
    inner = getattr(generator.of, "multiple", generator.of)
    return getattr(inner, "free_symbols", set()) if generator.kind != "parameter" else set()


def is_constant(generator: Generator) -> bool:
    """Tell whether a letter does not change with the motion."""
    return generator.kind in CONSTANT or (generator.kind in ("cos", "sin") and generator.of.coordinate is None)


# linear dependences among columns ---------------------------------------------------------------------------------------------


class Dependences(NamedTuple):
    """Dependences among the columns of a matrix: `independent` columns, as far left as possible, and the others as combinations of
    these: column -> {independent column: coefficient that does not change with the motion}."""

    independent: list[int]
    others: dict[int, dict[int, Any]]


def dependences(Y: np.ndarray, order: Sequence[int]) -> Dependences:
    """Return the dependences among the columns of Y listed in `order`, the preferred as independent first."""
    Y = without_fractions(Y)
    ring = next((x.ring for x in Y.flat if isinstance(x, Poly)), None)
    if ring is None or not len(order):
        return Dependences([], {j: {} for j in order})
    draw = random.Random(1)
    for _ in range(TRIES):  # at an unlucky point columns may seem dependent that are not
        point = Point(ring, draw)
        independent, support = pattern(point, Y, order, draw)
        others = {j: solve(point, Y, j, columns) for j, columns in support.items()}
        if all(vanishes(Y, j, others[j]) for j in others):
            return Dependences(independent, others)
    raise QddotError(f"{TRIES} random points do not tell which columns depend on one another")


def without_fractions(Y: np.ndarray) -> np.ndarray:
    """Multiply each row by the denominators of its entries, which changes no dependence."""
    Y = Y.copy()
    for row in Y:
        while den := next((x.den for x in row if isinstance(x, Ratio)), None):
            row[:] = [x.num if isinstance(x, Ratio) and x.den == den else x * den for x in row]
    return Y


def pattern(point: Point, Y: np.ndarray, order: Sequence[int], draw: random.Random) -> tuple[list[int], dict[int, list[int]]]:
    """Return the independent columns, found at random points until one more changes nothing, and those each other one needs."""
    rows: list[list[int]] = []
    rank, reduced = -1, nmod_mat(0, 0, point.prime)
    while True:
        point.move(draw)
        rows += [[point(x) for x in row] for row in Y[:, order]]
        reduced, now = nmod_mat(rows, point.prime).rref()
        if now == rank:
            break
        rank = now
    table = reduced.table()
    leads = [next(k for k, x in enumerate(row) if int(x)) for row in table[:rank]]
    others = (k for k in range(len(order)) if k not in leads)
    support = {order[k]: [order[lead] for row, lead in zip(table, leads) if int(row[k])] for k in others}
    return [order[k] for k in leads], support


class Point:
    """Random values modulo a prime for every letter, such that relations between constants hold. (Relations of the motion need
    not: a polynomial in canonical form is 0 only if all its coefficients are.)"""

    def __init__(self, ring: Ring, draw: random.Random) -> None:
        self.ring = ring
        self.moving = [i for i, g in enumerate(ring.generators) if not is_constant(g)]
        while True:
            self.prime = int(sympy.nextprime(draw.getrandbits(BITS)))
            self.values = [draw.getrandbits(32) for _ in ring.generators]
            if self.prime % 4 == 3 and self._bind():
                break

    def _bind(self) -> bool:
        """Make the relations between constants hold; return False if a root does not exist modulo the prime."""
        for relation in reversed(self.ring.relations):
            lead = relation.monoms()[0]
            i = next(k for k, e in enumerate(lead) if e)
            if i in self.moving:
                continue
            self.values[i] = 0
            to = -self._modulo(relation(*self.values)) % self.prime
            if lead[i] == 2:
                root = pow(to, (self.prime + 1) // 4, self.prime)
                if root * root % self.prime != to:
                    return False
            else:
                root = to * pow(self.values[next(k for k, e in enumerate(lead) if e and k != i)], -1, self.prime)
            self.values[i] = root % self.prime
        return True

    def move(self, draw: random.Random) -> None:
        """Draw new values for the letters that change with the motion."""
        for i in self.moving:
            self.values[i] = draw.getrandbits(32)

    def __call__(self, x: Any) -> int:
        return self._modulo(x.p(*self.values)) if isinstance(x, Poly) else int(x) % self.prime

    def _modulo(self, x: Any) -> int:
        return int(x.p) * pow(int(x.q), -1, self.prime) % self.prime


def solve(point: Point, Y: np.ndarray, j: int, columns: Sequence[int]) -> dict[int, Any]:
    """Return column j as a combination of `columns`, from as many monomials of the motion as there are columns."""
    found = echelon(independent_rows(point, by_monomial(point, Y[:, [*columns, j]]), len(columns)))
    return {column: found[place][-1] for place, column in enumerate(columns) if place in found}


def by_monomial(point: Point, Y: np.ndarray) -> Iterator[list[Any]]:
    """Yield the coefficients of each monomial of the motion in all columns; short ones first."""
    for row in sorted(Y, key=lambda row: sum(map(len, row))):
        table: dict[Any, list[Any]] = {}
        for place, p in enumerate(row):
            for key, c in p.coefficients(point.moving).items():
                table.setdefault(key, [0] * len(row))[place] = c
        yield from sorted(table.values(), key=lambda x: sum(1 + len(c) for c in x if c != 0))


def independent_rows(point: Point, rows: Iterator[list[Any]], count: int) -> Iterator[list[Any]]:
    """Yield the first `count` rows that are independent of those before them at a point; the last entry does not count."""
    kept: list[list[int]] = []
    for row in rows:
        if len(kept) == count:
            return
        kept.append([point(x) for x in row[:-1]])
        if nmod_mat(kept, point.prime).rank() == len(kept):
            yield row
        else:
            kept.pop()


def echelon(rows: Iterator[list[Any]], reverse: bool = False) -> dict[int, list[Any]]:
    """Return the reduced rows by the place of their leading 1 (exact Gauss-Jordan). It is the first entry, or the last with
    `reverse`."""
    found: dict[int, list[Any]] = {}
    for row in rows:
        for place, other in found.items():
            row = without(row, other, place)
        places = [k for k, x in enumerate(row) if x != 0]
        if not places:
            continue
        lead = places[-1] if reverse else places[0]
        row = [x / row[lead] if x != 0 else 0 for x in row]
        found = {place: without(other, row, lead) for place, other in found.items()}
        found[lead] = row
    return found


def without(row: list[Any], other: list[Any], place: int) -> list[Any]:
    """Subtract the multiple of another row that makes one place 0."""
    factor = row[place]
    return [x - factor * y if y != 0 else x for x, y in zip(row, other)] if factor != 0 else row


def vanishes(Y: np.ndarray, j: int, combination: dict[int, Any]) -> bool:
    """Tell whether column j is exactly this combination of others."""
    times: Any = 1
    for k in combination.values():
        rest = k * times
        if isinstance(rest, Ratio):
            times = rest.den * times
    return not any((times * Y[:, j] - sum((Y[:, b] * (k * times) for b, k in combination.items()), Y[:, j] * 0)).tolist())
