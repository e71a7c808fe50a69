"""Energy, momentum and the centre of mass."""

from __future__ import annotations

from qddot.algorithms.drives import armatures, spring_energy
from qddot.algorithms.factor import reciprocal
from qddot.algorithms.kinematics import Scalars, joint_poses, world_columns, world_poses, world_velocities
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Force, Motion, Vec


def kinetic_energy(model: LiftedModel, q: Scalars, qd: Scalars) -> Scalar:
    """Return the kinetic energy of links and rotors: half of v . I v, summed."""
    X = joint_poses(model, q)
    v, twice = {WORLD: Motion()}, sum((a * x * x for a, x in zip(armatures(model), qd)), 0)
    for body in model.bodies:
        i = body.index
        v[i] = X[i].into(v[body.parent]) + body.velocity(qd)
        twice = twice + (body.inertia @ v[i]).dot(v[i])
    return twice / 2


def potential_energy(model: LiftedModel, q: Scalars) -> Scalar:
    """Return the potential energy of gravity (zero with all mass at the world's origin) and of the springs."""
    return spring_energy(model, q) - model.gravity.dot(first_moment(model, q))


def first_moment(model: LiftedModel, q: Scalars) -> Vec:
    """Return mass times centre of mass, in the world."""
    X0 = world_poses(model, q)
    return sum((X0[body.index].R @ body.inertia.h + X0[body.index].p * body.inertia.m for body in model.bodies), Vec())


def total_mass(model: LiftedModel) -> Scalar:
    """Return the mass of everything that moves."""
    return sum((body.inertia.m for body in model.bodies), 0)


def center_of_mass(model: LiftedModel, q: Scalars) -> Vec:
    """Return the centre of mass of everything that moves, in the world."""
    return first_moment(model, q) * reciprocal(total_mass(model))


def momentum(model: LiftedModel, q: Scalars, qd: Scalars) -> Force:
    """Return the angular momentum about the centre of mass, and the linear momentum, in world axes."""
    X0 = world_poses(model, q)
    v = world_velocities(model, world_columns(model, X0), qd)
    total = Force()
    for body in model.bodies:
        i = body.index
        total = total + X0[i].out_force(body.inertia @ X0[i].into(v[i]))
    return Force(total.n - center_of_mass(model, q).cross(total.f), total.f)
