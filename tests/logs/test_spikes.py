"""Spikes of torques are replaced, and nothing else is touched."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.logs.spikes import despiked

T = np.arange(5000) / 500.0
SMOOTH = 10 * np.sin(2 * T) + 3 * np.sign(np.cos(2 * T))  # friction steps
NOISY = SMOOTH + 0.1 * np.random.default_rng(0).normal(size=len(T))


def test_spikes_are_replaced_by_what_was_there() -> None:
    tau = np.stack([NOISY, SMOOTH], axis=1)
    hit = np.random.default_rng(1).random(tau.shape) < 5e-4
    found = despiked(np.where(hit, tau + 60, tau))
    np.testing.assert_array_equal(found.count, hit.sum(axis=0))
    np.testing.assert_array_equal(found.tau[~hit], tau[~hit])
    assert np.abs(found.tau - tau)[hit].max() < 1.0


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_many_spikes_are_replaced_however_large(share: float) -> None:
    for seed in range(3):
        hit = np.random.default_rng(seed).random(len(T)) < share
        found = despiked(np.where(hit, 10 * NOISY, NOISY)[:, None])
        assert share / 2 < found.count[0] / len(T) < 1.2 * share
        assert np.sqrt(np.mean((found.tau[:, 0] - NOISY) ** 2)) < 0.2  # 6 to 15 before


def test_a_torque_that_bends_is_not_flattened() -> None:
    """Medians of the samples about one lie on the inner side of each bend, always: parameters would learn that."""
    tau = 40 * np.sin(12 * T)[:, None]
    lost = np.random.default_rng(2).random(len(T)) < 0.05
    found = despiked(np.where(lost[:, None], 0.0, tau))
    bend = -np.sign(tau[lost, 0])  # of its curvature
    assert found.count[0] > 0.9 * lost.sum()
    assert np.abs(np.mean((found.tau - tau)[lost, 0] * bend)) < 1e-3  # N m; 0.05 by medians


def test_zeros_for_lost_packets_are_replaced_wherever_the_torque_was() -> None:
    for seed in range(3):
        lost = np.random.default_rng(seed).random(len(T)) < 0.08
        found = despiked(np.where(lost, 0.0, NOISY)[:, None])
        assert lost.sum() <= found.count[0] <= lost.sum() + 2
        assert not np.any(found.tau[lost] == 0)
        assert np.sqrt(np.mean((found.tau[:, 0] - NOISY)[lost] ** 2)) < 0.5  # a step of friction lies between neighbours


def test_too_many_stay_and_are_counted() -> None:
    hit = np.random.default_rng(0).random(len(T)) < 0.2
    tau = np.where(hit, 0.0, NOISY)[:, None]
    found = despiked(tau)
    assert found.tau is tau
    assert found.count[0] == 0
    assert 0.15 < found.left[0] / len(T) < 0.25


def test_noise_that_comes_and_goes_is_no_spike() -> None:
    for times in (5, 20, 100):
        noise = np.random.default_rng(times).normal(size=len(T)) * np.where((T > 3) & (T < 4), times, 1)
        tau = (SMOOTH + 0.1 * noise)[:, None]
        assert despiked(tau).count[0] + despiked(tau).left[0] < 5


def test_bursts_of_a_few_samples() -> None:
    tau = NOISY[:, None].copy()
    tau[700:703] -= 40
    found = despiked(tau)
    assert found.count.tolist() == [3]
    assert np.abs(found.tau[:, 0] - NOISY).max() < 1.0


def test_sound_torques_stay_as_they_are() -> None:
    for x in (
        SMOOTH,
        NOISY,
        np.round(NOISY),
        5 * np.round(NOISY / 5),
        np.clip(NOISY, -8, 8),
        np.sign(np.sin(5 * T + 0.1)),
        np.random.default_rng(2).laplace(size=5000),
    ):
        tau = x[:, None]
        assert despiked(tau).tau is tau


def test_a_torque_that_turns_within_a_few_samples_is_no_spike() -> None:
    """An arm that mostly rests, at a low rate: usual steps are small, and a fast motion turns far from the median about it."""
    t = np.arange(0, 30, 0.01)
    swing = 50 * np.sin(2 * np.pi * (t - 10) / 0.25) * np.exp(-(((t - 10) / 0.3) ** 2))
    tau = swing + 0.02 * np.random.default_rng(0).normal(size=len(t))
    assert not despiked(tau[:, None]).count.any()
    hit = tau.copy()
    hit[[500, 1002, 1990]] += 40
    assert despiked(hit[:, None]).count.tolist() == [3]
