"""Stick, slip and stops: in each mode the motion is smooth, and a balance of forces decides which mode comes next.

A shaft with dry friction slides in a known direction or is stuck; a joint is free or rests against a stop. What is stuck or stopped
does not accelerate; the forces that hold it are watched: friction lets go where it would have to exceed its static level, a stop
where it would have to pull.
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
"""Of the mobility: added where several forces may hold the same, such as friction and a stop, so that they share the load."""


REST = 1e-12
"""Of the speeds of its joints: a shaft that several joints turn stands still if it turns by less."""


STILL = 1e-8
"""rad/s or m/s: what is slower stands still. Loops are closed to 1e-12 only, and rounding must not say which way friction acts."""


TOUCH = 1e-9
"""rad or m: a joint this close to a stop is there."""


class Modes(NamedTuple):
    """sliding: (..., shafts) 1, -1, or 0 while stuck; stopped: (..., stops) 1 at the upper limit, -1 at the lower, 0 if free."""

    sliding: np.ndarray
    stopped: np.ndarray

    @property
    def held(self) -> np.ndarray:
        """(..., shafts + stops): what does not move."""
        return np.concatenate([self.sliding == 0, self.stopped != 0], axis=-1)


class Switching:
    """The accelerations in each mode, and what leads from one to the next; for one state or a batch.

    Attributes:
        rows: (shafts + stops, nv): the speeds of shafts and of joints with stops are `rows @ qd`.
        columns: of each row the only column that is not zero, or -1 where several joints turn a shaft.
        shared: (shafts, stops), true where the stop of a joint also holds the shaft: together they hold it as one.
        names: of their joints.
        lower, upper: limits (stops,) of the coordinates `stop_q`.
        impacts: on stops: where the step began -> when it ended, and the energy (...) that was taken, J.
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
        """Which motions of a batch are concerned, where they are not all: the others need no linear algebra."""
        return None if not rows.ndim or rows.all() or self.dynamics.forces else np.nonzero(rows)

    # in a mode ------------------------------------------------------------------------------------------------------------

    def accelerate(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """qdd (..., nv), and the forces (..., rows) that hold what is held."""
        free = self.dynamics.accelerate(t, q, qd, self.delivered(qd, tau, modes.sliding))
        held = modes.held
        if not held.any():
            return free, np.zeros(held.shape)
        Y, W = self.compliance(q)
        force = masked_solve(W, held, -(free @ self.rows.T))
        return self.with_held_at_rest(free + times(Y, force), held), force

    def speeds(self, qd: np.ndarray) -> np.ndarray:
        """(..., rows), exactly zero at rest."""
        speed = qd @ self.rows.T
        return np.where(abs(speed) <= STILL + REST * (abs(qd) @ abs(self.rows.T)), 0.0, speed)

    def delivered(self, qd: np.ndarray, tau: np.ndarray, sliding: np.ndarray) -> np.ndarray:
        """Joint forces less dry friction of the sliding shafts."""
        if not self.dry:
            return tau
        level = self.dry.level(qd @ self.dry.shafts.T, np.zeros(qd.shape[-1]), np.zeros(self.shafts, bool))
        rest = tau - np.where(sliding > 0, level[0], np.where(sliding < 0, -level[1], 0.0)) @ self.dry.shafts
        if not self.dry.load.any():
            return rest
        viscous = self.dynamics.evaluate("friction_torque", qd=qd)
        part = (self.dry.load * sliding) @ self.dry.shafts  # such a shaft is one joint
        return (rest - viscous) / (1 + part * np.sign(rest - viscous)) + viscous

    def compliance(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Change of qdd by unit forces on the rows (..., nv, rows), and of the rows' own accelerations (..., rows, rows)."""
        Y = self.dynamics.mobility(q) @ self.rows.T
        W = self.rows @ Y
        if self.is_redundant:
            W = W + SOFT * np.trace(W, axis1=-2, axis2=-1)[..., None, None] * np.eye(len(self.rows))
        return Y, W

    def with_held_at_rest(self, v: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Velocities or accelerations, exactly zero where a joint is held: rounding must not set it in motion."""
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
        stopped = np.where(moving == 0, self.at_stops(q), 0.0)  # the others leave: `impact` has seen to it
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
        if slips.any() and self.dry.rise.any():  # what slips is held by less
            level = np.where(slips, self.dry.level(speed[..., : self.shafts], np.zeros(qd.shape), ~slips), level)
            force, lower, upper = self.balance(W, a, level, modes)
        after = a + times(W, force)
        stopped = np.where(force[..., self.shafts :] != 0, stopped, 0.0)
        inside = (force > lower) & (force < upper)
        start = np.where(inside, 0.0, np.sign(after))[..., : self.shafts]
        start = np.where((stopped != 0) @ self.shared.T, 0.0, start)
        return Modes(np.where(sliding == 0, start, sliding), stopped)

    def balance(self, W: np.ndarray, a: np.ndarray, level: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The forces of resting shafts and stops, and their bounds."""
        resting = modes.sliding == 0
        lower = np.concatenate([np.where(resting, -level[0], 0.0), np.where(modes.stopped > 0, -np.inf, 0.0)], axis=-1)
        upper = np.concatenate([np.where(resting, level[1], 0.0), np.where(modes.stopped < 0, np.inf, 0.0)], axis=-1)
        return solve_bounded(W, a, lower, upper), lower, upper

    def static_level(self, load: np.ndarray) -> np.ndarray:
        """(2, ..., shafts): what dry friction can hold; the load (..., nv) is what joint forces and friction hold together."""
        return self.dry.level(np.zeros(self.shafts), load, np.ones(self.shafts, bool))

    def at_stops(self, q: np.ndarray) -> np.ndarray:
        """(..., stops) -1 at or below the lower limit, 1 at or above the upper."""
        x = q[..., self.stop_q]
        return np.where(x <= self.lower + TOUCH, -1.0, np.where(x >= self.upper - TOUCH, 1.0, 0.0))

    def struck(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(...) where a joint at or beyond its limit moves further."""
        return np.asarray((self.at_stops(q) * (qd @ self.rows[self.shafts :].T) > 0).any(-1))

    def is_stopped(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(...) where a joint at or beyond its limit stands still."""
        return np.asarray(((self.speeds(qd)[..., self.shafts :] == 0) & (self.at_stops(q) != 0)).any(-1))

    def impact(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Joints beyond a limit are set onto it; what drives them further is taken by an inelastic impact."""
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
        """`impact` at the end of a step, with the energy that it takes written down, less what the joint forces tau did beyond the
        stop; of steps from the same start the first counts, since others only look for an event within it."""
        after = self.impact(q, qd)
        if after[1] is not qd and start not in self.impacts:
            beyond = self.dynamics.robot.difference(after[0], q)
            self.impacts[start] = end, self.energy(q, qd) - self.energy(*after) - (tau * beyond).sum(-1)
        return after

    def energy(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        evaluate = self.dynamics.evaluate
        return evaluate("kinetic_energy", q=q, qd=qd) + evaluate("potential_energy", q=q)

    def hold(self, q: np.ndarray, qd: np.ndarray, held: np.ndarray) -> np.ndarray:
        """qd without what rounding and truncation added to the rows `held`, which are at rest."""
        if (held[..., self.columns < 0]).any():
            return self.rest(q, qd, held)
        return self.with_held_at_rest(qd, held)

    def rest(self, q: np.ndarray, qd: np.ndarray, held: np.ndarray) -> np.ndarray:
        """qd after impulses that bring the rows `held` to rest."""
        if (some := self.some(held.any(-1))) is not None:
            qd = qd.copy()
            qd[some] = self.at(some).rest(q[some], qd[some], held[some])
            return qd
        Y, W = self.compliance(q)
        return self.with_held_at_rest(qd + times(Y, masked_solve(W, held, -(qd @ self.rows.T))), held)

    def settled(self, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The accelerations as they are, and the joint forces (..., nv) of dry friction and stops behind them."""
        modes = self.decide(t, q, qd, tau)
        qdd, force = self.accelerate(t, q, qd, tau, modes)
        return qdd, self.delivered(qd, tau, modes.sliding) - tau + force @ self.rows
