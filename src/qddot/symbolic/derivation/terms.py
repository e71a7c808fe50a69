"""The terms of the equations of motion by kind, and their matrices, with which the routes of Lagrange and of the Jacobians end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from qddot.symbolic.derivation.named import Named
from qddot.symbolic.derivation.steps import Check, Equation, Step, paragraph
from qddot.symbolic.derivation.subject import Subject
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.form import Form

CHRISTOFFEL = (
    r"\frac{1}{2} \left( \frac{\partial M_{ij}}{\partial q_k} + \frac{\partial M_{ik}}{\partial q_j} "
    r"- \frac{\partial M_{jk}}{\partial q_i} \right)"
)

ROLES = {
    "inertial": "inertial",
    "centripetal": "coriolis",
    "Coriolis": "coriolis",
    "gravity": "gravity",
    "friction": "friction",
    "spring": "friction",
}

EXPECTED: Mapping[str, Any] = {
    "inertial": lambda s, at: s.kernel("mass_matrix", at) @ at.qdd,
    "centripetal": lambda s, at: s.kernel("centrifugal_matrix", at) @ at.qd**2,
    "Coriolis": lambda s, at: s.kernel("coriolis_products_matrix", at) @ products(at.qd),
    "gravity": lambda s, at: s.kernel("gravity_torque", at),
    "friction": lambda s, at: s.kernel("inverse_dynamics", at) - s.kernel("load_torque", at),  # with that of loads
    "spring": lambda s, at: s.kernel("spring_torque", at),
}
"""The terms of the joint forces by the compiled kernels."""


class Terms:
    """The terms of the equations of motion. Raises DerivationError: one is not exactly that of `Equations`.

    Attributes:
        M: (n, n), rotors included.
        slopes: dM_ij/dq_k (n, n, n).
        b: (n, n, n), `(dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i) / 2`, which multiplies `qd_j qd_k` in the force along q_i: the
            Christoffel symbol Gamma_jki.
        C: (n, n), `sum_k b_ijk qd_k`.
        g, springs, friction: (n,).
    """

    def __init__(self, s: Subject, M: Any, g: Any) -> None:
        n, equations = s.nv, s.equations
        self.s, self.names = s, Names(n)
        self.M, self.g = s.form(M).entries.reshape(n, n), s.form(g).entries.reshape(n)
        self.slopes = D = equations.mass_matrix_gradient
        self.b = (D + D.transpose(0, 2, 1) - D.transpose(2, 0, 1)) / 2
        self.C = s.form((self.b * equations.qd.entries).sum(axis=-1)).entries
        self.springs, self.friction = equations.spring_torque.entries, s.friction
        self.c = s.form(self.C @ equations.qd.entries).entries
        for name, mine in (("M", self.M), ("g", self.g), ("C", self.C), ("c", self.c)):
            s.agree(name, mine, getattr(equations, name))
        inertial = s.form(self.M @ equations.qdd.entries).entries
        s.agree("tau", inertial + self.c + self.g + self.springs + self.friction, equations.tau)

    @cached_property
    def are_short(self) -> bool:
        """True if the equations of motion are written out; otherwise they are written in M_ij, b_i,jk and g_i."""
        return self.s.is_short(self.s.equations.tau.entries)

    def checks_of_coefficients(self) -> list[Check]:
        """Return the checks of M and g."""
        s = self.s
        return [
            s.check_quantity("The mass matrix", self.M, "mass_matrix"),
            s.check_quantity("The forces of gravity", self.g, "gravity_torque", s.torque),
        ]

    def in_coefficients(self, i: int, momentum: Poly, rate: Poly, slope: Poly, tau: Poly) -> list[Form]:
        """Return Lagrange's derivatives for one coordinate in the letters M_ij, M_ij,k and g_i."""
        n = range(self.s.nv)
        letters: dict[str, Any] = {f"g_{i + 1}": self.g[i]}
        for j in n:
            letters[self.names.mass(i, j)] = self.M[i, j]
            for k in n:
                letters[self.names.slope(i, j, k)] = self.slopes[i, j, k]
                letters[self.names.slope(j, k, i)] = self.slopes[j, k, i]
        named = Named(self.s.equations, letters)
        x, qd, qdd = named.letters, named.qd, named.qdd
        zero = named.ring.constant(0)
        first = sum((x[self.names.mass(i, j)] * qd[j] for j in n), zero)
        second = sum((x[self.names.mass(i, j)] * qdd[j] for j in n), zero)
        second = second + sum((x[self.names.slope(i, j, k)] * qd[j] * qd[k] for j in n for k in n), zero)
        third = sum((x[self.names.slope(j, k, i)] * qd[j] * qd[k] for j in n for k in n), zero) / 2
        third = third - x[f"g_{i + 1}"] - named(self.springs[i])
        last = second - third + named(self.friction[i])
        return [named.form(a, b) for a, b in zip((first, second, third, last), (momentum, rate, slope, tau))]

    def groups(self, i: int) -> dict[str, tuple[Poly, Form]]:
        """Return the force along q_i by kind: name -> (written out, in the shorter letters that are shown)."""
        s, n = self.s, range(self.s.nv)
        pairs = [(j, k) for j in n for k in n if j < k]
        m, b = self.names.mass, self.names.coefficient
        letters = {m(i, j): self.M[i, j] for j in n} | {b(i, j, k): self.b[i, j, k] for j in n for k in n if j <= k}
        named = Named(s.equations, letters)
        inertial = self._group(named, [(m(i, j), self.M[i, j], (("qdd", j),)) for j in n])
        centripetal = self._group(named, [(b(i, j, j), self.b[i, j, j], (("qd", j), ("qd", j))) for j in n])
        coriolis = self._group(named, [(b(i, j, k), self.b[i, j, k] * 2, (("qd", j), ("qd", k))) for j, k in pairs], 2)
        plain = {"gravity": self.g[i], "friction": self.friction[i], "spring": self.springs[i]}
        moving = {"inertial": inertial, "centripetal": centripetal, "Coriolis": coriolis}
        return {**moving, **{name: (x, s.form(x)) for name, x in plain.items()}}

    def _group(self, named: Named, parts: list[tuple[str, Poly, tuple]], times: int = 1) -> tuple[Poly, Form]:
        full, short = self.s.alphabet.ring.constant(0), named.ring.constant(0)
        for name, factor, rates in parts:
            letter = named.letters[name] * times
            for kind, j in rates:
                factor, letter = factor * getattr(self.s.alphabet, kind)[j], letter * getattr(named, kind)[j]
            full, short = full + factor, short + letter
        return full, self.s.form(full) if self.are_short else named.form(short, full)


class Names:
    """Letters with indices: `M_12`, or `M_1_12` for ten coordinates and more."""

    def __init__(self, coordinates: int) -> None:
        self.between = "" if coordinates < 10 else "_"

    def mass(self, i: int, j: int) -> str:
        """Return `M_12`, for `M_21` too."""
        return f"M_{min(i, j) + 1}{self.between}{max(i, j) + 1}"

    def slope(self, i: int, j: int, k: int) -> str:
        """Return `M_12_3`, the slope of `M_12` along q3."""
        return f"{self.mass(i, j)}_{k + 1}"

    def coefficient(self, i: int, j: int, k: int) -> str:
        """Return `b_1_23`."""
        return f"b_{i + 1}_{j + 1}{self.between}{k + 1}"


def kinds_step(s: Subject, terms: Terms) -> Step:
    """Return the step that sorts each joint's force into inertial, centripetal, Coriolis and other terms."""
    prose = paragraph(
        "Terms with an acceleration are inertial; terms with the square of one rate are centripetal; terms with the "
        "product of two different rates are Coriolis terms; gravity and springs depend on $q$ alone, friction on "
        "$\\dot q$."
    )
    prose += s.words_on_loads()
    if not terms.are_short:
        prose += paragraph(
            "The coefficients $M_{ij}$ and $b_{i,jk}$ follow from the kinetic energy alone: $b_{i,jk} = " + CHRISTOFFEL + "$."
        )
    equations, found = [], [terms.groups(i) for i in range(s.nv)]
    for i, groups in enumerate(found):
        left = rf"\tau_{{{i + 1}}}"
        used = {name: form for name, (full, form) in groups.items() if full}
        equations += [Equation(rf"\tau_{{{i + 1},\mathrm{{{name}}}}}", "", form, role=ROLES[name]) for name, form in used.items()]
        equations.append(Equation(left, " + ".join(rf"\tau_{{{i + 1},\mathrm{{{name}}}}}" for name in used) or "0"))
    checks = [
        s.check(
            f"{name[0].upper()}{name[1:]} terms", [groups[name][0] for groups in found], lambda at, f=f: f(s, at), scale=s.torque
        )
        for name, f in EXPECTED.items()
        if any(groups[name][0] for groups in found)
    ]
    return Step("The terms by kind", prose, equations, checks)


def matrices_step(s: Subject, terms: Terms) -> Step:
    """Return the step that collects the terms in M, C and g."""
    prose = paragraph(
        "Collected in matrices. The entries of $C$ are made of the Christoffel symbols $b_{i,jk}$ of $M$: then the matrix "
        "$\\dot M - 2 C$ is skew. Other choices of $C$ give the same $C \\dot q$."
    )
    formula = r"M(q) \ddot q + C(q, \dot q) \dot q + g(q)"
    formula += r" + \tau_f" if any(terms.friction) else ""
    formula += r" + \tau_s" if any(terms.springs) else ""
    equations = [Equation(r"\tau", formula)]
    if terms.are_short:
        equations.append(Equation("M(q)", "", s.form(terms.M), "M_{@}", "inertial"))
    else:
        prose += paragraph("$M$ and $g(q)$ are those of the step that introduced their entries.")
    equations += [Equation("b_{i,jk}", CHRISTOFFEL), Equation("[C]_{ij}", r"\sum_k b_{i,jk} \dot q_k")]
    if s.is_short(terms.C):
        equations.append(Equation(r"C(q, \dot q)", "", s.form(terms.C), "[C]_{@}", "coriolis"))
    if terms.are_short:
        equations.append(Equation("g(q)", "", s.form(terms.g), "g_{@}", "gravity"))
    equations += drive_equations(s, terms)
    checks = [
        *terms.checks_of_coefficients(),
        s.check_quantity("The Coriolis matrix", terms.C, "coriolis_matrix", s.inertia, form="christoffel"),
        s.check_quantity("All together", s.equations.tau.entries, "inverse_dynamics"),
    ]
    return Step("The equations of motion", prose, equations, checks)


def drive_equations(s: Subject, terms: Terms) -> list[Equation]:
    """Return the equations of friction and springs, if there are any."""
    pairs = (("f", terms.friction), ("s", terms.springs))
    return [Equation(rf"\tau_{x}", "", s.form(each), rf"(\tau_{x})_{{@}}", "friction") for x, each in pairs if any(each)]


def products(qd: np.ndarray) -> np.ndarray:
    """Return qd_1 qd_2, qd_1 qd_3, ..."""
    return np.outer(qd, qd)[np.triu_indices(len(qd), 1)]
