"""Bounds of M, c and g over a box of configurations: guaranteed ones, and the largest values found.

Every term is a matrix whose induced norms are bounded: M itself; g, a single column; and the Christoffel symbols as the n x n^2
matrix that takes the products qd_i qd_j to c.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from qddot.compile.evaluate import Evaluator
from qddot.errors import QddotError
from qddot.model.model import Model
from qddot.symbolic.equations import Equations
from qddot.symbolic.properties.certify import (
    CLOSE,
    certify,
    largest_eigenvalue,
    largest_sum,
    least_eigenvalue,
    least_largest_sum,
    length,
)
from qddot.symbolic.properties.domain import Domain
from qddot.symbolic.properties.harmonics import Harmonics
from qddot.symbolic.properties.of_q import least_eigenvalue as least_eigenvalue_of
from qddot.symbolic.properties.of_q import least_of_q, most_of_q
from qddot.symbolic.properties.optimum import maximise
from qddot.symbolic.properties.ranges import Ranges, Sum, express, largest, norm_sums
from qddot.symbolic.properties.reach import Reach, reach
from qddot.symbolic.properties.spectrum import Compact, Enclosure, Spectrum

NORMS = (1, 2, np.inf)
WORK = 2e6  # boxes times waves times variables, for each bound
DIRECTIONS = 300
TIGHT = 1e-5  # relative
TWELFTH = np.pi / 12

COEFFICIENTS = "rigorous: coefficients of the closed form"
INTERVALS = "rigorous: interval bound, branch and bound"
LENGTHS = "rigorous: coefficients, masses and lengths"
DETERMINANT = "rigorous: determinant and trace of M, by their coefficients"


@dataclass(frozen=True, eq=False)
class Bound:
    """A bound: floats, or SymPy expressions where the robot has symbols (which are taken to be positive).

    Attributes:
        name: `mu_1`, `mu_2`, `c_b` or `g_b`.
        norm: 1, 2 or inf.
        rigorous: the bound that holds for every configuration; None if symbols leave it open.
        how: the method that gave it.
        attained: the largest value that a search found (for `mu_1`: the least), at `q` (for `c_b`: moving along `qd`). The best
            bound lies between it and `rigorous`. None if symbols leave it open or a joint needs limits.
        coefficients: the bound by the sum of absolute coefficients, for comparison; None for `mu_1`.
        entries: for `c_b` in the 2-norm, the bound `n^2 max |Gamma_ijk|` of the textbooks.
        of_q: where a slider without limits leaves no constant bound, one that depends on its position: a SymPy expression in the
            positions `q1, q2, ...` (and symbols); None otherwise.
    """

    name: str
    norm: float
    rigorous: Any
    how: str
    attained: Any = None
    q: np.ndarray | None = None
    qd: np.ndarray | None = None
    coefficients: Any = None
    entries: Any = None
    of_q: Any = None

    @property
    def is_tight(self) -> bool:
        """True if the rigorous bound is attained, to five digits, so that no bound is better."""
        if self.attained is None or self.rigorous is None:
            return False
        off = sympy.simplify(self.rigorous / self.attained - 1) if self.attained != 0 else sympy.sympify(self.rigorous)
        return bool(off.is_number and abs(off) <= TIGHT)

    def __repr__(self) -> str:
        return f"{self.name}[{self.norm}]: rigorous {self.rigorous}, attained {self.attained}{' (tight)' if self.is_tight else ''}"


class Term:
    """M, c or g. Arrays have the shape (columns, rows) of the transposed matrix.

    Attributes:
        scale: the common factor: 1, or the one product of parameters that occurs; None if there are several.
        spectrum: the term divided by the scale, if there is one.
        open_joints: joints that need limits for a bound to exist.
    """

    def __init__(
        self, name: str, shape: tuple[int, int], harmonics: Harmonics, domain: Domain, spectrum: Spectrum | None = None
    ) -> None:
        self.name, self.shape, self.harmonics, self.domain = name, shape, harmonics, domain
        self.symbolic = not harmonics.is_numeric
        self.open_joints = domain.open_joints(harmonics)
        self.scale: Any = None
        if len(harmonics.terms) <= 1:
            key = next(iter(harmonics.terms), ())
            self.scale = express(harmonics.alphabet.ring, {key: 1}) if key else 1
            self.spectrum = spectrum or Spectrum.of(harmonics, domain.mechanism.nq)

    @cached_property
    def compact(self) -> Compact:
        return self.spectrum.compact()

    @cached_property
    def columns(self) -> np.ndarray:
        """The columns of qd that change it."""
        turning, plain = self.harmonics.coordinates()
        return self.domain.columns(turning | plain)

    def ranges(self, low: np.ndarray, high: np.ndarray) -> Ranges:
        return Ranges(self.harmonics, low, high)

    def enclosed(self, e: Enclosure, across: bool = False) -> Enclosure:
        e = e.reshape(*self.shape)
        return Enclosure(*(np.swapaxes(x, 0, 1) for x in e)) if across else e


class Bounds:
    """Computes every `Bound` of a robot; `found` holds them by (name, norm)."""

    def __init__(self, model: Model, equations: Equations, domain: Domain, effort: float) -> None:
        self.domain, self.work, self.n = domain, WORK * effort, equations.nv
        self.compute = with_ones(model)
        self.reach: Reach | None = None if model.symbols else reach(model, domain)
        n, read = self.n, lambda entries: Harmonics(equations.alphabet, entries)
        self.M = Term("M", (n, n), read(equations.mass_matrix.entries), domain)
        if self.M.symbolic or self.M.spectrum.powers.any() or equations.nq != n:
            self.c = Term("c", (n * n, n), read(christoffel(equations)), domain)
        else:  # from the waves of M: their closed forms are long
            self.c = Term("c", (n * n, n), self.M.harmonics, domain, self.M.spectrum.christoffel())
        self.g = Term("g", (1, n), read(equations.gravity_torque.entries), domain)
        self.found: dict[tuple[str, float], Bound] = {}
        for norm in (1, 2):
            self.found["mu_1", norm], self.found["mu_2", norm] = self.least(norm), self.most("mu_2", self.M, norm, self.masses)
        for name in ("mu_1", "mu_2"):  # M is symmetric
            self.found[name, np.inf] = Bound(**{**vars(self.found[name, 1]), "norm": np.inf})
        for norm in NORMS:
            self.found["c_b", norm] = self.most("c_b", self.c, norm, self._christoffel)
            self.found["g_b", norm] = self.most("g_b", self.g, norm, self._gravity)

    # values at configurations ---------------------------------------------------------------------------------------------

    def masses(self, q: np.ndarray) -> np.ndarray:
        return self.compute("mass_matrix", {"q": q}, {})  # type: ignore[misc]

    def _gravity(self, q: np.ndarray) -> np.ndarray:
        return self.compute("gravity_torque", {"q": q}, {})[:, None]  # type: ignore[misc]

    def _christoffel(self, q: np.ndarray) -> np.ndarray:
        C = self.compute("coriolis_matrix", {"q": q[:, None], "qd": np.eye(self.n)}, {}, form="christoffel")  # type: ignore[misc]
        return np.swapaxes(C, -1, -2).reshape(len(q), self.n**2, self.n)

    def _optimum(self, term: Term, value: Callable[[np.ndarray], np.ndarray], ceiling: float = np.inf) -> tuple[float, np.ndarray]:
        """Return the largest value found of a function of q that does not exceed `ceiling`, and the values of the columns there."""
        columns = term.columns
        at = lambda x: self.domain.configurations(columns, x)  # noqa: E731
        return maximise(lambda x: value(at(x)), self.domain.start[columns], self.domain.end[columns], ceiling)

    def _at(self, term: Term, x: np.ndarray) -> np.ndarray:
        """Return the configuration of an optimum."""
        return self.domain.configurations(term.columns, x[None])[0]

    def _steepest(self, norm: float, ceiling: float, near: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the largest `|c| / |qd|^2` found, with its q and a unit qd; many starts are `near` a configuration."""
        columns, n, compute = self.c.columns, self.n, self.compute
        k = len(columns)

        def value(x: np.ndarray) -> np.ndarray:
            size = np.linalg.norm(x[:, k:], norm, axis=1)
            q = self.domain.configurations(columns, x[:, :k])
            c = compute("coriolis_torque", {"q": q, "qd": x[:, k:]}, {})  # type: ignore[misc]
            return np.linalg.norm(c, norm, axis=1) / np.maximum(size, 1e-6) ** 2

        low, high = np.append(self.domain.start[columns], -np.ones(n)), np.append(self.domain.end[columns], np.ones(n))
        directions = np.random.default_rng(1).uniform(-1, 1, (DIRECTIONS, n))
        hints = np.concatenate([np.tile(near, (2 * DIRECTIONS, 1)), np.concatenate([directions, np.sign(directions)])], axis=1)
        best, x = maximise(value, low, high, ceiling, hints)
        return best, x[:k], x[k:] / np.linalg.norm(x[k:], norm)

    # from above -----------------------------------------------------------------------------------------------------------

    def most(self, name: str, term: Term, norm: float, value: Callable[[np.ndarray], np.ndarray]) -> Bound:
        if term.open_joints:
            return Bound(name, norm, np.inf, unlimited(term), of_q=most_of_q(term, norm))
        if term.scale is None:
            return self._symbolic(name, term, norm, value)
        scaled = lambda x: None if x is None else float(x) if term.scale == 1 else x * term.scale  # noqa: E731
        of = lambda q: np.linalg.norm(np.swapaxes(value(q), -1, -2), norm, axis=(-2, -1))  # noqa: E731
        candidates = self._candidates(term, norm)
        coefficients = candidates[0][0]
        attained = q = qd = None
        if self.compute is not None:
            ceiling = float(min(x for x, _ in candidates))
            top, x = self._optimum(term, of, ceiling)
            if top < ceiling * (1 - CLOSE):
                upper = self._upper(term, norm)
                ceiling = certify(term.compact, upper, self.domain.lower, self.domain.upper, top, self.work)
                candidates.append((ceiling, INTERVALS))
            attained, x, qd = self._steepest(norm, ceiling, x) if name == "c_b" else (top, x, None)
            q = self._at(term, x)
        rigorous, how = min(candidates, key=lambda pair: pair[0])
        if attained is not None and term.symbolic and abs(attained - rigorous) <= 1e-9 * abs(rigorous):
            attained = rigorous
        entries = None
        if name == "c_b" and norm == 2:
            entries = scaled(self.n**2 * max(self._entries(term)))
        return Bound(name, norm, scaled(rigorous), how, scaled(attained), q, qd, scaled(coefficients), entries)

    def _candidates(self, term: Term, norm: float) -> list[tuple[Any, str]]:
        """Return guaranteed bounds and their methods, the one from coefficients first."""
        if term.symbolic:
            return [(next(iter(self._sum(term, norm)[0].values()), 0), COEFFICIENTS)]
        sizes = term.spectrum.magnitudes(self.domain.lower, self.domain.upper)
        lengths = self.reach and {"M": self.reach.M, "g": self.reach.g, "c": self.reach.christoffel}[term.name]
        found = [(matrix_norm(sizes.reshape(term.shape), norm), COEFFICIENTS)]
        if lengths is not None:
            found.append((matrix_norm(np.fmin(sizes, lengths.ravel()).reshape(term.shape), norm), LENGTHS))
        return found

    def _upper(self, term: Term, norm: float) -> Callable[[Enclosure], np.ndarray]:
        if norm == 2 and term.name == "M":
            return lambda e: largest_eigenvalue(term.enclosed(e))
        if norm == 2:
            return lambda e: length(term.enclosed(e, across=True))
        return lambda e: largest_sum(term.enclosed(e, across=norm != 1))

    def _entries(self, term: Term) -> list[Any]:
        """Return bounds of the magnitude of each entry, without the scale."""
        if not term.symbolic:
            return list(term.spectrum.magnitudes(self.domain.lower, self.domain.upper))
        sums = term.ranges(self.domain.lower, self.domain.upper).magnitudes().flat
        return [next(iter(s.values()), 0) for s in sums]

    # with symbols ---------------------------------------------------------------------------------------------------------

    def _sum(self, term: Term, norm: float, at: np.ndarray | None = None) -> list[Sum]:
        """Return sums, the largest of which bounds the norm by coefficients, in the box or at one configuration."""
        low, high = (self.domain.lower, self.domain.upper) if at is None else (at, at)
        return norm_sums(term.ranges(low, high).magnitudes().reshape(term.shape), norm)

    def _symbolic(self, name: str, term: Term, norm: float, value: Callable[[np.ndarray], np.ndarray]) -> Bound:
        sums = self._sum(term, norm)
        ring = term.harmonics.alphabet.ring
        shown = sympy.Max(*(express(ring, s) for s in sums))
        attained = q = None
        if self.compute is not None and len(sums) == 1 and name != "c_b":
            of = lambda q: np.linalg.norm(np.swapaxes(value(q), -1, -2), norm, axis=(-2, -1))  # noqa: E731
            q = rounded(self._at(term, self._optimum(term, of)[1]))
            there = self._sum(term, norm, q)
            attained, q = (shown, q) if norm != 2 and len(there) == 1 and same(there[0], sums[0]) else (None, None)
        entries = None
        if name == "c_b" and norm == 2:
            every = largest(list(term.ranges(self.domain.lower, self.domain.upper).magnitudes().flat))
            entries = self.n**2 * sympy.Max(*(express(ring, s) for s in every))
        return Bound(name, norm, shown, COEFFICIENTS, attained, q, coefficients=shown, entries=entries)

    # from below -----------------------------------------------------------------------------------------------------------

    def least(self, norm: float) -> Bound:
        """Return `mu_1`, the lower bound of the norm of M, for the 2-norm that of its eigenvalues."""
        term = self.M
        if term.open_joints:
            return Bound("mu_1", norm, 0.0, unlimited(term), of_q=least_of_q(term, norm, self._definite_somewhere()))
        if term.scale is None:
            return self._symbolic_least(norm)
        if self.compute is None:
            return Bound("mu_1", norm, None, "needs numbers for the symbols")
        smallest = lambda M: np.linalg.eigvalsh(M)[:, 0] if norm == 2 else np.linalg.norm(M, norm, axis=(-2, -1))  # noqa: E731
        attained, x = self._optimum(term, lambda q: -smallest(self.masses(q)))
        upper = least_eigenvalue if norm == 2 else least_largest_sum
        below = certify(term.compact, lambda e: upper(term.enclosed(e)), self.domain.lower, self.domain.upper, attained, self.work)
        candidates = [(-below, INTERVALS)]
        if self.reach is not None:
            candidates.append((self.reach.least, LENGTHS))
        rigorous, how = max(candidates, key=lambda pair: pair[0])
        return Bound("mu_1", norm, rigorous * term.scale, how, -attained * term.scale, self._at(term, x))

    def _definite_somewhere(self) -> bool:
        """Tell whether M is positive definite in the middle of the box, with 1 for each symbol."""
        return self.compute is not None and bool(np.linalg.eigvalsh(self.masses(self.domain.middle()[None]))[0, 0] > 0)

    def _symbolic_least(self, norm: float) -> Bound:
        if norm == 2:
            found = least_eigenvalue_of(self.M, self._definite_somewhere())
            return Bound("mu_1", norm, found, "needs numbers for the symbols" if found is None else DETERMINANT)
        term, ring = self.M, self.M.harmonics.alphabet.ring
        sums = term.ranges(self.domain.lower, self.domain.upper).least_column_sums()
        ones = [sum(s.values()) for s in sums]
        chosen = sums[int(np.argmax(ones))]
        attained = q = None
        if self.compute is not None:
            _, x = self._optimum(term, lambda q: -np.linalg.norm(self.masses(q), norm, axis=(-2, -1)))
            q = rounded(self._at(term, x))
            there = self._sum(term, norm, q)
            attained, q = (express(ring, chosen), q) if len(there) == 1 and same(there[0], chosen) else (None, None)
        return Bound("mu_1", norm, express(ring, chosen), COEFFICIENTS, attained, q)


def christoffel(equations: Equations) -> np.ndarray:
    """Return Gamma_ijk with `c_k = sum_ij Gamma_ijk qd_i qd_j`; where qd is not the rate of q, from the Coriolis matrix."""
    if equations.nq == equations.nv:
        return equations.christoffel.entries
    rates = [equations.alphabet.index("velocity", c) for c in range(equations.nv)]
    columns = equations.coriolis_matrix().entries.T
    return np.array([[[x.partial(i) for x in column] for column in columns] for i in rates], dtype=object)


def with_ones(model: Model) -> Evaluator | None:
    """Return the kernels of the robot with 1 for each symbol; None if that is no valid robot."""
    try:
        return Evaluator(model.subs(dict.fromkeys(model.symbols, 1)) if model.symbols else model)
    except QddotError:
        return None


def matrix_norm(transposed: np.ndarray, norm: float) -> float:
    """Return the norm of a matrix given as its transpose, rounded up; infinite if an entry is not finite."""
    return float(np.linalg.norm(transposed.T, norm)) * (1 + 1e-12) if np.isfinite(transposed).all() else np.inf


def unlimited(term: Term) -> str:
    names = ", ".join(map(repr, term.open_joints))
    return f"{term.name} depends on the position of {names}, which has no limits: give some with limits=, or see of_q"


def rounded(q: np.ndarray) -> np.ndarray:
    """Round angles next to a multiple of 15 degrees to that multiple."""
    near = np.round(q / TWELFTH) * TWELFTH
    return np.where(abs(q - near) < 1e-5, near, q)


def same(s: Sum, t: Sum) -> bool:
    """Tell whether two sums are equal up to rounding."""
    return all(abs(float(s.get(m, 0)) - float(t.get(m, 0))) <= 1e-9 for m in s.keys() | t.keys())
