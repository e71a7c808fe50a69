"""The analytic Jacobian: rates of chosen orientation coordinates, and of position, instead of a twist.

Rows are orientation first, then the velocity of the frame's origin in world axes.
"""

from __future__ import annotations

from qddot.algorithms.factor import Matrix, reciprocal
from qddot.algorithms.jacobian import jacobian, jacobian_rate
from qddot.algorithms.kinematics import Scalars, frame_pose
from qddot.algorithms.time_jet import TimeJet, TimeJetField, time_jet
from qddot.model.field import Field
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Motion, Vec, skew

LOCK = 100
"""Gimbal lock, in rounding errors: where the square of cos(pitch) is smaller, roll and yaw have no meaning."""


def analytic_jacobian(model: LiftedModel, q: Scalars, frame: str, coordinates: str = "rpy") -> tuple[Matrix, list[Scalar]]:
    """Return J_a (6 x n, 7 x n for quaternions), `[orientation rates; linear velocity] = J_a qd`, and a margin, positive where it
    exists."""
    R = frame_pose(model, q, frame).R
    E = RATES[coordinates](model.field, R)
    J = jacobian(model, q, frame, "world_aligned")
    angular = [[row.dot(column.w) for column in J] for row in E]
    return angular + linear_rows(J), [margin(model.field, R, coordinates)]


def analytic_jacobian_rate(
    model: LiftedModel, q: Scalars, qd: Scalars, frame: str, coordinates: str = "rpy"
) -> tuple[Matrix, list[Scalar]]:
    """Return dJ_a/dt and the margin: angular rows are `Edot J_w + E Jdot_w`, Edot being the rate of E for `Rdot = [w] R`."""
    R = frame_pose(model, q, frame).R
    J, Jdot = jacobian(model, q, frame, "world_aligned"), jacobian_rate(model, q, qd, frame, "world_aligned")
    w = sum((column.w * speed for column, speed in zip(J, qd)), Vec())
    turning = Mat(*(Vec(*map(TimeJet, row, rates)) for row, rates in zip(R, skew(w) @ R)))
    angular = []
    for row in RATES[coordinates](TimeJetField(model.field), turning):
        value, rate = Vec(*(time_jet(x).x for x in row)), Vec(*(time_jet(x).dx for x in row))
        angular.append([rate.dot(column.w) + value.dot(change.w) for column, change in zip(J, Jdot)])
    return angular + linear_rows(Jdot), [margin(model.field, R, coordinates)]


def linear_rows(columns: list[Motion]) -> Matrix:
    """Return the rows of a Jacobian for the linear velocity (3 x n), from its columns."""
    return [[column.v[k] for column in columns] for k in range(3)]


def margin(field: Field, R: Mat, coordinates: str) -> Scalar:
    """Return a number that is positive where the coordinates exist: the square of cos(pitch), less its rounding."""
    return R.a.x * R.a.x + R.b.x * R.b.x - LOCK * field.rounding if coordinates in ("rpy", "zyx") else 1


def rpy_rates(field: Field, R: Mat) -> list[Vec]:
    """Return the rows of E for (roll, pitch, yaw), about fixed x, y, z; singular at a pitch of +-90 degrees."""
    secant = reciprocal(field.sqrt(R.a.x * R.a.x + R.b.x * R.b.x))  # of the pitch
    cos_yaw, sin_yaw = R.a.x * secant, R.b.x * secant
    tan_pitch = -R.c.x * secant
    roll = Vec(cos_yaw * secant, sin_yaw * secant, 0)
    return [roll, Vec(-sin_yaw, cos_yaw, 0), Vec(cos_yaw * tan_pitch, sin_yaw * tan_pitch, 1)]


def zyx_rates(field: Field, R: Mat) -> list[Vec]:
    """Return the rows of E for the Euler angles (yaw, pitch, roll) about z, y', x'': `rpy` in the other order."""
    return rpy_rates(field, R)[::-1]


def quaternion_rates(field: Field, R: Mat) -> list[Vec]:
    """Return the rows of E for the quaternion wxyz, w >= 0."""
    w, x, y, z = (c / 2 for c in quaternion(field, R))
    return [Vec(-x, -y, -z), Vec(w, z, -y), Vec(-z, w, x), Vec(y, -x, w)]


def rotation_vector_rates(field: Field, R: Mat) -> list[Vec]:
    """Return the rows of E for the rotation vector r (length below pi): the inverse of the exponential's left Jacobian."""
    w, x, y, z = quaternion(field, R)
    square = x * x + y * y + z * z
    tiny = square - 1e-10  # below it sine and angle agree to rounding, and 0/0 threatens
    sine = field.sqrt(field.where_positive(tiny, square, 1.0))
    half = field.atan2(sine, w)
    stretch = field.where_positive(tiny, half / sine, 1 + square / 6)  # half / sin(half)
    r = Vec(x, y, z) * (2 * stretch)
    cot = stretch * w  # half * cot(half)
    gain = field.where_positive(tiny, (1 - cot) / (4 * half * half), 1 / 12 + square / 180)
    K = r.outer(r) * gain
    return list(
        Mat(
            Vec(cot + K.a.x, K.a.y + r.z / 2, K.a.z - r.y / 2),
            Vec(K.b.x - r.z / 2, cot + K.b.y, K.b.z + r.x / 2),
            Vec(K.c.x + r.y / 2, K.c.y - r.x / 2, cot + K.c.z),
        )
    )


def quaternion(field: Field, R: Mat) -> tuple[Scalar, Scalar, Scalar, Scalar]:
    """Return the quaternion wxyz, w >= 0, of a rotation, by its largest component, so that nothing cancels."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    by = [
        (1 + xx + yy + zz, zy - yz, xz - zx, yx - xy),
        (zy - yz, 1 + xx - yy - zz, xy + yx, xz + zx),
        (xz - zx, xy + yx, 1 - xx + yy - zz, yz + zy),
        (yx - xy, xz + zx, yz + zy, 1 - xx - yy + zz),
    ]  # row k is 4 * q_k * (w, x, y, z)
    best, size = by[0], by[0][0]
    for k in (1, 2, 3):
        larger = by[k][k] - size
        best = tuple(field.where_positive(larger, new, old) for new, old in zip(by[k], best))
        size = field.where_positive(larger, by[k][k], size)
    length = field.sqrt(size) * 2  # 4 |q_k|
    flip = field.where_positive(best[0], 1.0, -1.0)
    w, x, y, z = (component * flip / length for component in best)
    return w, x, y, z


RATES = {"rpy": rpy_rates, "zyx": zyx_rates, "quaternion": quaternion_rates, "rotation_vector": rotation_vector_rates}
"""For each kind of orientation coordinates, the function that returns the rows of E: rates = E omega, omega in world axes."""

COORDINATES = tuple(RATES)
