"""A prepared log cut into pieces for the reduction: blocks of time, and strips of a size for one task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qddot.identify.regression.reduction import STRIP, Samples
from qddot.identify.regression.signals import Signals, reached
from qddot.logs.lowpass import LowPass
from qddot.thresholds import CHUNK_BLOCKS, SHORTEST_BLOCK, STANDSTILL, TIME_BLOCKS


class Stretch(NamedTuple):
    """Consecutive samples of a prepared log, with those at their ends that the filter spans, as far as there are any."""

    motion: Samples
    paces: np.ndarray
    low_pass: LowPass
    factor: int
    lead: int = 0
    trail: int = 0
    step: int = 1

    def samples(self) -> Samples:
        return self.motion

    def pace(self) -> np.ndarray:
        return self.paces

    def thinned(self) -> Samples:
        start = self.low_pass.half % self.step  # kernels are centred on samples that are kept
        return Samples(*(x[start :: self.step] for x in self.motion))

    def filtered(self, x: np.ndarray, thinned: bool = False) -> np.ndarray:
        return self.low_pass.decimated(x, self.factor, lead=self.lead, trail=self.trail, step=self.step if thinned else 1)


def pieces(signals: Signals, blocks: int | None = None, first: int = 0) -> Iterator[tuple[int, Stretch]]:
    """(block, piece) of a whole log: blocks of equal length, rests not counted, never across the end of a segment.

    Args:
        blocks: about how many; by default 40, or as many as have half a second each.
        first: number of the first.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> len(list(qddot.identify.pieces(qddot.identify.prepare(log), blocks=4)))
    4
    """
    paces = signals.paces[1]
    moving = np.any(paces >= STANDSTILL, axis=1)
    moving |= not moving.any()
    total = int(moving.sum())
    most = int(total * signals.factor / signals.rate / SHORTEST_BLOCK)
    size = -(-total // (blocks or max(2, min(TIME_BLOCKS, most))))
    strip = max(1, STRIP // signals.factor)
    block = first
    for k, segment in enumerate(signals.segments):
        centres, rows = signals.centres(k), signals.decimated_segments[k]
        here, passed = paces[rows], np.append(0, np.cumsum(moving[rows]))
        inner = np.linspace(0, passed[-1], max(1, round(passed[-1] / size)) + 1).astype(int)[1:-1]
        cuts = [0, *np.searchsorted(passed, inner), len(centres)]
        for a, b in pairwise(cuts):
            for start in range(a, b, strip):
                part = slice(start, min(start + strip, b))
                inside, ends = reached(centres[part], signals.low_pass.half, segment)
                motion = Samples(signals.q[inside], signals.qd[inside], signals.qdd[inside], signals.tau_raw[inside])
                step = 1 if any(ends.values()) else signals.step  # of a kernel that is cut off, no sample can be spared
                yield block, Stretch(motion, here[part], signals.low_pass, signals.factor, **ends, step=step)
            block += 1


def streamed(chunks: Iterable[Signals]) -> Iterator[tuple[int, Stretch]]:
    """Pieces of a log that comes in chunks (`signals.stream`). None of its blocks lies in two of them.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import stream, streamed
    >>> parts = [log[:400], log[400:]]
    >>> numbers = {block for block, piece in streamed(stream(parts))}
    >>> min(numbers)
    0
    """
    first = 0
    for signals in chunks:
        block = first
        for block, piece in pieces(signals, None if signals.goes_on == (False, False) else CHUNK_BLOCKS, first):
            yield block, piece
        first = block + 1
