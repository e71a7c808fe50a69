"""Up to which frequency a log holds motion, and how much noise lies beyond."""

from __future__ import annotations

import numpy as np
from scipy.signal import periodogram

MOTION = 0.999  # of the power of the velocity lies below the edge of the motion


def noise_floor(f: np.ndarray, power: np.ndarray) -> np.ndarray:
    """White noise of each channel, (k,), per Hz: the median density in the upper half of the band."""
    upper = f > 0.5 * f[-1]
    return np.median(power[upper], axis=0) / np.log(2)  # the median of an exponential distribution is log 2 of its mean


def densities(x: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """One-sided power density (M, k) of signals (N, k), per Hz, under a window without side lobes; straight lines are taken out."""
    return periodogram(x, fs=rate, window="blackmanharris", detrend="linear", axis=0)


def motion_edge(q: np.ndarray, rate: float) -> float:
    """Hz below which the motion lies: the highest over all joints of where nearly all power of the velocity, less noise, is reached."""
    f, power = densities(q, rate)
    signal = np.maximum(power - 3 * noise_floor(f, power), 0.0)
    signal[power < 20 * noise_floor(f, power)] = 0.0  # single peaks of noise
    velocity = np.cumsum(signal * f[:, None] ** 2, axis=0)
    moving = velocity[-1] > 0
    if not moving.any():
        return float(f[1])
    return float(max(f[np.searchsorted(v, MOTION * v[-1])] for v in velocity[:, moving].T))
