"""Part of the measured torques that parameters leave, as measured and through the filter; and what that says about the noise.

Of a log that is read whole every sample is kept, of one that comes in parts only sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from qddot.identify.regression.base import Base
from qddot.identify.regression.rows import Rows, Samples
from qddot.identify.regression.signals import Signals
from qddot.thresholds import BY_MEDIAN, LOCAL_SAMPLES, MEDIAN_SAMPLES, OUTLIER, OUTLIER_SHARE


@dataclass(frozen=True, eq=False)
class Residuals:
    """Torques of a prepared log, measured and predicted.

    Attributes:
        t: times (N,), s, of the raw samples; `measured`, `predicted` (N, nv), N m.
        t_filtered: (M,), s; `filtered_measured`, `filtered_predicted` (M, nv): both through the filter.
        segment: of each filtered sample (M,).
        moving: samples (N, nv) that count, since the joint does not rest; `filtered_moving` (M, nv) of the filtered ones.
        turning: samples (N, nv) at which friction is on its step.
        limits: largest torque of each joint (nv,), N m; inf where there is none.
        period: filtered samples in a period of the cut-off.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce, residuals
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> left = residuals(base, least_squares(reduce(base, pieces(signals))).theta, signals)
    >>> left.rms.shape, left.has_outliers
    ((2,), True)
    """

    t: np.ndarray
    measured: np.ndarray
    predicted: np.ndarray
    t_filtered: np.ndarray
    filtered_measured: np.ndarray
    filtered_predicted: np.ndarray
    segment: np.ndarray
    moving: np.ndarray
    filtered_moving: np.ndarray
    turning: np.ndarray
    limits: np.ndarray
    period: int

    def __repr__(self) -> str:
        return f"Residuals of {len(self.t)} samples: {self.relative:.2%} filtered, {self.relative_raw:.2%} raw"

    @cached_property
    def raw(self) -> np.ndarray:
        """(N, nv), N m."""
        return self.measured - self.predicted

    @cached_property
    def filtered(self) -> np.ndarray:
        """(M, nv), N m."""
        return self.filtered_measured - self.filtered_predicted

    @property
    def relative_raw(self) -> float:
        """|error| / |tau| over all joints, of the torques as measured."""
        return relative(self.raw[self.moving], self.measured[self.moving])

    @property
    def relative(self) -> float:
        """The figure above for filtered torques."""
        return relative(self.filtered[self.filtered_moving], self.filtered_measured[self.filtered_moving])

    @property
    def rms_raw(self) -> np.ndarray:
        """(nv,), N m."""
        return rms(self.raw, self.moving)

    @property
    def rms(self) -> np.ndarray:
        """(nv,), N m, of the filtered torques."""
        return rms(self.filtered, self.filtered_moving)

    @property
    def size(self) -> np.ndarray:
        """The filtered torques' size (nv,), N m, rms."""
        return rms(self.filtered_measured, self.filtered_moving)

    @property
    def samples(self) -> int:
        """Filtered ones."""
        return len(self.segment)

    @property
    def nrms_raw(self) -> float:
        """Rms over twice the torque limit, mean over the joints that have one."""
        return nrms(self.rms_raw, self.limits)

    @property
    def nrms(self) -> float:
        """The figure above for filtered torques."""
        return nrms(self.rms, self.limits)

    @property
    def ends(self) -> np.ndarray:
        """Where each segment ends, in filtered samples."""
        return np.append(np.flatnonzero(np.diff(self.segment)) + 1, self.samples)

    @property
    def spread(self) -> np.ndarray:
        """Robust standard deviation of each joint's filtered errors (nv,), N m."""
        errors = (x[moving] for x, moving in zip(self.filtered.T, self.filtered_moving.T))
        found = np.array([BY_MEDIAN * np.median(np.abs(x - np.median(x))) if len(x) else 0.0 for x in errors])
        return np.where(found > 0, found, 1.0)

    @property
    def shown(self) -> Residuals:
        """Samples for plots."""
        return self

    @cached_property
    def colour(self) -> np.ndarray:
        """Correlation of each joint's filtered residual with itself one period of the cut-off later (nv,): 0 for white noise, which
        the filter leaves uncorrelated at that distance."""
        moving = self.filtered_moving
        x = np.where(moving, self.filtered - mean(self.filtered, moving), 0.0)
        lag = min(self.period, len(x) - 1)
        same = (self.segment[lag:] == self.segment[:-lag])[:, None] & moving[lag:] & moving[:-lag]
        power = mean(x**2, moving)
        return mean(x[lag:] * x[:-lag], same) / np.where(power > 0, power, 1.0)

    @cached_property
    def outliers(self) -> np.ndarray:
        """Part of each joint's raw samples (nv,) that stand out from both neighbours by more than eight robust standard deviations:
        gross errors of a sensor or a bus. Many drives are noisier when they are fast, so the deviation is that about the sample,
        where it is the larger. What the model misses is smooth, but for friction that turns back between two samples: neither
        counts."""
        turning = self.turning[:-2] | self.turning[1:-1] | self.turning[2:]
        found = (outlying(x) for x in self.raw.T)
        return np.array([np.sum(~turns[at]) / max(np.sum(~turns), 1) for at, turns in zip(found, turning.T)])

    @property
    def has_outliers(self) -> bool:
        """Whether there are more than noise has."""
        return bool(np.any(self.outliers > OUTLIER_SHARE))


def residuals(base: Base, theta: np.ndarray, signals: Signals, rows: Rows | None = None) -> Residuals:
    """Residuals of a prepared log: its torques less those of base parameters; `rows` are those of the base, if they are there.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce, residuals
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> theta = least_squares(reduce(base, pieces(signals))).theta
    >>> residuals(base, theta, signals).relative < 0.01  # less than a hundredth is left
    True
    """
    parameter_set, rows = base.parameter_set, rows or Rows(base)
    motion = Samples(signals.q, signals.qd, signals.qdd, signals.tau_raw)
    parts = (Samples(*(x[segment] for x in motion)) for segment in signals.segments)
    found = [rows.predicted(part, theta, signals.step) for part in parts]
    predicted = np.concatenate(found) if len(found) > 1 else found[0]
    if rows.evaluator.knows:
        predicted += parameter_set.known_torque(*motion[:3])
    moving, filtered_moving = signals.moves(parameter_set.rest_speeds), signals.kernel_paces >= parameter_set.rest_speeds
    segment = np.concatenate([np.full(s.stop - s.start, k) for k, s in enumerate(signals.decimated_segments)])
    return Residuals(
        t=signals.t,
        measured=signals.tau_raw,
        predicted=predicted,
        t_filtered=signals.decimated(signals.t),
        filtered_measured=signals.decimated(signals.tau_raw),
        filtered_predicted=signals.decimated(predicted),
        segment=segment,
        moving=moving,
        filtered_moving=filtered_moving,
        turning=parameter_set.turning(signals.qd),
        limits=parameter_set.robot.limits.effort,
        period=round(signals.rate / (signals.cutoff * signals.factor)),
    )


def structure(rms: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """Part of each joint's residual that is not noise (nv,), N m, rms."""
    return np.sqrt(np.maximum(rms**2 - floor**2, 0.0))


def outlying(x: np.ndarray) -> np.ndarray:
    """Which inner samples of a signal, by their number, are farther from the median of three than eight deviations: those of all
    steps, or of the steps about, where these are larger."""
    step = np.diff(x)
    np.abs(step, out=step)
    usual = float(np.median(step[:: max(1, len(step) // MEDIAN_SAMPLES)]))
    far = step > OUTLIER * BY_MEDIAN * usual
    at = np.flatnonzero(far[:-1] & far[1:])
    before, here, after = x[at], x[at + 1], x[at + 2]
    alone = np.maximum(here - np.maximum(before, after), np.minimum(before, after) - here)
    spread = BY_MEDIAN * np.maximum(usual, step_about(x, at))
    return at[(spread > 0) & (alone > OUTLIER * spread)]


def step_about(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The median step of the stretch in which each of these inner samples of a signal lies."""
    size = min(len(x) - 1, LOCAL_SAMPLES)
    stretch = np.minimum((at + 1) // size, max(1, (len(x) - 1) // LOCAL_SAMPLES) - 1)
    medians = {k: np.median(np.abs(np.diff(x[k * size : (k + 1) * size + 1]))) for k in set(stretch.tolist())}
    return np.array([medians[k] for k in stretch.tolist()])


def mean(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the mean of some samples of each joint (nv,); 0 where there are none."""
    return total(x, where) / np.maximum(np.sum(where, axis=0), 1)


def total(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the sum of some samples of each joint (nv,)."""
    return np.array([np.sum(values if some.all() else values[some]) for values, some in zip(x.T, where.T)])


def squared(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the sum of the squares of some samples of each joint (nv,)."""
    some = (np.ascontiguousarray(values if some.all() else values[some]) for values, some in zip(x.T, where.T))
    return np.array([values @ values for values in some])


def rms(x: np.ndarray, where: np.ndarray | None = None) -> np.ndarray:
    return np.sqrt(np.mean(x**2, axis=0) if where is None else squared(x, where) / np.maximum(np.sum(where, axis=0), 1))


def relative(error: np.ndarray, whole: np.ndarray) -> float:
    size = np.linalg.norm(whole)
    return float(np.linalg.norm(error) / size) if size > 0 else float("inf")


def nrms(error: np.ndarray, limits: np.ndarray) -> float:
    known = np.isfinite(limits) & (limits > 0)
    return float(np.mean(error[known] / (2 * limits[known]))) if known.any() else float("nan")


# a log that comes in parts ---------------------------------------------------------------------------------------------------


class Sums(NamedTuple):
    """Sums over one chunk, without a joint's rests; each (nv,) but the counts of all samples."""

    raw: np.ndarray
    measured: np.ndarray
    count: int
    filtered: np.ndarray
    filtered_measured: np.ndarray
    moving: np.ndarray
    filtered_moving: np.ndarray
    samples: int
    colour: np.ndarray
    outliers: np.ndarray
    spread: np.ndarray
    ends: np.ndarray
    begins: bool


def sums(left: Residuals, signals: Signals) -> Sums:
    """Squares of errors and torques; what is a mean of the chunk, times what it is weighted by."""
    own = signals.owned
    moving, filtered_moving = left.moving[own], left.filtered_moving
    filtered = squared(left.filtered, filtered_moving)
    return Sums(
        raw=squared(left.raw[own], moving),
        measured=squared(left.measured[own], moving),
        count=own.stop - own.start,
        filtered=filtered,
        filtered_measured=squared(left.filtered_measured, filtered_moving),
        moving=moving.sum(axis=0),
        filtered_moving=filtered_moving.sum(axis=0),
        samples=left.samples,
        colour=left.colour * filtered,
        outliers=left.outliers * (own.stop - own.start),
        spread=left.spread,
        ends=left.ends,
        begins=not signals.goes_on[0],
    )


class StreamedResiduals:
    """Errors of a log that comes in parts, as sums, with the figures of `Residuals`.

    Attributes:
        shown: samples of the first chunk, for plots.
    """

    def __init__(self, shown: Residuals, chunks: list[Sums]) -> None:
        self.shown, self._chunks = shown, chunks

    def _total(self, name: str) -> Any:
        return sum(getattr(chunk, name) for chunk in self._chunks)

    @property
    def samples(self) -> int:
        """Filtered ones."""
        return self._total("samples")

    @property
    def relative_raw(self) -> float:
        """|error| / |tau| over all joints, of the torques as measured."""
        return float(np.sqrt(self._total("raw").sum() / self._total("measured").sum()))

    @property
    def relative(self) -> float:
        """The figure above for filtered torques."""
        return float(np.sqrt(self._total("filtered").sum() / self._total("filtered_measured").sum()))

    @property
    def rms_raw(self) -> np.ndarray:
        """(nv,), N m."""
        return np.sqrt(self._total("raw") / np.maximum(self._total("moving"), 1))

    @property
    def rms(self) -> np.ndarray:
        """(nv,), N m, of the filtered torques."""
        return np.sqrt(self._total("filtered") / np.maximum(self._total("filtered_moving"), 1))

    @property
    def nrms_raw(self) -> float:
        """Rms over twice the torque limit, mean over the joints that have one."""
        return nrms(self.rms_raw, self.shown.limits)

    @property
    def nrms(self) -> float:
        """The figure above for filtered torques."""
        return nrms(self.rms, self.shown.limits)

    @property
    def size(self) -> np.ndarray:
        """The filtered torques' size (nv,), N m, rms."""
        return np.sqrt(self._total("filtered_measured") / np.maximum(self._total("filtered_moving"), 1))

    @property
    def ends(self) -> np.ndarray:
        """Where each file or stretch without a pause ends, in filtered samples."""
        found, before = [], 0
        for chunk, following in zip(self._chunks, [*self._chunks[1:], None]):
            goes_on = following is not None and not following.begins
            found += [before + end for end in chunk.ends[: -1 if goes_on else None]]
            before += chunk.samples
        return np.array(found)

    @property
    def spread(self) -> np.ndarray:
        """Robust standard deviation of each joint's filtered errors (nv,), N m: the median of the chunks'."""
        return np.median([chunk.spread for chunk in self._chunks], axis=0)

    @property
    def colour(self) -> np.ndarray:
        """Correlation of residuals with themselves (nv,), as `Residuals.colour`, within chunks."""
        power = self._total("filtered")
        return self._total("colour") / np.where(power > 0, power, 1.0)

    @property
    def outliers(self) -> np.ndarray:
        """Part of the samples that are outliers (nv,), as `Residuals.outliers`."""
        return self._total("outliers") / self._total("count")

    @property
    def has_outliers(self) -> bool:
        """Whether there are more than noise has."""
        return bool(np.any(self.outliers > OUTLIER_SHARE))


Errors = Residuals | StreamedResiduals
"""What is left of a log, whether it was read whole or in parts."""


def residuals_of_parts(base: Base, theta: np.ndarray, parts: Iterable[Signals]) -> Errors:
    """Errors that base parameters leave of a log: every sample if it comes in one part, else sums."""
    parts, rows = iter(parts), Rows(base)
    first = next(parts)
    shown = residuals(base, theta, first, rows)
    second = next(parts, None)
    if second is None:
        return shown
    rest = [sums(residuals(base, theta, part, rows), part) for part in chain([second], parts)]
    return StreamedResiduals(shown, [sums(shown, first), *rest])
