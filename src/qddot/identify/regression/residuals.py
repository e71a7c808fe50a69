"""Residuals: measured minus predicted torques, raw and filtered, and figures about their noise.

For a log in memory every sample is kept, for a streamed one only sums.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from qddot.identify.regression.base import Base
from qddot.identify.regression.rows import Rows, Samples
from qddot.identify.regression.signals import Signals
from qddot.identify.scaling import nonzero
from qddot.logs.spikes import local_step
from qddot.thresholds import BY_MEDIAN, MEDIAN_SAMPLES, OUTLIER, OUTLIER_SHARE


@dataclass(frozen=True, eq=False)
class Residuals:
    """Torques of a prepared log, measured and predicted.

    Attributes:
        t: times (N,), s, of the raw samples; `measured`, `predicted` (N, nv), N m.
        `filtered_measured`, `filtered_predicted` (M, nv): both through the filter.
        segment: number of the segment of each filtered sample (M,).
        moving: True for samples (N, nv) in which the joint does not rest, and which count; `filtered_moving` (M, nv) likewise.
        turning: True for samples (N, nv) at which the joint turns back, so that dry friction changes its sign.
        limits: torque limit of each joint (nv,), N m; inf where there is none.
        period: number of filtered samples in a period of the cut-off.

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
        """Residuals as measured (N, nv), N m."""
        return self.measured - self.predicted

    @cached_property
    def filtered(self) -> np.ndarray:
        """Filtered residuals (M, nv), N m."""
        return self.filtered_measured - self.filtered_predicted

    @property
    def relative_raw(self) -> float:
        """Relative error |error| / |tau| of the unfiltered torques, over all joints."""
        return relative(self.raw[self.moving], self.measured[self.moving])

    @property
    def relative(self) -> float:
        """Relative error |error| / |tau| of the filtered torques, over all joints."""
        return relative(self.filtered[self.filtered_moving], self.filtered_measured[self.filtered_moving])

    @property
    def rms_raw(self) -> np.ndarray:
        """Rms error of the unfiltered torques (nv,), N m."""
        return rms(self.raw, self.moving)

    @property
    def rms(self) -> np.ndarray:
        """Rms error of the filtered torques (nv,), N m."""
        return rms(self.filtered, self.filtered_moving)

    @property
    def size(self) -> np.ndarray:
        """Rms of the filtered torques themselves (nv,), N m."""
        return rms(self.filtered_measured, self.filtered_moving)

    @property
    def samples(self) -> int:
        """Number of filtered samples."""
        return len(self.segment)

    @property
    def nrms_raw(self) -> float:
        """Rms error of the unfiltered torques over twice the torque limit; mean over the joints that have a limit."""
        return nrms(self.rms_raw, self.limits)

    @property
    def nrms(self) -> float:
        """Rms error of the filtered torques over twice the torque limit; mean over the joints that have a limit."""
        return nrms(self.rms, self.limits)

    @property
    def ends(self) -> np.ndarray:
        """Index of the filtered sample behind the last one of each segment."""
        return np.append(np.flatnonzero(np.diff(self.segment)) + 1, self.samples)

    @property
    def spread(self) -> np.ndarray:
        """Robust standard deviation of each joint's filtered errors (nv,), N m, to divide by: 1 where it is 0."""
        errors = (x[moving] for x, moving in zip(self.filtered.T, self.filtered_moving.T))
        return nonzero(np.array([BY_MEDIAN * np.median(np.abs(x - np.median(x))) if len(x) else 0.0 for x in errors]))

    @cached_property
    def colour(self) -> np.ndarray:
        """Autocorrelation of each joint's filtered residual (nv,) at a lag of one period of the cut-off: 0 for white noise, which
        the filter leaves uncorrelated at that lag."""
        moving = self.filtered_moving
        x = np.where(moving, self.filtered - mean(self.filtered, moving), 0.0)
        lag = min(self.period, len(x) - 1)
        same = (self.segment[lag:] == self.segment[:-lag])[:, None] & moving[lag:] & moving[:-lag]
        return mean(x[lag:] * x[:-lag], same) / nonzero(mean(x**2, moving))

    @cached_property
    def outliers(self) -> np.ndarray:
        """Fraction of each joint's raw samples (nv,) that stand out from both neighbours by more than eight robust standard
        deviations: gross errors of a sensor or a bus. Many drives are noisier when they are fast, so the deviation of the
        neighbourhood is taken where it is larger than that of the whole log. Model errors are smooth and do not count, nor do
        samples where friction changes its sign."""
        turning = self.turning[:-2] | self.turning[1:-1] | self.turning[2:]
        found = (outlying(x) for x in self.raw.T)
        return np.array([np.sum(~turns[at]) / max(np.sum(~turns), 1) for at, turns in zip(found, turning.T)])

    @property
    def has_outliers(self) -> bool:
        """True if a joint has more outliers than noise explains."""
        return bool(np.any(self.outliers > OUTLIER_SHARE))


def residuals(base: Base, theta: np.ndarray, signals: Signals, rows: Rows | None = None) -> Residuals:
    """Residuals of base parameters theta (r,) on a prepared log; `rows` are those of the base, if they were made before.

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
    found = [rows.predicted(part, theta, signals.low_pass.step) for part in parts]
    predicted = np.concatenate(found) if len(found) > 1 else found[0]
    if rows.evaluator.knows:
        predicted += parameter_set.known_torque(*motion[:3])
    moving = signals.moves(parameter_set.rest_speeds)
    filtered_predicted, filtered_moving = signals.decimated_where(predicted, moving)
    segment = np.concatenate([np.full(s.stop - s.start, k) for k, s in enumerate(signals.decimated_segments)])
    return Residuals(
        t=signals.t,
        measured=signals.tau_raw,
        predicted=predicted,
        filtered_measured=signals.decimated_where(signals.tau_raw, moving)[0],
        filtered_predicted=filtered_predicted,
        segment=segment,
        moving=moving,
        filtered_moving=filtered_moving,
        turning=parameter_set.turning(signals.qd),
        limits=parameter_set.robot.limits.effort,
        period=round(signals.rate / (signals.cutoff * signals.factor)),
    )


def structure(rms: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """The part of each joint's rms residual that is above the noise floor (nv,), N m."""
    return np.sqrt(np.maximum(rms**2 - floor**2, 0.0))


def outlying(x: np.ndarray) -> np.ndarray:
    """Indices, into x[1:-1], of samples farther from the median of themselves and both neighbours than eight robust deviations: of
    the steps of the whole signal, or of those around the sample where these are larger."""
    step = np.diff(x)
    np.abs(step, out=step)
    usual = float(np.median(step[:: max(1, len(step) // MEDIAN_SAMPLES)]))
    far = step > OUTLIER * BY_MEDIAN * usual
    at = np.flatnonzero(far[:-1] & far[1:])
    before, here, after = x[at], x[at + 1], x[at + 2]
    alone = np.maximum(here - np.maximum(before, after), np.minimum(before, after) - here)
    spread = BY_MEDIAN * np.maximum(usual, local_step(step, at + 1))
    return at[(spread > 0) & (alone > OUTLIER * spread)]


def mean(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Mean over the selected samples of each joint (nv,); 0 where none is selected."""
    total = np.array([np.sum(values if some.all() else values[some]) for values, some in zip(x.T, where.T)])
    return total / np.maximum(np.sum(where, axis=0), 1)


def squared(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Sum of squares over the selected samples of each joint (nv,)."""
    some = (np.ascontiguousarray(values if some.all() else values[some]) for values, some in zip(x.T, where.T))
    return np.array([values @ values for values in some])


def rms(x: np.ndarray, where: np.ndarray | None = None) -> np.ndarray:
    """Rms over the selected samples of each joint (nv,), by default over all."""
    return np.sqrt(np.mean(x**2, axis=0) if where is None else squared(x, where) / np.maximum(np.sum(where, axis=0), 1))


def relative(error: np.ndarray, whole: np.ndarray) -> float:
    """|error| / |whole|; inf where the whole is 0."""
    size = np.linalg.norm(whole)
    return float(np.linalg.norm(error) / size) if size > 0 else float("inf")


def nrms(error: np.ndarray, limits: np.ndarray) -> float:
    """Mean of error / (2 limit) over the joints (nv,) with a limit; NaN where none has one."""
    known = np.isfinite(limits) & (limits > 0)
    return float(np.mean(error[known] / (2 * limits[known]))) if known.any() else float("nan")


# streamed logs ---------------------------------------------------------------------------------------------------------------


def sums(left: Residuals, signals: Signals) -> dict[str, Any]:
    """Sums over one chunk, without the samples in which a joint rests: of squared errors and torques (nv,), of samples, and of
    figures (nv,) times the weight with which chunks are averaged; with its `spread` (nv,), its `ends` and the recordings that end
    there, and if it `begins` a record."""
    own = signals.owned
    moving, filtered_moving = left.moving[own], left.filtered_moving
    filtered = squared(left.filtered, filtered_moving)
    return {
        "raw": squared(left.raw[own], moving),
        "measured": squared(left.measured[own], moving),
        "count": own.stop - own.start,
        "filtered": filtered,
        "filtered_measured": squared(left.filtered_measured, filtered_moving),
        "moving": moving.sum(axis=0),
        "filtered_moving": filtered_moving.sum(axis=0),
        "samples": left.samples,
        "colour": left.colour * filtered,
        "outliers": left.outliers * (own.stop - own.start),
        "spread": left.spread,
        "ends": left.ends,
        "recordings": [signals.recordings[left.segment[end - 1]] for end in left.ends] if signals.recordings else [],
        "begins": not signals.goes_on[0],
    }


class StreamedResiduals:
    """Figures of the residuals of a streamed log, as those of `Residuals`.

    Attributes:
        samples, relative_raw, relative, rms_raw, rms, nrms_raw, nrms, size, outliers, has_outliers: for all chunks together.
        spread: median over the chunks.
        colour: from pairs of samples within one chunk.
        ends: index of the filtered sample behind the last one of each file or stretch without a pause.
        recordings: name of the file of each of these stretches; empty if they have none.
    """

    def __init__(self, chunks: list[dict[str, Any]], limits: np.ndarray) -> None:
        def total(name: str) -> Any:
            return sum(chunk[name] for chunk in chunks)

        raw, filtered, measured = total("raw"), total("filtered"), total("filtered_measured")
        moving, filtered_moving = (np.maximum(total(name), 1) for name in ("moving", "filtered_moving"))
        self.samples = total("samples")
        self.relative_raw = float(np.sqrt(raw.sum() / total("measured").sum()))
        self.relative = float(np.sqrt(filtered.sum() / measured.sum()))
        self.rms_raw, self.rms = np.sqrt(raw / moving), np.sqrt(filtered / filtered_moving)
        self.nrms_raw, self.nrms = (nrms(x, limits) for x in (self.rms_raw, self.rms))
        self.size = np.sqrt(measured / filtered_moving)
        self.spread = np.median([chunk["spread"] for chunk in chunks], axis=0)
        self.colour = total("colour") / nonzero(filtered)
        self.outliers = total("outliers") / total("count")
        self.has_outliers = bool(np.any(self.outliers > OUTLIER_SHARE))
        ends, names, before = [], [], 0
        for chunk, following in zip(chunks, [*chunks[1:], None]):
            goes_on = following is not None and not following["begins"]
            ended = slice(None, -1 if goes_on else None)
            ends += [before + end for end in chunk["ends"][ended]]
            names += chunk["recordings"][ended]
            before += chunk["samples"]
        self.ends, self.recordings = np.array(ends), tuple(names)


Errors = Residuals | StreamedResiduals
"""Residuals of a log in memory or of a streamed one."""


def residuals_of_parts(base: Base, theta: np.ndarray, parts: Iterable[Signals]) -> Errors:
    """Residuals of base parameters: every sample of a log in one part, sums of one in several."""
    parts, rows = iter(parts), Rows(base)
    first = next(parts)
    left = residuals(base, theta, first, rows)
    second = next(parts, None)
    if second is None:
        return left
    rest = [sums(residuals(base, theta, part, rows), part) for part in chain([second], parts)]
    return StreamedResiduals([sums(left, first), *rest], left.limits)
