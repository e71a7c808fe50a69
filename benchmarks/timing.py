"""Interleaved timing: A B A B ..., medians and quartiles."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np

SAMPLE = 1e-3
"""Shorter calls are repeated until a sample lasts about this long, in s."""


@dataclass(frozen=True)
class Job:
    """Something to time.

    Attributes:
        run: does the work, for all its states; called without arguments.
        states: how many states that are; times are of one.
        result: after a run, the arrays it filled, in the conventions of qddot: each (states, ...).
    """

    run: Callable[[], Any]
    states: int
    result: Callable[[], list[np.ndarray]]


@dataclass(frozen=True)
class Spread:
    """Median and quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: np.ndarray) -> Spread:
        low, median, high = np.percentile(samples, (25, 50, 75))
        return cls(float(median), float(low), float(high))


def interleave(jobs: Mapping[str, Job], seconds: float, least: int = 5, most: int = 51) -> dict[str, np.ndarray]:
    """Samples of the time of one state in s: one of every job a round, for about `seconds` altogether."""
    timers = {name: Timer(job.run) for name, job in jobs.items()}
    repeats = {name: repeats_of(timer) for name, timer in timers.items()}
    samples: dict[str, list[float]] = {name: [] for name in jobs}
    start = time.perf_counter()
    for round_ in range(most):
        if round_ >= least and time.perf_counter() - start > seconds:
            break
        for name, timer in timers.items():
            samples[name].append(timer.timeit(repeats[name]) / repeats[name] / jobs[name].states)
    return {name: np.array(x) for name, x in samples.items()}


def repeats_of(timer: Timer) -> int:
    """Calls in a sample, after a warm-up."""
    once = min(timer.timeit(1) for _ in range(2))
    return max(1, math.ceil(SAMPLE / once))
