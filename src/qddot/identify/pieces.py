"""A prepared log cut into pieces for the reduction: blocks of time, and strips of a size for one task."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from qddot.identify.lowpass import LowPass
from qddot.identify.reduction import STRIP, Samples
from qddot.identify.signals import Signals, reached

BLOCKS = 40
BLOCK = 0.5  # s, at least: longer than residuals remember


class Stretch(NamedTuple):
    """Consecutive samples of a prepared log, with those at their ends that the filter spans, as far as there are any."""

    motion: Samples
    low_pass: LowPass
    factor: int
    lead: int = 0
    trail: int = 0

    def samples(self) -> Samples:
        return self.motion

    def filtered(self, x: np.ndarray) -> np.ndarray:
        return self.low_pass.decimated(x, self.factor, lead=self.lead, trail=self.trail)


def pieces(signals: Signals, blocks: int | None = None, first: int = 0) -> Iterator[tuple[int, Stretch]]:
    """(block, piece) of a whole log: blocks of equal length, never across the end of a segment.

    Args:
        blocks: about how many; by default 40, or as many as have half a second each.
        first: number of the first.
    """
    total = signals.decimated_segments[-1].stop
    most = int(total * signals.factor / signals.rate / BLOCK)
    size = -(-total // (blocks or max(2, min(BLOCKS, most))))
    strip = max(1, STRIP // signals.factor)
    block = first
    for k, segment in enumerate(signals.segments):
        centres = signals.centres(k)
        cuts = np.linspace(0, len(centres), max(1, round(len(centres) / size)) + 1).astype(int)
        for a, b in pairwise(cuts):
            for start in range(a, b, strip):
                inside, ends = reached(centres[start : min(start + strip, b)], signals.low_pass.half, segment)
                motion = Samples(signals.q[inside], signals.qd[inside], signals.qdd[inside], signals.tau_raw[inside])
                yield block, Stretch(motion, signals.low_pass, signals.factor, **ends)
            block += 1


def streamed(chunks: Iterable[Signals]) -> Iterator[tuple[int, Stretch]]:
    """The same for a log that comes in chunks (`qddot.identify.signals.stream`). None of its blocks lies in two of them."""
    first = 0
    for signals in chunks:
        block = first
        for block, piece in pieces(signals, first=first):
            yield block, piece
        first = block + 1
