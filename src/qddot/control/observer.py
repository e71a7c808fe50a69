"""Forces from outside, told from motor torques and motion without an acceleration: the momentum observer.

The momenta `p = M qd` change by `p' = tau + n(q, qd) + tau_ext`, where `n = C^T qd - g - springs - friction` is `p'` of Hamilton's
equations without forces. An observer that integrates the known part, corrected by its own error,

    r = K (p - p(0) - integral (tau + n + r) dt)        r' = K (tau_ext - r)

has as its residual r the external torque behind a low-pass of 1/K seconds (De Luca and Mattone 2005). With `W = r^T r / 2` and no
external force `W' = -r^T K r`: whatever the residual was, it vanishes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array, positive_number
from qddot.control.gains import gains
from qddot.errors import InputError, as_written

if TYPE_CHECKING:
    from qddot.robot import Robot


class MomentumObserver:
    """External joint torques and an alarm, sample by sample or of a whole recording.

        observer = MomentumObserver(robot, gain=60, period=1e-3)
        observer.calibrate(quiet.q, quiet.qd, quiet.tau)      # what noise alone does
        r = observer.update(q, qd, tau)                       # every millisecond
        if observer.alarm: ...

    Args:
        robot: the model.
        gain: K, 1/s, one number or one a joint; high is quick, low is quiet.
        period: of the samples, s.
        threshold: of each residual, N m, beyond which the alarm is raised; see `calibrate`.

    Attributes:
        residual: r (nv,), N m: the latest.
        alarm: True where some `|r|` is beyond its threshold.

    >>> from qddot.control import MomentumObserver
    >>> robot = qddot.load("two_link")
    >>> push = {"body_2": [0, 0, 0, 0, -5, 0]}  # 5 N down at the tip
    >>> motion = robot.simulate([0.3, 0.8], t=0.1, f_ext=push)
    >>> observer = MomentumObserver(robot, gain=60, period=1e-3)
    >>> observer.observe(motion.q, motion.qd, motion.tau)[-1].round(1)  # N m, felt without a force sensor
    array([-4.1, -1.6])
    >>> (robot.jacobian(motion.q[-1], reference="world_aligned").T @ push["body_2"]).round(1)
    array([-4.1, -1.6])
    >>> quiet = robot.simulate([0.3, 0.8], t=0.1)
    >>> threshold = observer.calibrate(quiet.q, quiet.qd, quiet.tau)
    >>> observer.reset()
    >>> residual = observer.update(motion.q[0], motion.qd[0], motion.tau[0])
    >>> observer.alarm
    False
    """

    def __init__(self, robot: Robot, gain: ArrayLike, period: float = 1e-3, threshold: ArrayLike = np.inf) -> None:
        self.robot, self.period = robot, positive_number("period", period)
        self.gain = gains("gain", gain, robot.nv)
        if (self.gain * self.period >= 2).any():
            raise InputError(f"gain * period is {(self.gain * self.period).max():.3g}: from 2 on the residual does not settle")
        limit = finite_array("threshold", threshold, infinite=True)
        if limit.shape not in ((), (robot.nv,)) or not (limit > 0).all():
            raise InputError(f"threshold={as_written(threshold)}: one number above zero, or one for each of {robot.nv} joints, N m")
        self.threshold = np.broadcast_to(limit, (robot.nv,))
        self.reset()

    def reset(self) -> None:
        """Forget what was observed: the next sample is the first."""
        self.residual, self.alarm = np.zeros(self.robot.nv), False
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def update(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """The residual (nv,) after one more sample: state, and the joint forces that act from now until the next."""
        p, n, tau = self._momenta(q, qd, tau, ndim=1)
        if self._last is not None:
            before, known = self._last
            change = p - before - self.period * (known + n / 2)
            self.residual = self.residual + self.gain * (change - self.period * self.residual)
        self._last = p, tau + n / 2
        self.alarm = bool((np.abs(self.residual) > self.threshold).any())
        return self.residual

    def observe(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """The residuals (samples, nv) of a recording (samples, ...), as `update` would give them one by one."""
        from scipy.signal import lfilter

        p, n, tau = self._momenta(q, qd, tau, ndim=2)
        change = np.zeros_like(p)
        change[1:] = np.diff(p, axis=0) - self.period * (tau[:-1] + (n[1:] + n[:-1]) / 2)
        columns = [lfilter([k], [1.0, k * self.period - 1.0], x) for k, x in zip(self.gain, change.T)]
        return np.stack(columns, axis=-1)

    def calibrate(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, deviations: float = 7.0) -> np.ndarray:
        """Set the threshold (nv,) from a recording in which nothing touches the robot, and which goes where it will go later on.

        Noise of the speeds comes through times M(q), so it differs from place to place: the threshold is so many standard
        deviations of the noisiest second, and the largest mean of one, which a wrong model makes. Normal noise exceeds seven once
        in 4e11 samples.
        """
        deviations = positive_number("deviations", deviations)
        r = self.observe(q, qd, tau)
        settled = r[min(len(r) // 2, int(5 / (self.gain.min() * self.period)) + 1) :]
        seconds = np.array_split(settled, max(int(len(settled) * self.period), 1))
        means, spreads = (np.array([f(x, axis=0) for x in seconds]) for f in (np.mean, np.std))
        self.threshold = np.abs(means).max(0) + deviations * spreads.max(0)
        return self.threshold

    def _momenta(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, ndim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """p, its known rate without joint forces, and these forces, all of one shape."""
        p = self.robot.generalized_momentum(q, qd)
        tau = finite_array("tau", tau)
        if p.ndim != ndim or tau.shape != p.shape:
            shape = f"({self.robot.nv},)" if ndim == 1 else f"(samples, {self.robot.nv})"
            raise InputError(f"the state has shape {p.shape} and tau {tau.shape}: {shape} is needed")
        return p, self.robot.hamilton_rates(q, p).pd, tau
