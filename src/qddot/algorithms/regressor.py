"""The regressor: torque is linear in each link's ten numbers (m, m c, I about the link frame) and in its drive's constants.

tau = Y(q, qd, qdd) pi
"""

from __future__ import annotations

from qddot.algorithms.kinematics import Scalars, joint_poses, path_to_root, zeros
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Motion, upper

Matrix = list[list[Scalar]]

INERTIAL = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
DRIVE = ("armature", "viscous", "coulomb", "coulomb_negative", "stiffness")


def regressor(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """Y, n rows; columns as `parameters` orders them."""
    X = joint_poses(model, q)
    v, a = {WORLD: Motion()}, {WORLD: Motion(v=-model.gravity)}
    columns: list[list[Scalar]] = []
    for body in model.bodies:
        i = body.index
        vJ = body.velocity(qd)
        v[i] = X[i].into(v[body.parent]) + vJ
        a[i] = X[i].into(a[body.parent]) + body.velocity(qdd) + v[i].cross(vJ)
        if body.is_link:
            columns += link_columns(model, body, X, body.link.into(v[i]), body.link.into(a[i]))
    for body in model.bodies:
        columns += [column for name, _, column in drive_terms(model, body, q, qd, qdd) if name]
    return [list(row) for row in zip(*columns)] if columns else [[] for _ in range(model.nv)]


def link_columns(model: LiftedModel, body: LiftedBody, X, v: Motion, a: Motion) -> Matrix:
    """What each of a link's ten numbers costs each joint: its inertial force along the joint's motion J, in the link frame."""
    w, dw = v.w, a.w
    acceleration = a.v + w.cross(v.v)  # of the point at the frame's origin, in the ordinary sense
    cost = [zeros(model.nv) for _ in range(10)]
    seen_from = body.link
    for i in path_to_root(model, body.index):
        for c, s in model.bodies[i].subspace:
            J = seen_from.into(s)
            first = acceleration.cross(J.w) + J.v.cross(dw) + w.cross(w.cross(J.v))
            second = J.w.outer(dw) + J.w.cross(w).outer(w)
            pairs = zip(upper(second), upper(second.T), ("xx", "xy", "xz", "yy", "yz", "zz"))
            moments = [one if name in ("xx", "yy", "zz") else one + other for one, other, name in pairs]
            for k, value in enumerate((acceleration.dot(J.v), *first, *moments)):
                cost[k][c] = cost[k][c] + value
        seen_from = X[i] @ seen_from
    return cost


def drive_terms(model: LiftedModel, body: LiftedBody, q: Scalars, qd: Scalars, qdd: Scalars):
    """(name, value, column) of each constant of a body's drive that is not zero; nothing for an idle drive."""
    drive = model.source.bodies[body.index].drive  # the model's own numbers decide which columns there are
    positive, negative = drive.coulomb
    values = (drive.armature, drive.viscous, positive, 0 if positive == negative else negative, drive.stiffness)
    for name, value in zip(DRIVE, values):
        if value == 0 and not (name == "coulomb" and negative != 0):
            continue
        column = zeros(model.nv)
        for c, k in zip(body.columns, body.coordinates):
            s = model.field.sign(qd[c])
            both = positive == negative
            column[c] = {
                "armature": qdd[c],
                "viscous": qd[c],
                "coulomb": s if both else (s + s * s) / 2,
                "coulomb_negative": (s - s * s) / 2,
                "stiffness": q[k] - body.drive.rest,
            }[name]
        yield name, value, column


def parameters(model: LiftedModel) -> list[Scalar]:
    """pi, the parameters the regressor multiplies."""
    return [value for _, value in named_parameters(model)]


def named_parameters(model: LiftedModel) -> list[tuple[str, Scalar]]:
    """Each parameter with a name such as `link2.Ixx` or `joint1.viscous`."""
    nothing = zeros(max(model.nq, model.nv))
    found: list[tuple[str, Scalar]] = []
    for body in model.bodies:
        if body.is_link:
            m, h, I = body.link.inverse.out_inertia(body.inertia)
            found += [(f"{body.name}.{name}", value) for name, value in zip(INERTIAL, (m, *h, *upper(I)))]
    for body in model.bodies:
        found += [(f"{body.drive_name}.{name}", value) for name, value, _ in drive_terms(model, body, nothing, nothing, nothing)]
    return found
