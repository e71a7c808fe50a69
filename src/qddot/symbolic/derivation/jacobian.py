"""The route of the Jacobians: those of the links' centres of mass, the mass matrix from these, Christoffel symbols from that."""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.algorithms.kinematics import path_to_root
from qddot.model.spatial import Vec, rotate, skew
from qddot.symbolic.derivation.kinematics import frames, inertias, point_name, positions
from qddot.symbolic.derivation.shafts import kernel_twists, spin_column, spins_step
from qddot.symbolic.derivation.steps import Equation, Math, Prose, Step, paragraph, say
from qddot.symbolic.derivation.subject import KERNELS, SHORT, LinkData, State, Subject
from qddot.symbolic.derivation.terms import CHRISTOFFEL, EXPECTED, Terms, drive_equations

MANY = 60  # the most Christoffel symbols of which long ones are written out
FEW = 6  # the most terms of a symbol that is written out where there are more
NAMED_ZEROS = 9  # the most vanishing symbols that are named one by one

SPIN = r"J_{\omega !}^{\mathsf T} R_{!} \hat s_{@} + N_{@}"
"""LaTeX of the row that gives the rate of a shaft from those of the joints."""


def jacobian(s: Subject) -> list[Step]:
    """Return all steps. Raises InputError: the robot has joints whose qd is not the rate of q."""
    s.needs_coordinates("jacobian")
    pairs = {x.number: jacobians(s, x) for x in s.links}
    spins = [spin_column(s, x, pairs[x.parent][1] if x.parent else np.zeros((3, s.nv))) for x in s.shafts]
    shares = {x.number: share(x, *pairs[x.number]) for x in s.heavy}
    shares |= {x.number: np.outer(spin, spin) * x.moment for x, spin in zip(s.shafts, spins)}
    M = sum(shares.values(), np.diag(s.armature).astype(object))
    g = sum((weight(s, x, *pairs[x.number]) for x in s.heavy), np.zeros(s.nv, dtype=int).astype(object))
    terms = Terms(s, M, g)
    return [
        dimensions(s),
        frames(s),
        inertias(s),
        positions(s),
        jacobian_step(s, pairs),
        *spins_step(s, "j", spins, SPIN, lambda at: [kernel_twists(s, x, at)[2] for x in s.shafts]),
        mass_step(s, terms, shares),
        gravity_step(s, terms),
        products_step(s, terms),
        together_step(s, terms),
    ]


def jacobians(s: Subject, x: LinkData) -> tuple[np.ndarray, np.ndarray]:
    """Return the Jacobians of the reference point (3, n), by differentiation, and of the rotation (3, n), by the joints' axes; in
    world axes."""
    ring, d = s.alphabet.ring, s.alphabet.derivative
    Jv = np.array([[d(ring.constant(p), k) for k in range(s.nv)] for p in x.pose.point(x.reference)], dtype=object)
    turning = [Vec() for _ in range(s.nv)]
    for i in path_to_root(s.lifted, x.body.index):
        for column, motion in s.lifted.bodies[i].subspace:
            turning[column] = turning[column] + s.world_poses[i].R @ motion.w
    return Jv.reshape(3, s.nv), np.array(turning, dtype=object).reshape(s.nv, 3).T


def share(x: LinkData, Jv: np.ndarray, Jw: np.ndarray) -> np.ndarray:
    """Return the part of M due to a link."""
    R, I = x.pose.R, np.array(rotate(x.pose.R, x.tensor), dtype=object)
    cross = Jw.T @ np.array(skew(R @ x.moment), dtype=object) @ Jv
    return (Jv.T @ Jv) * x.mass + Jw.T @ I @ Jw + cross + cross.T


def weight(s: Subject, x: LinkData, Jv: np.ndarray, Jw: np.ndarray) -> np.ndarray:
    """Return the part of g due to a link: minus the power of its weight, rate by rate."""
    g = np.array(s.lifted.gravity, dtype=object)
    return -(Jv.T @ g) * x.mass - Jw.T @ np.array((x.pose.R @ x.moment).cross(s.lifted.gravity), dtype=object)


def dimensions(s: Subject) -> Step:
    n = s.nv
    prose = paragraph(
        "With {n} coordinates $q$, their rates $\\dot q$ and accelerations $\\ddot q$ are vectors of as many numbers, and "
        "so are the joint forces $\\tau$, the forces $c(q, \\dot q)$ of the velocities and $g(q)$ of gravity. "
        "$[\\dot q_j^2]$ is the vector of all squares of rates, $[\\dot q_j \\dot q_k]$ that of all products of two different "
        "ones, $j < k$. $Q(q)$ and $B(q)$ are made of the same Christoffel symbols as the Coriolis matrix $C(q, \\dot q)$, "
        "with which $c = C \\dot q$: what multiplies squares, and what multiplies products.",
        n=n,
    )
    equations = [
        Equation(r"\tau", r"M(q) \, \ddot q + c(q, \dot q) + g(q)"),
        Equation(r"c(q, \dot q)", r"Q(q) \, [\dot q_j^2] + B(q) \, [\dot q_j \dot q_k]"),
    ]
    for name, columns in (("M", n), ("Q", n), ("B", n * (n - 1) // 2)):
        if columns:
            equations.append(Equation(rf"{name} \in \mathbb{{R}}^{{{n} \times {columns}}}"))
    check = s.check("Their sum", s.equations.tau.entries, lambda at: total(s, at), f"the matrices of {KERNELS}")
    return Step("Dimensions", prose, equations, [check])


def total(s: Subject, at: State) -> Any:
    """Return `M qdd + Q [qd_j^2] + B [qd_j qd_k] + g`, and friction and springs, all from the kernels."""
    others = ("inertial", "centripetal", "Coriolis", "friction", "spring")
    return sum((EXPECTED[name](s, at) for name in others), EXPECTED["gravity"](s, at))


def jacobian_step(s: Subject, pairs: dict[int, tuple[np.ndarray, np.ndarray]]) -> Step:
    prose = paragraph(
        "Column $j$ of $J_{vi}$ is the derivative of the position of the centre of mass of link $i$ with respect to $q_j$. "
        "Column $j$ of $J_{\\omega i}$ is the axis of joint $j$ if that joint turns the link, and zero if it slides it or "
        "does not carry it."
    )
    equations = []
    for x in s.heavy:
        Jv, Jw = pairs[x.number]
        i = x.number
        names = rf"J_{{v{i}}}", rf"J_{{\omega {i}}}"
        formula = rf"\frac{{\partial {point_name(x)}}}{{\partial q}}"
        equations.append(Equation(names[0], formula, s.short_form(Jv), f"({names[0]})_{{@}}"))
        columns = r"\begin{bmatrix} \hat z_1 & \cdots & \hat z_n \end{bmatrix}"
        turned = s.is_short(Jw)
        equations.append(Equation(names[1], "" if turned else columns, s.form(Jw) if turned else None, f"({names[1]})_{{@}}"))
    if not s.is_short(*(J for pair in pairs.values() for J in pair)):
        prose += paragraph(
            "Jacobians whose entries are long are left as derivatives, and as columns of axes, turned into the world."
        )
    seen = [x for x in s.visible() if x.has_mass]
    mine = np.array([np.vstack(pairs[x.number][::-1]) for x in seen], dtype=object).reshape(len(seen), 6, s.nv)

    def expected(at: State) -> Any:
        found = np.zeros((len(seen), 6, s.nv))
        for k, x in enumerate(seen):
            J = s.kernel("jacobian", at, frame=x.body.name, reference="space")
            p = s.numbers(x.pose.point(x.reference), at)
            found[k] = np.vstack([J[:3], J[3:] + np.cross(J[:3].T, p).T])
        return found

    return Step("Jacobians", prose, equations, [s.check("The Jacobians", mine, expected, f"those of {KERNELS}")])


def mass_step(s: Subject, terms: Terms, shares: dict[int, np.ndarray]) -> Step:
    prose = paragraph(
        "The kinetic energy of a link is a quadratic form in the rates; its matrix is the link's share of $M$. The tensor "
        "of inertia is in the link's axes and the Jacobian in the world's, so the tensor is turned: $R_i \\mathcal{I}_i "
        "R_i^{\\mathsf T}$."
    )
    equations = []
    for x in s.heavy:
        i, value = x.number, shares[x.number]
        linear, turned = rf"J_{{v{i}}}^{{\mathsf T}} J_{{v{i}}}", rf"R_{{{i}}} \mathcal{{I}}_{{{i}}} R_{{{i}}}^{{\mathsf T}}"
        formula = rf"m_{{{i}}} {linear} + J_{{\omega {i}}}^{{\mathsf T}} {turned} J_{{\omega {i}}}"
        if x.point is None:
            cross = rf"J_{{\omega {i}}}^{{\mathsf T}} [R_{{{i}}} h_{{{i}}}]_\times J_{{v{i}}}"
            formula += rf" + {cross} + \left( {cross} \right)^{{\mathsf T}}"
        equations.append(Equation(f"M_{{{i}}}", formula, s.short_form(value), f"(M_{{{i}}})_{{@}}"))
    if s.shafts:
        prose += paragraph(
            "A shaft spins at $\\sigma_k = j_k^{\\mathsf T} \\dot q$; its energy $J_k \\sigma_k^2 / 2$ is such a form too."
        )
    for x in s.shafts:
        k, value = x.number, shares[x.number]
        formula = rf"J_{{{k}}} \, j_{{{k}}} j_{{{k}}}^{{\mathsf T}}"
        equations.append(Equation(f"M_{{{k}}}", formula, s.short_form(value), f"(M_{{{k}}})_{{@}}"))
    total = " + ".join(f"M_{{{x.number}}}" for x in (*s.heavy, *s.shafts)) or "0"
    if any(x != 0 for x in s.armature):
        prose += paragraph(
            "Rotors behind gears add $J_r$, a diagonal matrix of $J_i = N_i^2 J_{mi}$: rotor inertia, gear ratio squared."
        )
        equations.append(Equation("J_r", "", s.form(np.diag(s.armature).astype(object)), "(J_r)_{@}"))
        total += " + J_r"
    equations.append(Equation("M(q)", total, s.form(terms.M), "M_{@}", "inertial"))
    checks = [s.check_quantity("The mass matrix", terms.M, "mass_matrix")]
    return Step("The mass matrix", prose, equations, checks, makes=("mass_matrix",))


def gravity_step(s: Subject, terms: Terms) -> Step:
    prose = paragraph(
        "Held still, the joints must balance the weights $m_i \\vec g$, where $\\vec g$ is the acceleration of gravity: "
        "hence the minus sign."
    )
    formula = r"-\sum_i " + (
        r"J_{vi}^{\mathsf T} m_i \vec g"
        if all(x.point is not None for x in s.heavy)
        else r"\left( J_{vi}^{\mathsf T} m_i \vec g + J_{\omega i}^{\mathsf T} (R_i h_i \times \vec g) \right)"
    )
    equations = [Equation(r"\vec g", "", s.form(s.lifted.gravity)), Equation("g(q)", formula, s.form(terms.g), "g_{@}", "gravity")]
    checks = [s.check_quantity("The forces of gravity", terms.g, "gravity_torque", s.torque)]
    return Step("Gravity", prose, equations, checks, makes=("gravity_torque",))


def products_step(s: Subject, terms: Terms) -> Step:
    n = s.nv
    prose = paragraph(
        "Where $M$ changes with $q$, velocities cost forces: $b_{i,jk}$ is a Christoffel symbol of $M$, symmetric in $j$ "
        "and $k$. Gathered by squares and products of rates they are $Q(q)$ and $B(q)$; times the rates, the Coriolis matrix "
        "$C(q, \\dot q)$ with $c = C \\dot q$."
    )
    squares = np.array([[terms.b[i, j, j] for j in range(n)] for i in range(n)], dtype=object).reshape(n, n)
    mixed = [(j, k) for j in range(n) for k in range(j + 1, n)]
    double = np.array([[terms.b[i, j, k] * 2 for j, k in mixed] for i in range(n)], dtype=object).reshape(n, len(mixed))
    equations = [
        Equation("b_{i,jk}", CHRISTOFFEL),
        Equation("Q_{ij}", "b_{i,jj}"),
        Equation("B_{i,jk}", r"2 b_{i,jk}, \quad j < k"),
        Equation("[C]_{ij}", r"\sum_k b_{i,jk} \dot q_k"),
    ]
    if s.is_short(terms.b):
        every = [(i, j, k) for i in range(n) for j in range(n) for k in range(j, n)]
        equations += [
            Equation(subscript(terms.names.coefficient(*at)), derivatives(terms, *at), s.form(terms.b[at]))
            for at in every
            if terms.b[at]
        ]
        prose += vanishing([subscript(terms.names.coefficient(*at)) for at in every if not terms.b[at]])
        equations += [Equation("Q(q)", "", s.form(squares), "Q_{@}")]
        if mixed:
            equations.append(Equation("B(q)", "", s.form(double), "B_{@}"))
    else:
        nonzero = [(i, j, k) for i in range(n) for j in range(n) for k in range(j, n) if terms.b[i, j, k]]
        written = [at for at in nonzero if len(terms.b[at]) <= (SHORT if len(nonzero) <= MANY else FEW)]
        prose += paragraph("Of the {n} with $j \\le k$, {m} are not zero.", n=n * n * (n + 1) // 2, m=len(nonzero))
        if len(written) < len(nonzero):
            longest = max(len(terms.b[at]) for at in nonzero)
            prose += paragraph("Only short ones are written out here; the longest has {longest:,} terms.", longest=longest)
        equations += [Equation(subscript(terms.names.coefficient(*at)), "", s.form(terms.b[at])) for at in written]
    checks = [
        s.check_quantity("What multiplies squares", squares, "centrifugal_matrix", s.inertia),
        s.check_quantity("What multiplies products", double, "coriolis_products_matrix", s.inertia),
        s.check("Their sum", terms.c, lambda at: s.kernel("coriolis_torque", at), scale=s.torque),
    ]
    form = s.short_form(terms.c)
    products = r" + B \, [\dot q_j \dot q_k]" if mixed else ""
    equations.append(Equation(r"c(q, \dot q)", rf"Q \, [\dot q_j^2]{products}", form, "[c]_{@}", "coriolis"))
    return Step("The forces of the velocities", prose, equations, checks, makes=("coriolis_torque", "coriolis_matrix"))


def vanishing(names: list[str]) -> list[Prose]:
    """Return a sentence on the symbols that are zero."""
    if not names:
        return []
    if len(names) > NAMED_ZEROS:
        return [say("Those that are not written out are zero.")]
    between = [", "] * (len(names) - 1) + [" vanish." if len(names) > 1 else " vanishes."]
    return [tuple(part for name, after in zip(names, between) for part in (Math(name), after))]


def derivatives(terms: Terms, i: int, j: int, k: int) -> str:
    """Return the definition of one Christoffel symbol by derivatives of M."""

    def d(a: int, b: int, c: int) -> str:
        return rf"\frac{{\partial {subscript(terms.names.mass(a, b))}}}{{\partial q_{{{c + 1}}}}}"

    return rf"\frac{{1}}{{2}} \left( {d(i, j, k)} + {d(i, k, j)} - {d(j, k, i)} \right)"


def subscript(name: str) -> str:
    """Return `b_{1,23}` for `b_1_23`."""
    letter, *indices = name.split("_")
    return f"{letter}_{{{','.join(indices)}}}"


def together_step(s: Subject, terms: Terms) -> Step:
    formula, prose = r"M(q) \, \ddot q + c(q, \dot q) + g(q)", [say("All together.")]
    if any(terms.friction):
        formula += r" + \tau_f"
        prose += [say("Friction adds $\\tau_f$."), *s.words_on_loads()]
    if any(terms.springs):
        formula += r" + \tau_s"
        gears = ", elastic gears among them: they pull joint and motor together" if s.gears else ""
        prose += paragraph("Springs add $\\tau_s${gears}.", gears=gears)
    equations = drive_equations(s, terms)
    tau = s.equations.tau.entries
    equations.append(Equation(r"\tau", formula, s.short_form(tau), r"\tau_{@}"))
    if not s.is_short(tau):
        prose += paragraph("Written out this is {n:,} terms.", n=s.equations.tau.terms)
    checks = [s.check_quantity("The joint forces", tau, "inverse_dynamics")]
    for name, values in (("friction", terms.friction), ("spring", terms.springs)):
        if any(values):
            checks.append(s.check(f"{name[0].upper()}{name[1:]}", values, lambda at, name=name: EXPECTED[name](s, at)))
    made = ("inverse_dynamics", "friction_torque", "spring_torque")
    return Step("The equations of motion", prose, equations, checks, makes=made)
