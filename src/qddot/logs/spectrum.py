"""Frequency band of the motion in a log, and the noise above it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import rfft, rfftfreq

from qddot.thresholds import CLEAR_POWER, MOTION_POWER, MOVING_SPREAD, NOISE_BAND


class Band(NamedTuple):
    """Upper limits of the band of the joints that move, Hz."""

    edge: float
    """frequency below which nearly all power of the positions lies, for every joint"""
    clear: float
    """frequency up to which positions are well above their noise, for half of the joints"""


def densities(x: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the frequencies (M,) and one-sided power densities (M, k), per Hz, of signals (N, k) without their linear trend."""
    N, channels = x.shape
    k = np.arange(N) - (N - 1) / 2
    c = np.cos(2 * np.pi / N * np.arange(N))
    window = 0.35875 - 0.48829 * c + 0.14128 * (2 * c * c - 1) - 0.01168 * c * (4 * c * c - 3)  # the window of Blackman and Harris
    power = np.empty((N // 2 + 1, channels), order="F")
    for found, signal in zip(power.T, x.T):
        even = signal - signal.mean()
        even -= k * (k @ even / max(k @ k, 1.0))
        spectrum = np.asarray(rfft(even * window))
        found[:] = np.real(spectrum) ** 2 + np.imag(spectrum) ** 2
    power /= rate * (window @ window)
    power[1 : (N + 1) // 2] *= 2  # the power of both signs of a frequency
    return np.asarray(rfftfreq(N, 1 / rate)), power


def noise_floor(f: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return the density of white noise of each channel (k,), per Hz: the median density in the upper half of the band."""
    upper = f > NOISE_BAND * f[-1]
    return np.median(power[upper], axis=0) / np.log(2)  # the median of an exponential distribution is log 2 of its mean


def last_clear(density: np.ndarray, level: float) -> int:
    """Return the last bin above a level, with no empty octave between the peak and it.

    So harmonics of the motion are included, and a single tone far above is not.
    """
    at = int(np.argmax(density))
    while len(above := np.flatnonzero(density[at + 1 : 2 * at + 2] > level)):
        at += int(above[-1]) + 1
    return at


def motion_band(q: np.ndarray, rate: float) -> Band:
    """Return the band in which positions (N, n) hold motion."""
    f, power = densities(q, rate)
    spread = np.std(q, axis=0)
    moving = spread > MOVING_SPREAD * spread.max()
    if not moving.any():
        return Band(f[1], f[1])
    edges, clears = [], []
    for density, floor in zip(power[:, moving].T, noise_floor(f, power[:, moving])):
        end = last_clear(density, CLEAR_POWER * floor)
        below = np.cumsum(density[: end + 1])
        edges.append(f[np.searchsorted(below, MOTION_POWER * below[-1])])
        clears.append(f[end])
    return Band(float(max(edges)), float(np.median(clears)))
