"""Forward dynamics: the acceleration that joint forces cause (articulated bodies, section 7.3; or by the mass matrix).

Both return the accelerations and, for each column, a margin that is positive where the result means something: the pivot of the
elimination less its rounding noise. A joint that moves no inertia has a zero pivot.
"""

from __future__ import annotations

from typing import NamedTuple

from qddot.algorithms.drives import friction_torque, load_factors, spring_torque
from qddot.algorithms.factor import Factor, Matrix, factor, held
from qddot.algorithms.inverse_dynamics import Wrenches, load_torque
from qddot.algorithms.kinematics import Scalars, joint_poses, world_poses, zeros
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.model.lower import WORLD, Body
from qddot.model.model import LiftedModel, Model
from qddot.model.scalar import Scalar, is_zero
from qddot.model.spatial import ArticulatedInertia, Force, Mat, Motion, RigidInertia, Transform, Vec, diagonal, map_scalars

NOISE = 2000
"""Rounding errors of the inertia it is computed from, below which a pivot is noise."""

Accelerations = tuple[list[Scalar], list[Scalar]]


def articulated_bodies(model: LiftedModel, q: Scalars, qd: Scalars, tau: Scalars, f_ext: Wrenches | None = None) -> Accelerations:
    """Return qdd and margins, by passes outward, inward and outward. Joints that share a coordinate need `composite_bodies`."""
    X = joint_poses(model, q)
    driving = [t - k for t, k in zip(delivered_torque(model, qd, tau), spring_torque(model, q))]
    v, c, IA, pA = {WORLD: Motion()}, {}, {}, {}
    for body in model.bodies:
        i = body.index
        vJ = body.velocity(qd)
        v[i] = X[i].into(v[body.parent]) + vJ
        c[i] = v[i].cross(vJ)
        IA[i] = ArticulatedInertia.of(body.inertia)
        pA[i] = v[i].cross_force(body.inertia @ v[i])
    if f_ext:
        X0 = world_poses(model, q)
        for i, wrench in f_ext.items():
            pA[i] = pA[i] - X0[i].into_force(wrench)

    U: dict[int, list[Force]] = {}
    D: dict[int, Factor] = {}
    u: dict[int, list[Scalar]] = {}
    margins, noise = zeros(model.nv), pivot_noise(model)
    for body in reversed(model.bodies):
        i, S = body.index, [s for _, s in body.subspace]
        U[i] = [IA[i] @ s for s in S]
        inertia = [[U_j.dot(s) for U_j in U[i]] for s in S]
        for k in range(len(S)) if body.is_driven else ():
            inertia[k][k] = inertia[k][k] + body.drive.armature
        D[i] = factor(inertia)
        u[i] = [driving[col] - pA[i].dot(s) for col, s in body.subspace]
        for (col, _), pivot, rounding in zip(body.subspace, D[i].pivots, noise[i]):
            margins[col] = pivot - rounding
        if body.parent != WORLD:
            Ia, pa = IA[i], pA[i] + sum((f * x for f, x in zip(U[i], D[i].solve(u[i]))), Force())
            for k, gain in enumerate(gains(D[i], U[i])):
                Ia = Ia.minus_outer(U[i][k], gain)
            pa = pa + Ia @ c[i]
            IA[body.parent] = IA[body.parent] + X[i].out_articulated(Ia)
            pA[body.parent] = pA[body.parent] + X[i].out_force(pa)

    a, qdd = {WORLD: Motion(v=-model.gravity)}, zeros(model.nv)
    for body in model.bodies:
        i = body.index
        carried = X[i].into(a[body.parent]) + c[i]
        rates = D[i].solve([x - f.dot(carried) for x, f in zip(u[i], U[i])])
        for (col, s), x in zip(body.subspace, rates):
            qdd[col] = x
            carried = carried + s * x
        a[i] = carried
    return qdd, margins


def gains(D: Factor, U: list[Force]) -> list[Force]:
    """Return `U D^-1`, column by column."""
    n = len(U)
    columns = [D.solve([1 if j == k else 0 for j in range(n)]) for k in range(n)]
    return [sum((U[j] * columns[k][j] for j in range(n)), Force()) for k in range(n)]


def composite_bodies(model: LiftedModel, q: Scalars, qd: Scalars, tau: Scalars, f_ext: Wrenches | None = None) -> Accelerations:
    """Return qdd and margins from M qdd = tau - bias: fewer operations than articulated bodies for up to a few dozen joints."""
    solved, margins = factored_mass_matrix(model, q)
    bias = load_torque(model, q, qd, zeros(model.nv), f_ext)
    return solved.solve([t - b for t, b in zip(delivered_torque(model, qd, tau), bias)]), margins


def held_bodies(
    model: LiftedModel, q: Scalars, qd: Scalars, tau: Scalars, sliding: Scalars, moving: Scalars, f_ext: Wrenches | None = None
) -> Accelerations:
    """Return qdd and margins while columns with `moving` 0 (else 1) are held at rest, and dry friction acts against `sliding`.

    A held column leaves the equations: its row and column of M become those of the identity, its force zero.
    """
    solved = held(mass_matrix(model, q), moving)
    bias = load_torque(model, q, qd, zeros(model.nv), f_ext)
    force = [(t - b) * x for t, b, x in zip(delivered_torque(model, qd, tau, sliding), bias, moving)]
    return solved.solve(force), solved.pivots


def delivered_torque(model: LiftedModel, qd: Scalars, tau: Scalars, sliding: Scalars | None = None) -> list[Scalar]:
    """Return the joint forces less friction: the part that moves the links."""
    rest = [t - f for t, f in zip(tau, friction_torque(model, qd, sliding))]
    return [r / factor for r, factor in zip(rest, load_factors(model, qd, rest, sliding))]


def factored_mass_matrix(model: LiftedModel, q: Scalars, joined: bool = False) -> tuple[Factor, list[Scalar]]:
    """Return M(q), factored, and the margins of its pivots."""
    solved = factor(mass_matrix(model, q, joined))
    margins = list(solved.pivots)
    for body, noise in zip(model.bodies, pivot_noise(model)):
        for c, rounding in zip(body.columns, noise):
            margins[c] = margins[c] - rounding
    return solved, margins


def mass_matrix_inverse(model: LiftedModel, q: Scalars) -> tuple[Matrix, list[Scalar]]:
    """Return M(q)^-1, and the margins of the pivots of M."""
    solved, margins = factored_mass_matrix(model, q)
    return solved.inverted(), margins


def pivot_noise(model: LiftedModel) -> list[list[Scalar]]:
    """Return, for each body and column, a bound for the rounding error of a pivot, from the largest terms that it can be a sum of.

    The bounds follow from the numbers of the links as described, element by element and by magnitude, so that nothing cancels. A
    link far out along a hinge's axis adds nothing to the inertia about that axis, nor to its error, unless a rotation between link
    and joint, or a joint further out, turns it away from the axis.
    """
    source = model.source
    if source.symbols:
        return [[0.0] * len(body.columns) for body in source.bodies]
    sizes = [Size.of(RigidInertia() if body.is_link else body.inertia) for body in source.bodies]
    for link in source.links:
        i, pose = source.mechanism.frames[link.name]
        if link.inertia is not None and i != WORLD:
            sizes[i] = sizes[i] + Size.of(link.inertia.rigid).moved(map_scalars(abs, pose))
    for body in reversed(source.bodies):
        if body.parent != WORLD:
            sizes[body.parent] = sizes[body.parent] + sizes[body.index].moved(swept(body))
    unit = NOISE * model.field.rounding
    return [[sizes[body.index].resistance(s) * unit for _, s in body.subspace] for body in model.bodies]


class Size(NamedTuple):
    """Bounds for the terms of an inertia: for each element, and for the first and second moments as a whole. The latter two are the
    same in all axes, so they remain sharp after many rotations."""

    m: Scalar
    h: Vec
    I: Mat
    first: Scalar
    second: Scalar

    @staticmethod
    def of(inertia: RigidInertia) -> Size:
        m, h, I = map_scalars(abs, inertia)
        return Size(m, h, I, sum(h), sum(x for row in I for x in row))

    def __add__(self, o: Size) -> Size:  # type: ignore[override]
        return Size(self.m + o.m, self.h + o.h, self.I + o.I, self.first + o.first, self.second + o.second)

    def moved(self, X: Transform) -> Size:
        """Return the bounds in the parent's frame: for all terms of `X.out_inertia`. X is given by magnitudes."""
        d = sum(X.p)
        second, first = self.second + 4 * d * self.first + 2 * d * d * self.m, self.first + d * self.m
        turned = Vec(*(smaller(x, self.first) for x in X.R @ self.h))
        h = turned + X.p * self.m
        shift = X.p.dot(turned) + h.dot(X.p)
        I = X.R @ self.I @ X.R.T + diagonal(shift, shift, shift) + X.p.outer(h) + turned.outer(X.p)
        return Size(self.m, h, map_scalars(lambda x: smaller(x, second), I), first, second)

    def resistance(self, s: Motion) -> Scalar:
        """Return a bound for the terms of `s . (I s)`, the inertia along a joint's motion."""
        pairs = [(x, y, self.I[i][j]) for i, x in enumerate(s.w) for j, y in enumerate(s.w) if not (is_zero(x) or is_zero(y))]
        return sum(((x * x + y * y) * element / 2 for x, y, element in pairs), s.v.dot(s.v) * self.m)


def smaller(x: Scalar, y: Scalar) -> Scalar:
    """Return the smaller of two numbers; if one has no value yet (a variable), the second."""
    return min(x, y) if isinstance(x, float | int) and isinstance(y, float | int) else y


def swept(body: Body) -> Transform:
    """Return a bound for the magnitudes of a body's pose in its parent, over all positions of its joint."""
    subspace, at = body.joint.subspace, map_scalars(abs, body.placement)
    turns = [any(s.w[k] != 0 for s in subspace) for k in range(3)]
    about_other = lambda i, j: sum(turns) > 1 or any(turns[k] for k in range(3) if k not in (i, j))  # noqa: E731
    mixed = Mat(*(Vec(*(int(i == j or about_other(i, j)) for j in range(3))) for i in range(3)))
    slide = Vec(*(body.reach * any(s.v[k] != 0 for s in subspace) for k in range(3)))
    return Transform(at.R @ mixed, at.p + at.R @ slide)


METHODS = {"aba": articulated_bodies, "crba": composite_bodies}


def shares_coordinates(model: LiftedModel | Model) -> bool:
    """True if some joint follows another."""
    columns = [c for body in model.bodies for c in body.columns]
    return len(columns) != len(set(columns))
