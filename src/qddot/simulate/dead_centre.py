"""Motions of loops past a dead centre, where constraints lose rank for a moment and two branches of the motion meet.

At such a point of a linkage two branches cross. Each is smooth, and so is the motion along it, but the constraints alone no longer
tell them apart: an error in a position is multiplied by one over the smallest singular value sigma of the constraints. So near
such a point

- steps are short compared with the way to it, and every stage is projected onto the constraints;
- once sigma is below `ZONE`, the motion crosses by its Taylor series in time (velocity, acceleration and jerk) to where sigma is as
  large again, so that its momentum decides the branch. There it must satisfy the constraints with its velocity. If it does not, the
  branches only pass close to each other, and the motion goes on in short steps;
- a motion that begins with sigma below `LOST` is found from a state farther along its velocity, from which it is traced back;
- where sigma vanishes and no branch can be chosen, as for a motion that comes to rest there, an error says where and why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from qddot.batched import T
from qddot.compile.arrays import first_index
from qddot.constraints.factored import cholesky
from qddot.constraints.motion_program import NEAR, TURN
from qddot.errors import ConvergenceError, SingularityError
from qddot.simulate.dynamics import Dynamics, within_speed
from qddot.simulate.fixed_step import State, Step, four_stages
from qddot.simulate.modes import Switching
from qddot.simulate.torque import Torque

ENTER, LEAVE = 0.02, 0.03
"""sigma below which an adaptive method leaves the motion to `Passage`, and above which it takes over again."""

ZONE, LOST = 1e-3, 1e-6
"""sigma below which a motion crosses by its series, and below which the constraints no longer determine its direction."""

PART, COARSE = 0.1, 0.5
"""Longest steps, as fractions of the way to a dead centre: of a step near one, and of a fixed step that needs no care."""

STRAIGHT = 1e-10
"""m or rad: how well the series must land on the constraints. Branches that miss each other by d leave about d^2."""

SLOW = 0.2
"""Fraction of its speed that a motion may gain or lose while it crosses; with more it might come to rest, or turn back."""

ASTRAY = 0.05
"""Largest difference between the initial velocity and that of the motion found from it, as a fraction of the speed. Rounding of
positions turns the velocity by eps / sigma^2."""

ONWARDS = 4
"""Corrections of a motion that begins next to a dead centre: each reduces the error a thousandfold."""

ABOUT = 8
"""Configurations that are examined before a motion begins."""

RANK = 1e-9
"""sigma of rows that are always dependent on others is below this."""

MOST, WILD = 3_000, 50.0
"""Most short steps within one step, and the largest change of the columns in it: beyond, the motion has run away."""

Accelerate = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


class Regularity:
    """Distance sigma of the constraints from losing rank, in motions of a robot.

    sigma is the smallest singular value of `L^-1 A^T`, `M = L L^T`, that is not always zero, with each column divided by the
    largest length it has had.

    Args:
        q: the first states (..., nq).

    Raises:
        SingularityError: the constraints have lost rank there.
    """

    def __init__(self, dynamics: Dynamics, q: np.ndarray) -> None:
        assert dynamics.constraints is not None
        self.dynamics, self.constraints = dynamics, dynamics.constraints
        X = self.columns(q)
        self.size = np.maximum.reduce([np.linalg.norm(x, axis=-2) for x in (X, *map(self.columns, self.elsewhere(q)))])
        self.rank = (self.values(X, self.size) > RANK).sum(-1)
        if (self.rank < X.shape[-1]).any():
            self.refuse_dead_centre(q)

    @cached_property
    def is_regular(self) -> bool:
        """True if the rows that are independent in general are so in these motions."""
        return self.constraints.is_compiled and bool((self.rank == len(self.constraints.independent)).all())

    def elsewhere(self, q: np.ndarray) -> Iterator[np.ndarray]:
        """Yield random configurations, which show the usual size of the columns: at a dead centre itself some are zero."""
        robot, rng = self.dynamics.robot, np.random.default_rng(0)
        turns = np.zeros(robot.nv)
        for c in robot.model.mechanism.coordinates:
            turns[c.v.start : c.v.stop] = 1.0 if c.parts[-1].angle or c.parts[-1].quaternion else 0.0
        for _ in range(ABOUT):
            yield robot.integrate(q, turns * rng.uniform(-1, 1, robot.nv))

    def columns(self, q: np.ndarray, motion: tuple = ()) -> np.ndarray:
        """Return L^-1 A^T (..., nv, k)."""
        dynamics = self.dynamics.at(motion)
        M, (A,) = dynamics.evaluate("mass_matrix", q=q), self.constraints.values(("A",), q)
        return np.linalg.solve(cholesky(M, dynamics.robot.name), T(A))

    @staticmethod
    def scaled(X: np.ndarray, size: np.ndarray) -> np.ndarray:
        return X / np.where(size > 0, size, 1.0)[..., None, :]

    def values(self, X: np.ndarray, size: np.ndarray) -> np.ndarray:
        return np.linalg.svd(self.scaled(X, size), compute_uv=False)

    def sigma(self, X: np.ndarray, motion: tuple = ()) -> np.ndarray:
        """Return the smallest singular value within the rank (...); 1 where there are no constraints."""
        s, rank = self.values(X, self.size[motion]), self.rank[motion]
        found = np.take_along_axis(s, np.maximum(np.asarray(rank)[..., None] - 1, 0), -1)[..., 0]
        return np.where(rank > 0, found, 1.0)

    def at(self, q: np.ndarray, motion: tuple = ()) -> float:
        return float(self.sigma(self.columns(q, motion), motion))

    def rates(self, q: np.ndarray, qd: np.ndarray, motion: tuple = ()) -> tuple[float, float]:
        """Return the rate of sigma, and the size of the columns' rate, 1/s."""
        h = 1e-7 / (np.abs(qd).max() or 1.0)
        before, after = (self.columns(self.dynamics.robot.integrate(q, x * qd), motion) for x in (-h, h))
        growth = self.sigma(after, motion) - self.sigma(before, motion)
        return float(growth) / (2 * h), float(np.linalg.norm(self.scaled(after - before, self.size[motion]))) / (2 * h)

    def risky(self, q: np.ndarray, qd: np.ndarray, h: float) -> np.ndarray:
        """Return (...) True where constraints may (nearly) lose rank within a step: the columns change by much of sigma."""
        ahead = self.dynamics.robot.integrate(q, h * qd)
        maybe = np.ones(q.shape[:-1], bool)
        if self.is_regular:  # excludes most states without a decomposition
            found, rows = [self.constraints.regularity(x) for x in (q, ahead)], self.constraints.independent
            self.size = np.maximum.reduce([self.size, *(np.sqrt(squares) for _, squares in found)])
            size = np.where(self.size > 0, self.size, 1.0) ** 2
            parts = [(pivots / size)[..., rows].min(-1, initial=1.0) for pivots, _ in found]
            maybe = np.minimum(*parts) <= np.maximum(NEAR, TURN * h * np.abs(qd).max(-1)) ** 2
            if not maybe.any():
                return maybe
        X, X1 = self.columns(q), self.columns(ahead)
        change = np.linalg.norm(self.scaled(X1 - X, self.size), axis=(-2, -1))
        return maybe & (np.minimum(self.sigma(X), self.sigma(X1)) < np.maximum(change / COARSE, ZONE))

    def refuse_dead_centre(self, q: np.ndarray) -> None:
        """Refuse a first state that is a dead centre, where states beside it have a higher rank."""
        rng = np.random.default_rng(0)
        for _ in range(2):
            try:
                beside = self.constraints.project(
                    self.dynamics.robot.integrate(q, 1e-3 * rng.normal(size=self.dynamics.robot.nv)), 1e-12
                )
            except ConvergenceError:
                continue
            more = (self.values(self.columns(beside), self.size) > RANK).sum(-1) > self.rank
            if more.any():
                motion = first_index(more)
                raise SingularityError(
                    f"the constraints lose rank in the first state{f' of motion {list(motion)}' if motion else ''}, q = "
                    f"{np.round(q[motion], 6).tolist()}: branches of the motion meet there, a dead centre. Start beside it, on one."
                )


class Series(NamedTuple):
    """A motion from one state on, given by its derivatives there, up to the time `until`."""

    t: float
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    jerk: np.ndarray
    until: float

    def at(self, robot, t: float) -> State:
        x = t - self.t
        displacement = x * self.qd + x**2 / 2 * self.qdd + x**3 / 6 * self.jerk
        return robot.integrate(self.q, displacement), self.qd + x * self.qdd + x**2 / 2 * self.jerk


class Passage:
    """Takes single motions past dead centres; a series that is not finished at the end of a step is kept for the next one."""

    def __init__(self, regularity: Regularity) -> None:
        self.regularity, self.robot = regularity, regularity.dynamics.robot
        self.across: dict[tuple, Series] = {}  # by motion and time

    def go(
        self, t: float, q: np.ndarray, qd: np.ndarray, end: float, accelerate: Accelerate, motion: tuple = (), leave: float = np.inf
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Return t, q and qd at `end`, or as soon as sigma has grown to `leave`. Raises SingularityError: no branch can be chosen;
        FloatingPointError: the motion has run away."""
        dynamics, regular = self.regularity.dynamics.at(motion), self.regularity
        series = self.across.get((motion, t))
        if series is not None and not np.array_equal(series.at(self.robot, t)[0], q):
            series = None  # it belongs to another motion
        for _ in range(MOST):
            if series is not None:
                if series.until > end:
                    self.across[motion, end] = series
                    return end, *series.at(self.robot, end)
                t, (q, qd), series = series.until, dynamics.settle(*series.at(self.robot, series.until)), None
            left, sigma, (rate, turn) = end - t, regular.at(q, motion), regular.rates(q, qd, motion)
            if left <= 0 or (sigma > leave and rate > 0):
                return t, q, qd
            if turn * left > WILD:
                raise FloatingPointError("the motion has run away")
            longest = PART * sigma / turn if turn else np.inf
            if sigma < ZONE and rate < 0:
                series = self.straight(t, q, qd, sigma, -rate, accelerate, motion)
                if series is not None:
                    continue
            if sigma < LOST:
                series = self.onwards(t, q, qd, turn, accelerate, motion)
                if series is not None:
                    continue
                break
            h = left if left <= longest else longest
            q, qd = dynamics.settle(*self.step(t, q, qd, h, accelerate, dynamics))
            t = end if h == left else t + h
        else:
            raise FloatingPointError(f"more than {MOST} short steps would be needed near a dead centre")
        rank = int(np.broadcast_to(regular.rank, regular.size.shape[:-1])[motion])
        raise SingularityError(
            f"at t = {t:.6g} s the loop comes to a dead centre, q = {np.round(q, 6).tolist()}, where only {rank - 1} of {rank} "
            f"rows of the constraints are independent; the speed there, {np.abs(qd).max():.3g}, does not decide on which branch it "
            "goes on. Give it more speed, along one of them, or keep it off by stops"
        )

    def straight(
        self, t: float, q: np.ndarray, qd: np.ndarray, sigma: float, rate: float, accelerate: Accelerate, motion: tuple
    ) -> Series | None:
        """Return the series across a dead centre, if it ends on the constraints on the other side; else None."""
        dynamics, regular = self.regularity.dynamics.at(motion), self.regularity
        series = self.series(t, q, qd, accelerate, motion, t + 2 * sigma / rate)
        if np.abs(series.qdd).max() * (series.until - t) > SLOW * np.abs(qd).max():
            return None
        there, speed = series.at(self.robot, series.until)
        gap = self.regularity.constraints.holonomic().values(("phi",), there)[0]
        if not np.abs(gap).max(initial=0) <= STRAIGHT:
            return None
        try:
            landed, kept = dynamics.settle(there, speed)
        except (ConvergenceError, SingularityError, FloatingPointError):
            return None
        is_smooth = np.abs(kept - speed).max() <= 1e-5 * np.abs(speed).max()
        return series if is_smooth and 0.3 * sigma < regular.at(landed, motion) < 3 * sigma else None

    def onwards(self, t: float, q: np.ndarray, qd: np.ndarray, turn: float, accelerate: Accelerate, motion: tuple) -> Series | None:
        """Return the series of a motion that begins next to a dead centre, to where sigma is about `ZONE`; None if there is none.

        It is the series about its end, whose position and speed are corrected until, traced back, it begins in the given state.
        """
        dynamics, regular = self.regularity.dynamics.at(motion), self.regularity
        if not turn:
            return None
        ahead, momentum = ZONE / turn, dynamics.evaluate("mass_matrix", q=q) @ qd
        try:
            sigma = regular.at(dynamics.settle(self.robot.integrate(q, ahead * qd), qd)[0], motion)
            ahead *= min(max(ZONE / sigma, 1.0), 30.0)
            far, speed = dynamics.settle(self.robot.integrate(q, ahead * qd), qd)
            for _ in range(ONWARDS):
                series = self.series(t + ahead, far, speed, accelerate, motion, t + ahead)
                if np.abs(series.qdd).max() * ahead > SLOW * np.abs(qd).max():
                    return None
                begin, along = series.at(self.robot, t)
                if np.abs(along - qd).max() > ASTRAY * np.abs(qd).max():
                    return None
                off = self.robot.difference(begin, q)
                far, speed = dynamics.settle(self.robot.integrate(far, off), speed * (qd @ momentum) / (along @ momentum))
        except (ConvergenceError, SingularityError, FloatingPointError):
            return None
        return series if np.abs(off).max() <= ZONE**2 else None

    def series(self, t: float, q: np.ndarray, qd: np.ndarray, accelerate: Accelerate, motion: tuple, until: float) -> Series:
        """Return the series of the motion from a state on; its jerk is a difference of accelerations."""
        regular = self.regularity
        dynamics, back = regular.dynamics.at(motion), PART * regular.at(q, motion) / regular.rates(q, qd, motion)[1]
        before = dynamics.settle(*self.step(t, q, qd, -back, accelerate, dynamics))
        qdd = accelerate(t, q, qd)
        return Series(t, q, qd, qdd, (qdd - accelerate(t - back, *before)) / back, until)

    def step(self, t: float, q: np.ndarray, qd: np.ndarray, h: float, accelerate: Accelerate, dynamics: Dynamics) -> State:
        """Take a Runge-Kutta step whose stages are all on the constraints; off them, errors would be multiplied by 1 / sigma."""
        rate, unit = self.robot.configuration_rate, self.robot.normalized

        def slope(t: float, q: np.ndarray, qd: np.ndarray) -> State:
            q, qd = dynamics.settle(q, qd)
            return rate(q, qd), accelerate(t, q, qd)

        return four_stages(slope, unit, t, unit(q), qd, h)


class PastDeadCentres:
    """Fixed steps of any method, with those in which constraints may lose rank left to `Passage`.

    Args:
        step: of the method.
        q: the first states.
        has_whole_step: True if the method is that of the compiled `whole_step`.
    """

    def __init__(self, step: Step, switching: Switching, torque: Torque, q: np.ndarray, *, has_whole_step: bool) -> None:
        self.step, self.switching, self.torque = step, switching, torque
        self.regularity = Regularity(switching.dynamics, q)
        self.passage = Passage(self.regularity)
        self.squares = self.regularity.size**2  # kept beside `size`: squaring its roots again would round
        self.whole = None
        if has_whole_step and self.regularity.is_regular:
            self.whole = self.regularity.constraints.repeated("whole_step")

    def __call__(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        if self.whole is None:
            return self.with_care(t, q, qd, h)
        self.torque.begin(t, q, qd)
        tau = self.torque(t, q, qd)
        (*end, squares), doubtful = self.whole.tried(**self.given(q=q, qd=qd, squares=self.squares, tau=tau, dt=h))
        if doubtful.any():
            self.regularity.size, here = np.sqrt(self.squares), doubtful[..., None]
            end = [np.where(here, a, b) for a, b in zip(self.with_care(t, q, qd, h), end)]
            squares = np.where(here, np.maximum(self.squares, self.regularity.size**2), squares)
        self.squares = squares
        return end[0], end[1]

    def ahead(self, times: np.ndarray, q: np.ndarray, qd: np.ndarray) -> State:
        """Return the states of one motion after some of the next steps (see `qddot.simulate.fixed_step.Ahead`)."""
        if self.whole is None:
            return q[None][:0], qd[None][:0]
        self.torque.begin(float(times[0]), q, qd)
        tau = self.torque.ahead(times, q, qd)
        state, rest = (q, qd, self.squares), self.given(tau=tau, dt=np.diff(times[: len(tau) + 1])[:, None])
        (qs, qds, squares), n = self.whole.ahead(len(tau), state, **rest)
        sure = within_speed(qs[:n], qds[:n])
        n = n if sure.all() else int(sure.argmin())
        if n:
            self.squares = squares[n - 1].copy()
        return qs[:n], qds[:n]

    def given(self, **inputs: Any) -> dict[str, Any]:
        return self.regularity.constraints.given(**inputs)

    def with_care(self, t: float, q: np.ndarray, qd: np.ndarray, h: float) -> State:
        """Take the method's step, except for motions in which constraints may lose rank."""
        risky = self.regularity.risky(q, qd, h)
        if not risky.any():
            return self.step(t, q, qd, h)
        self.torque.begin(t, q, qd)
        end = q.copy(), qd.copy()
        if not risky.all():  # step the others, each as it would be alone
            safe = first_index(~risky)
            stand_in = [np.where(risky[..., None], x[safe], x) for x in (q, qd)]
            end = self.step(t, stand_in[0], stand_in[1], h)
        for motion in map(tuple, np.argwhere(risky).tolist()):
            _, *state = self.passage.go(t, q[motion], qd[motion], t + h, self.accelerate(q.shape[:-1], motion), motion)
            end[0][motion], end[1][motion] = state
        return end

    def accelerate(self, batch: tuple[int, ...], motion: tuple) -> Accelerate:
        """Return the accelerations of one motion; where its forces cannot be separated from the batch's, compute the whole
        batch."""
        whole = bool(batch) and (not self.torque.is_held or bool(self.switching.dynamics.forces))
        switching = self.switching if whole else self.switching.at(motion)

        def f(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            if whole:
                q, qd = (np.broadcast_to(x, (*batch, x.shape[-1])) for x in (q, qd))
            tau = self.torque(t, q, qd)
            tau = np.broadcast_to(tau, (*batch, tau.shape[-1]))
            return accelerations(switching, t, q, qd, tau if whole else tau[motion])[motion if whole else ()]

        return f


def accelerations(switching: Switching, t: float, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return qdd in the mode of the state."""
    if not switching:
        return switching.dynamics.accelerate(t, q, qd, tau)
    return switching.accelerate(t, q, qd, tau, switching.decide(t, q, qd, tau))[0]
