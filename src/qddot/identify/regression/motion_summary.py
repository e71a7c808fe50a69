"""The motion of a recording as a whole: ranges, sums and an excerpt, gathered part by part in constant memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from qddot.identify.regression.excerpt import Excerpt
from qddot.identify.regression.signals import Signals
from qddot.logs.log_summary import Range
from qddot.thresholds import RESTING_SPEED


@dataclass(frozen=True, eq=False)
class MotionSummary:
    """Motion of the joints, all along."""

    # q, tau: ranges of the low-passed positions and of the measured torques
    q: Range
    tau: Range
    speed: np.ndarray  # the highest of each joint (n,), rad/s or m/s
    # qd_rms, qdd_rms: of the whole motion (n,)
    qd_rms: np.ndarray
    qdd_rms: np.ndarray
    turns: np.ndarray  # how often each joint (n,) turned back
    # samples, seconds: recorded, as far as the filters reach
    samples: int
    seconds: float
    noise: np.ndarray  # what the filter leaves of the torques' white noise (n,), N m, rms
    excerpt: Signals  # the recording, if it comes in one part; else stretches all over it

    @staticmethod
    def of(parts: Iterable[Signals], usual: Signals) -> MotionSummary:
        """One pass; `usual` is a part with all the motion that there is, or most of it."""
        gathered = Gathered(usual)
        for part in parts:
            gathered.add(part)
        return gathered.summary()


class Gathered:
    """A motion as far as it is known, part by part."""

    def __init__(self, usual: Signals) -> None:
        self.rate, self.slow = usual.rate, RESTING_SPEED * np.abs(usual.qd).max(axis=0)
        self.ranges: list[tuple[Range, Range, np.ndarray]] = []
        self.squares, self.noise, self.turns = (np.zeros((k, usual.q.shape[1])) for k in (2, 1, 1))
        self.count, self.excerpt = 0, Excerpt()

    def add(self, part: Signals) -> None:
        own = part.owned
        q, qd, qdd, tau = (x[own] for x in (part.q, part.qd, part.qdd, part.tau_raw))
        self.ranges.append((Range.of(q), Range.of(tau), Range.of(qd).size))
        self.squares += [[x @ x for x in signal.T] for signal in (qd, qdd)]
        self.noise += len(qd) * part.noise**2
        self.turns += [turns(x, slow) for x, slow in zip(qd.T, self.slow)]
        self.count += len(qd)
        self.excerpt.add(part)

    def summary(self) -> MotionSummary:
        q, tau, speed = (list(each) for each in zip(*self.ranges))
        return MotionSummary(
            q=reduce(add, q),
            tau=reduce(add, tau),
            speed=np.max(speed, axis=0),
            qd_rms=np.sqrt(self.squares[0] / self.count),
            qdd_rms=np.sqrt(self.squares[1] / self.count),
            turns=self.turns[0].astype(int),
            samples=self.count,
            seconds=self.count / self.rate,
            noise=np.sqrt(self.noise[0] / self.count),
            excerpt=self.excerpt.signals(),
        )


def turns(speed: np.ndarray, slow: float) -> int:
    """How often a joint turned back, by its speeds (N,), of which some are slow."""
    one_way = (speed >= slow).view(np.int8) - (speed <= -slow).view(np.int8)  # 1, -1, or 0 where it rests
    return int(np.count_nonzero(one_way[1:] != one_way[:-1])) // 2
