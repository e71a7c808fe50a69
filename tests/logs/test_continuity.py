"""Samples that are lost, frozen or displaced are found, and their places; what only looks so is not."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.logs.continuity import Continuity
from qddot.logs.log import Log

RATE = 200.0
T = np.arange(4000) / RATE


def moved(noise: float = 1e-5, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    q = np.stack([np.sin((1 + 0.3 * j) * T + j) + 0.3 * np.sin(3.1 * T + j) for j in range(4)], axis=1)
    return q + noise * rng.normal(size=q.shape)


def found(q: np.ndarray, t: np.ndarray = T) -> Continuity:
    return Continuity.of(Log(t[: len(q)], q, np.random.default_rng(1).normal(size=q.shape)))


@pytest.mark.parametrize("share", [0.002, 0.02, 0.1])
def test_lost_samples_are_counted(share: float) -> None:
    keep = np.random.default_rng(2).random(len(T)) > share
    lost = found(moved()[keep]).lost
    assert 0.8 * (~keep).sum() - 1 <= lost <= (~keep).sum() + 1  # where the arm hardly moves, none can be seen


@pytest.mark.parametrize("start", [700, 1900, 3000])
def test_many_samples_at_once(start: int) -> None:
    """An eighth of a second that is missing, or written twice."""
    lost = found(np.delete(moved(), np.arange(start, start + 25), axis=0))
    assert lost.lost == pytest.approx(25, abs=5)
    again = found(np.insert(moved()[:3900], start + 25, moved()[start : start + 25], axis=0))
    assert again.again == pytest.approx(25, abs=5)
    assert (again.lost, lost.again, *lost.jumps, *again.jumps) == (0, 0)
    assert lost.places == pytest.approx((start / RATE,), abs=1.1 / RATE)


def test_places_are_told() -> None:
    q = np.delete(moved(), [1000, 2500], axis=0)
    assert found(q).places == pytest.approx((1000 / RATE, 2499 / RATE), abs=1.1 / RATE)


@pytest.mark.parametrize(
    "q",
    [
        moved(),
        moved(noise=1e-3),
        np.round(moved() / 0.02) * 0.02,  # a coarse encoder
        np.round(0.3 * moved() / 0.02) * 0.02,  # which is hardly turned
        moved()[np.arange(len(T)) // 5 * 5],  # a slower sensor
        np.where(np.arange(len(T))[:, None] % 97 == 0, moved() + 0.3, moved()),  # single samples that are off
        np.concatenate([np.repeat(moved()[:1], 500, axis=0), moved()[:3000]]),  # a rest, then motion
    ],
    ids=["clean", "noisy", "rounded", "slow", "held", "spikes", "rest"],
)
def test_sound_recordings_have_nothing_missing(q: np.ndarray) -> None:
    seen = found(q)
    assert (seen.lost, seen.jumps) == (0, ())
    assert not seen.frozen.any()


def test_a_clock_that_jitters_is_no_loss() -> None:
    jitter = np.random.default_rng(3).uniform(-0.2, 0.2, len(T)) / RATE
    assert found(moved(), T + jitter).lost == 0


def test_a_frozen_position_and_a_step() -> None:
    q = moved()
    q[1000:1150, 2] = q[1000, 2]
    q[3000:, 1] += 0.4
    seen = found(q)
    assert seen.frozen.tolist() == [0, 0, 149, 0]
    [(joint, t, size)] = seen.jumps
    assert (joint, t) == (1, pytest.approx(3000 / RATE))
    assert size == pytest.approx(0.4, abs=1e-3)


def test_a_short_freeze_and_a_step_of_a_log_that_rests() -> None:
    """Rounded positions at rest repeat for some samples; a freeze is told by the step at its end, and a step of a single joint,
    or a freeze of all, is no loss of samples."""
    q = np.round(moved()[np.minimum(np.arange(4000) % 400, 250) + 250 * (np.arange(4000) // 400)], 4)
    one = q.copy()
    one[1610:1630, 2] = one[1610, 2]
    assert found(one).frozen.tolist() == [0, 0, 19, 0]
    every = q.copy()
    every[1610:1630] = every[1610]
    assert found(every).frozen.tolist() == [19] * 4
    aside = q.copy()
    aside[2100:, 0] += 0.2
    [(joint, _, size)] = found(aside).jumps
    assert (joint, size) == (0, pytest.approx(0.2, abs=0.01))
    assert [found(x).lost for x in (q, one, every, aside)] == [0, 0, 0, 0]


def test_degrees_are_told_from_an_endless_axis() -> None:
    robot = qddot.load("puma560")
    tau = np.random.default_rng(5).normal(size=(len(T), 6))
    q = np.concatenate([moved(), moved()[:, :2]], axis=1)
    endless = q + np.arange(6) // 5 * 5 * T[:, None]  # the last axis goes on and on
    assert not [f for f in Log(T, endless, tau).audit(robot).warnings if f.code == "units"]
    [found] = [f for f in Log(T, np.degrees(q), tau).audit(robot).warnings if f.code == "units"]
    assert found.serious


def test_samples_written_twice() -> None:
    q, draw = moved(), np.random.default_rng(4)
    rows = np.repeat(np.arange(len(T)), np.where(draw.random(len(T)) < 0.02, 2, 1))[: len(T)]
    tau = np.random.default_rng(1).normal(size=q.shape)
    seen = Continuity.of(Log(T, q[rows], tau[rows]))
    assert seen.again > 0.8 * np.sum(np.diff(rows) == 0)
    held = np.where(draw.random(len(T)) < 0.02, np.arange(len(T)) - 1, np.arange(len(T))).clip(0)  # the clock is right
    assert Continuity.of(Log(T, q[held], tau[held])).again < 10


def test_a_torque_that_stands_still() -> None:
    q = moved()
    tau = 10 * np.sin(T)[:, None] * np.arange(1, 5) + 0.05 * np.random.default_rng(1).normal(size=q.shape)
    frozen = tau.copy()
    frozen[1000:1200, 2] = frozen[1000, 2]
    assert Continuity.of(Log(T, q, frozen)).frozen_tau.tolist() == pytest.approx([0, 0, 199, 0], abs=2)
    clipped = np.clip(tau, -5, 5)
    assert not Continuity.of(Log(T, q, clipped)).frozen_tau.any()
    dry = np.clip(tau + 3 * np.sign(np.cos(T))[:, None], -8, 8)  # it leaves the limit by the step of friction
    assert not Continuity.of(Log(T, q, dry)).frozen_tau.any()


def test_arrays_are_cut_at_pauses() -> None:
    keep = (T < 5) | (T > 7)
    assert [s.stop - s.start for s in Log(T[keep], moved()[keep], moved()[keep]).segments] == [1000, len(T) - 1401]


def test_units_that_positions_count_in() -> None:
    q = moved()
    q[:, 1] = np.round(q[:, 1], 2)
    q[:, 2] = 0.3  # a joint at rest counts in nothing
    assert found(q).resolution == pytest.approx([0, 0.01, 0, 0])


@pytest.mark.parametrize("seed", range(4))
def test_a_motion_that_is_fast_for_its_rate_has_lost_nothing(seed: int) -> None:
    """Two rods that whirl at up to 100 rad/s, recorded at 100 Hz."""
    draw = np.random.default_rng(seed)
    size, *w = draw.uniform((6, 2, 2), (12, 9, 9))
    robot = qddot.load("two_link")
    push = lambda t, q, qd: [size * np.sin(w[0] * t), size / 3 * np.sin(w[1] * t)]  # noqa: E731
    motion = robot.simulate(draw.uniform(-2, 2, 2), t=np.arange(0, 6, 0.01), step=0.005, torque=push)
    found = Continuity.of(Log(motion.t, motion.q, motion.tau))
    assert (found.lost, found.jumps) == (0, ())


@pytest.mark.parametrize("seed", range(3))
def test_samples_lost_in_a_motion_that_is_fast_for_its_rate(seed: int) -> None:
    """Two rods that whirl at up to 100 rad/s, recorded at 100 Hz: half of those that are lost at least, and no others."""
    draw = np.random.default_rng(seed)
    size, *w = draw.uniform((1, 2, 2), (5, 9, 9))
    push = lambda t, q, qd: [size * np.sin(w[0] * t), size / 3 * np.sin(w[1] * t)]  # noqa: E731
    motion = qddot.load("two_link").simulate(draw.uniform(-2, 2, 2), t=np.arange(0, 8, 0.01), step=0.005, torque=push)
    assert Continuity.of(Log(motion.t, motion.q, motion.tau)).lost == 0
    kept = draw.random(len(motion.t)) > 0.05
    n = kept.sum()
    found = Continuity.of(Log(motion.t[:n], motion.q[kept], motion.tau[kept]))
    assert 0.5 * (~kept).sum() <= found.lost <= (~kept).sum()
    behind = motion.t[:n][1:][np.diff(np.flatnonzero(kept)) > 1]
    assert set(np.round(found.places, 6)) <= set(np.round(behind, 6))
