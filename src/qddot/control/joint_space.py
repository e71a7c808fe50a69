"""Control of joint positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.control.elastic import refuse_elastic
from qddot.control.gains import gains
from qddot.control.law import checked
from qddot.control.references import Follow, followed

if TYPE_CHECKING:
    from qddot.robot import Robot


class JointLaw:
    """Common part of the laws of this file: a robot, its reference, and gains for its joints."""

    def __init__(self, robot: Robot, reference: Follow, kp: ArrayLike, kd: ArrayLike) -> None:
        refuse_elastic(robot, self)
        self.robot, self.reference = robot, followed(reference, robot.nq, robot.nv)
        self.kp, self.kd = gains("kp", kp, robot.nv), gains("kd", kd, robot.nv)


class PD(JointLaw):
    """`tau = g(q) + Kp e + Kd e'`: the robot comes to rest at a constant reference; with dry friction, near it.

    >>> from qddot.control import PD, Hold
    >>> robot = qddot.load("two_link")
    >>> law = PD(robot, Hold([1.0, 0.5]), kp=20, kd=5)
    >>> at = np.array([1.0, 0.5])
    >>> np.allclose(law(0.0, at, np.zeros(2)), robot.gravity_torque(at))  # there, only gravity is held
    True
    >>> float(law.storage(0.0, np.array([1.0, 0.0]), np.zeros(2)))  # Kp e^2 / 2
    2.5
    """

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        want = self.reference(t)
        error = self.robot.difference(q, want.q)
        return self.robot.gravity_torque(q) + self.robot.spring_torque(q) + self.kp * error + self.kd * (want.qd - qd)

    @checked
    def storage(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return `qd^T M qd / 2 + e^T Kp e / 2` (...), J; with a reference at rest it falls by `qd^T Kd qd` and friction."""
        error = self.robot.difference(q, self.reference(t).q)
        return self.robot.kinetic_energy(q, qd) + (self.kp * error**2).sum(-1) / 2


class ComputedTorque(JointLaw):
    """`tau = M (qdd_r + Kp e + Kd e') + C qd + g + friction`: the error obeys `e'' + Kd e' + Kp e = 0`.

    >>> from qddot.control import ComputedTorque, Quintic
    >>> robot = qddot.load("two_link")
    >>> law = ComputedTorque(robot, Quintic([0, 0], [1, 0.5], duration=1.0), kp=100, kd=20)
    >>> motion = robot.simulate([0, 0], t=1.0, step=0.01, torque=law)
    >>> motion.q[-1].round(4)
    array([1. , 0.5])
    """

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        want = self.reference(t)
        qdd = want.qdd + self.kp * self.robot.difference(q, want.q) + self.kd * (want.qd - qd)
        return self.robot.inverse_dynamics(q, qd, qdd)
