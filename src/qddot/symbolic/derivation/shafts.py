"""Shafts in derivations: rotors and motors that are bodies of their own, and the elastic gears between motors and joints."""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.algorithms.drives import stretch
from qddot.model.lower import LiftedBody
from qddot.symbolic.derivation.named import Named
from qddot.symbolic.derivation.steps import Equation, Prose, Step, joined, paragraph
from qddot.symbolic.derivation.subject import KERNELS, ShaftData, State, Subject
from qddot.symbolic.exact.ring import Poly


def motor_coordinates(s: Subject) -> list[Prose]:
    """Return a sentence on the coordinates of the motors of elastic joints, if there are any."""
    letters = [rf"$q_{{{gear.coordinates[1] + 1}}}$" for gear in s.gears]
    if not letters:
        return []
    return paragraph(
        f"The motor of an elastic joint has a coordinate of its own, its angle divided by the gear ratio: here {joined(letters)}. "
        "So it equals that of the joint where the gear, a spring without inertia, is not wound up."
    )


def spins_step(s: Subject, name: str, values: list[Any], formula: str, expected: Any) -> list[Step]:
    """Return the step with the rate of each shaft; nothing if there are no shafts.

    Args:
        name: LaTeX of the letter that stands for the values.
        formula: LaTeX of a value by the motion of the link below, with `@` for the shaft and `!` for the link.
        expected: function of a state that returns the values from the kernels.
    """
    if not s.shafts:
        return []
    prose = paragraph(
        "A shaft (a rotor or a motor) is alike all around its axis $\\hat s_k$, a unit vector in the axes of the link that "
        "carries it. Only its moment of inertia $J_k$ about this axis counts, and its rate $\\sigma_k$ about it: that of the "
        "link, and the rates that turn it against the link, times $N_k$. Shafts on the ground have the latter alone."
    )
    equations = []
    for x, value in zip(s.shafts, values):
        k, ratios = x.number, [0] * s.nv
        for c, ratio in x.turns:
            ratios[c] = ratios[c] + ratio
        equations += [Equation(rf"\hat s_{{{k}}}", "", s.form(x.axis))] if x.parent else []
        equations += [Equation(f"J_{{{k}}}", "", s.form(x.moment)), Equation(f"N_{{{k}}}", "", s.form(ratios))]
        carried, own = formula.replace("@", str(k)).replace("!", str(x.parent)).split(" + ")
        right = f"{carried} + {own}" if x.parent else own
        equations.append(Equation(f"{name}_{{{k}}}", right, s.short_form(value)))
    check = s.check("The rates of the shafts", values, expected, f"the Jacobians of {KERNELS}")
    return [Step("Rotors and motors", prose, equations, [check])]


def kernel_twists(s: Subject, x: ShaftData, at: State) -> np.ndarray:
    """Return the Jacobian of a shaft, in its own axes (6, nv), from the compiled Jacobian of the link it is on."""
    J = np.zeros((6, s.nv))
    if x.parent:
        link = s.links[x.parent - 1].body
        seen = link.link.inverse @ x.body.placement
        R, p = s.numbers(seen.R, at), s.numbers(seen.p, at)
        w, v = np.split(s.kernel("jacobian", at, frame=link.name, reference="body"), 2)
        J = np.vstack([R.T @ w, R.T @ (v + np.cross(w.T, p).T)])
    for c, ratio in x.turns:
        J[2, c] += float(s.numbers(ratio, at))
    return J


def kinetic_energy(s: Subject, x: ShaftData, spin: Any) -> Poly:
    """Return the kinetic energy of a shaft, J spin^2 / 2."""
    return s.alphabet.ring.constant(spin * spin * x.moment / 2)


def kinetic_equation(s: Subject, x: ShaftData, spin: Any) -> Equation:
    """Return the equation of a shaft's kinetic energy, in the letter of its rate if it is long."""
    k, K = x.number, kinetic_energy(s, x, spin)
    form = s.form(K)
    if not s.is_short(K):
        named = Named(s.equations, {f"sigma_{k}": spin})
        form = named.form(named.letters[f"sigma_{k}"] ** 2 * named(x.moment) / 2, K)
    return Equation(f"K_{{{k}}}", rf"\frac{{1}}{{2}} J_{{{k}}} \sigma_{{{k}}}^2", form)


def gear_energy(s: Subject, gear: LiftedBody) -> Poly:
    """Return the energy of an elastic gear, k (joint - motor)^2 / 2."""
    delta = stretch(gear, s.alphabet.q)
    return s.alphabet.ring.constant(delta * delta * gear.drive.stiffness / 2)


def gear_equations(s: Subject, gear: LiftedBody) -> list[Equation]:
    """Return the equations of an elastic gear: its stiffness and its energy."""
    k, (joint, motor) = gear.index + 1, (i + 1 for i in gear.coordinates)
    formula = rf"\frac{{1}}{{2}} k_{{{k}}} (q_{{{joint}}} - q_{{{motor}}})^2"
    return [Equation(f"k_{{{k}}}", "", s.form(gear.drive.stiffness)), Equation(f"P_{{{k}}}", formula, s.form(gear_energy(s, gear)))]


def spin_column(s: Subject, x: ShaftData, Jw: np.ndarray) -> np.ndarray:
    """Return j (n,) such that a shaft spins at j . qd; Jw (3, n) is the Jacobian of its link's rotation, in world axes."""
    found = np.zeros(s.nv, dtype=int).astype(object)
    if x.parent:
        found = Jw.T @ np.array(s.links[x.parent - 1].pose.R @ x.axis, dtype=object)
    for c, ratio in x.turns:
        found[c] = found[c] + ratio
    return found
