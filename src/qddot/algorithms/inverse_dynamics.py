"""Inverse dynamics: the joint forces for a motion (recursive Newton-Euler, section 5.3), and the terms it splits into."""

from __future__ import annotations

from collections.abc import Mapping

from qddot.algorithms.drives import armature_torque, friction_torque, spring_torque
from qddot.algorithms.kinematics import Scalars, joint_poses, world_poses, zeros
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Force, Motion, Vec

Wrenches = Mapping[int, Force]
"""External forces on bodies, each about the world's origin in world axes."""


def newton_euler(
    model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, gravity: Vec, f_ext: Wrenches | None = None
) -> list[Scalar]:
    """Forces of the links alone: velocities and accelerations outward, forces inward.

    The base accelerates upward by -gravity, which is how gravity enters every body at once.
    """
    X = joint_poses(model, q)
    v, a, f = {WORLD: Motion()}, {WORLD: Motion(v=-gravity)}, {}
    for body in model.bodies:
        i, parent, I = body.index, body.parent, body.inertia
        vJ, aJ = body.velocity(qd), body.velocity(qdd)
        v[i] = X[i].into(v[parent]) + vJ
        a[i] = X[i].into(a[parent]) + aJ + v[i].cross(vJ)
        f[i] = I @ a[i] + v[i].cross_force(I @ v[i])
    if f_ext:
        X0 = world_poses(model, q)
        for i, wrench in f_ext.items():
            f[i] = f[i] - X0[i].into_force(wrench)
    tau = zeros(model.nv)
    for body in reversed(model.bodies):
        i, parent = body.index, body.parent
        for c, s in body.subspace:
            tau[c] = tau[c] + f[i].dot(s)
        if parent != WORLD:
            f[parent] = f[parent] + X[i].out_force(f[i])
    return tau


def inverse_dynamics(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, f_ext: Wrenches | None = None) -> list[Scalar]:
    """tau = M qdd + C qd + g + friction + springs - J^T f_ext."""
    terms = (
        newton_euler(model, q, qd, qdd, model.gravity, f_ext),
        armature_torque(model, qdd),
        friction_torque(model, qd),
        spring_torque(model, q),
    )
    return [sum(parts) for parts in zip(*terms)]


def bias_torque(model: LiftedModel, q: Scalars, qd: Scalars, f_ext: Wrenches | None = None) -> list[Scalar]:
    """Everything but M qdd."""
    return inverse_dynamics(model, q, qd, zeros(model.nv), f_ext)


def gravity_torque(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """g(q): what holds the links still against gravity."""
    return newton_euler(model, q, zeros(model.nv), zeros(model.nv), model.gravity)


def coriolis_torque(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """c(q, qd) = C qd: the links' velocity-product forces."""
    return newton_euler(model, q, qd, zeros(model.nv), Vec())
