"""The motion of a recording as a whole: ranges, sums and an excerpt, gathered part by part in constant memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from qddot.identify.checks.trial import few
from qddot.identify.regression.residuals import filtered_noise
from qddot.identify.regression.signals import Signals, stacked
from qddot.logs.log_summary import Range
from qddot.thresholds import RESTING_SPEED, TRIAL_SAMPLES


@dataclass(frozen=True, eq=False)
class MotionSummary:
    """Motion of the joints, all along.

    Attributes:
        q, tau: ranges of the low-passed positions and of the measured torques.
        speed: the highest of each joint (n,), rad/s or m/s.
        qd_rms, qdd_rms: of the whole motion (n,).
        turns: how often each joint (n,) turned back.
        samples, seconds: recorded, as far as the filters reach.
        noise: what the filter leaves of the torques' white noise (n,), N m, rms.
        excerpt: the recording, if it comes in one part; else stretches all over it.
    """

    q: Range
    tau: Range
    speed: np.ndarray
    qd_rms: np.ndarray
    qdd_rms: np.ndarray
    turns: np.ndarray
    samples: int
    seconds: float
    noise: np.ndarray
    excerpt: Signals

    @staticmethod
    def of(parts: Iterable[Signals], usual: Signals) -> MotionSummary:
        """One pass; `usual` is a part with all the motion that there is, or most of it."""
        slow = RESTING_SPEED * np.abs(usual.qd).max(axis=0)
        ranges, squares, noise, turns, count, excerpt = [], np.zeros((2, usual.q.shape[1])), 0.0, 0, 0, Excerpt()
        for part in parts:
            own = part.owned
            qd, qdd = part.qd[own], part.qdd[own]
            ranges.append((Range.of(part.q[own]), Range.of(part.tau_raw[own]), np.abs(qd).max(axis=0)))
            squares += np.sum(np.square([qd, qdd]), axis=1)
            noise = noise + len(qd) * filtered_noise(part) ** 2
            turns = turns + np.sum(np.diff(np.sign(np.where(np.abs(qd) < slow, 0, qd)), axis=0) != 0, axis=0) // 2
            count += len(qd)
            excerpt.add(part)
        q, tau, speed = (list(each) for each in zip(*ranges))
        return MotionSummary(
            q=reduce(add, q),
            tau=reduce(add, tau),
            speed=np.max(speed, axis=0),
            qd_rms=np.sqrt(squares[0] / count),
            qdd_rms=np.sqrt(squares[1] / count),
            turns=np.asarray(turns),
            samples=count,
            seconds=count / usual.rate,
            noise=np.sqrt(noise / count),
            excerpt=excerpt.signals(),
        )


class Excerpt:
    """Stretches of parts at equal distances, about as many as of a whole log (`few`), however many parts come."""

    def __init__(self) -> None:
        self.stretches: list[Signals] = []
        self.only: Signals | None = None
        self.every, self.met = 1, 0

    def add(self, part: Signals) -> None:
        self.only = part if self.met == 0 else None
        thinned = few(part)
        for segment in thinned.segments:
            if self.met % self.every == 0:
                arrays = {name: getattr(thinned, name)[segment] for name in ARRAYS}
                self.stretches.append(replace(thinned, **arrays, segments=(slice(0, segment.stop - segment.start),)))
            self.met += 1
        while sum(map(len, self.stretches)) > 2 * TRIAL_SAMPLES and len(self.stretches) > 1:
            self.stretches, self.every = self.stretches[::2], 2 * self.every

    def signals(self) -> Signals:
        if self.only is not None:
            return self.only
        arrays = {name: np.concatenate([getattr(one, name) for one in self.stretches]) for name in ARRAYS}
        return replace(self.stretches[0], **arrays, segments=stacked(map(len, self.stretches)))


ARRAYS = ("t", "q", "qd", "qdd", "tau", "tau_raw")
