"""Where the bodies are and how they move."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qddot.model.lower import WORLD
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Motion, Transform

Scalars = Sequence[Scalar]
Columns = dict[int, list[tuple[int, Motion]]]
"""For each body its columns of qd, and the motion each causes."""


def joint_poses(model: LiftedModel, q: Scalars) -> list[Transform]:
    """X: each body's pose in its parent."""
    return [body.pose(model.field, q) for body in model.bodies]


def world_poses(model: LiftedModel, q: Scalars) -> dict[int, Transform]:
    """X0: each body's pose in the world."""
    X0 = {WORLD: Transform()}
    for body, X in zip(model.bodies, joint_poses(model, q)):
        X0[body.index] = X if body.parent == WORLD else X0[body.parent] @ X
    return X0


def frame_pose(model: LiftedModel, q: Scalars, frame: str) -> Transform:
    """A named frame's pose in the world."""
    body, pose = model.frame(frame)
    return world_poses(model, q)[body] @ pose


def frame_poses(model: LiftedModel, q: Scalars) -> list[Transform]:
    """The poses of all named frames in the world, in the order of the mechanism's frames."""
    X0 = world_poses(model, q)
    return [X0[body] @ pose for body, pose in map(model.frame, model.source.mechanism.frames)]


def world_columns(model: LiftedModel, X0: dict[int, Transform]) -> Columns:
    """S0: each body's motion subspace in world coordinates (the space Jacobian, body by body)."""
    return {body.index: [(c, X0[body.index].out(s)) for c, s in body.subspace] for body in model.bodies}


def world_velocities(model: LiftedModel, S0: Columns, qd: Scalars) -> dict[int, Motion]:
    """v: each body's twist in world coordinates."""
    v = {WORLD: Motion()}
    for body in model.bodies:
        v[body.index] = v[body.parent] + combine(S0[body.index], qd)
    return v


def velocities(model: LiftedModel, X: Sequence[Transform], qd: Scalars) -> tuple[list[Motion], list[Motion]]:
    """In each body's frame, its parent's twist and its own."""
    carried, v = [], []
    for body in model.bodies:
        carried.append(Motion() if body.parent == WORLD else X[body.index].into(v[body.parent]))
        v.append(carried[-1] + body.velocity(qd))
    return carried, v


def column_rates(model: LiftedModel, carried: Sequence[Motion], qd: Scalars) -> list[list[Motion]]:
    """dS/dt = v x S: a column is fixed to the body it moves, and does not turn itself, so a lone one follows its parent."""
    rates = []
    for body, v in zip(model.bodies, carried):
        others = [combine([x for x in body.subspace if x[0] != c], qd) for c, _ in body.subspace]
        rates.append([v.cross(s) + other.cross(s) for (_, s), other in zip(body.subspace, others)])
    return rates


def combine(columns: Sequence[tuple[int, Motion]], rates: Scalars) -> Motion:
    """`S qd`."""
    return sum((s * rates[c] for c, s in columns), Motion())


def path_to_root(model: LiftedModel, index: int) -> Iterator[int]:
    """The body itself, its parent, and so on."""
    while index != WORLD:
        yield index
        index = model.bodies[index].parent


def coordinate_rates(model: LiftedModel, q: Scalars, qd: Scalars) -> list[Scalar]:
    """dq/dt (nq): qd itself, but for joints with quaternions."""
    rates: list[Scalar] = []
    for joint in model.source.mechanism.coordinates:
        i, k = joint.q.start, joint.v.start
        for part in joint.parts:
            rates += part.rate(q[i : i + part.nq], qd[k : k + part.nv])
            i, k = i + part.nq, k + part.nv
    return rates


def zeros(n: int) -> list[Scalar]:
    return [0] * n
