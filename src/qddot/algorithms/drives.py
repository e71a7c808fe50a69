"""What the drives add, joint by joint: rotor, friction, spring. Each is one term, so the recursions never branch on them."""

from __future__ import annotations

from qddot.algorithms.kinematics import Scalars, zeros
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar


def coefficients(model: LiftedModel, name: str) -> list[Scalar]:
    """One constant of the drives, column by column.

    `"armature"` is what rotors add to the diagonal of M, `"viscous"` the derivative of friction with respect to qd (Coulomb
    friction has none, except where it jumps), `"stiffness"` that of the springs with respect to q.
    """
    total = zeros(model.nv)
    for body in model.bodies:
        for c in body.columns:
            total[c] = total[c] + getattr(body.drive, name)
    return total


def armature_torque(model: LiftedModel, qdd: Scalars) -> list[Scalar]:
    """Reflected rotor inertia times acceleration."""
    return [armature * x for armature, x in zip(coefficients(model, "armature"), qdd)]


def friction_torque(model: LiftedModel, qd: Scalars) -> list[Scalar]:
    """Viscous friction and Coulomb friction; at standstill Coulomb friction is 0."""
    tau = zeros(model.nv)
    for body in model.bodies:
        positive, negative = body.drive.coulomb
        for c in body.columns:
            s = model.field.sign(qd[c])
            # +positive for s = 1, -negative for s = -1, 0 at rest
            coulomb = s * ((positive + negative) / 2) + s * s * ((positive - negative) / 2)
            tau[c] = tau[c] + body.drive.viscous * qd[c] + coulomb
    return tau


def spring_torque(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """What holds the joints against their springs."""
    tau = zeros(model.nv)
    for body in model.bodies:
        if len(body.columns) == 1:
            (c,), (i,) = body.columns, body.coordinates
            tau[c] = tau[c] + body.drive.stiffness * (q[i] - body.drive.rest)
    return tau


def spring_energy(model: LiftedModel, q: Scalars) -> Scalar:
    """Energy stored in the springs."""
    energy: Scalar = 0
    for body in model.bodies:
        if len(body.columns) == 1:
            stretch = q[body.coordinates[0]] - body.drive.rest
            energy = energy + body.drive.stiffness * stretch * stretch / 2
    return energy
