"""Planning of the motion that determines a robot's dynamic parameters best (`robot.excitation`)."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import file_path, finite_array, positive_number, whole_number, word
from qddot.errors import ConvergenceError, InputError, as_written
from qddot.identify.excitation.clearance import Box, Clearance
from qddot.identify.excitation.first_motions import random_motion, recorded_motion
from qddot.identify.excitation.fourier import Fourier
from qddot.identify.excitation.problem import FRICTION, Bounds, Experiment
from qddot.identify.fit import Fit
from qddot.logs.log import Log
from qddot.pictures.look import beside, color, curves, panels, units
from qddot.robot import Robot, RobotLimits
from qddot.thresholds import (
    FINE_STEP,
    KNOWN_STATES,
    LONGEST_RAMP,
    MOST_SAMPLES,
    OVERLAP_PENALTY,
    SERIES_DRAWN,
    SMOOTH_SPEED,
    TIGHTER,
)

POOR = "a random motion that keeps no limits shows more: more starts or iterations may find a better one"


class Margins(NamedTuple):
    """The smallest distance to each kind of limit over the whole motion; inf where there is no limit. None is negative."""

    position: float
    velocity: float
    acceleration: float
    torque: float
    distance: float


@dataclass(frozen=True, repr=False)
class Excitation:
    """A motion from rest to rest within the limits, with `q(t)`, `qd(t)`, `qdd(t)`.

    Attributes:
        robot: the robot that it was planned for.
        shape: period, harmonics and blends.
        coefficients: coefficients of the series and the blends (nv, unknowns), see `Fourier`.
        information: information matrix of the base parameters, friction included (b, b): mean of `Y_B^T W Y_B` over a period.
        margins: distances to the limits, on a grid of 1 ms.
        random_log_det: log-determinant of the best random series, with which the search began.

    >>> limits = qddot.Limits(-1.5, 1.5, velocity=2.0)
    >>> arm = qddot.Builder("arm").body("rod", axis="y", mass=1, com=(0.3, 0, 0), limits=limits).robot()
    >>> plan = arm.excitation(period=5.0, harmonics=2, starts=1, iterations=5, acceleration=10.0)
    >>> plan.duration, plan.q(0.0).shape
    (9.0, (1,))
    >>> bool(abs(plan.qd(0.0)).max() + abs(plan.qdd(0.0)).max() < 1e-9)  # it begins at rest
    True
    >>> t, q, qd, qdd = plan.sample(rate=100)
    >>> plan.to_csv("plan.csv", rate=100)
    >>> panels = plan.plot()
    """

    robot: Robot
    shape: Fourier
    coefficients: np.ndarray
    information: np.ndarray
    margins: Margins
    random_log_det: float

    @property
    def duration(self) -> float:
        """Duration of the whole motion, blends included, s."""
        return float(self.shape.duration)

    @property
    def rank(self) -> int:
        """Number of base parameters that the motion is planned for."""
        return len(self.information)

    @property
    def log_det(self) -> float:
        """Log-determinant of the information, which grows by 2 log 2 for each parameter whose standard deviation is halved."""
        return log_det(self.information)

    @property
    def condition_number(self) -> float:
        """Condition number of the base regressor with columns of length 1, rows weighted by the noise."""
        size = np.sqrt(np.diagonal(self.information))
        return float(np.sqrt(np.linalg.cond(self.information / np.outer(size, size))))

    def q(self, t: ArrayLike) -> np.ndarray:
        """Positions (..., nv) at times t (...), in s from the start; at rest before it and after the end."""
        return self._at(t, 0)

    def qd(self, t: ArrayLike) -> np.ndarray:
        """Velocities (..., nv)."""
        return self._at(t, 1)

    def qdd(self, t: ArrayLike) -> np.ndarray:
        """Accelerations (..., nv)."""
        return self._at(t, 2)

    def _at(self, t: ArrayLike, derivative: int) -> np.ndarray:
        t = finite_array("t", t)
        return (self.shape.basis(t.ravel(), derivative) @ self.coefficients.T).reshape(*t.shape, len(self.coefficients))

    def sample(self, rate: float = 1000.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(t, q, qd, qdd) at `rate` in Hz."""
        rate = positive_number("rate", rate)
        if not self.duration * rate < MOST_SAMPLES:
            raise InputError(f"rate={rate:g}: {self.duration * rate:.3g} samples are over the limit of {MOST_SAMPLES:.0e}")
        t = np.arange(int(self.duration * rate) + 1) / rate
        return t, self.q(t), self.qd(t), self.qdd(t)

    def to_csv(self, path: str | Path, rate: float = 1000.0) -> None:
        """Write t, q, qd, qdd to a CSV file, a column a joint (`q_<joint>`), in SI units and with all digits."""
        names = self.robot.joint_names
        t, *rows = self.sample(rate)
        with open(file_path("path", path), "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["t", *(f"{kind}_{name}" for kind in ("q", "qd", "qdd") for name in names)])
            writer.writerows(np.column_stack([t, *rows]).tolist())

    def plot(self, ax: Any = None) -> np.ndarray:
        """Draw positions, speeds, accelerations and torques over time (needs the extra `plot`); returns the four axes.

        Args:
            ax: four axes to draw in; None: a new figure.
        """
        t, q, qd, qdd = self.sample(200.0)
        mechanism = self.robot.model.mechanism
        found = panels(ax, 4, size=(8, 8))
        for each, values, what, *both in (
            (found[0], q, "positions q", "rad", "m"),
            (found[1], qd, "speeds qd", "rad/s", "m/s"),
            (found[2], qdd, "accelerations qdd", "rad/s²", "m/s²"),
            (found[3], self.robot.inverse_dynamics(q, qd, qdd), "joint forces tau", "N m", "N"),
        ):
            curves(each, t, values, self.robot.joint_names, what, units(mechanism, *both))
            each.axvspan(self.shape.ramp, self.duration - self.shape.ramp, color=color("inertial"), alpha=0.05, linewidth=0)
        beside(found[0])
        found[-1].set_xlabel("t [s]")
        return found

    def __repr__(self) -> str:
        kept = ", ".join(f"{name} {value:.3g}" for name, value in self.margins._asdict().items() if np.isfinite(value))
        unseen = ", ".join(name for name, value in self.margins._asdict().items() if np.isinf(value))
        return (
            f"Excitation of {self.robot.name!r}: {self.duration:g} s, {self.rank} base parameters of links and friction, "
            f"condition number {self.condition_number:.3g}, log det {self.log_det:.4g} (random: {self.random_log_det:.4g})\n"
            f"  limits kept on a grid of {FINE_STEP * 1e3:g} ms, with margins: {kept}"
            + (f"\n  not limited: {unseen}" if unseen else "")
            + (f"\n  {POOR}" if self.log_det < self.random_log_det else "")
        )


def excitation(
    robot: Robot,
    *,
    period: float = 15.0,
    harmonics: int = 5,
    ramp: float = 2.0,
    periods: int = 1,
    limits: RobotLimits | None = None,
    acceleration: ArrayLike = np.inf,
    radius: float | str | None = None,
    floor: float | None = None,
    boxes: Sequence[Box] = (),
    friction: Sequence[str] = ("viscous", "coulomb"),
    noise: ArrayLike = 1.0,
    home: ArrayLike | None = None,
    near: Log | None = None,
    after: Fit | Sequence[Excitation] | None = None,
    starts: int = 2,
    iterations: int = 80,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Excitation:
    """See `Robot.excitation`.

    >>> limits = qddot.Limits(-1.5, 1.5, velocity=2.0)
    >>> arm = qddot.Builder("arm").body("rod", axis="y", mass=1, com=(0.3, 0, 0), limits=limits).robot()
    >>> plan = qddot.identify.excitation(arm, period=5.0, harmonics=2, starts=1, iterations=5, acceleration=10.0)
    >>> plan.rank
    5
    """
    if on_progress is not None and not callable(on_progress):
        raise InputError(f"on_progress={as_written(on_progress)} is not a function of a text, such as print")
    if limits is not None and type(limits) is not type(robot.limits):
        raise InputError(f"limits={as_written(limits)}: give limits as robot.limits has them, or None")
    say = on_progress or (lambda text: None)
    n = robot.nv
    if robot.nq != n:
        raise InputError(f"robot {robot.name!r} has nq={robot.nq}, nv={n}: a series needs joints of one coordinate")
    deviations = each("noise", noise, n)
    counts = {"harmonics": harmonics, "periods": periods, "starts": starts, "iterations": iterations}
    for name, value in counts.items():
        whole_number(name, value)
    period, ramp = positive_number("period", period), positive_number("ramp", ramp)
    if ramp > LONGEST_RAMP * period:
        raise InputError(f"ramp={ramp:g} s of a period of {period:g} s: give some seconds")
    positive_number("noise", float(deviations.min()))
    if near is not None and not isinstance(near, Log):
        raise InputError(f"near={as_written(near)} is not a Log: give a recorded motion, as Log.load reads it")
    check_surroundings(radius, floor, boxes)
    friction = [friction] if isinstance(friction, str) else friction
    if not isinstance(friction, Sequence):
        raise InputError(f"friction={as_written(friction)} is not a list of {', '.join(FRICTION)}")
    for name in friction:
        word("friction", name, FRICTION)
    bounds = Bounds.of(limits or robot.limits, each("acceleration", acceleration, n))
    check_room(robot, bounds)
    smooth = SMOOTH_SPEED * np.where(np.isfinite(bounds.velocity), bounds.velocity, 1.0)
    apart, shape = None if radius is None else Clearance.of(robot, radius, floor, boxes), Fourier(period, harmonics, ramp)
    experiment = Experiment(robot, shape, deviations, tuple(friction), smooth, 16 * harmonics, apart)
    if after is not None:
        experiment = replace(experiment, known=known_before(experiment, after))
    rest = None if home is None else each("home", home, n)
    if rest is not None and not ((bounds.lower < rest) & (rest < bounds.upper)).all():
        raise InputError(
            f"home={rest.tolist()} is not between the position limits {bounds.lower.tolist()} and {bounds.upper.tolist()}"
        )
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    drawn = [random_motion(experiment.shape, bounds, rng, rest) for _ in range(max(SERIES_DRAWN, starts))]
    drawn.sort(key=lambda X: too_near(experiment, X) - log_det(experiment.information(X, experiment.samples)))
    if near is not None:
        drawn = [recorded_motion(experiment.shape, bounds, near.of(robot), rest), *drawn]
    random_log_det = log_det(experiment.information(drawn[0], 1000))
    if not np.isfinite(random_log_det):
        raise ConvergenceError(
            f"none of {len(drawn)} random series shows all {len(experiment.base)} base parameters (give more room or harmonics)"
        )
    say(f"{len(experiment.base)} base parameters; best of {len(drawn)} random series: log det {random_log_det:.2f}")
    solver, found, last = experiment.solver(iterations), [], None
    for k, X in enumerate(drawn[:starts], start=1):
        if min(kept := margins(experiment, bounds, X)) >= 0:  # no search may end below where it began
            found.append((log_det(experiment.information(X, 1000)), X, kept))
        for tighter in TIGHTER:
            X = searched(solver, experiment, bounds, tighter, X, rest)
            value, last = log_det(experiment.information(X, 1000)), margins(experiment, bounds, X)
            say(f"search {k} of {starts}: log det {value:.2f}, {solver.stats()['iter_count']} steps, least margin {min(last):.2g}")
            if min(last) >= 0:
                found.append((value, X, last))
                break
    if not found:
        raise ConvergenceError(
            f"no motion within the limits after {starts} searches of {iterations} steps; the last one has {last}, "
            "where none may be negative (give a longer period or ramp, fewer harmonics, more iterations, or more room)"
        )
    _, X, kept = max(found, key=lambda one: one[0])
    return Excitation(robot, replace(shape, periods=periods), X, experiment.information(X, 1000), kept, random_log_det)


def searched(
    solver: Any, experiment: Experiment, bounds: Bounds, tighter: float, X: np.ndarray, rest: np.ndarray | None
) -> np.ndarray:
    """The motion (nv, unknowns) that IPOPT finds from the start X."""
    lower, upper = np.full(X.shape, -np.inf), np.full(X.shape, np.inf)
    if rest is not None:
        lower[:, -2:] = upper[:, -2:] = rest[:, None]
    lbg, ubg = experiment.room(bounds, tighter)
    return np.array(solver(x0=X.ravel(), lbx=lower.ravel(), ubx=upper.ravel(), lbg=lbg, ubg=ubg)["x"]).reshape(X.shape)


def margins(experiment: Experiment, bounds: Bounds, X: np.ndarray) -> Margins:
    """Distances of a motion to its limits, on a fine grid over the whole of it."""
    t = np.linspace(0, experiment.shape.duration, int(experiment.shape.duration / FINE_STEP) + 2)
    q, qd, qdd = np.split(experiment.states(X, t), 3, axis=1)
    tau = experiment.robot.inverse_dynamics(q, qd, qdd)
    return Margins(
        position=float(np.minimum(q - bounds.lower, bounds.upper - q).min()),
        velocity=float((bounds.velocity - abs(qd)).min()),
        acceleration=float((bounds.acceleration - abs(qdd)).min()),
        torque=float((bounds.effort - abs(tau)).min()),
        distance=float(apart.clearance(experiment.robot, q).min()) if (apart := experiment.apart) and apart.count else np.inf,
    )


def too_near(experiment: Experiment, X: np.ndarray) -> float:
    """Penalty for the largest overlap, m, in a motion, so that searches start from motions that are nearly free of collisions."""
    if experiment.apart is None or not experiment.apart.count:
        return 0.0
    q = experiment.shape.basis(experiment.grid) @ X.T
    return OVERLAP_PENALTY * float(np.maximum(-experiment.apart.clearance(experiment.robot, q).min(axis=0), 0.0).max())


def known_before(experiment: Experiment, after: Fit | Sequence[Excitation]) -> np.ndarray:
    """Information (b, b) of a fitted log or of motions planned before, scaled to the period of the motion that is planned now."""
    planned = isinstance(after, Sequence)
    if not (all(isinstance(run, Excitation) for run in after) if planned else hasattr(after, "signals")):
        raise InputError(f"after={as_written(after)}: give a fit, or a list of motions that excitation returned")
    if planned:
        runs = [(run.sample(100.0)[1:], run.duration) for run in after]
    else:
        log = after.signals
        some = slice(None, None, max(1, len(log) // KNOWN_STATES))
        runs = [((log.q[some], log.qd[some], log.qdd[some]), len(log) / log.rate)]
    parts = [experiment.information_of(np.hstack(motion)) * duration / experiment.shape.period for motion, duration in runs]
    return np.sum(parts, axis=0)


def check_surroundings(radius: float | str | None, floor: float | None, boxes: Sequence[Box]) -> None:
    """Check the arguments about surroundings. Raises InputError: a floor or boxes without the radius of the robot's links."""
    if isinstance(radius, str):
        word("radius", radius, ("described",))
    elif radius is not None:
        positive_number("radius", radius)
    if floor is not None:
        finite_array("floor", floor)
    try:
        count = len([(centre, edges) for centre, edges in boxes])
    except (TypeError, ValueError):
        raise InputError(f"boxes={as_written(boxes)}: give a list of pairs (centre, edges), three numbers each") from None
    if radius is None and (floor is not None or count):
        raise InputError('floor and boxes need to know how thick the robot is: radius= in m, or radius="described"')


def log_det(A: np.ndarray) -> float:
    """Return the log-determinant of a positive definite matrix; -inf if it is singular."""
    sign, value = np.linalg.slogdet(A)
    return float(value) if sign > 0 else -np.inf


def each(name: str, value: ArrayLike, n: int) -> np.ndarray:
    """One number for each joint (n,), from one for all or an array (n,)."""
    array = finite_array(name, value, infinite=True)
    if array.shape not in ((), (n,)):
        raise InputError(f"{name} has shape {array.shape}: it is one number, or one for each of {n} joints")
    return np.broadcast_to(array, (n,)).copy()


def check_room(robot: Robot, bounds: Bounds) -> None:
    """Refuse limits that leave a joint no room, or without any limit of position, speed and acceleration."""
    for k, name in enumerate(robot.joint_names):
        if not bounds.lower[k] < bounds.upper[k] or min(bounds.velocity[k], bounds.acceleration[k], bounds.effort[k]) <= 0:
            raise InputError(
                f"joint {name!r} cannot move: position {bounds.lower[k]:g} to {bounds.upper[k]:g}, speed {bounds.velocity[k]:g}, "
                f"acceleration {bounds.acceleration[k]:g}, torque {bounds.effort[k]:g} (give other `limits`)"
            )
        if np.isinf([bounds.upper[k] - bounds.lower[k], bounds.velocity[k], bounds.acceleration[k]]).all():
            raise InputError(
                f"joint {name!r} has no limit of position, speed or acceleration: the best motion would be endless "
                "(give `limits=robot.limits._replace(velocity=...)`, or `acceleration`)"
            )
