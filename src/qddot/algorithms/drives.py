"""Terms that drives add to the equation of motion: rotor, friction, spring. The recursions need no branch for them.

A rotor that acts as a gyroscope, or that several joints turn, is a body like any other (`qddot.model.joints.Rotor`); all others
count by their reflected inertia, here called armature.
"""

from __future__ import annotations

from collections.abc import Iterator

from qddot.algorithms.kinematics import Scalars, zeros
from qddot.errors import InputError
from qddot.model.friction import ShaftFriction, Sliding
from qddot.model.joints import Rotor
from qddot.model.lower import LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar, is_zero

Shaft = list[tuple[int, Scalar]]
"""A shaft: the columns of qd that turn it, each with its ratio. Its friction acts at its own speed."""


def shafts(body: LiftedBody) -> list[Shaft]:
    """Return the shafts of a body's drive: for a motor the one that all its joints turn, else one for each column of the joint."""
    if isinstance(body.joint, Rotor):
        return [[(c, s.w.z) for c, s in body.subspace]]
    return [[(c, 1)] for c in body.columns]


def driven(model: LiftedModel) -> list[LiftedBody]:
    """Return the bodies on a joint with a drive."""
    return [body for body in model.bodies if body.is_driven]


def armatures(model: LiftedModel) -> list[Scalar]:
    """Return the inertia that rotors add to the diagonal of M, column by column."""
    total = zeros(model.nv)
    for body in driven(model):
        for c in () if isinstance(body.joint, Rotor) else body.columns:
            total[c] = total[c] + body.drive.armature
    return total


def armature_torque(model: LiftedModel, qdd: Scalars) -> list[Scalar]:
    """Return reflected rotor inertia times acceleration."""
    return [armature * x for armature, x in zip(armatures(model), qdd)]


# friction ---------------------------------------------------------------------------------------------------------------------


def friction_torque(model: LiftedModel, qd: Scalars, sliding: Scalars | None = None) -> list[Scalar]:
    """Return the friction (`qddot.model.friction`) except the part that grows with the load. A hard step is 0 at standstill, where
    it could hold more (`qddot.simulate`). `sliding`: (nv,) direction 1, -1 or 0, used instead of the sign of the speed in each
    column whose friction can stick."""
    tau = zeros(model.nv)
    for shaft, at in sliding_shafts(model, qd, sliding):
        f = at.torque()
        for c, ratio in shaft:
            tau[c] = tau[c] + f * ratio
    return tau


def friction_slope(model: LiftedModel, qd: Scalars) -> list[list[Scalar]]:
    """Return d friction / d qd; a hard step counts as flat."""
    slope = [zeros(model.nv) for _ in range(model.nv)]
    for shaft, at in sliding_shafts(model, qd):
        f = at.slope()
        for c, ratio in shaft:
            for d, other in shaft:
                slope[c][d] = slope[c][d] + f * ratio * other
    return slope


def load_factors(model: LiftedModel, qd: Scalars, load: Scalars, sliding: Scalars | None = None) -> list[Scalar]:
    """Return the factor by which friction multiplies the load of each column (`Sliding.load_factor`); 1 without such friction."""
    factors: list[Scalar] = [1] * model.nv
    for c, at in loaded_columns(model, qd, sliding):
        factors[c] = at.load_factor(load[c])
    return factors


def load_factor_slopes(model: LiftedModel, qd: Scalars, load: Scalars) -> list[Scalar]:
    """Return the slope of each load factor with respect to the rate of its column; zero for a hard step."""
    slopes = zeros(model.nv)
    for c, at in loaded_columns(model, qd):
        slopes[c] = at.load_factor_slope(load[c])
    return slopes


def sliding_shafts(model: LiftedModel, qd: Scalars, sliding: Scalars | None = None) -> Iterator[tuple[Shaft, Sliding]]:
    """Yield each shaft with friction, and its friction at its speed."""
    for body in driven(model):
        nominal = nominal_friction(model, body)
        if not nominal.laws:
            continue  # decided by the model's own numbers: no operations, and no sign of a scalar, for a friction that is zero
        for shaft in shafts(body):
            direction = None if sliding is None or not nominal.sticks else shaft_direction(body.name, shaft, sliding)
            yield shaft, body.drive.friction.at(model.field, shaft_speed(shaft, qd), direction, nominal)


def loaded_columns(model: LiftedModel, qd: Scalars, sliding: Scalars | None = None) -> Iterator[tuple[int, Sliding]]:
    """Yield each column whose friction grows with the load, and that friction; such a shaft belongs to one joint."""
    for body in driven(model):
        nominal = nominal_friction(model, body)
        if not is_zero(nominal.load):
            for c in body.columns:
                direction = None if sliding is None or not nominal.sticks else sliding[c]
                yield c, body.drive.friction.at(model.field, qd[c], direction, nominal)


def nominal_friction(model: LiftedModel, body: LiftedBody) -> ShaftFriction:
    """Return a body's friction in the model's own numbers."""
    return model.source.bodies[body.index].drive.friction


def shaft_direction(name: str, shaft: Shaft, sliding: Scalars) -> Scalar:
    """Return the direction in which a shaft of one column turns. Raises InputError: it has several columns."""
    if len(shaft) > 1:
        raise InputError(
            f"motor {name!r} turns {len(shaft)} joints, and its friction sticks: which way it slides cannot be given joint by "
            "joint. Use simulate, which decides it, or give the motor's drive a smoothing_velocity"
        )
    ((column, ratio),) = shaft
    return sliding[column] * (1 if ratio > 0 else -1)


def shaft_speed(shaft: Shaft, qd: Scalars) -> Scalar:
    """Return the speed of a shaft. With one ratio up to signs (a differential), speeds are summed before they are multiplied: if
    they cancel, the shaft stands still exactly."""
    _, first = shaft[0]
    if all(ratio == first or ratio == -first for _, ratio in shaft):
        return sum((qd[c] if ratio == first else -qd[c] for c, ratio in shaft), 0) * first
    return sum((qd[c] * ratio for c, ratio in shaft), 0)


# springs ----------------------------------------------------------------------------------------------------------------------


def spring_torque(model: LiftedModel, q: Scalars) -> list[Scalar]:
    """Return the joint forces that balance the springs and the harmonics (torques that repeat in every turn)."""
    tau = zeros(model.nv)
    for body, shaft, stretch in stretched(model, q):
        for c, ratio in shaft:
            tau[c] = tau[c] + body.drive.stiffness * stretch * ratio
    for c, _, (a, b), (cos, sin) in waves(model, q):
        tau[c] = tau[c] + a * cos + b * sin
    return tau


def spring_energy(model: LiftedModel, q: Scalars) -> Scalar:
    """Return the energy stored in springs and harmonics."""
    springs = (body.drive.stiffness * stretch * (stretch / 2) for body, _, stretch in stretched(model, q))  # 0 / 2 is no exact 0
    return sum((a * (sin / k) - b * (cos / k) for _, k, (a, b), (cos, sin) in waves(model, q)), sum(springs, 0))


def spring_slope(model: LiftedModel, q: Scalars) -> list[list[Scalar]]:
    """Return d spring_torque / dq."""
    slope = [zeros(model.nv) for _ in range(model.nv)]
    for body, shaft, _ in stretched(model, q):
        for c, ratio in shaft:
            for d, other in shaft:
                slope[c][d] = slope[c][d] + body.drive.stiffness * ratio * other
    for c, k, (a, b), (cos, sin) in waves(model, q):
        slope[c][c] = slope[c][c] + (b * cos - a * sin) * k
    return slope


def waves(model: LiftedModel, q: Scalars) -> Iterator[tuple[int, int, tuple[Scalar, Scalar], tuple[Scalar, Scalar]]]:
    """Yield (column, k, (a, b), (cos kq, sin kq)) for each harmonic `a cos(k q) + b sin(k q)` of a hinge."""
    for body in driven(model):
        if body.drive.harmonics:
            once = model.field.cos_sin(q[body.coordinates[0]])
            for k, a, b in body.drive.harmonics:
                yield body.columns[0], k, (a, b), multiple(once, k)


def multiple(once: tuple[Scalar, Scalar], k: int) -> tuple[Scalar, Scalar]:
    """Return (cos kx, sin kx) from (cos x, sin x), by doubling the angle of k // 2, and adding x once where k is odd."""
    if k == 1:
        return once
    c, s = multiple(once, k // 2)
    double = c * c - s * s, c * s * 2
    if k % 2 == 0:
        return double
    return double[0] * once[0] - double[1] * once[1], double[1] * once[0] + double[0] * once[1]


def stretched(model: LiftedModel, q: Scalars) -> Iterator[tuple[LiftedBody, Shaft, Scalar]]:
    """Yield (body, shaft, stretch of its spring), for joints with one coordinate and for elastic gears."""
    for body in driven(model):
        if len(body.coordinates) == 1 or (isinstance(body.joint, Rotor) and body.coordinates):
            yield body, shafts(body)[0], stretch(body, q)


def stretch(body: LiftedBody, q: Scalars) -> Scalar:
    """Return how far a drive's spring is from rest."""
    return sum((q[i] * ratio for i, (_, ratio) in zip(body.coordinates, shafts(body)[0])), 0) - body.drive.rest
