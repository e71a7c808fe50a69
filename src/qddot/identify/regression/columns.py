"""The regressor of a set of parameters: what each multiplies along a motion, and what is known without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.identify.regression.bodies import body_inertias, coupled_motors, without_drives
from qddot.identify.regression.drive_terms import Motion

if TYPE_CHECKING:
    from qddot.identify.regression.parameter_set import ParameterSet


class Evaluator:
    """Computes the columns of all parameters, row by row of the joints, without those that are always zero there."""

    def __init__(self, parameter_set: ParameterSet) -> None:
        self.parameter_set, robot = parameter_set, parameter_set.robot
        self.bare = without_drives(robot)
        links = 10 * len(body_inertias(robot))
        self.sprung = any(drive.stiffness or drive.harmonics for drive in robot.drives.values())
        self.motors = coupled_motors(robot)
        self.knows = self.sprung or self.motors is not None or bool(np.any(parameter_set.constant))
        self.links = links
        self.rotors = [
            (j, links + k, t.rows[j]) for k, t in enumerate(parameter_set.terms) if t.name.endswith(".armature") for j in t.rows
        ]
        reach = self.bare.regressor(*np.random.default_rng(0).normal(size=(3, 8, robot.nv)))
        self.carried = [np.flatnonzero(np.any(reach[:, j] != 0, axis=0)) for j in range(robot.nv)]
        self.driven = [[(links + k, t.rows[j]) for k, t in enumerate(parameter_set.terms) if j in t.rows] for j in range(robot.nv)]
        self.used = [np.array([*carried, *(k for k, _ in driven)], int) for carried, driven in zip(self.carried, self.driven)]

    def at(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, sliding: np.ndarray | None = None, out: np.ndarray | None = None
    ) -> Moved:
        """The columns for a motion (N, nv); `sliding`: rates as dry friction sees them, if not as they are; `out` (N, nv, links) is
        where those of the links go."""
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
        """Columns of the load (N, nv, P): it is the sum of them times the parameters pi (P,), springs of the robot left out."""
        motion = Motion(q, qd, qdd, np.zeros((0, q.shape[1])))
        found = np.zeros((*q.shape, self.links + len(self.parameter_set.terms)))
        found[..., : self.links] = self.bare.regressor(q, qd, qdd, threads=1)
        for j, k, column in self.rotors:
            found[:, j, k] = column(motion)
        return found


class Moved(NamedTuple):
    """The columns for one motion; `Y` (N, nv, links) are those of the links."""

    evaluator: Evaluator
    motion: Motion
    Y: np.ndarray

    def row(self, j: int) -> np.ndarray:
        """Joint j's row of the regressor (N, len(used[j])): columns of the parameters pi named by `used[j]`."""
        count = len(self.evaluator.used[j])
        return self.picked(j, np.arange(count), np.empty((len(self.Y), count)))

    def picked(self, j: int, places: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Some columns of joint j's row, into the first columns of `out`."""
        carried, driven = self.evaluator.carried[j], self.evaluator.driven[j]
        links = self.links(j, places, out)
        for k, place in enumerate(places[links:], start=links):
            out[:, k] = driven[place - len(carried)][1](self.motion)
        return out

    def links(self, j: int, places: np.ndarray, out: np.ndarray) -> int:
        """Write those of the columns that are of links into the first columns of `out`, and return how many they are."""
        carried = self.evaluator.carried[j]
        links = places[places < len(carried)]
        out[:, : len(links)] = self.Y[:, j].take(carried[links], axis=1)
        return len(links)

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
