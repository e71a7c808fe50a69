"""Times at which samples were taken, where their stamps jitter and they do not.

A controller samples evenly; a logger stamps what it gets when it gets it. Which of the two is uneven, the positions tell: each is
predicted from its neighbours, once at their stamps, once at even times, and a smooth motion fits the true times better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.interpolate import make_lsq_spline

from qddot.logs.table import Finding
from qddot.thresholds import (
    BY_MEDIAN,
    GAP,
    NO_MEASUREMENT,
    STALL_ROUNDS,
    STALLED,
    STAMPS_COMPARED,
    STAMPS_MISS,
    STAMPS_TOGETHER,
    UNIFORM,
    UNSTEADY,
)

if TYPE_CHECKING:
    from qddot.logs.log import Log

NEIGHBOURS = (-2, -1, 1, 2)
SHORTEST = 20  # samples, from which a cubic along the stamps is an average


def is_uniform(t: np.ndarray, rate: float) -> bool:
    """Return True if samples are evenly enough spaced to be used as they are."""
    even = t[0] + np.arange(len(t)) / rate
    return bool(np.abs(t - even).max() <= UNIFORM / rate)


def steadied(log: Log) -> Log:
    """Return a log with the times at which its samples were taken: those of the log where its stamps do not jitter, or rightly."""
    times, rate = [log.t[s] for s in log.segments], log.rate
    even = [is_uniform(t, rate) for t in times]
    if all(even) and log.duration > (log.t[-1] - log.t[0]) / 2:  # stamps in bursts are seldom, and even samples usual
        return log
    if len(times) > 1 and len(set(log.recordings)) == 1 and (t := without_pauses(log)) is not None:
        return with_times(log, t, ())
    parts = [t if is_even else times_of(t, log.q[s], rate) for t, s, is_even in zip(times, log.segments, even)]
    t = np.concatenate(parts)
    return log if np.array_equal(t, log.t) else with_times(log, t, log.segments)


def without_pauses(log: Log) -> np.ndarray | None:
    """Return the times of samples that were taken evenly all along, though stamps pause: a logger was busy, or wrote several
    samples at once. None if samples pause, too."""
    if not np.all(np.diff(log.t) > 0):
        return None
    t = times_of(log.t, log.q, (len(log) - 1) / (log.t[-1] - log.t[0]))
    steps = np.diff(t)
    return None if t is log.t or steps.max() > GAP * steps.min() else t


def with_times(log: Log, t: np.ndarray, segments: tuple[slice, ...]) -> Log:
    """Return a log with other times (N,) of its samples, and a finding that says so."""
    message = f"jitter by {1e3 * np.std(t - log.t):.2g} ms rms, samples do not, as positions tell: their times are evened out"
    return replace(log, t=t, segments=segments, findings=(*log.findings, Finding("repaired", "stamps", message)))


def times_of(t: np.ndarray, q: np.ndarray, rate: float) -> np.ndarray:
    """Return the times (N,), s, at which positions q (N, n) were taken: the stamps t (N,), or even times, if those fit q clearly
    better. Even times follow a clock that drifts, and leave room for lost samples.

    >>> draw, even = np.random.default_rng(0), np.arange(400) / 100
    >>> stamps = even + draw.uniform(-0.002, 0.002, 400)
    >>> off = lambda t: round(1e3 * float(np.abs(t - even).max()), 1)
    >>> off(stamps), off(times_of(stamps, np.sin(3 * even)[:, None], 100.0))  # ms
    (2.0, 0.2)
    >>> bool(np.all(times_of(stamps, np.sin(3 * stamps)[:, None], 100.0) == stamps))
    True
    """
    if len(t) < SHORTEST or max(np.abs(t).max(), np.abs(q).max()) > NO_MEASUREMENT:
        return t
    starts = range(0, max(len(t) - STAMPS_COMPARED // 2, 1), STAMPS_COMPARED)
    stretches = [slice(start, start + STAMPS_COMPARED) for start in starts]
    some = max(stretches, key=lambda s: float(np.var(q[s], axis=0).sum()))
    by_stamps, best, least = missed(t[some], q[some]), t, np.log(STAMPS_MISS)
    steps = np.maximum(np.round(np.diff(t) * rate), 1.0)
    numbers = np.arange(0.0, len(t)), np.concatenate([[0.0], np.cumsum(steps)])  # nothing is lost, or what long steps leave out
    for number in numbers[: 1 if np.all(steps == 1) else 2]:
        for drift, slope in steady(t - number / rate):
            step = np.median(slope) + 1 / rate
            if np.abs(slope + 1 / rate - step).max() > UNSTEADY * step:  # a sample is lost and not counted, or the other way round
                continue
            even = number / rate + drift
            by_even = missed(even[some], q[some])
            seen = (by_stamps > 0) & (by_even > 0)  # joints at rest tell nothing
            better = float(np.sum(np.log(by_even[seen] / by_stamps[seen])))
            if better < least:
                best, least = even, better
    return best


def steady(x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield smooth curves along a signal (N,), cubic splines with few knots, and their slopes per sample: through all of it, and
    through most of it, as a logger that stalls is late for a while."""
    at = np.arange(0.0, len(x))
    knots = np.linspace(0, len(x) - 1, max(len(x) // STAMPS_TOGETHER, 1) + 1)
    knots, weight = np.concatenate([[knots[0]] * 3, knots, [knots[-1]] * 3]), np.ones(len(x))
    for _ in range(STALL_ROUNDS):
        curve = make_lsq_spline(at, x, knots, k=3, w=weight)
        yield curve(at), curve(at, 1)
        off = np.abs(x - curve(at))
        stalled = off > STALLED * BY_MEDIAN * np.median(off)
        if not stalled.any():
            return
        weight = np.where(stalled, 1e-3, 1.0)


def missed(t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the sum of squares (n,) by which cubics through two neighbours on either side miss signals q (N, n) at t (N,)."""
    at, ends = t[2:-2], (2, len(t) - 2)
    near = [slice(ends[0] + k, ends[1] + k) for k in NEIGHBOURS]
    left = q[2:-2].copy()
    for one in near:
        weight = np.prod([(at - t[other]) / (t[one] - t[other]) for other in near if other is not one], axis=0)
        left -= weight[:, None] * q[one]
    return np.einsum("ij,ij->j", left, left)
