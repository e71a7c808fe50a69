"""A recorded motion: joint positions and torques over time, in SI units and the robot's joint order."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Unpack

import numpy as np

from qddot.arguments import finite_number, real_array
from qddot.errors import InputError
from qddot.files import LOG_BYTES
from qddot.logs.audit import Audit, audit
from qddot.logs.channels import is_kept, kept
from qddot.logs.column_names import number_of, places
from qddot.logs.convert import Options, Reading
from qddot.logs.kept_tables import Kept
from qddot.logs.log_summary import usual_step
from qddot.logs.readers import Source, read
from qddot.logs.resample import resampled
from qddot.logs.table import Finding, Table, joined
from qddot.thresholds import GAP, ROWS_AT_ONCE, SHORTEST_STEP

if TYPE_CHECKING:
    from qddot.robot import Robot


OF_JOINTS = ("q", "tau", "qd", "qdd", "temperature")
"""Arrays of a log with a column for each joint."""


@dataclass(frozen=True, eq=False)
class Log:
    """Samples of a robot in motion.

    Attributes:
        t: times (N,), s; increasing within each segment.
        q: joint positions (N, n), rad or m.
        tau: joint torques (N, n), N m or N.
        qd, qdd: measured velocities and accelerations (N, n), where the file has them.
        joint_names: one per column.
        segments: stretches recorded without a pause, by default as the times say; nothing is filtered or differentiated across
            their ends.
        findings: notes and warnings from reading the file.
        recordings: the file name of the recording that each segment comes from; empty: all come from one.
        temperature: joint temperatures (N, n), degrees C, where the file has them.

    >>> t = np.linspace(0, 1, 101)
    >>> log = qddot.logs.Log(t, q=np.column_stack([np.sin(t), np.cos(t)]), tau=np.zeros((101, 2)))
    >>> log.n, len(log), round(log.rate), log.duration
    (2, 101, 100, 1.0)
    >>> first, last = log.split(0.7)
    >>> len(first), len(log.resampled(50.0))
    (71, 35)
    """

    t: np.ndarray
    q: np.ndarray
    tau: np.ndarray
    qd: np.ndarray | None = None
    qdd: np.ndarray | None = None
    joint_names: tuple[str, ...] = ()
    segments: tuple[slice, ...] = ()
    findings: tuple[Finding, ...] = ()
    recordings: tuple[str, ...] = ()
    temperature: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("t", *OF_JOINTS):
            value = getattr(self, name)
            if value is not None or name in ("t", "q", "tau"):
                object.__setattr__(self, name, value if is_kept(value) else kept(real_array(name, value)))
        self._check()
        if not self.joint_names:
            object.__setattr__(self, "joint_names", tuple(f"joint{i + 1}" for i in range(self.n)))
        if not self.segments:
            object.__setattr__(self, "segments", between_pauses(self.t))
        if len(self.recordings) != len(self.segments):
            object.__setattr__(self, "recordings", (*self.recordings, "")[:1] * len(self.segments))

    def _check(self) -> None:
        """Raise InputError: wrong shapes, numbers that are not finite, times that do not increase."""
        if self.t.ndim != 1 or self.q.ndim != 2 or len(self.q) != len(self.t) or not len(self.t):
            raise InputError(f"a log is t (N,) with q and tau (N, n); here t {self.t.shape}, q {self.q.shape}")
        if self.joint_names and len(self.joint_names) != self.n:
            raise InputError(f"{len(self.joint_names)} joint names for {self.n} columns")
        for name in ("t", *OF_JOINTS):
            value = getattr(self, name)
            if value is None:
                continue
            if name != "t" and value.shape != self.q.shape:
                raise InputError(f"{name} has shape {value.shape}, q {self.q.shape}")
            if not np.isfinite(value).all():
                row = int(np.argwhere(~np.isfinite(value))[0][0])
                raise InputError(f"row {row + 1}: {name} is not finite")
        for part in self.segments or (slice(0, len(self.t)),):
            steps = np.diff(self.t[part])
            if (steps <= 0).any():
                row = part.start + int(np.argmax(steps <= 0)) + 1
                raise InputError(f"row {row + 1}: t not increasing: {self.t[row]:g} after {self.t[row - 1]:g}")
            if (steps < SHORTEST_STEP).any():  # the rate would be infinite
                raise InputError(f"t has steps of {steps.min():.3g} s: give times in seconds")

    @staticmethod
    def load(source: Source | Iterable[Source], robot: Robot | None = None, **options: Unpack[Options]) -> Log:
        """Read a recording: CSV, NPZ, MAT, HDF5, Parquet, Feather, MCAP, rosbag2.

        Several files are several segments of one experiment; a mapping `{"q": "positions.csv", "tau": "currents.csv"}` is one
        recording in several files, row beside row. Column names and units that are not given are guessed; `log.findings` and
        `print(log.audit())` say how. Decisions made for the first file hold for all.

        Args:
            source: a path, a mapping, or several of them.
            robot: gives joint names, their order and limits.
            options: what the file does not say: see `Options`.

        Raises:
            InputError: a row that is no sample (NaN, text, a formula, too few columns, time that does not increase), with its
                number; columns or units that cannot be told.

        >>> qddot.load("two_link").simulate([0, 0], t=1.0).to_csv("run.csv")
        >>> qddot.logs.Log.load("run.csv")
        Log(1001 samples of q, qd, qdd, tau, 2 joints, 1000 Hz, 1 s)
        """
        reading = Reading(robot, options)
        return of_files(reading, (within_memory(read(one, ROWS_AT_ONCE, reading.hints)) for one in listed(source)))

    @staticmethod
    def chunks(
        source: Source | Iterable[Source], robot: Robot | None = None, *, rows: int = ROWS_AT_ONCE, **options: Unpack[Options]
    ) -> Chunks:
        """Read a recording `rows` at a time and in constant memory (MAT files excepted). Units are decided from the first chunk.

        >>> qddot.load("two_link").simulate([0, 0], t=1.0).to_csv("run.csv")
        >>> sum(len(log) for log in qddot.logs.Log.chunks("run.csv"))
        1001
        """
        return Chunks(tuple(listed(source)), robot, rows, options)

    @staticmethod
    def from_table(reading: Reading, table: Table) -> Log:
        """Return a table as a log in SI units, with a segment for each stretch without a pause."""
        arrays, findings = reading.converted(table)
        t, parts = arrays["t"], between_pauses(arrays["t"])
        for before in parts[:-1][:10]:
            pause = f"{t[before.stop] - t[before.stop - 1]:.4g} s without samples at t = {t[before.stop - 1]:.4g} s"
            findings.append(Finding("warning", "gap", f"{table.file}: {pause}: a new segment begins"))
        if len(parts) > 11:
            findings.append(Finding("warning", "gap", f"{table.file}: {len(parts) - 11} more such gaps"))
        names = (PurePath(table.file).name,) * len(parts)
        arrays = {name: kept(array) for name, array in arrays.items()}
        return Log(**arrays, joint_names=reading.joint_names, segments=parts, findings=tuple(findings), recordings=names)

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        for array in (state[name] for name in ("t", *OF_JOINTS)):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)  # a pickle does not store this flag

    def of(self, robot: Robot) -> Log:
        """Return the log with the robot's joints only, in the robot's order: by name if both have names; see `findings`.

        Raises:
            InputError: joints of the robot that the log does not have.

        >>> t = np.linspace(0, 1, 101)
        >>> log = qddot.logs.Log(t, q=np.zeros((101, 2)), tau=np.zeros((101, 2)), joint_names=["joint2", "joint1"])
        >>> log.of(qddot.load("two_link")).joint_names  # in the robot's order
        ('joint1', 'joint2')
        """
        if self.joint_names == robot.joint_names:
            return self
        at = places(self.joint_names, robot.joint_names)
        known = [i for i in at if i is not None]
        numbered = all(number_of(name) is not None for name in self.joint_names)
        theirs = f"{robot.name} has {robot.nv}, {', '.join(robot.joint_names)}"
        both = f"the log has {self.n} joints, {', '.join(self.joint_names)}; {theirs}"
        if len(known) == len(at) and (self.n == robot.nv or not numbered):
            arrays = {name: value[:, known] for name in OF_JOINTS if (value := getattr(self, name)) is not None}
            found = Finding("found", "joints", f"columns of {', '.join(self.joint_names)}; put in the robot's order, by name")
        elif known or self.n != robot.nv:
            raise InputError(f"the log does not have the robot's joints: {both}")
        else:
            arrays, found = {}, Finding("assumed" if numbered else "warning", "joints", f"taken in the robot's order: {both}")
        findings = self.findings if known == list(range(self.n)) else tuple(dict.fromkeys((*self.findings, found)))
        return dataclasses.replace(self, **arrays, joint_names=robot.joint_names, findings=findings)

    # size and content -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.t)

    @property
    def n(self) -> int:
        """Number of joints."""
        return self.q.shape[1]

    @cached_property
    def rate(self) -> float:
        """Samples a second: one over the mean step, pauses and lost samples left out."""
        steps = np.concatenate([np.diff(self.t[s]) for s in self.segments])
        if not len(steps):
            raise InputError("a single sample has no rate")
        return 1 / usual_step(steps)

    @property
    def duration(self) -> float:
        """Recorded time in seconds, pauses left out."""
        return float(sum(self.t[s][-1] - self.t[s][0] for s in self.segments))

    def __repr__(self) -> str:
        has = ", ".join(name for name in ("q", "qd", "qdd", "tau", "temperature") if getattr(self, name) is not None)
        rate = f"{self.rate:.4g} Hz, " if len(self) > len(self.segments) else ""
        parts = f", {len(self.segments)} segments" if len(self.segments) > 1 else ""
        return f"Log({len(self)} samples of {has}, {self.n} joints, {rate}{self.duration:.4g} s{parts})"

    def audit(self, robot: Robot | None = None) -> Audit:
        """Check rates, jitter, gaps, dead channels, saturation, consistency; with a robot also limits, units and gravity.

        >>> t = np.linspace(0, 1, 101)
        >>> log = qddot.logs.Log(t, q=np.zeros((101, 2)), tau=np.zeros((101, 2)))
        >>> print(log.audit())
        Log(101 samples of q, tau, 2 joints, 100 Hz, 1 s)
          found     rate       100 Hz; even steps
          warning   still      joint1 moves by 0 rad only: what its motion would show stays unknown
          warning   constant   tau of joint1 is 0 throughout
          warning   still      joint2 moves by 0 rad only: what its motion would show stays unknown
          warning   constant   tau of joint2 is 0 throughout
        """
        return audit(self, robot)

    # parts and wholes -------------------------------------------------------------------------------------------------

    def __getitem__(self, rows: slice) -> Log:
        """Return consecutive samples `log[a:b]`."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise InputError("a log is cut by log[a:b], samples in sequence (resampled(rate) thins it out)")
        start, stop, _ = rows.indices(len(self))
        parts, names = [], []
        for segment, name in zip(self.segments, self.recordings):
            a, b = max(segment.start, start), min(segment.stop, stop)
            if b > a:
                parts.append(slice(a - start, b - start))
                names.append(name)
        arrays = {name: value[start:stop] for name in ("t", *OF_JOINTS) if (value := getattr(self, name)) is not None}
        return dataclasses.replace(self, **arrays, segments=tuple(parts), recordings=tuple(names))

    def split(self, fraction: float = 0.7) -> tuple[Log, Log]:
        """Return the first part, for the fit, and the rest, for validation; never shuffled, since neighbours are correlated."""
        if not 0 < finite_number("fraction", fraction) < 1:
            raise InputError(f"split({fraction}): a fraction between 0 and 1")
        at = round(fraction * len(self))
        return self[:at], self[at:]

    def __add__(self, other: Log) -> Log:
        """Return both logs as one experiment: segments one after the other."""
        return concatenated([self, other])

    def resampled(self, rate: float) -> Log:
        """Return the motion at `rate` samples a second: low-passed where it gets slower, cubic splines between samples."""
        return resampled(self, rate)


def between_pauses(t: np.ndarray) -> tuple[slice, ...]:
    """Return the stretches of times (N,) without a pause."""
    steps = np.diff(t)
    if not len(steps) or steps.max() <= GAP * steps.min():  # the median is slow
        return (slice(0, len(t)),)
    cuts = np.flatnonzero(steps > GAP * np.median(steps)) + 1
    return tuple(slice(a, b) for a, b in pairwise([0, *cuts.tolist(), len(t)]))


def within_memory(tables: Iterator[Table]) -> Iterator[Table]:
    """Yield the blocks of a recording that is kept in memory as a whole.

    Raises:
        InputError: the recording is too large for that.
    """
    size = 0
    for table in tables:
        size += sum(column.nbytes for column in table.columns.values())
        if rule := LOG_BYTES.over("size in memory", size):
            raise InputError(f"{table.file}: {rule}, or read it piece by piece: Log.chunks, robot.identify(path)")
        yield table


@dataclass(frozen=True)
class Chunks:
    """A recording that is read `rows` at a time whenever it is iterated over, and parsed the first time only.

    >>> qddot.load("two_link").simulate([0, 0], t=1.0).to_csv("run.csv")
    >>> chunks = qddot.logs.Log.chunks("run.csv")
    >>> len(chunks.whole())  # short enough to be read at once
    1001
    """

    source: tuple[Source, ...]
    robot: Robot | None
    rows: int
    options: Options

    @cached_property
    def _tables(self) -> list[Kept[Table]]:
        """The tables of each file, cached as they are read."""
        hints = Reading(self.robot, self.options).hints
        return [Kept(read(one, self.rows, hints)) for one in self.source]

    @cached_property
    def _logs(self) -> Kept[Log]:
        return Kept(self._converted())

    def _converted(self) -> Iterator[Log]:
        """Yield the tables as logs in SI units. Only tables read by `_is_short` are cached, unless the recording is short."""
        reading = Reading(self.robot, self.options)
        short = self._is_short
        for tables in self._tables:
            for table in tables if short else tables.for_the_last_time():
                yield Log.from_table(reading, table)
            reading.new_file()

    def __iter__(self) -> Iterator[Log]:
        return iter(self._logs)

    @cached_property
    def _is_short(self) -> bool:
        """True if the whole log fits into one chunk."""
        return all(rows <= self.rows for rows in accumulate(map(len, chain.from_iterable(self._tables))))

    def whole(self) -> Log | None:
        """Return the whole log if it fits into one chunk, else None."""
        return of_files(Reading(self.robot, self.options), self._tables) if self._is_short else None


def of_files(reading: Reading, files: Iterable[Iterable[Table]]) -> Log:
    """Return one log of all files, each given as its tables."""
    pieces = []
    for tables in files:
        pieces.append(Log.from_table(reading, joined(list(tables))))
        reading.new_file()
    return concatenated(pieces)


def listed(source: Source | Iterable[Source]) -> list[Source]:
    """Return one source, or several, as a list."""
    if isinstance(source, str | bytes | PathLike | Mapping | np.ndarray) or not isinstance(source, Iterable):
        return [source]  # type: ignore[list-item]
    several = list(source)
    if not several:
        raise InputError("no files: the list of paths is empty")
    return several


def concatenated(logs: Sequence[Log]) -> Log:
    """Return several logs of one robot as one log, segments one after the other."""
    if not logs:
        raise InputError("no log")
    first = logs[0]
    for log in logs:
        if log.n != first.n or log.joint_names != first.joint_names:
            raise InputError(f"logs of different joints: {', '.join(first.joint_names)} and {', '.join(log.joint_names)}")
    if len(logs) == 1:
        return first
    values = {name: [getattr(log, name) for log in logs] for name in ("t", *OF_JOINTS)}
    arrays = {name: kept(np.concatenate(each)) for name, each in values.items() if all(value is not None for value in each)}
    parts, start = [], 0
    for log in logs:
        parts += [slice(s.start + start, s.stop + start) for s in log.segments]
        start += len(log)
    findings = dict.fromkeys(finding for log in logs for finding in log.findings)
    names = recording_names(logs)
    return Log(**arrays, joint_names=first.joint_names, segments=tuple(parts), findings=tuple(findings), recordings=names)


def recording_names(logs: Sequence[Log]) -> tuple[str, ...]:
    """Return the recording name of each segment of several logs; unnamed recordings and repeated names get a number."""
    found: list[str] = []
    for k, log in enumerate(logs, start=1):
        own = {name: name or f"log {k}" for name in log.recordings}
        found += [own[name] if own[name] not in found else f"{own[name]} ({k})" for name in log.recordings]
    return tuple(found)
