"""Torque as a linear function of parameters, `tau = Y pi + tau_0`, and which columns of Y depend on one another.

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
BITS = 61  # of the primes
TRIES = 10  # each fails once in many millions


class Regressor(NamedTuple):
    """`tau = Y pi + remainder`.

    Attributes:
        Y: (nv, p).
        remainder: (nv,), what none of the parameters multiplies.
        names: of the parameters (p,).
    """

    Y: Form
    remainder: Form
    names: tuple[str, ...]


def regressor(equations: Equations, names: Sequence[str] | None = None) -> Regressor:
    """See `Equations.regressor`."""
    if names is None:
        a = equations.alphabet
        if a.loads:
            _ = equations.load_torque  # so that the sign of a load is known
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
    """The letter of a parameter."""
    if name not in equations.alphabet.parameters:
        raise unknown_name("parameter", name, equations.parameters)
    return equations.letter(name)


def refuse_products(p: Poly, letters: Sequence[int], where: str) -> None:
    """Refuse, unless each term has at most one of the letters, in the first power, and nothing else hides one. Raises InputError:
    naming the shortest product."""
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
    """Refuse, unless no sign in it, of a load or of a shaft behind a gear, and no smoothed rate changes with any of the letters.
    Raises InputError: naming the first that does."""
    signs, generators = equations.alphabet.signs | equations.alphabet.softened, p.ring.generators
    for i in sorted(p.letters() & signs.keys()):
        for k in letters:
            if signs[i].letters() & {k, *equations.alphabet.dependents(k)}:
                raise InputError(f"{where} is not linear in {generators[k].name}: it contains {generators[i].name}")


def refuse_below(p: Poly | int, letters: Sequence[int], where: str) -> None:
    """Refuse, unless a denominator has none of the letters. Raises InputError: naming the one it has."""
    names = [p.ring.generators[i].name for i in letters if i in p.letters()] if isinstance(p, Poly) else []
    if names:
        raise InputError(f"{where} is not linear in {names[0]}: it is divided by {p}; leave it out")


def symbols_of(generator: Generator) -> set[Any]:
    """The SymPy symbols inside a letter other than a parameter itself."""
    inner = getattr(generator.of, "multiple", generator.of)
    return getattr(inner, "free_symbols", set()) if generator.kind != "parameter" else set()


def is_constant(generator: Generator) -> bool:
    """Whether a letter does not change with the motion."""
    return generator.kind in CONSTANT or (generator.kind in ("cos", "sin") and generator.of.coordinate is None)


# which columns depend on one another ------------------------------------------------------------------------------------------


class Dependences(NamedTuple):
    """Dependences among the columns of a matrix: `independent` ones, as far left as possible, and each other column as their
    combination: column -> {independent column: coefficient that does not change with the motion}."""

    independent: list[int]
    others: dict[int, dict[int, Any]]


def dependences(Y: np.ndarray, order: Sequence[int]) -> Dependences:
    """Dependences among the columns of Y named by `order`, which also says which to prefer as independent."""
    Y = without_fractions(Y)
    ring = next((x.ring for x in Y.flat if isinstance(x, Poly)), None)
    if ring is None or not len(order):
        return Dependences([], {j: {} for j in order})
    draw = random.Random(1)
    for _ in range(TRIES):  # a point may be special by bad luck; then what seemed to depend does not
        point = Point(ring, draw)
        independent, support = pattern(point, Y, order, draw)
        others = {j: solve(point, Y, j, columns) for j, columns in support.items()}
        if all(vanishes(Y, j, others[j]) for j in others):
            return Dependences(independent, others)
    raise QddotError(f"{TRIES} random points do not tell which columns depend on one another")


def without_fractions(Y: np.ndarray) -> np.ndarray:
    """Each row times what its entries are divided by: that changes no dependence."""
    Y = Y.copy()
    for row in Y:
        while den := next((x.den for x in row if isinstance(x, Ratio)), None):
            row[:] = [x.num if isinstance(x, Ratio) and x.den == den else x * den for x in row]
    return Y


def pattern(point: Point, Y: np.ndarray, order: Sequence[int], draw: random.Random) -> tuple[list[int], dict[int, list[int]]]:
    """The independent columns at points of motion, until one more point changes nothing; and for each other, those it needs."""
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
    """Random numbers modulo a prime for every letter, such that relations between constants hold. (Those of the motion need not:
    a polynomial in canonical form is 0 only if all its coefficients are.)"""

    def __init__(self, ring: Ring, draw: random.Random) -> None:
        self.ring = ring
        self.moving = [i for i, g in enumerate(ring.generators) if not is_constant(g)]
        while True:
            self.prime = int(sympy.nextprime(draw.getrandbits(BITS)))
            self.values = [draw.getrandbits(32) for _ in ring.generators]
            if self.prime % 4 == 3 and self._bind():
                break

    def _bind(self) -> bool:
        """False where a root does not exist modulo the prime."""
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
        for i in self.moving:
            self.values[i] = draw.getrandbits(32)

    def __call__(self, x: Any) -> int:
        return self._modulo(x.p(*self.values)) if isinstance(x, Poly) else int(x) % self.prime

    def _modulo(self, x: Any) -> int:
        return int(x.p) * pow(int(x.q), -1, self.prime) % self.prime


def solve(point: Point, Y: np.ndarray, j: int, columns: Sequence[int]) -> dict[int, Any]:
    """The combination of `columns` that column j is, from as many monomials of the motion."""
    found = echelon(independent_rows(point, by_monomial(point, Y[:, [*columns, j]]), len(columns)))
    return {column: found[place][-1] for place, column in enumerate(columns) if place in found}


def by_monomial(point: Point, Y: np.ndarray) -> Iterator[list[Any]]:
    """Yield what multiplies each monomial of the motion in each column; short ones first."""
    for row in sorted(Y, key=lambda row: sum(map(len, row))):
        table: dict[Any, list[Any]] = {}
        for place, p in enumerate(row):
            for key, c in p.coefficients(point.moving).items():
                table.setdefault(key, [0] * len(row))[place] = c
        yield from sorted(table.values(), key=lambda x: sum(1 + len(c) for c in x if c != 0))


def independent_rows(point: Point, rows: Iterator[list[Any]], count: int) -> Iterator[list[Any]]:
    """The first rows of which none is a combination of those before, at a point; the last entry does not count."""
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
    """Exact Gauss-Jordan elimination: place of the leading 1 -> row. Leading is the first entry, with `reverse` the last."""
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
    """A row less as much of another as makes one place 0."""
    factor = row[place]
    return [x - factor * y if y != 0 else x for x, y in zip(row, other)] if factor != 0 else row


def vanishes(Y: np.ndarray, j: int, combination: dict[int, Any]) -> bool:
    """Whether column j is exactly that combination of others."""
    times: Any = 1
    for k in combination.values():
        rest = k * times
        if isinstance(rest, Ratio):
            times = rest.den * times
    return not any((times * Y[:, j] - sum((Y[:, b] * (k * times) for b, k in combination.items()), Y[:, j] * 0)).tolist())
