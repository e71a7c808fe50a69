"""Controllers: each is called with (t, q, qd) and gives tau. Small, and meant to be read.

A reference is called with t and gives q, qd, qdd (see `qddot.simulate.references`); of a task it gives positions, velocities and
accelerations of the task instead. Gains are one number, or one for each coordinate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.errors import InputError
from qddot.model.drive import Drive
from qddot.simulate.references import Reference

if TYPE_CHECKING:
    from qddot.robot import Robot

Follow = Callable[[float], Reference]

FRICTION = ("viscous", "coulomb", "stribeck", "load")
AXES = ("wx", "wy", "wz", "x", "y", "z")


class PD:
    """`tau = g(q) + Kp e + Kd e'`: comes to rest at a constant reference, whatever the masses in M are."""

    def __init__(self, robot: Robot, reference: Follow, kp: ArrayLike, kd: ArrayLike) -> None:
        self.robot, self.reference, self.kp, self.kd = robot, reference, np.asarray(kp, float), np.asarray(kd, float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        want = self.reference(t)
        error = self.robot.difference(q, want.q)
        return self.robot.gravity_torque(q) + self.robot.spring_torque(q) + self.kp * error + self.kd * (want.qd - qd)


class ComputedTorque:
    """`tau = M (qdd_r + Kp e + Kd e') + C qd + g + friction`: the error obeys `e'' + Kd e' + Kp e = 0`."""

    def __init__(self, robot: Robot, reference: Follow, kp: ArrayLike, kd: ArrayLike) -> None:
        self.robot, self.reference, self.kp, self.kd = robot, reference, np.asarray(kp, float), np.asarray(kd, float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        want = self.reference(t)
        qdd = want.qdd + self.kp * self.robot.difference(q, want.q) + self.kd * (want.qd - qd)
        return self.robot.inverse_dynamics(q, qd, qdd)


class Task:
    """Chosen rows of a frame's motion, in world axes at its origin.

    Args:
        rows: of `("wx", "wy", "wz", "x", "y", "z")`.
    """

    def __init__(self, robot: Robot, frame: str | None = None, rows: Sequence[str] = ("x", "y", "z")) -> None:
        unknown = [row for row in rows if row not in AXES]
        if unknown or not rows:
            raise InputError(f"rows of a task are some of {', '.join(AXES)}, got {', '.join(map(str, rows)) or 'none'}")
        if any(row.startswith("w") for row in rows):
            raise InputError("a task that turns has no coordinates of its own: choose rows among x, y, z")
        self.robot, self.frame = robot, robot.tip if frame is None else frame
        self.rows = [AXES.index(row) for row in rows]

    def position(self, q: np.ndarray) -> np.ndarray:
        return self.robot.transform(q, self.frame)[..., :3, 3][..., [i - 3 for i in self.rows]]

    def jacobian(self, q: np.ndarray) -> np.ndarray:
        return self.robot.jacobian(q, self.frame, "world_aligned")[..., self.rows, :]

    def drift(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """`Jdot qd`."""
        rate = self.robot.jacobian_dot(q, qd, self.frame, "world_aligned")[..., self.rows, :]
        return np.einsum("...ij,...j->...i", rate, qd)


class OperationalSpace:
    """`tau = J^T Lambda (x_r'' + Kp e + Kd e' - Jdot qd) + C qd + g + friction`, and damping in what the task leaves free.

    After Khatib (1987). `Lambda = (J M^-1 J^T)^-1` is the inertia the task feels.
    """

    def __init__(self, task: Task, reference: Follow, kp: ArrayLike, kd: ArrayLike, posture_damping: float = 0.0) -> None:
        self.task, self.reference, self.posture_damping = task, reference, posture_damping
        self.kp, self.kd = np.asarray(kp, float), np.asarray(kd, float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        task, robot, want = self.task, self.task.robot, self.reference(t)
        J, M = task.jacobian(q), robot.mass_matrix(q)
        wanted = want.qdd + self.kp * (want.q - task.position(q)) + self.kd * (want.qd - J @ qd) - task.drift(q, qd)
        Y = np.linalg.solve(M, J.T)
        force = np.linalg.solve(J @ Y, wanted)
        posture = -self.posture_damping * M @ (qd - Y @ np.linalg.solve(J @ Y, J @ qd))
        return J.T @ force + posture + robot.bias_torque(q, qd)


class Impedance:
    """`tau = J^T (K e + D e') + g + C qd + friction`: to a push the frame gives like a spring and a damper."""

    def __init__(self, task: Task, reference: Follow, stiffness: ArrayLike, damping: ArrayLike) -> None:
        self.task, self.reference = task, reference
        self.stiffness, self.damping = np.asarray(stiffness, float), np.asarray(damping, float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        task, want = self.task, self.reference(t)
        J = task.jacobian(q)
        force = self.stiffness * (want.q - task.position(q)) + self.damping * (want.qd - J @ qd)
        return J.T @ force + task.robot.bias_torque(q, qd)


class SlotineLi:
    """Adaptive control that learns the parameters while it follows: `tau = Y(q, qd, qd_v, qdd_v) a + Kd s` (Slotine and Li 1987).

    With `s = e' + Lambda e` the estimate moves by `a' = Gamma Y^T s`; the torque error then goes to zero, though `a` need not
    become true. The law is sampled: simulate calls it once every `period`, and holds the torque in between.

    Args:
        robot: whose regressor is used; its own parameters are not looked at, but for the first estimate.
        gain: Gamma, one number or one a parameter.
        estimate: of the parameters at first; those of the robot if None.
    """

    def __init__(
        self,
        robot: Robot,
        reference: Follow,
        bandwidth: float,
        kd: ArrayLike,
        gain: ArrayLike,
        period: float = 1e-3,
        estimate: ArrayLike | None = None,
    ) -> None:
        self.robot, self.reference, self.bandwidth, self.period = robot, reference, float(bandwidth), float(period)
        self.kd, self.gain = np.asarray(kd, float), np.asarray(gain, float)
        self.estimate = np.array(robot.parameters() if estimate is None else estimate, float)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        want = self.reference(t)
        error = self.robot.difference(q, want.q)
        s = want.qd - qd + self.bandwidth * error
        virtual, virtual_rate = want.qd + self.bandwidth * error, want.qdd + self.bandwidth * (want.qd - qd)
        Y = slotine_li_regressor(self.robot, q, qd, virtual, virtual_rate)
        self.estimate = self.estimate + self.period * self.gain * (Y.T @ s)
        return Y @ self.estimate + self.kd * s


def slotine_li_regressor(robot: Robot, q: np.ndarray, qd: np.ndarray, v: np.ndarray, vd: np.ndarray) -> np.ndarray:
    """Y with `Y pi = M vd + C(q, qd) v + g + springs + friction(qd)`, for another velocity v than that of the robot.

    C is that of the Christoffel symbols, for which `C(q, a) b` is symmetric in a and b: so it follows from the regressor at
    a + b, a and b.
    """
    zero = np.zeros(robot.nv)
    still = robot.regressor(q, zero, zero)
    frictionless = [not name.rpartition(".")[2].startswith(FRICTION) for name in robot.parameter_names]
    squares = [robot.regressor(q, x, zero) - still for x in (qd + v, qd, v)]
    Y = robot.regressor(q, zero, vd) + (squares[0] - squares[1] - squares[2]) / 2
    return np.where(frictionless, Y, robot.regressor(q, qd, zero))


class ElasticFeedbackLinearisation:
    """For elastic joints: all four poles of the links' error at `-rate`, as if the gears were stiff.

    The links ask for a load L(q, qd, qdd) that the gear passes on by being wound up, theta = q + L / K; so the motor has to give
    `B theta_dd + friction(theta_d) + L`, and the fourth derivative of q enters through that of L (Spong 1987).

    Args:
        robot: every joint elastic, without damping in the gears.
        reference: t -> q, qd, qdd, jerk and snap of the links.
        rate: 1/s.
    """

    def __init__(self, robot: Robot, reference: Callable[[float], Sequence[np.ndarray]], rate: float) -> None:
        n = robot.nv // 2
        elastic = [drive for drive in robot.drives.values() if drive.series_stiffness is not None]
        if len(elastic) != n or robot.nv != 2 * n or any(drive.series_damping for drive in elastic):
            raise InputError("every joint must be elastic and its gear without damping: see Drive(series_stiffness=...)")
        self.robot, self.reference, self.n = robot, reference, n
        self.stiffness = np.array([drive.series_stiffness for drive in elastic], float)
        self.rotor = np.array([drive.at_joint.armature for drive in elastic], float)
        self.links = without_motors(robot)
        self.gains = np.array([rate**4, 4 * rate**3, 6 * rate**2, 4 * rate])

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        n, K, links, zero = self.n, self.stiffness, self.links, np.zeros(self.n)
        (q, theta), (qd, theta_rate) = np.split(q, 2), np.split(qd, 2)
        M = links.mass_matrix(q)
        qdd = np.linalg.solve(M, K * (theta - q) - links.bias_torque(q, qd))
        jerk = np.linalg.solve(M, K * (theta_rate - qd) - links.torque_rates(q, qd, qdd, zero, zero).taud)
        want = self.reference(t)
        error = [w - x for w, x in zip(want, (q, qd, qdd, jerk))]
        load = links.torque_rates(q, qd, qdd, jerk, want[4] + sum(k * e for k, e in zip(self.gains, error)))
        friction = self.robot.friction_torque(np.r_[zero, theta_rate])[n:]
        return np.r_[zero, self.rotor * (qdd + load.taudd / K) + friction + load.tau]


def without_motors(robot: Robot) -> Robot:
    """The links of an elastic robot, on hinges that nothing drives."""

    def springs_only(drive: Drive | None) -> Drive | None:
        return drive and Drive(stiffness=drive.at_joint.stiffness, rest=drive.rest)

    joints = [replace(joint, drive=springs_only(joint.drive)) for joint in robot.model.joints]
    return type(robot)(robot.model.copy(joints=joints))
