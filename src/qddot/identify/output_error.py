"""The last rung: a simulated arm predicts the log, and the parameters are those whose predictions are best.

    minimise  sum_j sum_k e_jk(pi)^2 / s_j^2  +  |x(pi) - x(start)|^2

e are the errors of `Predictor`, s their root mean square. Positions are never differentiated and torques never filtered, so a log
may be slow or its positions noisy. x are log-Cholesky coordinates: every arm on the way can exist, and what the log says nothing of
stays at the start. How far predictions trust the arm and how far the log is fitted too: the bandwidth with the smallest errors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import stats

from qddot.errors import ConvergenceError, InputError
from qddot.identify.physical.identified import identified_robot, sound_prior
from qddot.identify.physical.log_cholesky import Chart, chosen, nonlinear_least_squares
from qddot.identify.prediction import Predictor
from qddot.identify.regression.base import Base, base_parameters, random_motions
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.logs.log import Log
from qddot.robot import Robot
from qddot.thresholds import (
    BANDWIDTHS_TRIED,
    CONFIDENCE,
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
        base: their combinations that show.
        pi: all parameters (P,), every link one that can exist; named by `parameter_set.full_names`.
        deviations: standard deviations of the base parameters (r,), by blocks of time; 0 for what was not free.
        bandwidth: of each joint's correction (nv,), Hz.
        before, after: root mean square of each joint's predictions (nv,), rad or m, at the start and at the end.
        rounds: of bandwidths, weights and parameters.
        evaluations: of the simulation and its derivatives.

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

    @property
    def parameters(self) -> dict[str, float]:
        """Base parameter -> value, SI units; `base.combination(name)` says what it stands for."""
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
        """Robot with these parameters, as far as a `Drive` can hold them."""
        return identified_robot(self.parameter_set, self.pi)[0]

    def __repr__(self) -> str:
        ends = ", ".join(f"{a:.2g} -> {b:.2g}" for a, b in zip(self.before, self.after))
        return (
            f"OutputError of {self.parameter_set.robot.name}: {self.base.rank} base parameters after {self.rounds} rounds; errors "
            f"of the predictions {ends} (rad, m); bandwidth {np.min(self.bandwidth):.2g} to {np.max(self.bandwidth):.2g} Hz"
        )


def output_error(
    robot: Robot,
    log: Log,
    *,
    parameter_set: ParameterSet | None = None,
    free: Sequence[str] | None = None,
    bandwidth: float | None = None,
    evaluations: int = 100,
    on_progress: Callable[[str], None] | None = None,
) -> OutputError:
    """Parameters with which a simulated arm predicts a log best.

    Args:
        robot: as it is believed to be, such as `fit.robot`; masses may be wrong by a factor of two.
        log: positions and torques. Velocities are not needed.
        parameter_set: which parameters, such as `fit.parameter_set`; by default those of `robot.identify`. Fixed ones stay.
        free: links and parameters that may change; None: all that are free there.
        bandwidth: of the correction by the log, Hz; None: for each joint that with the smallest errors.
        evaluations: of the simulation in each round, at most.
        on_progress: called with a line of text now and then.

    Raises:
        InputError: a log of other joints; a link of which only some numbers are free; friction that is not simulated.
        ConvergenceError: the search did not end, or no arm could be simulated.

    >>> arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("rod", mass=1, com=(0.3, 0, 0), tensor=(0.01, 0.03, 0.03)).robot()
    >>> push = lambda t, q, qd: [4 * np.sin(3 * t)]
    >>> motion = arm.simulate([0.0], t=np.arange(0, 3, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> parameters = qddot.identify.ParameterSet.of(arm, armature=False, viscous=False, coulomb=None, offset=False)
    >>> found = qddot.identify.output_error(arm, log, parameter_set=parameters)
    >>> round(found.parameters["rod.mcx"], 3)
    0.3
    """
    log = log.of(robot)
    parameter_set = ParameterSet.of(robot) if parameter_set is None else of_robot(parameter_set, robot)
    if free is not None:
        wanted = chosen(parameter_set.names, free)
        parameter_set = parameter_set.fix({name: None for name, moves in zip(parameter_set.names, wanted) if not moves})
    chosen(parameter_set.full_names, parameter_set.names)  # refuses links of which only some numbers are free
    w = None if bandwidth is None else np.full(robot.nv, 2 * np.pi * bandwidth)
    return Search(parameter_set, log).result(w, evaluations, on_progress or (lambda text: None))


def of_robot(parameter_set: ParameterSet, robot: Robot) -> ParameterSet:
    """Return the parameters with the values of another robot; fixed ones keep theirs."""
    for name, row in zip(parameter_set.full_names, parameter_set.T):
        if row.any() and name not in parameter_set.names:
            raise InputError(f"{name} is tied to other parameters: for a simulation it is fixed, or free")
    known = {
        name: x for name, x, row in zip(parameter_set.full_names, parameter_set.constant.tolist(), parameter_set.T) if not row.any()
    }
    return ParameterSet.of(robot, **parameter_set.asked).fix(known)


class Step(NamedTuple):
    """Parameters (P,), the weighted errors (k,) they make, and how these change with the base parameters (k, r)."""

    pi: np.ndarray
    errors: np.ndarray
    J: np.ndarray


class Search:
    """One log, and parameters on their way."""

    def __init__(self, parameter_set: ParameterSet, log: Log) -> None:
        self.parameter_set = parameter_set
        self.base = base_parameters(parameter_set)
        self.predictor = Predictor(parameter_set, log)
        self.start = self.pi = sound_prior(parameter_set)
        self.travel = np.maximum(np.ptp(log.q, axis=0), STILL)
        self.sizes = sizes(parameter_set, log)
        self.chart = Chart(parameter_set.full_names, self.start, self.sizes)
        self.middle = self.chart.coordinates(self.start)

    def result(self, bandwidth: np.ndarray | None, evaluations: int, say: Callable[[str], None]) -> OutputError:
        """Rounds of bandwidth, weights and parameters, until the errors fall no more."""
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
        ends = {"before": history[0], "after": history[-1]}
        return OutputError(
            self.parameter_set, self.base, self.pi, deviations, w / (2 * np.pi), **ends, rounds=k, evaluations=simulations
        )

    def tuned(self, w: np.ndarray) -> np.ndarray:
        """The bandwidth of each joint, near w (nv,), with the smallest errors."""
        slowest = min(self.predictor.slowest(self.pi), self.predictor.fastest)
        for _ in range(OUTPUT_ERROR_ROUNDS):
            tried = np.clip(BANDWIDTHS_TRIED[:, None] * w, slowest, self.predictor.fastest)
            found = self.predictor(np.tile(self.pi, (len(tried), 1)), tried)
            counted = self.predictor.counted(tried.min(axis=0))
            size = np.nan_to_num([rms(e, counted) for e in found], nan=np.inf)
            best = tried[np.argmin(size, axis=0), range(len(w))]
            if np.all((tried[0] < best) & (best < tried[-1]) | np.isclose(best, w)):
                return best
            w = best
        return w

    def errors(self, w: np.ndarray) -> np.ndarray:
        """Root mean square (nv,) of the predictions, no smaller than positions are exact; with as many substeps as it takes for the
        rule of integration not to matter."""
        counted, e = self.predictor.counted(w), self.predictor(self.pi, w)[0]
        while True:
            size = np.maximum(rms(e, counted), POSITION_EXACT * self.travel)
            if not np.isfinite(size).all():
                raise ConvergenceError(
                    "the simulated arm runs away from the log: are units, signs and joints right? (or a higher bandwidth)"
                )
            if self.predictor.substeps >= MOST_SUBSTEPS:
                return size
            self.predictor.substeps *= 2
            coarse, e = e, self.predictor(self.pi, w)[0]
            if np.all(rms(e - coarse, counted) < INTEGRATION_ERROR * size):
                self.predictor.substeps //= 2
                return size

    def improved(self, w: np.ndarray, size: np.ndarray, evaluations: int) -> tuple[Step, int]:
        """Parameters of the least squares of errors over their size, after Gauss and Newton, and how many simulations that took.

        The errors are linearised in the base parameters, of which they are nearly linear functions, and not in the coordinates of
        the links, of which they are not."""
        rows, independent = np.nonzero(self.predictor.counted(w)), list(self.base.independent)
        steps = PARAMETER_STEP * (self.parameter_set.T.T @ self.sizes)[independent]
        moves = np.vstack([np.zeros_like(self.pi), steps[:, None] * self.parameter_set.T[:, independent].T])

        def simulated(pi: np.ndarray) -> Step:
            e = self.predictor(pi + moves, w)[:, *rows] / size[rows[1]]
            return Step(pi, e[0], ((e[1:] - e[0]) / steps[:, None]).T)

        here, damping = simulated(self.pi), 0.0
        for k in range(1, evaluations):
            R = np.asarray(np.linalg.qr(np.column_stack([here.J, here.errors]), mode="r"))
            pi, expected = self.minimum(here, R, damping)
            reached = self.squares(here)
            if reached - expected < SQUARES_FALL:
                return here, k
            then = simulated(pi)
            kept = (reached - self.squares(then)) / (reached - expected)  # of what was promised; not a number if the arm ran away
            poor, good = STEP_KEPT
            damping = damping / 10 if kept > good else damping if kept > poor else max(10 * damping, 1e-2)
            here = then if kept > 0 else here
        raise ConvergenceError(f"not converged after {evaluations} simulations (allow more, or leave fewer parameters free)")

    def squares(self, at: Step) -> float:
        """Sum of squares that is minimised: errors, and the distance from the start."""
        moved = self.chart.coordinates(at.pi) - self.middle
        return float(at.errors @ at.errors + START_WEIGHT * moved @ moved)

    def minimum(self, here: Step, R: np.ndarray, damping: float) -> tuple[np.ndarray, float]:
        """(pi, squares) where the linearised errors, R of `[J | errors]`, are smallest; damping keeps it near."""
        to_base = self.base.K @ self.parameter_set.T.T
        A = np.vstack([R[:, :-1], np.sqrt(damping) * np.diag(np.linalg.norm(R[:, :-1], axis=0))])
        b = np.append(R[:, -1], np.zeros(len(to_base)))
        fit = nonlinear_least_squares(
            lambda pi: A @ (to_base @ (pi - here.pi)) + b,
            self.parameter_set.full_names,
            here.pi,
            jacobian=lambda pi: A @ to_base,
            free=self.parameter_set.names,
            scale=self.sizes,
            reference=self.start,
            gamma=START_WEIGHT,
            evaluations=LINEARISED_EVALUATIONS,
        )
        moved = self.chart.coordinates(fit.parameters) - self.middle
        return fit.parameters, float(fit.residual**2 + START_WEIGHT * moved @ moved)

    def deviations(self, at: Step) -> np.ndarray:
        """Standard deviations of the base parameters (r,): from leaving out blocks of time, and of what the start decides."""
        free = self.parameter_set.T.any(axis=1)
        G = self.base.K @ self.parameter_set.T.T @ self.chart.jacobian(self.chart.coordinates(at.pi))[:, free]
        J, prior = at.J @ G, START_WEIGHT * np.eye(G.shape[1])
        A, moved = J.T @ J + prior, []
        for rows in np.array_split(np.arange(len(J)), TIME_BLOCKS):
            moved.append(np.linalg.solve(A - J[rows].T @ J[rows], J[rows].T @ at.errors[rows]))
        spread, inverse = np.array(moved) - np.mean(moved, axis=0), np.linalg.inv(A)
        covariance = (TIME_BLOCKS - 1) / TIME_BLOCKS * spread.T @ spread + inverse @ prior @ inverse
        return np.sqrt(np.einsum("rx,xy,ry->r", G, covariance, G))


def listed(values: np.ndarray) -> str:
    return ", ".join(f"{x:.2g}" for x in values)


def rms(errors: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Root mean square (nv,) of errors (N, nv), of those that count."""
    return np.sqrt(np.mean(errors**2, axis=0, where=counted))


def sizes(parameter_set: ParameterSet, log: Log) -> np.ndarray:
    """How large each parameter (P,) would be if it explained all torques by itself, in motions of about 1 rad/s."""
    evaluate = parameter_set.evaluator()
    moved = evaluate.at(*random_motions(parameter_set, 50))
    found = np.full(len(parameter_set.T), np.inf)
    for j, used in enumerate(evaluate.used):
        torque, seen = root_mean_square(log.tau[:, j]), root_mean_square(moved.row(j))
        np.minimum.at(found, used[seen > 0], (torque or 1.0) / seen[seen > 0])
    return np.where(np.isfinite(found), found, 1.0)


def root_mean_square(x: np.ndarray) -> np.ndarray:
    """Root mean square over the samples (N, ...)."""
    return np.sqrt(np.mean(x**2, axis=0))
