"""Frequent constraints, and those of a description."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from qddot.arguments import finite_array, finite_number
from qddot.constraints.constraint import Constraint
from qddot.constraints.state import State
from qddot.errors import InputError, as_written
from qddot.model import constraints as described
from qddot.model.pose import from_matrix, unit, z_onto
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Transform, Vec, vec


class Spot(NamedTuple):
    """A pose on a frame, or in the world if the frame is None."""

    frame: str | None
    offset: Transform = Transform()

    def at(self, state: State) -> Transform:
        return self.offset if self.frame is None else state.pose(self.frame) @ self.offset

    def __str__(self) -> str:
        return "the world" if self.frame is None else repr(self.frame)


@dataclass(frozen=True)
class AlongNormals:
    """The origin of a frame does not move away from `point` along the normals: one for a plane, two for a line."""

    frame: str
    point: Vec
    normals: tuple[Vec, ...]
    holonomic: ClassVar[bool] = True

    def rows(self, state: State) -> list[Scalar]:
        away = state.position(self.frame) - self.point
        return [away.dot(n) for n in self.normals]

    def __str__(self) -> str:
        return f"the {'plane' if len(self.normals) == 1 else 'line'} for {self.frame!r}"


@dataclass(frozen=True)
class Contact:
    """The origin of a frame has no velocity along the normals."""

    frame: str
    normals: tuple[Vec, ...]
    holonomic: ClassVar[bool] = False

    def rows(self, state: State) -> list[Scalar]:
        return [state.velocity(self.frame).dot(n) for n in self.normals]

    def __str__(self) -> str:
        return f"the contact of {self.frame!r}"


@dataclass(frozen=True)
class SamePoint:
    """The origins of two spots coincide along some axes of the first."""

    first: Spot
    second: Spot
    axes: str = "xyz"
    holonomic: ClassVar[bool] = True

    def rows(self, state: State) -> list[Scalar]:
        first, second = self.first.at(state), self.second.at(state)
        apart = (second.p - first.p) @ first.R
        return [getattr(apart, axis) for axis in self.axes]

    def __str__(self) -> str:
        return f"the connection of {self.first} and {self.second}"


@dataclass(frozen=True)
class SamePose:
    """Two spots coincide: three rows of orientation, then three of position, in the axes of the first.

    The second is turned relative to the first by the angle a about the unit axis u. The rows `2 sin(a/2) u` grow with the angle,
    are regular up to half a turn, and their rate at a = 0 is the relative angular velocity.
    """

    first: Spot
    second: Spot
    holonomic: ClassVar[bool] = True

    def rows(self, state: State) -> list[Scalar]:
        first, second = self.first.at(state), self.second.at(state)
        E = first.R.T @ second.R
        twice_cosine = state.sqrt(E.trace + 1)  # of half the angle
        turned = Vec(E.c.y - E.b.z, E.a.z - E.c.x, E.b.x - E.a.y) * (1 / twice_cosine)
        return [*turned, *((second.p - first.p) @ first.R)]

    def __str__(self) -> str:
        return f"the weld of {self.first} and {self.second}"


@dataclass(frozen=True)
class JointEquality:
    """`q_joint = sum_k coefficients[k] q_leader^k`."""

    joint: str
    leader: str | None
    coefficients: tuple[float, ...]
    holonomic: ClassVar[bool] = True

    def rows(self, state: State) -> list[Scalar]:
        value = state.joint(self.joint)
        leader = state.joint(self.leader) if self.leader else 0.0
        return [value - sum(c * leader**k for k, c in enumerate(self.coefficients))]

    def __str__(self) -> str:
        return f"the coupling of {self.joint!r}"


# functions for users ------------------------------------------------------------------------------------------------------


def point_on_plane(frame: str, point: Sequence[float], normal: Sequence[float]) -> Constraint:
    """The origin of a frame stays on a plane: one row, the distance along the normal, m.

    Args:
        point: of the plane (3,), in the world, m.
        normal: (3,), in world axes; its length does not matter.

    >>> wall = qddot.point_on_plane("body_2", point=(1.0, 0, 0), normal=(1, 0, 0))
    >>> qddot.load("two_link").constraint_residual([0, 0], wall).round(3)
    array([0.2])
    """
    return AlongNormals(frame, vector("point", point), (direction("normal", normal),))


def point_on_line(frame: str, point: Sequence[float], direction: Sequence[float]) -> Constraint:
    """The origin of a frame stays on a line: two rows, the distances along two normals, m.

    Args:
        point: of the line (3,), in the world, m.
        direction: (3,), in world axes; its length does not matter.

    >>> rail = qddot.point_on_line("body_2", point=(0.5, 0, 0), direction=(0, 1, 0))
    >>> qddot.load("two_link").constraint_residual([0, np.pi / 2], rail).round(9) + 0
    array([0., 0.])
    """
    return AlongNormals(frame, vector("point", point), normals_of("direction", direction))


def contact_point(frame: str, normal: Sequence[float] | None = None) -> Constraint:
    """The origin of a frame keeps contact with a wall: one row, its velocity along the normal; it slides without friction.

    Args:
        normal: (3,), in world axes. None: the point sticks, three rows.

    >>> stuck = qddot.contact_point("body_2", normal=(0, 1, 0))
    >>> qddot.load("two_link").constraint_jacobian([0, 0], stuck).round(3)  # the speed of the tip along y
    array([[1.2, 0.7]])
    """
    return Contact(frame, tuple(Mat()) if normal is None else (direction("normal", normal),))


def connect(frame_a: str, frame_b: str, axes: str = "xyz") -> Constraint:
    """The origins of two frames coincide, as by a ball joint that closes a loop: one row for each axis, m.

    Args:
        axes: of `frame_a`, along which they coincide; `"xy"` for a loop in that plane, where `"z"` would be redundant.

    >>> arms = qddot.Builder("arms").body("left", mass=1).body("right", mass=1, xyz=(1, 0, 0))
    >>> arms = arms.frame("a", "left", xyz=(0.5, 0, 0)).frame("b", "right", xyz=(-0.5, 0, 0)).robot()
    >>> arms.constraint_residual([0, 0], qddot.connect("a", "b", axes="xy")) + 0
    array([0., 0.])
    """
    return SamePoint(Spot(frame_a), Spot(frame_b), checked_axes(axes))


def weld(frame_a: str, frame_b: str, pose: Any = None) -> Constraint:
    """Two frames are fixed to each other: six rows, angles (rad, for small ones) then distances (m), in the axes of `frame_a`.

    Args:
        pose: of `frame_b` in `frame_a`, 4 x 4; None: they coincide.

    >>> arms = qddot.Builder("arms").body("left", mass=1).body("right", mass=1, xyz=(1, 0, 0))
    >>> arms = arms.frame("a", "left", xyz=(0.5, 0, 0)).frame("b", "right", xyz=(-0.5, 0, 0)).robot()
    >>> arms.constraint_residual([0, 0], qddot.weld("a", "b")).shape
    (6,)
    """
    return SamePose(Spot(frame_a, transform(pose)), Spot(frame_b))


def fixed_frame(frame: str, pose: Any) -> Constraint:
    """A frame is fixed to the world: six rows, angles (rad, for small ones) then distances (m), in the axes of the pose.

    Args:
        pose: in the world, 4 x 4.

    >>> robot = qddot.load("puma560")
    >>> q = robot.home() + 0.1
    >>> held = qddot.fixed_frame(robot.tip, robot.transform(q))
    >>> robot.constraint_residual(q, held).round(9) + 0
    array([0., 0., 0., 0., 0., 0.])
    """
    return SamePose(Spot(None, transform(pose)), Spot(frame))


def joint_equality(joint: str, leader: str, multiplier: float = 1.0, offset: float = 0.0) -> Constraint:
    """Two joints are coupled: one row, `q_joint - multiplier q_leader - offset`.

    >>> robot = qddot.load("two_link")
    >>> geared = qddot.joint_equality("joint2", "joint1", multiplier=-2.0)
    >>> robot.project([0.5, 0], geared).round(3)
    array([ 0.1, -0.2])
    """
    return JointEquality(joint, leader, (finite_number("offset", offset), finite_number("multiplier", multiplier)))


loop_closure, frames_fixed = connect, weld


# constraints of a description ---------------------------------------------------------------------------------------------


def from_description(constraint: described.Constraint) -> Constraint:
    """Return the equations of a constraint in a description."""
    if isinstance(constraint, described.Coupling):
        return JointEquality(constraint.joint, constraint.leader, constraint.coefficients)
    if isinstance(constraint, described.Weld):
        return SamePose(Spot(constraint.link1, constraint.pose1), Spot(constraint.link2, constraint.pose2))
    first, second = (Transform(Mat(), point) for point in (constraint.point1, constraint.point2))
    return SamePoint(Spot(constraint.link1, first), Spot(constraint.link2, second), constraint.axes)


# checked arguments --------------------------------------------------------------------------------------------------------


def vector(name: str, values: Sequence[float]) -> Vec:
    """Return three numbers as a vector. Raises InputError: anything else."""
    array = finite_array(name, values)
    if array.shape != (3,):
        raise InputError(f"{name}={as_written(values)}: three numbers are needed")
    return vec(array.tolist())


def direction(name: str, values: Sequence[float]) -> Vec:
    """Return the unit vector along three numbers. Raises InputError: not three numbers, or zero."""
    axis, length = unit(vector(name, values))
    if length == 0:
        raise InputError(f"{name}={values!r} has no direction: give a vector that is not zero")
    return axis


def normals_of(name: str, values: Sequence[float]) -> tuple[Vec, ...]:
    """Return two unit vectors at right angles to a direction and to each other."""
    x, y, _ = z_onto(direction(name, values)).T
    return x, y


def checked_axes(axes: str) -> str:
    if not isinstance(axes, str) or not axes or set(axes) - set("xyz") or len(set(axes)) != len(axes):
        raise InputError(f"axes={axes!r} are not some of 'x', 'y' and 'z', each once: write 'xyz' or 'xy'")
    return axes


def transform(pose: Any) -> Transform:
    """Return a pose from a 4 x 4 matrix; None is the identity. Raises InputError: not a pose."""
    if pose is None or isinstance(pose, Transform):
        return pose or Transform()
    try:
        return from_matrix(pose)
    except (TypeError, ValueError) as error:
        raise InputError(f"pose: {error}") from None
