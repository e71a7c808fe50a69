"""Newton-Euler in closed form: the equations of all bodies stacked into matrices.

    V = L A qd      M = A^T L^T G L A      g = A^T L^T G L Vdot_base
    c = -A^T L^T (G L [ad_(A qd)] W + [ad_V]^T G) L A qd
    Mdot = -A^T L^T W^T [ad_(A qd)]^T L^T G L A - A^T L^T G L [ad_(A qd)] W L A

A holds the joint motions, G the inertias, W the transforms from parent to child, L = (1 - W)^-1 those from every ancestor.
"""

from __future__ import annotations

import numpy as np

from qddot.algorithms.kinematics import Scalars, joint_poses
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.spatial import Motion, RigidInertia, Transform, Vec, diagonal, skew
from qddot.robot_results import NewtonEuler, NewtonEulerBlocks


def newton_euler_blocks(model: LiftedModel, q: Scalars, qd: Scalars) -> NewtonEulerBlocks:
    """Return the matrices of all bodies, as object arrays of scalars."""
    n, X = 6 * len(model.bodies), joint_poses(model, q)
    A, G, W, L, base = zeros(n, model.nv), zeros(n, n), zeros(n, n), zeros(n, n), zeros(n)
    ad_Aqd, ad_V = zeros(n, n), zeros(n, n)
    for body in model.bodies:
        i, at = body.index, block(body.index)
        for c, s in body.subspace:
            A[at, c] = A[at, c] + np.array(s.components(), dtype=object)
        G[at, at] = spatial_matrix(body.inertia)
        L[at, at] = np.eye(6, dtype=int)
        if body.parent == WORLD:
            base[at] = X[i].into(Motion(v=-model.gravity)).components()
            continue
        W[at, block(body.parent)] = adjoint_inverse(X[i])
        L[at, : 6 * i] = adjoint_inverse(X[i]) @ L[block(body.parent), : 6 * i]
    V = L @ (A @ np.array(qd, dtype=object))
    for body in model.bodies:
        at = block(body.index)
        ad_Aqd[at, at] = ad(body.velocity(qd))
        ad_V[at, at] = ad(Motion(Vec(*V[at][:3]), Vec(*V[at][3:])))
    return NewtonEulerBlocks(A, L, W, G, ad_Aqd, ad_V, V, base)


def multiplied_out(blocks: NewtonEulerBlocks) -> NewtonEuler:
    """Return M, c, g and Mdot of the bodies alone, without drives, as products of the stacked matrices."""
    A, L, W, G, ad_Aqd, ad_V, V, base = blocks
    LA = L @ A
    M = LA.T @ G @ LA
    c = -(LA.T @ ((G @ L @ ad_Aqd @ W + ad_V.T @ G) @ V))
    turning = LA.T @ G @ L @ ad_Aqd @ W @ LA
    return NewtonEuler(M, c, LA.T @ G @ (L @ base), -turning.T - turning)


def block(i: int) -> slice:
    """Return the six rows of body i."""
    return slice(6 * i, 6 * i + 6)


def zeros(*shape: int) -> np.ndarray:
    """Return an object array of exact zeros."""
    return np.zeros(shape, dtype=int).astype(object)


def adjoint_inverse(X: Transform) -> np.ndarray:
    """Return the 6 x 6 matrix that takes a motion from the parent's frame to the child's."""
    R = np.array(X.R, dtype=object).T
    return stack(R, R @ -np.array(skew(X.p), dtype=object), R)


def ad(v: Motion) -> np.ndarray:
    """Return [ad_v], the 6 x 6 matrix of the bracket."""
    w = np.array(skew(v.w), dtype=object)
    return stack(w, np.array(skew(v.v), dtype=object), w)


def stack(top: np.ndarray, lower: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    """Return the lower block-triangular matrix `[[top, 0], [lower, bottom]]`."""
    return np.block([[top, zeros(3, 3)], [lower, bottom]])


def spatial_matrix(I: RigidInertia) -> np.ndarray:
    """Return the 6 x 6 spatial inertia."""
    h = np.array(skew(I.h), dtype=object)
    return np.block([[np.array(I.I, dtype=object), h], [h.T, np.array(diagonal(I.m, I.m, I.m), dtype=object)]])
