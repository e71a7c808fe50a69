"""A log in memory, or one that is too large for it: either way some parts, one after the other, as often as they are needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from qddot.errors import InputError
from qddot.identify.regression.filter_choice import Velocity
from qddot.identify.regression.motion_summary import Gathered, MotionSummary
from qddot.identify.regression.signals import Signals, prepare
from qddot.identify.regression.stream import stream
from qddot.logs.audit import Audit, audit
from qddot.logs.log import Chunks, Log, concatenated
from qddot.logs.log_summary import LogSummary
from qddot.logs.readers import Source
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import MOTION_PARTS, MOVES, POSSIBLE_TORQUES

Recorded = Log | Chunks | Source | Iterable[Source] | Sequence[Log]
"""What can be identified from: logs, names of files, or `Log.chunks(...)` where a file needs explaining."""


@dataclass(frozen=True, eq=False)
class Record:
    """A recording through the filter."""

    robot: Robot  # whose joints they are, in its order
    log: Log  # all of it; of one that is streamed, the chunk that moves most, from which everything is chosen
    signals: Signals  # the same, prepared
    summary: LogSummary  # what all of it goes through
    chunks: Chunks | None  # where all of it comes from; None if `log` is all
    _motion: list[MotionSummary] = field(default_factory=list)

    @staticmethod
    def of(robot: Robot, given: Recorded, cutoff: float | None, velocity: Velocity | None = None) -> Record:
        """Read what there is, as long as that is little; else look through it once for the chunk that moves most."""
        given = together(robot, given)
        if isinstance(given, Log):
            return in_memory(robot, given, cutoff, velocity)
        chunks = given if isinstance(given, Chunks) else Log.chunks(given, robot)
        chunks = replace(chunks, robot=robot) if chunks.robot is None else chunks
        log = chunks.whole()
        if log is not None:
            return in_memory(robot, log, cutoff, velocity)
        parts = iter(filled(of_robot(chunks, robot), chunks.rows))
        found = next(parts)  # a file without samples was refused
        most, summary = motion_in(found), LogSummary.of(found)
        for part in parts:
            summary += LogSummary.of(part)
            if (moves := motion_in(part)) > most:
                found, most = part, moves
        refuse_no_torques(found)
        return Record(robot, found, prepare(found, cutoff, velocity=velocity), summary, chunks)

    @property
    def streamed(self) -> bool:
        return self.chunks is not None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the log, and choices made for it."""
        found = (*self.summary.findings, *self.signals.findings)
        if self.chunks is None:
            return found
        message = f"{self.chunks.rows} samples at a time; what is chosen is from those that move most, at t = {self.log.t[0]:.4g} s"
        return (*found, Finding("found", "streamed", message))

    def parts(self) -> Iterable[Signals]:
        """The whole recording, part by part."""
        return [self.signals] if self.chunks is None else self._streamed(self.chunks)

    def _streamed(self, chunks: Chunks) -> Iterator[Signals]:
        """Yield the parts; whoever goes through all of them first gathers the motion on the way."""
        gathered = None if self._motion else Gathered(self.signals)
        for part in stream(of_robot(chunks, self.robot), self.signals.cutoff, velocity=self.signals.velocity):
            if gathered is not None:
                gathered.add(part)
            yield part
        if gathered is not None:
            self._motion.append(gathered.summary())

    @property
    def motion(self) -> MotionSummary:
        """The motion as a whole."""
        return self._motion[0] if self._motion else MotionSummary.of(self.parts(), self.signals)

    def audit(self) -> Audit:
        """Audit all of the recording; slopes over velocities and gravity, and spikes, are those of the chunk that moves most."""
        found, prepared = audit(self.log, self.robot, self.summary), self.signals.findings
        return replace(found, findings=(*found.findings, *(finding for finding in prepared if finding.serious)))


def together(robot: Robot, given: Recorded) -> Log | Chunks | Source | Iterable[Source]:
    """Several logs as one; everything else as it is."""
    if isinstance(given, Sequence):
        logs = [one for one in given if isinstance(one, Log)]
        if logs and len(logs) == len(given):
            return concatenated([one.of(robot) for one in logs])
    return given  # type: ignore[return-value]  # no list of logs


def in_memory(robot: Robot, log: Log, cutoff: float | None, velocity: Velocity | None) -> Record:
    log = log.of(robot)
    refuse_no_torques(log)
    return Record(robot, log, prepare(log, cutoff, velocity=velocity), LogSummary.of(log), None)


def refuse_no_torques(log: Log) -> None:
    """Torques whose squares are no numbers, or nothing beside those of other joints, are of no drive."""
    for name, largest in zip(log.joint_names, np.abs(log.tau).max(axis=0)):
        if largest and not POSSIBLE_TORQUES[0] < largest < POSSIBLE_TORQUES[1]:
            raise InputError(f"the largest torque of {name} is {largest:.3g} N m or N: no drive's. Was the right column read?")


def of_robot(chunks: Iterable[Log], robot: Robot) -> Iterator[Log]:
    """Chunks with the robot's joints only, in its order."""
    return (chunk.of(robot) for chunk in chunks)


def filled(chunks: Iterable[Log], rows: int) -> Iterator[Log]:
    """Yield the samples, `rows` of them together where files are shorter."""
    held: list[Log] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(map(len, held)) >= rows:
            yield concatenated(held)
            held = []
    if held:
        yield concatenated(held)


def motion_in(log: Log) -> int:
    """Number of samples in which joints move, summed over the joints; tenth by tenth."""
    return sum(len(part) * int(np.sum(np.ptp(part, axis=0) > MOVES)) for part in np.array_split(log.q, MOTION_PARTS) if len(part))
