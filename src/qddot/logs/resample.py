"""Resampling of a motion at other times."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from qddot.arguments import positive_number
from qddot.errors import InputError
from qddot.logs.lowpass import LowPass, convolved
from qddot.logs.stamps import is_uniform, steadied
from qddot.logs.table import Finding
from qddot.thresholds import HIGHEST_CUTOFF, MOST_SAMPLES, SLOWER, UNIFORM

if TYPE_CHECKING:
    from qddot.logs.log import Log

SPLINE_SAMPLES = 4  # of a cubic at least


def grid(t: np.ndarray, rate: float) -> np.ndarray:
    """Return the multiples of a step within a record, so that consecutive parts of it share one grid."""
    first, last = np.ceil(t[0] * rate - UNIFORM), np.floor(t[-1] * rate + UNIFORM)
    return np.arange(first, last + 1) / rate


def onto(times: np.ndarray, t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a signal (N, k) at other times within its record, by a cubic spline; times slightly outside get the end's value."""
    if len(t) < SPLINE_SAMPLES:
        raise InputError(f"a segment of {len(t)} samples is too short for a cubic spline ({SPLINE_SAMPLES} at least)")
    return CubicSpline(t, x)(np.clip(times, t[0], t[-1]))


class Even(NamedTuple):
    """A segment of a log at even times."""

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray | None
    tau: np.ndarray
    qdd: np.ndarray | None


def evened(log: Log, segment: slice, rate: float) -> Even:
    """Return a segment, resampled if its times are not even."""
    t, q, tau = log.t[segment], log.q[segment], log.tau[segment]
    qd, qdd = (None if x is None else x[segment] for x in (log.qd, log.qdd))
    if len(t) < SPLINE_SAMPLES or is_uniform(t, rate):
        return Even(t, q, qd, tau, qdd)
    times = grid(t, rate)
    qd, qdd = (None if x is None else onto(times, t, x) for x in (qd, qdd))
    return Even(times, onto(times, t, q), qd, onto(times, t, tau), qdd)


def resampled(log: Log, rate: float) -> Log:
    """Return a log at another rate (see `Log.resampled`)."""
    rate, log = positive_number("rate", rate), steadied(log)
    if not (log.t[-1] - log.t[0]) * rate < MOST_SAMPLES:
        raise InputError(f"rate={rate:g}: {(log.t[-1] - log.t[0]) * rate:.3g} samples are over the limit of {MOST_SAMPLES:.0e}")
    names = [name for name in ("q", "tau", "qd", "qdd", "temperature") if getattr(log, name) is not None]
    slower = rate < SLOWER * log.rate
    low_pass = LowPass(log.rate, HIGHEST_CUTOFF * rate) if slower else None
    times, values, parts, start = [], {name: [] for name in names}, [], 0
    for segment in log.segments:
        t = log.t[segment]
        even = t if is_uniform(t, log.rate) else grid(t, log.rate)
        signals = {name: getattr(log, name)[segment] for name in names}
        if low_pass is not None:
            if len(even) < 2 * low_pass.half + 5:
                raise InputError(f"a segment of {t[-1] - t[0]:.4g} s is too short to be low-passed for {rate:g} Hz")
            signals = {name: convolved(x if even is t else onto(even, t, x), low_pass.smooth) for name, x in signals.items()}
            t = even[low_pass.half : -low_pass.half]
        at = grid(t, rate)
        times.append(at)
        for name in names:
            values[name].append(onto(at, t, signals[name]))
        parts.append(slice(start, start + len(at)))
        start += len(at)
    cut = f"low-passed at {low_pass.cutoff:g} Hz, which cuts {low_pass.half / log.rate:.3g} s off each end, " if low_pass else ""
    found = Finding("found", "resampled", f"from {log.rate:.4g} to {rate:g} Hz: {cut}cubic splines")
    arrays = {name: np.concatenate(parts_of) for name, parts_of in values.items()}
    return dataclasses.replace(log, t=np.concatenate(times), **arrays, segments=tuple(parts), findings=(*log.findings, found))
