"""What parameters leave of the measured torques, as measured and through the filter; and what that says about the noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from qddot.identify.regression.base import Base
from qddot.identify.regression.signals import Signals
from qddot.logs.spectrum import densities, noise_floor
from qddot.thresholds import BY_MEDIAN, LOCAL_SAMPLES, OUTLIER, OUTLIER_SHARE


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

    def __repr__(self) -> str:
        return f"Residuals of {len(self.t)} samples: {self.relative:.2%} filtered, {self.relative_raw:.2%} raw"

    @property
    def raw(self) -> np.ndarray:
        """(N, nv), N m."""
        return self.measured - self.predicted

    @property
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
        lag = min(4, len(x) - 1)
        same = (self.segment[lag:] == self.segment[:-lag])[:, None] & moving[lag:] & moving[:-lag]
        power = mean(x**2, moving)
        return mean(x[lag:] * x[:-lag], same) / np.where(power > 0, power, 1.0)

    @cached_property
    def outliers(self) -> np.ndarray:
        """Part of each joint's raw samples (nv,) that stand out from both neighbours by more than eight robust standard deviations:
        gross errors of a sensor or a bus. Many drives are noisier when they are fast, so the deviation is that about the sample,
        where it is the larger. What the model misses is smooth, but for friction that turns back between two samples: neither
        counts."""
        x = self.raw
        alone = x[1:-1] - np.median(np.stack([x[:-2], x[1:-1], x[2:]]), axis=0)
        steps = np.abs(np.diff(x, axis=0))
        spread = BY_MEDIAN * np.maximum(np.median(steps, axis=0), local_median(steps)[1:])
        turning = self.turning[:-2] | self.turning[1:-1] | self.turning[2:]
        return mean(np.abs(alone) > OUTLIER * np.where(spread > 0, spread, np.inf), ~turning)

    @property
    def has_outliers(self) -> bool:
        """Whether there are more than noise has."""
        return bool(np.any(self.outliers > OUTLIER_SHARE))


def residuals(base: Base, theta: np.ndarray, signals: Signals) -> Residuals:
    """Return what base parameters leave of a prepared log."""
    columns = base.columns
    evaluator = columns.evaluator()
    whole = columns.T[:, base.independent] @ theta + columns.constant
    predicted = np.empty_like(signals.tau_raw)
    for start in range(0, len(signals), 1024):
        part = slice(start, start + 1024)
        moved = evaluator.at(signals.q[part], signals.qd[part], signals.qdd[part])
        for j, used in enumerate(evaluator.used):
            predicted[part, j] = moved.row(j) @ whole[used]
    if evaluator.sprung:
        predicted += columns.robot.spring_torque(signals.q)
    moving, filtered_moving = (paces >= columns.rest_speeds for paces in signals.paces)
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
        turning=columns.turning(signals.qd),
        limits=columns.robot.limits.effort,
    )


def filtered_noise(signals: Signals) -> np.ndarray:
    """What the filter leaves of the torques' white noise (nv,), N m, rms; by their spectrum at high frequencies."""
    longest = max(signals.segments, key=lambda s: s.stop - s.start)
    density = noise_floor(*densities(signals.tau_raw[longest], signals.rate))
    return np.sqrt(density * signals.rate / 2 * np.sum(signals.low_pass.smooth**2))


def structure(rms: np.ndarray, floor: np.ndarray) -> np.ndarray:
    """What of each joint's filtered torque is left and is no noise (nv,), N m, rms."""
    return np.sqrt(np.maximum(rms**2 - floor**2, 0.0))


def local_median(x: np.ndarray) -> np.ndarray:
    """Return the median of the stretch about each sample of a signal (N, nv)."""
    stretches = np.array_split(x, max(1, len(x) // LOCAL_SAMPLES))
    return np.concatenate([np.broadcast_to(np.median(part, axis=0), part.shape) for part in stretches])


def mean(x: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return the mean of some samples of each joint (nv,); 0 where there are none."""
    return np.sum(x, axis=0, where=where) / np.maximum(np.sum(where, axis=0), 1)


def rms(x: np.ndarray, where: np.ndarray | None = None) -> np.ndarray:
    return np.sqrt(np.mean(x**2, axis=0) if where is None else mean(x**2, where))


def relative(error: np.ndarray, whole: np.ndarray) -> float:
    size = np.linalg.norm(whole)
    return float(np.linalg.norm(error) / size) if size > 0 else float("inf")


def nrms(error: np.ndarray, limits: np.ndarray) -> float:
    known = np.isfinite(limits) & (limits > 0)
    return float(np.mean(error[known] / (2 * limits[known]))) if known.any() else float("nan")
