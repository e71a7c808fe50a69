"""Recursive estimation of parameters: a square-root information filter behind causal low-pass filters.

    |R theta - z|^2  +  sum over new rows of (tau - Y theta)^2 / sigma^2   =   |R' theta - z'|^2

R is triangular and R^T R the information matrix. R itself is updated, so no digits are lost by squaring, and no covariance becomes
indefinite. Old samples are forgotten, R <- sqrt(l) R, but the prior is not: some of its rows are added again at each step, by
turns, with the weight that replaces the forgotten part. So a direction that the motion does not show falls back to the prior within
the memory, and its standard deviation never exceeds the prior's. While all joints rest nothing is forgotten.

Each new row leaves the residual `(tau - Y theta) / sigma`, reduced by what the row itself explains: its surprise (innovation), of
size 1 if parameters and noise are as assumed. The mean square of recent ones is the actual noise, which widens the standard
deviations. If parameters may change suddenly, as a load does, squares far above that are summed (Page's cumulative sum) until they
cannot be chance: then everything but the prior is forgotten.

Positions go through the low-pass and derivatives of `identify`, torques and columns through the second low-pass: without forgetting
and with a weak prior the estimate is that of `least_squares` from all samples so far. The filters are causal, with a delay of
`latency` seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import solve_triangular

from qddot.arguments import finite_array, positive_number, real_array
from qddot.errors import InputError
from qddot.identify.online.rotations import Triangle
from qddot.identify.regression.signals import possible_delay
from qddot.logs.lowpass import LowPass
from qddot.thresholds import INDEPENDENT, PRIOR_SLACK, SURPRISE, SURPRISE_CLIP, SURPRISE_NOISE, SURPRISE_STEPS

Rows = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray | None]
"""Function of (q, qd, qdd, out) that writes those entries of the regressor Y (nv, r) which may differ from zero to `out`, row by
row, and returns the known torque (nv,) or None, so that `tau - known = Y theta`."""


class Recursive:
    """Estimates the parameters of a linear model from samples of positions and torques.

    Args:
        names: names of the parameters (r,).
        rows: function that computes the columns.
        shape: True for entries (nv, r) of Y that may differ from zero.
        prior: parameters (r,) and their standard deviations (r,), which are never forgotten.
        noise: standard deviation of each joint's torque after the low-pass (nv,), N m.
        rest_speeds: speed of each joint (nv,) below which friction may hold it, so that longer rests do not count; 0: all count.
        rate: samples a second.
        cutoff: cut-off frequency of the low-pass, Hz.
        memory: s of motion after which a sample counts for 1/e; inf: nothing is forgotten.
        changing: True if the parameters may change suddenly; the estimate from before such a change is then forgotten.
        delay: by how much later than positions torques come, s, a sample and a half at most; positions are taken that much earlier.
    """

    def __init__(
        self,
        names: Sequence[str],
        rows: Rows,
        shape: np.ndarray,
        prior: tuple[np.ndarray, np.ndarray],
        noise: np.ndarray,
        rest_speeds: np.ndarray,
        *,
        rate: float,
        cutoff: float,
        memory: float = np.inf,
        changing: bool = False,
        delay: float = 0.0,
    ) -> None:
        self.names, self._rows, self._changing = tuple(names), rows, changing
        self._prior_theta, self._prior_std = prior
        self.rate, self.cutoff = positive_number("rate", rate), positive_number("cutoff", cutoff)
        if not memory > 0:
            raise InputError(f"memory={memory!r} is not a positive number of seconds (inf: nothing is forgotten)")
        n, r = shape.shape
        if not ((self._prior_std > 0) & np.isfinite(self._prior_std)).all():
            raise InputError("a prior's standard deviations are positive and finite: without them nothing holds what does not show")
        self._low_pass = LowPass(self.rate, self.cutoff)
        self._factor = self._low_pass.factor
        self._kept = float(np.exp(-self._factor / self.rate / memory))
        turns = np.clip(PRIOR_SLACK * memory * self.rate / self._factor, 1, r)  # steps after which a prior's row is added again
        self._turns = np.array_split(np.arange(r), int(turns))
        self._weight = np.sqrt(INDEPENDENT) / noise
        self._rest_speeds = rest_speeds
        low = self._low_pass
        self.delay = possible_delay(delay, self.rate)
        self._derivatives, self._taps = np.stack([taps[::-1] for taps in low.flat_derivatives(-self.delay)]), low.smooth
        self._positions = Window(self._derivatives.shape[1], 2 * n)  # and torques, so that both are delayed alike
        self._columns = Window(len(low.smooth), n + int(np.count_nonzero(shape)))
        order = np.argsort(shape.sum(axis=1), kind="stable")  # the shortest rows first, since they change the least of R
        joint, column = np.nonzero(shape)
        self._order, self._into = order, np.argsort(order)[joint] * (r + 1) + column
        self._block = np.zeros((n, r + 1))
        self.reset()

    @property
    def latency(self) -> float:
        """Delay of the filters, s."""
        return (2 * self._low_pass.half + 4) / self.rate

    def reset(self) -> None:
        """Forget everything but the prior."""
        self._begin()
        self._count, self._steps, self._noise = 0, SURPRISE_STEPS // 20, 1.0
        self.interrupt()

    def _begin(self) -> None:
        """Start from the prior alone."""
        self._triangle, self._turn = Triangle(len(self.names), len(self._turns[0]) + len(self._order)), 0
        for some in self._turns:
            self._expect(some, 1.0)
            self._triangle.new[len(self._turns[0]) :] = 0.0
            self._triangle.fold()
        self._beyond = 0.0

    def interrupt(self) -> None:
        """Declare a gap before the next sample: the filters begin anew, the parameters stay."""
        self._positions.clear()
        self._columns.clear()
        self._skipped = 0

    def update(self, q: np.ndarray, tau: np.ndarray, *, learn: bool = True) -> None:
        """Take one sample.

        Args:
            q: positions (nv,), rad or m.
            tau: joint forces (nv,), N m or N.
            learn: False while something else acts on the robot, such as a contact; samples whose filters span it are not used.

        Raises:
            InputError: another shape, or a number that is not finite; the sample is not taken.
        """
        sample = self._positions.next
        half = len(self._rest_speeds)
        q, tau = (x if type(x) is np.ndarray and x.dtype == np.float64 else real_array(n, x) for n, x in (("q", q), ("tau", tau)))
        if q.shape != (half,) or tau.shape != (half,):
            raise InputError(f"a sample has q {q.shape} and tau {tau.shape}: one number for each of {half} joints")
        sample[:half], sample[half:] = q, tau
        if not np.isfinite(sample.sum()):
            finite_array("q", q)
            finite_array("tau", tau)
        self._positions.advance()
        self._skipped = 0 if not learn else self._skipped + 1
        if not self._positions.is_full:
            return
        window = self._positions.samples
        motion = self._derivatives @ window[:, :half]
        torque = window[self._low_pass.half + 4, half:]
        place = self._columns.next
        known = self._rows(motion[0], motion[1], motion[2], place[half:])
        place[:half] = torque if known is None else torque - known
        self._columns.advance()
        self._count += 1
        if self._columns.is_full and self._count % self._factor == 0 and self._skipped >= len(window) + len(self._taps):
            self._learn(np.ptp(window[:: self._factor, :half], axis=0) * (4 * self.rate / len(window)))

    def _learn(self, pace: np.ndarray) -> None:
        """Update the triangle by the rows of the joints that do not rest."""
        moving = pace >= self._rest_speeds
        if not moving.any():
            return
        filtered, half = self._taps @ self._columns.samples, len(moving)
        block = self._block
        block.ravel()[self._into] = filtered[half:]
        block[:, -1] = filtered[:half][self._order]
        triangle = self._triangle
        triangle.new[:-half] = 0.0
        np.multiply(block, (self._weight * moving)[self._order, None], out=triangle.new[-half:])
        if self._kept < 1:
            triangle.scale(np.sqrt(self._kept))
            self._expect(self._turns[self._turn], np.sqrt(1 - self._kept ** len(self._turns)))
            self._turn = (self._turn + 1) % len(self._turns)
        triangle.fold()
        left, rows = triangle.new[-half:, -1], int(np.count_nonzero(moving))
        self._be_surprised(float(left @ left) / (INDEPENDENT * rows), rows)

    def _be_surprised(self, square: float, rows: int) -> None:
        """Update the noise by the mean square surprise of so many rows, and start anew if the parameters have changed."""
        self._steps = min(self._steps + 1, SURPRISE_STEPS)
        self._noise += (min(square, SURPRISE_CLIP * self._noise) - self._noise) / self._steps
        noise = max(self._noise, 1.0)
        self._beyond = max(0.0, self._beyond + rows * (square / noise - SURPRISE_NOISE))
        if self._changing and self._beyond > SURPRISE * len(self._order):
            self._begin()

    def _expect(self, some: np.ndarray, weight: float) -> None:
        """Add these rows of the prior to those for the next update."""
        new, at, weights = self._triangle.new, range(len(some)), weight / self._prior_std[some]
        new[: len(self._turns[0])] = 0.0
        new[at, some], new[at, -1] = weights, weights * self._prior_theta[some]

    # the estimate -----------------------------------------------------------------------------------------------------------

    @property
    def theta(self) -> np.ndarray:
        """The parameters (r,), SI units."""
        return solve_triangular(self._triangle.R, self._triangle.z)

    @property
    def covariance(self) -> np.ndarray:
        """Covariance of the parameters (r, r), if the noise is as given."""
        half = solve_triangular(self._triangle.R, np.eye(len(self.names)))
        return half @ half.T

    @property
    def std(self) -> np.ndarray:
        """Standard deviations (r,), by the given or the observed noise, whichever is larger.

        They exceed those of the prior by a fortieth at most.
        """
        told = np.sqrt(np.diagonal(self.covariance))
        return np.minimum(np.sqrt(max(self._noise, 1.0)) * told, np.maximum(told, self._prior_std))

    @property
    def parameters(self) -> dict[str, float]:
        """Parameter -> value, SI units."""
        return dict(zip(self.names, self.theta.tolist()))


class Window:
    """Ring buffer of the latest samples (count, width), in order. Each is written twice, a window's length apart, so that the
    window is always contiguous."""

    def __init__(self, count: int, width: int) -> None:
        self.count = count
        self._twice, self.next = np.zeros((2 * count, width)), np.zeros(width)
        self.clear()

    def clear(self) -> None:
        self._at, self._seen = 0, 0

    def advance(self) -> None:
        """Take `next` as the latest sample."""
        self._twice[self._at] = self._twice[self._at + self.count] = self.next
        self._at = (self._at + 1) % self.count
        self._seen += 1

    @property
    def is_full(self) -> bool:
        return self._seen >= self.count

    @property
    def samples(self) -> np.ndarray:
        """The samples (count, width), the latest last."""
        return self._twice[self._at : self._at + self.count]
