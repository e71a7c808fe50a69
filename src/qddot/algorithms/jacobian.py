"""The geometric Jacobian of a frame and its rate, in three references.

`space`: the twist of the body at the world's origin, world axes. `body`: at the frame's origin, the frame's axes.
`world_aligned`: at the frame's origin, world axes. Rows are angular first.
"""

from __future__ import annotations

from qddot.algorithms.kinematics import Scalars, path_to_root, world_columns, world_poses, world_velocities
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Motion, Transform

REFERENCES = ("space", "body", "world_aligned")

Columns = list[Motion]


def jacobian(model: LiftedModel, q: Scalars, frame: str, reference: str = "space") -> Columns:
    """Return J(q): one motion for each column of qd."""
    body, pose = model.frame(frame)
    X0 = world_poses(model, q)
    S0 = world_columns(model, X0)
    seen_from = observer(X0[body] @ pose, reference)
    J = [Motion()] * model.nv
    for i in path_to_root(model, body):
        for c, s in S0[i]:
            J[c] = J[c] + seen_from.into(s)
    return J


def jacobian_rate(model: LiftedModel, q: Scalars, qd: Scalars, frame: str, reference: str = "space") -> Columns:
    """Return dJ/dt, in closed form.

    A space column is fixed to the body it moves, so its rate is the bracket `v_i x J_i`; in another reference the observer
    moves too, with twist `w`, and sees `(v_i - w) x J_i`.
    """
    body, pose = model.frame(frame)
    X0 = world_poses(model, q)
    S0 = world_columns(model, X0)
    v = world_velocities(model, S0, qd)
    T = X0[body] @ pose
    seen_from = observer(T, reference)
    moving = observer_twist(v[body], T, reference)
    rate = [Motion()] * model.nv
    for i in path_to_root(model, body):
        for c, s in S0[i]:
            rate[c] = rate[c] + seen_from.into((v[i] - moving).cross(s))
    return rate


def observer(T: Transform, reference: str) -> Transform:
    """Return the pose of the observer for a reference and a frame at T."""
    return {"space": Transform(), "body": T, "world_aligned": Transform(Mat(), T.p)}[reference]


def observer_twist(v: Motion, T: Transform, reference: str) -> Motion:
    """Return the space twist of that observer while the frame has space twist v."""
    if reference == "space":
        return Motion()
    return v if reference == "body" else Motion(v=v.v + v.w.cross(T.p))


def rows(columns: Columns) -> list[list[Scalar]]:
    """Return the matrix (6 x n) with these columns."""
    return [list(row) for row in zip(*(c.components() for c in columns))] if columns else [[] for _ in range(6)]
