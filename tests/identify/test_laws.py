"""A law of friction that a log asks for is found, and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qddot.identify import ParameterSet
from tests.identify.arms import random_arm
from tests.identify.simulated import simulated, truth

ARM = random_arm(1, 4)
SIZE = {
    "stribeck": 2.0,
    "load": 0.15,
    "viscous_quadratic": 0.5,
    "viscous_cubic": 0.3,
    "viscous_negative": 3.0,
    "coulomb_negative": 4.0,
}

LAWS: dict[str, dict[str, Any]] = {
    "Stribeck": {"stribeck": 0.2},
    "load": {"load": True},
    "directions": {"asymmetric": True},
    "powers": {"viscous": 3},
}


def found(options: dict[str, Any]) -> tuple[Any, ParameterSet, np.ndarray]:
    parameters = ParameterSet.of(ARM, **options)
    theta = truth(parameters) + [SIZE.get(name.rpartition(".")[2], 0.0) for name in parameters.names]
    return ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), 1)), parameters, theta


@pytest.mark.parametrize("word", LAWS)
def test_a_law_that_is_there_is_added_first(word: str) -> None:
    fit, parameters, theta = found(LAWS[word])
    assert fit.verdict, fit.verdict
    said = [finding.message for finding in fit.findings if finding.code == "friction"]
    assert word in said[0]
    assert fit.training.relative < 0.005
    t = np.linspace(0, 6, 300)
    q, qd, qdd = (f(t[:, None] * [1.0, 1.3, 0.7, 1.6]) for f in (np.sin, np.cos, lambda x: -np.sin(x)))
    true = parameters.carrying(theta).matrix(q, qd, qdd) @ theta if parameters.is_loaded else parameters.matrix(q, qd, qdd) @ theta
    assert np.linalg.norm(fit.predict(q, qd, qdd) - true) < 0.02 * np.linalg.norm(true)


def test_speeds_of_dry_friction_are_found_together() -> None:
    """Stribeck's and that of the step at rest, of which the one takes in what the other lacks: links are biased by either."""
    for seed in range(3):
        parameters = ParameterSet.of(ARM, stribeck=0.2, standstill=0.03)
        theta = truth(parameters, seed) + [SIZE.get(name.rpartition(".")[2], 0.0) for name in parameters.names]
        fit = ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), seed, motion=seed))
        assert fit.parameter_set.asked["stribeck"] == pytest.approx(0.2, rel=0.02)
        assert fit.parameter_set.widths == pytest.approx(np.full(4, 0.03), rel=0.1)


def test_friction_by_direction_has_an_offset_besides() -> None:
    """Where a joint nearly rests an offset is no friction, and links would take it in."""
    fit, _, theta = found(LAWS["directions"])
    true = dict(zip(fit.parameter_set.names, theta))
    offsets = [name for name in true if name.endswith(".offset")]
    assert len(offsets) == 4
    for name in offsets:
        low, high = fit.intervals[name]
        assert high - low < 0.6
        assert abs(fit.parameters[name] - true[name]) < high - low
    assert fit.training.rms.max() < 0.05 * np.linalg.norm(fit.signals.low_pass.smooth)  # nothing but noise is left


def test_an_offset_is_left_out_that_cannot_be_told_from_friction_by_direction() -> None:
    assert not [name for name in ParameterSet.of(ARM, asymmetric=True, coulomb="sign").names if name.endswith("offset")]


def test_nothing_is_added_where_nothing_is_missing() -> None:
    fit, *_ = found({})
    assert not [finding for finding in fit.findings if finding.code == "friction"]
