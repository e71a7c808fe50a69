"""Torques that stop at a value because the drive or the sensor could do no more: exactly, or but for noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qddot.identify.regression.residuals import Residuals
from qddot.logs.audit import STUCK
from qddot.logs.log_summary import longest_run

PARTS = 10  # of a log, each looked at by itself: a limit may have been set for some of it only
PILED = 10  # times as many samples at the largest value as at the next: a signal that is only rounded has about twice as many
TOP = (0.02, 0.05, 0.1)  # of the samples, those with the largest predicted torques
FEWEST = 12  # of them: from fewer, a spread is uncertain by more than a fifth
FLAT = 3.0  # times the noise: torques that vary less do not vary
ASKED = 3.0  # times as much as measured: what predicted torques vary by, where measured ones are clipped


@dataclass(frozen=True, eq=False)
class Stops:
    """Torques that rest exactly at their largest and smallest value while the arm moves: how many samples, and where; (2, n)."""

    samples: np.ndarray
    level: np.ndarray

    @staticmethod
    def of(tau: np.ndarray, moving: np.ndarray) -> Stops:
        """Of torques (N, n), part by part; `moving` (N,) says when the arm does. At rest, or where the recording stood still, all
        torques are the same at once."""
        if tau.shape[1] > 1:
            moving = moving & np.any(np.diff(tau, axis=0, prepend=tau[:1]) != 0, axis=1)
        found = Stops(np.zeros((2, tau.shape[1]), int), np.full((2, tau.shape[1]), np.nan))
        for part, moves in zip(np.array_split(tau, PARTS), np.array_split(moving, PARTS)):
            if len(part):
                found += Stops(*np.array([[at_top(s * x, moves) for x in part.T] for s in (1, -1)]).transpose(2, 0, 1))
        return Stops(found.samples, found.level * np.array([[1], [-1]]))

    def __add__(self, other: Stops) -> Stops:
        return Stops(self.samples + other.samples, np.where(np.isnan(self.level), other.level, self.level))


def at_top(x: np.ndarray, moving: np.ndarray) -> tuple[int, float]:
    """Samples of a signal that rests at its largest value, and that value; none, if it only passes by."""
    top = x == x.max()
    below = x[~top]
    if not len(below) or longest_run(top & moving) < STUCK or top.sum() <= PILED * np.sum(below == below.max()):
        return 0, np.nan
    return int(np.sum(top & moving)), float(x.max())


def flat_levels(left: Residuals, noise: np.ndarray) -> np.ndarray:
    """The largest and smallest value (2, nv) at which filtered torques stay, but for their noise (nv,), where the model asks for
    more; nan where they do not.

    Samples are taken by what is predicted, which knows nothing of the noise. Where all is well, torques vary among them as
    predicted; friction that is the same all along, or a rest, is predicted to be flat.
    """
    levels = np.full((2, left.measured.shape[1]), np.nan)
    for j, least in enumerate(noise):
        measured, predicted = left.filtered_measured[:, j], left.filtered_predicted[:, j]
        for k, s in enumerate((1, -1)):
            order = np.argsort(-s * predicted)
            for share in TOP:
                top = order[: max(FEWEST, int(share * len(order)))]
                varies, asked = spread(measured[top]), spread(predicted[top])
                if 2 * len(top) < len(order) and varies < FLAT * least and asked > ASKED * max(varies, least):
                    levels[k, j] = np.median(measured[top])
    return levels


def spread(x: np.ndarray) -> float:
    """Robust standard deviation."""
    return float(1.4826 * np.median(np.abs(x - np.median(x))))
