"""Twist and acceleration of a frame, in the references of its Jacobian.

They are `V = J qd` and its rate, `J qdd + dJ/dt qd`, computed by one pass over the bodies that carry the frame, without J.
"""

from __future__ import annotations

from qddot.algorithms.jacobian import observer, observer_twist
from qddot.algorithms.kinematics import Scalars, combine, path_to_root, world_columns, world_poses, world_velocities
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Motion


def frame_velocity(model: LiftedModel, q: Scalars, qd: Scalars, frame: str, reference: str) -> list[Scalar]:
    """Return the twist V (6,), angular first."""
    body, pose = model.frame(frame)
    X0 = world_poses(model, q)
    v = world_velocities(model, world_columns(model, X0), qd)
    return list(observer(X0[body] @ pose, reference).into(v[body]).components())


def frame_acceleration(model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, frame: str, reference: str) -> list[Scalar]:
    """Return dV/dt (6,). In world coordinates a column is fixed to its body, so it changes by the bracket with the body's twist; an
    observer moving with twist `w` sees `-w x V` besides."""
    body, pose = model.frame(frame)
    X0 = world_poses(model, q)
    S0 = world_columns(model, X0)
    v = world_velocities(model, S0, qd)
    a = Motion()
    for i in path_to_root(model, body):
        a = a + combine(S0[i], qdd) + v[i].cross(combine(S0[i], qd))
    T = X0[body] @ pose
    w = observer_twist(v[body], T, reference)
    return list(observer(T, reference).into(a - w.cross(v[body])).components())
