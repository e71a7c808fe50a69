"""Audit of a log before any fit: time steps, channels, velocities, limits, units, gravity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import InputError
from qddot.logs.continuity import Continuity
from qddot.logs.log_summary import LogSummary
from qddot.logs.smoothed import Smoothed, smoothed
from qddot.logs.table import Finding
from qddot.model.friction import smooth_step
from qddot.thresholds import (
    EFFORT_EXCEEDED,
    ENDLESS_ANGLE,
    EVEN_STEPS,
    FAR_BEYOND_LIMITS,
    FRICTION_STEP,
    HELD,
    JITTER,
    LIMIT_TOLERANCE,
    LOST_SAMPLES,
    NO_MEASUREMENT,
    POSSIBLE_RATES,
    SAME_RATE,
    SLOWEST_RATE,
    SPEED_EXCEEDED,
    STILL,
    STUCK_SAMPLES,
    SURE_SLOPE,
    TORQUE_BAND,
    VELOCITY_AGREES,
    VELOCITY_DIFFERS,
    VELOCITY_MOVES,
    WEIGHT_BLOCKS,
    WEIGHT_FACTOR,
    WEIGHT_SHOWS,
)

if TYPE_CHECKING:
    from qddot.logs.log import Log
    from qddot.robot import Robot


@dataclass(frozen=True)
class Audit:
    """Findings of an audit, in the order of its checks.

    Attributes:
        summary: the log in one line.
        recording: extremes and counts of all samples.

    >>> t = np.linspace(0, 1, 101)
    >>> log = qddot.logs.Log(t, q=np.zeros((101, 2)), tau=np.zeros((101, 2)))
    >>> len(log.audit().warnings) > 0  # nothing moves
    True
    """

    summary: str
    findings: tuple[Finding, ...]
    recording: LogSummary

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """Findings that make the log doubtful."""
        return tuple(finding for finding in self.findings if finding.level == "warning")

    def __repr__(self) -> str:
        return "\n".join([self.summary, *(f"  {finding}" for finding in self.findings)])


def audit(log: Log, robot: Robot | None = None, summary: LogSummary | None = None) -> Audit:
    """Check times, channels, velocities and, with a robot, limits and gravity. `summary`: that of the whole recording, if the log
    is a chunk of it."""
    summary = summary or LogSummary.of(log)
    found = [
        *summary.findings,
        *timing(summary),
        *unbroken(log.joint_names, summary.continuity),
        *units(log.joint_names, summary, robot),
        *channels(log.joint_names, summary),
        *saturation(log.joint_names, summary, robot),
    ]
    if log.qd is not None:
        agreement = velocity_agreement(log)
        message = f"qd against the derivative of q, worst joint: {agreement}"
        found.append(Finding("warning" if agreement.wrong else "found", "velocity", message))
    if robot is not None:
        found += [*within_limits(log.joint_names, summary, robot), *gravity(log, robot)]
    return Audit(repr(log), tuple(dict.fromkeys(found)), summary)


def timing(summary: LogSummary) -> Iterator[Finding]:
    """Check rate, jitter and missing samples."""
    steps = summary.steps
    if steps is None:
        return
    level = "warning" if steps.jitter > JITTER else "found"
    even = f"steps vary by {100 * steps.jitter:.2g} % rms, {100 * steps.farthest:.3g} % at most"
    yield Finding(level, "rate", f"{steps.rate:.5g} Hz; {'even steps' if steps.jitter < EVEN_STEPS else even}")
    if steps.missing:
        yield Finding(
            "warning", "missing", f"{steps.missing} samples within segments, {steps.places} places: interpolated when prepared"
        )
    low, high = steps.rates
    if high > SAME_RATE * low:
        yield Finding("warning", "rates", f"segments of {low:.4g} to {high:.4g} Hz (resampled(rate) makes them one)")


def unbroken(names: Sequence[str], found: Continuity) -> Iterator[Finding]:
    """Check for samples that are missing or repeated although the clock is even, and for positions that froze or jumped."""
    at = ", ".join(f"{t:.4g}" for t in found.places)
    lost = "are missing though the clock does not say so", "all joints go further than their speed takes them"
    again = "are written twice though the clock goes on", "time seems to stop or to go back"
    for code, count, (what, sign) in (("lost samples", found.lost, lost), ("repeated samples", found.again, again)):
        if count:
            more = " and later" if count > len(found.places) else ""
            message = f"{count} samples {what}, at t = {at} s{more}: there {sign}"
            yield Finding("warning", code, message, serious=count > max(LOST_SAMPLES * found.samples, 2))
    for what, each in (("position", found.frozen), ("torque", found.frozen_tau)):
        for name, held in zip(names, each):
            if held:
                message = f"the {what} of {name} stands still for {held} samples while the arm moves, and then catches up"
                yield Finding("warning", "frozen channel", message, serious=bool(held > LOST_SAMPLES * found.samples))
    for joint, t, size in found.jumps:
        message = f"the position of {names[joint]} steps by {size:.3g} rad (m) at t = {t:.4g} s and stays there: another zero?"
        yield Finding("warning", "position step", message, serious=True)


def units(names: Sequence[str], summary: LogSummary, robot: Robot | None) -> Iterator[Finding]:
    """Check for degrees instead of radians and milliseconds instead of seconds, as in arrays that no reader has converted."""
    steps = summary.steps
    if steps is not None and not SLOWEST_RATE <= steps.rate <= POSSIBLE_RATES[1]:
        many, unit = ("few", "milliseconds") if steps.rate < SLOWEST_RATE else ("many", "another unit")
        message = f"{steps.rate:.3g} samples a second are too {many} for an arm in motion: times in {unit}?"
        yield Finding("warning", "units", message, serious=True)
    if robot is None or robot.nq != len(names) or robot.nv != len(names):
        return
    turns = np.array([joint.kind != "prismatic" for joint in robot.model.joints if joint.name in names])
    limit = np.maximum(np.abs(robot.limits.lower), np.abs(robot.limits.upper))
    far = np.where(np.isfinite(limit), np.maximum(FAR_BEYOND_LIMITS * limit, 1.0), ENDLESS_ANGLE)
    beyond = np.flatnonzero(turns & (summary.q.size > far)) if len(turns) == len(names) else []
    if len(beyond) and 2 * len(beyond) >= turns.sum():  # a single axis may be endless, or its limits wrong
        i = int(beyond[0])
        message = f"{names[i]} goes to {summary.q.size[i]:.4g} rad, far beyond what it can: positions in degrees? (np.radians(q))"
        yield Finding("warning", "units", message, serious=True)


def channels(names: Sequence[str], summary: LogSummary) -> Iterator[Finding]:
    """Check for joints that do not move, constant channels, and samples held for several steps."""
    q, tau, qd = summary.q, summary.tau, summary.qd
    rounded = []
    for i, name in enumerate(names):
        if q.reach[i] < STILL:
            message = f"{name} moves by {q.reach[i]:.2g} rad only: what its motion would show stays unknown"
            yield Finding("warning", "still", message)
        if tau.reach[i] == 0:
            yield Finding("warning", "constant", f"tau of {name} is {tau.low[i] + 0.0:g} throughout")
        if qd is not None and qd.reach[i] == 0 and q.reach[i] > STILL:
            yield Finding("warning", "constant", f"qd of {name} is {qd.low[i] + 0.0:g} throughout, its q is not")
        held = summary.repeats[i] / max(summary.samples - 1, 1)
        if held > HELD and tau.reach[i] > 0:
            rounded.append((name, held))
    rate = summary.steps.rate if summary.steps is not None else None
    for what, times in zip(("positions", "torques"), summary.continuity.written):
        if times > 1 and rate is not None:
            message = (
                f"{what} come at {rate / times:.3g} Hz in a log of {rate:.3g} Hz: each is written {times} times, so on average "
            )
            yield Finding("warning", "held", f"{message}{500 * (times - 1) / rate:.2g} ms late (write each once)")
    if rounded and summary.continuity.written[1] == 1:
        shares = [100 * share for _, share in rounded]
        many = f"{min(shares):.0f} %" if min(shares) > max(shares) - 1 else f"{min(shares):.0f} to {max(shares):.0f} %"
        message = f"tau of {', '.join(name for name, _ in rounded)} repeats its last value in {many} of samples: rounded torques, "
        yield Finding("warning", "held", f"{message}or a slower sensor")


def saturation(names: Sequence[str], summary: LogSummary, robot: Robot | None) -> Iterator[Finding]:
    """Check for torques that rest at their largest value, or exceed the drives' limits. These are warnings only; a fit is refused
    by `check_torques.clipped`."""
    size = summary.tau.size
    for i, name in enumerate(names):
        if summary.stuck[i] >= STUCK_SAMPLES * summary.continuity.written[1] and summary.tau.reach[i] > 0:
            message = f"tau of {name} rests at its largest value {size[i]:.4g} for {summary.stuck[i]} samples"
            yield Finding("warning", "saturated", message)
    if robot is None:
        return
    for name, most, limit in zip(names, size, robot.limits.effort):
        if most > EFFORT_EXCEEDED * limit:
            times = f"{most / limit:.3g} times the robot's limit {limit:g}" if limit > 0 else f"{most:.3g}, and its limit is 0"
            yield Finding("warning", "torque", f"tau of {name} is up to {times}: other units, gears?")


@dataclass(frozen=True)
class Agreement:
    """Measured velocity against the derivative of the positions: qd = scale * dq/dt, `delay` seconds later; `rest` is the relative
    residual."""

    scale: np.ndarray
    delay: np.ndarray
    rest: np.ndarray
    step: float

    @property
    def good(self) -> bool:
        """True if velocities are those of the positions within the tolerance, in scale, in delay and in residual."""
        return bool(np.all(self.differences < VELOCITY_AGREES))

    @property
    def wrong(self) -> bool:
        """True if they are not the velocities of these positions: another unit, another joint, or far too late."""
        return bool(np.any(self.differences > VELOCITY_DIFFERS))

    @property
    def differences(self) -> np.ndarray:
        """Difference of the scale from 1, delay in steps, and residual of each joint (n, 3)."""
        return np.stack([np.abs(self.scale - 1), np.abs(self.delay) / self.step, self.rest], axis=-1)

    def __str__(self) -> str:
        worst = self.scale[np.argmax(np.abs(self.scale - 1))]
        late = self.delay[np.argmax(np.abs(self.delay))]
        return f"scale {worst:.4g}, delay {round(1e3 * late, 4) + 0.0:.3g} ms, rest {round(100 * self.rest.max(), 3):.2g} %"


def velocity_agreement(log: Log) -> Agreement:
    """Fit qd by the first derivative of a smoothed q and the second (for a small delay), joint by joint. Raises InputError: a log
    without velocities."""
    if log.qd is None:
        raise InputError("the log has no velocities to compare with its positions")
    motion = smoothed(log)
    if motion is None or motion.measured_qd is None:
        return Agreement(np.ones(log.n), np.zeros(log.n), np.ones(log.n), 1 / log.rate)
    smooth, v, a = motion.measured_qd, motion.qd, motion.qdd
    scale, delay, rest = np.ones(log.n), np.zeros(log.n), np.zeros(log.n)
    moving = np.ptp(motion.q, axis=0) > VELOCITY_MOVES
    sizes = np.max([np.abs(x).max(axis=0) for x in (smooth, v, a)], axis=0)
    for i in np.flatnonzero(moving & (sizes < NO_MEASUREMENT)):
        (scale[i], late), *_ = np.linalg.lstsq(np.column_stack([v[:, i], -a[:, i]]), smooth[:, i], rcond=None)
        delay[i] = late / scale[i] if scale[i] else 0.0
        rest[i] = np.std(smooth[:, i] - scale[i] * v[:, i] + late * a[:, i]) / np.std(v[:, i])
    return Agreement(scale, delay, rest, 1 / log.rate)


def within_limits(names: Sequence[str], summary: LogSummary, robot: Robot) -> Iterator[Finding]:
    """Check positions and speeds against the robot's limits."""
    limits = robot.limits
    if len(limits.lower) != len(names):
        return
    low, high = summary.q.low, summary.q.high
    for i in np.flatnonzero((low < limits.lower - LIMIT_TOLERANCE) | (high > limits.upper + LIMIT_TOLERANCE)).tolist():
        reach = f"{names[i]} goes from {low[i]:.4g} to {high[i]:.4g}"
        message = f"{reach}, its limits are {limits.lower[i]:.4g} and {limits.upper[i]:.4g}"
        yield Finding("warning", "limits", f"{message}: another order, zero or unit?")
    if summary.qd is not None:
        speed = summary.qd.size
        for i in np.flatnonzero(speed > SPEED_EXCEEDED * limits.velocity).tolist():
            yield Finding("warning", "limits", f"{names[i]} reaches {speed[i]:.4g} rad/s, its limit is {limits.velocity[i]:.4g}")


def gravity(log: Log, robot: Robot) -> Iterator[Finding]:
    """Check torques against those of the robot as described, where its weight shows: order, signs, zeros and units of joints.

    Described masses are seldom wrong by more than a factor of three; units, gears and currents differ by more.
    """
    if robot.symbols or robot.nv != log.n or robot.nq != log.n or len(log) < 2:
        return
    motion = smoothed(log, above=TORQUE_BAND)  # torques have the harmonics of the motion too
    if motion is None:
        return
    weight, described = robot.gravity_torque(motion.q), robot.inverse_dynamics(motion.q, motion.qd, motion.qdd)
    size = np.std(weight, axis=0)
    with_it, against, off = [], [], []
    for i in np.flatnonzero((size > WEIGHT_SHOWS * max(size.max(), 1e-9)) & (np.std(motion.tau, axis=0) > 0)):
        slope, error = slope_of(motion, described, weight, int(i))
        fitted = f"{log.joint_names[i]} {slope:.3g} +- {error:.1g}"
        if abs(slope) > SURE_SLOPE * error:
            (with_it if slope > 0 else against).append(fitted)
        if abs(slope) - SURE_SLOPE * error > WEIGHT_FACTOR or abs(slope) + SURE_SLOPE * error < 1 / WEIGHT_FACTOR:
            off.append(fitted)
    if against:
        others = f", with them at {', '.join(with_it)}" if with_it else ""
        message = f"tau runs against the robot's weight and inertia as described at {', '.join(against)}{others}"
        yield Finding("warning", "gravity", f"{message}: a reversed sign or axis, or another order?")
    if off:
        message = f"tau is far from the robot's weight and inertia as described, by factors {', '.join(off)}"
        yield Finding("warning", "gravity", f"{message}: another unit, a gear, currents?")
    elif with_it and not against:
        yield Finding("found", "gravity", f"tau over that of the robot's weight and inertia as described: {', '.join(with_it)}")


def slope_of(motion: Smoothed, described: np.ndarray, weight: np.ndarray, i: int) -> tuple[float, float]:
    """Return the slope, and its standard error, of tau = slope * described + rotor inertia * qdd + friction + offset, for joint i.

    Described torques contain the noise of accelerations, which would bias the slope to zero; so the weight is their instrument.
    The error is by the jackknife over blocks of time, since neighbouring samples are correlated.
    """
    qd, tau = motion.qd[:, i], motion.tau[:, i]
    rest = np.column_stack([motion.qdd[:, i], qd, smooth_step(qd, FRICTION_STEP * max(np.std(qd), 1e-12)), np.ones(len(qd))])
    X, Z = np.column_stack([described[:, i], rest]), np.column_stack([weight[:, i], rest])
    parts = np.array_split(np.arange(len(qd)), WEIGHT_BLOCKS)
    ZX, Zt = np.array([Z[p].T @ X[p] for p in parts]), np.array([Z[p].T @ tau[p] for p in parts])
    slopes = np.array([np.linalg.lstsq(ZX.sum(axis=0) - a, Zt.sum(axis=0) - b, rcond=None)[0][0] for a, b in zip(ZX, Zt)])
    k = len(parts)
    error = np.sqrt((k - 1) / k * np.sum((slopes - slopes.mean()) ** 2))
    return float(np.linalg.lstsq(ZX.sum(axis=0), Zt.sum(axis=0), rcond=None)[0][0]), float(error)
