"""Motion under constraints in closed form: `tau = M qdd + h + A^T lam` with `A qd = 0`.

    [ M  A^T ] [ qdd ]   [  tau - h  ]                 [ X    Y ]
    [ A   0  ] [ lam ] = [ -Adot qd  ],   the inverse  [ Y^T  Z ]

    qdd = X (tau - h) - Y Adot qd      lam = Y^T (tau - h) - Z Adot qd      P = M X = 1 - A^T Y^T      P_qdd = X M = P^T

which are the formulas of the books, `-Z = (A M^-1 A^T)^-1` and `Y = M^-1 A^T (A M^-1 A^T)^-1`, without an inverse of M.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from qddot.constraints.constraint import Constraint
from qddot.constraints.open import Open, OpenField
from qddot.constraints.state import State
from qddot.errors import InputError, SingularityError, UnknownNameError
from qddot.model.model import LiftedModel, Model
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.minors import bordered_inverse, independent_columns, minors
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import NotPolynomialError, Poly
from qddot.symbolic.form import Form

LARGEST = 7
"""Joints and rows together: the closed forms of larger systems are too long to be of use."""


class Constrained:
    """A robot under constraints, in closed form. Forms have the letters `tau1, ...` of joint forces and `lambda1, ...` of
    multipliers besides those of the open tree; `evaluate` and `lambdify` take them as `tau=` and `lam=`.

    Attributes:
        equations: those of the open tree, with these letters: `equations.M` and so on.
        constraints: the constraints that are imposed.
        residual: phi(q) of the holonomic rows, which is zero.
        A: (k, nv), `A qd = 0`.
    """

    def __init__(self, equations: Equations, constraints: Sequence[Constraint], residual: Any, A: Any) -> None:
        self.equations, self.constraints = equations, tuple(constraints)
        self.residual = Form(equations, residual, "constraint_residual")
        self.A = Form(equations, A, "constraint_jacobian")

    def __repr__(self) -> str:
        k, n = self.A.shape
        return f"{self.equations.model.name!r} under {k} constraint rows: {n - k} of {n} degrees of freedom are left"

    @cached_property
    def Adot(self) -> Form:
        """dA/dt (k, nv)."""
        return Form(self.equations, self.A.dt().entries, "constraint_jacobian_dot")

    @cached_property
    def h(self) -> Form:
        """Everything in tau but `M qdd` (nv,): Coriolis and centripetal forces, gravity, friction, springs."""
        if self.equations.alphabet.loads:
            raise InputError("friction grows with the load on a joint, which the constraints change: there is no closed form of it")
        at_rest = {f"qdd{i + 1}": 0 for i in range(self.equations.nv)}
        return Form(self.equations, self.equations.tau.subs(at_rest).entries, "bias_torque")

    @cached_property
    def inverse_dynamics(self) -> Form:
        """tau (nv,) = `M qdd + h + A^T lam`: a motion alone does not say how hard to push."""
        eq = self.equations
        load = eq.M.entries @ eq.qdd.entries + self.h.entries + self.A.entries.T @ self._letters("multiplier")
        return Form(eq, load, "inverse_dynamics")

    @cached_property
    def N(self) -> Form:
        """Basis of the allowed velocities (nv, nv - k): `A N = 0`, columns of polynomials without common factor."""
        A, (k, n) = self.A.entries, self.A.shape
        kept = independent_columns(A)
        self._refuse_dependent(len(kept))
        minor = minors(A)
        free = [j for j in range(n) if j not in kept]
        N = np.full((n, n - k), self.equations.alphabet.ring.constant(0), dtype=object)
        for column, j in enumerate(free):
            N[j, column] = minor(range(k), kept)
            for place, i in enumerate(kept):  # by Cramer's rule
                N[i, column] = -minor(range(k), [*kept[:place], j, *kept[place + 1 :]])
            N[:, column] = without_common_factor(N[:, column])
        return Form(self.equations, N, "constraint_null_space")

    @cached_property
    def reduced(self) -> Form:
        """`N^T (M qdd + h)` (nv - k,), which equals `N^T tau`: the equations that are left when the multipliers are eliminated."""
        eq = self.equations
        return Form(eq, self.N.entries.T @ (eq.M.entries @ eq.qdd.entries + self.h.entries), "reduced_dynamics")

    @cached_property
    def lam(self) -> Form:
        """The multipliers (k,) in q, qd and tau: `(A M^-1 A^T)^-1 (A M^-1 (tau - h) + Adot qd)`."""
        _, Y, Z, d = self._inverse
        return Form(self.equations, (Y.T @ self._driving - Z @ self._drift) / d, "constraint_multipliers")

    @cached_property
    def qdd(self) -> Form:
        """The accelerations (nv,) in q, qd and tau: `M^-1 (tau - h - A^T lam)`."""
        X, Y, _, d = self._inverse
        return Form(self.equations, (X @ self._driving - Y @ self._drift) / d, "forward_dynamics")

    @cached_property
    def P(self) -> Form:
        """`1 - A^T (A M^-1 A^T)^-1 A M^-1` (nv, nv): the part of joint forces that moves the robot."""
        X, _, _, d = self._inverse
        return Form(self.equations, self.equations.M.entries @ X / d, "constraint_projection")

    @cached_property
    def P_qdd(self) -> Form:
        """`1 - M^-1 A^T (A M^-1 A^T)^-1 A` (nv, nv): the part of accelerations and velocities that keeps the constraints."""
        return Form(self.equations, self.P.entries.T, "constraint_projection_of_rates")

    # intermediate results -------------------------------------------------------------------------------------------------

    @cached_property
    def _inverse(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        """(X, Y, Z, d): the blocks above are `X / d`, `Y / d` and `Z / d`."""
        k, n = self.A.shape
        self._refuse_dependent(len(independent_columns(self.A.entries)))
        if n + k > LARGEST:
            raise InputError(
                f"closed forms of lam, qdd and P are for at most {LARGEST} joints and rows together, here are {n} and {k}: take "
                "A, Adot, N and reduced, or the numbers of Robot.constrained_forward_dynamics"
            )
        return bordered_inverse(self.equations.M.entries, self.A.entries)

    @property
    def _driving(self) -> np.ndarray:
        return self._letters("force") - self.h.entries

    @property
    def _drift(self) -> np.ndarray:
        return self.Adot.entries @ self.equations.qd.entries

    def _letters(self, kind: str) -> np.ndarray:
        return np.array(self.equations.alphabet.further[kind], dtype=object)

    def _refuse_dependent(self, rank: int) -> None:
        k = len(self.A)
        if rank < k:
            raise SingularityError(
                f"the {k} rows of the constraints have rank {rank} at every q: leave {k - rank} of them out, as with axes='xy' of "
                "a loop in a plane"
            )


def constrained(model: Model, symbols: str, constraints: Sequence[Constraint]) -> Constrained:
    """Return the equations of the robot under these constraints, with letters also for symbols that only the constraints have."""
    found: tuple[Any, ...] = ()
    while True:
        equations = Equations(model, symbols, constants=found)
        try:
            phi, A = rows_of(equations, constraints)
            break
        except Missing as missing:
            found = (*found, missing.expression)
    further = {"force": equations.nv, "multiplier": len(A)}
    return Constrained(Equations(model, symbols, constants=found, further=further), constraints, phi, A)


class Missing(Exception):
    """An expression whose symbols have no letters yet."""

    def __init__(self, expression: Any) -> None:
        super().__init__(expression)
        self.expression = expression


def rows_of(equations: Equations, constraints: Sequence[Constraint]) -> tuple[list[Any], list[list[Any]]]:
    """Return the residual phi(q) of the holonomic rows, and A of all rows."""
    alphabet, nv = equations.alphabet, equations.nv

    def read(x: Any) -> Any:
        if isinstance(x, sympy.Basic):
            try:
                return equations.read(x)
            except (UnknownNameError, NotPolynomialError) as error:
                if x in equations.constants:
                    raise InputError(f"{x} in a constraint: {error}") from None
                raise Missing(x) from None
        return equations.lift(x)

    field = OpenField(alphabet, read)
    lifted = LiftedModel(equations.exact_model, field)  # type: ignore[arg-type]
    q, qd = ([field.open(x) for x in letters] for letters in (alphabet.q, alphabet.qd))
    phi: list[Any] = []
    A: list[list[Any]] = []
    for constraint in constraints:
        if constraint.holonomic:
            for i, x in enumerate(scalars(constraint, State(lifted, q), read)):
                if isinstance(x, Poly) and x.is_constant and x:
                    raise InputError(f"row {i} of {constraint} is {x} whatever q: it cannot become zero")
                phi.append(x)
                A.append([alphabet.derivative(x, c) for c in range(nv)])
            continue
        rates = [alphabet.index("velocity", c) for c in range(nv)]
        for i, x in enumerate(scalars(constraint, State(lifted, q, qd), read)):
            row = [x.partial(k) for k in rates]
            if any(entry.letters() & set(rates) for entry in row):
                raise InputError(f"row {i} of {constraint} is not linear in qd: a Pfaffian constraint is A(q) qd = 0")
            if x != sum((entry * v for entry, v in zip(row, alphabet.qd)), alphabet.ring.constant(0)):
                raise InputError(f"row {i} of {constraint} is not zero at qd = 0: a Pfaffian constraint is A(q) qd = 0")
            A.append(row)
    return phi, A


def scalars(constraint: Constraint, state: State, read: Any) -> Iterator[Any]:
    """Yield the rows of a constraint as polynomials or ratios of them."""
    try:
        rows = list(constraint.rows(state))
    except NotPolynomialError as error:
        raise InputError(f"{constraint}: {error}") from None
    for i, x in enumerate(rows):
        if isinstance(x, bool):
            raise InputError(f"row {i} of {constraint} is {x}: a row is what must become zero, a - b, and no comparison a == b")
        value = x.value if isinstance(x, Open) else read(x)
        if not isinstance(value, (Poly, Ratio)):
            raise InputError(f"row {i} of {constraint} is {x!r}: one scalar a row is needed, made from the state")
        yield value


def without_common_factor(column: np.ndarray) -> list[Any]:
    """Return polynomials divided by their greatest common divisor; ratios as they are."""
    if any(isinstance(x, Ratio) for x in column):
        return list(column)
    entries = [x for x in column if x]
    common = entries[0].p
    for x in entries[1:]:
        common = common.gcd(x.p)
    return [Poly(x.ring, divmod(x.p, common)[0], x.marks) if x else x for x in column]
