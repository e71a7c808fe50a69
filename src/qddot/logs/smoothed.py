"""The longest segment of a log, low-passed just above the motion: for checks before any choice of filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.logs.lowpass import LowPass, convolved
from qddot.logs.resample import evened
from qddot.logs.spectrum import motion_band
from qddot.thresholds import FEWEST_PERIODS, HIGHEST_CUTOFF, NO_MEASUREMENT

if TYPE_CHECKING:
    from qddot.logs.log import Log


class Smoothed(NamedTuple):
    """Positions with their derivatives, torques and measured velocities (M, n), all by one filter."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau: np.ndarray
    measured_qd: np.ndarray | None


def smoothed(log: Log, above: float = 1.0) -> Smoothed | None:
    """Return the longest segment, low-passed at `above` times the upper limit of the motion's band. None if it is shorter than the
    filter, or its positions are too large for a measurement."""
    segment = max(log.segments, key=lambda s: s.stop - s.start)
    rate = log.rate
    even = evened(log, segment, rate)
    q, qd, tau = even.q, even.qd, even.tau
    if not np.abs(q).max() < NO_MEASUREMENT:
        return None
    cutoff = max(above * max(motion_band(q, rate)), FEWEST_PERIODS / (len(q) / rate))
    low_pass = LowPass(rate, min(HIGHEST_CUTOFF * rate, cutoff))
    if len(q) < 2 * low_pass.half + 19:
        return None
    smooth = low_pass.smooth
    return Smoothed(
        convolved(q[4:-4], smooth),
        convolved(q, low_pass.slope),
        convolved(q, low_pass.curvature),
        convolved(tau[4:-4], smooth),
        None if qd is None else convolved(qd[4:-4], smooth),
    )
