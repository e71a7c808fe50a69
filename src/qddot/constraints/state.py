"""The state that a constraint is a function of: coordinates, velocities and frames of a robot, over an abstract scalar."""

from __future__ import annotations

from functools import cached_property

from qddot.algorithms.kinematics import Scalars, world_columns, world_poses, world_velocities
from qddot.errors import InputError, unknown_name
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar
from qddot.model.spatial import Motion, Transform, Vec


class State:
    """One state of a robot, the argument of a constraint's function.

    Its numbers support only `+ - * / **` and the methods `cos`, `sin`, `sqrt` and `atan2` here; they cannot be compared. Positions
    and velocities are vectors (`x, y, z`, `dot`, `cross`) in world axes.

    Attributes:
        q: coordinates (nq).

    >>> robot = qddot.load("two_link")
    >>> level = qddot.holonomic(lambda state: state.pose("body_2").R.b.x)  # the last link points along x
    >>> half = qddot.holonomic(lambda state: state.joint("joint1") - state.atan2(1.0, 1.0))
    >>> robot.project([0.4, -0.3], [level, half]).round(4)
    array([ 0.7854, -0.7854])
    >>> slow = qddot.pfaffian(lambda state: state.velocity("body_2").x + state.angular_velocity("body_2").z)
    >>> robot.constraint_jacobian([0, np.pi / 2], slow).round(3)
    array([[0.3, 0.3]])
    >>> robot.constraint_residual([0, np.pi / 2], qddot.holonomic(lambda state: state.position("body_2").y - 0.7)).round(9)
    array([0.])
    >>> wave = qddot.holonomic(lambda s: s.sin(s.q[0]) + s.cos(s.q[1]) - s.sqrt(2.0))
    >>> robot.constraint_residual([0, 0], wave).round(3)
    array([-0.414])
    """

    def __init__(self, model: LiftedModel, q: Scalars, qd: Scalars | None = None) -> None:
        self._model, self._qd = model, qd
        self.q = tuple(q)

    @property
    def qd(self) -> tuple[Scalar, ...]:
        """Velocities (nv)."""
        if self._qd is None:
            raise InputError("a holonomic constraint speaks of q alone: for velocities use qddot.pfaffian")
        return tuple(self._qd)

    def joint(self, name: str) -> Scalar:
        """Return the coordinate of a joint that has a single one, rad or m."""
        model = self._model.source
        leader, multiplier, offset = model.leaders.get(name, (name, 1.0, 0.0))
        found = {c.name: c for c in model.mechanism.coordinates}
        if leader not in found:
            raise unknown_name("joint", name, (*found, *model.leaders))
        if not found[leader].single:
            raise InputError(f"joint {name!r} is {found[leader].kind}: it has no single coordinate to speak of")
        constant = self._model.field.constant
        return self.q[found[leader].q.start] * constant(multiplier) + constant(offset)

    def pose(self, frame: str) -> Transform:
        """Return the pose of a frame in the world: `R` (rows `a, b, c`) and `p`."""
        body, pose = self._model.frame(frame)
        return self._poses[body] @ pose

    def position(self, frame: str) -> Vec:
        """Return the position of a frame's origin, m."""
        return self.pose(frame).p

    def velocity(self, frame: str) -> Vec:
        """Return the velocity of a frame's origin, m/s."""
        twist = self._twist(frame)
        return twist.v + twist.w.cross(self.position(frame))

    def angular_velocity(self, frame: str) -> Vec:
        """Return the angular velocity of a frame, rad/s."""
        return self._twist(frame).w

    def cos(self, angle: Scalar) -> Scalar:
        return self._model.field.cos_sin(angle)[0]

    def sin(self, angle: Scalar) -> Scalar:
        return self._model.field.cos_sin(angle)[1]

    def sqrt(self, x: Scalar) -> Scalar:
        return self._model.field.sqrt(x)

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        return self._model.field.atan2(y, x)

    @cached_property
    def _poses(self) -> dict[int, Transform]:
        return world_poses(self._model, self.q)

    @cached_property
    def _twists(self) -> dict[int, Motion]:
        return world_velocities(self._model, world_columns(self._model, self._poses), self.qd)

    def _twist(self, frame: str) -> Motion:
        """Return the twist of the body that carries a frame, at the world's origin."""
        return self._twists[self._model.frame(frame)[0]]
