"""An excerpt of a prepared log: samples spread over it, as many as a comparison of models needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qddot.identify.regression.signals import Signals, stacked
from qddot.logs.lowpass import LowPass
from qddot.thresholds import HIGHEST_CUTOFF, LAW_SAMPLES, TRIAL_RATE, TRIAL_SAMPLES, TRIAL_WINDOW

ARRAYS = ("t", "q", "qd", "qdd", "tau_raw")


def few(signals: Signals) -> Signals:
    """Excerpt with as few samples as represent all that the filter passes, in stretches spread over the log."""
    return thinned_out(signals, coarsest_step(signals), TRIAL_SAMPLES)


def many(signals: Signals) -> Signals:
    """Excerpt for laws of friction, whose steps coarse sampling would miss: all samples of a log of up to 20,000."""
    return thinned_out(signals, min(-(-len(signals) // LAW_SAMPLES), coarsest_step(signals)), LAW_SAMPLES)


def coarsest_step(signals: Signals) -> int:
    """Largest distance between samples that still represent all that the filter passes."""
    return max(1, int(signals.rate / (TRIAL_RATE * signals.cutoff)))


def thinned_out(signals: Signals, step: int, most: int) -> Signals:
    """Excerpt of every `step`-th sample, in stretches spread over the log with about `most` samples together."""
    return joined([taken(signals, stretch) for stretch in stretches(signals, step, most)])


def stretches(signals: Signals, step: int, most: int) -> list[range]:
    """Ranges of every `step`-th sample, in stretches at equal distances, with about `most` samples together. The kernel against
    aliasing must not reach beyond the ends of a segment: cut there it would have a phase, which positions have not."""
    margin = 0 if step == 1 else against_aliasing(signals).half
    inner = [range(s.start + margin, s.stop - margin) for s in signals.segments]
    window = TRIAL_WINDOW * (2 * signals.low_pass.half + 1)
    every = window * max(1, -(-len(signals) // (step * most)))
    found = [s[first : first + window : step] for s in inner for first in range(0, len(s), every)]
    if every == window:
        found = [s[::step] for s in inner]
    return [stretch for stretch in found if len(stretch) > 1]


def taken(signals: Signals, rows: range) -> Signals:
    """Samples at equal distances as a log of their own."""
    arrays = {
        name: getattr(signals, name)[rows.start : rows.stop : rows.step].copy() for name in ARRAYS
    }  # views keep the log alive
    arrays["tau_raw"] = without_noise(signals, rows)
    arrays["log_paces"] = signals.paces[rows.start : rows.stop : rows.step].copy()
    rate, thinned = signals.rate / rows.step, signals.thinned * rows.step
    return replace(signals, **arrays, rate=rate, segments=(slice(0, len(rows)),), goes_on=(False, False), thinned=thinned)


def joined(parts: Sequence[Signals]) -> Signals:
    """Join logs of one motion as segments of one log."""
    arrays = {name: np.concatenate([getattr(one, name) for one in parts]) for name in (*ARRAYS, "log_paces")}
    return replace(parts[0], **arrays, segments=stacked(map(len, parts)))


def without_noise(signals: Signals, rows: range) -> np.ndarray:
    """Torques of samples at equal distances, low-passed against aliasing: noise above half of their rate is removed."""
    if rows.step == 1:
        return signals.tau_raw[rows.start : rows.stop]
    low_pass = against_aliasing(signals)
    return low_pass.decimated(signals.tau_raw[rows[0] - low_pass.half : rows[-1] + low_pass.half + 1], rows.step)


def against_aliasing(signals: Signals) -> LowPass:
    return LowPass(signals.rate, min(TRIAL_RATE / 2 * signals.cutoff, HIGHEST_CUTOFF * signals.rate))


class Excerpt:
    """Collects an excerpt like `few` from the parts of a log, of about the same size however many parts come."""

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
