"""Derivation of a system's equations of motion from its energies, step by step, each step checked against the compiled kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.symbolic.derivation.steps import Check, Derivation, DerivationError, Equation, Prose, Step, Writing, paragraph, say
from qddot.symbolic.derivation.subject import compared
from qddot.symbolic.derivation.vocabulary import check_notation
from qddot.symbolic.form import Form

if TYPE_CHECKING:
    from qddot.system.system import System

STATES = 3


def derive(
    system: System, method: str = "lagrange", *, notation: str = "qddot", digits: int | None = None, full: bool = False
) -> Derivation:
    """See `System.derive`. Raises InputError: another method than Lagrange's, or energies without a canonical form;
    DerivationError: a step disagrees with the kernels."""
    if method != "lagrange":
        raise InputError(f"method={method!r}: a System has energies and no links, so Lagrange's is the way")
    check_notation(notation, map(str, system.symbols), system.nq)
    steps = Steps(system)
    return Derivation(
        system.name, method, steps.eq, steps.all(), steps.notes(), False, Writing(notation, digits, full), drawn=steps.drawn
    )


class Steps:
    """The steps for one system, in letters; checked against kernels with random values for its symbols."""

    def __init__(self, system: System) -> None:
        self.system, self.eq = system, system.equations()
        rng = np.random.default_rng(0)
        self.drawn = {s.name: round(float(rng.uniform(0.5, 1.5)), 3) for s in sorted(system.symbols, key=str)}
        self.numeric = system.subs(self.drawn) if self.drawn else system
        self.states = rng.normal(size=(STATES, 3, system.nv))

    def all(self) -> list[Step]:
        return [self.energies(), self.momenta(), *(self.row(i) for i in range(self.system.nv)), self.together()]

    def notes(self) -> list[Prose]:
        return [say("{note}.", note=note) for note in self.eq.notes]

    def energies(self) -> Step:
        eq = self.eq
        names = ", ".join(self.system.joint_names)
        prose = paragraph(
            "The coordinates $q$ are the system's own: {names}. Its kinetic and potential energy are given.", names=names
        )
        equations = [
            Equation("T", "", eq.kinetic_energy, role="inertial"),
            Equation("V", "", eq.potential_energy, role="gravity"),
            Equation(r"\mathcal{L}", "T - V", eq.lagrangian),
        ]
        if eq.dissipation:
            prose += paragraph("Friction takes twice Rayleigh's function $D$ of the power.")
            equations.append(Equation("D", "", eq.dissipation, role="friction"))
        if eq.generalized_forces:
            prose += paragraph("Besides the forces $\\tau$ along the coordinates there act the generalised forces $Q$.")
            equations.append(Equation("Q", "", eq.generalized_forces, "Q_{@}"))
        checks = [
            self.check("The kinetic energy", eq.kinetic_energy, lambda q, qd, _: self.numeric.kinetic_energy(q, qd)),
            self.check("The potential energy", eq.potential_energy, lambda q, qd, _: self.numeric.potential_energy(q)),
        ]
        return Step("The energies", prose, equations, checks)

    def momenta(self) -> Step:
        p = self.eq.generalized_momentum
        prose = paragraph("To each coordinate belongs a momentum, the derivative of $\\mathcal{L}$ with respect to its rate.")
        equation = Equation("p", r"\partial \mathcal{L} / \partial \dot q", p, "p_{@}")
        check = self.check("The momenta", p, lambda q, qd, _: self.numeric.generalized_momentum(q, qd))
        return Step("The momenta", prose, [equation], [check])

    def row(self, i: int) -> Step:
        eq, k = self.eq, i + 1
        p, q, qd = eq.generalized_momentum[i], eq.q[i].latex(), eq.qd[i].latex()
        slope = eq.lagrangian.diff(f"q{k}")
        friction = Form(eq, eq.friction_torque.entries[i])
        row = p.dt() - slope + friction
        if row != eq.inverse_dynamics[i]:
            raise DerivationError(f"row {k} of this derivation is not that of the equations of motion")
        equations = [
            Equation(rf"\dot p_{{{k}}}", rf"\frac{{d}}{{dt}} \frac{{\partial \mathcal{{L}}}}{{\partial {qd}}}", p.dt()),
            Equation(rf"\partial \mathcal{{L}} / \partial {q}", "", slope),
        ]
        rest = ""
        if friction:
            rest = rf" + \frac{{\partial D}}{{\partial {qd}}} - Q_{{{k}}}"
            left = rf"\partial D / \partial {qd} - Q_{{{k}}}"
            equations.append(Equation(left, "", friction, role="friction"))
        formula = rf"\dot p_{{{k}}} - \frac{{\partial \mathcal{{L}}}}{{\partial {q}}}" + rest
        equations.append(Equation(rf"\tau_{{{k}}}", formula, row))
        name = self.system.joint_names[i]
        check = self.check(f"Row {k}", row, lambda q, qd, qdd: self.numeric.inverse_dynamics(q, qd, qdd)[i])
        return Step(
            f"The equation of {name}", [say("Lagrange's equation of coordinate {k}, {name}.", k=k, name=name)], equations, [check]
        )

    def together(self) -> Step:
        eq = self.eq
        prose = paragraph(
            "Ordered by what they are made of, accelerations, velocities and positions, the rows are "
            "$\\tau = M(q) \\ddot q + c(q, \\dot q) + g(q)$ and friction."
        )
        equations = [
            Equation("M", r"\partial^2 T / \partial \dot q^2", eq.mass_matrix, "M_{@}", "inertial"),
            Equation("c", "", eq.coriolis_torque, "c_{@}", "coriolis"),
            Equation("g", r"\partial V / \partial q", eq.gravity_torque, "g_{@}", "gravity"),
        ]
        checks = [
            self.check("The mass matrix", eq.mass_matrix, lambda q, qd, _: self.numeric.mass_matrix(q)),
            self.check("c", eq.coriolis_torque, lambda q, qd, _: self.numeric.coriolis_torque(q, qd)),
            self.check("g", eq.gravity_torque, lambda q, qd, _: self.numeric.gravity_torque(q)),
        ]
        return Step("The equations of motion", prose, equations, checks)

    def check(self, what: str, form: Form, expected: Callable[..., Any]) -> Check:
        """Compare a closed form with the kernels. Raises DerivationError: they differ."""
        values = ((form.evaluate(state[0], state[1], state[2], self.drawn), expected(*state)) for state in self.states)
        return compared(what, [(np.asarray(a), np.asarray(b)) for a, b in values])
