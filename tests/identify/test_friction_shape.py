"""Intervals of logs whose friction turns back in another way than the model's."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.identify import Fit, Log, ParameterSet
from qddot.identify.friction_shape import step_slopes
from qddot.model.friction import smooth_step
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

ARM = random_arm(4, 3)
WIDTH = 0.05  # rad/s
PARAMETERS = ParameterSet.of(ARM, standstill=WIDTH)
THETA = truth(PARAMETERS)
STEPS = {
    "arctan": lambda x: 2 / np.pi * np.arctan(np.pi / 2 * x),
    "the model's": lambda x: smooth_step(x, 1.0),
}


def fit_of(step: str, seed: int) -> Fit:
    log = simulated(PARAMETERS, THETA, 20.0, 250.0, (1e-5, 0.02), seed, motion=seed)
    qd = series(ARM, log.t, seed)[1]
    coulomb = np.array([THETA[PARAMETERS.names.index(f"{joint}.coulomb")] for joint in ARM.joint_names])
    tau = log.tau + coulomb * (STEPS[step](qd / WIDTH) - smooth_step(qd, WIDTH))
    return ARM.identify(Log(log.t, log.q, tau, joint_names=ARM.joint_names))


def cover(fits: list[Fit]) -> float:
    """Part of the intervals of parameters of links and rotors that hold the truth."""
    held = []
    for fit in fits:
        known = dict(zip(PARAMETERS.names, THETA))
        value = fit.base.K @ [known.get(name, 0.0) for name in fit.parameter_set.names]
        low, high = fit.estimate.intervals.T
        rubs = [name.rpartition(".")[0] in ARM.joint_names and not name.endswith("armature") for name in fit.base.names]
        held += ((low <= value) & (value <= high))[~np.array(rubs)].tolist()
    return float(np.mean(held))


def test_intervals_allow_for_another_shape() -> None:
    fits = [fit_of("arctan", seed) for seed in range(4)]
    told = [finding.message for fit in fits for finding in fit.findings if finding.code == "shape"]
    assert len(told) == 4
    assert "has another shape than the model's" in told[0]
    assert all(fit.verdict for fit in fits)
    assert cover(fits) > 0.92  # 0.83 without it


def test_the_models_shape_widens_nothing() -> None:
    fits = [fit_of("the model's", seed) for seed in range(4)]
    assert not [finding for fit in fits for finding in fit.findings if finding.code == "shape"]
    assert cover(fits) > 0.9


def test_slopes_of_the_step() -> None:
    v, w, h = np.array([-3.0, -0.5, 0.01, 0.2, 0.4, 7.0]), 0.4, 1e-6

    def step(p: float, w: float) -> np.ndarray:
        return v * (w**p + np.abs(v) ** p) ** (-1 / p)

    by_power, by_width = step_slopes(v, w)
    assert by_power == pytest.approx((step(4 + h, w) - step(4 - h, w)) / (2 * h), rel=1e-4, abs=1e-9)
    assert by_width == pytest.approx((step(4, w * np.exp(h)) - step(4, w * np.exp(-h))) / (2 * h), rel=1e-6, abs=1e-9)
    assert np.array_equal(step_slopes(np.zeros(1), w), np.zeros((2, 1)))


def test_friction_that_is_a_sign_has_no_shape() -> None:
    log = simulated(PARAMETERS, THETA, 10.0, 250.0, (1e-5, 0.02), 0)
    fit = ARM.identify(log, parameter_set=ParameterSet.of(ARM, coulomb="sign"))
    assert not [finding for finding in fit.findings if finding.code == "shape"]
