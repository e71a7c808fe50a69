"""A recording to identify from, in memory or streamed from files: either way a sequence of parts that can be read repeatedly."""

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
from qddot.logs.log_summary import LogSummary, lasting
from qddot.logs.readers import Source
from qddot.logs.stamps import steadied
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import MOTION_PARTS, MOVES, POSSIBLE_TORQUES

Recorded = Log | Chunks | Source | Iterable[Source] | Sequence[Log]
"""The accepted recordings: logs, names of files, or `Log.chunks(...)` where columns and units have to be told."""


@dataclass(frozen=True, eq=False)
class Record:
    """A recording and its filtered signals."""

    robot: Robot  # whose joints the log has, in its order
    log: Log  # the whole log; of a streamed one the chunk with the most motion, from which filter and options are chosen
    signals: Signals  # `log`, filtered
    summary: LogSummary  # ranges and counts of the whole recording
    chunks: Chunks | None  # source of a streamed recording; None if `log` is all
    _motion: list[MotionSummary] = field(default_factory=list)

    @staticmethod
    def of(robot: Robot, given: Recorded, cutoff: float | None, velocity: Velocity | None = None) -> Record:
        """Read a recording that fits into memory; go through a larger one once, to find the chunk with the most motion."""
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
        found = steadied(found)
        return Record(robot, found, prepare(found, cutoff, velocity=velocity), summary, chunks)

    @property
    def streamed(self) -> bool:
        return self.chunks is not None

    def aligned(self, delay: float) -> Record:
        """The recording with positions of so many seconds earlier, for torques that came so much later."""
        if delay == self.signals.delay:
            return self
        motion = prepare(self.log, self.signals.cutoff, velocity=self.signals.velocity, delay=delay)
        signals = replace(motion, tau_raw=self.signals.tau_raw, findings=self.signals.findings)
        return replace(self, signals=signals, _motion=[])

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about the log, its size first, and the choices made for its filter."""
        own = dict.fromkeys((*self.summary.findings, *self.signals.findings))  # stamps may have been evened out before
        found = (Finding("found", "log", self.size), *own)
        if self.chunks is None:
            return found
        message = f"{self.chunks.rows} samples at a time; what is chosen is from those that move most, at t = {self.log.t[0]:.4g} s"
        return (*found, Finding("found", "streamed", message))

    @property
    def size(self) -> str:
        """Files, samples and duration of the whole recording, as one text."""
        files = ", ".join(dict.fromkeys(filter(None, self.log.recordings))) if self.chunks is None else ""
        steps, samples = self.summary.steps, f"{self.summary.samples:,} samples"
        size = f"{samples} at {steps.rate:.4g} Hz, {lasting(steps.seconds)}" if steps else samples
        return f"{files}: {size}" if files else size

    def parts(self) -> Iterable[Signals]:
        """The whole recording, part by part."""
        return [self.signals] if self.chunks is None else self._streamed(self.chunks)

    def _streamed(self, chunks: Chunks) -> Iterator[Signals]:
        """Yield the parts. The first complete pass also gathers the motion summary."""
        gathered = None if self._motion else Gathered(self.signals)
        signals = self.signals
        for part in stream(of_robot(chunks, self.robot), signals.cutoff, velocity=signals.velocity, delay=signals.delay):
            if gathered is not None:
                gathered.add(part)
            yield part
        if gathered is not None:
            self._motion.append(gathered.summary())

    @property
    def motion(self) -> MotionSummary:
        """Summary of the motion of the whole recording."""
        return self._motion[0] if self._motion else MotionSummary.of(self.parts(), self.signals)

    def audit(self) -> Audit:
        """Audit the whole recording; slopes over velocity and gravity, and spikes, are those of the chunk with the most motion."""
        found, prepared = audit(self.log, self.robot, self.summary), self.signals.findings
        return replace(found, findings=(*found.findings, *(finding for finding in prepared if finding.serious)))


def together(robot: Robot, given: Recorded) -> Log | Chunks | Source | Iterable[Source]:
    """Join a sequence of logs into one; return anything else unchanged."""
    if isinstance(given, Sequence):
        logs = [one for one in given if isinstance(one, Log)]
        if logs and len(logs) == len(given):
            return concatenated([one.of(robot) for one in logs])
    return given  # type: ignore[return-value]  # no list of logs


def whole(robot: Robot, given: Recorded) -> Log:
    """Return a recording as one log in memory, with the robot's joints in its order. Raises InputError: other joints, no recording,
    or one that does not fit into memory."""
    given = together(robot, given)
    if isinstance(given, Chunks):
        log = given.whole()
        if log is None:
            raise InputError("the whole log is needed here, but it is read piece by piece: give a part of it, Log.load(...)[a:b]")
    else:
        log = given if isinstance(given, Log) else Log.load(given, robot)
    return steadied(log.of(robot))


def in_memory(robot: Robot, log: Log, cutoff: float | None, velocity: Velocity | None) -> Record:
    log = log.of(robot)
    refuse_no_torques(log)
    log = steadied(log)
    return Record(robot, log, prepare(log, cutoff, velocity=velocity), LogSummary.of(log), None)


def refuse_no_torques(log: Log) -> None:
    """Refuse torques that no drive has, whose squares would overflow, or vanish beside those of other joints."""
    for name, largest in zip(log.joint_names, np.abs(log.tau).max(axis=0)):
        if largest and not POSSIBLE_TORQUES[0] < largest < POSSIBLE_TORQUES[1]:
            raise InputError(f"the largest torque of {name} is {largest:.3g} N m or N: no drive's. Was the right column read?")


def of_robot(chunks: Iterable[Log], robot: Robot) -> Iterator[Log]:
    """Yield the chunks with the robot's joints only, in its order."""
    return (chunk.of(robot) for chunk in chunks)


def filled(chunks: Iterable[Log], rows: int) -> Iterator[Log]:
    """Join short chunks until each has at least `rows` samples."""
    held: list[Log] = []
    for chunk in chunks:
        held.append(chunk)
        if sum(map(len, held)) >= rows:
            yield concatenated(held)
            held = []
    if held:
        yield concatenated(held)


def motion_in(log: Log) -> int:
    """Number of samples in which joints move, summed over the joints; the log is split into tenths, each of which counts or not."""
    return sum(len(part) * int(np.sum(np.ptp(part, axis=0) > MOVES)) for part in np.array_split(log.q, MOTION_PARTS) if len(part))
