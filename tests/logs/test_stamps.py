"""Stamps that jitter although samples were taken evenly, told by positions."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.identify import Log, prepare
from qddot.logs.log_summary import Steps
from qddot.logs.stamps import times_of

RATE = 250.0
EVEN = np.arange(4000) / RATE
DRAW = np.random.default_rng(0)
JITTER = DRAW.uniform(-1, 1, len(EVEN)) / RATE


def positions(t: np.ndarray) -> np.ndarray:
    """Of two joints that move and one that rests, with the noise of an encoder."""
    moves = np.stack([np.sin(3 * t) + 0.3 * np.sin(11 * t), np.cos(2 * t), np.zeros_like(t)], axis=1)
    return moves + 1e-6 * DRAW.normal(size=moves.shape)


def off(stamps: np.ndarray, taken: np.ndarray) -> float:
    """Rms of the error of the times found, in steps, apart from a common one, which delays everything alike."""
    return float(np.std(times_of(stamps, positions(taken), RATE) - taken) * RATE)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.45])
def test_stamps_jitter_and_samples_do_not(share: float) -> None:
    assert off(EVEN + share * JITTER, EVEN) < 0.06 * share


def test_stamps_of_when_a_sample_was_written() -> None:
    late = np.maximum.accumulate(EVEN + DRAW.exponential(0.5, len(EVEN)) / RATE) + 1e-9 * np.arange(len(EVEN))
    assert off(late, EVEN) < 0.06


def test_rounded_stamps() -> None:
    even = np.arange(4000) / 400
    times = times_of(np.round(even, 3), positions(even), 400.0)
    assert np.std(times - even) * 400 < 0.002


def test_samples_that_are_lost_leave_their_place() -> None:
    kept = np.flatnonzero(DRAW.random(len(EVEN)) > 0.01)
    assert off((EVEN + 0.2 * JITTER)[kept], EVEN[kept]) < 0.02


def test_a_clock_that_drifts() -> None:
    drifting = EVEN + 1e-3 * np.sin(0.3 * EVEN)
    assert off(drifting + 0.2 * JITTER, drifting) < 0.02


def test_samples_taken_when_the_stamps_say() -> None:
    taken = EVEN + 0.3 * JITTER
    assert np.array_equal(times_of(taken, positions(taken), RATE), taken)


def test_unclear_stamps_are_believed() -> None:
    """A resting arm tells nothing, nor does noise that hides the difference, nor a few samples; and lost samples among stamps that
    jitter by half a step cannot be told from late ones."""
    stamps = EVEN + 0.2 * JITTER
    assert times_of(stamps, np.zeros((len(EVEN), 2)), RATE) is stamps
    assert times_of(stamps, positions(EVEN) + DRAW.normal(size=(len(EVEN), 3)), RATE) is stamps
    kept = np.flatnonzero(DRAW.random(len(EVEN)) > 0.01)
    uneven = (EVEN + 0.45 * JITTER)[kept]
    assert times_of(uneven, positions(EVEN)[kept], RATE) is uneven
    few = stamps[:10]
    assert times_of(few, positions(EVEN[:10]), RATE) is few


def test_accelerations_of_jittered_stamps_are_those_of_even_ones() -> None:
    q = positions(EVEN)
    accelerations = [prepare(Log(t, q, q), 10.0) for t in (EVEN, EVEN + 0.2 * JITTER)]
    assert "stamps jitter, samples do not" in accelerations[1].findings[-1].message
    even, found = (np.stack([np.interp(EVEN[500:3500], x.t, one) for one in x.qdd.T]) for x in accelerations)
    assert np.linalg.norm(found - even) < 0.005 * np.linalg.norm(even)


def test_another_rate_of_jittered_stamps() -> None:
    q = positions(EVEN)
    found = Log(EVEN + 0.2 * JITTER, q, q).resampled(100.0)
    assert np.abs(found.q - positions(found.t)).max() < 1e-3  # 0.8 ms of jitter are 4e-3 rad


def test_late_stamps_are_no_lost_samples() -> None:
    late = np.maximum.accumulate(EVEN + DRAW.exponential(0.3, len(EVEN)) / RATE) + 1e-9 * np.arange(len(EVEN))
    kept = np.delete(np.arange(len(EVEN)), [500, 1000, 1001, 2000])
    q = positions(EVEN)
    whole, some = Steps.of(Log(late, q, q)), Steps.of(Log(late[kept], q[kept], q[kept]))
    assert whole is not None
    assert some is not None
    assert whole.farthest > 1  # hundreds of stamps are late by more than half a step
    assert whole.missing < 5
    assert abs(some.missing - whole.missing - 4) <= 1
