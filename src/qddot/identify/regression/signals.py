"""Filtered signals for the regressor: positions, their derivatives, and torques, all through one low-pass.

Positions are low-passed without phase shift and differentiated by the same kernel. The model's columns, computed from them, and the
measured torques then go through the low-pass together and are decimated (`Signals.decimated`): the filter acts alike on both
sides of `tau = Y pi`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Literal, get_args

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from qddot.arguments import finite_number, positive_number, word
from qddot.errors import InputError
from qddot.identify.regression.filter_choice import Velocity, chosen
from qddot.logs.log import Log
from qddot.logs.lowpass import LowPass, convolved, convolved_by
from qddot.logs.resample import Even, evened
from qddot.logs.spectrum import densities, noise_floor
from qddot.logs.spikes import Despiked, without_spikes
from qddot.logs.stamps import is_uniform, steadied
from qddot.logs.table import Finding
from qddot.thresholds import ALIGNED, HELD_KERNELS, HELD_SECONDS, HELD_TURN, HIGHEST_CUTOFF, NOISE_SAMPLES, PACE_REACH, SPIKE_SHARE


@dataclass(frozen=True, eq=False)
class Signals:
    """A prepared log, at the log's rate.

    Attributes:
        t: times (N,), s.
        q, qd, qdd: low-passed positions and their derivatives (N, n).
        tau_raw: torques as measured (N, n).
        rate: samples a second.
        cutoff: cut-off frequency of the low-pass, Hz.
        velocity: source of `qd` and `qdd`.
        segments: stretches without a pause.
        findings: the choices that were made, with reasons.
        recordings: name of the recording that each segment belongs to.
        goes_on: True where the record goes on before the first and after the last segment, as in chunks of a stream.
        thinned: number of the log's samples for one of these, in an excerpt whose torques were low-passed accordingly; else 1.
        delay: by how much later than positions torques came, s; `q`, `qd`, `qdd` are those of that much earlier.
        log_paces: `paces` (N, n) taken from the whole log, whose rests are longer than an excerpt's stretches; else None.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> signals = qddot.identify.prepare(log, cutoff=8.0)
    >>> signals.cutoff, signals.velocity
    (8.0, 'derivative')
    """

    t: np.ndarray
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    tau_raw: np.ndarray
    rate: float
    cutoff: float
    velocity: Velocity
    segments: tuple[slice, ...]
    findings: tuple[Finding, ...]
    recordings: tuple[str, ...] = ()
    goes_on: tuple[bool, bool] = (False, False)
    thinned: int = 1
    delay: float = 0.0
    log_paces: np.ndarray | None = None

    def __repr__(self) -> str:
        return f"Signals({len(self)} samples of {self.q.shape[1]} joints, {self.rate:.6g} Hz, low-passed at {self.cutoff:.3g} Hz)"

    def __len__(self) -> int:
        return len(self.t)

    @cached_property
    def elapsed(self) -> np.ndarray:
        """Times (N,), s, that increase throughout: a recording whose clock begins anew follows the one before it."""
        t = self.t.copy()
        for before, segment in pairwise(self.segments):
            if t[segment.start] <= t[before.stop - 1]:
                t[segment.start :] += t[before.stop - 1] - t[segment.start] + 1 / self.rate
        return t

    @cached_property
    def low_pass(self) -> LowPass:
        """The filter of the torques and of the model's columns."""
        return LowPass(self.rate, self.cutoff)

    @cached_property
    def tau(self) -> np.ndarray:
        """Low-passed torques (N, n), for plots; fits take `decimated(tau_raw)`."""
        return smoothed(self.tau_raw, self.low_pass, self.segments)

    @cached_property
    def noise(self) -> np.ndarray:
        """Rms white noise of the torques after the filter (n,), N m, from their spectrum at high frequencies."""
        return self.noise_of(self.tau_raw[self.middle])

    @property
    def middle(self) -> slice:
        """Enough samples of the longest segment for a spectrum."""
        longest = max(self.segments, key=lambda s: s.stop - s.start)
        middle, half = (longest.start + longest.stop) // 2, NOISE_SAMPLES // 2
        return slice(max(longest.start, middle - half), min(longest.stop, middle + half))

    def noise_of(self, tau: np.ndarray) -> np.ndarray:
        """Rms white noise (n,) that torques (N, n) at this rate have after the filter, from their spectrum at high frequencies."""
        density = noise_floor(*densities(tau, self.rate))
        return np.sqrt(density * self.rate / 2 * np.sum(self.low_pass.smooth**2))

    @property
    def factor(self) -> int:
        """Number of samples for one decimated sample."""
        return self.low_pass.factor

    def grid(self, k: int) -> range:
        """Indices of every `factor`-th sample of segment k, counted from its start."""
        return range(self.low_pass.half % self.factor, self.segments[k].stop - self.segments[k].start, self.factor)

    def centres(self, k: int) -> range:
        """Indices of the samples of segment k, counted from its start, on which the decimated ones are centred.

        They reach both ends of a record, since a start from rest, say, is seen nowhere else. Where the record goes on, they stop
        where the samples that `paces` needs would be missing, and leave the others to the next chunk.
        """
        grid, margin = self.grid(k), PACE_REACH * self.low_pass.rows
        before, after = self.goes_on[0] and k == 0, self.goes_on[1] and k == len(self.segments) - 1
        return grid[margin if before else 0 : len(grid) - margin if after else None]

    @cached_property
    def paces(self) -> np.ndarray:
        """Pace of each joint at each sample (N, n), rad/s or m/s: a speed that is small only if the joint rests for a while.

        It is four times the range of a joint's positions over the length of a kernel, for the slowest such stretch that contains
        the sample. A joint that takes this long to turn from a speed v to -v, evenly, covers a range of v times the length over 4.
        So a shorter turn has a higher pace, and noise of positions does not count as motion, as noise of speeds would. It is 0
        where a joint is held in place for part of a kernel, and covers less there than HELD_TURN of what it would in an even turn,
        and within half a kernel from there where it covers as little.
        """
        return self._at_samples(self._grid_paces) if self.log_paces is None else self.log_paces

    def moves(self, speeds: np.ndarray) -> np.ndarray:
        """Samples (N, n) at which joints are not as slow as these speeds (n,) for a kernel's length, see `paces`."""
        if self.log_paces is not None:
            return self.log_paces >= speeds
        return self._at_samples([slowest >= speeds for slowest in self._grid_paces])

    def _at_samples(self, on_grid: Iterable[np.ndarray]) -> np.ndarray:
        """Spread values on the grid of each segment over the samples (N, n), each the nearest."""
        found = []
        for k, (segment, values) in enumerate(zip(self.segments, on_grid)):
            found.append(values.T.take(self._nearest(k, np.arange(segment.stop - segment.start)), axis=1, mode="clip"))
        return np.concatenate(found, axis=1).T if len(found) > 1 else found[0].T

    def _nearest(self, k: int, samples: np.ndarray) -> np.ndarray:
        """For samples of segment k, counted from its start, the nearest of its grid."""
        return (samples - self.grid(k).start + self.factor // 2) // self.factor

    def paces_within(self, k: int, samples: slice) -> tuple[np.ndarray, int]:
        """Paces on that part of the grid (g, n) which is nearest to some samples of segment k, and by how many samples the first of
        these follows the first that is nearest to the same one."""
        first = samples.start - self.segments[k].start
        last = len(self._grid_paces[k]) - 1
        a, b = np.clip(self._nearest(k, np.array([first, samples.stop - 1 - self.segments[k].start])), 0, last).tolist()
        return self._grid_paces[k][a : b + 1], first - self.grid(k).start + self.factor // 2 - a * self.factor

    @cached_property
    def centre_paces(self) -> np.ndarray:
        """Pace of each joint at each decimated sample (M, n), rad/s or m/s, see `paces`."""
        about = []
        for k, slowest in enumerate(self._grid_paces):
            grid, centres = self.grid(k), self.centres(k)
            first = (centres.start - grid.start) // grid.step
            about.append(slowest[first : first + len(centres)])
        return np.concatenate(about)

    @cached_property
    def _grid_paces(self) -> list[np.ndarray]:
        """For each segment the paces at the samples of its grid."""
        rows, step, found = self.low_pass.rows, self.factor / self.rate, []
        few = min(max(1, round(HELD_KERNELS * rows), round(HELD_SECONDS / step / 2)), rows)
        for k, segment in enumerate(self.segments):
            q = self.q[segment][self.grid(k).start :: self.factor]
            within = ranges(q, rows)
            covered, least = ranges(q, few), HELD_TURN * (few / rows) ** 2 * within
            near = maximum_filter1d(np.where(covered < least, least, 0.0), **window(rows))  # amidst a stop, little is within
            held = covered < near
            pace = minimum_filter1d(within, **window(rows)) * (2 / (rows * step))
            found.append(np.where(maximum_filter1d(held, **window(few)), 0.0, pace))
        return found

    @property
    def owned(self) -> slice:
        """The samples that belong to this chunk only, those around its decimated ones; chunks of a stream overlap otherwise."""
        last = len(self.segments) - 1
        start = self.centres(0)[0] if self.goes_on[0] else 0
        stop = self.segments[last].start + self.centres(last)[-1] + self.factor if self.goes_on[1] else len(self)
        return slice(start, stop)

    @property
    def decimated_segments(self) -> tuple[slice, ...]:
        """The segments, as slices of decimated samples."""
        return stacked(len(self.centres(k)) for k in range(len(self.segments)))

    def decimated(self, x: np.ndarray) -> np.ndarray:
        """Low-pass and decimate any signal (N, ...) along these samples: (M, ...). Linear in x, so `tau = Y pi` still holds."""
        return np.concatenate([self.low_pass.decimated(x[inside], **ends) for x, inside, ends in self._reached(x)])

    def decimated_where(self, x: np.ndarray, moving: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Low-pass and decimate a signal (N, k) along the samples at which joints move (N, k) or (N, 1), and tell which of its rows
        count, both (M, k): see `LowPass.decimated_where`."""
        if moving.all():
            found = self.decimated(x)
            return found, np.ones(found.shape, bool)
        kept = [moving[inside] for _, inside, _ in self._reached(moving)]
        parts = [self.low_pass.decimated_where(x[inside], some, **ends) for some, (x, inside, ends) in zip(kept, self._reached(x))]
        found, counts = zip(*parts)
        return np.concatenate(found), np.concatenate(counts)

    def _reached(self, x: np.ndarray) -> Iterator[tuple[np.ndarray, slice, dict[str, int]]]:
        """For each segment the signal, the samples that kernels cover there, and by how many they exceed its ends."""
        if len(x) != len(self):
            raise InputError(f"a signal of {len(x)} samples; the prepared log has {len(self)}")
        for k, segment in enumerate(self.segments):
            yield np.asarray(x), *reached(self.centres(k), self.low_pass.half, segment)


def ranges(q: np.ndarray, rows: int) -> np.ndarray:
    """Range (N, n) of positions over so many rows to each side."""
    return maximum_filter1d(q, **window(rows)) - minimum_filter1d(q, **window(rows))


def window(rows: int) -> dict[str, Any]:
    """Arguments of a moving minimum or maximum over so many rows to each side."""
    return {"size": 2 * rows + 1, "axis": 0, "mode": "nearest"}


def reached(centres: range, half: int, segment: slice) -> tuple[slice, dict[str, int]]:
    """The samples that kernels around these centres of a segment cover, and by how many they exceed its ends."""
    first, last = segment.start + centres[0] - half, segment.start + centres[-1] + half + 1
    inside = slice(max(first, segment.start), min(last, segment.stop))
    return inside, {"lead": inside.start - first, "trail": last - inside.stop}


def stacked(lengths: Iterable[int]) -> tuple[slice, ...]:
    """Slices of parts of these lengths that follow one another."""
    return tuple(slice(a, b) for a, b in pairwise(accumulate(lengths, initial=0)))


def slopes(x: np.ndarray, signals: Signals, edge_order: Literal[1, 2] = 1) -> np.ndarray:
    """Time derivative of a signal (N, n) along a prepared log, by differences within each segment, at its ends of this order."""
    return np.concatenate([np.gradient(x[s], 1 / signals.rate, axis=0, edge_order=edge_order) for s in signals.segments])


def smoothed(x: np.ndarray, low_pass: LowPass, segments: Iterable[slice]) -> np.ndarray:
    """Low-pass a signal (N, n), segment by segment; at their ends the kernel is cut off and scaled to sum 1."""
    ends, found = ((low_pass.half, low_pass.half), (0, 0)), []
    for segment in segments:
        within = convolved(np.pad(np.ones((segment.stop - segment.start, 1)), ends), low_pass.smooth)
        found.append(convolved(np.pad(x[segment], ends), low_pass.smooth) / within)
    return np.concatenate(found)


def filter_span(low_pass: LowPass) -> int:
    """Number of samples that both filters together need for one decimated sample."""
    return 4 * low_pass.half + 9


def streamed_span(low_pass: LowPass) -> int:
    """Number of samples that a decimated one needs within a stream: as `filter_span`, with those that its pace takes."""
    factor = low_pass.factor
    return 2 * PACE_REACH * low_pass.rows * factor + low_pass.half % factor + 2 * low_pass.half + 9


def prepare(log: Log, cutoff: float | None = None, *, velocity: Velocity | None = None, delay: float = 0.0) -> Signals:
    """Low-pass and differentiate the positions of a log.

    Args:
        log: the recording.
        cutoff: of the low-pass, Hz. By default the frequency up to which positions are well above their noise, within five to
            twenty times the frequency below which the motion lies; and not so low that the filter's ends cost a short log more than
            a tenth of its length. `findings` tells the choice.
        velocity: "measured" or "derivative" (of the positions); by default the measured one, if it agrees with the positions and
            is less noisy.
        delay: by how much later than positions torques came, s, a sample and a half at most: positions are taken that much
            earlier.

    Raises:
        InputError: no segment is as long as the filter, or the delay is longer.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> signals = qddot.identify.prepare(log)
    >>> signals.qdd.shape  # found by differences, through the same filter as everything
    (576, 2)
    """
    log = steadied(log)
    rate = log.rate
    if cutoff is not None and not positive_number("cutoff", cutoff) <= HIGHEST_CUTOFF * rate:
        raise InputError(f"cutoff={cutoff:g} Hz of a log at {rate:.4g} Hz: above 0 and at most a quarter of the rate")
    if velocity is not None and word("velocity", velocity, get_args(Velocity)) == "measured" and log.qd is None:
        raise InputError("velocity='measured': the log has no velocities")
    cutoff, velocity, recorded, findings = chosen(log, cutoff, velocity)
    findings += [finding for finding in log.findings if finding.code == "stamps"]
    found = prepared(log, rate, cutoff, velocity, findings, recorded=recorded, delay=delay)
    if found is None:
        span = filter_span(LowPass(rate, cutoff))
        cure = "a longer log" if cutoff >= HIGHEST_CUTOFF * rate else "a longer log, or a higher cutoff="
        if len(log.t) > span:
            cure = f"there are {len(log.segments):,}, by pauses of stamps: if samples have none, give them even times; else {cure}"
        raise InputError(f"no segment is as long as the {span / rate:.3g} s that a cut-off of {cutoff:.3g} Hz takes ({cure})")
    return found


def prepared(
    log: Log,
    rate: float,
    cutoff: float,
    velocity: Velocity,
    findings: list[Finding],
    goes_on: tuple[bool, bool] = (False, False),
    recorded: bool = False,
    delay: float = 0.0,
) -> Signals | None:
    """Filter a log once everything is chosen; `recorded`: take the log's accelerations. None if no segment is long enough."""
    delay = possible_delay(delay, rate)
    log, spikes = without_spikes(log)
    findings += told_spikes(log, spikes)
    low_pass = LowPass(rate, cutoff)
    parts = [evened(log, segment, rate) for segment in log.segments]
    long = [len(part.t) >= filter_span(low_pass) for part in parts]
    if goes_on[1]:
        long[-1] = len(parts[-1].t) >= streamed_span(low_pass)
    if goes_on[0] and not (goes_on[1] and len(parts) == 1):
        long[0] = True  # the end of the chunk before
    made = [filtered(low_pass, velocity, recorded, part, delay) for part, enough in zip(parts, long) if enough]
    if not made:
        return None
    if not all(is_uniform(log.t[segment], rate) for segment in log.segments):
        findings.append(Finding("found", "resampled", f"times are uneven: cubic splines onto {rate:.6g} Hz"))
    if len(made) < len(parts):
        message = f"{len(parts) - len(made)} of {len(parts)} segments are shorter than the filter: left out"
        findings.append(Finding("warning", "segments", message))
    arrays = (np.concatenate([part[i] for part in made]) if len(made) > 1 else made[0][i] for i in range(5))
    return Signals(
        *arrays,
        rate=rate,
        cutoff=cutoff,
        velocity=velocity,
        segments=stacked(len(part[0]) for part in made),
        findings=tuple(findings),
        recordings=tuple(name for name, enough in zip(log.recordings, long) if enough),
        goes_on=(goes_on[0] and long[0], goes_on[1] and long[-1]),
        delay=delay,
    )


def possible_delay(delay: float, rate: float) -> float:
    """Return a delay of torques, s. Raises InputError: no number, or longer than positions at this rate can be taken earlier."""
    if not abs(finite_number("delay", delay)) * rate <= ALIGNED:
        most = f"at most {ALIGNED:g} samples, {ALIGNED / rate:.3g} s, to either side"
        raise InputError(f"delay={delay:g} s: {most} (torque_delays(...).log is without a longer one)")
    return delay


def told_spikes(log: Log, found: Despiked) -> Iterator[Finding]:
    """Report the number of spikes of each joint, and the joints that have too many."""

    def told(count: np.ndarray) -> str:
        return ", ".join(f"{name} {n} ({n / len(log):.2%})" for name, n in zip(log.joint_names, count) if n)

    if found.count.any():
        message = f"torques that are off for a few samples are put on a curve through those about them: {told(found.count)}"
        yield Finding("repaired", "spikes", f"{message} of {len(log)}")
    if found.left.any():
        message = f"torques are off for a few samples again and again, {told(found.left)} of {len(log)}: too many (at most "
        yield Finding("warning", "bad samples", f"{message}{SPIKE_SHARE:.0%}) to say what should stand there", serious=True)


def filtered(low_pass: LowPass, velocity: Velocity, recorded: bool, part: Even, delay: float) -> tuple[np.ndarray, ...]:
    """Filter a segment: t, q, qd, qdd, tau of samples whose kernels lie within it, the motion `delay` seconds earlier; `recorded`:
    take the log's accelerations."""
    t, q, qd, tau, qdd = part
    flat, slope, curvature = low_pass.flat_derivatives(-delay)
    kept = slice(low_pass.half + 4, len(q) - low_pass.half - 4)
    if velocity == "measured" and qd is not None:
        smooth, (first, second) = convolved(q, flat), convolved_by(qd, [flat, slope])
    else:
        smooth, first, second = convolved_by(q, [flat, slope, curvature])
    if recorded and qdd is not None:
        second = convolved(qdd, flat)
    return t[kept], smooth, first, second, tau[kept]
