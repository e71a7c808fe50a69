"""The regressor: torque is linear in each link's ten numbers (m, m c, I about the link frame) and in its drive's constants.

tau = Y(q, qd, qdd) pi
"""

from __future__ import annotations

from qddot.algorithms.drives import loaded_columns, multiple, nominal_friction, shaft_speed, shafts, stretch
from qddot.algorithms.factor import Matrix
from qddot.algorithms.inverse_dynamics import load_torque
from qddot.algorithms.kinematics import Scalars, joint_poses, path_to_root, zeros
from qddot.model.friction import NAMES
from qddot.model.joints import Rotor
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar, is_zero
from qddot.model.spatial import Motion, upper

INERTIAL = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
DRIVE = ("armature", *NAMES, "stiffness")


def regressor(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars) -> Matrix:
    """Return Y: n rows, columns in the order of `named_parameters`."""
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
    load = load_torque(model, q, qd, qdd) if any(loaded_columns(model, qd)) else zeros(model.nv)
    for body in model.bodies:
        columns += drive_columns(model, body, q, qd, qdd, load)
    return [list(row) for row in zip(*columns)] if columns else [[] for _ in range(model.nv)]


def link_columns(model: LiftedModel, body: LiftedBody, X, v: Motion, a: Motion) -> Matrix:
    """Return, for each of a link's ten numbers, its column of Y: inertial forces along each joint's motion J, in the link frame."""
    w, dw = v.w, a.w
    acceleration = a.v + w.cross(v.v)  # the classical acceleration of the frame's origin
    columns = [zeros(model.nv) for _ in range(10)]
    seen_from = body.link
    for i in path_to_root(model, body.index):
        for c, s in model.bodies[i].subspace:
            J = seen_from.into(s)
            first = acceleration.cross(J.w) + J.v.cross(dw) + w.cross(w.cross(J.v))
            second = J.w.outer(dw) + J.w.cross(w).outer(w)
            pairs = zip(upper(second), upper(second.T), ("xx", "xy", "xz", "yy", "yz", "zz"))
            moments = [one if name in ("xx", "yy", "zz") else one + other for one, other, name in pairs]
            for k, value in enumerate((acceleration.dot(J.v), *first, *moments)):
                columns[k][c] = columns[k][c] + value
        seen_from = X[i] @ seen_from
    return columns


def drive_constants(model: LiftedModel, body: LiftedBody) -> list[tuple[str, Scalar]]:
    """Return (name, value) of each constant of a body's drive that is not zero in the model's own numbers."""
    if not body.is_driven:
        return []
    drive, nominal = body.drive, model.source.bodies[body.index].drive
    constants = [("armature", drive.armature)] if not is_zero(nominal.armature) else []
    constants += drive.friction.constants(nominal.friction)
    constants += [("stiffness", drive.stiffness)] if not is_zero(nominal.stiffness) else []
    return constants + [(f"{name}{k}", x) for k, *both in drive.harmonics for name, x in zip(("cos", "sin"), both)]


def drive_columns(model: LiftedModel, body: LiftedBody, q: Scalars, qd: Scalars, qdd: Scalars, load: Scalars) -> Matrix:
    """Return the column of Y for each constant of a drive, (constants, nv).

    The column of friction that grows with the load contains the load for the model's own parameters: there Y pi is the torque, but
    the torque is not linear in all parameters together.
    """
    columns = {name: zeros(model.nv) for name, _ in drive_constants(model, body)}
    for shaft in shafts(body) if columns else ():
        at = body.drive.friction.at(model.field, shaft_speed(shaft, qd), None, nominal_friction(model, body))
        for c, ratio in shaft:
            factors = at.curves(load[c])
            if "armature" in columns:
                factors["armature"] = qdd[c]
            if "stiffness" in columns:
                factors["stiffness"] = stretch(body, q)
            if body.drive.harmonics:
                once = model.field.cos_sin(q[body.coordinates[0]])
                factors |= {f"{x}{k}": y for k, *_ in body.drive.harmonics for x, y in zip(("cos", "sin"), multiple(once, k))}
            for name, factor in factors.items():
                columns[name][c] = columns[name][c] + factor * ratio
    return list(columns.values())


def has_rotor(model: LiftedModel, body: LiftedBody) -> bool:
    """Return True for a shaft with inertia in the model's own numbers."""
    return isinstance(body.joint, Rotor) and bool(model.source.bodies[body.index].inertia.I.c.z != 0)


def named_parameters(model: LiftedModel) -> list[tuple[str, Scalar]]:
    """Return pi, the parameters that the regressor multiplies, each with a name such as `link2.Ixx` or `joint1.viscous`."""
    found: list[tuple[str, Scalar]] = []
    for body in model.bodies:
        if body.is_link:
            m, h, I = body.link.inverse.out_inertia(body.inertia)
            found += [(f"{body.name}.{name}", value) for name, value in zip(INERTIAL, (m, *h, *upper(I)))]
        elif has_rotor(model, body):
            found.append((f"{body.drive_name}.inertia", body.inertia.I.c.z))
    for body in model.bodies:
        found += [(f"{body.drive_name}.{name}", value) for name, value in drive_constants(model, body)]
    return found
