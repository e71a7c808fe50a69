"""Torques that come a fraction of a sample later, or earlier, than the positions they are logged with.

    tau(t) = tau_model(t - delay),      -d tau_model / dt is the column of the delay

In many logs they do: a torque is that of the current at another moment of the cycle, or the command of the one before. Half a
millisecond is 0.1 to 0.3 % of the torques, but moves parameters by several of their standard deviations. So positions are taken
that much earlier. A delay of two samples is a fault of the log, which the verdict names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from qddot.errors import InputError
from qddot.identify.more_columns import extended
from qddot.identify.regression.base import Base
from qddot.identify.regression.excerpt import many
from qddot.identify.regression.signals import Signals
from qddot.identify.torque_delays import delay_columns
from qddot.logs.resample import SPLINE_SAMPLES, onto
from qddot.logs.table import Finding
from qddot.thresholds import ALIGNED, ALIGNED_ROUNDS, DELAY_FOUND, DELAY_SOUGHT, LEAST_DELAY, SURE_DELAY


def common_delay(base: Base, signals: Signals) -> float:
    """Return by how much later than positions torques came, s; 0 if that is not sure. `signals.delay` stays if it is hardly another
    one. It may be too long to align by (`alignable`).

    >>> robot, t = qddot.load("two_link"), np.arange(0, 20, 0.01)
    >>> w, a = np.array([1.3, 3.1, 5.2]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    >>> motion = lambda t: [f(np.outer(t, w)) * w**k @ a.T for k, f in enumerate((np.sin, np.cos, lambda x: -np.sin(x)))]
    >>> log = qddot.identify.Log(t, motion(t)[0], robot.inverse_dynamics(*motion(t - 0.002)), joint_names=robot.joint_names)
    >>> from qddot.identify import ParameterSet, base_parameters, prepare
    >>> base = base_parameters(ParameterSet.of(robot, armature=False, coulomb=None))
    >>> round(common_delay(base, prepare(log)), 5)
    0.002
    """
    part, found = many(signals), None

    def further(beyond: float) -> tuple[float, float]:
        nonlocal found
        earlier = replace(part, tau_raw=torques_after(part, beyond))
        found = extended(base, earlier, delay_columns(earlier, found, base, common=True))
        return float(found.zeta[0]), float(found.std[0])

    return settled_delay(further, signals.delay, signals.rate)


def settled_delay(further: Callable[[float], tuple[float, float]], known: float, rate: float) -> float:
    """Return the delay, s, of torques that are known to come so much later; 0 if it is not sure.

    `further` takes torques that come so many seconds after their samples, and returns by how much later they should be taken, s,
    with the standard deviation of that.
    """
    beyond = 0.0
    for _ in range(ALIGNED_ROUNDS):
        try:
            step, std = further(beyond)
        except InputError:  # nothing that moves, or only torques that do not change
            return known
        beyond += step
        if abs(known + beyond) * rate > DELAY_SOUGHT:
            return known
        if abs(step) * rate < DELAY_FOUND * LEAST_DELAY:
            break
    if abs(beyond) <= max(std, LEAST_DELAY / rate):
        return known
    return known + beyond if abs(known + beyond) > SURE_DELAY * std else 0.0


def alignable(delay: float, rate: float) -> float:
    """Return a delay, s, of torques of so many samples a second; 0 if it is longer than a sample and a half: that is a fault of the
    log, or that of another one, as a faster logger has its own."""
    return delay if abs(delay) * rate <= ALIGNED else 0.0


def torques_after(signals: Signals, seconds: float) -> np.ndarray:
    """Measured torques (N, nv) that come so much after each sample; at the ends of segments, and in very short ones, their own."""
    t, tau = signals.t, signals.tau_raw.copy()
    for s in signals.segments:
        if seconds and s.stop - s.start >= SPLINE_SAMPLES:
            tau[s] = onto(t[s] + seconds, t[s], tau[s])
    return tau


def told_delays(*recorded: Signals) -> tuple[Finding, ...]:
    """Report by how much positions were taken earlier, one finding for each recording of which they were."""
    return tuple(told_delay(one.delay, one.rate) for one in recorded if one.delay)


def told_fault(delay: float, rate: float, what: str = "torques") -> tuple[Finding, ...]:
    """Report a delay, s, of torques of so many samples a second, if it is too long to align by."""
    if delay == alignable(delay, rate):
        return ()
    cure = " (torque_delays(robot, log, common=True).log is without it)" if what == "torques" else ""
    message = (
        f"{what} came {told_late(delay)} than positions, more than a sample and a half, which is not mended: a fault of the log"
    )
    return (Finding("warning", "delay", message + cure, serious=True),)


def told_delay(delay: float, rate: float, what: str = "torques") -> Finding:
    """Report by how much positions were taken earlier than torques, or than other forces."""
    message = f"{what} came {told_late(delay)} than positions ({abs(delay) * rate:.2g} of a sample)"
    return Finding("repaired", "delay", f"{message}: positions are taken that much {'earlier' if delay > 0 else 'later'}")


def told_late(delay: float) -> str:
    return f"{abs(1e3 * delay):.2g} ms {'later' if delay > 0 else 'earlier'}"
