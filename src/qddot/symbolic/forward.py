"""Forward dynamics and its linearisation in closed form.

    qdd = M^-1 (tau - h)        h = C qd + g + friction + springs

The inverse of M is its adjugate over its determinant. Derivatives follow from those of inverse dynamics, which is a polynomial:
`tau(q, qd, qdd(q, qd, tau)) = tau` gives `dqdd/dq = -M^-1 dtau/dq`, in the letters q, qd, qdd of the motion about which one
linearises.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy
from sympy import Symbol

from qddot.arguments import shape_of
from qddot.errors import InputError
from qddot.symbolic.exact.minors import mass_matrix_inverse
from qddot.symbolic.form import Form, each

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

LARGEST = 3
"""Joints: the inverse mass matrix of a longer arm is too long to be of use."""


class LinearForms(NamedTuple):
    """`x' = A x + B u` in closed form: A (2 nv, 2 nv) and B (2 nv, nv), with x = (q - q0, qd - qd0) and u = tau - tau0."""

    A: Form
    B: Form


class Forward:
    """`M(q) qdd = tau - h(q, qd)` solved, in the letters `tau1, tau2, ...`; `evaluate` and `lambdify` take `tau=`.

    A robot with more than three joints has M, h and the steps of a solution with the factored M.

    Attributes:
        equations: the robot's equations with these letters.
    """

    def __init__(self, equations: Equations) -> None:
        self.equations = equations

    def __repr__(self) -> str:
        return f"Forward dynamics of {self.equations.model.name!r}, {self.equations.nv} dof"

    @property
    def tau(self) -> Form:
        """Joint forces (nv,), as letters."""
        return Form(self.equations, self.equations.alphabet.further["force"])

    @property
    def M(self) -> Form:
        return self.equations.mass_matrix

    @cached_property
    def h(self) -> Form:
        """`C qd + g + friction + springs` (nv,). Raises InputError: friction grows with the load, which depends on qdd."""
        eq = self.equations
        if eq.alphabet.loads:
            raise InputError("friction grows with the load on a joint, and that with qdd: there is no closed form of qdd")
        parts = eq.coriolis_torque, eq.gravity_torque, eq.friction_torque, eq.spring_torque
        return Form(eq, sum(part.entries for part in parts), "bias_torque")

    @cached_property
    def qdd(self) -> Form:
        """`M^-1 (tau - h)` (nv,), ratios of polynomials. Raises InputError: more than three joints: take `steps`; SingularityError:
        the mass matrix is singular at every q."""
        n = self.equations.nv
        if n > LARGEST:
            raise InputError(
                f"accelerations in closed form are for at most {LARGEST} joints, this robot has {n}: take M, h and steps, or the "
                "numbers of Robot.forward_dynamics"
            )
        B, d = mass_matrix_inverse(self.M.entries, "here")
        return Form(self.equations, B @ (self.tau.entries - self.h.entries) / d, "forward_dynamics")

    @cached_property
    def steps(self) -> tuple[tuple[sympy.Symbol, sympy.Expr], ...]:
        """Assignments (letter, value) that solve `M qdd = r` for numbers `M11, M21, ...` and `r = tau - h`: `M = L^T D L` from
        the last row up, then two substitutions.

        Each gives one new letter, the last ones `qdd1, qdd2, ...`. Entries of M that are zero at every q cost nothing.
        """
        return factored_steps(np.array([[bool(x) for x in row] for row in self.M.entries]))


def factored_steps(present: np.ndarray) -> tuple[tuple[Any, Any], ...]:
    """Return assignments that solve `M x = r` for a symmetric M whose entries are zero where `present` (n, n) is False."""
    n, steps = len(present), []
    M = {(i, j): Symbol(f"M{i + 1}{j + 1}") for i in range(n) for j in range(i + 1) if present[i, j]}

    def assign(name: str, value: Any) -> Any:
        letter = Symbol(name)
        steps.append((letter, value))
        return letter

    L: dict[tuple[int, int], Any] = {}
    for k in reversed(range(n)):
        D = M[k, k]
        for i in reversed(range(k)):
            if (k, i) not in M:
                continue
            L[k, i] = assign(f"L{k + 1}{i + 1}", M[k, i] / D)
            for j in range(i + 1):
                if (k, j) in M:
                    M[i, j] = assign(f"{M.get((i, j), Symbol(f'M{i + 1}{j + 1}')).name}'", M.get((i, j), 0) - L[k, i] * M[k, j])
    x = [Symbol(f"r{i + 1}") for i in range(n)]
    for k in reversed(range(n)):
        for i in range(k):
            if (k, i) in L:
                x[i] = assign(f"{x[i].name}'", x[i] - L[k, i] * x[k])
    for k in range(n):
        known = sum((L[k, i] * x[i] for i in range(k) if (k, i) in L), 0)
        x[k] = assign(f"qdd{k + 1}", x[k] / M[k, k] - known)
    return tuple(steps)


def linearized(eq: Equations, q: Any, qd: Any, qdd: Any) -> LinearForms:
    """Return A and B about a motion; q, qd or qdd that is None stays letters."""
    eq._needs_coordinates("linearize")
    tau = eq.inverse_dynamics.entries
    generators = eq.alphabet.ring.generators
    if qd is not None and any(generators[i].kind == "sign" for x in tau for i in x.letters()):
        raise InputError("dry friction has a step at rest and no slope there: leave qd out, for a motion, or smooth the friction")
    here = eq.substitution({**by_letter("q", q, eq.nq), **by_letter("qd", qd, eq.nv), **by_letter("qdd", qdd, eq.nv)})
    n = eq.nv
    M = each(here, eq.mass_matrix.entries)
    if n > LARGEST and not all(x.is_constant for x in M.flat):
        raise InputError(
            f"linearisation in letters is for at most {LARGEST} joints, this robot has {n}: give q=, or take Robot.linearize"
        )
    inverse_of_M, d = mass_matrix_inverse(M, "here")
    slopes = np.array(
        [[eq.alphabet.derivative(x, j) for j in range(n)] + [eq.derivative(f"qd{j + 1}")(x) for j in range(n)] for x in tau],
        dtype=object,
    ).reshape(n, 2 * n)
    A, B = np.zeros((2 * n, 2 * n), dtype=object), np.zeros((2 * n, n), dtype=object)
    A[:n, n:] = np.eye(n, dtype=object)
    A[n:], B[n:] = -inverse_of_M @ each(here, slopes) / d, inverse_of_M / d
    return LinearForms(Form(eq, A, "state_matrix"), Form(eq, B, "input_matrix"))


def by_letter(letter: str, values: Any, n: int) -> dict[str, Any]:
    """Return `{"q1": ..., "q2": ...}` from n values, or from one number for all; nothing from None."""
    if values is None:
        return {}
    alone = not isinstance(values, (Sequence, np.ndarray)) or isinstance(values, str) or shape_of(letter, values) == ()
    values = [values] * n if alone else list(values)
    if len(values) != n:
        raise InputError(f"{letter} has {len(values)} values, {n} are needed")
    return {f"{letter}{i + 1}": x for i, x in enumerate(values)}
