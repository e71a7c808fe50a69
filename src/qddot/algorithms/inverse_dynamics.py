"""Inverse dynamics: the joint forces for a motion (recursive Newton-Euler, section 5.3), and the terms it splits into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qddot.algorithms.drives import armature_torque, friction_torque, load_factors, spring_torque
from qddot.algorithms.kinematics import Scalars, joint_poses, world_poses, zeros
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import ZERO, Force, Mat, Vec

Wrenches = Mapping[int, Force]
"""External forces on bodies, each about the world's origin in world axes."""


def newton_euler(
    model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, gravity: Vec, f_ext: Wrenches | None = None
) -> list[Scalar]:
    """Return the joint forces of the links alone: the part of each transmitted wrench that is along the joint's motion."""
    tau = zeros(model.nv)
    for body, f in transmitted(model, q, qd, qdd, gravity, f_ext):
        for c, s in body.subspace:
            tau[c] = tau[c] + f.dot(s)
    return tau


def transmitted(
    model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, gravity: Vec, f_ext: Wrenches | None = None
) -> Iterator[tuple[LiftedBody, Force]]:
    """Yield each body, from the tips inward, with the wrench that its joint transmits to it, about its own origin, in its axes.

    Motion outward, forces inward (Luh, Walker and Paul 1980). Each body has its angular velocity w and acceleration dw, the
    acceleration a of its origin, and a matrix U: its point at r accelerates by a + U r. Linear velocities never appear. Gravity
    enters every body at once, as an acceleration -gravity of the base.
    """
    X = joint_poses(model, q)
    w, dw, a, U, f = {WORLD: Vec()}, {WORLD: Vec()}, {WORLD: -gravity}, {WORLD: ZERO}, {}
    for body in model.bodies:
        i, p = body.index, body.parent
        vJ, aJ, R = body.velocity(qd), body.velocity(qdd), X[i].R
        carried = w[p] @ R
        w[i] = carried + vJ.w
        dw[i] = dw[p] @ R + aJ.w + carried.cross(vJ.w)
        a[i] = (a[p] + U[p] @ X[i].p) @ R + aJ.v + (carried + w[i]).cross(vJ.v)
        U[i] = spin(w[i], dw[i])
        f[i] = body.moments.wrench(a[i], U[i])
    if f_ext:
        X0 = world_poses(model, q)
        for i, wrench in f_ext.items():
            f[i] = f[i] - X0[i].into_force(wrench)
    for body in reversed(model.bodies):
        i, p = body.index, body.parent
        yield body, f[i]
        if p != WORLD:
            f[p] = f[p] + X[i].out_force(f[i])


def spin(w: Vec, dw: Vec) -> Mat:
    """Return U = [dw] + [w][w]: relative to the origin, the point at r of a turning body accelerates by U r."""
    xx, yy, zz, xy, xz, yz = w.x * w.x, w.y * w.y, w.z * w.z, w.x * w.y, w.x * w.z, w.y * w.z
    return Mat(Vec(-(yy + zz), xy - dw.z, xz + dw.y), Vec(xy + dw.z, -(xx + zz), yz - dw.x), Vec(xz - dw.y, yz + dw.x, -(xx + yy)))


def inverse_dynamics(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, f_ext: Wrenches | None = None) -> list[Scalar]:
    """Return tau = M qdd + C qd + g + friction + springs - J^T f_ext."""
    return demanded_torque(model, qd, load_torque(model, q, qd, qdd, f_ext))


def demanded_torque(model: LiftedModel, qd: Scalars, load: Scalars) -> list[Scalar]:
    """Return the joint forces of which friction leaves `load`: the inverse of `forward_dynamics.delivered_torque`."""
    factors, friction = load_factors(model, qd, load), friction_torque(model, qd)
    return [l * factor + f for l, factor, f in zip(load, factors, friction)]


def load_torque(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, f_ext: Wrenches | None = None) -> list[Scalar]:
    """Return joint forces as `inverse_dynamics` does, without friction."""
    terms = (newton_euler(model, q, qd, qdd, model.gravity, f_ext), armature_torque(model, qdd), spring_torque(model, q))
    return [sum(parts) for parts in zip(*terms)]


def bias_torque(model: LiftedModel, q: Scalars, qd: Scalars, drives: str = "with", f_ext: Wrenches | None = None) -> list[Scalar]:
    """Return all terms of inverse dynamics but M qdd; with `drives="without"` only `C qd + g`, no friction and no springs."""
    if drives == "without":
        return newton_euler(model, q, qd, zeros(model.nv), model.gravity, f_ext)
    return inverse_dynamics(model, q, qd, zeros(model.nv), f_ext)


def gravity_torque(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """Return g(q): the joint forces that hold the links still against gravity."""
    return newton_euler(model, q, zeros(model.nv), zeros(model.nv), model.gravity)


def coriolis_torque(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Return c(q, qd) = C qd, the links' velocity-product forces."""
    return newton_euler(model, q, qd, zeros(model.nv), Vec())
