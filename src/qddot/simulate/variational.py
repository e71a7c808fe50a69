"""Steps that keep the geometry of mechanics: the variational midpoint rule, whose energy does not drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.simulate.dynamics import Dynamics
from qddot.simulate.fixed_step import State, compiled_step
from qddot.simulate.friction import DryFriction
from qddot.simulate.torque import Torque

if TYPE_CHECKING:
    from qddot.robot import Robot


class Variational:
    """Carries the momenta p = M qd from step to step, and qd with them.

    Friction is not part of a Lagrangian: viscous friction at the beginning of each step is added to the joint forces, dry friction
    is refused.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, torque: Torque) -> None:
        if robot.nq != robot.nv:
            raise InputError(
                'method="variational" needs joints whose qd is the rate of q: spherical and free joints have none such; use "rk4"'
            )
        for what, given in (("dry friction", DryFriction(robot)), ("external forces or constraints", not dynamics.is_bare)):
            if given:
                raise InputError(f'method="variational" does not know {what}: use "rk4" or an adaptive method')
        self.robot, self.dynamics, self.torque = robot, dynamics, torque
        self.has_friction = bool(np.any(robot.friction_torque(np.ones(robot.nv))))
        self.kernel = compiled_step(robot, dynamics, "variational_step")
        self.q, self.p = np.zeros(0), np.zeros(0)

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        if q is not self.q:  # a new motion
            self.p = (self.dynamics.evaluate("mass_matrix", q=q) @ qd[..., None])[..., 0]
        self.torque.begin(t, q, qd)
        tau = self.torque(t, q, qd)
        if self.has_friction:
            tau = tau - self.robot.friction_torque(qd)
        inputs: dict[str, Any] = {"q": q, "p": self.p, "tau": tau, "dt": h}
        if self.dynamics.parameters is not None:
            inputs["parameters"] = self.dynamics.parameters
        self.q, self.p, qd = self.kernel(**inputs)
        return self.q, qd
