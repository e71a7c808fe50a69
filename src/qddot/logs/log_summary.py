"""Summary of a recording: extremes and counts, which can be combined over its chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qddot.logs.continuity import Continuity, repeats
from qddot.logs.stops import Stops, longest_run
from qddot.logs.table import Finding
from qddot.thresholds import HALF_SAMPLE, LATE_STAMPS, SAME_TORQUE

if TYPE_CHECKING:
    from qddot.logs.log import Log


@dataclass(frozen=True, eq=False)
class Range:
    """Smallest and largest value of each channel (n,)."""

    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def of(x: np.ndarray) -> Range:
        """Return the range of signals (N, n)."""
        return Range(x.min(axis=0), x.max(axis=0))

    def __add__(self, other: Range) -> Range:
        return Range(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    @property
    def reach(self) -> np.ndarray:
        """Difference of the largest and the smallest value of each channel (n,)."""
        return self.high - self.low

    @property
    def size(self) -> np.ndarray:
        """Largest absolute value of each channel (n,)."""
        return np.maximum(self.high, -self.low)


@dataclass(frozen=True, eq=False)
class Steps:
    """Statistics of the time steps, in units of the usual step of their segment."""

    count: int  # number of steps that are not gaps
    squares: float  # sum of the squares of their differences from 1
    farthest: float  # the largest difference from 1
    missing: int  # number of samples lost within segments
    places: int  # number of gaps in which they were lost
    rates: tuple[float, float]  # lowest and highest rate of a segment, Hz
    seconds: float  # duration of the steps that are not gaps, for the mean rate

    @staticmethod
    def of(log: Log) -> Steps | None:
        """Return the statistics of a log; None if no segment has three samples."""
        parts = [np.diff(log.t[s]) for s in log.segments if s.stop - s.start > 2]
        if not parts:
            return None
        rates = [1 / usual_step(part) for part in parts]
        steps = np.concatenate([part * rate for part, rate in zip(parts, rates)])
        lost = np.concatenate([lost_in(part * rate) for part, rate in zip(parts, rates)])
        even = steps[lost == 0]
        return Steps(
            count=len(even),
            squares=float(np.sum((even - 1) ** 2)),
            farthest=float(np.abs(steps - 1).max()),
            missing=int(lost.sum()),
            places=int(np.count_nonzero(lost)),
            rates=(min(rates), max(rates)),
            seconds=len(even) / log.rate,
        )

    def __add__(self, other: Steps) -> Steps:
        return Steps(
            count=self.count + other.count,
            squares=self.squares + other.squares,
            farthest=max(self.farthest, other.farthest),
            missing=self.missing + other.missing,
            places=self.places + other.places,
            rates=(min(self.rates[0], other.rates[0]), max(self.rates[1], other.rates[1])),
            seconds=self.seconds + other.seconds,
        )

    @property
    def rate(self) -> float:
        """Mean rate in samples per second, without pauses and lost samples."""
        return self.count / self.seconds

    @property
    def jitter(self) -> float:
        """RMS deviation from even steps, in steps."""
        return float(np.sqrt(self.squares / self.count))


def lasting(seconds: float) -> str:
    """Return a duration as text, without powers of ten: `0.628 s`, `14,400 s`."""
    return f"{seconds:.4g} s" if seconds < 1000 else f"{seconds:,.0f} s"


def usual_step(steps: np.ndarray) -> float:
    """Return the mean step, without those in which samples were lost."""
    if steps.max() < (1 + HALF_SAMPLE) * steps.min():  # no sample is lost; a median would take longer
        return float(steps.mean())
    usual = np.median(steps)
    near = (steps > HALF_SAMPLE * usual) & (steps < (1 + HALF_SAMPLE) * usual)
    lost = lost_in(steps / steps[near].mean()).sum() if near.mean() > HALF_SAMPLE else len(steps)
    believable = lost < len(steps)  # else stamps tell of the logger, not of the samples
    return float(steps.sum() / (len(steps) + (lost if believable else 0)))


def lost_in(steps: np.ndarray) -> np.ndarray:
    """Return the number of samples lost in each of a segment's time steps (k,), in units of the usual one. After a stamp that is
    merely late the next ones come early."""
    found, long = np.zeros(len(steps)), np.flatnonzero(steps > 1 + HALF_SAMPLE)
    late, near = np.cumsum(np.append(0.0, steps - 1)), np.arange(LATE_STAMPS)
    before, after = (np.median(late[np.clip(at, 0, len(steps))], axis=1) for at in (long[:, None] - near, long[:, None] + 1 + near))
    found[long] = np.clip(np.round(after - before), 0, np.round(steps[long]) - 1)
    return found


@dataclass(frozen=True, eq=False)
class LogSummary:
    """Extremes and counts of a log. The sum of the summaries of its chunks is the summary of the whole log."""

    # ranges; None for velocities that the log does not have
    q: Range
    tau: Range
    qd: Range | None
    steps: Steps | None  # None if there are too few samples
    samples: int
    repeats: np.ndarray  # number of steps in which each torque (n,) stays exactly the same
    stuck: np.ndarray  # longest run of samples (n,) in which each torque rests at its largest value
    stops: Stops  # torques that rest at an extreme value while the arm moves
    continuity: Continuity  # samples that are missing, frozen or displaced
    findings: tuple[Finding, ...]  # findings of the readers of the files

    @staticmethod
    def of(log: Log) -> LogSummary:
        """Return the summary of a log, or of a chunk of one."""
        tau = Range.of(log.tau)
        least = np.where(tau.size > 0, tau.size * (1 - SAME_TORQUE), np.inf)
        return LogSummary(
            q=Range.of(log.q),
            tau=tau,
            qd=None if log.qd is None else Range.of(log.qd),
            steps=Steps.of(log),
            samples=len(log),
            repeats=repeats(log.tau),
            stuck=np.array([longest_run((x >= high) | (x <= -high)) for x, high in zip(log.tau.T, least)]),
            stops=Stops.of(log),
            continuity=Continuity.of(log),
            findings=log.findings,
        )

    def __add__(self, other: LogSummary) -> LogSummary:
        least = np.maximum(self.tau.size, other.tau.size) * (1 - SAME_TORQUE)
        return LogSummary(
            q=self.q + other.q,
            tau=self.tau + other.tau,
            qd=self.qd + other.qd if self.qd is not None and other.qd is not None else None,
            steps=self.steps + other.steps if self.steps and other.steps else self.steps or other.steps,
            samples=self.samples + other.samples,
            repeats=self.repeats + other.repeats,
            stuck=np.max([np.where(one.tau.size >= least, one.stuck, 0) for one in (self, other)], axis=0),
            stops=self.stops + other.stops,
            continuity=self.continuity + other.continuity,
            findings=tuple(dict.fromkeys((*self.findings, *other.findings))),
        )
