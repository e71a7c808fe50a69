"""The last steps of Newton and Euler, in matrices: M, c and g read off the joint forces, and the form with every body stacked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qddot.algorithms.stacked import block, multiplied_out, newton_euler_blocks
from qddot.model.lower import WORLD, LiftedBody
from qddot.symbolic.derivation.steps import Equation, Step, paragraph, say
from qddot.symbolic.derivation.subject import State, Subject

FEW = 3
"""The most bodies whose matrices of blocks are written out."""


def collected(s: Subject) -> Step:
    """Return the step that reads M, c and g off the joint forces."""
    a, n = s.alphabet, s.nv
    tau = (s.equations.load_torque - s.equations.spring_torque).entries
    M = s.form([[x.partial(s.letter("qdd", j)) for j in range(n)] for x in tau]).entries.reshape(n, n)
    motion = [s.letter(kind, j) for kind in ("qd", "qdd") for j in range(n)]
    g = s.form([x.coefficients(motion).get((0,) * len(motion), 0) for x in tau]).entries.reshape(n)
    c = tau - s.form(M @ np.array(a.qdd, dtype=object)).entries - g
    for name, mine in (("M", M), ("c", c), ("g", g)):
        s.agree(name, mine, getattr(s.equations, name))
    prose = paragraph(
        "The joint forces are linear in $\\ddot q$, and what multiplies it is $M$. What remains at rest is $g(q)$; "
        "what remains of the velocities is $c(q, \\dot q)$."
    )
    if any(s.equations.spring_torque.entries):
        prose += paragraph("Springs, part of $\\tau_d$ above, are $\\tau_s$ here.")
    formula = (
        r"M(q) \ddot q + c(q, \dot q) + g(q)"
        + (r" + \tau_f" * any(s.friction))
        + (r" + \tau_s" * any(s.equations.spring_torque.entries))
    )
    equations = [
        Equation(r"\tau", formula),
        Equation("M(q)", "", s.form(M), "M_{@}", "inertial"),
        Equation(r"c(q, \dot q)", "", s.form(c), "[c]_{@}", "coriolis"),
        Equation("g(q)", "", s.form(g), "g_{@}", "gravity"),
    ]
    checks = [
        s.check_quantity("The mass matrix", M, "mass_matrix"),
        s.check_quantity("The forces of the velocities", c, "coriolis_torque", s.torque),
        s.check_quantity("The forces of gravity", g, "gravity_torque", s.torque),
    ]
    return Step("The equations of motion", prose, equations, checks)


def stacked(s: Subject, bodies: Sequence[LiftedBody]) -> Step:
    """Return the step with the stacked form, in matrices of matrices."""
    blocks = newton_euler_blocks(s.lifted, s.alphabet.q, s.alphabet.qd)
    found = multiplied_out(blocks)
    M = found.M + np.diag(s.armature).astype(object)
    for name, mine in (("M", M), ("c", found.c), ("g", found.g)):
        s.agree(f"the stacked {name}", mine, getattr(s.equations, name))
    prose = [
        say(
            "All bodies at once, six rows each. $\\mathcal{A}$ has the joints' twists $S_i$ as blocks, a row of blocks for each "
            "body and a column for each rate; $\\mathcal{G}$ has the inertias $G_i$ on its diagonal; $\\mathcal{W}$ has "
            "$\\mathrm{Ad}_{T_i^{-1}}$ in the row of body $i$ and the column of the body it stands on. $\\mathcal{L}$ adds up the "
            "ways from all ancestors, and $\\dot V_b$ holds the base's acceleration, seen from the bodies that stand on the base."
        ),
        say(
            "$[a]$ is the matrix of a cross product, $[a] b = a \\times b$, and $[\\mathrm{ad}]$ that of the bracket: for a twist "
            "$(\\omega, v)$ it has $[\\omega]$ twice on its diagonal and $[v]$ below."
        ),
    ]
    rotors = ", once the rotors behind gears are added to its diagonal" if any(x != 0 for x in s.armature) else ""
    prose += paragraph("Multiplied out, $c$ and $g(q)$ are exactly those above, and so is $M${rotors}.", rotors=rotors)
    bracket, left = r"[\mathrm{ad}_{\mathcal{A} \dot q}]", r"\mathcal{A}^{\mathsf T} \mathcal{L}^{\mathsf T}"
    turning = r"[\mathrm{ad}_V]^{\mathsf T} \mathcal{G}"
    forces = rf"\mathcal{{G}} \mathcal{{L}} {bracket} \mathcal{{W}} + {turning}"
    drives = r" + \tau_d" * any(x != 0 for x in (*s.armature, *s.equations.spring_torque.entries))
    ways, shown = r"(1 - \mathcal{W})^{-1} = 1 + \mathcal{W} + \mathcal{W}^2 + \cdots", []
    if len(bodies) <= FEW:
        shown = written_blocks(s, bodies, blocks.G, blocks.W)
        ways += " = " + matrix([[way(bodies, body, other) for other in bodies] for body in bodies])
    equations = [
        *shown,
        Equation(r"\mathcal{L}", ways),
        Equation("V", r"\mathcal{W} V + \mathcal{A} \dot q = \mathcal{L} \mathcal{A} \dot q"),
        Equation(r"\dot V", rf"\mathcal{{L}} \left( \mathcal{{A}} \ddot q - {bracket} \mathcal{{W}} V + \dot V_b \right)"),
        Equation("F", rf"\mathcal{{L}}^{{\mathsf T}} \left( \mathcal{{G}} \dot V - {turning} V \right)"),
        Equation(r"\tau", r"\mathcal{A}^{\mathsf T} F" + drives + r" + \tau_f" * any(s.friction)),
        Equation("M(q)", rf"{left} \mathcal{{G}} \mathcal{{L}} \mathcal{{A}}"),
        Equation(r"c(q, \dot q)", rf"-{left} \left( {forces} \right) \mathcal{{L}} \mathcal{{A}} \dot q"),
        Equation("g(q)", rf"{left} \mathcal{{G}} \mathcal{{L}} \dot V_b"),
    ]

    def kernel(k: int) -> Callable[[State], Any]:
        return lambda at: s.kernel("newton_euler_matrices", at)[k]

    def wrenches(at: State) -> np.ndarray:
        """Return the joint forces in numbers, by the equations of this step."""
        A, L, W, G, ad_Aqd, ad_V, V, base = s.kernel("newton_euler_blocks", at)
        acceleration = L @ (A @ at.qdd - ad_Aqd @ W @ V + base)
        return A.T @ (L.T @ (G @ acceleration - ad_V.T @ G @ V)) + s.numbers(s.armature, at) * at.qdd

    moved = (s.equations.load_torque - s.equations.spring_torque).entries
    checks = [
        s.check("The stacked mass matrix", found.M, kernel(0)),
        s.check("The stacked forces of the velocities", found.c, kernel(1), scale=s.torque),
        s.check("The stacked forces of gravity", found.g, kernel(2), scale=s.torque),
        s.check("The joint forces" + " of links and rotors" * bool(drives), moved, wrenches, "the compiled blocks", s.torque),
    ]
    return Step("The stacked form", prose, equations, checks)


def written_blocks(s: Subject, bodies: Sequence[LiftedBody], G: np.ndarray, W: np.ndarray) -> list[Equation]:
    """Return the matrices of few bodies, in blocks, and the blocks that no earlier step has shown."""
    found = []
    for body in bodies:
        i, at = body.index + 1, block(body.index)
        found.append(Equation(f"G_{{{i}}}", "", s.form(G[at, at]), f"(G_{{{i}}})_{{@}}"))
        if body.parent != WORLD:
            step = s.form(W[at, block(body.parent)])
            found.append(Equation(adjoint(body), "", step if s.is_short(step.entries) else None, f"({adjoint(body)})_{{@}}"))
    joints = [[twist(body, c) for c in range(s.nv)] for body in bodies]
    steps = [[adjoint(body) if other.index == body.parent else "0" for other in bodies] for body in bodies]
    diagonal = [[f"G_{{{body.index + 1}}}" if body is other else "0" for other in bodies] for body in bodies]
    named = {r"\mathcal{A}": joints, r"\mathcal{G}": diagonal, r"\mathcal{W}": steps}
    return found + [Equation(name, matrix(rows)) for name, rows in named.items()]


def adjoint(body: LiftedBody) -> str:
    return rf"\mathrm{{Ad}}_{{T_{{{body.index + 1}}}^{{-1}}}}"


def twist(body: LiftedBody, column: int) -> str:
    """Return LaTeX of the block of a body and a rate."""
    places = [k for k, (c, _) in enumerate(body.subspace) if c == column]
    names = [f"S_{{{body.index + 1}}}" if len(body.subspace) == 1 else f"S_{{{body.index + 1},{k + 1}}}" for k in places]
    return " + ".join(names) or "0"


def way(bodies: Sequence[LiftedBody], body: LiftedBody, other: LiftedBody) -> str:
    """Return LaTeX of the product of all steps from another body: 1 from the body itself, 0 if there is no way."""
    steps, at = [], body
    while at is not other:
        steps.append(adjoint(at))
        at = next((x for x in bodies if x.index == at.parent), None)
        if at is None:
            return "0"
    return r" \, ".join(steps) or "1"


def matrix(rows: Sequence[Sequence[str]]) -> str:
    return r"\begin{bmatrix} " + r" \\ ".join(" & ".join(row) for row in rows) + r" \end{bmatrix}"
