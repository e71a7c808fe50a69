"""The model of a fit on some samples of its log, and what becomes of it when something else is assumed.

Where the model leaves sigma_j of joint j's torque, rms, and an alternative s_j, it explains

    share = 1 - (product over joints of s_j^2 / sigma_j^2)^(1 / joints)     or     1 - sum of s_j^2 / sum of sigma_j^2

It is the part of the unexplained sigma_j that it explains, the larger of two means over the joints: one in which no joint counts
more because its torques are larger, one in which all torques count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from qddot.algorithms.regressor import INERTIAL
from qddot.identify.regression.base import Base
from qddot.identify.regression.reduction import Samples
from qddot.identify.regression.signals import Signals, stacked
from qddot.thresholds import STILL_EXPLAINED, TRIAL_RATE, TRIAL_ROUNDS, TRIAL_ROWS, TRIAL_SAMPLES, TRIAL_WINDOW


@dataclass(frozen=True)
class Alternative:
    """Something else that may be true.

    Attributes:
        kind: one word, or two.
        text: what it says of the log, with its size.
        share: of the unexplained torque that it explains.
        unpredicted: part of the torques of one half that parameters of the other miss, beyond what is left of both.
        joints: that it is said of; none where it is said of all.
    """

    kind: str
    text: str
    share: float
    unpredicted: float
    joints: tuple[str, ...]


class Left(NamedTuple):
    """Errors that a fit leaves of each joint's torque (nv,), rms; what parameters of a half miss of the other (as in
    `Alternative`), and what they leave of each joint there (nv,), rms."""

    noise: np.ndarray
    unpredicted: float
    unseen: np.ndarray


def few(signals: Signals) -> Signals:
    """As many samples as tell what the filter passes, in stretches all over the log."""
    step = max(1, int(signals.rate / (TRIAL_RATE * signals.cutoff)))
    window = TRIAL_WINDOW * (2 * signals.low_pass.half + 1)
    every = window * max(1, -(-len(signals) // (step * TRIAL_SAMPLES)))
    starts = [(start, s.stop) for s in signals.segments for start in range(s.start, s.stop, every)]
    stretches = [range(start, min(start + window, stop), step) for start, stop in starts]
    if every == window:
        stretches = [range(s.start, s.stop, step) for s in signals.segments]
    stretches = [stretch for stretch in stretches if len(stretch) > 1]
    rows = np.concatenate([np.asarray(stretch) for stretch in stretches])
    arrays = {name: getattr(signals, name)[rows] for name in ("t", "q", "qd", "qdd", "tau", "tau_raw")}
    return replace(signals, **arrays, rate=signals.rate / step, segments=stacked(map(len, stretches)), goes_on=(False, False))


class Trial:
    """The model as given on these samples, and what becomes of it when something else is assumed."""

    def __init__(self, base: Base, theta: np.ndarray, signals: Signals) -> None:
        self.base, self.theta, self.signals = base, theta, signals
        self.robot, self.evaluator = base.parameter_set.robot, base.parameter_set.evaluator()
        self.motion = Samples(signals.q, signals.qd, signals.qdd, signals.tau_raw)
        self.names, self.nv = self.robot.joint_names, self.robot.nv
        self.T = [base.parameter_set.T[np.ix_(used, np.array(base.independent, int))] for used in self.evaluator.used]

    def rows(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """`[X | tau]` (N, nv, r + 1) for a motion; `more` (N, nv, links) is added to the columns of the links."""
        moved = self.evaluator.at(motion.q, motion.qd, motion.qdd)
        moved = moved if more is None else moved._replace(Y=moved.Y + more)
        X = np.stack([moved.row(j) @ T for j, T in enumerate(self.T)], axis=1)
        return np.concatenate([X, (motion.tau - moved.known())[..., None]], axis=-1)

    def predicted(self, motion: Samples, more: np.ndarray | None = None) -> np.ndarray:
        """Torques (N, nv) of the parameters found, without what is known anyway."""
        return self.rows(motion, more)[..., :-1] @ self.theta

    def filtered(self, x: np.ndarray) -> np.ndarray:
        """A signal (N, ...) through the filter, at some of its samples (M, ...)."""
        low_pass, step = self.signals.low_pass, max(self.signals.factor, len(x) // TRIAL_ROWS)
        ends = {"lead": low_pass.half, "trail": low_pass.half}
        return np.concatenate([low_pass.decimated(x[segment], step, **ends) for segment in self.signals.segments])

    @cached_property
    def whole(self) -> np.ndarray:
        """The rows of the model as given (N, nv, r + 1)."""
        return self.rows(self.motion)

    @cached_property
    def given(self) -> np.ndarray:
        """The rows of the model as given, filtered (M, nv, r + 1)."""
        return self.filtered(self.whole)

    @cached_property
    def left(self) -> Left:
        """Return what the model as given leaves."""
        return fitted(self.given, self.second)[1]

    @cached_property
    def size(self) -> np.ndarray:
        """Each joint's filtered torque (nv,), rms."""
        return np.sqrt(np.mean(self.given[..., -1] ** 2, axis=0))

    @property
    def noise(self) -> np.ndarray:
        """Return what the model as given leaves of each joint's torque (nv,), rms."""
        return self.left.noise

    @cached_property
    def second(self) -> np.ndarray:
        """Which rows (M,) lie in the second half of their stretch."""
        halves = [np.arange(s.stop - s.start) * 2 >= s.stop - s.start for s in self.signals.segments]
        return self.filtered(np.concatenate(halves)[:, None].astype(float))[:, 0] > 0.5

    @cached_property
    def rigid(self) -> np.ndarray:
        """The links' own part of the predicted torques (N, nv)."""
        links = [name.rpartition(".")[2].removesuffix("_c") in INERTIAL for name in self.base.names]
        return self.whole[..., :-1][..., links] @ self.theta[links]

    def only(self, j: int) -> np.ndarray:
        """Which of the joints (nv,) is joint j."""
        return np.arange(self.nv) == j

    def told(self, kind: str, text: str, left: Left, *joints: int) -> Alternative:
        """With what it leaves in place of what the model does. What is said of some joints must be true of them together, and
        make none worse: in another place a channel may only have met more parameters."""
        noise, some = left.noise, list(joints)
        change = 2 * np.log(noise / self.noise)
        mean = (change[some] if kind == "coupled" else change).mean()  # a coupling changes no other row
        total = np.log(np.sum(noise**2) / np.sum(self.noise**2))
        here = np.log(np.sum(noise[some] ** 2) / np.sum(self.noise[some] ** 2)) if some else -np.inf
        worse = (change > 0) & (noise > STILL_EXPLAINED * self.size)
        if np.any(worse[some]):
            here = max(here, float(change[some].max()))
        share = float(1 - np.exp(max(min(mean, total), here)))
        return Alternative(kind, text, share, left.unpredicted, tuple(self.names[j] for j in joints))

    def with_columns(self, Z: np.ndarray) -> tuple[np.ndarray, Left]:
        """Size (d,) of errors whose effect on the torques is Z (N, nv, d), and what they leave."""
        whole = np.concatenate([self.given[..., :-1], self.filtered(Z), self.given[..., -1:]], axis=-1)
        theta, left = fitted(whole, self.second)
        return theta[-Z.shape[-1] :], left

    def with_torques(self, tau: np.ndarray) -> Left:
        """Return what the model leaves of the same motion with other torques (N, nv)."""
        y = self.filtered(self.whole[..., -1] + tau - self.motion.tau)
        return fitted(np.concatenate([self.given[..., :-1], y[..., None]], axis=-1), self.second)[1]

    def sought(self, changed: Callable[[float], Samples], step: float, rounds: int, size: float = 0.0) -> tuple[float, Left]:
        """Size of an error of the motion, `changed(size)` without it, and what it leaves: Gauss and Newton, with the parameters."""
        theta, left = self.theta, self.left
        if size:
            theta, left = fitted(self.filtered(self.rows(changed(size))), self.second)
        for _ in range(rounds):
            rows, ahead = self.rows(changed(size)), self.rows(changed(size + step))
            slope = (ahead - rows)[..., :-1] @ theta / step
            whole = np.concatenate([rows[..., :-1], slope[..., None], rows[..., -1:]], axis=-1)
            found, left = fitted(self.filtered(whole), self.second)
            theta, size = found[:-1], size + float(found[-1])
        return size, left

    def instead(self, motion: Samples, more: np.ndarray | None = None) -> Left:
        """Return what the model leaves of another motion, or with other columns of the links."""
        return fitted(self.filtered(self.rows(motion, more)), self.second)[1]


def later_half(count: int) -> np.ndarray:
    """Which of so many rows come in the second half."""
    return np.arange(count) * 2 >= count


def fitted(rows: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, Left]:
    """Parameters (k,) of `[X | tau]` (M, nv, k + 1) by weighted least squares, and what they leave; `second` (M,) says which rows
    are of the second half."""
    M, _, k = rows.shape
    scale = np.linalg.norm(rows, axis=(0, 1))
    scale = np.where(scale > 0, scale, 1.0)
    rows = np.ascontiguousarray(np.moveaxis(rows, 1, 0)) / scale  # in order, for the sake of matrix products
    halves = [half.transpose(0, 2, 1) @ half for half in (rows[:, ~second], rows[:, second])]
    G = halves[0] + halves[1]
    least = 1e-7 * np.sqrt(G[:, -1, -1].max() / M)  # rounding
    noise, theta = np.ones(len(G)), np.zeros(k - 1)
    for _ in range(TRIAL_ROUNDS):
        theta = solved(G, noise)
        noise = np.maximum(np.sqrt(remaining(G, theta) / M), least)
    unseen = remaining(halves[1], solved(halves[0], noise)) + remaining(halves[0], solved(halves[1], noise))
    beyond = max(float(np.sum(unseen - remaining(G, theta))), 0.0)
    missed = np.sqrt(beyond / np.sum(G[:, -1, -1]))
    return theta * scale[-1] / scale[:-1], Left(noise * scale[-1], missed, np.maximum(np.sqrt(unseen / M), least) * scale[-1])


def solved(G: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Parameters (k,) of the normal equations G (nv, k + 1, k + 1), the joints weighted by 1 / noise."""
    whole = np.einsum("j,jkl->kl", 1 / noise**2, G)
    k = len(whole) - 1
    ridge = 1e-12 * np.trace(whole[:-1, :-1]) / max(k, 1)  # columns that nothing tells apart
    return np.linalg.solve(whole[:-1, :-1] + ridge * np.eye(k), whole[:-1, -1])


def remaining(G: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Sum of the squared torques that parameters leave of each joint (nv,)."""
    left = np.append(-theta, 1.0)
    return np.maximum(np.einsum("k,jkl,l->j", left, G, left), 0.0)
