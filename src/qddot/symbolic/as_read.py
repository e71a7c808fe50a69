"""A robot as its closed forms have it, but in floats: a 1.5708 that was read as pi/2 is pi/2. What is computed beside closed forms,
to check them or to bound them, is computed of this robot."""

from __future__ import annotations

from dataclasses import replace

from qddot.model.description import Joint
from qddot.model.joints import Z
from qddot.model.model import Model
from qddot.model.pose import from_rpy, to_rpy, z_onto
from qddot.model.spatial import Mat, Transform
from qddot.symbolic.exact import STEP, is_numeric, rotation, turn
from qddot.symbolic.exact_model import TURNED


def as_read(model: Model) -> Model:
    """With every rotation as it was read; the model itself where all were read as they stand."""
    joints = [joint_as_read(joint) for joint in model.joints]
    frames = [replace(frame, pose=pose_as_read(frame.pose)) for frame in model.frames]
    if joints == list(model.joints) and frames == list(model.frames):
        return model
    return model.copy(joints=joints, frames=frames)


def joint_as_read(joint: Joint) -> Joint:
    axis = rotation_as_read(z_onto(joint.axis)) @ Z if joint.kind in TURNED and joint.axis != Z else joint.axis
    return replace(joint, origin=pose_as_read(joint.origin), tip=pose_as_read(joint.tip), axis=axis)


def pose_as_read(pose: Transform) -> Transform:
    return Transform(rotation_as_read(pose.R), pose.p)


def rotation_as_read(R: Mat) -> Mat:
    """Only angles that were taken for others change: nothing is rounded anew."""
    if not is_numeric(R) or not rotation(R).off:
        return R
    return from_rpy(*(round(angle / STEP) * STEP if turn(angle)[2] else angle for angle in to_rpy(R)))
