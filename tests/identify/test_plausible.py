"""A description without masses: links come out as large and as heavy as arms are, or are said not to be."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import qddot
from qddot.errors import ModelWarning
from qddot.identify import Fit, Log, ParameterSet
from qddot.identify.physical.plausible import extents
from qddot.identify.regression.bodies import body_inertias
from qddot.robot import Robot
from tests.identify.simulated import ROBOTS, panda, simulated, truth

pytest.importorskip("cvxpy")


def without_masses(robot: Robot) -> Robot:
    return Robot(robot.model.copy(links=[replace(link, inertia=None) for link in robot.model.links]))


def identified(robot: Robot, scale: float = 1.0) -> Fit:
    parameter_set = ParameterSet.of(robot)
    log = simulated(parameter_set, truth(parameter_set), 20.0, 200.0, (1e-5, 0.02), 0)
    return without_masses(robot).identify(Log(log.t, log.q, scale * log.tau, joint_names=log.joint_names))


@pytest.mark.parametrize("name", ["two_link", "panda"])
def test_links_without_described_masses_are_plausible(name: str) -> None:
    if name == "panda" and ROBOTS is None:
        pytest.skip("needs example-robot-data")
    robot = panda() if name == "panda" else qddot.load(name)
    fit = identified(robot)
    assert fit.verdict
    assert any(finding.code == "split" for finding in fit.findings)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        found = body_inertias(fit.robot)
    total = sum(ten[0] for ten in body_inertias(robot).values())
    assert sum(ten[0] for ten in found.values()) == pytest.approx(total, rel=0.35)
    for body, extent in extents(robot).items():
        centre = found[body][1:4] / found[body][0]
        assert np.linalg.norm((centre - extent.centre) / extent.half) < 2
    assert fit.robot_error[0] < 1.02 * fit.training.relative
    weighed = body_inertias(fit.robot_weighing(total))
    assert sum(ten[0] for ten in weighed.values()) == pytest.approx(total, rel=1e-3)


def test_torques_in_another_unit_make_links_that_no_arm_has() -> None:
    fit = identified(qddot.load("two_link"), scale=1000.0)  # milli, which only the links' size contradicts
    assert not fit.verdict.identified
    assert fit.verdict.concerns[0].code == "units"
    assert "of solid metal they would weigh" in str(fit.verdict)
    with pytest.warns(ModelWarning, match=r"body_\d weighs .* more than metal"):
        _ = fit.robot
