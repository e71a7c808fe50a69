"""The steps from the equations of the open tree to those under constraints: multipliers, projections, reduced equations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from qddot.constraints.constrained import ConstrainedRobot, as_constraints
from qddot.constraints.constraint import Constraint
from qddot.constraints.open import Valued
from qddot.errors import InputError
from qddot.symbolic.constrained import LARGEST, Constrained, constrained
from qddot.symbolic.derivation.steps import Check, DerivationError, Equation, Math, Prose, Step, paragraph, say
from qddot.symbolic.derivation.subject import SHORT, State, Subject, compared
from qddot.symbolic.derivation.vocabulary import PROJECTION
from qddot.symbolic.form import Form

AMA = r"\left(A M^{-1} A^{\mathsf T}\right)^{-1}"


def constrained_steps(s: Subject, constraints: Sequence[Constraint]) -> list[Step]:
    """Return the steps that follow those of the open tree. Raises InputError: a constraint has no closed form; DerivationError: a
    step disagrees with the compiled constraints."""
    found = constrained(s.model, s.equations.exact_model.symbolic, constraints)
    return Steps(s, found).all()


class Steps:
    """The steps of a robot under its constraints, in letters and compiled."""

    def __init__(self, s: Subject, found: Constrained) -> None:
        self.s, self.found = s, found
        self.k, self.n = found.A.shape
        own = sorted({str(x) for c in found.equations.constants for x in c.free_symbols} - s.drawn.keys())
        rng = np.random.default_rng(1)
        self.drawn = {name: round(float(rng.uniform(0.5, 1.5)), 3) for name in own}
        values = tuple({**s.drawn, **self.drawn}.items())
        numeric = tuple(Valued(c, values) for c in found.constraints) if values else found.constraints
        self.kernels = ConstrainedRobot(s.kernels, numeric)
        self.tau = [rng.normal(size=self.n) for _ in s.states]

    def all(self) -> list[Step]:
        steps = [self.rows(), self.forces(), self.left_over()]
        if self.n + self.k <= LARGEST:
            steps[2:2] = [self.multipliers(), self.projections()]
        return steps

    # the steps ------------------------------------------------------------------------------------------------------------

    def rows(self) -> Step:
        found = self.found
        prose: list[Prose] = []
        equations = []
        if found.residual.entries.size:
            prose += paragraph(
                "The constraints of position are written so that they are zero, $\\phi(q) = 0$. They stay zero, so their rate "
                "is zero, too, and by the chain rule that is $A(q) \\dot q$ with $A = \\partial \\phi / \\partial q$."
            )
            equations.append(Equation(r"\phi(q)", "", found.residual, r"\phi_{@}"))
        if len(found.residual) < self.k:
            prose += paragraph(
                "A constraint of velocities says how the velocities that it allows are related, and is linear in them: "
                "$A(q) \\dot q = 0$, where $A$ holds what multiplies each rate. No function of positions need have this rate."
            )
        if self.drawn:
            values = ", ".join(f"{name} = {value:g}" for name, value in self.drawn.items())
            prose += paragraph("The constraints have symbols of their own; in the checks {values}.", values=values)
        prose += paragraph(
            "Accelerations must keep them as well: $A \\ddot q + \\dot A \\dot q = 0$, which brings in the rate of $A$."
        )
        equations += [
            Equation("A", r"\partial \phi / \partial q" if len(found.residual) == self.k else "", found.A, "A_{@}"),
            Equation(r"\dot A", r"\sum_i \frac{\partial A}{\partial q_i} \dot q_i", found.Adot, r"\dot A_{@}"),
        ]
        checks = [
            self.check("A", found.A, lambda at: self.kernels.values(("A",), at.q)[0]),
            self.check("The rate of A", found.Adot, lambda at: self.kernels.values(("Adot",), at.q, at.qd)[0]),
        ]
        return Step("The constraints", prose, equations, checks)

    def forces(self) -> Step:
        prose = [
            say(
                "A frictionless constraint does no work: its forces $\\tau_c$ at the joints have "
                "$\\tau_c^{\\mathsf T} \\dot q = 0$ for every velocity with $A \\dot q = 0$. So they lie in the span of the rows "
                "of $A$, and there are numbers $\\lambda$, one a row, with $\\tau_c = A^{\\mathsf T} \\lambda$: the multipliers."
            ),
            say(
                "Joint forces move the robot and push against the constraints. With $h = c(q, \\dot q) + g(q)$ (and friction and "
                "springs, if any) these are {n} + {k} equations, for $\\ddot q$ and $\\lambda$ where $\\tau$ is given.",
                n=self.n,
                k=self.k,
            ),
            *self.left_out({"h": self.found.h}),
        ]
        equations = [
            Equation(r"\tau", r"M(q) \ddot q + h(q, \dot q) + A^{\mathsf T}(q) \lambda"),
            Equation("0", r"A \ddot q + \dot A \dot q"),
            *([Equation("h", "", self.found.h, "h_{@}")] if self.is_short(self.found.h) else []),
        ]
        checks = [self.check("h", self.found.h, lambda at: self.s.kernel("bias_torque", at))]
        return Step("The forces of the constraints", prose, equations, checks)

    def multipliers(self) -> Step:
        found = self.found
        prose = [
            say(
                "The first equation gives $\\ddot q = M^{-1} (\\tau - h - A^{\\mathsf T} \\lambda)$; put into the second, it gives "
                "$\\lambda$, and that the accelerations."
            ),
            *self.left_out({r"\lambda": found.lam, r"\ddot q": found.qdd}),
        ]
        equations = [
            Equation(r"\lambda", rf"{AMA} \left(A M^{{-1}} (\tau - h) + \dot A \dot q\right)"),
            Equation(r"\ddot q", r"M^{-1} (\tau - h - A^{\mathsf T} \lambda)"),
        ]
        for left, form, entry in ((r"\lambda", found.lam, r"\lambda_{@}"), (r"\ddot q", found.qdd, r"\ddot q_{@}")):
            if self.is_short(form):
                equations.append(Equation(left, "", form, entry))
        checks = [
            self.check("The multipliers", found.lam, lambda at: self.motion(at)[1]),
            self.check("The accelerations", found.qdd, lambda at: self.motion(at)[0]),
        ]
        return Step("Multipliers and accelerations", prose, equations, checks)

    def projections(self) -> Step:
        P = self.found.P
        if P @ P != P:
            raise DerivationError("P is no projection")
        prose = [
            say(
                "With $\\lambda$ eliminated, $\\mathbb{P} \\tau = \\mathbb{P} (M \\ddot q + h)$: $\\mathbb{P}$ takes joint forces "
                "to their part that moves the robot, and $1 - \\mathbb{P}$ to the part that the constraints take. "
                "$\\mathbb{P} \\mathbb{P} = \\mathbb{P}$, exactly, and its rank is {rank}. "
                "Accelerations are projected by its transpose.",
                rank=self.n - self.k,
            ),
            *self.left_out({PROJECTION: P}),
        ]
        equations = [
            Equation(PROJECTION, rf"1 - A^{{\mathsf T}} {AMA} A M^{{-1}}", P if self.is_short(P) else None, PROJECTION + "_{@}"),
            Equation(PROJECTION + r"_{\ddot q}", rf"M^{{-1}} {PROJECTION} M = {PROJECTION}^{{\mathsf T}}"),
        ]
        checks = [self.check("The projection", P, lambda at: self.kernels.projections(at.q).P)]
        return Step("Projections", prose, equations, checks)

    def left_over(self) -> Step:
        found = self.found
        if np.zeros((self.k, self.n - self.k), dtype=int) != found.A @ found.N:
            raise DerivationError("A N is not zero")
        prose = [
            say(
                "Velocities that the constraints allow are combinations of the columns of $N$, $A N = 0$. Multiplied by "
                "$N^{\\mathsf T}$ the multipliers drop out, since $N^{\\mathsf T} A^{\\mathsf T} = 0$: {left} "
                "left.",
                left=f"{self.n - self.k} of {self.n} equations {'is' if self.n - self.k == 1 else 'are'}",
            ),
            *self.left_out({r"N^{\mathsf T} (M \ddot q + h)": found.reduced}),
        ]
        reduced = found.reduced
        equations = [
            Equation("N", "", found.N, "N_{@}"),
            Equation(
                r"N^{\mathsf T} \tau",
                r"N^{\mathsf T} (M \ddot q + h)",
                reduced if self.is_short(reduced) else None,
                r"(N^{\mathsf T} \tau)_{@}",
            ),
        ]
        tau = lambda at: self.s.kernel("inverse_dynamics", at)  # noqa: E731
        expected = lambda at: self.values(found.N, at).T @ tau(at)  # noqa: E731
        return Step("What is left of the equations", prose, equations, [self.check("The reduced equations", reduced, expected)])

    # numbers --------------------------------------------------------------------------------------------------------------

    def motion(self, at: State) -> tuple[np.ndarray, np.ndarray]:
        return self.kernels.forward_dynamics(at.q, at.qd, self.tau[at.number], None, None, None)

    def values(self, form: Form, at: State) -> np.ndarray:
        symbols = {**self.s.drawn, **self.drawn}
        return form.evaluate(at.q, at.qd, at.qdd, symbols, tau=self.tau[at.number])

    def is_short(self, form: Form) -> bool:
        return self.s.full or all(len(x) <= SHORT for x in form.entries.flat)

    def left_out(self, forms: Mapping[str, Form]) -> list[Prose]:
        """Return a sentence for each form that is too long to be written out."""
        return [
            ("Written out, ", Math(name), f" would have {sum(map(len, form.entries.flat)):,} terms; full=True writes them.")
            for name, form in forms.items()
            if not self.is_short(form)
        ]

    def check(self, what: str, form: Form, expected: Callable[[State], Any]) -> Check:
        """Compare a closed form with numbers from elsewhere. Raises DerivationError: they differ."""
        return compared(what, [(self.values(form, at), np.asarray(expected(at))) for at in self.s.states])


def imposed(model: Any, constraints: Any) -> tuple[Constraint, ...]:
    """Return the constraints to impose: none for None or False, those of the description for True, otherwise those given."""
    if constraints is None or constraints is False:
        return ()
    if constraints is True:
        return as_constraints(model, None)
    found = as_constraints(model, constraints)
    if not found:
        raise InputError("constraints= is empty: leave it out for the equations of the open tree")
    return found
