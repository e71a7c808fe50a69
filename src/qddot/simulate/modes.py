"""Stick, slip and stops: in each mode the motion is smooth, and a balance of forces decides which mode comes next.

A shaft with dry friction slides in a known direction or is stuck; a joint is free or rests against a stop. Stuck shafts and stopped
joints do not accelerate, and the forces that hold them are watched: friction lets go when it would have to exceed its static level,
a stop when it would have to pull.
"""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from qddot.batched import times
from qddot.simulate.dynamics import Dynamics
from qddot.simulate.friction import DryFriction
from qddot.simulate.impulses import masked_solve, solve_bounded

if TYPE_CHECKING:
    from qddot.robot import Robot

SOFT = 1e-11
"""Added to the mobility, relative to it, if several forces may hold the same row, such as friction and a stop: they share the
load."""

REST = 1e-12
"""A shaft that several joints turn stands still if it is slower than this, relative to the speeds of its joints."""

STILL = 1e-8
"""rad/s or m/s: a slower row stands still. Loops are closed to 1e-12 only, and rounding must not decide the sign of friction."""

TOUCH = 1e-9
"""rad or m: a joint this close to a stop touches it."""


class Modes(NamedTuple):
    """The mode: sliding (..., shafts) is 1, -1, or 0 if stuck; stopped (..., stops) is 1 at the upper limit, -1 at the lower, or
    0."""

    sliding: np.ndarray
    stopped: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """(..., shafts + stops): True for the rows that do not move."""
        return np.concatenate([self.sliding == 0, self.stopped != 0], axis=-1)


class Switching:
    """The accelerations in each mode, and the changes of mode, for one state or a batch.

    Attributes:
        rows: (shafts + stops, nv): the speeds of shafts and of joints with stops are `rows @ qd`.
        columns: the only nonzero column of each row, or -1 if several joints turn the shaft.
        shared: (shafts, stops), True if the joint's stop also holds the shaft.
        names: of their joints.
        lower, upper: limits (stops,) of the coordinates `stop_q`.
        impacts: impacts on stops: time at which the step began -> time at which it ended, and the energy (...) taken, J.
    """

    def __init__(self, robot: Robot, dynamics: Dynamics, dry: DryFriction, stops: bool) -> None:
        self.dynamics, self.dry, self.shafts = dynamics, dry, len(dry.shafts)
        coordinates, limits = robot.model.mechanism.coordinates, robot.limits
        bounded = [c for c in coordinates if stops and c.single and np.isfinite([c.limits.lower, c.limits.upper]).any()]
        self.stop_q = np.array([c.q.start for c in bounded], int)
        self.lower, self.upper = limits.lower[self.stop_q], limits.upper[self.stop_q]
        stop_v = np.array([c.v.start for c in bounded], int)
        self.rows = np.concatenate([dry.shafts, np.eye(robot.nv)[stop_v]])
        owner = {k: c.name for c in coordinates for k in c.v}
        used = [np.flatnonzero(row) for row in self.rows]
        self.names = [owner[int(columns[0])] for columns in used]
        self.columns = np.array([columns[0] if len(columns) == 1 else -1 for columns in used], int)
        self.shared = (self.columns[: self.shafts, None] == stop_v) & (self.columns[: self.shafts, None] >= 0)
        distinct = np.linalg.matrix_rank(self.rows) if len(self.rows) else 0
        self.is_redundant = dynamics.constraints is not None or distinct < len(self.rows)
        self.impacts: dict[float, tuple[float, np.ndarray]] = {}

    def __bool__(self) -> bool:
        return bool(len(self.rows))

    def at(self, motions: tuple) -> Switching:
        """Return the modes of some motions of a batch."""
        found = copy(self)
        found.dynamics = self.dynamics.at(motions)
        return found

    def some(self, rows: Any) -> tuple | None:
        """Return the indices of the motions in a batch that are concerned, None for all: the others need no linear algebra."""
        return None if not rows.ndim or rows.all() or self.dynamics.forces else np.nonzero(rows)

    # in a mode ------------------------------------------------------------------------------------------------------------

    def accelerate(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """Return qdd (..., nv), and the forces (..., rows) on the held rows."""
        free = self.dynamics.accelerate(t, q, qd, self.delivered(qd, tau, modes.sliding))
        held = modes.held
        if not held.any():
            return free, np.zeros(held.shape)
        Y, W = self.compliance(q)
        force = masked_solve(W, held, -(free @ self.rows.T))
        return self.with_held_at_rest(free + times(Y, force), held), force

    def speeds(self, qd: np.ndarray) -> np.ndarray:
        """Return the speeds (..., rows) of the rows, exactly zero at rest."""
        speed = qd @ self.rows.T
        return np.where(abs(speed) <= STILL + REST * (abs(qd) @ abs(self.rows.T)), 0.0, speed)

    def delivered(self, qd: np.ndarray, tau: np.ndarray, sliding: np.ndarray) -> np.ndarray:
        """Return the joint forces less dry friction of the sliding shafts."""
        if not self.dry:
            return tau
        level = self.dry.level(qd @ self.dry.shafts.T, np.zeros(qd.shape[-1]), np.zeros(self.shafts, bool))
        rest = tau - np.where(sliding > 0, level[0], np.where(sliding < 0, -level[1], 0.0)) @ self.dry.shafts
        if not self.dry.load.any():
            return rest
        viscous = self.dynamics.evaluate("friction_torque", qd=qd)
        part = (self.dry.load * sliding) @ self.dry.shafts  # only shafts of one joint have friction by the load
        return (rest - viscous) / (1 + part * np.sign(rest - viscous)) + viscous

    def compliance(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the change of qdd by unit forces on the rows (..., nv, rows), and of the rows' accelerations (..., rows, rows)."""
        Y = self.dynamics.mobility(q) @ self.rows.T
        W = self.rows @ Y
        if self.is_redundant:
            W = W + SOFT * np.trace(W, axis1=-2, axis2=-1)[..., None, None] * np.eye(len(self.rows))
        return Y, W

    def with_held_at_rest(self, v: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return velocities or accelerations with exact zeros where a joint is held: rounding must not set it in motion."""
        v = v.copy()
        for k, column in enumerate(self.columns):
            if column >= 0:
                v[..., column] = np.where(held[..., k], 0.0, v[..., column])
        return v

    # from mode to mode ----------------------------------------------------------------------------------------------------

    def decide(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> Modes:
        """Decide which shafts and stops rest and which move from here on, by a balance of forces and accelerations."""
        speed = self.speeds(qd)
        sliding, moving = np.sign(speed[..., : self.shafts]), speed[..., self.shafts :]
        stopped = np.where(moving == 0, self.at_stops(q), 0.0)  # moving joints leave their stops, after `impact`
        modes = Modes(sliding, stopped)
        held = modes.held.any(-1)
        if not held.any():
            return modes
        if (some := self.some(held)) is not None:
            sliding[some], stopped[some] = self.at(some).decide(t, q[some], qd[some], np.broadcast_to(tau, qd.shape)[some])
            return modes
        a = self.dynamics.accelerate(t, q, qd, self.delivered(qd, tau, sliding)) @ self.rows.T
        _, W = self.compliance(q)
        level = np.zeros((2, *sliding.shape))
        if self.dry:
            level = self.static_level(tau + masked_solve(W, modes.held, -a) @ self.rows)
        force, lower, upper = self.balance(W, a, level, modes)
        slips = (sliding == 0) & ((force <= lower) | (force >= upper))[..., : self.shafts]
        if slips.any() and self.dry.rise.any():  # kinetic friction, which acts on slipping shafts, is smaller
            level = np.where(slips, self.dry.level(speed[..., : self.shafts], np.zeros(qd.shape), ~slips), level)
            force, lower, upper = self.balance(W, a, level, modes)
        after = a + times(W, force)
        stopped = np.where(force[..., self.shafts :] != 0, stopped, 0.0)
        inside = (force > lower) & (force < upper)
        start = np.where(inside, 0.0, np.sign(after))[..., : self.shafts]
        start = np.where((stopped != 0) @ self.shared.T, 0.0, start)
        return Modes(np.where(sliding == 0, start, sliding), stopped)

    def balance(self, W: np.ndarray, a: np.ndarray, level: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the forces of resting shafts and stops, and their bounds."""
        resting = modes.sliding == 0
        lower = np.concatenate([np.where(resting, -level[0], 0.0), np.where(modes.stopped > 0, -np.inf, 0.0)], axis=-1)
        upper = np.concatenate([np.where(resting, level[1], 0.0), np.where(modes.stopped < 0, np.inf, 0.0)], axis=-1)
        return solve_bounded(W, a, lower, upper), lower, upper

    def static_level(self, load: np.ndarray) -> np.ndarray:
        """Return the load (2, ..., shafts) that dry friction can hold; `load` (..., nv) is held by joint forces and friction."""
        return self.dry.level(np.zeros(self.shafts), load, np.ones(self.shafts, bool))

    def at_stops(self, q: np.ndarray) -> np.ndarray:
        """Return (..., stops) -1 at or below the lower limit, 1 at or above the upper, else 0."""
        x = q[..., self.stop_q]
        return np.where(x <= self.lower + TOUCH, -1.0, np.where(x >= self.upper - TOUCH, 1.0, 0.0))

    def struck(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return (...) True if some joint at or beyond its limit moves further out."""
        return np.asarray((self.at_stops(q) * (qd @ self.rows[self.shafts :].T) > 0).any(-1))

    def is_stopped(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """Return (...) True if some joint at or beyond its limit stands still."""
        return np.asarray(((self.speeds(qd)[..., self.shafts :] == 0) & (self.at_stops(q) != 0)).any(-1))

    def impact(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Move joints beyond a limit onto it; an inelastic impact takes their outward velocity."""
        struck = self.struck(q, qd)
        if not struck.any():
            return q, qd
        q = q.copy()
        if (some := self.some(struck)) is not None:
            qd = qd.copy()
            q[some], qd[some] = self.at(some).impact(q[some], qd[some])
            return q, qd
        side, speed = self.at_stops(q), qd @ self.rows[self.shafts :].T
        q[..., self.stop_q] = np.clip(q[..., self.stop_q], self.lower, self.upper)
        q = self.dynamics.close(q, abs(side) @ self.rows[self.shafts :] > 0)
        Y, W = self.compliance(q)
        Y, W = Y[..., self.shafts :], W[..., self.shafts :, self.shafts :]
        p = solve_bounded(W, speed, np.where(side > 0, -np.inf, 0.0), np.where(side < 0, np.inf, 0.0))
        stops = np.concatenate([np.zeros((*p.shape[:-1], self.shafts), bool), p != 0], axis=-1)
        return q, self.with_held_at_rest(qd + times(Y, p), stops)

    def metered_impact(
        self, start: float, end: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Apply `impact` at the end of a step, and record the energy that it takes, less the work of the joint forces tau beyond
        the stop. Of several steps from the same start only the first counts: the others search for an event within it."""
        after = self.impact(q, qd)
        if after[1] is not qd and start not in self.impacts:
            beyond = self.dynamics.robot.difference(after[0], q)
            self.impacts[start] = end, self.energy(q, qd) - self.energy(*after) - (tau * beyond).sum(-1)
        return after

    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        evaluate = self.dynamics.evaluate
        return evaluate("kinetic_energy", q=q, qd=qd) + evaluate("potential_energy", q=q)

    def hold(self, q: np.ndarray, qd: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return qd with the rows `held` exactly at rest, without errors of rounding and truncation."""
        if (held[..., self.columns < 0]).any():
            return self.rest(q, qd, held)
        return self.with_held_at_rest(qd, held)

    def rest(self, q: np.ndarray, qd: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return qd after impulses that bring the rows `held` to rest."""
        if (some := self.some(held.any(-1))) is not None:
            qd = qd.copy()
            qd[some] = self.at(some).rest(q[some], qd[some], held[some])
            return qd
        Y, W = self.compliance(q)
        return self.with_held_at_rest(qd + times(Y, masked_solve(W, held, -(qd @ self.rows.T))), held)

    def settled(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the actual accelerations, and the joint forces (..., nv) of dry friction and stops that belong to them."""
        modes = self.decide(t, q, qd, tau)
        qdd, force = self.accelerate(t, q, qd, tau, modes)
        return qdd, self.delivered(qd, tau, modes.sliding) - tau + force @ self.rows
