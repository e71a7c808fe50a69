"""An excerpt of a prepared log: as many samples as a comparison of models needs, all over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qddot.identify.regression.signals import Signals, reached, stacked
from qddot.logs.lowpass import LowPass
from qddot.thresholds import HIGHEST_CUTOFF, LAW_SAMPLES, TRIAL_RATE, TRIAL_SAMPLES, TRIAL_WINDOW

ARRAYS = ("t", "q", "qd", "qdd", "tau_raw")


def few(signals: Signals) -> Signals:
    """Samples that tell all that the filter passes, in stretches all over the log."""
    return thinned_out(signals, coarsest_step(signals), TRIAL_SAMPLES)


def many(signals: Signals) -> Signals:
    """Samples for laws of friction, whose steps are over between samples that are few: all, of a log of up to 20,000."""
    return thinned_out(signals, min(-(-len(signals) // LAW_SAMPLES), coarsest_step(signals)), LAW_SAMPLES)


def coarsest_step(signals: Signals) -> int:
    return max(1, int(signals.rate / (TRIAL_RATE * signals.cutoff)))


def thinned_out(signals: Signals, step: int, most: int) -> Signals:
    """Every `step`-th sample, in stretches all over the log with about as many samples at most."""
    return joined([taken(signals, stretch) for stretch in stretches(signals, step, most)])


def stretches(signals: Signals, step: int, most: int) -> list[range]:
    """Samples at equal distances in stretches at equal distances, about as many as told at most."""
    window = TRIAL_WINDOW * (2 * signals.low_pass.half + 1)
    every = window * max(1, -(-len(signals) // (step * most)))
    starts = [(start, s.stop) for s in signals.segments for start in range(s.start, s.stop, every)]
    found = [range(start, min(start + window, stop), step) for start, stop in starts]
    if every == window:
        found = [range(s.start, s.stop, step) for s in signals.segments]
    return [stretch for stretch in found if len(stretch) > 1]


def taken(signals: Signals, rows: range) -> Signals:
    """Some samples at equal distances as a log of its own."""
    arrays = {name: getattr(signals, name)[rows.start : rows.stop : rows.step].copy() for name in ARRAYS}  # no view: all would stay
    arrays["tau_raw"] = without_noise(signals, rows)
    arrays["log_paces"] = signals.paces[rows.start : rows.stop : rows.step].copy()
    rate, thinned = signals.rate / rows.step, signals.thinned * rows.step
    return replace(signals, **arrays, rate=rate, segments=(slice(0, len(rows)),), goes_on=(False, False), thinned=thinned)


def joined(parts: Sequence[Signals]) -> Signals:
    """Logs of one motion as segments of one."""
    arrays = {name: np.concatenate([getattr(one, name) for one in parts]) for name in (*ARRAYS, "log_paces")}
    return replace(parts[0], **arrays, segments=stacked(map(len, parts)))


def without_noise(signals: Signals, rows: range) -> np.ndarray:
    """Torques of some samples at equal distances, which say all that lies well below the cut-off: noise from above half of their
    rate, which would come back there, is taken out."""
    if rows.step == 1:
        return signals.tau_raw[rows.start : rows.stop]
    low_pass = LowPass(signals.rate, min(TRIAL_RATE / 2 * signals.cutoff, HIGHEST_CUTOFF * signals.rate))
    segment = next(s for s in signals.segments if s.start <= rows.start < s.stop)
    centres = range(rows.start - segment.start, rows.stop - segment.start, rows.step)
    inside, ends = reached(centres, low_pass.half, segment)
    return low_pass.decimated(signals.tau_raw[inside], rows.step, **ends)


class Excerpt:
    """Stretches of parts at equal distances, about as many as of a whole log (`few`), however many parts come."""

    def __init__(self) -> None:
        self.kept: list[Signals] = []
        self.only: Signals | None = None
        self.every, self.met = 1, 0

    def add(self, part: Signals) -> None:
        self.only = part if self.met == 0 else None
        for stretch in stretches(part, coarsest_step(part), TRIAL_SAMPLES):
            if self.met % self.every == 0:
                self.kept.append(taken(part, stretch))
            self.met += 1
        while sum(map(len, self.kept)) > 2 * TRIAL_SAMPLES and len(self.kept) > 1:
            self.kept, self.every = self.kept[::2], 2 * self.every

    def signals(self) -> Signals:
        return joined(self.kept) if self.only is None else self.only
