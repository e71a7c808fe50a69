"""Removal of spikes in torques, one or a few samples long, before a low-pass smears them over their neighbours.

A sample is a spike if it is far from the median of those around it, in units of the usual deviation there and in the whole channel.
A step, as of dry friction, is not a spike, since the median steps too. Neither is the peak of a torque that is fast for its rate,
since a smooth curve through the samples around it follows it. If most spikes have exactly the same value (a zero for a lost
packet), every isolated sample with that value is a spike, even where the torque happens to be near it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from qddot.logs.stops import runs
from qddot.thresholds import (
    BY_MEDIAN,
    CURVE_SAMPLES,
    LOCAL_SAMPLES,
    MEDIAN_SAMPLES,
    MOST_OF_IT,
    SPIKE_DEVIATIONS,
    SPIKE_OFF_CURVE,
    SPIKE_REACH,
    SPIKE_ROUNDS,
    SPIKE_SAMPLES,
    SPIKE_SHARE,
    SPIKE_SIZE,
    STAND_INS,
)

if TYPE_CHECKING:
    from qddot.logs.log import Log


class Despiked(NamedTuple):
    """Torques (N, n) without spikes, and the numbers of spikes of each joint (n,): replaced, and left since they were too many."""

    tau: np.ndarray
    count: np.ndarray
    left: np.ndarray


def without_spikes(log: Log) -> tuple[Log, Despiked]:
    """Return the log without spikes in its torques, and the torques with the numbers of replaced spikes."""
    parts = [despiked(log.tau[segment]) for segment in log.segments]
    count, left = (np.sum([part[k] for part in parts], axis=0) for k in (1, 2))
    found = Despiked(np.concatenate([part.tau for part in parts]) if count.any() else log.tau, count, left)
    return (replace(log, tau=found.tau) if count.any() else log), found


def despiked(tau: np.ndarray) -> Despiked:
    """Return the torques (N, n) of a stretch with spikes replaced by a curve through sound samples near them."""
    found, count, left = tau, *np.zeros((2, tau.shape[1]), int)
    for j, x in enumerate(tau.T if len(tau) >= 8 * SPIKE_REACH else ()):
        off = spikes(x)
        for _ in range(SPIKE_ROUNDS):  # large spikes raise the standard deviation and so hide others
            if not off.any() or not (more := spikes(mended(x, off)) & ~off).any():
                break
            off |= more
        off |= stand_ins(x, off)
        if off.sum() > SPIKE_SHARE * len(x):
            left[j] = off.sum()
        elif off.any():
            found = tau.copy() if found is tau else found
            found[:, j], count[j] = mended(x, off), off.sum()
    return Despiked(found, count, left)


def spikes(x: np.ndarray) -> np.ndarray:
    """Return a mask (N,) of the samples of a channel that are far from those around them."""
    far, sudden, beside = np.zeros(len(x), bool), np.diff(x), x - x.mean()
    least = SPIKE_SIZE * np.sqrt(beside @ beside / len(x))
    if max(sudden.max(), -sudden.min()) <= least:  # the usual case
        return far
    np.abs(sudden, out=sudden)
    usual = usual_step(sudden)
    at = np.flatnonzero(sudden > max(SPIKE_DEVIATIONS * usual, least))
    if len(at):
        near = np.unique(np.clip(at[:, None] + np.arange(1 - SPIKE_REACH, 1 + SPIKE_REACH), 0, len(x) - 1))
        spread = np.maximum(max(usual, usual_difference(x)), BY_MEDIAN / np.sqrt(2) * local_step(sudden, near))
        away = np.abs(x[near] - medians(x, near))
        far[near] = away > np.maximum(SPIKE_DEVIATIONS * spread, least)
        some = far[near]
        far[near[some]] = np.abs(x[near[some]] - curves(x, far, near[some])) > SPIKE_OFF_CURVE * away[some]
    return far


def curves(x: np.ndarray, far: np.ndarray, at: np.ndarray, reach: int = 2 * SPIKE_REACH, degree: int = 5) -> np.ndarray:
    """Return the values of smooth curves at samples `at`.

    Each curve is a polynomial through the neighbours of the sample without those that are `far` off. By default it has twice as
    many neighbours to each side (`reach`) as a median, and fifth degree, since a torque that is fast for its rate turns within a
    few samples and is not a spike.
    """
    centre = np.clip(at, reach, len(x) - 1 - reach)
    place = np.arange(-reach, reach + 1)
    rows = centre[:, None] + place
    V = np.vander(place / reach, degree + 1)
    X = V * ~far[rows][..., None]
    normal = np.swapaxes(X, 1, 2) @ X + 1e-9 * np.eye(degree + 1)  # regular even if nearly all samples are far off
    curve = np.linalg.solve(normal, np.swapaxes(X, 1, 2) @ x[rows][..., None])[..., 0]
    return np.einsum("ki,ki->k", np.vander((at - centre) / reach, degree + 1), curve)


def stand_ins(x: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Return a mask (N,) of the isolated samples with the exact value that most spikes have; none if spikes differ."""
    values, times = np.unique(x[off], return_counts=True)
    if not len(values) or times.max() < max(STAND_INS, MOST_OF_IT * off.sum()):
        return np.zeros(len(x), bool)
    same = x == values[np.argmax(times)]
    for start, stop in runs(same):
        same[start:stop] = stop - start <= SPIKE_REACH
    return same


def mended(x: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Return a channel (N,) whose samples that are `off` are replaced by values of a cubic through the others near them.

    A median would be flatter than a torque that bends, and err to the same side each time. It is used only if few samples near one
    are sound.
    """
    at = np.flatnonzero(off)
    padded = np.pad(np.where(off, np.nan, x), SPIKE_REACH, constant_values=np.nan)
    about = sliding_window_view(padded, 2 * SPIKE_REACH + 1)[at]
    sound = np.sum(~np.isnan(about), axis=1)
    found = x.copy()
    found[at[sound > 0]] = np.nanmedian(about[sound > 0], axis=1)
    most = at[sound >= CURVE_SAMPLES]
    found[most] = curves(x, off, most, SPIKE_REACH, 3)
    return found


def usual_step(sudden: np.ndarray) -> float:
    """Return the standard deviation of a channel from the median of its steps (N,), except the zeros of a rounded signal."""
    some = sudden[:: max(1, len(sudden) // MEDIAN_SAMPLES)]
    some = some[some > 0]
    return BY_MEDIAN / np.sqrt(2) * float(np.median(some)) if len(some) else 0.0


def local_step(sudden: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the median step in the block of each sample `at`: drives are noisier at some times than at others."""
    size = min(len(sudden), LOCAL_SAMPLES)
    count = len(sudden) // size
    blocks, of = np.unique(np.minimum(at // size, count - 1), return_inverse=True)
    return np.median(sudden[: count * size].reshape(count, size)[blocks], axis=1)[of]


def medians(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return the median of the window around each sample `at`; near the ends, that of the first or last full window."""
    centre = np.clip(at, SPIKE_REACH, len(x) - 1 - SPIKE_REACH)
    return np.median(x[centre[:, None] + np.arange(-SPIKE_REACH, SPIKE_REACH + 1)], axis=1)


def usual_difference(x: np.ndarray) -> float:
    """Return the standard deviation of some samples of a channel from the medians around them, by the median of the deviations."""
    some = np.arange(SPIKE_REACH, len(x) - SPIKE_REACH, max(1, len(x) // SPIKE_SAMPLES))
    return BY_MEDIAN * float(np.median(np.abs(x[some] - medians(x, some))))
