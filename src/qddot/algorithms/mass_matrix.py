"""The mass matrix (composite rigid bodies, section 6.2)."""

from __future__ import annotations

from collections.abc import Collection

from qddot.algorithms.drives import armatures
from qddot.algorithms.factor import Matrix
from qddot.algorithms.kinematics import Scalars, path_to_root, short_frames, zeros
from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.spatial import RigidInertia, Transform


def mass_matrix(model: LiftedModel, q: Scalars, joined: bool = False) -> Matrix:
    """Return M(q), column by column: the forces that accelerate everything beyond a joint as one rigid body.

    For a first joint with one axis only the inertia about that axis matters. So the axis is brought to the next links instead of
    their inertias to it: fewer operations, and half the terms of closed forms. `joined`: use the body frames of the derivatives,
    so that traces of both share their operations.
    """
    model, X = short_frames(model, q, joined)
    first = {body.index for body in model.bodies if body.parent == WORLD and len(body.subspace) == 1}
    composite = composite_inertias(model, X, apart=first)
    M = [zeros(model.nv) for _ in range(model.nv)]
    for c, armature in enumerate(armatures(model)):
        M[c][c] = armature
    for body in model.bodies:
        i = body.index
        for c, s in body.subspace:
            force = composite[i] @ s
            for at in path_to_root(model, i):
                for d, t in model.bodies[at].subspace:
                    entry = force.dot(t)
                    M[c][d] = M[c][d] + entry
                    if at != i:
                        M[d][c] = M[d][c] + entry
                if model.bodies[at].parent != WORLD:
                    force = X[at].out_force(force)
        if body.parent in first:
            ((c, axis),) = model.bodies[body.parent].subspace
            seen = X[i].into(axis)
            M[c][c] = M[c][c] + (composite[i] @ seen).dot(seen)
    return M


def composite_inertias(model: LiftedModel, X: list[Transform], apart: Collection[int] = ()) -> list[RigidInertia]:
    """Return the inertia of each body with everything beyond it as one rigid body; bodies in `apart` are left without theirs."""
    composite = [body.inertia for body in model.bodies]
    for body in reversed(model.bodies):
        if body.parent != WORLD and body.parent not in apart:
            composite[body.parent] = composite[body.parent] + X[body.index].out_inertia(composite[body.index])
    return composite
