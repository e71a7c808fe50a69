"""The regressor of a parameter set along a motion: a column for each parameter, and the torques that are known without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.identify.regression.bodies import body_inertias, coupled_motors, without_drives
from qddot.identify.regression.drive_terms import Motion

if TYPE_CHECKING:
    from qddot.identify.regression.parameter_set import ParameterSet


class Evaluator:
    """Computes the columns of all parameters for each joint's row, without those that are always zero in it."""

    def __init__(self, parameter_set: ParameterSet) -> None:
        self.parameter_set, robot = parameter_set, parameter_set.robot
        self.bare = without_drives(robot)
        links = 10 * len(body_inertias(robot))
        self.sprung = any(drive.stiffness or drive.harmonics for drive in robot.drives.values())
        self.motors = coupled_motors(robot)
        self.knows = self.sprung or self.motors is not None or bool(np.any(parameter_set.constant))
        self.links = links
        terms = list(enumerate(parameter_set.terms, start=links))
        self.rotors = [(j, k, t.rows[j]) for k, t in terms if t.name.endswith(".armature") for j in t.rows]
        reach = self.bare.regressor(*np.random.default_rng(0).normal(size=(3, 8, robot.nv)))
        self.carried = [np.flatnonzero(np.any(reach[:, j] != 0, axis=0)) for j in range(robot.nv)]
        self.driven = [[(k, t.rows[j]) for k, t in terms if j in t.rows] for j in range(robot.nv)]
        self.used = [np.array([*carried, *(k for k, _ in driven)], int) for carried, driven in zip(self.carried, self.driven)]

    def at(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, sliding: np.ndarray | None = None, out: np.ndarray | None = None
    ) -> Moved:
        """The columns for a motion (N, nv); `sliding`: rates for dry friction, if they differ from qd; `out` (N, nv, links): buffer
        for the columns of the links."""
        motion = Motion(q, qd, qdd, np.zeros((0, q.shape[1])), sliding)
        Y = self.bare.regressor(q, qd, qdd, threads=1, out=out)
        return Moved(self, motion._replace(load=self.load(motion, Y)) if self.parameter_set.is_loaded else motion, Y)

    def load(self, motion: Motion, Y: np.ndarray) -> np.ndarray:
        """Joint forces without friction (N, nv): of links, rotors and springs."""
        parameter_set = self.parameter_set
        pi = parameter_set.full(parameter_set.described) if parameter_set.carried is None else parameter_set.carried
        load = Y @ pi[: self.links]
        for j, k, column in self.rotors:
            load[:, j] += column(motion) * pi[k]
        if self.sprung:
            load += parameter_set.robot.spring_torque(motion.q, threads=1)
        return load

    def load_columns(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Columns (N, nv, P) by which parameters pi (P,) make the load, without the robot's springs."""
        motion = Motion(q, qd, qdd, np.zeros((0, q.shape[1])))
        found = np.zeros((*q.shape, self.links + len(self.parameter_set.terms)))
        found[..., : self.links] = self.bare.regressor(q, qd, qdd, threads=1)
        for j, k, column in self.rotors:
            found[:, j, k] = column(motion)
        return found


class Moved(NamedTuple):
    """The columns along one motion; `Y` (N, nv, links) are those of the links."""

    evaluator: Evaluator
    motion: Motion
    Y: np.ndarray

    def row(self, j: int) -> np.ndarray:
        """Joint j's row of the regressor (N, len(used[j])): columns of the parameters pi named by `used[j]`."""
        count = len(self.evaluator.used[j])
        return self.picked(j, np.arange(count), np.empty((len(self.Y), count)))

    def picked(self, j: int, places: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write the columns of joint j's row at `places` in `used[j]`, those of links first, into the first columns of `out`."""
        carried, driven = self.evaluator.carried[j], self.evaluator.driven[j]
        links = places[places < len(carried)]
        out[:, : len(links)] = self.Y[:, j].take(carried[links], axis=1)
        for k, place in enumerate(places[len(links) :], start=len(links)):
            out[:, k] = driven[place - len(carried)][1](self.motion)
        return out

    def known(self) -> np.ndarray:
        """Joint forces of fixed parameters, springs and coupled motors (N, nv)."""
        parameter_set, used = self.evaluator.parameter_set, self.evaluator.used
        tau = np.zeros_like(self.motion.q)
        if np.any(parameter_set.constant):
            tau = np.stack([self.row(j) @ parameter_set.constant[used[j]] for j in range(tau.shape[1])], axis=1)
        tau = tau + parameter_set.robot.spring_torque(self.motion.q, threads=1) if self.evaluator.sprung else tau
        if self.evaluator.motors is not None:
            tau = tau + self.evaluator.motors.inverse_dynamics(*self.motion[:3], threads=1)
        return tau
