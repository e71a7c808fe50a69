"""One step of inverse kinematics: towards a pose of a frame, by damped least squares, within the limits of the joints.

With the error e of the pose in the chosen rows and their Jacobian J, the step is the least-squares solution of `J dq = e` damped by
the error itself, `dq = D J^T (J D J^T + mu 1)^-1 e` with `mu ~ |e|^2` (Sugihara 2011): cautious far away, Newton's step near a
solution. D is diagonal: 0 for joints that are held and for those that rest on a limit and would be pushed through it, else 1.
"""

from __future__ import annotations

import math

from qddot.algorithms.factor import dot, factor
from qddot.algorithms.jacobian import jacobian
from qddot.algorithms.jacobian import rows as geometric_rows
from qddot.algorithms.kinematics import Scalars, coordinate_rates, frame_pose, path_to_root
from qddot.algorithms.steps import along, square, unit_quaternions
from qddot.model.lower import Coordinates
from qddot.model.model import LiftedModel, Model
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Vec

ROWS = ("wx", "wy", "wz", "x", "y", "z")
FLOOR = 1e-15
"""Damping that is left at a solution, so that a singular matrix remains solvable."""

LONGEST = 1.5
"""The longest step, in radians, or in lengths of the robot."""


def reaching_step(
    model: LiftedModel, q: Scalars, moving: Scalars, damping: Scalars, target: Scalars, frame: str, rows: str, limits: str
) -> tuple[list[Scalar], list[Scalar]]:
    """Return q after one step, and the squared errors (2,) of the given q: angle (as `2 sin(angle / 2)`) and distance.

    Args:
        moving: 1 for joints that may move, 0 for those that are held.
        damping: mu over the squared error (1,), lengths in units of the robot's length.
        target: the wanted pose, 4 x 4 by rows.
        rows: some of `ROWS` in world axes, with commas between them.
        limits: `"kept"` or `"ignored"`.
    """
    chosen = [ROWS.index(row) for row in rows.split(",")]
    length = size(model, frame)
    scale = [1.0] * 3 + [1 / length] * 3
    T = frame_pose(model, q, frame)
    wanted = Mat(*(Vec(*target[4 * i : 4 * i + 3]) for i in range(3)))
    turn, shift = half_angle_error(model, wanted @ T.R.T), Vec(*target[3:12:4]) - T.p
    error = [(*turn, *shift)[i] for i in chosen]
    e = [x * scale[i] for x, i in zip(error, chosen)]
    whole = geometric_rows(jacobian(model, q, frame, "world_aligned"))
    J = [[x * scale[i] for x in whole[i]] for i in chosen]
    free = open_columns(model, q, moving, [dot(column, e) for column in zip(*J)], limits)
    J = [[x * d for x, d in zip(row, free)] for row in J]
    dq = damped(J, e, square(e) * damping[0] + FLOOR)
    longest = square([x / u for x, u in zip(dq, units(model, length))]) / LONGEST**2
    shorter = 1 / model.field.sqrt(model.field.where_positive(longest - 1, longest, 1.0))
    end = along(q, coordinate_rates(model, q, [x * shorter for x in dq]), 1)
    far = [square([x for x, i in zip(error, chosen) if i < 3]), square([x for x, i in zip(error, chosen) if i >= 3])]
    return unit_quaternions(model, clamped(model, end) if limits == "kept" else end), far


def half_angle_error(model: LiftedModel, R: Mat) -> Vec:
    """Return the axis of a rotation, `2 sin(angle / 2)` long: it grows up to half a turn, where rounding decides the direction."""
    a, b, c = R
    twice = 1 + R.trace  # 4 cos^2(angle / 2)
    bounded = model.field.where_positive(twice - 1e-12, twice, 1e-12)
    return Vec(c.y - b.z, a.z - c.x, b.x - a.y) * (1 / model.field.sqrt(bounded))


def damped(J: list[list[Scalar]], e: Scalars, mu: Scalar) -> list[Scalar]:
    """Return `J^T (J J^T + mu 1)^-1 e`, or its equal `(J^T J + mu 1)^-1 J^T e` if that matrix is smaller."""
    wide = len(J) < len(J[0])
    A = J if wide else [list(column) for column in zip(*J)]
    gram = [[dot(a, b) + (mu if i == j else 0) for j, b in enumerate(A)] for i, a in enumerate(A)]
    if wide:
        x = factor(gram).solve(e)
        return [dot(column, x) for column in zip(*J)]
    return factor(gram).solve([dot(column, e) for column in A])


def open_columns(model: LiftedModel, q: Scalars, moving: Scalars, downhill: Scalars, limits: str) -> list[Scalar]:
    """Return 1 for columns that may move, 0 for those held and for those that the error pushes through a limit they rest on."""
    free = list(moving)
    if limits == "kept":
        positive = model.field.where_positive
        for c, lower, upper in bounds(model):
            i, k = c.q.start, c.v.start
            if math.isfinite(upper):
                free[k] = positive(upper - q[i], free[k], positive(downhill[k], 0.0, free[k]))
            if math.isfinite(lower):
                free[k] = positive(q[i] - lower, free[k], positive(-downhill[k], 0.0, free[k]))
    return free


def bounds(model: LiftedModel) -> list[tuple[Coordinates, float, float]]:
    """Return the coordinates that are one number, each with its lower and upper limit."""
    return [(c, c.limits.lower, c.limits.upper) for c in model.source.mechanism.coordinates if c.single]


def clamped(model: LiftedModel, q: list[Scalar]) -> list[Scalar]:
    """Return q clipped to the limits."""
    positive, q = model.field.where_positive, list(q)
    for c, lower, upper in bounds(model):
        i = c.q.start
        if math.isfinite(upper):
            q[i] = positive(q[i] - upper, upper, q[i])
        if math.isfinite(lower):
            q[i] = positive(lower - q[i], lower, q[i])
    return q


def size(model: LiftedModel | Model, frame: str) -> float:
    """Return how far the frame can be from the base, m, with all offsets in one line: a unit of length comparable with 1 rad."""
    body, pose = model.frame(frame)
    path = [model.bodies[i] for i in path_to_root(model, body)]
    return sum((math.hypot(*b.placement.p) + b.reach for b in path), math.hypot(*pose.p)) or 1.0


def units(model: LiftedModel, length: float) -> list[float]:
    """Return, for each column of qd, the unit of its displacement: 1 (radian) for rotations, `length` for slides."""
    found = [length] * model.nv
    for body in model.bodies:
        for c, s in body.subspace:
            if any(s.w):
                found[c] = 1.0
    return found
