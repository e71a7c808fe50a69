"""Spikes of torques are replaced, and nothing else is touched."""

from __future__ import annotations

import numpy as np

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
        np.clip(NOISY, -8, 8),
        np.sign(np.sin(5 * T + 0.1)),
        np.random.default_rng(2).laplace(size=5000),
    ):
        tau = x[:, None]
        assert despiked(tau).tau is tau
