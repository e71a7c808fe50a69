"""First derivatives of inverse and forward dynamics, in closed form.

With each joint's motion S, and composite inertia I, Coriolis map B and force f of each subtree, the derivatives are dot products
(Singh, Russell and Wensing 2022, after Carpentier and Mansard 2018), here in body frames, as in `coriolis`. For joints with a
quaternion, the derivative with respect to q is along the tangent: with respect to dq in `integrate(q, dq)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from qddot.algorithms.coriolis import CoriolisMap
from qddot.algorithms.drives import (
    armatures,
    friction_slope,
    friction_torque,
    load_factor_slopes,
    load_factors,
    loaded_columns,
    spring_slope,
    spring_torque,
)
from qddot.algorithms.factor import Matrix, transposed
from qddot.algorithms.forward_dynamics import factored_mass_matrix
from qddot.algorithms.inverse_dynamics import load_torque
from qddot.algorithms.kinematics import Scalars, column_rates, path_to_root, short_frames, velocities, zeros
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Force, Motion, Transform


def inverse_dynamics_derivatives(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars) -> tuple[Matrix, Matrix, Matrix]:
    """Return d tau / dq, d tau / d qd and d tau / d qdd (M, unless friction grows with the load)."""
    dq, dqd, dqdd = load_derivatives(model, q, qd, qdd)
    slope = friction_slope(model, qd)
    if any(loaded_columns(model, qd)):
        load = load_torque(model, q, qd, qdd)
        factors = load_factors(model, qd, load)
        dq, dqd, dqdd = ([[x * factor for x in row] for row, factor in zip(A, factors)] for A in (dq, dqd, dqdd))
        for c, (x, steep) in enumerate(zip(load, load_factor_slopes(model, qd, load))):
            dqd[c][c] = dqd[c][c] + x * steep
    return dq, [[x + y for x, y in zip(*rows)] for rows in zip(dqd, slope)], dqdd


def load_derivatives(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars) -> tuple[Matrix, Matrix, Matrix]:
    """Return derivatives of inverse dynamics without friction."""
    model, X = short_frames(model, q, joined=True)
    carried, v = velocities(model, X, qd)
    pulled, a = accelerations(model, X, v, qd, qdd)

    # for each column of qd: first and second rate of its motion S as carried by the parent, and the first rate as both see it
    moving, rate, rate2, swing = column_rates(model, carried, qd), {}, {}, {}
    for body in model.bodies:
        i, S = body.index, [s for _, s in body.subspace]
        rate[i] = [carried[i].cross(s) for s in S]
        rate2[i] = [pulled[i].cross(s) + carried[i].cross(r) for s, r in zip(S, rate[i])]
        swing[i] = [r + m for r, m in zip(rate[i], moving[i])]

    n = model.nv
    dq, (dqd, dqdd) = spring_slope(model, q), ([zeros(n) for _ in range(n)] for _ in range(2))
    for c, armature in enumerate(armatures(model)):
        dqdd[c][c] = armature
    # tips first: the sums I, B and f of a subtree are used at its root, added to those of the parent, and needed nowhere else
    I, B, f = [body.inertia for body in model.bodies], [CoriolisMap() for _ in model.bodies], [Force() for _ in model.bodies]
    for body in reversed(model.bodies):
        j, parent, own = body.index, body.parent, CoriolisMap.of(body.moments, v[body.index])
        B[j], f[j] = own + B[j], body.inertia @ a[j] + own @ v[j] + f[j]
        for (c, s), r, r2, w in zip(body.subspace, rate[j], rate2[j], swing[j]):
            by_q = (B[j] @ r) * 2 + I[j] @ r2
            by_qd = (B[j] @ s) * 2 + I[j] @ w
            by_qdd, turning = I[j] @ s, B[j].transposed(s) * 2
            for i in path_to_root(model, j):
                for (d, t), t1, t2, tw in zip(model.bodies[i].subspace, rate[i], rate2[i], swing[i]):
                    dq[d][c] = dq[d][c] + by_q.dot(t)
                    dqd[d][c] = dqd[d][c] + by_qd.dot(t)
                    dqdd[d][c] = dqdd[d][c] + by_qdd.dot(t)
                    if i != j:
                        dq[c][d] = dq[c][d] + turning.dot(t1) + by_qdd.dot(t2)
                        dqd[c][d] = dqd[c][d] + turning.dot(t) + by_qdd.dot(tw)
                        dqdd[c][d] = dqdd[c][d] + by_qdd.dot(t)
                if i == j:
                    by_q = by_q + s.cross_force(f[j])  # the force of the subtree turns with it; an ancestor's column does not
                by_q, by_qd, by_qdd, turning = (X[i].out_force(x) for x in (by_q, by_qd, by_qdd, turning))
        if parent != WORLD:
            I[parent] = I[parent] + X[j].out_inertia(I[j])
            B[parent] = B[parent] + B[j].out(X[j])
            f[parent] = f[parent] + X[j].out_force(f[j])
    return dq, dqd, dqdd


def accelerations(
    model: LiftedModel, X: Sequence[Transform], v: Sequence[Motion], qd: Scalars, qdd: Scalars
) -> tuple[list[Motion], list[Motion]]:
    """Return, in each body's frame, its parent's acceleration and its own; the world's is -gravity."""
    pulled, a = [], []
    for body in model.bodies:
        pulled.append(X[body.index].into(Motion(v=-model.gravity) if body.parent == WORLD else a[body.parent]))
        a.append(pulled[-1] + body.velocity(qdd) + v[body.index].cross(body.velocity(qd)))
    return pulled, a


def bias_load(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Return the load at qdd = 0 from the terms of the derivatives, which it shares: fewer operations than Newton-Euler again."""
    load = spring_torque(model, q)
    model, X = short_frames(model, q, joined=True)
    _, v = velocities(model, X, qd)
    _, a = accelerations(model, X, v, qd, zeros(model.nv))
    f = [body.inertia @ a[i] + CoriolisMap.of(body.moments, v[i]) @ v[i] for i, body in enumerate(model.bodies)]
    for body in reversed(model.bodies):
        for c, s in body.subspace:
            load[c] = load[c] + f[body.index].dot(s)
        if body.parent != WORLD:
            f[body.parent] = f[body.parent] + X[body.index].out_force(f[body.index])
    return load


def forward_dynamics_derivatives(
    model: LiftedModel, q: Scalars, qd: Scalars, tau: Scalars
) -> tuple[Matrix, Matrix, Matrix, list[Scalar]]:
    """Return d qdd / dq, d qdd / d qd, d qdd / d tau (the inverse of M, unless friction grows with the load), and the margins of
    forward dynamics.

    The load L(q, qd, qdd) is what friction leaves, R / factor with R = tau - F(qd), so
    M d qdd = (d tau - F' d qd) / factor - R factor' d qd / factor^2 - dL/dq dq - dL/d qd d qd.
    """
    solved, margins = factored_mass_matrix(model, q, joined=True)
    rest = [t - f for t, f in zip(tau, friction_torque(model, qd))]
    factors = load_factors(model, qd, rest)
    qdd = solved.solve([r / factor - b for r, factor, b in zip(rest, factors, bias_load(model, q, qd))])
    dq, dqd, _ = load_derivatives(model, q, qd, qdd)
    slope = friction_slope(model, qd)
    dqd = [[x + y / factor for x, y in zip(*rows)] for *rows, factor in zip(dqd, slope, factors)]
    for c, steep in enumerate(load_factor_slopes(model, qd, rest)):
        dqd[c][c] = dqd[c][c] + rest[c] * steep / (factors[c] * factors[c])
    minus = [transposed([solved.solve([-x for x in column]) for column in transposed(A)]) for A in (dq, dqd)]
    inverse = [[x / factor for x, factor in zip(row, factors)] for row in solved.inverted()]
    return minus[0], minus[1], inverse, margins
