"""Online identification of an arm's load."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qddot.algorithms.regressor import INERTIAL
from qddot.arguments import finite_array, positive_number
from qddot.errors import InputError
from qddot.identify.load_equations import carrier
from qddot.identify.online.recursive import Recursive
from qddot.identify.payload import LENGTHS
from qddot.model.inertia import Inertia
from qddot.robot import Robot
from qddot.thresholds import LOAD_SIZE


class OnlinePayload(Recursive):
    """Estimates the ten inertial parameters of a load (m, m c, I about the frame's origin) sample by sample, for a known arm.

    When a load is picked up or put down, the torques no longer agree with the estimate: it is forgotten, `std` is wide again, and
    narrows as the new load moves. (For `latency` seconds the filters contain samples of both loads.)

        load = OnlinePayload(fit.robot, noise=fit.estimate.sigma, rate=1000, memory=1)
        load.update(q, tau)
        load.mass, load.std[0], load.centre

    Args:
        robot: the robot as identified, without the load.
        noise: standard deviation of each joint's torque after the low-pass, N m, with the errors of the arm's model.
        rate: samples a second.
        memory: s after which a sample counts for 1/e.
        heaviest: standard deviation of the load's mass before the first sample, kg: about the heaviest that is expected.
        frame: the frame that carries the load; None: the tip of the only chain.
        cutoff: cut-off frequency of the low-pass, Hz.
        delay: by how much later than positions torques come, s, a sample and a half at most, such as `fit.signals.delay` of the
            arm's log; positions are taken that much earlier. It cannot be found online.

    >>> robot = qddot.load("two_link")
    >>> motion = robot.with_payload(0.5).simulate([-1.0, 0.5], t=np.arange(0, 1, 0.001))
    >>> load = qddot.identify.OnlinePayload(robot, noise=0.01, rate=1000)
    >>> for q, tau in zip(motion.q, motion.tau):
    ...     load.update(q, tau)
    ...
    >>> round(load.mass, 2)
    0.5
    """

    def __init__(
        self,
        robot: Robot,
        *,
        noise: ArrayLike,
        rate: float,
        memory: float = np.inf,
        heaviest: float = 10.0,
        frame: str | None = None,
        cutoff: float = 10.0,
        delay: float = 0.0,
    ) -> None:
        self.frame = robot.tip if frame is None else frame
        sigma = np.broadcast_to(finite_array("noise", noise), (robot.nv,)).astype(float)
        if not (sigma > 0).all():
            raise InputError(f"noise={sigma.tolist()}: standard deviations are above 0")
        place, self._turn_into_frame = carrier(robot, self.frame)
        self._part = slice(10 * place, 10 * place + 10)
        self._regressor, self._torque = robot.bind("regressor"), robot.bind("inverse_dynamics")
        size = positive_number("heaviest", heaviest) * LOAD_SIZE**LENGTHS
        q = np.stack([robot.random_configuration(np.random.default_rng(k)) for k in range(20)])
        Y = robot.regressor(q, *np.random.default_rng(0).normal(size=(2, 20, robot.nv)))[..., self._part] @ self._turn_into_frame
        rest = np.array([drive.smoothing_velocity if (drive := robot.drives.get(joint)) else 0.0 for joint in robot.joint_names])
        shape = np.any(Y != 0, axis=0)
        self._entries, prior = np.flatnonzero(shape), (np.zeros(10), size)
        known = INERTIAL, self._entries_of, shape, prior, sigma, rest
        super().__init__(*known, rate=rate, cutoff=cutoff, memory=memory, changing=True, delay=delay)

    def _entries_of(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, out: np.ndarray) -> np.ndarray:
        for bound in (self._regressor, self._torque):
            bound.q, bound.qd, bound.qdd = q, qd, qdd
        (self._regressor()[:, self._part] @ self._turn_into_frame).take(self._entries, out=out, mode="clip")
        return self._torque()

    @property
    def mass(self) -> float:
        """Mass, kg; with no load it may come out negative by noise."""
        return float(self.theta[0])

    @property
    def centre(self) -> np.ndarray:
        """Centre of mass (3,) in the axes of the frame, m.

        Raises:
            InputError: the mass is within its uncertainty, so there is no centre of mass.
        """
        theta, std = self.theta, self.std
        if theta[0] < 2 * std[0]:
            raise InputError(f"{theta[0]:.3g} +- {std[0]:.2g} kg on {self.frame!r}: no load is seen, so it has no centre of mass")
        return theta[1:4] / theta[0]

    @property
    def inertia(self) -> Inertia:
        """Inertia as estimated, which need not be physically consistent (`payload` finds one that is, from a recording)."""
        return Inertia.from_ten_vector(self.theta.tolist())
