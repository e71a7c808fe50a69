"""Torques that are clipped are seen: exactly or under noise, all along or for a while; a plateau that is asked for is none."""

from __future__ import annotations

import numpy as np
import pytest

from tests.identify.simulated import simulated
from tests.identify.test_verdict import LOG, PARAMETERS, THETA, changed, channel, fitted


def clipped(joint: int, share: float, noise: float, seed: int) -> np.ndarray:
    """The torque of a joint, this share of its samples clipped (both ends together), then noise of a part of the level."""
    tau = LOG.tau[:, joint]
    level = np.quantile(np.abs(tau), 1 - share)
    return np.clip(tau, -level, level) + noise * level * np.random.default_rng(seed).normal(size=len(tau))


CLIPPED = [(joint, share, noise) for joint in range(3) for share in (0.05, 0.15, 0.3) for noise in (0.002, 0.01, 0.05)]
QUICK = {(1, 0.15, 0.01): range(6), (0, 0.05, 0.01): range(2), (2, 0.3, 0.05): range(2)}


@pytest.mark.parametrize(
    ("case", "seeds"),
    [*QUICK.items(), *(pytest.param(case, range(6), marks=pytest.mark.slow) for case in CLIPPED if case not in QUICK)],
    ids=str,
)
def test_clipping_is_seen_under_noise(case: tuple[int, float, float], seeds: range) -> None:
    joint = case[0]
    for seed in seeds:
        fit = fitted(channel(joint, clipped(*case, seed)))
        assert not fit.verdict
        assert next((c.code, c.joints) for c in fit.verdict.concerns if c.serious) == ("at a level", (f"j{joint}",)), fit.verdict


def test_clipping_is_seen_for_a_while_and_of_several_joints() -> None:
    later, after = np.arange(len(LOG)) >= len(LOG) // 2, LOG.tau[:, 1]
    exact = fitted(channel(1, np.where(later, clipped(1, 0.15, 0.0, 0), after)))
    assert exact.verdict.concerns[0].code == "at a limit", exact.verdict
    for seed in range(2):
        noisy = fitted(channel(1, np.where(later, clipped(1, 0.15, 0.01, seed), after)))
        assert noisy.verdict.concerns[0].code == "at a level", noisy.verdict
        both = fitted(changed(tau=np.stack([LOG.tau[:, 0], *(clipped(j, 0.15, 0.01, seed) for j in (1, 2))], axis=1)))
        assert (both.verdict.concerns[0].code, both.verdict.concerns[0].joints) == ("at a level", ("j1", "j2")), both.verdict


@pytest.mark.parametrize(("percent", "is_clipped"), [(0.3, False), (0.7, False), (1.3, True), (3.0, True)])
def test_how_much_of_a_torque_may_be_at_its_limit(percent: float, is_clipped: bool) -> None:
    """Per cent of the samples, at one end of one joint: `CLIPPED` lies between 0.7 and 1.3, whose samples are in long runs."""
    fit = fitted(channel(0, np.minimum(LOG.tau[:, 0], np.percentile(LOG.tau[:, 0], 100 - percent))))
    assert ("at a limit" in [concern.code for concern in fit.verdict.concerns]) == is_clipped
    assert bool(fit.verdict) == (not is_clipped)


def test_a_recording_that_stands_still_is_not_clipping() -> None:
    """All channels repeat a sample for a while, here that with the largest torque."""
    rows = np.arange(len(LOG))
    peak = int(np.argmax(LOG.tau[:, 1]))
    rows[peak : peak + 100] = peak
    assert not fitted(changed(q=LOG.q[rows], tau=LOG.tau[rows])).verdict.has("clipped torques")


def test_friction_that_is_all_of_a_torque_is_not_clipping() -> None:
    """It is the same all along, one way and the other."""
    light = [1e-4 if name.startswith("l") else 1.0 for name in PARAMETERS.names]
    assert not fitted(simulated(PARAMETERS, THETA * light, 20.0, 200.0, (1e-5, 0.05), 1)).verdict.has("clipped torques")
