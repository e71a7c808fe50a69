"""Adaptive steps by SciPy's solvers from event to event; between two events the mode does not change and the motion is smooth."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator

import numpy as np

from qddot.errors import ConvergenceError, InputWarning, IntegrationError, QddotError, SingularityError
from qddot.model import configuration
from qddot.simulate.dead_centre import ENTER, LEAVE, Passage, Regularity, accelerations
from qddot.simulate.dynamics import refuse_run_away
from qddot.simulate.events import Event, Moment, Watch, march
from qddot.simulate.fixed_step import FIX, stopped
from qddot.simulate.modes import TOUCH, Modes, Switching
from qddot.simulate.torque import Torque

MOST_AT_ONCE = 100
"""With this many events at one time, they are taken to repeat without end."""

ARMED = 1e-12
"""rad/s or m/s: a sliding shaft has come to rest when its speed in the opposite direction reaches this."""

LOOK = 0.01
"""s: longest step while something is held and forces depend on time. At rest the solver would take long steps, and miss a force
that comes and goes."""

AHEAD = 0.5
"""Longest run of a solver, as a fraction of the time until constraints might lose rank."""

Function = Callable[[float, np.ndarray], float]


class Adaptive:
    """One motion by a method of `scipy.integrate.solve_ivp`.

    Args:
        switching: the robot's modes.
        watches: the caller's events.
        found: the list to which events are added.
    """

    def __init__(self, switching: Switching, torque: Torque, watches: list[Watch], found: list[Event]) -> None:
        self.switching, self.torque, self.watches, self.found = switching, torque, watches, found
        self.dynamics, self.is_lost = switching.dynamics, False
        self.robot = self.dynamics.robot
        self.varies = not torque.is_held or self.dynamics.forces.is_time_dependent

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split a solver's state into q and qd."""
        return configuration.normalized(self.robot.model.mechanism, y[: self.robot.nq]), y[self.robot.nq :]

    def settled(self, y: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        """Return the state projected onto the constraints, with held rows exactly at rest."""
        q, qd = self.dynamics.settle(*self.split(y))
        return q, self.switching.hold(q, qd, modes.held)

    def tau(self, t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return np.broadcast_to(self.torque(t, q, qd), qd.shape)

    def solve(self, q: np.ndarray, qd: np.ndarray, times: np.ndarray, method: str, rtol: float, atol: float) -> Iterator[Moment]:
        """Yield the states at `times`, up to a terminal event. Raises IntegrationError: the motion diverges, the solver's step
        vanishes, or events repeat without end."""
        from scipy.integrate import solve_ivp

        t, n, last = float(times[0]), 1, float(times[-1])
        self.torque.begin(t, q, qd)
        q, qd = self.switching.impact(q, qd)
        modes = self.switching.decide(t, q, qd, self.tau(t, q, qd))
        yield t, q, qd
        centres = None if self.dynamics.constraints is None else Regularity(self.dynamics, q)
        passage = None if centres is None else Passage(centres)
        is_close = centres is not None and centres.at(q) < ENTER
        while n < len(times):
            self.torque.begin(t, q, qd)
            end = min(last, self.torque.next_jump(t))
            if passage is not None and is_close:
                moments = list(self.pass_by(passage, t, q, qd, min(end, float(times[n]))))
                ended, (t, q, qd) = len(moments) > 2, moments[-1]
                if t == times[n] or ended:
                    n += 1
                    yield t, q, qd
                if ended:
                    return
                modes, is_close = self.switching.decide(t, q, qd, self.tau(t, q, qd)), passage.regularity.at(q) < LEAVE
                continue
            if centres is not None:
                _, turn = centres.rates(q, qd)
                end = min(end, t + AHEAD * centres.at(q) / turn) if turn else end  # no step may jump over a dead centre
            ahead = int(np.searchsorted(times, end, side="right"))
            at = np.append(times[n:ahead], [] if ahead > n and times[ahead - 1] == end else [end])
            changes, y0 = self.changes(modes), np.concatenate([q, qd])
            longest = LOOK if modes.held.any() and self.varies else np.inf
            how = {"method": method, "t_eval": at, "rtol": rtol, "atol": atol, "max_step": longest}
            watched = [marked(f, True, -1) for *_, f in changes] + [self.watched(w) for w in self.watches]
            if centres is not None:
                watched.append(marked(lambda t, y: centres.at(self.split(y)[0]) - ENTER, True, -1))
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore", InputWarning)  # trial steps may leave the sensible range
                self.is_lost = False
                try:
                    run = solve_ivp(self.slope(modes), (t, end), y0, events=watched, **how)  # type: ignore[arg-type]
                except ValueError as error:  # implicit methods factor matrices that are not finite
                    if not self.is_lost or isinstance(error, QddotError):
                        raise
                    raise stopped(self.robot, n, t, qd, why=f"{FIX} ({method}: {error})") from error
            if run.status < 0 or not np.isfinite(run.y).all():
                when, last_qd = (float(run.t[-1]), run.y[self.robot.nq :, -1]) if len(run.t) else (t, qd)
                raise stopped(self.robot, n + len(run.t), when, last_qd, why=f"{FIX} ({method}: {run.message})")
            states = [self.settled(y, modes) for y in np.reshape(run.y, (len(y0), -1)).T]
            for when, (q, qd) in zip(run.t, states):
                if n < len(times) and when == times[n]:
                    n += 1
                    yield float(when), q, qd
            ended = self.note(run.t_events[len(changes) : len(changes) + len(self.watches)])
            if run.status == 0:
                t, (q, qd) = end, states[-1]
                if not self.torque.is_constant:
                    modes = self.switching.decide(t, q, qd, self.tau(t, q, qd))
                continue
            t, which = min((float(x[0]), i) for i, x in enumerate(run.t_events) if len(x) and watched[i].terminal)
            q, qd = self.settled(run.y_events[which][0], modes)
            if ended:
                yield t, q, qd
                return
            if which == len(changes) + len(self.watches):
                is_close = True
                continue
            q, qd, modes = self.change(t, q.copy(), qd, modes, *changes[which][:2])
            at_once = self.found[-MOST_AT_ONCE:]
            if len(at_once) == MOST_AT_ONCE and at_once[0].time == t:
                what = ", ".join(sorted({f"{e.kind} of {e.joint!r}" for e in at_once}))
                raise IntegrationError(
                    f"at t = {t:g} s {what} alternate without end: use method='rk4', or change friction or stops",
                    time=t,
                    step=n,
                    joint=at_once[-1].joint,
                )

    def pass_by(self, passage: Passage, t: float, q: np.ndarray, qd: np.ndarray, end: float) -> Iterator[Moment]:
        """Yield the present state, then that at `end` or beyond a dead centre; if an event ends the simulation, its state twice."""
        accelerate = lambda t, q, qd: accelerations(self.switching, t, q, qd, self.tau(t, q, qd))  # noqa: E731
        try:
            after, *_ = passage.go(t, q, qd, end, accelerate, leave=LEAVE)
            step = lambda t, q, qd, h: passage.go(t, q, qd, after if h == after - t else t + h, accelerate)[1:]  # noqa: E731
            reached = t
            for moment in march(step, q, qd, np.array([t, after]), np.ones(2, bool), self.watches, self.found):
                reached = moment[0]
                yield moment
            if reached != after:
                yield moment
        except (SingularityError, ConvergenceError, FloatingPointError) as error:
            raise stopped(self.robot, 0, t, qd, "cannot go on", str(error)) from error

    def slope(self, modes: Modes) -> Callable[[float, np.ndarray], np.ndarray]:
        """Return the right-hand side in one mode; it is NaN where it does not exist, so that the solver takes a shorter step."""

        def f(t: float, y: np.ndarray) -> np.ndarray:
            q, qd = self.split(y)
            try:
                refuse_run_away(q, qd)
                return np.concatenate([configuration.rate(self.robot.model.mechanism, q, qd), self.accelerate(t, q, qd, modes)[0]])
            except (FloatingPointError, SingularityError):
                self.is_lost = True
                return np.full(y.shape, np.nan)

        return f

    def accelerate(self, t: float, q: np.ndarray, qd: np.ndarray, modes: Modes) -> tuple[np.ndarray, np.ndarray]:
        tau = self.tau(t, q, qd)
        if not self.switching:
            return self.dynamics.accelerate(t, q, qd, tau), np.zeros(0)
        return self.switching.accelerate(t, q, qd, tau, modes)

    # events ---------------------------------------------------------------------------------------------------------------

    def watched(self, w: Watch) -> Function:
        """Return the caller's event as SciPy needs it; a value that begins at zero, and stays there, has not crossed zero."""
        is_zero = True

        def f(t: float, y: np.ndarray) -> float:
            nonlocal is_zero
            value = w.value(t, *self.split(y))
            is_zero = is_zero and value == 0
            return np.nan if is_zero else value

        return marked(f, w.terminal, w.direction)

    def note(self, times: list[np.ndarray]) -> bool:
        """Keep the caller's events; return True if one of them ends the simulation."""
        happened = sorted((float(t), i) for i, found in enumerate(times) for t in found)
        self.found.extend(Event(t, self.watches[i].name) for t, i in happened)
        return any(self.watches[i].terminal for _, i in happened)

    def changes(self, modes: Modes) -> list[tuple[str, int, Function]]:
        """Return (kind, row, function that crosses zero downward) for each event that ends the mode.

        Functions begin a little above zero when a joint has just left a stop or begun to slide, so that SciPy does not take this
        for the event.
        """
        s, nq, found = self.switching, self.robot.nq, []
        against_stop = s.shared @ (modes.stopped != 0)
        for k, mode in enumerate(modes.sliding):
            if against_stop[k]:
                continue  # released by its stop
            if mode == 0:
                found.append(("slip", k, lambda t, y, k=k: self.reserve(t, y, modes, k)))
            else:
                found.append(("stick", k, lambda t, y, k=k, mode=mode: mode * float(s.rows[k] @ y[nq:]) + ARMED))
        for k, mode in enumerate(modes.stopped):
            row, i = s.shafts + k, s.stop_q[k]
            if mode == 0:
                found.append(("stop", row, lambda t, y, i=i, k=k: min(s.upper[k] - y[i], y[i] - s.lower[k]) + TOUCH))
            else:
                found.append(("release", row, lambda t, y, k=k: self.grip(t, y, modes, k)))
        return found

    def force(self, t: float, y: np.ndarray, modes: Modes) -> np.ndarray:
        """Return the forces, row by row, that hold stuck shafts and joints on stops."""
        return self.accelerate(t, *self.split(y), modes)[1]

    def grip(self, t: float, y: np.ndarray, modes: Modes, stop: int) -> float:
        """Return the force that could be added before a joint leaves its stop, N m: its push on the stop plus static friction."""
        s, (q, qd) = self.switching, self.split(y)
        side, column, force = modes.stopped[stop], s.columns[s.shafts + stop], self.force(t, y, modes)
        push = -side * (force @ s.rows)[column]
        friction = 0.0
        for k in np.flatnonzero(s.shared[:, stop]):
            ratio = s.rows[k, column]
            friction += abs(ratio) * s.static_level(self.tau(t, q, qd) + force @ s.rows)[0 if -side * ratio > 0 else 1, k]
        return float(push + friction)

    def reserve(self, t: float, y: np.ndarray, modes: Modes, shaft: int) -> float:
        """Return the additional force that static friction of a stuck shaft could hold, N m."""
        force = self.force(t, y, modes)
        level, own = self.switching.static_level(self.tau(t, *self.split(y)) + force @ self.switching.rows), force[shaft]
        return float(min(level[0, shaft] + own, level[1, shaft] - own))

    def change(
        self, t: float, q: np.ndarray, qd: np.ndarray, modes: Modes, kind: str, row: int
    ) -> tuple[np.ndarray, np.ndarray, Modes]:
        """Return state and mode after an event."""
        s, one = self.switching, np.arange(len(self.switching.rows)) == row
        self.found.append(Event(t, kind, s.names[row]))
        if kind == "stick":
            qd = s.rest(q, qd, modes.held | one)
        if kind == "stop":
            i, k = s.stop_q[row - s.shafts], row - s.shafts
            q[i] = s.upper[k] if s.upper[k] - q[i] < q[i] - s.lower[k] else s.lower[k]
            q, qd = s.metered_impact(t, t, q, qd, self.tau(t, q, qd))
        after = s.decide(t, q, qd, self.tau(t, q, qd))
        if kind == "slip" and after.sliding[row] == 0:  # at the limit exactly: rounding must not hold it for ever
            after.sliding[row] = -np.sign(self.accelerate(t, q, qd, modes)[1][row])
        if kind == "release":
            stop = row - s.shafts
            after.stopped[stop] = 0
            for k in np.flatnonzero(s.shared[:, stop]):  # their friction has reached its limit, too
                after.sliding[k] = -modes.stopped[stop] * np.sign(s.rows[k, s.columns[k]])
        return q, qd, after


def marked(f: Function, terminal: bool, direction: float) -> Function:
    """Return an event function with the attributes that SciPy reads."""
    f.terminal, f.direction = terminal, direction  # type: ignore[attr-defined]
    return f
