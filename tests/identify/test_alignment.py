"""Torques that come up to a sample and a half later or earlier than the positions they are logged with."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from qddot.errors import InputError
from qddot.identify import Fit, Log, ParameterSet, base_parameters, prepare, stream
from qddot.identify.alignment import common_delay, torques_after
from qddot.identify.regression.excerpt import ARRAYS
from tests.identify.arms import random_arm
from tests.identify.simulated import series, truth

RATE = 250.0
T = np.arange(0, 20, 1 / RATE)


def identified(late: float, seed: int = 3, noise: float = 0.05) -> tuple[Fit, np.ndarray]:
    """The fit to torques of `late` seconds before, and the true parameters."""
    parameters = ParameterSet.of(random_arm(seed, 3))
    theta, (q, *_) = truth(parameters), series(parameters.robot, T, seed)
    tau = parameters.matrix(*series(parameters.robot, T - late, seed)) @ theta
    draw = np.random.default_rng(seed)
    q, tau = q + 1e-5 * draw.normal(size=q.shape), tau + noise * draw.normal(size=q.shape)
    return parameters.robot.identify(Log(T, q, tau, joint_names=parameters.robot.joint_names)), theta


@pytest.mark.parametrize("late", [2e-4, 1e-3, -2.4e-3, 4e-3, -5.8e-3])
def test_torques_of_another_moment(late: float) -> None:
    """Unaligned, they move parameters by three to four of their standard deviations (rms), and 2.4 ms are refused."""
    fit, theta = identified(late)
    assert fit.verdict, fit.verdict
    assert fit.signals.delay == pytest.approx(late, abs=5e-5)
    assert [finding.level for finding in fit.findings if finding.code == "delay"] == ["repaired"]
    off = (fit.estimate.theta - fit.base.K @ theta) / fit.estimate.std
    assert np.sqrt(np.mean(off**2)) < 1.6
    other_cycle = abs(late) > 0.5 / RATE
    assert [one.kind for one in fit.verdict.concerns] == ["delay"] * other_cycle


@pytest.mark.parametrize("late", [0.0, 1e-5])
def test_what_is_no_delay_stays(late: float) -> None:
    fit, _ = identified(late)
    assert fit.signals.delay == 0
    assert not any(finding.code == "delay" for finding in fit.findings)
    assert not fit.verdict.concerns


def test_a_log_kept_for_validation_has_the_same_delay() -> None:
    """Of a cycle of the log. In a log of ten times the rate it would be ten samples, and is left alone."""
    parameters, draw = ParameterSet.of(random_arm(3, 3)), np.random.default_rng(1)
    theta, robot = truth(parameters), parameters.robot

    def late(rate: float, seed: int) -> Log:
        t = np.arange(0, 20, 1 / rate)
        q, tau = series(robot, t, seed)[0], parameters.matrix(*series(robot, t - 0.01, seed)) @ theta
        return Log(t, q, tau + 0.05 * draw.normal(size=tau.shape), joint_names=robot.joint_names)

    same, faster = (robot.identify(late(100.0, 1), validation=late(rate, 2)) for rate in (100.0, 1000.0))
    assert [fit.signals.delay for fit in (same, faster)] == pytest.approx([0.01, 0.01], abs=1e-4)
    assert [fit.judged.delay for fit in (same, faster)] == [same.signals.delay, 0.0]
    assert same.validation is not None
    assert faster.validation is not None
    assert 2 * same.validation.relative < faster.validation.relative


@pytest.mark.parametrize(("noise", "samples"), [(0.05, 2), (0.002, 2), (0.002, -5)])
def test_two_samples_are_a_fault_of_the_log(noise: float, samples: float) -> None:
    """Where noise is low, parameters absorb what lateness does but for the turns of friction, which tell it all the same."""
    fit, _ = identified(samples / RATE, noise=noise)
    assert fit.signals.delay == 0
    assert not fit.verdict
    assert fit.verdict.concerns[0].kind == "delay"


@pytest.mark.parametrize("velocity", ["derivative", "measured"])
def test_a_motion_of_an_earlier_moment(velocity: Literal["derivative", "measured"]) -> None:
    """Against the motion itself, whole and in chunks."""
    late, robot = 2.9e-3, random_arm(0, 3)
    q, qd, _ = series(robot, T, 0)
    log = Log(T, q, np.zeros_like(q), qd=qd, joint_names=robot.joint_names)
    signals = prepare(log, 10.0, velocity=velocity, delay=late)
    for found, true in zip((signals.q, signals.qd, signals.qdd), series(robot, T - late, 0)):
        inner = np.searchsorted(T, signals.t)
        np.testing.assert_allclose(found, true[inner], atol=2e-4 * np.abs(true).max())
    *_, last = stream([log[:2000], log[2000:]], 10.0, velocity=velocity, delay=late)
    np.testing.assert_allclose(last.qdd[-100:], signals.qdd[-100:], rtol=0, atol=1e-9)


def test_a_longer_delay_is_refused() -> None:
    still = np.zeros((len(T), 1))
    log = Log(T, still, still)
    with pytest.raises(InputError, match=r"delay=0\.01 s: at most 1\.5 samples, 0\.006 s"):
        prepare(log, 10.0, delay=0.01)
    with pytest.raises(InputError, match="delay"):
        next(stream([log], 10.0, delay="soon"))  # type: ignore[arg-type]


def test_stretches_of_a_few_samples_keep_their_torques() -> None:
    """As the last one of an excerpt may be."""
    log, robot = Log(T[:800], *(series(random_arm(0, 3), T[:800], k)[0] for k in (0, 1))), random_arm(0, 3)
    signals = prepare(log, 10.0)
    short = replace(signals, segments=(slice(0, 200), slice(200, 203)), **{x: getattr(signals, x)[:203] for x in ARRAYS})
    found = torques_after(short, 1e-3)
    np.testing.assert_array_equal(found[200:], short.tau_raw[200:])
    assert np.all(found[10:190] != short.tau_raw[10:190])
    assert common_delay(base_parameters(ParameterSet.of(robot)), short) == 0
