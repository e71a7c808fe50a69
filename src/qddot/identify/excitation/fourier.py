"""A motion from rest to rest: a quintic blend in, periods of a finite Fourier series, a quintic blend out.

    q_j(t) = c_0 + sum_k (a_k sin(k w t) + b_k cos(k w t)) / k,   w = 2 pi / period

The blends meet position, velocity and acceleration of the series and begin and end at rest. The whole motion is linear in each
joint's unknowns x_j = (c_0, a_1, ..., a_H, b_1, ..., b_H, rest at the start, rest at the end): q_j(t) = basis(t) x_j.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.polynomial import Polynomial

QUINTIC = (  # over s in [0, 1], at rest at s = 0: weights of the position there, and of position, rate and acceleration at s = 1
    Polynomial([1, 0, 0, -10, 15, -6]),
    Polynomial([0, 0, 0, 10, -15, 6]),
    Polynomial([0, 0, 0, -4, 7, -3]),
    Polynomial([0, 0, 0, 0.5, -1, 0.5]),
)


@dataclass(frozen=True)
class Fourier:
    """The shape of a motion; a motion itself is an array (nv, unknowns)."""

    period: float  # period of the series, s
    harmonics: int  # number H of harmonics
    ramp: float  # duration of each blend, s
    periods: int = 1  # number of periods of the series

    @property
    def duration(self) -> float:
        """Duration of the whole motion, s."""
        return 2 * self.ramp + self.periods * self.period

    @property
    def unknowns(self) -> int:
        """Number of coefficients of each joint."""
        return 2 * self.harmonics + 3

    def basis(self, t: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Matrix (len(t), unknowns) whose product with x_j is joint j's position at times t, in s from the start of the blend in,
        or its first or second derivative.

        Before the start and after the end the robot rests.
        """
        t = np.asarray(t, float)
        ending = self.ramp + self.periods * self.period
        found = self.series(t - self.ramp, derivative)
        for rest, before, s, sign in (
            (-2, t < self.ramp, t / self.ramp, 1.0),
            (-1, t > ending, (self.duration - t) / self.ramp, -1.0),
        ):
            s = np.clip(s[before], 0.0, 1.0)
            weights = [(sign / self.ramp) ** derivative * p.deriv(derivative)(s) for p in QUINTIC]
            joint = [self.series(np.zeros(1), k) * (sign * self.ramp) ** k for k in range(3)]
            found[before] = sum(w[:, None] * row for w, row in zip(weights[1:], joint))
            found[before, rest] = weights[0]
        return found

    def series(self, t: np.ndarray, derivative: int = 0) -> np.ndarray:
        """Return `basis` of the series alone, with t from the beginning of the series."""
        k = np.arange(1, self.harmonics + 1)
        w = 2 * np.pi * k / self.period
        angle = np.multiply.outer(t, w) + derivative * np.pi / 2  # a derivative is a quarter turn
        found = np.zeros((len(t), self.unknowns))
        found[:, 0] = derivative == 0
        found[:, 1:-2] = np.hstack([np.sin(angle), np.cos(angle)]) * np.tile(w**derivative / k, 2)
        return found
