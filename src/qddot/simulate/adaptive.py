"""Adaptive steps by SciPy's solvers, from event to event.

Between events every dry shaft either slides in a known direction or is stuck, and every joint either is free or rests against a
stop.
Stuck shafts and stops are constraints on the accelerations, whose forces are watched: friction lets go where it would have to
    exceed its static level, a stop where it would have to pull.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import IntegrationError
from qddot.simulate.fixed_step import State, diverged, rest_exactly
from qddot.simulate.friction import DryFriction, without_dry_friction
from qddot.simulate.impulses import solve_impulses
from qddot.simulate.torque import Torque
from qddot.simulate.trajectory import Event

if TYPE_CHECKING:
    from qddot.robot import Robot

FREE, STUCK = 0, 2
MOST_EVENTS = 100_000


@dataclass
class Modes:
    """sliding: (shafts,) 1, -1, or STUCK; stopped: (stops,) 0, -1 at the lower limit, 1 at the upper."""

    sliding: np.ndarray
    stopped: np.ndarray


class Hybrid:
    """The right-hand side in each mode, and what leads from one to the next.

    Args:
        rows: (q, qd) -> (A, b) of constraints `A qdd = b`, or None.
        settle: (q, qd) -> (q, qd), back onto the constraints, or None.
    """

    def __init__(
        self,
        robot: Robot,
        torque: Torque,
        forces: dict[str, Any],
        rows: Callable | None = None,
        settle: Callable | None = None,
        stops: bool = True,
    ) -> None:
        self.robot, self.torque, self.forces, self.rows, self.settle = robot, torque, forces, rows, settle
        self.dry = DryFriction(robot)
        self.smooth = without_dry_friction(robot) if self.dry else robot
        limits, single = robot.limits, [c for c in robot.model.mechanism.coordinates if c.single and stops]
        bounded = [c for c in single if np.isfinite([limits.lower[c.q.start], limits.upper[c.q.start]]).any()]
        self.stop_names = [c.name for c in bounded]
        self.stop_q, self.stop_v = (np.array([getattr(c, x).start for c in bounded], int) for x in "qv")
        self.lower, self.upper = limits.lower[self.stop_q], limits.upper[self.stop_q]
        joints = [
            next(c.name for c in robot.model.mechanism.coordinates if np.flatnonzero(row)[0] in c.v) for row in self.dry.shafts
        ]
        self.shaft_names = joints

    # between events -------------------------------------------------------------------------------------------------------

    def accelerate(self, t: float, q: np.ndarray, qd: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """qdd, and the forces of stuck shafts, stops and constraints, in this order."""
        tau = self.torque(t, q, qd) - self.sliding_friction(q, qd, modes)
        if self.dry.load.any():
            tau = tau / self.load_factors(tau, modes)
        held = self.held(modes)
        if not len(held) and self.rows is None:
            return self.smooth.forward_dynamics(q, qd, tau, **self.forces), np.zeros(0)
        A, b = (held, np.zeros(len(held)))
        if self.rows is not None:
            more, rate = self.rows(q, qd)
            A, b = np.concatenate([held, more]), np.concatenate([b, rate])
        M = self.smooth.mass_matrix(q)
        free = np.linalg.solve(M, tau - self.smooth.bias_torque(q, qd, **self.forces))
        Y = np.linalg.solve(M, A.T)
        force = np.linalg.lstsq(A @ Y, b - A @ free, rcond=1e-12)[0]
        return free + Y @ force, force

    def sliding_friction(self, q: np.ndarray, qd: np.ndarray, modes: Modes) -> np.ndarray:
        if not self.dry:
            return np.zeros(self.robot.nv)
        level = self.dry.level(qd @ self.dry.shafts.T, np.zeros(self.robot.nv), np.zeros(len(modes.sliding), bool))
        return np.where(modes.sliding == 1, level[0], np.where(modes.sliding == -1, -level[1], 0.0)) @ self.dry.shafts

    def load_factors(self, rest: np.ndarray, modes: Modes) -> np.ndarray:
        """See `qddot.algorithms.drives.load_factors`; a stuck shaft passes its load on."""
        factors = np.ones(self.robot.nv)
        for row, part, mode in zip(self.dry.shafts, self.dry.load, modes.sliding):
            if part and mode != STUCK:
                column = int(np.flatnonzero(row)[0])
                factors[column] = 1 + part * mode * np.sign(rest[column])
        return factors

    def held(self, modes: Modes) -> np.ndarray:
        """Rows of what must not accelerate."""
        stops = np.eye(self.robot.nv)[self.stop_v[modes.stopped != FREE]]
        return np.concatenate([self.dry.shafts[modes.sliding == STUCK], stops])

    def slope(self, modes: Modes) -> Callable[[float, np.ndarray], np.ndarray]:
        nq = self.robot.nq

        def f(t: float, y: np.ndarray) -> np.ndarray:
            q, qd = self.robot.normalized(y[:nq]), y[nq:]
            return np.concatenate([self.robot.configuration_rate(q, qd), self.accelerate(t, q, qd, modes)[0]])

        return f

    # events ---------------------------------------------------------------------------------------------------------------

    def watches(self, modes: Modes) -> list[tuple[str, int, Callable[[float, np.ndarray], float]]]:
        """(kind, which, function that crosses zero downward)."""
        nq, found = self.robot.nq, []
        for i, (row, mode) in enumerate(zip(self.dry.shafts, modes.sliding)):
            if mode == STUCK:
                found.append(("slip", i, lambda t, y, i=i: self.reserve(t, y, modes, i)))
            else:
                found.append(("stick", i, lambda t, y, row=row, mode=mode: mode * float(row @ y[nq:])))
        for k, mode in enumerate(modes.stopped):
            i = self.stop_q[k]
            if mode == FREE:
                found.append(("stop", k, lambda t, y, i=i, k=k: min(self.upper[k] - y[i], y[i] - self.lower[k])))
            else:
                found.append(("release", k, lambda t, y, k=k, mode=mode: -mode * self.stop_force(t, y, modes, k)))
        return found

    def reserve(self, t: float, y: np.ndarray, modes: Modes, shaft: int) -> float:
        """What static friction of a stuck shaft could still take, N m."""
        q, qd = self.robot.normalized(y[: self.robot.nq]), y[self.robot.nq :]
        _, force = self.accelerate(t, q, qd, modes)
        own = force[int((modes.sliding[:shaft] == STUCK).sum())]
        level = self.static_level(q, qd)
        return float(min(level[0, shaft] + own, level[1, shaft] - own))

    def static_level(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        still = np.ones(len(self.dry.shafts), bool)
        return self.dry.level(np.zeros(len(still)), self.smooth.bias_torque(q, qd, **self.forces), still)

    def stop_force(self, t: float, y: np.ndarray, modes: Modes, stop: int) -> float:
        q, qd = self.robot.normalized(y[: self.robot.nq]), y[self.robot.nq :]
        _, force = self.accelerate(t, q, qd, modes)
        at = int((modes.sliding == STUCK).sum()) + int((modes.stopped[:stop] != FREE).sum())
        return float(force[at])

    def next_sample(self, t: float) -> float:
        """When the joint forces jump next, if they are sampled."""
        period = self.torque.period
        return np.inf if period is None else (int(t / period * (1 + 1e-12) + 1e-9) + 1) * period

    def initial(self, t: float, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray, Modes]:
        below, above = q[self.stop_q] <= self.lower, q[self.stop_q] >= self.upper
        modes = Modes(np.sign(qd @ self.dry.shafts.T).astype(int), np.where(below, -1, np.where(above, 1, FREE)))
        return self.decide(t, q, qd, modes)

    def decide(self, t: float, q: np.ndarray, qd: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray, Modes]:
        """What rests and what moves from here: impacts on stops first, then a balance of accelerations."""
        sliding, stopped = modes.sliding.copy(), modes.stopped.copy()
        speed = qd @ self.dry.shafts.T
        resting = (speed == 0) | (sliding == STUCK) | (sliding == 0)
        q = q.copy()
        q[self.stop_q] = np.clip(q[self.stop_q], self.lower, self.upper)
        inverse = np.linalg.inv(self.smooth.mass_matrix(q))
        if (stopped != FREE).any():
            rows = np.eye(self.robot.nv)[self.stop_v]
            lower, upper = np.where(stopped == 1, -np.inf, 0.0), np.where(stopped == -1, np.inf, 0.0)
            p = solve_impulses(rows @ inverse @ rows.T, qd[self.stop_v], lower, upper)
            qd = qd + inverse @ rows.T @ p
            qd[self.stop_v] = np.where(p != 0, 0.0, qd[self.stop_v])
            stopped = np.where(qd[self.stop_v] * -stopped > 0, FREE, stopped)  # it leaves by itself
        moving = Modes(np.where(resting, 0, sliding), np.zeros_like(stopped))
        a, _ = self.accelerate(t, q, qd, moving)
        rows = np.concatenate([self.dry.shafts[resting], np.eye(self.robot.nv)[self.stop_v[stopped != FREE]]])
        if not len(rows):
            return q, qd, Modes(sliding, stopped)
        level = self.static_level(q, qd)[:, resting] if self.dry else np.zeros((2, 0))
        sides = stopped[stopped != FREE]
        lower = np.concatenate([-level[0], np.where(sides == 1, -np.inf, 0.0)])
        upper = np.concatenate([level[1], np.where(sides == -1, np.inf, 0.0)])
        W = rows @ inverse @ rows.T
        force = solve_impulses(W, rows @ a, lower, upper)
        after = rows @ a + W @ force
        count = int(resting.sum())
        inside = (force > lower) & (force < upper)
        sliding[resting] = np.where(inside[:count], STUCK, np.sign(after[:count]).astype(int))
        sliding[resting & (sliding == 0)] = STUCK
        stopped[stopped != FREE] = np.where(force[count:] != 0, sides, FREE)
        return q, rest_exactly(qd, self.dry.shafts, resting), Modes(sliding, stopped)


def solve(
    hybrid: Hybrid, q: np.ndarray, qd: np.ndarray, times: np.ndarray, method: str, rtol: float, atol: float, events: list[Event]
) -> Iterator[State]:
    """The states at `times`; what happens on the way is added to `events`."""
    from scipy.integrate import solve_ivp

    robot, nq, n = hybrid.robot, hybrid.robot.nq, 0
    hybrid.torque.begin(times[0], q, qd)
    q, qd, modes = hybrid.initial(times[0], q, qd)
    t, left = float(times[0]), list(map(float, times[1:]))
    yield q, qd
    while left:
        end = min(left[-1], hybrid.next_sample(t))
        hybrid.torque.begin(t, q, qd)
        watches = hybrid.watches(modes)
        samples = [x for x in left if x <= end]
        options = {"t_eval": [*samples, *([end] if end not in samples else [])], "rtol": rtol, "atol": atol}
        try:
            with np.errstate(over="raise", invalid="raise", divide="raise"):
                start = np.concatenate([q, qd])
                run = solve_ivp(hybrid.slope(modes), (t, end), start, method, events=[terminal(f) for *_, f in watches], **options)
        except FloatingPointError:
            raise diverged(robot, n, t, q, qd) from None
        states = [(robot.normalized(y[:nq]), y[nq:]) for y in np.reshape(run.y, (len(start), -1)).T]
        if run.status < 0 or not all(np.isfinite(x).all() for state in states for x in state):
            raise IntegrationError(f"{method} cannot go on after t = {t:g} s: {run.message}", time=t, step=n)
        for when, state in zip(run.t, states):
            if left and when == left[0]:
                left.pop(0)
                n += 1
                yield settled(hybrid, *state)
        if run.status == 0:
            t, (q, qd) = end, settled(hybrid, *states[-1])
            continue
        t, which = min((float(x[0]), i) for i, x in enumerate(run.t_events) if len(x))
        y = run.y_events[which][0]
        q, qd = settled(hybrid, robot.normalized(y[:nq]), y[nq:].copy())
        q, qd, modes = next_mode(hybrid, events, t, q, qd, modes, *watches[which][:2])
        if len(events) > MOST_EVENTS:
            raise IntegrationError(f"more than {MOST_EVENTS} events by t = {t:g} s", time=t, step=n)


def next_mode(
    hybrid: Hybrid, events: list[Event], t: float, q: np.ndarray, qd: np.ndarray, modes: Modes, kind: str, which: int
) -> tuple[np.ndarray, np.ndarray, Modes]:
    """The mode after an event."""
    modes = Modes(modes.sliding.copy(), modes.stopped.copy())
    if kind in ("stick", "slip"):
        name = hybrid.shaft_names[which]
        if kind == "stick":
            one = np.zeros(len(modes.sliding), bool)
            one[which] = True
            qd = rest_exactly(qd, hybrid.dry.shafts, one)
            modes.sliding[which] = STUCK
    else:
        name = hybrid.stop_names[which]
        if kind == "stop":
            i = hybrid.stop_q[which]
            modes.stopped[which] = 1 if hybrid.upper[which] - q[i] < q[i] - hybrid.lower[which] else -1
    events.append(Event(t, kind, name))
    q, qd, modes = hybrid.decide(t, q, qd, modes)
    if kind == "slip" and modes.sliding[which] == STUCK:  # on the very edge: rounding must not hold it for ever
        modes.sliding[which] = 1 if hybrid_force(hybrid, t, q, qd, modes, which) < 0 else -1
    if kind == "release":
        modes.stopped[which] = FREE
    return q, qd, modes


def hybrid_force(hybrid: Hybrid, t: float, q: np.ndarray, qd: np.ndarray, modes: Modes, shaft: int) -> float:
    _, force = hybrid.accelerate(t, q, qd, modes)
    return float(force[int((modes.sliding[:shaft] == STUCK).sum())])


def terminal(f: Callable[[float, np.ndarray], float]) -> Callable[[float, np.ndarray], float]:
    f.terminal, f.direction = True, -1  # type: ignore[attr-defined]
    return f


def settled(hybrid: Hybrid, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return hybrid.settle(q, qd) if hybrid.settle else (q, qd)
