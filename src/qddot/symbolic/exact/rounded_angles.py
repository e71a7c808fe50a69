"""A robot whose angles are those its closed forms hold, in floats: a 1.5708 that was read as pi/2 is pi/2.

What is computed beside closed forms, to check or to bound them, is computed of this robot.
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
    """Return the model with every rotation as the closed forms have it; the model itself where nothing changes."""
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
    """Rotation in which angles that were taken for others are those; nothing else is rounded."""
    if not is_numeric(R) or not rotation(R).off:
        return R
    return from_rpy(*(round(angle / STEP) * STEP if turn(angle)[2] else angle for angle in to_rpy(R)))
