"""The Coriolis matrix, its Christoffel symbols, and the other ways to write the velocity-product forces.

The recursion is that of Echeandia and Wensing (2021): composite inertias and composite Coriolis maps give the one C for which
Mdot - 2 C is skew and which, in ordinary coordinates, is built from Christoffel symbols. It runs in body frames, where a joint's
motion is constant: what multiplies it there are most of the operations that world coordinates would need.
"""

from __future__ import annotations

from typing import NamedTuple

from qddot.algorithms.kinematics import Scalars, column_rates, path_to_root, short_frames, velocities, zeros
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import ZERO, Force, Mat, Motion, PseudoInertia, Transform, Vec, skew, turned

Matrix = list[list[Scalar]]


class CoriolisMap(NamedTuple):
    """B with `B v = v x* I v` and `B + B^T = dI/dt`. Of its blocks `[[N, 0], [-l x, 0]]` remain, `l` the linear momentum."""

    N: Mat = ZERO
    l: Vec = Vec()

    @staticmethod
    def of(moments: PseudoInertia, v: Motion) -> CoriolisMap:
        m, h, S = moments
        return CoriolisMap(ZERO - skew(v.w) @ S - skew(h) @ skew(v.v), v.v * m - h.cross(v.w))

    def __add__(self, o: CoriolisMap) -> CoriolisMap:  # type: ignore[override]
        return CoriolisMap(self.N + o.N, self.l + o.l)

    def out(self, X: Transform) -> CoriolisMap:
        """The map of a child at X, seen from the parent."""
        l = X.R @ self.l
        return CoriolisMap(turned(X.R, self.N) - skew(X.p) @ skew(l), l)

    def __matmul__(self, u: Motion) -> Force:
        return Force(self.N @ u.w, -self.l.cross(u.w))

    def transposed(self, u: Motion) -> Force:
        return Force(u.w @ self.N + self.l.cross(u.v), Vec())


def coriolis_matrix(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """C(q, qd), the standard one."""
    model, X = short_frames(model, q, joined=True)
    carried, v = velocities(model, X, qd)
    rates = column_rates(model, carried, qd)
    I, B = [body.inertia for body in model.bodies], [CoriolisMap() for _ in model.bodies]
    C = [zeros(model.nv) for _ in range(model.nv)]
    for body in reversed(model.bodies):  # from the tips: what lies beyond a body is needed there, and summed into its parent
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
    """dM/dt = C + C^T."""
    C = coriolis_matrix(model, q, qd)
    return [[C[i][j] + C[j][i] for j in range(model.nv)] for i in range(model.nv)]


def christoffel(model: LiftedModel, q: Scalars) -> list[Matrix]:
    """Gamma[i][j][k], of the first kind, with c_k = sum_ij Gamma_ijk qd_i qd_j: C is linear in qd, so C(e_i) holds Gamma_i."""
    n = model.nv
    at_unit_speed = [coriolis_matrix(model, q, [1 if j == i else 0 for j in range(n)]) for i in range(n)]
    return [[[at_unit_speed[i][k][j] for k in range(n)] for j in range(n)] for i in range(n)]


def mass_matrix_gradient_product(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """U, with U_ij = sum_k dM_jk/dq_i qd_k: the Kronecker product (1 x qd^T) dM/dq of the lecture notes."""
    G, n = christoffel(model, q), model.nv
    return [[sum(((G[i][k][j] + G[i][j][k]) * qd[k] for k in range(n)), 0) for j in range(n)] for i in range(n)]


def coriolis_matrix_from_rate(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """C = Mdot - U/2: another factor of the same C qd; Mdot - 2 C is not skew."""
    R, U = mass_matrix_rate(model, q, qd), mass_matrix_gradient_product(model, q, qd)
    return [[r - u / 2 for r, u in zip(*row)] for row in zip(R, U)]


def coriolis_matrix_from_gradient(model: LiftedModel, q: Scalars, qd: Scalars) -> Matrix:
    """C = U^T - U/2: the third."""
    U, n = mass_matrix_gradient_product(model, q, qd), model.nv
    return [[U[j][i] - U[i][j] / 2 for j in range(n)] for i in range(n)]


def centrifugal_matrix(model: LiftedModel, q: Scalars) -> Matrix:
    """Q(q), Craig's C(q), n x n, that multiplies [qd_j^2]: its entry (i, j) is Gamma_jji."""
    G, n = christoffel(model, q), model.nv
    return [[G[j][j][i] for j in range(n)] for i in range(n)]


def coriolis_products_matrix(model: LiftedModel, q: Scalars) -> Matrix:
    """Craig's B(q), n x n(n-1)/2, that multiplies [qd_1 qd_2, qd_1 qd_3, ..., qd_(n-1) qd_n]: 2 Gamma_jki."""
    G, n = christoffel(model, q), model.nv
    return [[G[j][k][i] * 2 for j in range(n) for k in range(j + 1, n)] for i in range(n)]
