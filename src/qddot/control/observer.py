"""The momentum observer: it estimates external forces from motor torques and motion, without accelerations.

The momenta `p = M qd` change by `p' = tau + n(q, qd) + tau_ext`, where `n = C^T qd - g - springs - friction` is `p'` of Hamilton's
equations without forces. The observer integrates the known part, corrected by its own error,

    r = K (p - p(0) - integral (tau + n + r) dt)        r' = K (tau_ext - r)

so its residual r is the external torque after a low-pass filter with time constant 1/K (De Luca and Mattone 2005). With
`W = r^T r / 2` and no external force `W' = -r^T K r`, so any residual vanishes.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array, positive_number
from qddot.control.gains import gains
from qddot.errors import InputError, InputWarning, as_written, stacklevel_outside

if TYPE_CHECKING:
    from qddot.logs.log import Log
    from qddot.robot import Robot


class MomentumObserver:
    """Estimates external joint torques and raises an alarm, sample by sample or for a whole recording.

        observer = MomentumObserver(robot, gain=60, period=1e-3)
        observer.calibrate(log)                               # a motion without contacts, which shows the noise
        r = observer.update(q, qd, tau)                       # every millisecond
        if observer.alarm: ...

    Args:
        robot: the model.
        gain: K, 1/s, one number or one per joint; a high gain is fast, a low one has less noise.
        period: of the samples, s.
        threshold: of each residual, N m, beyond which the alarm is raised; see `calibrate`.

    Attributes:
        residual: the latest r (nv,), N m.
        alarm: True if some `|r|` is beyond its threshold.

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
        """Forget all samples: the next one is the first."""
        self.residual, self.alarm = np.zeros(self.robot.nv), False
        self._last: tuple[np.ndarray, np.ndarray] | None = None

    def update(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Return the residual (nv,) after one more sample: the state, and the joint forces that act until the next sample."""
        p, n, tau = self._momenta(q, qd, tau, ndim=1)
        if self._last is not None:
            before, known = self._last
            change = p - before - self.period * (known + n / 2)
            self.residual = self.residual + self.gain * (change - self.period * self.residual)
        self._last = p, tau + n / 2
        self.alarm = bool((np.abs(self.residual) > self.threshold).any())
        return self.residual

    def observe(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> np.ndarray:
        """Return the residuals (samples, nv) of a recording (samples, ...), as `update` would return them one by one."""
        from scipy.signal import lfilter

        p, n, tau = self._momenta(q, qd, tau, ndim=2)
        change = np.zeros_like(p)
        change[1:] = np.diff(p, axis=0) - self.period * (tau[:-1] + (n[1:] + n[:-1]) / 2)
        columns = [lfilter([k], [1.0, k * self.period - 1.0], x) for k, x in zip(self.gain, change.T)]
        return np.stack(columns, axis=-1)

    def calibrate(
        self, q: ArrayLike | Log, qd: ArrayLike | None = None, tau: ArrayLike | None = None, deviations: float = 7.0
    ) -> np.ndarray:
        """Set the threshold (nv,) from a recording without contacts, in the region where the robot will move later.

        Samples must be like those that `update` will get: low-passed torques lag behind the steps of friction, and smoothed speeds
        lack their noise. Noise of the speeds is multiplied by M(q), so it depends on the configuration. The threshold is
        `deviations` times the standard deviation in the noisiest second, plus the largest mean of a second, which comes from errors
        of the model. Normal noise exceeds seven standard deviations once in 4e11 samples.

        Args:
            q: a log with measured velocities, whose segments are taken one by one; or positions (samples, nq) without a pause.
            qd, tau: velocities and joint forces (samples, nv), if `q` is not a log.
            deviations: number of standard deviations of noise that raise no alarm.

        Raises:
            InputError: a log without velocities, or at another rate than `1 / period`; positions that jump.

        Warns:
            InputWarning: a threshold as large as the forces of the motion itself, which hardly any contact exceeds.
        """
        deviations = positive_number("deviations", deviations)
        parts = self._recorded(q, qd, tau)
        settling = int(5 / (self.gain.min() * self.period)) + 1
        residuals = [self.observe(*part) for part in parts]
        settled = [r[min(len(r) // 2, settling) :] for r in residuals]
        settled = [r for r in settled if len(r) > settling] or settled
        seconds = [x for r in settled for x in np.array_split(r, max(int(len(r) * self.period), 1))]
        means, spreads = (np.array([f(x, axis=0) for x in seconds]) for f in (np.mean, np.std))
        self.threshold = np.abs(means).max(0) + deviations * spreads.max(0)
        self._warn_if_blind(parts, residuals)
        return self.threshold

    def _recorded(self, q: ArrayLike | Log, qd: ArrayLike | None, tau: ArrayLike | None) -> list[tuple[np.ndarray, ...]]:
        """Return the parts (q, qd, tau) of a recording between its pauses."""
        from qddot.logs.log import Log

        if isinstance(q, Log):
            log = q.of(self.robot)
            if log.qd is None:
                raise InputError(
                    "the log has no velocities: `update` takes measured ones, whose noise the threshold must bear. Record them, or "
                    "calibrate(q, qd, tau) with velocities made as they will be made for `update`"
                )
            if abs(log.rate * self.period - 1) > 0.01:
                theirs = f"the log has {log.rate:.4g} samples a second, the observer {1 / self.period:.4g}"
                raise InputError(
                    f"{theirs}: MomentumObserver(..., period={1 / log.rate:.4g}), if these are the samples that `update` gets"
                )
            parts = [(log.q[part], log.qd[part], log.tau[part]) for part in log.segments]
        elif qd is None or tau is None:
            raise InputError("calibrate(log), or calibrate(q, qd, tau) with arrays of a recording without a pause")
        else:
            parts = [(finite_array("q", q), finite_array("qd", qd), finite_array("tau", tau))]
        for part in parts:
            self._refuse_jumps(*part[:2])
        return parts

    def _refuse_jumps(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Refuse positions that change more than the velocities permit: then the recording was joined from several."""
        if q.ndim != 2 or qd.shape != (len(q), self.robot.nv) or len(q) < 2:
            needed = f"(samples, {self.robot.nq}) and (samples, {self.robot.nv})"
            raise InputError(f"q has shape {q.shape} and qd {qd.shape}: {needed} are needed")
        steps = np.abs(self.robot.difference(q[:-1], q[1:]))
        steps = np.minimum(steps, np.abs(steps - 2 * np.pi))  # an angle may be recorded modulo a turn
        reach = 3 * self.period * np.abs(qd).max(axis=0) + 20 * np.median(steps, axis=0)
        if (steps > reach).any():
            at, joint = (int(x) for x in np.argwhere(steps > reach)[0])
            raise InputError(
                f"sample {at + 2}: q goes {steps[at, joint]:.3g} in a period, with velocities (column {joint + 1}) up to "
                f"{np.abs(qd[:, joint]).max():.3g} a second: are these several recordings, or is there a pause? "
                "calibrate(log) takes each segment of a Log by itself"
            )

    def _warn_if_blind(self, parts: list[tuple[np.ndarray, ...]], residuals: list[np.ndarray]) -> None:
        """Warn of a threshold beyond half the forces of the motion that is not due to noise: the alarm would hardly be raised.

        Noise is filtered by `r[k] = (1 - K T) r[k - 1] + K noise[k]`. White noise would make residuals no larger than `white`.
        """
        forces = [np.maximum(np.abs(n), np.abs(tau)) for _, n, tau in (self._momenta(*part, ndim=2) for part in parts)]
        usual, size = (np.sqrt(np.mean(np.concatenate(x) ** 2, axis=0)) for x in (forces, residuals))
        kept = 1 - self.gain * self.period
        news = np.concatenate([r[1:] - kept * r[:-1] for r in residuals])
        white = np.sqrt(np.mean(news**2, axis=0) / (1 - kept**2))
        blind = (self.threshold > usual / 2) & (size > 2 * white)
        if blind.any():
            joints = [f"{self.robot.joint_names[k]} {self.threshold[k]:.3g} beside {usual[k]:.3g}" for k in np.flatnonzero(blind)]
            warnings.warn(
                f"thresholds as large as the forces of the motion itself, N m or N: {', '.join(joints)}. Few contacts exceed them: "
                "the robot does not predict this recording (is it the one identified, are torques as measured, not low-passed?)",
                InputWarning,
                stacklevel=stacklevel_outside(),
            )

    def _momenta(self, q: ArrayLike, qd: ArrayLike, tau: ArrayLike, ndim: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return p, its known rate without joint forces, and these forces, all of one shape."""
        p = self.robot.generalized_momentum(q, qd)
        tau = finite_array("tau", tau)
        if p.ndim != ndim or tau.shape != p.shape:
            shape = f"({self.robot.nv},)" if ndim == 1 else f"(samples, {self.robot.nv})"
            raise InputError(f"the state has shape {p.shape} and tau {tau.shape}: {shape} is needed")
        return p, self.robot.hamilton_rates(q, p).pd, tau
