"""Residuals of a log that comes in chunks: sums instead of samples."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from qddot.identify.regression.base import Base
from qddot.identify.regression.clipping import flat_levels
from qddot.identify.regression.residuals import Residuals, filtered_noise, nrms, residuals
from qddot.identify.regression.signals import Signals
from qddot.thresholds import OUTLIER_SHARE


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
    levels: np.ndarray


def sums(left: Residuals, signals: Signals) -> Sums:
    """Squares of errors and torques; what is a mean of the chunk, times what it is weighted by."""
    own = signals.owned
    moving, filtered_moving = left.moving[own], left.filtered_moving
    filtered = np.sum(left.filtered**2, axis=0, where=filtered_moving)
    return Sums(
        raw=np.sum(left.raw[own] ** 2, axis=0, where=moving),
        measured=np.sum(left.measured[own] ** 2, axis=0, where=moving),
        count=own.stop - own.start,
        filtered=filtered,
        filtered_measured=np.sum(left.filtered_measured**2, axis=0, where=filtered_moving),
        moving=moving.sum(axis=0),
        filtered_moving=filtered_moving.sum(axis=0),
        samples=left.samples,
        colour=left.colour * filtered,
        outliers=left.outliers * (own.stop - own.start),
        spread=left.spread,
        ends=left.ends,
        begins=not signals.goes_on[0],
        levels=flat_levels(left, filtered_noise(signals)),
    )


class Tally:
    """What parameters leave of a log that was streamed, with the figures of `Residuals`.

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
        """As `Residuals.colour` (nv,), within chunks."""
        power = self._total("filtered")
        return self._total("colour") / np.where(power > 0, power, 1.0)

    @property
    def outliers(self) -> np.ndarray:
        """As `Residuals.outliers` (nv,)."""
        return self._total("outliers") / self._total("count")

    @property
    def levels(self) -> np.ndarray:
        """As `flat_levels` (2, nv), of the first chunk that has one."""
        found = self._chunks[0].levels
        for chunk in self._chunks[1:]:
            found = np.where(np.isfinite(found), found, chunk.levels)
        return found

    @property
    def has_outliers(self) -> bool:
        """Whether there are more than noise has."""
        return bool(np.any(self.outliers > OUTLIER_SHARE))


def tallied(base: Base, theta: np.ndarray, parts: Iterable[Signals]) -> Residuals | Tally:
    """What base parameters leave of a log: every sample if it comes in one part, else sums."""
    parts = iter(parts)
    first = next(parts)
    shown = residuals(base, theta, first)
    second = next(parts, None)
    if second is None:
        return shown
    rest = [sums(residuals(base, theta, part), part) for part in chain([second], parts)]
    return Tally(shown, [sums(shown, first), *rest])
