"""Identification by simulation of the closed loop, under the same controller and without differentiating positions.

    theta_{k+1} = argmin | tau_measured - Y(q_s, qd_s, qdd_s) theta |,     q_s simulated with theta_k

(DIDIM: Gautier, Janot and Vandanjon 2013.) The controller makes the simulated arm follow like the real one, so its states are those
of the real one without noise. This needs the actual control law, and of the recorded positions only the first ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import ConvergenceError, InputError, IntegrationError, as_written
from qddot.identify.alignment import common_delay, told_delays, told_fault
from qddot.identify.physical.consistent import consistent
from qddot.identify.physical.identified import identified_robot, sound_prior
from qddot.identify.prediction import first_state
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.estimators import Estimate, equations, least_squares
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import streamed
from qddot.identify.regression.record import Record, Recorded, whole
from qddot.identify.regression.reduction import Factors, reduce
from qddot.identify.regression.residuals import Residuals, residuals
from qddot.identify.regression.signals import Signals
from qddot.logs.log import Log
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import ALIGNED_ROUNDS, CLOSED_LOOP_ROUNDS, CLOSED_LOOP_SETTLED, SHORTER_STEPS

if TYPE_CHECKING:
    from qddot.simulate.trajectory import Trajectory

Law = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ClosedLoop:
    """Result of an identification by simulation of the closed loop.

    Attributes:
        parameter_set: the parameters asked for.
        base: the combinations of them that torques depend on.
        estimate: the base parameters, with uncertainty.
        factors: triangular factors of the log's equations.
        signals: the log, with the simulated states instead of the measured ones.
        left: measured and predicted torques.
        tracking: rms difference of simulated and recorded positions of each joint (nv,), rad or m; only noise in a good fit.
        rounds: number of simulations.
        findings: what was done to the log: `delay`, by how much later than positions torques came, if they did.

    >>> arm = qddot.from_dh([(1, 0, 0, 0)], inertias=[qddot.Inertia.point(0.5)], drives=[qddot.Drive(viscous=0.3)])
    >>> law = lambda t, q, qd: 40 * (np.sin([3 * t]) - q) + 8 * (3 * np.cos([3 * t]) - qd)
    >>> t = np.arange(0, 4, 0.02)
    >>> run = arm.simulate([0.0], [3.0], t, torque=law, step=5e-3)
    >>> log = qddot.identify.Log(t, run.q, run.tau, joint_names=arm.joint_names)
    >>> parameters = qddot.identify.ParameterSet.of(arm, armature=False, coulomb=None, offset=False)
    >>> found = qddot.identify.closed_loop(arm, log, law, parameter_set=parameters, step=5e-3)
    >>> round(found.parameters["joint1.viscous"], 2)
    0.3
    """

    parameter_set: ParameterSet
    base: Base
    estimate: Estimate
    factors: Factors
    signals: Signals
    left: Residuals
    tracking: np.ndarray
    rounds: int
    findings: tuple[Finding, ...] = ()

    @property
    def parameters(self) -> dict[str, float]:
        """Base parameter -> value, SI units."""
        return dict(zip(self.base.names, self.estimate.theta.tolist()))

    @property
    def std(self) -> dict[str, float]:
        """Base parameter -> standard deviation, by blocks of time."""
        return dict(zip(self.base.names, self.estimate.std.tolist()))

    @cached_property
    def robot(self) -> Robot:
        """The robot as identified, with physically consistent links."""
        return real_robot(self.base, self.factors, self.estimate)

    def __repr__(self) -> str:
        return (
            f"ClosedLoop of {self.parameter_set.robot.name}: {self.base.rank} base parameters after {self.rounds} simulations, "
            f"torques off by {self.left.relative:.2%} filtered, positions by up to {self.tracking.max():.2g}"
        )


def closed_loop(
    robot: Robot,
    log: Recorded,
    law: Law,
    *,
    parameter_set: ParameterSet | None = None,
    start: Robot | None = None,
    cutoff: float | None = None,
    step: float | None = None,
) -> ClosedLoop:
    """Find the base parameters with which the simulated closed loop has the recorded torques.

    Args:
        log: positions and torques, a `Log` or the name of its file; of the positions only the first of each segment are used.
            By how much later torques came is found by the simulated positions.
        law: the control law tau = law(t, q, qd), with its reference at the times of the log: a controller of `qddot.control`, or
            any function. The model in it, if there is one, stays as it is.
        parameter_set: the parameters of the model; None: the default ones of `ParameterSet.of`.
        start: the arm that is simulated first, such as `fit.robot`; None: as described, or a consistent one near that.
        cutoff: cut-off frequency of the low-pass of the torques, Hz; None: chosen from the log.
        step: step of the simulation, s; None: a millisecond, or the log's own step if that is shorter.

    Raises:
        InputError: a law that is no function, or another robot's log.
        ConvergenceError: the parameters do not settle, or a simulated arm diverges: is the law that of the log?

    >>> arm = qddot.from_dh([(1, 0, 0, 0)], inertias=[qddot.Inertia.point(0.5)], drives=[qddot.Drive(viscous=0.3)])
    >>> law = lambda t, q, qd: 40 * (np.sin([3 * t]) - q) + 8 * (3 * np.cos([3 * t]) - qd)
    >>> t = np.arange(0, 4, 0.02)
    >>> run = arm.simulate([0.0], [3.0], t, torque=law, step=5e-3)
    >>> log = qddot.identify.Log(t, run.q, run.tau, joint_names=arm.joint_names)
    >>> parameters = qddot.identify.ParameterSet.of(arm, armature=False, coulomb=None, offset=False)
    >>> found = qddot.identify.closed_loop(arm, log, law, parameter_set=parameters, step=5e-3)
    >>> bool(found.left.relative < 0.01), bool((found.tracking < 0.01).all())
    (True, True)
    """
    if not callable(law):
        raise InputError(f"law={as_written(law)} is not a function of (t, q, qd), such as a controller of qddot.control")
    parameter_set = ParameterSet.of(robot) if parameter_set is None else parameter_set
    base = base_parameters(parameter_set)
    record = Record.of(robot, whole(robot, log), cutoff)
    step = min(1e-3, 1 / record.signals.rate) if step is None else step
    arm = identified_robot(parameter_set, sound_prior(parameter_set))[0] if start is None else start
    found = settled(base, arm, record, law, step)
    for _ in range(ALIGNED_ROUNDS):
        delay = common_delay(base, found.signals)
        if fault := told_fault(delay, found.signals.rate):
            return replace(found, findings=fault)
        if delay == found.signals.delay:
            break
        record, rounds = record.aligned(delay), found.rounds
        found = settled(base, real_robot(base, found.factors, found.estimate), record, law, step)
        found = replace(found, rounds=rounds + found.rounds)
    return found


def settled(base: Base, arm: Robot, record: Record, law: Law, step: float) -> ClosedLoop:
    """Return the parameters that simulation and estimate by turns lead to, beginning with an arm."""
    before, change = None, np.inf
    for rounds in range(1, CLOSED_LOOP_ROUNDS + 1):
        signals = simulated(arm, record.log, record.signals, law, step)
        factors = reduce(base, streamed([signals]))
        estimate = least_squares(factors)
        left = residuals(base, estimate.theta, signals)
        if before is not None:
            change = np.linalg.norm(left.filtered_predicted - before) / np.linalg.norm(left.filtered_predicted)
            if change < CLOSED_LOOP_SETTLED:
                tracking = np.sqrt(np.mean((signals.q - record.signals.q) ** 2, axis=0))
                told = told_delays(signals)
                return ClosedLoop(base.parameter_set, base, estimate, factors, signals, left, tracking, rounds, told)
        before, arm = left.filtered_predicted, real_robot(base, factors, estimate)
    raise ConvergenceError(
        f"after {CLOSED_LOOP_ROUNDS} simulations the torques still change by {change:.2g} of their size: is the law the "
        "controller of the log, and did all joints move?"
    )


def real_robot(base: Base, factors: Factors, estimate: Estimate) -> Robot:
    """The robot with these base parameters and physically consistent links (needs the extra `id`); the description is a weak
    prior."""
    parameter_set = base.parameter_set
    X, y = equations(factors, estimate.sigma)
    names, prior = parameter_set.full_names, sound_prior(parameter_set)
    found = consistent(X @ base.K, y, names, prior, T=parameter_set.T, constant=parameter_set.constant, gamma=1.0)
    return identified_robot(parameter_set, found.parameters)[0]


def simulated(arm: Robot, log: Log, signals: Signals, law: Law, step: float) -> Signals:
    """The prepared log with positions, rates and accelerations of the simulated arm, at the times of its torques."""
    motion = [np.empty_like(signals.q) for _ in range(3)]
    for segment in signals.segments:
        t = signals.t[segment]
        within = next(s for s in log.segments if log.t[s][0] <= t[0] and t[-1] <= log.t[s][-1])
        q0, qd0 = first_state(log.t[within], log.q[within], 8 / signals.cutoff / 2)
        times = np.concatenate([[log.t[within][0]], t - signals.delay])
        run = followed(arm, q0, qd0, times, law, step)
        for into, values in zip(motion, (run.q, run.qd, run.qdd)):
            into[segment] = values[1:]
    return replace(signals, q=motion[0], qd=motion[1], qdd=motion[2])


def followed(arm: Robot, q0: np.ndarray, qd0: np.ndarray, times: np.ndarray, law: Law, step: float) -> Trajectory:
    """Simulate the closed loop, with shorter steps if the simulation diverges with this one."""
    reason: Exception | None = None
    for shorter in SHORTER_STEPS:
        try:
            return arm.simulate(q0, qd0, times, torque=law, step=step / shorter, stops=False, saturate=False, progress=False)
        except IntegrationError as error:
            reason = error
    raise ConvergenceError(f"the simulated arm runs away: is the law the log's controller? (or a step= below {step:g} s): {reason}")
