"""A Lagrangian as SymPy expressions, and the terms of the equations of motion, found by differentiation.

    d/dt dL/dqd - dL/dq + dD/dqd - Q = tau        L = T - V        T = qd^T M(q) qd / 2 + b(q)^T qd + T0(q)

so that `M qdd + c + g + dD/dqd - Q = tau` with `g = d(V - T0)/dq` and

    c_k = sum_ij (dM_kj/dq_i - dM_ij/dq_k / 2) qd_i qd_j + sum_j (db_k/dq_j - db_j/dq_k) qd_j

T need not be homogeneous in the velocities: on a turntable, b gives Coriolis forces, and -T0 is the centrifugal potential.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy

from qddot.errors import InputError, SingularityError, unknown_name
from qddot.symbolic.exact.expressions import parsed
from qddot.symbolic.printing.notation import rate

Expr = Any
"""A SymPy expression; SymPy's own annotations are not precise enough for a type checker."""

KNOWN = (sympy.sin, sympy.cos, sympy.tan, sympy.sign, sympy.Abs)
"""Functions that every target computes; square roots and whole powers are also permitted."""


@dataclass(frozen=True)
class Lagrangian:
    """Energies in the letters `q1, qd1, ...`, all real symbols; every other symbol is a parameter."""

    names: tuple[str, ...]  # of the coordinates
    # T, V, D: kinetic and potential energy, J, and Rayleigh's function, W
    T: Expr
    V: Expr
    D: Expr
    Q: tuple[Expr, ...]  # one generalised force per coordinate, N or N m

    @property
    def n(self) -> int:
        return len(self.names)

    @cached_property
    def q(self) -> list[sympy.Symbol]:
        return letters("q", self.n)

    @cached_property
    def qd(self) -> list[sympy.Symbol]:
        return letters("qd", self.n)

    @cached_property
    def qdd(self) -> list[sympy.Symbol]:
        return letters("qdd", self.n)

    @cached_property
    def parameters(self) -> frozenset[Expr]:
        used = set().union(*(x.free_symbols for x in (self.T, self.V, self.D, *self.Q)))
        return frozenset(used - {*self.q, *self.qd})

    @cached_property
    def angles(self) -> frozenset[int]:
        """Indices of the coordinates that occur inside a sine, cosine or tangent."""
        inside = set()
        for x in (self.T, self.V, self.D, *self.Q):
            for f in x.atoms(sympy.sin, sympy.cos, sympy.tan):
                inside |= f.free_symbols
        return frozenset(i for i, q in enumerate(self.q) if q in inside)

    # terms of the equations of motion --------------------------------------------------------------------------------------

    @cached_property
    def still(self) -> dict[Any, int]:
        return dict.fromkeys(self.qd, 0)

    @cached_property
    def T0(self) -> Expr:
        """Kinetic energy at rest."""
        return self.T.xreplace(self.still)

    @cached_property
    def b(self) -> list[Expr]:
        """Momenta at rest."""
        return [sympy.diff(self.T, v).xreplace(self.still) for v in self.qd]

    @cached_property
    def mass_matrix(self) -> list[list[Expr]]:
        half = [[sympy.diff(self.T, a, b) for b in self.qd[: i + 1]] for i, a in enumerate(self.qd)]
        return [[half[max(i, j)][min(i, j)] for j in range(self.n)] for i in range(self.n)]

    @cached_property
    def momentum(self) -> list[Expr]:
        M = self.mass_matrix
        return [sum((M[i][j] * v for j, v in enumerate(self.qd)), self.b[i]) for i in range(self.n)]

    @cached_property
    def christoffel(self) -> list[list[list[Expr]]]:
        """Christoffel symbols of the first kind, [i][j][k]."""
        d = [[[sympy.diff(x, q) for q in self.q] for x in row] for row in self.mass_matrix]
        n = range(self.n)
        return [[[(d[k][j][i] + d[k][i][j] - d[i][j][k]) / 2 for k in n] for j in n] for i in n]

    @cached_property
    def coriolis_matrix(self) -> list[list[Expr]]:
        """C with `C qd = c`: the part of the Christoffel symbols, and the skew part of b."""
        n = range(self.n)
        turn = [[sympy.diff(self.b[k], self.q[j]) - sympy.diff(self.b[j], self.q[k]) for j in n] for k in n]
        return [[sum((self.christoffel[i][j][k] * self.qd[i] for i in n), turn[k][j]) for j in n] for k in n]

    @cached_property
    def coriolis(self) -> list[Expr]:
        return [sum((x * v for x, v in zip(row, self.qd)), sympy.Integer(0)) for row in self.coriolis_matrix]

    @cached_property
    def gravity(self) -> list[Expr]:
        return [sympy.diff(self.V - self.T0, q) for q in self.q]

    @cached_property
    def friction(self) -> list[Expr]:
        return [sympy.diff(self.D, v) for v in self.qd]

    @cached_property
    def forces(self) -> list[Expr]:
        """`dL/dq - dD/dqd + Q`: the rates of the momenta without tau."""
        return [sympy.diff(self.T - self.V, q) - f + x for q, f, x in zip(self.q, self.friction, self.Q)]

    @cached_property
    def friction_slope(self) -> list[list[Expr]]:
        return [[sympy.diff(f - x, v) for v in self.qd] for f, x in zip(self.friction, self.Q)]

    @cached_property
    def bias(self) -> list[Expr]:
        return [c + g + f - x for c, g, f, x in zip(self.coriolis, self.gravity, self.friction, self.Q)]

    @cached_property
    def inverse_dynamics(self) -> list[Expr]:
        return [sum((m * a for m, a in zip(row, self.qdd)), h) for row, h in zip(self.mass_matrix, self.bias)]

    @cached_property
    def slopes(self) -> tuple[list[list[Expr]], list[list[Expr]]]:
        """Derivatives of inverse dynamics with respect to q and qd."""
        by = lambda letters: [[sympy.diff(x, v) for v in letters] for x in self.inverse_dynamics]  # noqa: E731
        return by(self.q), by(self.qd)

    def subs(self, values: Mapping[Any, Any]) -> Lagrangian:
        put = lambda x: x.subs(values, simultaneous=True)  # noqa: E731
        return Lagrangian(self.names, put(self.T), put(self.V), put(self.D), tuple(map(put, self.Q)))

    # checks ----------------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Refuse energies without equations of motion. Raises InputError: a velocity that T does not contain, or not quadratically,
        a potential with a velocity, an unknown function; SingularityError: the mass matrix is singular at every q."""
        parts = {"T": self.T, "V": self.V, "dissipation": self.D} | {
            f"the force on {name}": x for name, x in zip(self.names, self.Q)
        }
        for what, x in parts.items():
            refuse_unknown_functions(what, x)
        for name, v in zip(self.names, self.qd):
            if not self.T.has(v):
                raise InputError(
                    f"T does not depend on the velocity of {name!r}: nothing has inertia there. Give that coordinate a kinetic "
                    f"energy, or take it out of coordinates (a letter written {name}d is its velocity)"
                )
            if self.V.has(v):
                raise InputError(f"V depends on the velocity of {name!r}: a potential is a function of positions; put it into T")
        for i, row in enumerate(self.mass_matrix):
            for j, x in enumerate(row):
                if any(not is_zero(sympy.diff(x, v)) for v in self.qd):
                    names = f"{self.names[i]!r} and {self.names[j]!r}"
                    raise InputError(f"T is not quadratic in the velocities of {names}: d2T/dqd2 still depends on velocities")
        if is_zero(determinant(self.mass_matrix)):
            raise SingularityError(
                f"the mass matrix d2T/dqd2 of {', '.join(self.names)} is singular at every q: some combination of velocities has "
                "no kinetic energy. Leave out coordinates, or give the missing motion a mass"
            )


def lagrangian(names: Sequence[str], T: Any, V: Any, D: Any, forces: Mapping[str, Any]) -> Lagrangian:
    """Return the Lagrangian of a user's expressions or texts, in coordinates `x`, `theta`, `q1` and velocities `xd`, `thetad`,
    `qd1`."""
    names = as_names(names)
    for name in forces:
        if name not in names:
            raise unknown_name("coordinate", name, names)
    read = lambda what, x: in_letters(what, x, names)  # noqa: E731
    Q = tuple(read(f"the force on {name}", forces.get(name, 0)) for name in names)
    found = Lagrangian(names, read("T", T), read("V", V), read("dissipation", D), Q)
    found.check()
    return found


def as_names(names: Any) -> tuple[str, ...]:
    """Return the names of coordinates given as texts, symbols, or functions of time such as SymPy's `dynamicsymbols`."""
    several = names.replace(",", " ").split() if isinstance(names, str) else names
    if not isinstance(several, Sequence) or not several:
        raise InputError(f"coordinates={names!r}: names are needed, such as ['x', 'theta']")
    found = tuple(x.func.__name__ if isinstance(x, sympy.core.function.AppliedUndef) else str(x) for x in several)
    for name in found:
        if not name.isidentifier() or found.count(name) > 1:
            raise InputError(f"coordinates={names!r}: {name!r} is no name, or is there twice")
    return found


def in_letters(what: str, x: Any, names: Sequence[str]) -> Expr:
    """Return an expression in q1, qd1, ... instead of the user's coordinates and velocities."""
    if isinstance(x, str):
        x = parsed(x)
    try:
        x = sympy.sympify(x)
    except (sympy.SympifyError, TypeError):
        raise InputError(f"{what}={x!r} is not an expression") from None
    if not isinstance(x, sympy.Expr):
        raise InputError(f"{what}={x!r} is not an expression")
    for d in sorted(x.atoms(sympy.Derivative), key=str):  # x(t) and its derivative, as SymPy's mechanics module writes them
        f, order = d.expr, d.derivative_count
        if order == 1 and f.func.__name__ in names:
            x = x.xreplace({d: sympy.Symbol(rate(f.func.__name__))})
    for f in sorted(x.atoms(sympy.core.function.AppliedUndef), key=str):
        if f.func.__name__ in names:
            x = x.xreplace({f: sympy.Symbol(f.func.__name__)})
    put: dict[Any, Any] = {}
    free: list[Any] = sorted(x.free_symbols, key=str)
    for s in free:
        for k, name in enumerate(names):
            if s.name == name:
                put[s] = letters("q", len(names))[k]
            elif s.name in (rate(name), f"{name}d"):
                put[s] = letters("qd", len(names))[k]
    taken = {f"{letter}{k + 1}" for letter in ("q", "qd", "qdd") for k in range(len(names))}
    for s in set(free) - put.keys():
        if s.name in taken or s.name == "t":
            why = "time: only systems whose energies do not depend on it are kept" if s.name == "t" else "a coordinate's own letter"
            raise InputError(f"{what} has the symbol {s.name}, which means {why}")
        put[s] = sympy.Symbol(s.name, real=True, positive=s.is_positive)
    return x.xreplace(put)


def letters(letter: str, n: int) -> list[sympy.Symbol]:
    return [sympy.Symbol(f"{letter}{k + 1}", real=True) for k in range(n)]


def refuse_unknown_functions(what: str, x: Expr) -> None:
    """Refuse an expression with functions or powers that cannot be computed, or that is not real. Raises InputError."""
    for f in x.atoms(sympy.Function):
        if not isinstance(f, KNOWN):
            raise InputError(f"{what} has {f}: known are sin, cos, tan, sign, Abs, square roots and whole powers")
    for p in x.atoms(sympy.Pow):
        if not (2 * p.exp).is_Integer:
            raise InputError(f"{what} has {p}: known are whole powers and square roots")
    if x.has(sympy.I, sympy.zoo, sympy.oo, sympy.nan):
        raise InputError(f"{what} is not a finite real expression: {x}")


def determinant(M: list[list[Expr]]) -> Expr:
    return sympy.Matrix(M).det(method="berkowitz")


def is_zero(x: Any) -> bool:
    """True if an expression is identically zero; numbers disprove it quickly, or else SymPy proves it."""
    x = sympy.sympify(x)
    if not x.free_symbols:
        return bool(sympy.simplify(x) == 0)
    draws = [
        {s: sympy.Rational(7 + 3 * k + 5 * i, 11 + 2 * i) for i, s in enumerate(sorted(x.free_symbols, key=str))} for k in range(2)
    ]
    if any(abs(x.subs(values).evalf(30)) > 1e-20 for values in draws):
        return False
    return bool(sympy.simplify(x) == 0)
