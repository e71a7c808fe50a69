"""Choice of the filter from the log itself: the cut-off, and whether measured velocities and accelerations are used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from qddot.logs.audit import velocity_agreement
from qddot.logs.lowpass import LowPass, convolved
from qddot.logs.resample import grid, is_uniform, onto
from qddot.logs.spectrum import densities, motion_band, noise_floor
from qddot.thresholds import ACCELERATION_AGREES, CUTOFF_LEAST, CUTOFF_MOST, FILTER_LOSS, HIGHEST_CUTOFF, KERNEL_LENGTH

if TYPE_CHECKING:
    from qddot.logs.log import Log

Velocity = Literal["measured", "derivative"]
Part = tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray, np.ndarray | None]


def evened(log: Log, segment: slice, rate: float) -> Part:
    """Resample a segment to even times, if needed: t, q, qd, tau, qdd."""
    t, q, tau = log.t[segment], log.q[segment], log.tau[segment]
    qd, qdd = (None if x is None else x[segment] for x in (log.qd, log.qdd))
    if len(t) < 4 or is_uniform(t, rate):
        return t, q, qd, tau, qdd
    times = grid(t, rate)
    even = lambda x: None if x is None else onto(times, t, x)  # noqa: E731
    return times, onto(times, t, q), even(qd), onto(times, t, tau), even(qdd)


def chosen_acceleration(log: Log, cutoff: float) -> tuple[bool, str]:
    """Decide if the log's accelerations are used, with the reason: below the cut-off they must agree with its positions."""
    t, q, _, _, qdd = most_moving(log)
    low_pass = LowPass(log.rate, cutoff)
    if qdd is None or len(t) < 2 * low_pass.half + 9:
        return False, ""
    mine, theirs = convolved(q, low_pass.flat_curvature), convolved(qdd[4 : len(q) - 4], low_pass.flat)
    off = float(np.linalg.norm(mine - theirs) / max(np.linalg.norm(mine), 1e-300))
    if off < ACCELERATION_AGREES:
        return True, f"the log's: below {cutoff:.3g} Hz they are within {off:.2g} of those of its positions"
    return False, f"positions are differentiated: the log's accelerations are off by {off:.2g} of theirs"


def most_moving(log: Log) -> Part:
    """The segment with the most motion, at even times: rests tell nothing about frequencies, however long they are."""
    segment = max(log.segments, key=lambda s: float(np.sum(np.var(log.q[s], axis=0))) * (s.stop - s.start))
    return evened(log, segment, log.rate)


def chosen_cutoff(log: Log) -> tuple[float, str]:
    """Cut-off in Hz from the spectrum of the positions, and the reason in words."""
    t, q, *_ = most_moving(log)
    edge, clear = motion_band(q, log.rate)
    span = len(t) / log.rate
    wanted, why = max(
        (CUTOFF_LEAST * edge, f"{CUTOFF_LEAST:g} times the {edge:.3g} Hz below which 99.9 % of the motion's power lies"),
        min(
            (clear, "up to there positions are ten times as large as their noise"),
            (CUTOFF_MOST * edge, f"{CUTOFF_MOST:g} times the {edge:.3g} Hz below which 99.9 % of the motion's power lies"),
        ),
        (
            KERNEL_LENGTH / (FILTER_LOSS * span),
            f"as high as it takes for the filter's ends to cost no more than a tenth of {span:.3g} s",
        ),
    )
    highest = HIGHEST_CUTOFF * log.rate
    if wanted > highest:
        wanted, why = highest, f"a quarter of the rate; the motion would need {wanted:.3g} Hz, so accelerations will be poor"
    return wanted, f"{wanted:.3g} Hz: {why}"


def chosen_velocity(log: Log, cutoff: float) -> tuple[Velocity, str]:
    """Decide between measured velocities and differentiated positions, with the reason."""
    if log.qd is None:
        return "derivative", "positions are differentiated: the log has no velocities"
    agreement = velocity_agreement(log)
    if not agreement.good:
        return "derivative", f"positions are differentiated: the log's velocities do not agree with them ({agreement})"
    _, *measured = most_moving(log)[:3]
    by_position, by_velocity = (noise_floor(*densities(x, log.rate)) for x in measured if x is not None)
    ratio = float(np.median(np.sqrt(by_velocity / np.maximum(by_position * (2 * np.pi * cutoff) ** 2, 1e-300))))
    if ratio > 1:
        why = f"below {cutoff:.3g} Hz that is {ratio:.2g} times less noisy than the log's velocities"
        return "derivative", f"positions are differentiated: {why}"
    less = 1 / max(ratio, 1e-300)
    return "measured", f"the log's: they agree with the positions ({agreement}) and are {less:.2g} times less noisy"
