"""Detection of breaks in a recording: samples that are lost or written twice, frozen sensors, and positions that jump.

A logger that drops rows may still write an even clock: then the arm seems to move faster for one step. Each step of all joints
together is compared with the velocity there,

    r = (step / time . v) / (v . v),        each joint in units of its usual deviation,

which is usually 1, but m + 1 if m samples are missing and 0 if a sample is written again. If a sample only repeats the one
before, the next step is longer, although nothing is missing. v is the median of the steps nearby: measured velocities are delayed
by unknown filters. If the arm is so fast for the sampling rate that steps differ from that median without any loss, v is
interpolated from the adjacent steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.ndimage import median_filter, minimum_filter1d

from qddot.logs.stops import runs
from qddot.thresholds import (
    BY_MEDIAN,
    CAUGHT_UP,
    CLOCK_STEPS,
    FEW_RUNS,
    FROZEN_RUN,
    HALF_SAMPLE,
    JUMP,
    LARGEST_PLAY,
    MEDIAN_SAMPLES,
    MOST_OF_IT,
    ON_GRID,
    PLACES_NAMED,
    PLAIN_STEPS,
    ROUNDED_STEPS,
    STANDS_ALONE,
    STEADY_STEPS,
    SURE_STEP,
    THAWED,
    VELOCITY_STEPS,
)

if TYPE_CHECKING:
    from qddot.logs.log import Log


@dataclass(frozen=True, eq=False)
class Continuity:
    """Breaks in a recording of n joints.

    Attributes:
        lost: number of samples that are missing though the clock is even.
        again: number of samples that were written twice while the clock went on.
        places: times of the first few of both, s.
        frozen: number of samples (n,) in which a position stood still while the joint moved.
        frozen_tau: number of samples (n,) in which a torque stood still while the arm moved.
        resolution: increment (n,) to which positions are rounded; 0 if they are not.
        jumps: (joint, time in s, size in rad or m) of positions of a single joint that jump and stay there.
        samples: number of samples.
        written: numbers of rows for which positions, and torques, are repeated until the next ones, if those of all joints change
            at once.
    """

    lost: int
    again: int
    places: tuple[float, ...]
    frozen: np.ndarray
    frozen_tau: np.ndarray
    resolution: np.ndarray
    jumps: tuple[tuple[int, float, float], ...]
    samples: int
    written: tuple[int, int] = (1, 1)

    @staticmethod
    def of(log: Log) -> Continuity:
        """Return the breaks in all segments of a log that are long enough."""
        nothing = np.zeros(log.n, int)
        found = Continuity(0, 0, (), nothing, nothing, np.zeros(log.n), (), 0)
        for s in log.segments:
            if s.stop - s.start > 4 * VELOCITY_STEPS:
                found += in_segment(log.t[s], log.q[s], log.tau[s])
        return replace(found, samples=len(log))

    def __add__(self, other: Continuity) -> Continuity:
        return Continuity(
            self.lost + other.lost,
            self.again + other.again,
            (*self.places, *other.places)[:PLACES_NAMED],
            self.frozen + other.frozen,
            self.frozen_tau + other.frozen_tau,
            np.maximum(self.resolution, other.resolution),
            (*self.jumps, *other.jumps)[:PLACES_NAMED],
            self.samples + other.samples,
            (max(self.written[0], other.written[0]), max(self.written[1], other.written[1])),
        )


def in_segment(t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> Continuity:
    """Return the breaks in samples without a pause; if positions come at a lower rate, only in samples with new ones."""
    new, tau_new = fresh(q), fresh(tau)
    written = (1 if new is None else new.every, 1 if tau_new is None else tau_new.every)
    at = new.at if new is not None and len(new.at) > 4 * VELOCITY_STEPS else slice(None)
    found = in_new_samples(t[at], q[at], tau[at])
    if tau_new is not None:  # torques that repeat until the next one comes are not frozen
        found = replace(found, frozen_tau=np.zeros(q.shape[1], int))
    return replace(found, written=written)


class Fresh(NamedTuple):
    """Indices `at` of samples with new values, and the number of rows between them."""

    every: int
    at: np.ndarray


def fresh(x: np.ndarray) -> Fresh | None:
    """Return the samples at which a signal (N, n) has new values, if those of all joints come at once and are evenly spaced.

    None if they come at each row, or irregularly as the values of a rounded signal.
    """
    if any(np.mean(column[1:] != column[:-1]) > HALF_SAMPLE + CLOCK_STEPS for column in x.T):  # mostly decided by the first one
        return None
    changes = np.any(x[1:] != x[:-1], axis=1)
    if changes.mean() > HALF_SAMPLE + CLOCK_STEPS:
        return None
    at = np.flatnonzero(changes) + 1
    if len(at) < FEW_RUNS:
        return None
    apart = np.diff(at)
    every = int(np.median(apart))
    return Fresh(every, at) if every > 1 and np.mean(apart % every == 0) > 1 - CLOCK_STEPS else None


def in_new_samples(t: np.ndarray, q: np.ndarray, tau: np.ndarray) -> Continuity:
    """Return the breaks in samples that are all new."""
    told = without_a_break(t, q)
    if told is not None:  # no step is long, stuck or a jump
        nothing = np.zeros(q.shape[1], int)
        return Continuity(0, 0, (), nothing, still_torques(tau, told), resolutions(q), (), len(t))
    step = np.diff(q, axis=0) / np.diff(t)[:, None]
    near = by_neighbours(step)
    usual = usual_deviation(step - near)
    v = np.stack([median_filter(x, size=VELOCITY_STEPS, mode="nearest") for x in step.T]).T  # three times as fast as all at once
    deviation = scatter(step - v)
    told, r, late, lost_ones = lengths(step, v, deviation)
    if not lost_ones:
        _, r_near, late, lost_ones = lengths(step, near, usual)
        late &= lost_ones
        r = np.where(late, r_near, r)
    frozen, thawed = stuck(t, step, deviation)
    late &= ~thawed.any(axis=1)  # a position that catches up shows no lost samples
    twice = told & np.all(step == 0, axis=1) & np.all(np.diff(tau, axis=0) == 0, axis=1)
    twice[:-1] &= r[1:] < 1 + HALF_SAMPLE
    beside = (step - np.where(late, r, 1.0)[:, None] * v) * np.diff(t)[:, None]
    size = np.abs(beside)
    aside = (size > 2 * SURE_STEP * deviation * np.median(np.diff(t))) & ~thawed & ~late[:, None] & stays(beside)
    aside[1:-1] &= size[1:-1] > STANDS_ALONE * np.maximum(size[:-2], size[2:])  # in fast motion, neighbours deviate as well
    unit = resolutions(q)  # to which a position in coarse steps moves at once
    far, together = aside & (size > np.maximum(JUMP, (1 + HALF_SAMPLE) * unit)), np.sum(aside, axis=1) > 1
    if far.any():
        far &= ~in_play(v, deviation, size)
    where, joint = np.nonzero(far & ~together[:, None])
    jumps = tuple((int(j), float(t[k + 1]), float(beside[k, j])) for k, j in zip(where, joint))
    ahead, back = bursts(step, v, deviation, np.any(far, axis=1) & together)
    lost, again = int(np.sum(np.round(r[late] - 1))) + int(ahead.sum()), int(twice.sum()) + int(back.sum())
    places = tuple(t[1:][late | twice | (ahead > 0) | (back > 0)][:PLACES_NAMED].tolist())
    return Continuity(lost, again, places, frozen, still_torques(tau, told), unit, jumps[:PLACES_NAMED], len(t))


def in_play(v: np.ndarray, deviation: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return a mask (N, n) of the steps that are small and at a reversal of the joint.

    There a motor crosses the backlash of its gear, which does not displace the zero of the joint (a fit reports it as `backlash`).
    """
    before, after = np.zeros_like(v), np.zeros_like(v)
    before[VELOCITY_STEPS:], after[:-VELOCITY_STEPS] = v[:-VELOCITY_STEPS], v[VELOCITY_STEPS:]
    turns = (before * after < 0) & (np.minimum(np.abs(before), np.abs(after)) > deviation)
    return turns & (size < LARGEST_PLAY)


def bursts(step: np.ndarray, v: np.ndarray, deviation: np.ndarray, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many samples are missing before each step (N,), and how many were written again.

    Only the steps in `gap` (N,) are considered, in which several joints jump at once: forward if samples are missing, back if they
    were written again. These are so many that speeds have changed in the meantime, and steps are not multiples of the usual ones.
    """
    w = 1 / np.where(deviation > 0, deviation, np.inf)
    along = np.einsum("ij,ij->i", w * step, w * v) / np.maximum(squares(w * v), 1e-300)
    count = np.where(gap, np.maximum(np.round(np.abs(along)), 1), 0).astype(int)
    return np.where(along > 0, count, 0), np.where(along > 0, 0, count)


def without_a_break(t: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Return a mask (N - 1,) of the steps at which lost samples would show, or None if a step of q may be a break.

    It may be one if it differs much from its neighbours. Joints are processed one by one, so that the data of each stay in the
    cache.
    """
    times = np.diff(t)
    off, told = np.zeros(len(times)), np.zeros(len(times))
    for x in q.T:
        step = np.diff(x) / times
        near = by_neighbours(step)
        step -= near
        usual = usual_deviation(step)
        if not usual > 0:
            return None
        step /= usual
        near /= usual
        off += np.square(step, out=step)
        told += np.square(near, out=near)
    return told > (SURE_STEP / HALF_SAMPLE) ** 2 if off.max() < SURE_STEP**2 else None


def usual_deviation(x: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column from zero, estimated from the median of some of its absolute values."""
    return BY_MEDIAN * np.median(np.abs(x[:: max(1, len(x) // MEDIAN_SAMPLES)]), axis=0)


class Lengths(NamedTuple):
    """Lengths of steps in units of the usual step."""

    told: np.ndarray  # mask of the steps whose length is known, since they are long beside their deviation
    r: np.ndarray  # lengths
    late: np.ndarray  # mask of the long steps
    lost: bool  # true if the long ones are due to lost samples


def lengths(step: np.ndarray, v: np.ndarray, deviation: np.ndarray) -> Lengths:
    """Return the lengths of steps (N, n) relative to velocities v (N, n); `deviation` (n,) is the usual one of each joint."""
    seen = deviation > 0
    w = np.where(seen, 1 / np.where(seen, deviation, 1.0), 0.0)
    power = squares(w * v)
    told = power > (SURE_STEP / HALF_SAMPLE) ** 2
    r = np.where(told, np.einsum("ij,ij->i", w * step, w * v) / np.where(told, power, 1.0), 1.0)
    steady = minimum_filter1d(r, 2 * STEADY_STEPS + 1, mode="nearest") > HALF_SAMPLE
    jitter = BY_MEDIAN * np.median(np.abs(r[told] - 1)) if told.any() else 0.0  # jitter of the clock
    late = told & steady & (r > 1 + max(HALF_SAMPLE, SURE_STEP * jitter))
    late &= squares(w * (step - r[:, None] * v)) < MOST_OF_IT * squares(w * (step - v))  # all joints go further, not a single one
    return Lengths(told, r, late, lost_rather_than_fast(r[told & steady]))


def squares(x: np.ndarray) -> np.ndarray:
    """Return the sum of the squares of each row (N,)."""
    return np.einsum("ij,ij->i", x, x)


def by_neighbours(step: np.ndarray) -> np.ndarray:
    """Return an estimate of each step (N, ...) from its neighbours, of which one may be long.

    It is the median of the extrapolation from the two before, the extrapolation from the two after, and the mean of one on either
    side.
    """
    p = np.concatenate([step[:1], step[:1], step, step[-1:], step[-1:]])
    before, after = p[1:-3], p[3:-1]
    one_side, other_side = 2 * before, 2 * after
    one_side -= p[:-4]
    other_side -= p[4:]
    both = before + after
    both /= 2
    least = np.minimum(both, one_side)
    np.maximum(both, one_side, out=both)
    np.minimum(both, other_side, out=both)
    return np.maximum(least, both, out=least)


def lost_rather_than_fast(r: np.ndarray) -> bool:
    """Return True if long steps (N,), in units of the usual step, are due to lost samples, so that most are about 2 or 3.

    In a motion that is fast for its rate they have any length.
    """
    long = r[r > 1 + HALF_SAMPLE / 2]
    whole = np.abs(long - np.round(long)) < HALF_SAMPLE / 2
    return bool(whole.sum() > 2 * np.sum(~whole))


def scatter(x: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column from its 85 % quantile, but at least a fifth of the RMS of all values.

    The median would not do, since more than half of the values of a rounded signal may be zero.
    """
    return np.maximum(
        np.quantile(np.abs(x[:: max(1, len(x) // MEDIAN_SAMPLES)]), 0.85, axis=0) / 1.44, np.sqrt(np.mean(x * x, axis=0)) / 5
    )


def stuck(t: np.ndarray, step: np.ndarray, deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of samples for which each position (n,) stood still to the last bit and then caught up, and a mask (N - 1,
    n) of the steps at which it caught up."""
    found, thawed = np.zeros(step.shape[1], int), np.zeros(step.shape, bool)
    resolution = unit_of(step * np.diff(t)[:, None])
    for j in range(step.shape[1]):
        for start, end in runs(step[:-1, j] == 0):
            if end - start <= VELOCITY_STEPS:  # then velocities show samples that were written again
                continue
            sudden, after = abs(step[end, j]), np.abs(step[end + 1 : end + 1 + VELOCITY_STEPS, j])
            usual = max(SURE_STEP * deviation[j], THAWED * float(np.median(after)) if len(after) else 0.0)
            way = sudden * (t[end + 1] - t[end])
            if sudden > usual and way > max(CAUGHT_UP, (1 + HALF_SAMPLE) * resolution[j]):
                found[j] += end - start
                thawed[end, j] = True
    return found, thawed


def still_torques(tau: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Return the number of samples for which each torque (n,) was frozen.

    It then stood still to the last bit while the arm moved and other torques changed. A saturated torque is not frozen: it is the
    largest or smallest of all, or larger than those before and after, and leaves its limit by small steps.
    """
    found = np.zeros(tau.shape[1], int)
    if np.all(repeats(tau) <= FROZEN_RUN):
        return found
    change = np.diff(tau, axis=0)
    alive = moving & (np.any(change != 0, axis=1) | (tau.shape[1] == 1))
    usual, unit = scatter(change), resolutions(tau)
    low, high = tau.min(axis=0), tau.max(axis=0)
    for j, steps in enumerate(change.T):
        for start, end in rests(steps):
            if alive[start:end].mean() > HALF_SAMPLE and low[j] < tau[start, j] < high[j]:
                about = np.concatenate([tau[max(0, 2 * start - end) : start, j], tau[end + 1 : 2 * end - start, j]])
                between = len(about) > 0 and about.min() < tau[start, j] < about.max()
                thawed = abs(steps[end]) > (1 + HALF_SAMPLE) * unit[j]  # a rounded torque usually changes by one unit
                found[j] += (end - start) * int(thawed and (between or abs(steps[end]) > SURE_STEP * usual[j]))
    return found


def repeats(x: np.ndarray) -> np.ndarray:
    """Return the number of samples in which each channel (n,) of a signal (N, n) is exactly equal to the sample before."""
    return np.array([np.count_nonzero(values[1:] == values[:-1]) for values in x.T])


def resolutions(x: np.ndarray) -> np.ndarray:
    """Return the increment (n,) to which a signal (N, n) is rounded; 0 if it is not rounded."""
    some = repeats(x) > ROUNDED_STEPS * (len(x) - 1)
    return unit_of(np.diff(x, axis=0)) if some.any() else np.zeros(len(some))


def unit_of(step: np.ndarray) -> np.ndarray:
    """Return the increment (n,) to which a signal is rounded, from its steps (N, n); 0 if it is not rounded."""
    some = np.mean(step == 0, axis=0) > ROUNDED_STEPS
    if not some.any():
        return np.zeros(len(some))
    size = np.abs(step)
    unit = np.min(np.where(size > 0, size, np.inf), axis=0, initial=np.inf)
    unit = np.where(np.isfinite(unit), unit, 1.0)
    whole = np.mean(np.abs(size / unit - np.round(size / unit)) < ON_GRID, axis=0)
    rounded = (whole > PLAIN_STEPS) & some & (np.sum(size > 0, axis=0) > FEW_RUNS)
    return np.where(rounded, unit, 0.0)


def rests(step: np.ndarray) -> np.ndarray:
    """Return start and end (k, 2) of the rests of a channel that are unusually long and end, by its steps (N,)."""
    found = runs(step == 0)
    length = np.diff(found)[:, 0]
    usual = float(np.median(length)) if len(found) > FEW_RUNS else 1.0
    return found[(length > FROZEN_RUN * usual) & (found[:, 1] < len(step))]


def stays(beside: np.ndarray) -> np.ndarray:
    """Return a mask (N - 1, n) of the steps that lead neither to a single outlier nor back from it."""
    here, there = beside[:-1], beside[1:]
    single = (here * there < 0) & (np.abs(there) < 2 * np.abs(here)) & (np.abs(here) < 2 * np.abs(there))
    none = np.zeros((1, beside.shape[1]), bool)
    return ~np.concatenate([single, none]) & ~np.concatenate([none, single])
