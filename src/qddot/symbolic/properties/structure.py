"""Relations between the terms of the equation of motion: identities, decided in the ring, and definiteness of M."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from qddot.algorithms.inverse_dynamics import load_torque
from qddot.algorithms.stacked import spatial_matrix
from qddot.model.joints import Rotor
from qddot.model.lower import WORLD, LiftedBody
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.minors import determinant
from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.form import Form
from qddot.symbolic.properties.bounds import DETERMINANT, Bounds
from qddot.symbolic.properties.harmonics import Harmonics
from qddot.symbolic.properties.ranges import Ranges

SMALL = 4  # the most joints for which minors of M are computed
SAMPLES = 10_000
ROUNDING = 1e-9  # ratio to the largest eigenvalue below which one may be 0

IDENTITY = "exact: an identity of the closed forms"

WRITTEN = {"christoffel": "Christoffel symbols", "rate": "dM/dt - U/2", "gradient": "U^T - U/2"}


@dataclass(frozen=True, eq=False)
class Claim:
    """A property of the equation of motion, and the proof or disproof of it.

    Attributes:
        name: an identifier.
        statement: the property in words and formulas.
        holds: True, False, or None if it could not be decided.
        how: the way it was decided; begins with `exact`, `rigorous`, `computed` (at `q`) or `shown by sampling`.
        q: a configuration where it fails, if one is known.
    """

    name: str
    statement: str
    holds: bool | None
    how: str
    q: np.ndarray | None = None

    def __bool__(self) -> bool:
        return bool(self.holds)


def identities(equations: Equations) -> list[Claim]:
    """Return the claims of symmetry, skewness and passivity."""
    e = equations
    M, rate, qd = e.mass_matrix, e.mass_matrix_rate, e.qd
    forms = ("christoffel", "rate", "gradient") if e.nq == e.nv else ("christoffel",)
    claims = [exact("symmetry", "M = M^T", M - M.T), exact("mass_rate", "dM/dt = C + C^T", rate - e.C - e.C.T)]
    for form in forms:
        S = rate - 2 * e.coriolis_matrix(form)
        short = "skew" if form == "christoffel" else f"skew_{form}"
        claims.append(exact(short, f"dM/dt - 2 C is skew, C by {WRITTEN[form]}", S + S.T))
        name = "no_power" if form == "christoffel" else f"no_power_{form}"
        claims.append(exact(name, f"qd^T (dM/dt - 2 C) qd = 0, C by {WRITTEN[form]}", qd @ S @ qd))
    lost = " - friction . qd" if any(body.drive.friction.laws or body.drive.friction.is_dry for body in e.lifted.bodies) else ""
    a = e.alphabet
    power = e.hamiltonian.dt() - Form(e, load_torque(e.lifted, a.q, a.qd, a.qdd)) @ qd  # friction is on neither side
    return [*claims, exact("passivity", f"d(K + P)/dt = tau . qd{lost}", power)]


def exact(name: str, statement: str, difference: Any) -> Claim:
    """Return the claim that both sides of an identity are equal, which holds if, and only if, their difference is 0."""
    if not difference:
        return Claim(name, statement, True, IDENTITY)
    entries = difference.entries
    at = next(i for i in np.ndindex(entries.shape) if entries[i])
    where = f"entry {tuple(i + 1 for i in at)} of " if at else ""
    return Claim(name, statement, False, f"exact: {where}what should be 0 is {shortened(difference[at].text())}")


def shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


# positive definiteness ----------------------------------------------------------------------------------------------------


def definiteness(equations: Equations, bounds: Bounds) -> Claim:
    """Return the claim that M is positive definite, by the first of several proofs or disproofs that succeeds."""
    statement = "M(q) is positive definite"
    claim = lambda holds, how, q=None: Claim("positive_definite", statement, holds, how, q)  # noqa: E731
    still = [c + 1 for c, column in enumerate(equations.mass_matrix.entries) if not any(column)]
    if still:
        mover = "motor has no inertia" if is_motor(equations, still[0] - 1) else "joint moves no mass"
        return claim(False, f"exact: row {still[0]} of M is 0 at every q, its {mover}", bounds.domain.middle())
    if every_link_is_solid(equations):
        return claim(True, "exact: the inertia of every moving link, or of its rotor or motor, is positive definite")
    if equations.nv <= SMALL and minors_are_positive(equations, bounds):
        assumed = ", for positive parameters" if equations.parameters else ""
        return claim(True, f"exact: the leading minors of M have positive lower bounds{assumed}")
    bound = bounds.found["mu_1", 2]
    if bound.how == DETERMINANT:
        return claim(True, "rigorous: determinant and trace of M bound its eigenvalues from below, for positive parameters")
    if not bounds.M.symbolic and bound.rigorous > 0:
        return claim(True, f"rigorous: {bound.rigorous:.4g} bounds the eigenvalues of M from below")
    if bounds.M.symbolic or bounds.compute is None:
        return claim(None, "undecided: needs numbers for the symbols")
    q = bounds.domain.middle() if bound.q is None else bound.q
    values = np.linalg.eigvalsh(bounds.masses(q[None])[0])
    if values[0] <= ROUNDING * values[-1]:
        return claim(False, f"computed: the least eigenvalue of M is {values[0]:.3g}, the largest {values[-1]:.3g}", q)
    columns = bounds.M.columns
    low, high = (np.clip(x[columns], -1e3, 1e3) for x in (bounds.domain.start, bounds.domain.end))
    sample = bounds.domain.configurations(columns, np.random.default_rng(0).uniform(low, high, (SAMPLES, len(columns))))
    least = np.linalg.eigvalsh(bounds.masses(sample))[:, 0].min()
    return claim(True, f"shown by sampling: {SAMPLES} configurations, least eigenvalue {min(least, values[0]):.3g}")


def every_link_is_solid(equations: Equations) -> bool:
    """Tell whether every link has a definite inertia: then `2 T = sum v . I v` is 0 only if no link moves, and each joint moves a
    link of its own. Instead of a link, a rotor that spins on the link before or on the ground suffices. A motor with a coordinate
    of its own must have inertia."""
    links, shafts = links_and_shafts(equations)
    if not all(is_positive(spatial_matrix(shaft.inertia), strictly=False) for shaft in shafts):
        return False
    for body in links:
        below = [shaft for shaft in shafts if shaft.parent in (WORLD, body.parent)]
        armature = number(body.drive.armature) if body.is_driven else 0
        rotor = len(body.columns) == 1 and ((armature or 0) > 0 or spins(below, body.columns[0]))
        if not is_positive(spatial_matrix(body.inertia), strictly=not rotor):
            return False
    return all(spins(shafts, c) for c in range(equations.nv) if is_motor(equations, c))


def links_and_shafts(equations: Equations) -> tuple[list[LiftedBody], list[LiftedBody]]:
    bodies = equations.lifted.bodies
    shafts = [body for body in bodies if isinstance(body.joint, Rotor)]
    return [body for body in bodies if body not in shafts], shafts


def is_motor(equations: Equations, column: int) -> bool:
    """Tell whether a column of qd moves no link."""
    links, _ = links_and_shafts(equations)
    return all(column not in body.columns for body in links)


def spins(shafts: list[LiftedBody], column: int) -> bool:
    """Tell whether one of the shafts has inertia and is turned by this column alone."""
    return any(
        shaft.columns == (column,) and number(shaft.subspace[0][1].w.z) and (number(shaft.inertia.I.c.z) or 0) > 0
        for shaft in shafts
    )


def number(x: Any) -> Fraction | None:
    """Return an exact number; None if it has letters."""
    if isinstance(x, Poly):
        return x.value if x.is_constant else None
    return Fraction(x)


def is_positive(matrix: np.ndarray, strictly: bool) -> bool:
    """Tell by elimination whether a symmetric matrix of exact numbers is positive (semi)definite; False if it has letters."""
    known = [[number(x) for x in row] for row in matrix]
    rows = [[x for x in row if x is not None] for row in known]
    if rows != known:
        return False
    for k, row in enumerate(rows):
        if row[k] < 0 or (row[k] == 0 and (strictly or any(row[k:]))):
            return False
        for below in rows[k + 1 :] if row[k] else ():
            factor = below[k] / row[k]
            below[k:] = [x - factor * y for x, y in zip(below[k:], row[k:])]
    return True


def minors_are_positive(equations: Equations, bounds: Bounds) -> bool:
    """Tell whether the leading minors of M are positive (Sylvester), by lower bounds from coefficients, for positive parameters."""
    M, domain = equations.mass_matrix.entries, bounds.domain
    minors = np.array([determinant(M[:k, :k]) for k in range(1, len(M) + 1)], dtype=object)
    ranges = Ranges(Harmonics(equations.alphabet, minors), domain.lower, domain.upper)
    return all(low and min(low.values()) >= 0 and max(low.values()) > 0 for low in ranges.low)
