"""Torques at their limits, told from those that are rounded, pass by, or rest with the arm: what each threshold is for."""

from __future__ import annotations

import numpy as np

from qddot.identify import Log
from qddot.logs.stops import Stops
from qddot.thresholds import RESTING_WINDOW

T = np.arange(4000) / 200.0
Q = np.stack([np.sin(1.3 * T), np.cos(1.7 * T)], axis=1)
SMOOTH = np.stack([5 * np.sin(2.1 * T), np.cos(0.9 * T)], axis=1)


def samples(tau: np.ndarray, q: np.ndarray = Q) -> int:
    """Samples of the first joint that rest at either end."""
    return int(Stops.of(Log(T, q, tau)).samples[:, 0].sum())


def first(channel: np.ndarray) -> np.ndarray:
    return np.stack([channel, SMOOTH[:, 1]], axis=1)


def test_clipped():
    beyond = np.sum(SMOOTH[:, 0] >= 4.0)
    assert 0.9 * beyond < samples(first(np.minimum(SMOOTH[:, 0], 4.0))) <= beyond  # at the edge of a tenth a few do not count
    assert samples(SMOOTH) == 0


def test_a_rounded_turn_is_shorter_than_a_limit():
    """The largest value, rounded, is there for a few samples in a row."""
    turns = first(np.round(SMOOTH[:, 0], 3))
    top = turns[:, 0] == turns[:, 0].max()
    assert 2 <= np.diff(np.flatnonzero(np.diff(np.r_[0, top, 0]))).min() < 10
    assert samples(turns) == 0


def test_a_coarsely_rounded_signal_has_as_many_samples_below():
    """It rests longer than a limit need, but there are nearly as many at the next value."""
    steps = first(np.round(SMOOTH[:, 0], 1))
    top = steps[:, 0] == steps[:, 0].max()
    assert np.diff(np.flatnonzero(np.diff(np.r_[0, top, 0]))).max() > 10
    assert samples(steps) == 0


def test_the_arm_rests():
    """So do all torques, one of them perhaps at its largest value."""
    still = (T > 10) & (T < 12)
    q = np.where(still[:, None], Q[still][0], Q)
    tau = first(np.where(still, 6.0, SMOOTH[:, 0]))
    assert samples(tau, q) < RESTING_WINDOW  # of its first and last ones the window sees motion
    assert samples(tau) == still.sum()  # with a joint that moves it is a limit
