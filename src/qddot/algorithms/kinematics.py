"""Poses and velocities of bodies and frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace

from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import LiftedModel, Model
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Motion, Transform

Scalars = Sequence[Scalar]

AXIS = 11
"""Extra operations for each force at a joint whose motion is not constant in the frame used."""

TURNED = 200
"""Operations that it takes, about, to turn a body's frame."""

Columns = dict[int, list[tuple[int, Motion]]]
"""For each body, its columns of qd and the motion that each causes."""


def joint_poses(model: LiftedModel, q: Scalars) -> list[Transform]:
    """Return X, each body's pose in its parent."""
    return [body.pose(model.field, q) for body in model.bodies]


def short_frames(model: LiftedModel, q: Scalars, joined: bool = False) -> tuple[LiftedModel, list[Transform]]:
    """Return the model and its poses X with body frames chosen so that carrying forces from body to body takes few operations;
    `joined`: for algorithms that carry several forces for each column of qd (see `gathered`).

    In body frames a joint's motion is constant, and a hinge with a usual axis turns a force by a few products. But in a long chain
    of general rotations every force would be rotated at every joint: there all frames are made parallel to the world's, and
    moments are only shifted. (Origins stay on the joints: about the world's origin, far-off bodies would lose digits.)
    """
    X, beyond = joint_poses(model, q), [1] * len(model.bodies)
    for body in reversed(model.bodies):
        if body.parent != WORLD:
            beyond[body.parent] += beyond[body.index]
    saved = sum(n * (4 * sum(x not in (0, 1, -1) for row in pose.R for x in row) - AXIS) for n, pose in zip(beyond, X))
    if saved >= TURNED * len(X):
        return upright(model, X)
    return gathered(model, X) if joined else (model, X)


def gathered(model: LiftedModel, X: Sequence[Transform]) -> tuple[LiftedModel, list[Transform]]:
    """Return the model with some bodies described in their parent's frame, where that takes fewer operations than carrying forces.

    A joint's axis is constant in both bodies that it connects. Worth it are the second body of a chain, those after it on parallel
    axes, and a tip, which has no bodies beyond it.
    """
    inner = {body.parent for body in model.bodies}
    first = {body.index for body in model.bodies if body.parent == WORLD and len(body.subspace) == 1}
    seen, bodies, poses = {WORLD: Transform()}, [], []  # seen: each body's pose in the frame in which it is described
    joined: set[int] = set()
    for body, pose in zip(model.bodies, X):
        i, parent = body.index, body.parent
        pose = seen[parent] @ pose
        if parent in first or (parent != WORLD and i not in inner) or (parent in joined and X[i].R.c.z in (1, -1)):
            joined.add(i)
            moments = pose.out_pseudo(body.moments)
            subspace = tuple((c, pose.out(s)) for c, s in body.subspace)
            body = replace(body, subspace=subspace, inertia=moments.rigid, moments=moments)
            seen[i], pose = pose, Transform()
        else:
            seen[i] = Transform()
        bodies.append(body)
        poses.append(pose)
    return with_bodies(model, bodies), poses


def with_bodies(model: LiftedModel, bodies: list[LiftedBody]) -> LiftedModel:
    """Return a copy of the model with other bodies."""
    other = copy(model)
    other.bodies = bodies
    return other


def upright(model: LiftedModel, X: Sequence[Transform]) -> tuple[LiftedModel, list[Transform]]:
    """Return the model with body frames parallel to the world's, each at its body's own origin."""
    R, bodies, shifts = {WORLD: Mat()}, [], []
    for body, pose in zip(model.bodies, X):
        shifts.append(Transform(p=R[body.parent] @ pose.p))
        R[body.index] = R[body.parent] @ pose.R
        turn = Transform(R[body.index])
        subspace = tuple((c, turn.out(s)) for c, s in body.subspace)
        inertia, moments = turn.out_inertia(body.inertia), turn.out_pseudo(body.moments)
        bodies.append(replace(body, subspace=subspace, inertia=inertia, moments=moments))
    return with_bodies(model, bodies), shifts


def world_poses(model: LiftedModel, q: Scalars) -> dict[int, Transform]:
    """Return X0, each body's pose in the world."""
    X0 = {WORLD: Transform()}
    for body, X in zip(model.bodies, joint_poses(model, q)):
        X0[body.index] = X if body.parent == WORLD else X0[body.parent] @ X
    return X0


def frame_pose(model: LiftedModel, q: Scalars, frame: str) -> Transform:
    """Return a named frame's pose in the world."""
    body, pose = model.frame(frame)
    return world_poses(model, q)[body] @ pose


def frame_poses(model: LiftedModel, q: Scalars) -> list[Transform]:
    """Return the poses of all named frames in the world, in the order of the mechanism's frames."""
    X0 = world_poses(model, q)
    return [X0[body] @ pose for body, pose in map(model.frame, model.source.mechanism.frames)]


def world_columns(model: LiftedModel, X0: dict[int, Transform]) -> Columns:
    """Return S0, each body's motion subspace in world coordinates (the space Jacobian, body by body)."""
    return {body.index: [(c, X0[body.index].out(s)) for c, s in body.subspace] for body in model.bodies}


def world_velocities(model: LiftedModel, S0: Columns, qd: Scalars) -> dict[int, Motion]:
    """Return v, each body's twist in world coordinates."""
    v = {WORLD: Motion()}
    for body in model.bodies:
        v[body.index] = v[body.parent] + combine(S0[body.index], qd)
    return v


def velocities(model: LiftedModel, X: Sequence[Transform], qd: Scalars) -> tuple[list[Motion], list[Motion]]:
    """Return, in each body's frame, its parent's twist and its own."""
    carried, v = [], []
    for body in model.bodies:
        carried.append(Motion() if body.parent == WORLD else X[body.index].into(v[body.parent]))
        v.append(carried[-1] + body.velocity(qd))
    return carried, v


def column_rates(model: LiftedModel, carried: Sequence[Motion], qd: Scalars) -> list[list[Motion]]:
    """Return dS/dt = v x S, v being the parent's twist plus that of the joint's other columns: a column does not move itself."""
    rates = []
    for body, v in zip(model.bodies, carried):
        others = [combine([x for x in body.subspace if x[0] != c], qd) for c, _ in body.subspace]
        rates.append([v.cross(s) + other.cross(s) for (_, s), other in zip(body.subspace, others)])
    return rates


def combine(columns: Sequence[tuple[int, Motion]], rates: Scalars) -> Motion:
    """Return `S qd`."""
    return sum((s * rates[c] for c, s in columns), Motion())


def path_to_root(model: LiftedModel | Model, index: int) -> Iterator[int]:
    """Yield the body itself, its parent, and so on up to the root."""
    while index != WORLD:
        yield index
        index = model.bodies[index].parent


def coordinate_rates(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """Return dq/dt (nq): qd itself, except for joints with quaternions."""
    return [x for part, at, columns in model.source.mechanism.parts() for x in part.rate(q[at], qd[columns])]


def zeros(n: int) -> list[Scalar]:
    return [0] * n
