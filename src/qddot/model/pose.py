"""Constant poses from angles, axes, quaternions and matrices, with exact zeros and ones where rounding would spoil them."""

from __future__ import annotations

from collections.abc import Sequence
from math import atan2, cos, sin
from typing import TypeVar

import numpy as np

from qddot.model.scalar import Scalar, as_scalar, cos_sin, is_symbolic, snap, sqrt
from qddot.model.spatial import Mat, Transform, Vec, map_scalars, mat, rotation_z, skew

ROTATION_TOLERANCE = 1e-6


def about_x(angle: Scalar) -> Mat:
    c, s = cos_sin(angle)
    return Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, c, -s), Vec(0.0, s, c))


def about_y(angle: Scalar) -> Mat:
    c, s = cos_sin(angle)
    return Mat(Vec(c, 0.0, s), Vec(0.0, 1.0, 0.0), Vec(-s, 0.0, c))


def about_z(angle: Scalar) -> Mat:
    c, s = cos_sin(angle)
    return rotation_z(c, s)


def from_rpy(roll: Scalar, pitch: Scalar, yaw: Scalar) -> Mat:
    """Return the rotation by roll, pitch, yaw about the fixed axes x, y, z (URDF): `Rz(yaw) Ry(pitch) Rx(roll)`."""
    return snapped(about_z(yaw) @ about_y(pitch) @ about_x(roll))


def from_quaternion(w: Scalar, x: Scalar, y: Scalar, z: Scalar) -> Mat:
    """Return the rotation of a unit quaternion `wxyz`; a polynomial, so it works for any scalar."""
    xx, yy, zz = x * x, y * y, z * z
    xy, xz, yz, wx, wy, wz = x * y, x * z, y * z, w * x, w * y, w * z
    return Mat(
        Vec(1 - (yy + zz) * 2, (xy - wz) * 2, (xz + wy) * 2),
        Vec((xy + wz) * 2, 1 - (xx + zz) * 2, (yz - wx) * 2),
        Vec((xz - wy) * 2, (yz + wx) * 2, 1 - (xx + yy) * 2),
    )


def from_axis_angle(axis: Vec, angle: Scalar) -> Mat:
    """Return the rotation about a unit axis (Rodrigues)."""
    c, s = cos_sin(angle)
    K = skew(axis)
    return snapped(Mat() + K * s + K @ K * (1 - c))


ALONG = {
    Vec(1, 0, 0): Mat(Vec(0, 0, 1), Vec(0, 1, 0), Vec(-1, 0, 0)),
    Vec(-1, 0, 0): Mat(Vec(0, 0, -1), Vec(0, 1, 0), Vec(1, 0, 0)),
    Vec(0, 1, 0): Mat(Vec(1, 0, 0), Vec(0, 0, 1), Vec(0, -1, 0)),
    Vec(0, -1, 0): Mat(Vec(1, 0, 0), Vec(0, 0, -1), Vec(0, 1, 0)),
    Vec(0, 0, 1): Mat(),
    Vec(0, 0, -1): Mat(Vec(1, 0, 0), Vec(0, -1, 0), Vec(0, 0, -1)),
}
"""Rotations that take z to a coordinate axis, of whole numbers, so that exact scalars stay exact."""


def z_onto(axis: Vec) -> Mat:
    """Return a rotation that takes z to the unit vector `axis`, exact if this is a coordinate axis."""
    axis = snapped(axis)
    if axis in ALONG:
        return ALONG[axis]
    K = skew(Vec(-axis.y, axis.x, 0.0))  # z cross axis
    if is_symbolic(axis.z) or axis.z > -0.5:
        gain = 1 / (1 + axis.z)
    elif not (across := axis.x * axis.x + axis.y * axis.y):  # so close to -z that its square vanishes
        return ALONG[Vec(0.0, 0.0, -1.0)]
    else:  # equal to 1 / (1 + z), which would lose its digits near -z
        gain = (1 - axis.z) / across
    return snapped(Mat() + K + K @ K * gain)


def unit(axis: Vec) -> tuple[Vec, Scalar]:
    """Return the unit vector along `axis`, and the length of `axis`. Zero stays zero."""
    if any(is_symbolic(a) for a in axis):
        import sympy

        length = sympy.sqrt(sympy.simplify(axis.dot(axis)))
        return (axis if length == 1 else axis * (1 / length)), length
    scale = max(abs(a) for a in axis)
    if scale == 0:
        return axis, 0.0
    small = Vec(*(a / scale for a in axis))  # guards the squares against overflow and underflow
    length = sqrt(small.dot(small))
    return Vec(*(snap(a / length) for a in small)), length * scale


Thing = TypeVar("Thing", Vec, Mat, Transform)


def snapped(thing: Thing) -> Thing:
    """Return the thing with elements that are 0, 1 or -1 up to rounding made exact."""
    return map_scalars(snap, thing)


def from_matrix(matrix: Sequence[Sequence[Scalar]] | np.ndarray) -> Transform:
    """Return the pose of a 4 x 4 homogeneous matrix. Raises ValueError: not a rigid motion: `|R^T R - I|` above the tolerance, a
    reflection, or a wrong last row."""
    rows = [[as_scalar(x) for x in row] for row in matrix]
    if len(rows) != 4 or any(len(row) != 4 for row in rows):
        raise ValueError(f"a pose is a 4 x 4 matrix, got {len(rows)} rows")
    pose = Transform(mat(row[:3] for row in rows[:3]), Vec(*(row[3] for row in rows[:3])))
    if any(is_symbolic(x) for row in rows for x in row):
        return snapped(pose)
    if rows[3] != [0, 0, 0, 1]:
        raise ValueError(f"the last row of a pose is 0 0 0 1, got {rows[3]}")
    if rotation_error(pose.R) > ROTATION_TOLERANCE:
        raise ValueError(f"not a rotation: |R^T R - I| = {rotation_error(pose.R):.3g}")
    if np.linalg.det(np.array(pose.R, float)) < 0:
        raise ValueError("not a rotation but a reflection: det R = -1")
    return snapped(pose)


def rotation_error(R: Mat) -> float:
    """Return the distance of a numeric matrix from an orthogonal one: `|R^T R - 1|`."""
    values = np.array(R, float)
    return float(np.abs(values.T @ values - np.eye(3)).max())


def to_matrix(pose: Transform) -> np.ndarray:
    """Return the 4 x 4 homogeneous matrix of a numeric pose."""
    T = np.eye(4)
    T[:3, :3] = np.array(pose.R, float)
    T[:3, 3] = np.array(pose.p, float)
    return T


def to_rpy(R: Mat) -> tuple[float, float, float]:
    """Return roll, pitch, yaw of a numeric rotation; yaw is 0 where pitch is +-90 degrees."""
    r = np.array(R, float)
    yaw = atan2(r[1, 0], r[0, 0])
    c, s = cos(yaw), sin(yaw)
    # Undoing yaw leaves Ry(pitch) Rx(roll). Roll is read from this, so near +-90 degrees it compensates the rounding of yaw.
    left = np.array([c * r[0] + s * r[1], c * r[1] - s * r[0]])
    return atan2(-left[1, 2], left[1, 1]), atan2(-r[2, 0], left[0, 0]), yaw
