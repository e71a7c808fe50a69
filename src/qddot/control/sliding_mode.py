"""Sliding mode control: it follows a reference although the model is wrong by a bounded torque."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.batched import times
from qddot.control.elastic import refuse_elastic
from qddot.control.gains import gains
from qddot.control.law import checked
from qddot.control.references import Follow, followed

if TYPE_CHECKING:
    from qddot.robot import Robot


class SlidingMode:
    """`tau = M v' + C v + g + friction + Kd s + reach sat(s / width)` with `v = qd_r + Lambda e`, `s = v - qd = e' + Lambda e`.

    Let `S = s^T M s / 2`. With a disturbance d of each joint, `S' = -s^T Kd s - s^T (reach sat(s / width) + d)`, since `M' - 2
    C` is skew. So while `|d| < reach` every `|s|` beyond `width` falls, and from then on `|e| <= width / Lambda`. With `width` 0
    the switch is a step, and s becomes zero in finite time, at the price of chattering.

    Args:
        robot: the model, which may be wrong.
        bandwidth: Lambda, 1/s.
        kd: N m s/rad.
        reach: the largest disturbance that it shall reject, N m.
        width: of the boundary layer around s = 0, rad/s.

    >>> from qddot.control import Hold, SlidingMode
    >>> law = SlidingMode(qddot.load("two_link"), Hold([1.0, 0.5]), bandwidth=5, kd=2, reach=3)
    >>> law.surface(0.0, np.array([0.0, 0.0]), np.zeros(2))  # Lambda e
    array([5. , 2.5])
    >>> law.saturated(np.array([0.005, 1.0])), float(law.storage(0.0, np.array([1.0, 0.5]), np.zeros(2)))
    (array([0.5, 1. ]), 0.0)
    """

    def __init__(
        self, robot: Robot, reference: Follow, bandwidth: ArrayLike, kd: ArrayLike, reach: ArrayLike, width: ArrayLike = 0.01
    ) -> None:
        refuse_elastic(robot, self)
        self.robot, self.reference = robot, followed(reference, robot.nq, robot.nv)
        n = robot.nv
        self.bandwidth, self.kd = gains("bandwidth", bandwidth, n), gains("kd", kd, n)
        self.reach, self.width = gains("reach", reach, n), gains("width", width, n)

    @checked
    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        robot, want, s = self.robot, self.reference(t), self.surface(t, q, qd)
        wanted, rate = s + qd, want.qdd + self.bandwidth * (want.qd - qd)
        model = times(robot.mass_matrix(q), rate) + times(robot.coriolis_matrix(q, qd), wanted)
        still = robot.gravity_torque(q) + robot.spring_torque(q) + robot.friction_torque(qd)
        return model + still + self.kd * s + self.reach * self.saturated(s)

    @checked
    def surface(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return s (..., nv), rad/s: zero if the error decays with the bandwidth."""
        want = self.reference(t)
        return want.qd - qd + self.bandwidth * self.robot.difference(q, want.q)

    def saturated(self, s: np.ndarray) -> np.ndarray:
        """Return `s / width`, limited to -1 and 1."""
        thick = self.width > 0
        return np.where(thick, np.clip(s / np.where(thick, self.width, 1.0), -1, 1), np.sign(s))

    @checked
    def storage(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return `s^T M s / 2` (...)."""
        s = self.surface(t, q, qd)
        return (s * times(self.robot.mass_matrix(q), s)).sum(-1) / 2
