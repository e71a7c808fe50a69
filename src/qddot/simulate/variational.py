"""Steps of the variational midpoint rule, a symplectic method, whose energy does not drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.batched import times
from qddot.errors import InputError, IntegrationError
from qddot.simulate.fixed_step import State, compiled_step
from qddot.simulate.friction import DryFriction
from qddot.simulate.implicit_step import ImplicitStep
from qddot.simulate.modes import Switching
from qddot.simulate.torque import Torque

if TYPE_CHECKING:
    from qddot.robot import Robot


class Variational:
    """Steps that carry the momenta p = M qd along, and return qd.

    Smooth friction is evaluated in the middle of each step. Dry friction, and friction that grows with the load, is refused; a
    joint that reaches its stop ends the motion with an error.
    """

    def __init__(self, robot: Robot, switching: Switching, torque: Torque) -> None:
        dynamics = switching.dynamics
        if robot.nq != robot.nv:
            raise InputError(
                'method="variational" needs joints whose qd is the rate of q: spherical and free joints have none such; use "rk4"'
            )
        constraints = dynamics.constraints
        rolling = constraints is not None and not all(c.holonomic for c in constraints.constraints)
        unknown = {
            "dry friction": DryFriction(robot),
            "friction that grows with the load": any(body.drive.friction.load for body in robot.model.bodies),
            "external forces": dynamics.forces,
            "constraints of velocities": rolling,
        }
        for what, given in unknown.items():
            if given:
                raise InputError(f'method="variational" does not know {what}: use "rk4" or an adaptive method')
        self.robot, self.switching, self.dynamics, self.torque = robot, switching, dynamics, torque
        self.careful = ImplicitStep(robot._evaluate, constraints)
        self.kernel = compiled_step(robot, dynamics, "variational_step", self.careful)
        self.q, self.p, self.steps = np.zeros(0), np.zeros(0), 0

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        if q is not self.q:  # the first step of a motion
            self.p = times(self.dynamics.evaluate("mass_matrix", q=q), qd)
        self.steps += 1
        self.torque.begin(t, q, qd)
        tau = self.torque(t, q, qd)
        inputs: dict[str, Any] = {"q": q, "p": self.p, "tau": tau, "dt": h, **self.dynamics.numbers}
        if self.dynamics.constraints is None:
            self.q, self.p, qd = self.kernel(**inputs)
        else:
            self.q, self.p, qd = self.careful({name: rows(x, q) for name, x in inputs.items()})
        stopped = self.switching.at_stops(self.q) != 0
        if stopped.any():
            joint = self.switching.names[self.switching.shafts + int(np.argwhere(stopped)[0][-1])]
            raise IntegrationError(
                f'joint {joint!r} comes to its stop after t = {t:g} s: method="variational" knows none: use "rk4" or stops=False',
                time=float(t),
                step=self.steps,
                joint=joint,
            )
        return self.q, qd


def rows(x: Any, q: np.ndarray) -> np.ndarray:
    """Return a number or an array with the leading dimensions of q."""
    x = np.atleast_1d(x)
    return np.broadcast_to(x, (*q.shape[:-1], x.shape[-1]))
