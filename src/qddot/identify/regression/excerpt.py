"""An excerpt of a prepared log: as many samples as a comparison of models needs, all over it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qddot.identify.regression.signals import Signals, smoothed, stacked
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
    window = TRIAL_WINDOW * (2 * signals.low_pass.half + 1)
    every = window * max(1, -(-len(signals) // (step * most)))
    starts = [(start, s.stop) for s in signals.segments for start in range(s.start, s.stop, every)]
    stretches = [range(start, min(start + window, stop), step) for start, stop in starts]
    if every == window:
        stretches = [range(s.start, s.stop, step) for s in signals.segments]
    stretches = [stretch for stretch in stretches if len(stretch) > 1]
    rows = np.concatenate([np.asarray(stretch) for stretch in stretches])
    torques = np.concatenate([without_noise(signals, stretch) for stretch in stretches])
    arrays = {name: getattr(signals, name)[rows] for name in ARRAYS} | {"tau_raw": torques}
    rate, thinned = signals.rate / step, signals.thinned * step
    return replace(signals, **arrays, rate=rate, segments=stacked(map(len, stretches)), goes_on=(False, False), thinned=thinned)


def without_noise(signals: Signals, rows: range) -> np.ndarray:
    """Torques of some samples at equal distances, which say all that lies well below the cut-off: noise from above half of their
    rate, which would come back there, is taken out."""
    if rows.step == 1:
        return signals.tau_raw[rows.start : rows.stop]
    low_pass = LowPass(signals.rate, min(TRIAL_RATE / 2 * signals.cutoff, HIGHEST_CUTOFF * signals.rate))
    segment = next(s for s in signals.segments if s.start <= rows.start < s.stop)
    start, stop = max(segment.start, rows.start - low_pass.half), min(segment.stop, rows.stop + low_pass.half)
    smooth = smoothed(signals.tau_raw[start:stop], low_pass, [slice(0, stop - start)])
    return smooth[rows.start - start : rows.stop - start : rows.step]


class Excerpt:
    """Stretches of parts at equal distances, about as many as of a whole log (`few`), however many parts come."""

    def __init__(self) -> None:
        self.stretches: list[Signals] = []
        self.only: Signals | None = None
        self.every, self.met = 1, 0

    def add(self, part: Signals) -> None:
        self.only = part if self.met == 0 else None
        thinned = few(part)
        for segment in thinned.segments:
            if self.met % self.every == 0:
                arrays = {name: getattr(thinned, name)[segment] for name in ARRAYS}
                self.stretches.append(replace(thinned, **arrays, segments=(slice(0, segment.stop - segment.start),)))
            self.met += 1
        while sum(map(len, self.stretches)) > 2 * TRIAL_SAMPLES and len(self.stretches) > 1:
            self.stretches, self.every = self.stretches[::2], 2 * self.every

    def signals(self) -> Signals:
        if self.only is not None:
            return self.only
        arrays = {name: np.concatenate([getattr(one, name) for one in self.stretches]) for name in ARRAYS}
        return replace(self.stretches[0], **arrays, segments=stacked(map(len, self.stretches)))
