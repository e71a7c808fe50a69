"""What the drives add: rotor, friction, spring. Each is one term, so the recursions never branch on them.

A rotor that is felt as a gyroscope, or that several joints turn, is a body like any other (`qddot.model.joints.Rotor`); what
remains of the others is their reflected inertia, here called armature.
"""

from __future__ import annotations

from collections.abc import Iterator

from qddot.algorithms.kinematics import Scalars, zeros
from qddot.model.joints import Rotor
from qddot.model.lower import LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar

Shaft = list[tuple[int, Scalar]]
"""Columns of qd and what each turns it by: where friction acts."""


def shafts(body: LiftedBody) -> list[Shaft]:
    """Of a motor the one that all its joints turn; otherwise each coordinate of the joint."""
    if isinstance(body.joint, Rotor):
        return [[(c, s.w.z) for c, s in body.subspace]]
    return [[(c, 1)] for c in body.columns]


def armatures(model: LiftedModel) -> list[Scalar]:
    """What rotors add to the diagonal of M, column by column."""
    total = zeros(model.nv)
    for body in model.bodies:
        for c in () if isinstance(body.joint, Rotor) else body.columns:
            total[c] = total[c] + body.drive.armature
    return total


def armature_torque(model: LiftedModel, qdd: Scalars) -> list[Scalar]:
    """Reflected rotor inertia times acceleration."""
    return [armature * x for armature, x in zip(armatures(model), qdd)]


# friction ---------------------------------------------------------------------------------------------------------------------


def friction_torque(model: LiftedModel, qd: Scalars, sliding: Scalars | None = None) -> list[Scalar]:
    """Viscous, Coulomb and Stribeck friction; at standstill dry friction is 0, though it could hold more (`qddot.simulate`).

    Args:
        sliding: (nv,) direction 1, -1 or 0 of each column, instead of the sign of its speed.
    """
    tau = zeros(model.nv)
    for body, shaft, v in moving_shafts(model, qd):
        f = body.drive.viscous * v
        if has(model, body, "is_dry"):
            f = f + dry_friction(model, body, v, model.field.sign(v) if sliding is None else shaft_direction(shaft, sliding))
        for c, ratio in shaft:
            tau[c] = tau[c] + f * ratio
    return tau


def shaft_direction(shaft: Shaft, sliding: Scalars) -> Scalar:
    """Which way a shaft of one column turns."""
    ((column, ratio),) = shaft
    return sliding[column] * (1 if ratio > 0 else -1)


def dry_friction(model: LiftedModel, body: LiftedBody, v: Scalar, s: Scalar) -> Scalar:
    """Coulomb friction in the direction s, and the rise towards standstill where there is one."""
    f = by_direction(s, body.drive.coulomb)
    if has(model, body, "has_stribeck"):
        x = v * body.drive.steepness
        f = f + by_direction(s, body.drive.rise) / (1 + x * x)
    return f


def friction_slope(model: LiftedModel, qd: Scalars) -> list[list[Scalar]]:
    """d friction / d qd; Coulomb friction has none, except where it jumps."""
    slope = [zeros(model.nv) for _ in range(model.nv)]
    for body, shaft, v in moving_shafts(model, qd):
        f = body.drive.viscous
        if has(model, body, "has_stribeck"):
            x = v * body.drive.steepness
            falling = 1 + x * x
            f = f - by_direction(model.field.sign(v), body.drive.rise) * (x * body.drive.steepness * 2) / (falling * falling)
        for c, ratio in shaft:
            for d, other in shaft:
                slope[c][d] = slope[c][d] + f * ratio * other
    return slope


def load_factors(model: LiftedModel, qd: Scalars, load: Scalars, sliding: Scalars | None = None) -> list[Scalar]:
    """What multiplies the load of each column: friction in the gear is a part of it, against the motion.

    `load + part * |load| * sign(qd)`, where the load is everything but friction. The other way round, what a force R leaves for
    the load is R divided by the factor that belongs to R, for the part is less than one and so both have the same sign.
    """
    factors: list[Scalar] = [1] * model.nv
    for body in model.bodies:
        if has(model, body, "load"):
            for c in body.columns:
                s = model.field.sign(qd[c]) if sliding is None else sliding[c]
                factors[c] = 1 + body.drive.load * s * model.field.sign(load[c])
    return factors


def by_direction(s: Scalar, values: tuple[Scalar, Scalar]) -> Scalar:
    """+positive for s = 1, -negative for s = -1, 0 at rest."""
    positive, negative = values
    return s * ((positive + negative) / 2) + s * s * ((positive - negative) / 2)


def moving_shafts(model: LiftedModel, qd: Scalars) -> Iterator[tuple[LiftedBody, Shaft, Scalar]]:
    """(body, shaft, its speed)."""
    for body in model.bodies:
        for shaft in shafts(body):
            yield body, shaft, shaft_speed(shaft, qd)


def shaft_speed(shaft: Shaft, qd: Scalars) -> Scalar:
    """How fast it turns. Of a differential, rounding must not turn what stands still: speeds come first, then their one ratio."""
    _, first = shaft[0]
    if all(ratio == first or ratio == -first for _, ratio in shaft):
        return sum((qd[c] if ratio == first else -qd[c] for c, ratio in shaft), 0) * first
    return sum((qd[c] * ratio for c, ratio in shaft), 0)


def has(model: LiftedModel, body: LiftedBody, what: str) -> bool:
    """The model's own numbers decide: a friction that is not there costs nothing, and asks no scalar for its sign."""
    return bool(getattr(model.source.bodies[body.index].drive, what))


# springs ----------------------------------------------------------------------------------------------------------------------


def spring_torque(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """What holds the joints against their springs."""
    tau = zeros(model.nv)
    for body, shaft, stretch in stretched(model, q):
        for c, ratio in shaft:
            tau[c] = tau[c] + body.drive.stiffness * stretch * ratio
    return tau


def spring_energy(model: LiftedModel, q: Scalars) -> Scalar:
    """Energy stored in the springs."""
    return sum((body.drive.stiffness * stretch * stretch / 2 for body, _, stretch in stretched(model, q)), 0)


def spring_slope(model: LiftedModel, q: Scalars) -> list[list[Scalar]]:
    """d spring / dq."""
    slope = [zeros(model.nv) for _ in range(model.nv)]
    for body, shaft, _ in stretched(model, q):
        for c, ratio in shaft:
            for d, other in shaft:
                slope[c][d] = slope[c][d] + body.drive.stiffness * ratio * other
    return slope


def stretched(model: LiftedModel, q: Scalars) -> Iterator[tuple[LiftedBody, Shaft, Scalar]]:
    """(body, shaft, how far its spring is wound up): of joints with one coordinate, and of elastic gears."""
    for body in model.bodies:
        if len(body.coordinates) == 1 or (isinstance(body.joint, Rotor) and body.coordinates):
            yield body, shafts(body)[0], stretch(body, q)


def stretch(body: LiftedBody, q: Scalars) -> Scalar:
    return sum((q[i] * ratio for i, (_, ratio) in zip(body.coordinates, shafts(body)[0])), 0) - body.drive.rest
