"""The Coriolis matrix, its Christoffel symbols, and other matrices for the velocity-product forces.

The recursion is that of Echeandia and Wensing (2021): composite inertias and composite Coriolis maps give the one C for which
Mdot - 2 C is skew and which, in ordinary coordinates, is built from Christoffel symbols. It runs in body frames, where a joint's
motion is constant, mostly zeros and ones: products with it, which cost most in world coordinates, are free.
"""

from __future__ import annotations

from typing import NamedTuple

from qddot.algorithms.factor import Matrix
from qddot.algorithms.kinematics import Scalars, column_rates, path_to_root, short_frames, velocities, zeros
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.spatial import ZERO, Force, Mat, Motion, PseudoInertia, Transform, Vec, skew, turned


class CoriolisMap(NamedTuple):
    """The matrix B with `B v = v x* I v` and `B + B^T = dI/dt`: its blocks are `[[N, 0], [-l x, 0]]`, `l` the linear momentum."""

    N: Mat = ZERO
    l: Vec = Vec()

    @staticmethod
    def of(moments: PseudoInertia, v: Motion) -> CoriolisMap:
        m, h, S = moments
        return CoriolisMap(ZERO - skew(v.w) @ S - skew(h) @ skew(v.v), v.v * m - h.cross(v.w))

    def __add__(self, o: CoriolisMap) -> CoriolisMap:  # type: ignore[override]
        return CoriolisMap(self.N + o.N, self.l + o.l)

    def out(self, X: Transform) -> CoriolisMap:
        """Return the map in the parent's frame, for a child at pose X."""
        l = X.R @ self.l
        return CoriolisMap(turned(X.R, self.N) - skew(X.p) @ skew(l), l)

    def __matmul__(self, u: Motion) -> Force:
        return Force(self.N @ u.w, -self.l.cross(u.w))

    def transposed(self, u: Motion) -> Force:
        """Return `B^T u`."""
        return Force(u.w @ self.N + self.l.cross(u.v), Vec())


def coriolis_matrix(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """Return C(q, qd), the one for which Mdot - 2 C is skew."""
    model, X = short_frames(model, q, joined=True)
    carried, v = velocities(model, X, qd)
    rates = column_rates(model, carried, qd)
    I, B = [body.inertia for body in model.bodies], [CoriolisMap() for _ in model.bodies]
    C = [zeros(model.nv) for _ in range(model.nv)]
    for body in reversed(model.bodies):  # tips first: I[j] and B[j] are then complete, and are added to those of the parent
        j, parent = body.index, body.parent
        B[j] = CoriolisMap.of(body.moments, v[j]) + B[j]
        for (c, s), rate in zip(body.subspace, rates[j]):
            column, inertial, turning = I[j] @ rate + B[j] @ s, I[j] @ s, B[j].transposed(s)
            for i in path_to_root(model, j):
                for (d, t), t_rate in zip(model.bodies[i].subspace, rates[i]):
                    C[d][c] = C[d][c] + column.dot(t)
                    if i != j:
                        C[c][d] = C[c][d] + inertial.dot(t_rate) + turning.dot(t)
                column, inertial, turning = (X[i].out_force(f) for f in (column, inertial, turning))
        if parent != WORLD:
            I[parent], B[parent] = I[parent] + X[j].out_inertia(I[j]), B[parent] + B[j].out(X[j])
    return C


def mass_matrix_rate(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """Return dM/dt = C + C^T."""
    C = coriolis_matrix(model, q, qd)
    return [[C[i][j] + C[j][i] for j in range(model.nv)] for i in range(model.nv)]


def christoffel(model: LiftedModel, q: Scalars) -> list[Matrix]:
    """Return the symbols Gamma[i][j][k] of the first kind, c_k = sum_ij Gamma_ijk qd_i qd_j: as C is linear in qd, C(e_i) holds
    Gamma_i."""
    n = model.nv
    at_unit_speed = [coriolis_matrix(model, q, [1 if j == i else 0 for j in range(n)]) for i in range(n)]
    return [[[at_unit_speed[i][k][j] for k in range(n)] for j in range(n)] for i in range(n)]


def mass_matrix_gradient_product(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """Return U, U_ij = sum_k dM_jk/dq_i qd_k; as a Kronecker product, (1 x qd^T) dM/dq."""
    G, n = christoffel(model, q), model.nv
    return [[sum(((G[i][k][j] + G[i][j][k]) * qd[k] for k in range(n)), 0) for j in range(n)] for i in range(n)]


def coriolis_matrix_from_rate(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """Return C = Mdot - U/2: it has the same product C qd, but Mdot - 2 C is not skew."""
    R, U = mass_matrix_rate(model, q, qd), mass_matrix_gradient_product(model, q, qd)
    return [[r - u / 2 for r, u in zip(*row)] for row in zip(R, U)]


def coriolis_matrix_from_gradient(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """Return C = U^T - U/2: it has the same product C qd, but Mdot - 2 C is not skew."""
    U, n = mass_matrix_gradient_product(model, q, qd), model.nv
    return [[U[j][i] - U[i][j] / 2 for j in range(n)] for i in range(n)]


def centrifugal_matrix(model: LiftedModel, q: Scalars) -> Matrix:
    """Return Q(q) (n x n), which multiplies [qd_j^2] (Craig calls it C): entry (i, j) is Gamma_jji."""
    G, n = christoffel(model, q), model.nv
    return [[G[j][j][i] for j in range(n)] for i in range(n)]


def coriolis_products_matrix(model: LiftedModel, q: Scalars) -> Matrix:
    """Return Craig's B(q) (n x n(n-1)/2), which multiplies [qd_1 qd_2, qd_1 qd_3, ..., qd_(n-1) qd_n]: entries 2 Gamma_jki."""
    G, n = christoffel(model, q), model.nv
    return [[G[j][k][i] * 2 for j in range(n) for k in range(j + 1, n)] for i in range(n)]
