"""Descriptions as priors, partial knowledge, and intervals by bounds."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.errors import InputError, UnknownNameError
from qddot.identify import Fit, ParameterSet
from qddot.identify.regression.bodies import body_inertias, with_parameters
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

TRUE = random_arm(0, 3)
SET = ParameterSet.of(TRUE)
THETA = truth(SET)


def recorded(noise: float, seconds: float = 6.0, seed: int = 0):
    return simulated(SET, THETA, seconds, 100.0, (1e-6, noise), seed, motion=seed)


@pytest.fixture(scope="module")
def doubtful() -> Fit:
    """A short and noisy log; of the description the second link is twice as heavy as it is, the others are right to 2 %."""
    ten = body_inertias(TRUE)
    wrong = {"l0": 1.02 * ten["l0"], "l1": 2.0 * ten["l1"], "l2": 0.98 * ten["l2"]}
    described = with_parameters(TRUE, wrong, {})
    return described.identify(recorded(3.0, 3.0, 1), parameter_set=ParameterSet.of(described))


def test_a_wrong_description_loses_its_say(doubtful: Fit) -> None:
    pytest.importorskip("cvxpy")
    near = doubtful.near_description()
    off = near.deviations
    assert off["l1"] > 3 * max(off["l0"], off["l2"])
    assert "l1" not in near.silent
    t = np.arange(2000) / 100.0
    motion = series(TRUE, t, 7)
    tau = SET.matrix(*motion) @ THETA
    errors = {
        name: np.linalg.norm(robot.inverse_dynamics(*motion) - tau)
        for name, robot in (("near", near.robot), ("data", doubtful.robot))
    }
    stubborn = doubtful.near_description(dict.fromkeys(near.weights, 1e4)).robot
    assert errors["near"] < errors["data"]
    assert errors["near"] < np.linalg.norm(stubborn.inverse_dynamics(*motion) - tau)


def test_weights_are_checked(doubtful: Fit) -> None:
    pytest.importorskip("cvxpy")
    with pytest.raises(UnknownNameError, match="l9"):
        doubtful.near_description({"l9": 1.0})
    with pytest.raises(InputError, match="above zero"):
        doubtful.near_description({"l1": 0.0})


def test_partial_knowledge_narrows_what_it_is_about() -> None:
    """Posteriors of linear problems with normal priors: precisions add."""
    columns = SET.names.index("l2.m")
    free = TRUE.identify(recorded(0.5), parameter_set=SET)
    known = TRUE.identify(
        recorded(0.5), parameter_set=SET.expect({"l2.m": (float(THETA[columns]), 0.05 * abs(float(THETA[columns])))})
    )
    assert "l2.m" not in free.base.names
    assert known.parameters["l2.m"] == pytest.approx(THETA[columns], rel=0.1)
    assert known.verdict.has("excitation") == free.verdict.has("excitation")
    assert known.std["l2.m"] == pytest.approx(0.05 * abs(float(THETA[columns])), rel=1e-3)  # all that is known of it was said


@pytest.mark.parametrize("name", ["l2.m", "l2.mcx"])
def test_intervals_with_priors_hold_the_truth(name: str) -> None:
    """Of a prior that errs by as much as it says, for a parameter that torques show and for one that they do not."""
    true, draw, off = float(THETA[SET.names.index(name)]), np.random.default_rng(0), []
    deviation = 0.2 * abs(true)
    for _ in range(30):
        fit = TRUE.identify(
            recorded(0.5), parameter_set=SET.expect({name: (true + deviation * draw.normal(), deviation)}), cutoff=5.0
        )
        assert 0 < fit.std[name] < 1.001 * deviation
        off.append((fit.parameters[name] - true) / fit.std[name])
    assert np.mean(np.square(off)) < 2


def test_bounds_hold_for_sure() -> None:
    """Errors that are uniform within a bound: every true parameter lies within, and intervals shrink with the bound."""
    log = recorded(0.0)
    fit = TRUE.identify(log, parameter_set=SET, cutoff=5.0)
    wide, narrow = (fit.bounded_intervals(bound) for bound in (0.5, 0.1))
    true = fit.base.K @ THETA
    for found in (wide, narrow):
        assert ((found.intervals[:, 0] <= true) & (true <= found.intervals[:, 1])).all()
    assert (np.diff(narrow.intervals) < 0.21 * np.diff(wide.intervals)).all()
    with pytest.raises(InputError, match="no parameters keep every torque within"):
        TRUE.identify(recorded(2.0), parameter_set=SET).bounded_intervals(1e-3)
    with pytest.raises(InputError, match="bound="):
        fit.bounded_intervals(-1.0)
