"""Division of a prepared log into pieces for the reduction: blocks of time, and strips of a size for one task."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qddot.identify.regression.reduction import STRIP
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import Signals, reached
from qddot.logs.lowpass import LowPass
from qddot.logs.stops import runs
from qddot.thresholds import CHUNK_BLOCKS, SHORTEST_BLOCK, STANDSTILL, TIME_BLOCKS


class Stretch(NamedTuple):
    """Consecutive samples of a prepared log. Other processes get them too, so they hold arrays only."""

    motion: Samples  # these samples, and those at both ends that the filter needs, as far as there are any
    paces: np.ndarray  # of each joint on a grid of samples (g, nv), see `Signals.paces_within`
    grid_start: int  # by how many samples the first one follows the first that is nearest to the same one of the grid
    low_pass: LowPass
    lead: int = 0
    trail: int = 0
    step: int = 1  # number of samples of which one suffices to represent a smooth signal; 1 if all are needed
    cuts: tuple[int, ...] = ()  # indices of the filtered samples at which further blocks begin

    def moving(self, speeds: np.ndarray) -> np.ndarray | None:
        """Samples (N, nv) at which joints do not rest, by speeds (nv,); None: all of them."""
        moving = self.paces >= speeds
        if moving.all():
            return None
        nearest = (np.arange(len(self.motion.q)) + self.grid_start) // self.low_pass.factor
        return moving.take(nearest, axis=0, mode="clip")

    def thinned(self) -> Samples:
        """Every `step`-th sample, which suffices for smooth signals."""
        start = self.low_pass.half % self.step  # kernels are centred on samples that are kept
        return Samples(*(x[start :: self.step] for x in self.motion))

    def filtered(self, x: np.ndarray, thinned: bool = False) -> np.ndarray:
        """Filter a signal (N, ...) along all samples, or along the thinned ones: (M, ...)."""
        return self.low_pass.decimated(x, lead=self.lead, trail=self.trail, step=self.step if thinned else 1)

    def filtered_where(self, x: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Filter a signal (N, k) along the samples at which joints move, and tell which rows count: `LowPass.decimated_where`."""
        return self.low_pass.decimated_where(x, moving, lead=self.lead, trail=self.trail)

    @property
    def centres(self) -> range:
        """Indices of the samples on which the filtered ones are centred."""
        first, factor = self.low_pass.half - self.lead, self.low_pass.factor
        return range(first, first + factor * self.count, factor)

    def touching(self, some: np.ndarray) -> Iterator[slice]:
        """Yield runs of filtered samples whose kernels cover some of the samples (N,)."""
        before, half = np.append(0, np.cumsum(some)), self.low_pass.half
        ends = (np.clip(np.array(self.centres) + k, 0, len(some)) for k in (-half, half + 1))
        first, last = (before[end] for end in ends)
        return (slice(int(a), int(b)) for a, b in runs(last > first))

    def part(self, rows: slice) -> tuple[Stretch, slice]:
        """The piece of a run of its filtered samples, with every sample, and which of the samples these are."""
        inside, ends = reached(self.centres[rows], self.low_pass.half, slice(0, len(self.motion.q)))
        motion, start = Samples(*(x[inside] for x in self.motion)), self.grid_start + inside.start
        return self._replace(motion=motion, grid_start=start, **ends, step=1, cuts=()), inside

    @property
    def count(self) -> int:
        """Number of filtered samples."""
        return (self.lead + len(self.motion.q) + self.trail - 2 * self.low_pass.half - 1) // self.low_pass.factor + 1


def pieces(signals: Signals, blocks: int | None = None, first: int = 0) -> Iterator[tuple[int, Stretch]]:
    """Yield (block, piece) of a whole log, in blocks of equal length, without rests, that end with each segment.

    Args:
        blocks: approximate number of blocks; by default 40, or as many as have half a second each.
        first: number of the first block.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> len(list(qddot.identify.pieces(qddot.identify.prepare(log), blocks=4)))
    4
    """
    for block, cuts, k in blocks_of(signals, blocks, first):
        for at, (a, b) in enumerate(pairwise(cuts), start=block):
            for part in parts(signals, a, b):
                yield at, stretch(signals, k, part)


def blocks_of(signals: Signals, blocks: int | None, first: int) -> Iterator[tuple[int, list[int], int]]:
    """Yield for each segment the number of its first block, the limits of its blocks in decimated samples, and its own number."""
    moving = np.any(signals.centre_paces >= STANDSTILL, axis=1)
    moving |= not moving.any()
    total = int(moving.sum())
    most = int(total * signals.factor / signals.rate / SHORTEST_BLOCK)
    size = -(-total // (blocks or max(2, min(TIME_BLOCKS, most))))
    for k, rows in enumerate(signals.decimated_segments):
        passed = np.append(0, np.cumsum(moving[rows]))
        inner = np.linspace(0, passed[-1], max(1, round(passed[-1] / size)) + 1).astype(int)[1:-1]
        cuts = [0, *np.searchsorted(passed, inner).tolist(), rows.stop - rows.start]
        yield first, cuts, k
        first += len(cuts) - 1


def parts(signals: Signals, start: int, stop: int) -> Iterator[slice]:
    """Yield slices of decimated samples from start to stop, each of a size for one task."""
    size = max(1, STRIP // signals.factor)
    return (slice(a, min(a + size, stop)) for a in range(start, stop, size))


def stretch(signals: Signals, k: int, part: slice, cuts: tuple[int, ...] = ()) -> Stretch:
    """The piece of some decimated samples of segment k, with all samples that their kernels cover."""
    inside, ends = reached(signals.centres(k)[part], signals.low_pass.half, signals.segments[k])
    motion = Samples(signals.q[inside], signals.qd[inside], signals.qdd[inside], signals.tau_raw[inside])
    step = 1 if any(ends.values()) else signals.low_pass.step  # a kernel that is cut off at an end needs every sample
    return Stretch(motion, *signals.paces_within(k, inside), signals.low_pass, **ends, step=step, cuts=cuts)


def streamed(chunks: Iterable[Signals]) -> Iterator[tuple[int, Stretch]]:
    """Yield (block, piece) of a log in chunks (`stream`). No block spans two chunks; a piece may contain several blocks.

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
        for block, piece in strips(signals, None if signals.goes_on == (False, False) else CHUNK_BLOCKS, first):
            yield block, piece
        first = block + len(piece.cuts) + 1


def strips(signals: Signals, blocks: int | None = None, first: int = 0) -> Iterator[tuple[int, Stretch]]:
    """Yield pieces of a size for one task, whatever the blocks, with the number of the first block in each. Kernels that are cut
    off at the ends of a record get strips of their own, since they need every sample."""
    cut_off = signals.low_pass.rows
    for block, cuts, k in blocks_of(signals, blocks, first):
        ends = sorted({0, min(cut_off, cuts[-1]), max(cuts[-1] - cut_off, 0), cuts[-1]})
        for part in (part for a, b in pairwise(ends) for part in parts(signals, a, b)):
            inner = tuple(cut - part.start for cut in cuts[1:-1] if part.start < cut < part.stop)
            yield block + bisect_right(cuts[1:-1], part.start), stretch(signals, k, part, inner)
