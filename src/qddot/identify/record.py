"""A log in memory, or one that is too large for it: either way some parts, one after the other, as often as they are needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from qddot.identify.log import Chunks, Log
from qddot.identify.readers import Source
from qddot.identify.signals import Signals, prepare, stream
from qddot.identify.table import Finding
from qddot.robot import Robot

Recorded = Log | Chunks | Source | Iterable[Source]
"""What can be identified from: a log, the name of a file or several, or `Log.chunks(...)` where a file needs explaining."""


@dataclass(frozen=True, eq=False)
class Record:
    """A recording through the filter.

    Attributes:
        log: all of it; of one that is streamed, the first chunk, from which everything is decided.
        first: the same, prepared.
        chunks: where the rest comes from; None if there is no more.
    """

    log: Log
    first: Signals
    chunks: Chunks | None

    @staticmethod
    def of(robot: Robot, given: Recorded, cutoff: float | None) -> Record:
        """Read what there is, as long as that is little; else only the first chunk."""
        if isinstance(given, Log):
            log, chunks = given, None
        else:
            chunks = replace(given, robot=given.robot or robot) if isinstance(given, Chunks) else Log.chunks(given, robot)
            log = chunks.whole()
            log, chunks = (log, None) if log is not None else (next(iter(chunks)), chunks)
        log = log.of(robot)
        return Record(log, prepare(log, cutoff), chunks)

    @property
    def streamed(self) -> bool:
        return self.chunks is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found and chosen."""
        found = (*self.log.findings, *self.first.findings)
        if self.chunks is None:
            return found
        return (*found, Finding("found", "streamed", f"{self.chunks.rows} samples at a time; what is chosen is from the first"))

    def parts(self) -> Iterable[Signals]:
        """The whole recording, part by part."""
        if self.chunks is None:
            return [self.first]
        return stream(self.chunks, self.first.cutoff, velocity=self.first.velocity)
