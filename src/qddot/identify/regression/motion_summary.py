"""Summary of the motion of a whole recording: ranges, sums and an excerpt, gathered part by part in constant memory."""

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
    """Motion of the joints over the whole recording."""

    # q, tau: ranges of the low-passed positions and of the measured torques
    q: Range
    tau: Range
    speed: np.ndarray  # highest speed of each joint (n,), rad/s or m/s
    # qd_rms, qdd_rms: rms rates and accelerations (n,)
    qd_rms: np.ndarray
    qdd_rms: np.ndarray
    turns: np.ndarray  # number of times each joint (n,) turned back
    # samples, seconds: length of the filtered signals
    samples: int
    seconds: float
    noise: np.ndarray  # rms white noise of the torques after the filter (n,), N m
    excerpt: Signals  # the whole recording, if it comes in one part; else stretches spread over it

    @staticmethod
    def of(parts: Iterable[Signals], usual: Signals) -> MotionSummary:
        """Gather the summary in one pass; `usual` is the part with the most motion, from which speeds that count as rest follow."""
        gathered = Gathered(usual)
        for part in parts:
            gathered.add(part)
        return gathered.summary()


class Gathered:
    """Collects a motion summary from parts, one after the other."""

    def __init__(self, usual: Signals) -> None:
        self.rate, self.slow = usual.rate, RESTING_SPEED * np.abs(usual.qd).max(axis=0)
        self.ranges: list[tuple[Range, Range, np.ndarray]] = []
        n = usual.q.shape[1]
        self.squares, self.noise, self.turns = np.zeros((2, n)), np.zeros(n), np.zeros(n, int)
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
            turns=self.turns,
            samples=self.count,
            seconds=self.count / self.rate,
            noise=np.sqrt(self.noise / self.count),
            excerpt=self.excerpt.signals(),
        )


def turns(speed: np.ndarray, slow: float) -> int:
    """Count how often a joint turned back, by its speeds (N,), of which those below `slow` are rests."""
    one_way = (speed >= slow).view(np.int8) - (speed <= -slow).view(np.int8)  # 1, -1, or 0 where it rests
    return int(np.count_nonzero(one_way[1:] != one_way[:-1])) // 2
