"""Accidents that are more than one exchange, one sign or one joint: they are refused by their name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import qddot
from qddot.identify import Fit, Log, ParameterSet
from qddot.robot import Robot
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated, truth

ARM = random_arm(4, 4)
PARAMETERS = ParameterSet.of(ARM)
THETA = truth(PARAMETERS)
LOG = simulated(PARAMETERS, THETA, 20.0, 200.0, (1e-5, 0.05), 1)
REVERSED = slice(None, None, -1)
CYCLE = [1, 2, 0, 3]


def test_the_log_itself_is_identified() -> None:
    fit = ARM.identify(LOG)
    assert fit.verdict, fit.verdict


@pytest.mark.parametrize(
    ("log", "code", "text"),
    [
        (replace(LOG, tau=-LOG.tau), "sign", "all torques have the other sign"),
        (replace(LOG, q=LOG.q[:, REVERSED], tau=LOG.tau[:, REVERSED]), "order", "joints are from the tip to the base"),
        (replace(LOG, tau=LOG.tau[:, CYCLE]), "order", "torques are those of j1, j2, j0, j3, in this order"),
    ],
)
def test_what_is_done_to_many_joints_is_named(log: Log, code: str, text: str) -> None:
    first = ARM.identify(log).verdict.concerns[0]
    assert (first.code, first.serious) == (code, True), first
    assert text in first.text


def test_joints_in_the_order_of_the_alphabet_are_named() -> None:
    """As of messages whose joints are sorted by their names: here the base is the last of them."""
    names = dict(zip(ARM.joint_names, ("turn", "swing", "elbow", "hand")))
    joints = [replace(joint, name=names.get(joint.name, joint.name)) for joint in ARM.model.joints]
    robot = Robot(ARM.model.copy(joints=joints))
    place = np.argsort(robot.joint_names)
    log = replace(LOG, q=LOG.q[:, place], tau=LOG.tau[:, place], joint_names=robot.joint_names)
    first = robot.identify(log).verdict.concerns[0]
    assert first.code == "order", first
    assert first.text.startswith("joints are in the order of the alphabet")


@pytest.mark.parametrize(
    ("off", "gain", "texts"),
    [
        ([0, 0.1, -0.1, 0], 1.0, ("positions of j1 are 0.1 rad (m) too large", "positions of j2 are 0.1 rad (m) too small")),
        ([0, 0.05, -0.05, 0], 1.1, ("positions of j1 are 0.05", "positions of j2 are 0.05", "torques of j2 are 1.1 times")),
    ],
)
def test_errors_beside_each_other_are_all_named(off: list[float], gain: float, texts: tuple[str, ...]) -> None:
    """Each alone explains a part, and says another size."""
    first = ARM.identify(replace(LOG, q=LOG.q + off, tau=LOG.tau * [1, 1, gain, 1])).verdict.concerns[0]
    assert (first.code, first.serious) in (("zero", True), ("gain", True)), first
    assert all(text in first.text for text in texts), first


def braked() -> Log:
    """The arm stops for 1.5 s three times; brakes then hold it, and torques are nothing."""
    draw, rate = np.random.default_rng(2), 200.0
    t = np.arange(0, 25, 1 / rate)
    pace = np.ones_like(t)
    for start in (2.0, 9.0, 16.0):
        pace *= 1 - np.clip(np.minimum((t - start) / 0.5, (start + 2.5 - t) / 0.5), 0.0, 1.0)
    warped = np.concatenate([[0.0], np.cumsum((pace[1:] + pace[:-1]) / 2 / rate)])
    q, qd, qdd = series(ARM, warped)
    qd, qdd = qd * pace[:, None], qdd * pace[:, None] ** 2 + qd * np.gradient(pace, 1 / rate)[:, None]
    tau = np.where(pace[:, None] > 0, PARAMETERS.matrix(q, qd, qdd) @ THETA, 0.0)
    return Log(t, q + 1e-5 * draw.normal(size=q.shape), tau + 0.05 * draw.normal(size=q.shape), joint_names=ARM.joint_names)


@pytest.mark.parametrize(
    ("scale", "off", "code"), [([1, 1, 1, 1], 0.0, None), ([1, 1.2, 1, 1], 0.0, "gain"), ([1, 1, 1, 1], 0.1, "zero")]
)
def test_brakes_hide_nothing(scale: list[float], off: float, code: str | None) -> None:
    """Torques while brakes hold the arm are left out of the fit, and of the comparison that says what is wrong with it."""
    log = braked()
    fit = ARM.identify(replace(log, q=log.q + np.array([0, off, 0, 0]), tau=scale * log.tau))
    serious = [one.code for one in fit.verdict.concerns if one.serious]
    assert serious[:1] == ([code] if code else []), fit.verdict


@pytest.mark.parametrize("arm", ["j", "two_link"])
def test_knocks_are_named_with_their_times(arm: str) -> None:
    """The two-link arm's joints turn back so often that hardly a kernel of the filter is without a turn."""
    robot = ARM if arm == "j" else qddot.load(arm)
    parameters = ParameterSet.of(robot)
    log = LOG if arm == "j" else simulated(parameters, truth(parameters), 20.0, 200.0, (1e-5, 0.05), 1)
    tau = log.tau.copy()
    for k, middle in enumerate((3.0, 8.0, 11.0, 17.0)):
        tau += (-1) ** k * log.tau.std(axis=0) * np.exp(-(((log.t - middle) / 0.15) ** 2))[:, None]
    first = robot.identify(replace(log, tau=tau)).verdict.concerns[0]
    assert first.code == "contact", first
    assert first.text.count("between t = ") == 4


def slide(reversed_axis: bool) -> Fit:
    """A SCARA's, whose vertical slide counts as described, or the other way."""
    robot = qddot.load("scara")
    parameters = ParameterSet.of(robot)
    log = simulated(parameters, truth(parameters), 20.0, 200.0, (1e-5, 0.05), 1)
    sign = np.where(np.array([joint.kind == "prismatic" for joint in robot.model.joints if joint.name in robot.joint_names]), -1, 1)
    return robot.identify(replace(log, q=sign * log.q, tau=sign * log.tau) if reversed_axis else log)


def test_a_slide_that_counts_downwards_is_named() -> None:
    """Only the direction of a weight that never changes tells it: an offset takes in the rest."""
    assert slide(False).verdict
    wrong = slide(True).verdict
    assert [concern.code for concern in wrong.concerns if concern.serious] == ["axis"], wrong


def test_friction_brakes_by_all_its_laws_together() -> None:
    """A viscous constant may be negative beside a cubic one."""
    parameters = ParameterSet.of(ARM, viscous=3)
    sizes = {"viscous": -1.0, "viscous_cubic": 1.0, "coulomb": 3.0, "viscous_quadratic": 0.0}
    kinds = [name.rpartition(".")[2] for name in parameters.names]
    theta = np.array([sizes.get(kind, x) for kind, x in zip(kinds, truth(parameters))])
    fit = ARM.identify(simulated(parameters, theta, 20.0, 200.0, (1e-5, 0.05), 1), parameter_set=parameters)
    assert fit.parameters["j0.viscous"] < 0
    assert not fit.verdict.has("driving friction"), fit.verdict
