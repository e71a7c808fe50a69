"""Steps that keep the geometry of mechanics: the variational midpoint rule, whose energy does not drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import InputError
from qddot.simulate.friction import DryFriction
from qddot.simulate.torque import Torque

if TYPE_CHECKING:
    from qddot.robot import Robot


class Variational:
    """Carries the momenta p = M qd from step to step; qd follows from them.

    Friction is not part of a Lagrangian: viscous friction of the mean velocity is added to the joint forces of each step, dry
    friction is refused.
    """

    def __init__(self, robot: Robot, torque: Torque, forces: dict) -> None:
        if robot.nq != robot.nv:
            raise InputError(
                'method="variational" needs joints whose qd is the rate of q: spherical and free joints have none such'
            )
        if DryFriction(robot) or forces:
            what = "dry friction" if not forces else "external forces"
            raise InputError(f'method="variational" does not know {what}: use "rk4" or an adaptive method')
        self.robot, self.torque = robot, torque
        self.viscous = bool(np.any(robot.friction_torque(np.ones(robot.nv))))
        self.state: tuple[np.ndarray, np.ndarray] | None = None

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray]:
        robot = self.robot
        if self.state is None or self.state[0] is not q:
            self.state = q, np.einsum("...ij,...j->...i", robot.mass_matrix(q), qd)
        p = self.state[1]
        tau = np.broadcast_to(self.torque(t, q, qd), qd.shape)
        if self.viscous:
            tau = tau - robot.friction_torque(qd)
        end, p = robot._evaluate("variational_step", {"q": q, "p": p, "tau": tau, "dt": [h]}, {})
        self.state = end, p
        return end, np.linalg.solve(robot.mass_matrix(end), p[..., None])[..., 0]
