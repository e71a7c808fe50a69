"""Hybrid control: a force in some directions, a motion in the others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from qddot.batched import times
from qddot.control.elastic import refuse_elastic
from qddot.control.gains import gains
from qddot.control.law import checked
from qddot.control.references import Follow, followed
from qddot.control.task_space import AXES, Task
from qddot.errors import InputError


class HybridForcePosition:
    """`tau = J^T (Lambda (a - Jdot qd) + f) + C qd + g + friction`: a along directions of motion, f along those of force.

    After Raibert and Craig (1981), with the dynamics of the task (Khatib 1987). In the directions of motion `a = x_r'' + Kp e + Kd
    e'`; in those of force f is the force that the frame shall exert, and a is only a `damping`. Pressed against a rigid surface
    that blocks the directions of force, the frame moves by `x'' = a`. So the surface feels exactly f, however the frame moves along
    it. The error along the surface obeys `e'' + Kd e' + Kp e = 0`, and `V = e'^T e' / 2 + e^T Kp e / 2` falls by `V' = -e'^T Kd
    e'`.

    Args:
        task: the frame, and all its directions that are controlled, world axes.
        reference: of the directions of motion, in the order of the task.
        force: direction -> force of the frame on its surroundings, N.
        kp, kd: of the directions of motion.
        damping: of the directions of force, 1/s, while nothing is touched.

    >>> from qddot.control import Hold, HybridForcePosition, Task
    >>> robot = qddot.load("two_link")
    >>> law = HybridForcePosition(Task(robot, rows=("x", "y")), Hold([0.7]), force={"x": 5.0}, kp=100, kd=20)
    >>> q = np.array([0.0, np.pi / 2])
    >>> error, rate = law.error(0.0, q, np.zeros(2))  # along y; along x it presses
    >>> error.round(9), round(float(law.storage(0.0, q, np.zeros(2))), 9)
    (array([0.]), 0.0)
    """

    def __init__(
        self, task: Task, reference: Follow, force: Mapping[str, float], kp: ArrayLike, kd: ArrayLike, damping: float = 0.0
    ) -> None:
        refuse_elastic(task.robot, self)
        for name in force:
            if name not in task.names:
                raise InputError(f"force has the direction {name!r}: the task has {', '.join(task.names)} of {', '.join(AXES)}")
        self.task = task
        self.pressed = np.array([name in force for name in task.names])
        self.free = ~self.pressed
        if not self.free.any() or not self.pressed.any():
            raise InputError("some directions of the task must be moved along and some pressed: else it is not hybrid")
        n = int(self.free.sum())
        self.force = np.array([float(force.get(name, 0.0)) for name in task.names])
        self.reference = followed(reference, n, n)
        self.kp, self.kd, self.damping = gains("kp", kp, n), gains("kd", kd, n), gains("damping", damping)

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        task, robot, want = self.task, self.task.robot, self.reference(t)
        space = robot.task_space(q, qd, task.frame, rows=task.names)
        a = np.zeros_like(space.V)
        error, rate = self.error(t, q, qd)
        a[..., self.free] = want.qdd + self.kp * error + self.kd * rate
        a[..., self.pressed] = -self.damping * space.V[..., self.pressed]
        return space.torque(times(space.M_C, a - times(space.Jdot, qd)) + self.force) + robot.bias_torque(q, qd)

    def error(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return e and e' in the directions of motion."""
        task, want = self.task, self.reference(t)
        speed = times(task.jacobian(q), qd)
        return want.q - task.position(q)[..., self.free], want.qd - speed[..., self.free]

    @checked
    def storage(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return `e'^T e' / 2 + e^T Kp e / 2` (...)."""
        error, rate = self.error(t, q, qd)
        return ((rate**2).sum(-1) + (self.kp * error**2).sum(-1)) / 2
