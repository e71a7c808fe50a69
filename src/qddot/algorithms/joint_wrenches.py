"""Wrenches that joints transmit: all six components of the wrench, of which inverse dynamics keeps the part along its motions."""

from __future__ import annotations

from qddot.algorithms.inverse_dynamics import Wrenches, transmitted
from qddot.algorithms.kinematics import Scalars, joint_poses
from qddot.model.lower import WORLD, LiftedBody
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Transform, Vec

AXES = ("body", "parent", "world")


def joint_wrenches(
    model: LiftedModel, q: Scalars, qd: Scalars, qdd: Scalars, axes: str, f_ext: Wrenches | None = None
) -> list[list[Scalar]]:
    """For each moving link the wrench (moment, force) that its parent exerts on it through their joint, at the joint's origin.

    The parent pushes by bearings, drive and spring together; gravity and `f_ext` are what it holds the link against.
    """
    X = joint_poses(model, q)
    found = {body.index: (body, f) for body, f in transmitted(model, q, qd, qdd, model.gravity, f_ext) if body.is_link}
    rows = []
    for body, f in (found[i] for i in sorted(found)):
        rows.append([x for part in (f.n, f.f) for x in turned(model, X, body, axes, part)])
    return rows


def turned(model: LiftedModel, X: list[Transform], body: LiftedBody, axes: str, vector: Vec) -> Vec:
    """A vector of a body's frame in the axes of its link, of the parent's link, or of the world."""
    if axes == "body":
        return vector @ body.link.R
    end, pose = (WORLD, Transform()) if axes == "world" else model.frame(parent_link(model, body))
    at = body.index
    while at != end:
        vector, at = X[at].R @ vector, model.bodies[at].parent
    return vector @ pose.R


def parent_link(model: LiftedModel, body: LiftedBody) -> str:
    return next(joint.parent for joint in model.source.joints if joint.name == body.joint_name)
