"""Wrenches that joints transmit, all six components (inverse dynamics returns only the part along each joint's motion)."""

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
    """Return the wrench (moment, force) on each moving link by its parent, through their joint, about the joint's origin.

    It is the sum over bearings, drive and spring of the joint; gravity and `f_ext` are loads and not part of it.
    """
    X = joint_poses(model, q)
    found = {body.index: (body, f) for body, f in transmitted(model, q, qd, qdd, model.gravity, f_ext) if body.is_link}
    rows = []
    for body, f in (found[i] for i in sorted(found)):
        rows.append([x for part in (f.n, f.f) for x in turned(model, X, body, axes, part)])
    return rows


def turned(model: LiftedModel, X: list[Transform], body: LiftedBody, axes: str, vector: Vec) -> Vec:
    """Return a vector, given in a body's frame, in the axes of its link, of the parent's link, or of the world."""
    if axes == "body":
        return vector @ body.link.R
    end, pose = (WORLD, Transform()) if axes == "world" else model.frame(parent_link(model, body))
    at = body.index
    while at != end:
        vector, at = X[at].R @ vector, model.bodies[at].parent
    return vector @ pose.R


def parent_link(model: LiftedModel, body: LiftedBody) -> str:
    """Return the name of the link on the other side of a body's joint."""
    return next(joint.parent for joint in model.source.joints if joint.name == body.joint_name)
