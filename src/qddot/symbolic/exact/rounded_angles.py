"""A robot with the angles of its closed forms, in floats: a 1.5708 that was read as pi/2 is pi/2.

Numbers that check or bound closed forms are computed from this robot.
"""

from __future__ import annotations

from dataclasses import replace

from qddot.model.description import Joint
from qddot.model.joints import Z
from qddot.model.model import Model
from qddot.model.pose import from_rpy, to_rpy, z_onto
from qddot.model.spatial import Mat, Transform
from qddot.symbolic.exact.exact_model import TURNED
from qddot.symbolic.exact.numbers import STEP, is_numeric, rotation, turn


def rounded_angles(model: Model) -> Model:
    """Return the model with the rotations of its closed forms; the model itself if nothing changes."""
    joints = [rounded_joint(joint) for joint in model.joints]
    frames = [replace(frame, pose=rounded_pose(frame.pose)) for frame in model.frames]
    if joints == list(model.joints) and frames == list(model.frames):
        return model
    return model.copy(joints=joints, frames=frames)


def rounded_joint(joint: Joint) -> Joint:
    axis = rounded_rotation(z_onto(joint.axis)) @ Z if joint.kind in TURNED and joint.axis != Z else joint.axis
    return replace(joint, origin=rounded_pose(joint.origin), tip=rounded_pose(joint.tip), axis=axis)


def rounded_pose(pose: Transform) -> Transform:
    return Transform(rounded_rotation(pose.R), pose.p)


def rounded_rotation(R: Mat) -> Mat:
    """Return the rotation with each angle that was taken for a multiple of 15 degrees replaced by it."""
    if not is_numeric(R) or not rotation(R).off:
        return R
    return from_rpy(*(round(angle / STEP) * STEP if turn(angle)[2] else angle for angle in to_rpy(R)))
