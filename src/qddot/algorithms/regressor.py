"""The regressor: torque is linear in each link's ten numbers (m, m c, I about the link frame) and in its drive's constants.

tau = Y(q, qd, qdd) pi
"""

from __future__ import annotations

from collections.abc import Iterator

from qddot.algorithms.drives import has, shaft_speed, shafts, stretch
from qddot.algorithms.inverse_dynamics import load_torque
from qddot.algorithms.kinematics import Scalars, joint_poses, path_to_root, zeros
from qddot.model.drive import JointSide
from qddot.model.joints import Rotor
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Motion, upper

Matrix = list[list[Scalar]]

INERTIAL = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
DRIVE = ("armature", "viscous", "coulomb", "coulomb_negative", "stribeck", "stribeck_negative", "stiffness", "load")


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
        elif has_rotor(model, body):
            columns.append(link_columns(model, body, X, v[i], a[i])[-1])
    load = load_torque(model, q, qd, qdd) if any(has(model, body, "load") for body in model.bodies) else zeros(model.nv)
    for body in model.bodies:
        columns += [column for _, _, column in drive_terms(model, body, q, qd, qdd, load)]
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


def drive_terms(
    model: LiftedModel, body: LiftedBody, q: Scalars, qd: Scalars, qdd: Scalars, load: Scalars
) -> Iterator[tuple[str, Scalar, list[Scalar]]]:
    """(name, value, column) of each constant of a body's drive that is not zero; nothing for an idle drive.

    The column of friction that grows with the load holds the load of the model's own parameters: the product is right, but the
    torque is not linear in all of them together.
    """
    drive = model.source.bodies[body.index].drive  # the model's own numbers decide which columns there are
    for name, value in zip(DRIVE, drive_values(drive)):
        if value == 0 and not (name in ("coulomb", "stribeck") and drive_values(drive)[DRIVE.index(name) + 1] != 0):
            continue
        column = zeros(model.nv)
        for shaft in shafts(body):
            speed = shaft_speed(shaft, qd)
            for c, ratio in shaft:
                column[c] = column[c] + drive_column(model, body, name, c, speed, q, qdd, load) * ratio
        yield name, value, column


def drive_values(drive: JointSide) -> tuple[Scalar, ...]:
    """In the order of `DRIVE`; the second of a pair only where it differs from the first."""
    (positive, negative), rise = drive.coulomb, drive.rise if drive.has_stribeck else (0, 0)
    other = 0 if positive == negative else negative
    return (
        drive.armature,
        drive.viscous,
        positive,
        other,
        rise[0],
        0 if rise[0] == rise[1] else rise[1],
        drive.stiffness,
        drive.load,
    )


def drive_column(
    model: LiftedModel, body: LiftedBody, name: str, c: int, speed: Scalar, q: Scalars, qdd: Scalars, load: Scalars
) -> Scalar:
    """What one constant of a drive multiplies."""
    if name in ("armature", "viscous"):
        return qdd[c] if name == "armature" else speed
    if name == "stiffness":
        return stretch(body, q)
    s, x = model.field.sign(speed), speed * body.drive.steepness
    if name == "load":
        return load[c] * model.field.sign(load[c]) * s
    values = model.source.bodies[body.index].drive
    positive, negative = values.coulomb if name.startswith("coulomb") else values.rise
    dry = s if positive == negative else (s - s * s) / 2 if name.endswith("negative") else (s + s * s) / 2
    return dry if name.startswith("coulomb") else dry / (1 + x * x)


def has_rotor(model: LiftedModel, body: LiftedBody) -> bool:
    """A shaft with inertia, by the model's own numbers."""
    return isinstance(body.joint, Rotor) and bool(model.source.bodies[body.index].inertia.I.c.z != 0)


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
        elif has_rotor(model, body):
            found.append((f"{body.drive_name}.inertia", body.inertia.I.c.z))
    for body in model.bodies:
        terms = drive_terms(model, body, nothing, nothing, nothing, nothing)
        found += [(f"{body.drive_name}.{name}", value) for name, value, _ in terms]
    return found
