"""Torques that rest exactly at their largest or smallest value while the arm moves: the drive or the sensor saturates.

Values are compared as they were written: once they are resampled or filtered, no two are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from qddot.thresholds import PILED_UP, RESTING_WAY, RESTING_WINDOW, STOP_PARTS, STUCK_SAMPLES

if TYPE_CHECKING:
    from qddot.logs.log import Log


@dataclass(frozen=True, eq=False)
class Stops:
    """Number of samples that rest at the largest and at the smallest torque, and these torques; (2, n)."""

    samples: np.ndarray
    level: np.ndarray

    @staticmethod
    def of(log: Log) -> Stops:
        """Return the stops of a log, found in each tenth of it. Samples at rest, or in which no torque changes, do not count."""
        tau, none = log.tau, Stops(np.zeros((2, log.n), int), np.full((2, log.n), np.nan))
        parts = [part for part in np.array_split(tau, STOP_PARTS) if len(part)]
        if not any(np.any(np.sum(part == f(part, axis=0), axis=0) >= STUCK_SAMPLES) for part in parts for f in (np.max, np.min)):
            return none
        moving = np.concatenate([moves(log.q[s]) for s in log.segments])
        if tau.shape[1] > 1:
            moving = moving & np.any(np.diff(tau, axis=0, prepend=tau[:1]) != 0, axis=1)
        found = none
        for part, moved in zip(parts, np.array_split(moving, STOP_PARTS)):
            found += Stops(*np.array([[at_top(s * x, moved) for x in part.T] for s in (1, -1)]).transpose(2, 0, 1))
        return Stops(found.samples, found.level * np.array([[1], [-1]]))

    def __add__(self, other: Stops) -> Stops:
        return Stops(self.samples + other.samples, np.where(np.isnan(self.level), other.level, self.level))


def moves(q: np.ndarray) -> np.ndarray:
    """Return the samples (N,) in which a joint moves, for positions (N, n) without a pause."""
    window = {"size": RESTING_WINDOW, "axis": 0, "mode": "nearest"}
    way = maximum_filter1d(q, **window) - minimum_filter1d(q, **window)
    return np.any(way > RESTING_WAY * way.max(axis=0), axis=1)


def at_top(x: np.ndarray, moving: np.ndarray) -> tuple[int, float]:
    """Return the number of samples at which a signal rests at its largest value, and that value; 0 and NaN if it only passes by."""
    top = x == x.max()
    below = x[~top]
    if not len(below) or longest_run(top & moving) < STUCK_SAMPLES or top.sum() <= PILED_UP * np.sum(below == below.max()):
        return 0, np.nan
    return int(np.sum(top & moving)), float(x.max())


def runs(flags: np.ndarray) -> np.ndarray:
    """Return start and end (k, 2) of each run of true values."""
    return np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]))).reshape(-1, 2)


def longest_run(flags: np.ndarray) -> int:
    """Return the length of the longest run of true values."""
    return int(np.diff(runs(flags)).max(initial=0))
