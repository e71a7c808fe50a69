"""Control of robots with elastic joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import positive_number
from qddot.batched import solve
from qddot.control.law import checked
from qddot.control.references import Follow, followed
from qddot.errors import InputError
from qddot.model.drive import Drive

if TYPE_CHECKING:
    from qddot.robot import Robot


class ElasticFeedbackLinearisation:
    """Control of elastic joints that places all four poles of the links' error at `-rate`, as if the gears were stiff.

    The links need a load L(q, qd, qdd), which the gear transmits by twisting, theta = q + L / K. So the motor has to exert
    `B theta_dd + friction(theta_d) + L`, where the second derivative of L contains the fourth derivative of q (Spong 1987).

    Args:
        robot: every joint elastic, its gear without damping and load-dependent friction, its rotor turning about the joint's axis.
        reference: of the links, with jerk and snap.
        rate: 1/s.

    >>> from qddot.control import ElasticFeedbackLinearisation, Quintic
    >>> gear = qddot.Drive(gear_ratio=50, rotor_inertia=1e-4, series_stiffness=500.0)
    >>> arm = qddot.Builder("arm").body("rod", axis="y", mass=2, com=(0.3, 0, 0), drive=gear).robot()
    >>> law = ElasticFeedbackLinearisation(arm, Quintic([0.0], [0.5], duration=1.0), rate=30.0)
    >>> arm.simulate([0, 0], t=1.5, step=0.01, torque=law).q[-1].round(2)  # the link, and its motor behind the spring
    array([0.5 , 0.49])
    """

    def __init__(self, robot: Robot, reference: Follow, rate: float) -> None:
        names = robot.joint_names  # links, then their motors
        n = len(names) // 2
        elastic = [robot.drives.get(name) or Drive() for name in names[:n]]
        for name, drive in zip(names, elastic):
            if drive.series_stiffness is None or robot.nv != 2 * n:
                raise InputError(f"every joint must be elastic, and {name!r} is not: see Drive(series_stiffness=...)")
            if drive.series_damping or drive.load_friction or drive.rotor_axis is not None:
                raise InputError(f"{name!r} has series_damping, load_friction or a rotor_axis, which this law does not make up for")
        rate = positive_number("rate", rate)
        self.robot, self.n = robot, n
        self.reference: Callable[[float], Sequence[Any]] = followed(reference, n, n, smooth=True)  # none of the five is None
        self.stiffness = np.array([drive.series_stiffness for drive in elastic], float)
        self.rotor = np.array([drive.at_joint.armature for drive in elastic], float)
        self.links = without_motors(robot)
        self.gains = np.array([rate**4, 4 * rate**3, 6 * rate**2, 4 * rate])

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        (q, theta), (qd, theta_rate) = np.split(q, 2, axis=-1), np.split(qd, 2, axis=-1)
        n, K, links, zero = self.n, self.stiffness, self.links, np.zeros(q.shape)
        M = links.mass_matrix(q)
        qdd = solve(M, K * (theta - q) - links.bias_torque(q, qd))
        jerk = solve(M, K * (theta_rate - qd) - links.torque_rates(q, qd, qdd, zero, zero).taud)
        *want, snap = self.reference(t)
        error = [w - x for w, x in zip(want, (q, qd, qdd, jerk))]
        load = links.torque_rates(q, qd, qdd, jerk, snap + sum(k * e for k, e in zip(self.gains, error)))
        friction = self.robot.friction_torque(np.concatenate([zero, theta_rate], axis=-1))[..., n:]
        return np.concatenate([zero, self.rotor * (qdd + load.taudd / K) + friction + load.tau], axis=-1)


def without_motors(robot: Robot) -> Robot:
    """Return the links of an elastic robot, on joints with their springs only."""
    drives = [x.drive and Drive(stiffness=x.drive.at_joint.stiffness, rest=x.drive.rest) for x in robot.model.joints]
    joints = [replace(joint, drive=drive) for joint, drive in zip(robot.model.joints, drives)]
    return type(robot)(robot.model.copy(joints=joints))


def refuse_elastic(robot: Robot, law: object) -> None:
    """Refuse an elastic robot for a law whose joint forces act on the links themselves."""
    elastic = [name for name, drive in robot.drives.items() if drive.series_stiffness is not None]
    if elastic:
        raise InputError(
            f"{type(law).__name__} would push the links themselves, and the motor of {elastic[0]!r} sits behind an elastic gear: "
            "see ElasticFeedbackLinearisation"
        )
