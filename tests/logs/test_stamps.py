"""Stamps that jitter although samples were taken evenly, told by positions."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.identify import Log, prepare, stream
from qddot.logs.log_summary import Steps
from qddot.logs.stamps import steadied, times_of

RATE = 250.0
EVEN = np.arange(4000) / RATE
JITTER = np.random.default_rng(0).uniform(-1, 1, len(EVEN)) / RATE
KEPT = np.flatnonzero(np.random.default_rng(1).random(len(EVEN)) > 0.01)


def written(share: float) -> np.ndarray:
    """Stamps of when a sample was written, by a logger that is busy for this part of a step on average."""
    late = EVEN + np.random.default_rng(2).exponential(share, len(EVEN)) / RATE
    return np.maximum.accumulate(late) + 1e-9 * np.arange(len(EVEN))


def positions(t: np.ndarray) -> np.ndarray:
    """Of two joints that move and one that rests, with the noise of an encoder."""
    moves = np.stack([np.sin(3 * t) + 0.3 * np.sin(11 * t), np.cos(2 * t), np.zeros_like(t)], axis=1)
    return moves + 1e-6 * np.random.default_rng(3).normal(size=moves.shape)


def off(stamps: np.ndarray, taken: np.ndarray) -> float:
    """Rms of the error of the times found, in steps, apart from a common one, which delays everything alike."""
    return float(np.std(times_of(stamps, positions(taken), RATE) - taken) * RATE)


@pytest.mark.parametrize("share", [0.01, 0.2, 0.45])
def test_stamps_jitter_and_samples_do_not(share: float) -> None:
    assert off(EVEN + share * JITTER, EVEN) < 0.06 * share


def test_stamps_of_when_a_sample_was_written() -> None:
    assert off(written(0.5), EVEN) < 0.06


def test_rounded_stamps() -> None:
    even = np.arange(4000) / 400
    times = times_of(np.round(even, 3), positions(even), 400.0)
    assert np.std(times - even) * 400 < 0.002


def test_samples_that_are_lost_leave_their_place() -> None:
    assert off((EVEN + 0.2 * JITTER)[KEPT], EVEN[KEPT]) < 0.02


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
    assert times_of(stamps, positions(EVEN) + np.random.default_rng(4).normal(size=(len(EVEN), 3)), RATE) is stamps
    uneven = (EVEN + 0.45 * JITTER)[KEPT]
    assert times_of(uneven, positions(EVEN)[KEPT], RATE) is uneven
    few = stamps[:10]
    assert times_of(few, positions(EVEN[:10]), RATE) is few


def test_accelerations_of_jittered_stamps_are_those_of_even_ones() -> None:
    q = positions(EVEN)
    accelerations = [prepare(Log(t, q, q), 10.0) for t in (EVEN, EVEN + 0.2 * JITTER)]
    assert [finding.code for finding in accelerations[1].findings if finding.level == "repaired"] == ["stamps"]
    even, found = (np.stack([np.interp(EVEN[500:3500], x.t, one) for one in x.qdd.T]) for x in accelerations)
    assert np.linalg.norm(found - even) < 0.005 * np.linalg.norm(even)


def test_chunks_of_jittered_stamps_are_those_of_the_whole() -> None:
    q = positions(EVEN)
    log = Log(EVEN + 0.2 * JITTER, q, q)
    whole, parts = prepare(log, 10.0), list(stream([log[:1500], log[1500:]], 10.0))
    assert len(parts) == 2
    for part in parts:
        at = (part.t > whole.t[0]) & (part.t < whole.t[-1])
        there = np.stack([np.interp(part.t[at], whole.t, x) for x in whole.qdd.T], axis=1)
        assert np.linalg.norm(part.qdd[at] - there) < 0.002 * np.linalg.norm(there)


def test_gears_behind_jittered_stamps() -> None:
    """Motors and links are two motions of one clock."""
    arm = qddot.from_dh([(1, 0, 0, 0)], inertias=[qddot.Inertia.point(0.5)], gravity=(0, 0, 0))
    w, (a, K, B) = np.array([2.0, 5.0, 11.0]), ([0.5, 0.3, 0.1], 200.0, 0.1)
    link, qdd = np.sin(np.outer(EVEN, w)) @ a, -np.sin(np.outer(EVEN, w)) @ (w**2 * a)
    motor, motor_qdd = link + 0.5 * qdd / K, np.sin(np.outer(EVEN, w)) @ ((0.5 * w**2 / K - 1) * w**2 * a)
    log = Log(EVEN + 0.2 * JITTER, motor[:, None], tau=(B * motor_qdd + 0.5 * qdd)[:, None])
    found = qddot.identify.elastic_joints(arm, log, links=link[:, None])
    assert found.stiffness == pytest.approx([K], rel=0.01)
    assert found.motors["joint1.rotor"] == pytest.approx(B, rel=0.01)


def test_another_rate_of_jittered_stamps() -> None:
    q = positions(EVEN)
    found = Log(EVEN + 0.2 * JITTER, q, q).resampled(100.0)
    assert np.abs(found.q - positions(found.t)).max() < 1e-3  # 0.8 ms of jitter are 4e-3 rad


def test_late_stamps_are_no_lost_samples() -> None:
    late, kept = written(0.3), np.delete(np.arange(len(EVEN)), [500, 1000, 1001, 2000])
    q = positions(EVEN)
    whole, some = Steps.of(Log(late, q, q)), Steps.of(Log(late[kept], q[kept], q[kept]))
    assert whole is not None
    assert some is not None
    assert whole.farthest > 1  # hundreds of stamps are late by more than half a step
    assert whole.missing < 20
    assert whole.missing + 4 <= some.missing < 20


def in_bursts(count: int) -> np.ndarray:
    """Stamps of a logger that writes so many samples at once."""
    k = np.arange(len(EVEN))
    return EVEN[k // count * count] + (count + k % count * 0.05) / RATE


def stalling() -> np.ndarray:
    """Stamps of a logger that halts twenty times, for 60 ms, and then catches up."""
    stamps = EVEN.copy()
    for start in np.random.default_rng(5).integers(0, len(EVEN) - 30, 20):
        stamps[start : start + 20] = np.maximum(stamps[start : start + 20], EVEN[start] + 0.06 + np.arange(20) * 1e-4)
    return np.maximum.accumulate(stamps) + 1e-9 * np.arange(len(EVEN))


@pytest.mark.parametrize("stamps", [in_bursts(2), in_bursts(5), in_bursts(10), written(0.7), stalling()])
def test_stamps_that_pause_where_samples_do_not(stamps: np.ndarray) -> None:
    """Whether they seem pauses of the log or lost samples."""
    q = positions(EVEN)
    log = steadied(Log(stamps, q, q))
    assert log.segments == (slice(0, len(EVEN)),)
    assert np.std(log.t - EVEN) * RATE < 0.3
    assert np.abs(np.diff(log.t) * RATE - 1).max() < 2e-3
    assert log.rate == pytest.approx(RATE, rel=1e-3)
    assert [finding.code for finding in log.findings] == ["stamps"]
    assert steadied(log) is log


@pytest.mark.parametrize("stamps", [EVEN, in_bursts(5), stalling()])
def test_accelerations_of_stamps_that_pause(stamps: np.ndarray) -> None:
    """Of the whole log, and of its chunks."""
    q = positions(EVEN)
    log = Log(stamps, q, q)
    for part in (prepare(log, 10.0), *stream([log[:2000], log[2000:]], 10.0)):
        assert part.rate == pytest.approx(RATE, rel=2e-3)
        t = part.t - np.mean(stamps - EVEN)
        true = np.stack([-9 * np.sin(3 * t) - 36.3 * np.sin(11 * t), -4 * np.cos(2 * t)], axis=1)
        assert len(part) > 1000
        assert np.linalg.norm(part.qdd[:, :2] - true) < 0.05 * np.linalg.norm(true)


def test_samples_that_pause_keep_their_pauses() -> None:
    t = EVEN + 1.5 * (EVEN > 4) + 0.1 * JITTER
    found = steadied(Log(t, positions(EVEN + 1.5 * (EVEN > 4)), positions(EVEN)))
    assert len(found.segments) == 2
    assert np.std(found.t - EVEN - 1.5 * (EVEN > 4)) * RATE < 0.01
    bursts = np.arange(4000) / 1000 + np.arange(4000) // 20 * 0.1  # of samples, 20 at once
    log = Log(bursts, positions(bursts), positions(bursts))
    assert steadied(log) is log
    with pytest.raises(InputError, match=r"200, by pauses of stamps: if samples have none, give them even times"):
        prepare(log)
