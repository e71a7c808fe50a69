"""Delay of each joint's recorded torque and offset of its sensor, both found together with the parameters.

    tau_measured(t) = tau(t - delay) + offset,      -d tau / dt is the column of the delay

That is linear for small delays only, so the torques are shifted by the delays found and the fit is repeated until these vanish.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from qddot.errors import ConvergenceError
from qddot.identify.more_columns import Extended, extended
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.record import Record, Recorded, whole
from qddot.identify.regression.residuals import residuals
from qddot.identify.regression.signals import Signals, slopes
from qddot.logs.log import Log, concatenated
from qddot.logs.resample import SPLINE_SAMPLES, onto
from qddot.robot import Robot
from qddot.thresholds import DELAY_FOUND, DELAY_ROUNDS, DELAY_STEP


@dataclass(frozen=True, eq=False)
class TorqueDelays:
    """Delays of the torques, and the log without them.

    Attributes:
        joint_names: the joints of the sensors.
        delays: delays (nv,), s; positive if torques come late.
        std: standard deviations of the delays (nv,), s.
        offsets: offsets of the sensors (nv,), N m, which include friction that differs between directions.
        log: the log with torques shifted to their times; ends without torques are cut off.
        before, after: |error| / |tau| of the filtered torques as recorded, and as shifted.

    >>> robot, t = qddot.load("two_link"), np.arange(0, 20, 0.01)
    >>> w, a = np.array([1.3, 3.1, 5.2]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    >>> motion = lambda t: [f(np.outer(t, w)) * w**k @ a.T for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))]
    >>> log = qddot.identify.Log(t, motion(t)[0], robot.inverse_dynamics(*motion(t - 0.02)), joint_names=robot.joint_names)
    >>> parameters = qddot.identify.ParameterSet.of(robot, armature=False, coulomb=None)
    >>> found = qddot.identify.torque_delays(robot, log, parameter_set=parameters)
    >>> found.delays.round(4).tolist(), len(found.log) < len(log)
    ([0.02, 0.02], True)
    """

    joint_names: tuple[str, ...]
    delays: np.ndarray
    std: np.ndarray
    offsets: np.ndarray
    log: Log
    before: float
    after: float

    def __repr__(self) -> str:
        rows = zip(self.joint_names, 1e3 * self.delays, 1e3 * self.std, self.offsets)
        lines = [f"{name}: {delay:.3g} +- {std:.2g} ms late, offset {offset:.3g} N m" for name, delay, std, offset in rows]
        return "\n".join([*lines, f"torques not explained: {self.before:.2%} as recorded, {self.after:.2%} as moved"])


def torque_delays(
    robot: Robot, log: Recorded, *, parameter_set: ParameterSet | None = None, common: bool = False, cutoff: float | None = None
) -> TorqueDelays:
    """Find delays and offsets of a log's torque sensors, together with the parameters.

    Args:
        log: positions and torques: a `Log`, or the name of a file or of several.
        parameter_set: the parameters of the model; None: the default ones of `ParameterSet.of`.
        common: True for one delay of all joints, as of a bus; False for one each.
        cutoff: cut-off frequency of the low-pass, Hz; None: chosen from the log.

    Raises:
        ConvergenceError: the delays do not settle: they are longer than the time scale of the motion, or not the reason.
        InputError: another robot's log, or a joint without motion.

    >>> robot, t = qddot.load("two_link"), np.arange(0, 20, 0.01)
    >>> w, a = np.array([1.3, 3.1, 5.2]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    >>> motion = lambda t: [f(np.outer(t, w)) * w**k @ a.T for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))]
    >>> log = qddot.identify.Log(t, motion(t)[0], robot.inverse_dynamics(*motion(t - 0.02)), joint_names=robot.joint_names)
    >>> parameters = qddot.identify.ParameterSet.of(robot, armature=False, coulomb=None)
    >>> qddot.identify.torque_delays(robot, log, parameter_set=parameters, common=True).delays.round(4).tolist()
    [0.02, 0.02]
    """
    parameter_set = ParameterSet.of(robot) if parameter_set is None else parameter_set
    base, n = base_parameters(parameter_set), robot.nv
    log = whole(robot, log)
    delays, first, found, record = np.zeros(n), None, None, None
    for _ in range(DELAY_ROUNDS):
        record = Record.of(robot, moved(log, delays), cutoff, "derivative" if log.qd is None else None)
        found = extended(base, record.signals, delay_columns(record.signals, found, base, common))
        first = found if first is None else first
        step = np.broadcast_to(found.zeta, (n,))
        limit = DELAY_STEP / record.signals.cutoff
        delays = delays + np.clip(step, -limit, limit)
        if np.abs(step).max() < DELAY_FOUND / log.rate:
            offsets = np.array([dict(zip(base.names, found.theta)).get(f"{joint}.offset", 0.0) for joint in robot.joint_names])
            std = np.broadcast_to(found.std, (n,)).copy()
            return TorqueDelays(robot.joint_names, delays, std, offsets, moved(log, delays), first.before, found.after)
    raise ConvergenceError(
        f"delays do not settle in {DELAY_ROUNDS} rounds, the last are {np.round(1e3 * delays, 1).tolist()} ms: longer than the "
        "motion itself, or not the reason (see fit.verdict)"
    )


def delay_columns(signals: Signals, found: Extended | None, base: Base, common: bool) -> dict[str, np.ndarray]:
    """Columns of the delays, -d tau / dt, from the torques of the last fit; before the first one from the low-passed torques."""
    slope = slopes(signals.tau if found is None else residuals(base, found.theta, signals).predicted, signals)
    if common:
        return {"delay": -slope}
    return {f"{joint}.delay": -slope * one for joint, one in zip(base.parameter_set.robot.joint_names, np.eye(slope.shape[1]))}


def moved(log: Log, delays: np.ndarray) -> Log:
    """Shift each joint's torque to earlier times by its delay, s; samples left without a torque are cut off."""
    if not delays.any():
        return log
    parts = []
    late, early = max(float(delays.max()), 0.0), min(float(delays.min()), 0.0)
    for segment in log.segments:
        t = log.t[segment]
        kept = np.flatnonzero((t >= t[0] - early) & (t <= t[-1] - late))
        if len(kept) < 2 or len(t) < SPLINE_SAMPLES:
            continue
        rows = slice(segment.start + kept[0], segment.start + kept[-1] + 1)
        tau = np.stack([onto(log.t[rows] + delay, t, tau) for tau, delay in zip(log.tau[segment].T, delays)], axis=1)
        parts.append(replace(log[rows], tau=tau))
    if not parts:
        late_ms, duration = 1e3 * (late - early), max(log.t[s][-1] - log.t[s][0] for s in log.segments)
        raise ConvergenceError(
            f"delays of {late_ms:.3g} ms leave nothing of a log of {duration:.3g} s: they are not the reason (see fit.verdict), or "
            "the log is too short to show them"
        )
    return replace(concatenated(parts), recordings=log.recordings if len(parts) == len(log.segments) else ())
