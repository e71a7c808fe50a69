"""Choice of the filter from the log itself: the cut-off, and whether measured velocities and accelerations are used."""

from __future__ import annotations

from typing import Literal

import numpy as np

from qddot.logs.audit import velocity_agreement
from qddot.logs.log import Log
from qddot.logs.lowpass import LowPass, convolved
from qddot.logs.resample import Even, evened
from qddot.logs.spectrum import densities, motion_band, noise_floor
from qddot.logs.table import Finding
from qddot.thresholds import ACCELERATION_AGREES, CUTOFF_LEAST, CUTOFF_MOST, FILTER_LOSS, HIGHEST_CUTOFF, KERNEL_LENGTH

Velocity = Literal["measured", "derivative"]


def chosen(
    log: Log, cutoff: float | None, velocity: Velocity | None, source: str = ""
) -> tuple[float, Velocity, bool, list[Finding]]:
    """Choose the filter by a log, as far as it is not given: cut-off, Hz, source of the velocities, True if the accelerations are
    the log's, and findings with the reasons, before which `source` is put."""
    findings = []
    if cutoff is None:
        cutoff, why = chosen_cutoff(log)
        findings.append(Finding("assumed", "cut-off", source + why))
    if velocity is None:
        velocity, why = chosen_velocity(log, cutoff)
        findings.append(Finding("assumed", "velocity", source + why))
    recorded, why = chosen_acceleration(log, cutoff)
    if why:
        findings.append(Finding("assumed", "acceleration", source + why))
    return cutoff, velocity, recorded, findings


def chosen_acceleration(log: Log, cutoff: float) -> tuple[bool, str]:
    """Decide if the log's accelerations are used, with the reason: below the cut-off they must agree with its positions."""
    moving = most_moving(log)
    q, qdd = moving.q, moving.qdd
    low_pass = LowPass(log.rate, cutoff)
    if qdd is None or len(q) < 2 * low_pass.half + 9:
        return False, ""
    mine, theirs = convolved(q, low_pass.flat_curvature), convolved(qdd[4 : len(q) - 4], low_pass.flat)
    off = float(np.linalg.norm(mine - theirs) / max(np.linalg.norm(mine), 1e-300))
    if off < ACCELERATION_AGREES:
        return True, f"the log's: below {cutoff:.3g} Hz they are within {off:.2g} of those of its positions"
    return False, f"positions are differentiated: the log's accelerations are off by {off:.2g} of theirs"


def most_moving(log: Log) -> Even:
    """The segment with the most motion, at even times: rests tell nothing about frequencies, however long they are."""
    segment = max(log.segments, key=lambda s: float(np.sum(np.var(log.q[s], axis=0))) * (s.stop - s.start))
    return evened(log, segment, log.rate)


def chosen_cutoff(log: Log) -> tuple[float, str]:
    """Cut-off in Hz from the spectrum of the positions, and the reason in words."""
    q = most_moving(log).q
    edge, clear = motion_band(q, log.rate)
    span, band = len(q) / log.rate, f"times the {edge:.3g} Hz below which 99.9 % of the motion's power lies"
    ends = f"as high as it takes for the filter's ends to cost no more than a tenth of {span:.3g} s"
    by_noise = clear, "up to there positions are ten times as large as their noise"
    least, most = ((times * edge, f"{times:g} {band}") for times in (CUTOFF_LEAST, CUTOFF_MOST))
    wanted, why = max(least, min(by_noise, most), (KERNEL_LENGTH / (FILTER_LOSS * span), ends))
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
    moving = most_moving(log)
    by_position, by_velocity = (noise_floor(*densities(x, log.rate)) for x in (moving.q, moving.qd) if x is not None)
    ratio = float(np.median(np.sqrt(by_velocity / np.maximum(by_position * (2 * np.pi * cutoff) ** 2, 1e-300))))
    if ratio > 1:
        why = f"below {cutoff:.3g} Hz that is {ratio:.2g} times less noisy than the log's velocities"
        return "derivative", f"positions are differentiated: {why}"
    less = 1 / max(ratio, 1e-300)
    return "measured", f"the log's: they agree with the positions ({agreement}) and are {less:.2g} times less noisy"
