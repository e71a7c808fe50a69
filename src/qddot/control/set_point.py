"""PD control to one configuration with gravity compensated for that configuration only, and the region in which it is stable."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from qddot.control.elastic import refuse_elastic
from qddot.control.gains import gains
from qddot.control.law import checked
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.robot import Robot


class SetPointPD:
    """`tau = g(q_d) + Kp (q_d - q) - Kd qd`, with g of gravity and springs: the feedback plus one constant torque.

    Let `V = qd^T M qd / 2 + e^T Kp e / 2 + U(q) - U(q_d) + e^T g(q_d)` with `e = q_d - q` and the potential energy U. Along every
    motion `V' = -qd^T Kd qd - qd^T friction`, since `M' - 2 C` is skew. The second derivative of V in q is `Kp + dg/dq`. So if
    every gain of Kp exceeds the gravity stiffness `alpha >= |dg/dq|`, V has a single minimum, q_d, and the robot comes to rest
    there from any state (Takegaki and Arimoto 1981). With smaller gains, q_d is still locally stable if `Kp + dg/dq(q_d)` is
    positive definite.

    Args:
        goal: configuration (nq,).
        kp, kd: one number or one per joint.

    >>> robot = qddot.load("two_link")
    >>> law = qddot.control.SetPointPD(robot, [1.0, 0.5], kp=20, kd=5)
    >>> law.is_global, law.is_stable
    (True, True)
    >>> float(law.storage(0.0, np.array([1.0, 0.5]), np.zeros(2)))  # least at the goal
    0.0
    >>> law.gravity_stiffness < 20
    True
    """

    def __init__(self, robot: Robot, goal: ArrayLike, kp: ArrayLike, kd: ArrayLike) -> None:
        refuse_elastic(robot, self)
        if robot.nq != robot.nv:
            raise InputError("SetPointPD is for joints whose qd is the rate of q: a spherical or free joint has none such")
        self.robot, self.goal = robot, robot._evaluate.configuration("goal", goal)
        if self.goal.ndim != 1:
            raise InputError(f"goal has shape {self.goal.shape}: one configuration ({robot.nq},) is needed")
        self.kp, self.kd = gains("kp", kp, robot.nv), gains("kd", kd, robot.nv)
        self.constant = robot.gravity_torque(self.goal) + robot.spring_torque(self.goal)

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return self.constant + self.kp * (self.goal - q) - self.kd * qd

    @checked
    def storage(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return V (...), J, which falls along every motion."""
        e, robot = self.goal - q, self.robot
        lifted = robot.potential_energy(q) - robot.potential_energy(self.goal) + e @ self.constant
        return robot.kinetic_energy(q, qd) + (self.kp * e * e).sum(-1) / 2 + lifted

    @cached_property
    def gravity_stiffness(self) -> float:
        """alpha, N m/rad: an upper bound of `|dg/dq|` at all q (see `gravity_stiffness`)."""
        return gravity_stiffness(self.robot)

    @property
    def is_global(self) -> bool:
        """True if the robot comes to rest at the goal from every state; a sufficient condition."""
        return bool(self.kp.min() > self.gravity_stiffness and self.kd.min() > 0)

    @property
    def is_stable(self) -> bool:
        """True if the robot comes to rest at the goal from nearby states."""
        slope = self.robot.inverse_dynamics_derivatives(self.goal, np.zeros(self.robot.nv), np.zeros(self.robot.nv)).dtau_dq
        return bool(np.linalg.eigvalsh(np.diag(self.kp) + (slope + slope.T) / 2)[0] > 0 and self.kd.min() > 0)


def gravity_stiffness(robot: Robot) -> float:
    """Return a guaranteed upper bound, at all q, of `|dg/dq|` (the largest eigenvalue of the Hessian of gravity and springs).

    Each entry of the Hessian is a polynomial in sines and cosines, at most the sum of the magnitudes of its coefficients; the
    largest sum of a row bounds the eigenvalues.

    Raises:
        InputError: a slider without limits on which gravity depends.

    >>> round(qddot.control.gravity_stiffness(qddot.load("two_link")), 2)  # gains above this bring it home from anywhere
    14.27
    """
    equations = robot.equations()
    force = equations.gravity_torque + equations.spring_torque
    reach = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))

    def most(i: int) -> float:
        generator = equations.alphabet.ring.generators[i]
        if generator.kind in ("sin", "cos"):
            return 1.0
        if generator.kind == "position":
            if not math.isfinite(reach[generator.of]):
                raise InputError(f"q[{generator.of}] has no limits, and gravity grows with it: there is no bound of dg/dq")
            return float(reach[generator.of])
        return math.sqrt(generator.of) if generator.kind == "root" else math.pi

    def bound(p: Any) -> float:
        return float(p.evaluate(most, lambda x: abs(float(x))))

    rows = [[bound(equations.derivative(f"q{j + 1}")(x)) for j in range(robot.nv)] for x in force.entries]
    return max(map(sum, rows), default=0.0)
