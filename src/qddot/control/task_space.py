"""Control of a frame's position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import names
from qddot.batched import T, times
from qddot.control.elastic import refuse_elastic
from qddot.control.gains import gains
from qddot.control.law import checked
from qddot.control.references import Follow, followed
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.robot import Robot

AXES = ("x", "y", "z")


class Task:
    """The position of a frame's origin in the world, or some of its coordinates.

    Args:
        frame: name; the tip of the only chain if None.
        rows: some of `("x", "y", "z")`.

    >>> tip = qddot.control.Task(qddot.load("two_link"), rows=("x", "y"))
    >>> tip.position(np.array([0, np.pi / 2])).round(3)
    array([0.5, 0.7])
    >>> tip.jacobian(np.array([0, np.pi / 2])).round(3) + 0
    array([[-0.7, -0.7],
           [ 0.5,  0. ]])
    """

    def __init__(self, robot: Robot, frame: str | None = None, rows: Sequence[str] = ("x", "y", "z")) -> None:
        rows = names("rows", tuple(rows) if isinstance(rows, str) else rows)
        if not rows or any(row not in AXES for row in rows) or len(set(rows)) != len(rows):
            raise InputError(f"rows={rows!r}: a task has some of the coordinates {', '.join(AXES)}, each once")
        self.robot, self.frame = robot, robot.tip if frame is None else frame
        self.names, self.rows = tuple(rows), [AXES.index(row) for row in rows]
        self.position(robot.neutral())  # refuses an unknown frame

    def position(self, q: np.ndarray) -> np.ndarray:
        return self.robot.transform(q, self.frame)[..., :3, 3][..., self.rows]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        return self.robot.jacobian(q, self.frame, "world_aligned")[..., 3:, :][..., self.rows, :]


class OperationalSpace:
    """`tau = J^T Lambda (x_r'' + Kp e + Kd e' - Jdot qd) + C qd + g + friction`, and damping of the motions that the task leaves
    free.

    After Khatib (1987). `Lambda = (J M^-1 J^T)^-1` is the inertia in task space; where it does not exist, an error says so.

    >>> from qddot.control import Hold, OperationalSpace, Task
    >>> robot = qddot.load("two_link")
    >>> law = OperationalSpace(Task(robot, rows=("x", "y")), Hold([0.8, 0.4]), kp=100, kd=20)
    >>> motion = robot.simulate([0.1, 0.8], t=1.0, step=0.01, torque=law)
    >>> robot.transform(motion.q[-1])[:2, 3].round(2)
    array([0.8, 0.4])
    """

    def __init__(self, task: Task, reference: Follow, kp: ArrayLike, kd: ArrayLike, posture_damping: float = 0.0) -> None:
        refuse_elastic(task.robot, self)
        n = len(task.rows)
        self.task, self.reference = task, followed(reference, n, n)
        self.kp, self.kd, self.posture_damping = gains("kp", kp, n), gains("kd", kd, n), gains("posture_damping", posture_damping)

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        task, robot, want = self.task, self.task.robot, self.reference(t)
        space = robot.task_space(q, qd, task.frame, rows=task.names)
        wanted = want.qdd + self.kp * (want.q - task.position(q)) + self.kd * (want.qd - space.V)
        force = times(space.M_C, wanted - times(space.Jdot, qd))
        posture = -self.posture_damping * times(space.M, qd - times(space.J_bar, space.V))
        return space.torque(force) + posture + robot.bias_torque(q, qd)


class Impedance:
    """`tau = J^T (K e + D e') + g + springs`: the frame yields to a push like a spring and a damper, and it is passive.

    With `S = qd^T M qd / 2 + e^T K e / 2` and a reference at rest, `S' = F . x' - e'^T D e' - friction . qd`: no more energy comes
    out at the frame than a push F puts in, whatever it touches. A moving reference also puts in `x_r' . (K e + D e')`. Cancelling
    `C qd` would break this law, since it balances the change of the kinetic energy.

    Args:
        friction: compensate the joints' friction, too. This removes damping, and a model with too much friction feeds energy in.

    >>> from qddot.control import Hold, Impedance, Task
    >>> robot = qddot.load("two_link")
    >>> law = Impedance(Task(robot, rows=("x", "y")), Hold([0.5, 0.7]), stiffness=200, damping=20)
    >>> q = np.array([0.1, np.pi / 2])
    >>> law.force(0.0, q, np.zeros(2)).round(1)  # N, back to where it shall be
    array([14.5, -9.3])
    >>> round(float(law.storage(0.0, q, np.zeros(2))), 2)
    0.74
    """

    def __init__(self, task: Task, reference: Follow, stiffness: ArrayLike, damping: ArrayLike, *, friction: bool = False) -> None:
        refuse_elastic(task.robot, self)
        n = len(task.rows)
        self.task, self.reference, self.friction = task, followed(reference, n, n), friction
        self.stiffness, self.damping = gains("stiffness", stiffness, n), gains("damping", damping, n)

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        task, robot = self.task, self.task.robot
        tau = times(T(task.jacobian(q)), self.force(t, q, qd)) + robot.gravity_torque(q) + robot.spring_torque(q)
        return tau + robot.friction_torque(qd) if self.friction else tau

    @checked
    def force(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return the force `K e + D e'` (..., rows) with which the law pulls the frame to its reference, N."""
        task, want = self.task, self.reference(t)
        rate = times(task.jacobian(q), qd)
        return self.stiffness * (want.q - task.position(q)) + self.damping * (want.qd - rate)

    @checked
    def storage(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return S (...), J: the kinetic energy plus that of the spring between the frame and its reference."""
        error = self.reference(t).q - self.task.position(q)
        return self.task.robot.kinetic_energy(q, qd) + (self.stiffness * error**2).sum(-1) / 2
