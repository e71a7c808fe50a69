"""Torques that are off for a sample or a few: taken out before a low-pass smears them over their neighbours.

A sample is a spike where it is far from the median of those about it, in units of what the channel usually differs from it. A
step, as of dry friction, is none: the median steps too. Only samples next to a sudden change are looked at, which costs little.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from qddot.thresholds import BY_MEDIAN, MEDIAN_SAMPLES, SPIKE_DEVIATIONS, SPIKE_REACH, SPIKE_SAMPLES, SPIKE_SHARE, SPIKE_SIZE

if TYPE_CHECKING:
    from qddot.logs.log import Log


class Despiked(NamedTuple):
    """Torques (N, n) without spikes, and how many of each joint (n,) there were."""

    tau: np.ndarray
    count: np.ndarray


def without_spikes(log: Log) -> tuple[Log, np.ndarray]:
    """Return the log without spikes in its torques, and how many of each joint (n,) there were."""
    parts = [despiked(log.tau[segment]) for segment in log.segments]
    count = sum((part.count for part in parts), np.zeros(log.n, int))
    return (replace(log, tau=np.concatenate([part.tau for part in parts])) if count.any() else log), count


def despiked(tau: np.ndarray) -> Despiked:
    """Return torques (N, n) of a stretch with spikes replaced by the median about them."""
    count = np.zeros(tau.shape[1], int)
    if len(tau) < 8 * SPIKE_REACH:
        return Despiked(tau, count)
    found = tau
    for j, x in enumerate(tau.T):
        sudden = np.abs(np.diff(x))
        least = SPIKE_SIZE * np.std(x)
        at = np.flatnonzero(
            sudden > max(SPIKE_DEVIATIONS * BY_MEDIAN * float(np.median(sudden[:: max(1, len(sudden) // MEDIAN_SAMPLES)])), least)
        )
        if not len(at):
            continue
        near = np.unique(np.clip(at[:, None] + np.arange(1 - SPIKE_REACH, 1 + SPIKE_REACH), 0, len(x) - 1))
        usual = usual_difference(x)
        median = medians(x, near)
        far = np.abs(x[near] - median) > max(SPIKE_DEVIATIONS * usual, least)
        if 0 < far.sum() <= SPIKE_SHARE * len(x):
            found = tau.copy() if found is tau else found
            found[near[far], j] = median[far]
            count[j] = far.sum()
    return Despiked(found, count)


def medians(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The median of the samples about each of these, itself among them; at the ends, of those that there are on the other side."""
    centre = np.clip(at, SPIKE_REACH, len(x) - 1 - SPIKE_REACH)
    return np.median(x[centre[:, None] + np.arange(-SPIKE_REACH, SPIKE_REACH + 1)], axis=1)


def usual_difference(x: np.ndarray) -> float:
    """Standard deviation of a channel from the medians about its samples, by the bulk of some of them."""
    some = np.arange(SPIKE_REACH, len(x) - SPIKE_REACH, max(1, len(x) // SPIKE_SAMPLES))
    return BY_MEDIAN * float(np.median(np.abs(x[some] - medians(x, some))))
