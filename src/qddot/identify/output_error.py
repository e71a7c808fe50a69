"""Output error: the parameters with which a simulated arm predicts the log best.

    minimise  sum_j sum_k e_jk(pi)^2 / s_j^2  +  |x(pi) - x(start)|^2

e are the errors of `Predictor`, s their root mean square. Positions are never differentiated and torques never filtered, so a log
may be slow or its positions noisy. x are log-Cholesky coordinates: every arm in the search is physically consistent, and directions
that the log leaves open stay at the start. The bandwidth, which balances trust in the simulated arm and in the log, is chosen for
the smallest errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from scipy import stats

from qddot.errors import ConvergenceError, InputError
from qddot.identify.alignment import settled_delay, told_delay, told_fault
from qddot.identify.physical.identified import identified_robot, sound_prior
from qddot.identify.physical.log_cholesky import Chart, chosen, nonlinear_least_squares
from qddot.identify.prediction import Predictor
from qddot.identify.regression.base import Base, base_parameters, random_motions
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.record import Recorded, whole
from qddot.identify.regression.residuals import rms
from qddot.logs.log import Log
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import (
    ALIGNED_ROUNDS,
    BANDWIDTHS_TRIED,
    CONFIDENCE,
    DELAY_FOUND,
    ERRORS_FALL,
    INTEGRATION_ERROR,
    LINEARISED_EVALUATIONS,
    MOST_SUBSTEPS,
    OUTPUT_ERROR_ROUNDS,
    PARAMETER_STEP,
    POSITION_EXACT,
    SQUARES_FALL,
    START_WEIGHT,
    STEP_KEPT,
    STILL,
    TIME_BLOCKS,
)


@dataclass(frozen=True, eq=False)
class OutputError:
    """Result of fitting a simulation to a log.

    Attributes:
        parameter_set: the parameters asked for.
        base: the combinations of them that torques depend on.
        pi: all parameters (P,), physically consistent for each link; named by `parameter_set.full_names`.
        deviations: standard deviations of the base parameters (r,), by blocks of time; 0 for those that were not free.
        bandwidth: bandwidth of each joint's correction (nv,), Hz.
        before, after: rms error of each joint's predictions (nv,), rad or m, at the start and at the end.
        rounds: number of rounds of bandwidths, weights and parameters.
        evaluations: number of evaluations of the simulation and its derivatives.
        findings: what was done to the log: `delay`, by how much later than positions torques came, if they did.

    >>> arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(0.3, 0, 0), tensor=(0.01, 0.03, 0.03)).robot()
    >>> push = lambda t, q, qd: [4 * np.sin(3 * t)]
    >>> motion = arm.simulate([0.0], t=np.arange(0, 3, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> parameters = qddot.identify.ParameterSet.of(arm, armature=False, viscous=False, coulomb=None, offset=False)
    >>> found = qddot.identify.output_error(arm, log, parameter_set=parameters)
    >>> bool(found.after[0] < 1e-4)  # rad: the simulated arm goes where the real one went
    True
    """

    parameter_set: ParameterSet
    base: Base
    pi: np.ndarray
    deviations: np.ndarray
    bandwidth: np.ndarray
    before: np.ndarray
    after: np.ndarray
    rounds: int
    evaluations: int
    findings: tuple[Finding, ...] = ()

    @property
    def parameters(self) -> dict[str, float]:
        """Base parameter -> value, SI units; `base.combination(name)` is the combination that it stands for."""
        return dict(zip(self.base.names, (self.base.K @ self.parameter_set.T.T @ self.pi).tolist()))

    @property
    def std(self) -> dict[str, float]:
        """Base parameter -> standard deviation."""
        return dict(zip(self.base.names, self.deviations.tolist()))

    @property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """Base parameter -> 95 % interval."""
        reach = stats.t.ppf((1 + CONFIDENCE) / 2, TIME_BLOCKS - 1)
        return {name: (x - reach * s, x + reach * s) for (name, x), s in zip(self.parameters.items(), self.deviations.tolist())}

    @cached_property
    def robot(self) -> Robot:
        """The robot with these parameters, as far as a `Drive` can hold them."""
        return identified_robot(self.parameter_set, self.pi)[0]

    def __repr__(self) -> str:
        ends = ", ".join(f"{a:.2g} -> {b:.2g}" for a, b in zip(self.before, self.after))
        return (
            f"OutputError of {self.parameter_set.robot.name}: {self.base.rank} base parameters after {self.rounds} rounds; errors "
            f"of the predictions {ends} (rad, m); bandwidth {np.min(self.bandwidth):.2g} to {np.max(self.bandwidth):.2g} Hz"
        )


def output_error(
    robot: Robot,
    log: Recorded,
    *,
    parameter_set: ParameterSet | None = None,
    free: Sequence[str] | None = None,
    bandwidth: float | None = None,
    evaluations: int = 100,
    on_progress: Callable[[str], None] | None = None,
) -> OutputError:
    """Find the parameters with which a simulated arm predicts a log best.

    Args:
        robot: the robot to start from, such as `fit.robot`; masses may be wrong by a factor of two.
        log: positions and torques, a `Log` or the name of its file. Velocities are not needed.
        parameter_set: the parameters of the model, such as `fit.parameter_set`; None: the default ones of `ParameterSet.of`. Fixed
            ones stay.
        free: links and parameters that may change; None: all that are free in the set.
        bandwidth: bandwidth of the correction by the log, Hz; None: the one with the smallest errors for each joint.
        evaluations: largest number of simulations in each round.
        on_progress: called with a line of text after each round.

    Raises:
        InputError: a log of other joints; a link of which only some parameters are free; friction that is not simulated.
        ConvergenceError: the search did not converge, or the simulation diverges.

    >>> arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(0.3, 0, 0), tensor=(0.01, 0.03, 0.03)).robot()
    >>> push = lambda t, q, qd: [4 * np.sin(3 * t)]
    >>> motion = arm.simulate([0.0], t=np.arange(0, 3, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> parameters = qddot.identify.ParameterSet.of(arm, armature=False, viscous=False, coulomb=None, offset=False)
    >>> found = qddot.identify.output_error(arm, log, parameter_set=parameters)
    >>> round(found.parameters["rod.mcx"], 3)
    0.3
    """
    log = whole(robot, log)
    parameter_set = ParameterSet.of(robot) if parameter_set is None else of_robot(parameter_set, robot)
    if free is not None:
        wanted = chosen(parameter_set.names, free)
        parameter_set = parameter_set.fix({name: None for name, moves in zip(parameter_set.names, wanted) if not moves})
    w = None if bandwidth is None else np.full(robot.nv, 2 * np.pi * bandwidth)
    return Search(parameter_set, log).result(w, evaluations, on_progress or (lambda text: None))


def of_robot(parameter_set: ParameterSet, robot: Robot) -> ParameterSet:
    """Return the parameter set with described values from another robot; fixed parameters keep theirs. Raises InputError: a
    parameter is tied."""
    for name, row in zip(parameter_set.full_names, parameter_set.T):
        if row.any() and name not in parameter_set.names:
            raise InputError(f"{name} is tied to other parameters: for a simulation it is fixed, or free")
    values = dict(zip(parameter_set.full_names, parameter_set.constant.tolist()))
    known = {name: value for (name, value), row in zip(values.items(), parameter_set.T) if not row.any()}
    return ParameterSet.of(robot, **parameter_set.asked).fix(known)


class Step(NamedTuple):
    """Parameters (P,), their weighted errors (k,), and the Jacobian of these with respect to the base parameters (k, r)."""

    pi: np.ndarray
    errors: np.ndarray
    J: np.ndarray


class Search:
    """State of the search for the parameters of one log."""

    def __init__(self, parameter_set: ParameterSet, log: Log) -> None:
        self.parameter_set, self.moving = parameter_set, chosen(parameter_set.full_names, parameter_set.names)
        self.base = base_parameters(parameter_set)
        self.predictor = Predictor(parameter_set, log)
        self.start = self.pi = sound_prior(parameter_set)
        self.travel = np.maximum(np.ptp(log.q, axis=0), STILL)
        self.sizes = sizes(parameter_set, log)
        self.chart = Chart(parameter_set.full_names, self.start, self.sizes)
        self.middle = self.chart.coordinates(self.start)

    def result(self, bandwidth: np.ndarray | None, evaluations: int, say: Callable[[str], None]) -> OutputError:
        """Fit the log, and again if its torques turn out to come later or earlier than positions."""
        found = self.settled(bandwidth, evaluations, say)
        for _ in range(ALIGNED_ROUNDS):
            known, w = self.predictor.delay, 2 * np.pi * found.bandwidth
            further = partial(self.late, known, w, found.after)
            delay, rate = settled_delay(further, known, 1 / self.predictor.step), 1 / self.predictor.step
            if fault := told_fault(delay, rate):
                return replace(found, findings=fault)
            self.predictor.delay = delay
            if delay == known:
                break
            told = told_delay(delay, rate)
            say(told.message)
            then = self.settled(bandwidth, evaluations, say)
            if np.prod(then.after) >= np.prod(found.after):  # a search that is stuck has other errors than a delay
                break
            found = replace(then, before=found.before, findings=(told,))
        return found

    def settled(self, bandwidth: np.ndarray | None, evaluations: int, say: Callable[[str], None]) -> OutputError:
        """Improve bandwidth, weights and parameters by turns, until the errors no longer fall."""
        w = np.full(len(self.travel), self.predictor.fastest / 4) if bandwidth is None else bandwidth
        history: list[np.ndarray] = []
        simulations = 0
        for k in range(OUTPUT_ERROR_ROUNDS):
            w = self.tuned(w) if bandwidth is None else w
            history.append(self.errors(w))
            say(f"{k} rounds, {simulations} simulations: errors {listed(history[-1])} rad or m at {listed(w / (2 * np.pi))} Hz")
            if k and np.all(history[-1] > (1 - ERRORS_FALL) * history[-2]):
                break
            found, more = self.improved(w, history[-1], evaluations)
            self.pi, simulations, deviations = found.pi, simulations + more, self.deviations(found)
        else:
            raise ConvergenceError(
                f"the errors still fall after {OUTPUT_ERROR_ROUNDS} rounds: {listed(history[-1])} (begin again with what was found)"
            )
        first, last = history[0], history[-1]
        return OutputError(self.parameter_set, self.base, self.pi, deviations, w / (2 * np.pi), first, last, k, simulations)

    def tuned(self, w: np.ndarray) -> np.ndarray:
        """The bandwidth of each joint, near w (nv,), with the smallest errors."""
        slowest = min(self.predictor.slowest(self.pi), self.predictor.fastest)
        for _ in range(OUTPUT_ERROR_ROUNDS):
            tried = np.clip(BANDWIDTHS_TRIED[:, None] * w, slowest, self.predictor.fastest)
            found = self.predictor(np.tile(self.pi, (len(tried), 1)), tried)
            counted = self.predictor.counted(tried.min(axis=0))
            size = np.nan_to_num([counted_rms(e, counted) for e in found], nan=np.inf)
            best = tried[np.argmin(size, axis=0), range(len(w))]
            if np.all((tried[0] < best) & (best < tried[-1]) | np.isclose(best, w)):
                return best
            w = best
        return w

    def errors(self, w: np.ndarray) -> np.ndarray:
        """Rms errors of the predictions (nv,), at least the resolution of positions. The number of substeps is raised until the
        error of integration is negligible."""
        counted, e = self.predictor.counted(w), self.predictor(self.pi, w)[0]
        while True:
            size = np.maximum(counted_rms(e, counted), POSITION_EXACT * self.travel)
            if not np.isfinite(size).all():
                raise ConvergenceError(
                    "the simulated arm runs away from the log: are units, signs and joints right? (or a higher bandwidth)"
                )
            if self.predictor.substeps >= MOST_SUBSTEPS:
                return size
            self.predictor.substeps *= 2
            coarse, e = e, self.predictor(self.pi, w)[0]
            if np.all(counted_rms(e - coarse, counted) < INTEGRATION_ERROR * size):
                self.predictor.substeps //= 2
                return size

    def improved(self, w: np.ndarray, size: np.ndarray, evaluations: int) -> tuple[Step, int]:
        """Minimise the squared errors, relative to their sizes (nv,), by damped Gauss-Newton steps: the result, and the number of
        simulations.

        The errors are linearised in the base parameters, since they are nearly linear functions of these, but not of the
        coordinates of the links."""
        here, damping = self.simulated(self.pi, w, size), 0.0
        for k in range(1, evaluations):
            R = np.asarray(np.linalg.qr(np.column_stack([here.J, here.errors]), mode="r"))
            pi, expected = self.minimum(here, R, damping)
            reached = self.squares(here)
            if reached - expected < SQUARES_FALL:
                return here, k
            then = self.simulated(pi, w, size)
            kept = (reached - self.squares(then)) / (reached - expected)  # actual over expected decrease; NaN if it diverged
            poor, good = STEP_KEPT
            damping = damping / 10 if kept > good else damping if kept > poor else max(10 * damping, 1e-2)
            here = then if kept > 0 else here
        raise ConvergenceError(f"not converged after {evaluations} simulations (allow more, or leave fewer parameters free)")

    def simulated(self, pi: np.ndarray, w: np.ndarray, size: np.ndarray) -> Step:
        """The errors of parameters, relative to their sizes (nv,), and their derivatives."""
        independent = list(self.base.independent)
        steps = PARAMETER_STEP * (self.parameter_set.T.T @ self.sizes)[independent]
        moves = np.vstack([np.zeros_like(pi), steps[:, None] * self.parameter_set.T[:, independent].T])
        e = self.relative(pi + moves, w, size)
        return Step(pi, e[0], ((e[1:] - e[0]) / steps[:, None]).T)

    def relative(self, pi: np.ndarray, w: np.ndarray, size: np.ndarray) -> np.ndarray:
        """Return the errors (B, k) that count, relative to their sizes (nv,), for each of pi (B, P)."""
        rows = np.nonzero(self.predictor.counted(w))
        return self.predictor(pi, w)[:, *rows] / size[rows[1]]

    def late(self, known: float, w: np.ndarray, size: np.ndarray, beyond: float) -> tuple[float, float]:
        """Return by how much later than `known` and `beyond` torques came, s, and its standard deviation by blocks of time:
        a step of delay and parameters together, towards the smallest errors."""
        at, sample = known + beyond, self.predictor.step
        self.predictor.delay = at + DELAY_FOUND * sample
        then = self.relative(self.pi, w, size)[0]
        self.predictor.delay = at
        here = self.simulated(self.pi, w, size)
        A = np.column_stack([here.J @ self.tangent(self.pi), (then - here.errors) / DELAY_FOUND, here.errors])
        if not np.isfinite(A).all() or not A[:, -2].any():
            raise InputError("no delay shows: torques do not change, or the simulated arm runs away")
        start = np.sqrt(START_WEIGHT) * (self.chart.coordinates(self.pi) - self.middle)[self.free]
        total = A.T @ A
        total[: len(start), : len(start)] += START_WEIGHT * np.eye(len(start))
        total[: len(start), -1] += np.sqrt(START_WEIGHT) * start
        others = (total - part.T @ part for part in np.array_split(A, TIME_BLOCKS))
        steps = [-np.linalg.solve(one[:-1, :-1], one[:-1, -1])[-1] * sample for one in (total, *others)]
        return float(steps[0]), float(np.std(steps[1:]) * np.sqrt(TIME_BLOCKS - 1))

    @property
    def free(self) -> np.ndarray:
        """True for coordinates that are free (P,)."""
        return np.any(self.parameter_set.T != 0, axis=1)

    def tangent(self, pi: np.ndarray) -> np.ndarray:
        """Derivatives of the base parameters by the free coordinates."""
        return self.base.K @ self.parameter_set.T.T @ self.chart.jacobian(self.chart.coordinates(pi))[:, self.free]

    def squares(self, at: Step) -> float:
        """The objective: sum of squared errors, plus the squared distance from the start."""
        moved = self.chart.coordinates(at.pi) - self.middle
        return float(at.errors @ at.errors + START_WEIGHT * moved @ moved)

    def minimum(self, here: Step, R: np.ndarray, damping: float) -> tuple[np.ndarray, float]:
        """Minimise the objective with linearised errors, whose triangle of `[J | errors]` is R, and damping: (pi, objective)."""
        to_base = self.base.K @ self.parameter_set.T.T
        A = np.vstack([R[:, :-1], np.sqrt(damping) * np.diag(np.linalg.norm(R[:, :-1], axis=0))])
        b = np.append(R[:, -1], np.zeros(len(to_base)))

        def errors(pi: np.ndarray) -> np.ndarray:
            return A @ (to_base @ (pi - here.pi)) + b

        how = {"free": self.moving, "gamma": START_WEIGHT, "evaluations": LINEARISED_EVALUATIONS}
        pi = nonlinear_least_squares(errors, lambda pi: A @ to_base, self.chart, here.pi, **how)
        moved = self.chart.coordinates(pi) - self.middle
        return pi, float(np.linalg.norm(errors(pi)) ** 2 + START_WEIGHT * moved @ moved)

    def deviations(self, at: Step) -> np.ndarray:
        """Standard deviations of the base parameters (r,): by leaving out blocks of time, and by the prior, which is the start."""
        G = self.tangent(at.pi)
        J, prior = at.J @ G, START_WEIGHT * np.eye(G.shape[1])
        A, blocks = J.T @ J + prior, np.array_split(np.arange(len(J)), TIME_BLOCKS)
        moved = np.array([np.linalg.solve(A - J[rows].T @ J[rows], J[rows].T @ at.errors[rows]) for rows in blocks])
        spread, inverse = moved - np.mean(moved, axis=0), np.linalg.inv(A)
        covariance = (TIME_BLOCKS - 1) / TIME_BLOCKS * spread.T @ spread + inverse @ prior @ inverse
        return np.sqrt(np.einsum("rx,xy,ry->r", G, covariance, G))


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{x:.2g}" for x in values)


def counted_rms(errors: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Rms (nv,) over those errors (N, nv) that count."""
    return np.sqrt(np.mean(errors**2, axis=0, where=counted))


def sizes(parameter_set: ParameterSet, log: Log) -> np.ndarray:
    """Size that each parameter (P,) would have if it explained all torques alone, in motions of about 1 rad/s."""
    evaluate = parameter_set.evaluator()
    moved = evaluate.at(*random_motions(parameter_set, 50))
    found = np.full(len(parameter_set.T), np.inf)
    for j, used in enumerate(evaluate.used):
        torque, seen = rms(log.tau[:, j]), rms(moved.row(j))
        np.minimum.at(found, used[seen > 0], (torque or 1.0) / seen[seen > 0])
    return np.where(np.isfinite(found), found, 1.0)
