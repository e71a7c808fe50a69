"""Faults that parameters absorb but for a trace, or that come with a motion or a friction that hides them, are named."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import qddot
from qddot.identify import Log, ParameterSet
from qddot.robot import Robot
from tests.identify.arms import random_arm
from tests.identify.simulated import ROBOTS, series, simulated, truth

PUMA = qddot.load("puma560")
SECONDS, RATE = 25.0, 200.0


def recorded(robot: Robot, seed: int = 0, noise: tuple[float, float] = (2e-5, 0.05)) -> Log:
    """A log of an arm with friction, whose joints turn through most of their range, or through a turn and a half."""
    parameters = ParameterSet.of(robot)
    return simulated(parameters, truth(parameters, seed), SECONDS, RATE, noise, seed, seed)


def scaled(log: Log, joint: int, gain: float) -> Log:
    return replace(log, tau=log.tau * np.where(np.arange(log.tau.shape[1]) == joint, gain, 1.0))


def first_reason(robot: Robot, log: Log) -> str:
    serious = [concern for concern in robot.identify(log).verdict.concerns if concern.serious]
    return str(serious[0]) if serious else "identified"


@pytest.mark.parametrize("seed", range(2))
def test_a_clean_log_is_identified(seed: int) -> None:
    assert first_reason(PUMA, recorded(PUMA, seed)) == "identified"


@pytest.mark.parametrize("seed", range(2))
def test_a_scaled_torque_that_a_last_link_absorbs_is_a_gain(seed: int) -> None:
    """All but a trace of it could be a heavier link, and 30 % of its friction is wrong."""
    arm = qddot.load("panda")
    assert first_reason(arm, recorded(arm, seed)) == "identified"
    assert first_reason(arm, scaled(recorded(arm, seed), 6, 1.3)).startswith("gain: torques of joint7")


def test_torques_that_are_nearly_nothing_are_no_clipped_ones() -> None:
    arm = random_arm(0, 3)
    assert first_reason(arm, scaled(recorded(arm), 1, 0.02)).startswith("gain: torques of j1")


def test_a_gain_is_named_though_friction_leaves_more_than_it() -> None:
    """Friction that grows with the root of the speed is no law of the library."""
    log = recorded(PUMA)
    _, qd, _ = series(PUMA, log.t)
    rubbing = 0.5 * log.tau.std(axis=0) * np.sign(qd) * np.sqrt(np.abs(qd) / qd.std(axis=0))
    rough = replace(log, tau=log.tau + rubbing)
    assert first_reason(PUMA, rough) == "identified"
    assert first_reason(PUMA, scaled(rough, 0, 1.15)).startswith("gain: torques of joint1")


@pytest.mark.parametrize("seed", [0, 2])
def test_a_link_drawn_too_long_is_a_matter_of_geometry(seed: int) -> None:
    arm = random_arm(seed, 3)
    model = arm.model
    far = [
        replace(joint, origin=joint.origin._replace(p=type(joint.origin.p)(*(1.05 * float(x) for x in joint.origin.p))))
        if joint.name == "j1"
        else joint
        for joint in model.joints
    ]
    assert first_reason(Robot(model.copy(joints=far)), recorded(arm, seed)).startswith("geometry: j1 sits")


def test_positions_in_turns_are_in_another_unit() -> None:
    log = recorded(PUMA)
    assert first_reason(PUMA, replace(log, q=log.q / (2 * np.pi))).startswith("units: positions are in turns")


def test_positions_that_are_all_reversed_have_the_other_sign() -> None:
    log = recorded(PUMA)
    assert first_reason(PUMA, replace(log, q=-log.q)).startswith("sign: all positions have the other sign")


@pytest.mark.parametrize("degrees", [25.0, 35.0])
def test_an_upright_axis_that_leans_far_is_a_tilt(degrees: float) -> None:
    """The moments of its link then show, which they do not as described."""
    down = np.array([float(x) for x in PUMA.model.gravity])
    aside = np.linalg.svd(down[None])[2][1:].T @ [0.6, 0.8] * np.linalg.norm(down)
    angle = np.radians(degrees)
    leaning = PUMA.with_gravity(tuple(np.cos(angle) * down + np.sin(angle) * aside))
    assert first_reason(PUMA, recorded(leaning)).startswith(f"tilt: the base is tilted by {degrees:.2g} degrees")


def test_a_clock_that_drifts_by_an_eighth_of_a_second_is_no_delay() -> None:
    log = recorded(PUMA)
    slow = np.stack([np.interp(1.005 * log.t, log.t, x) for x in log.tau.T], axis=1)
    assert first_reason(PUMA, replace(log, tau=slow)[: int(0.99 * len(log))]).startswith("clock: the clock of the torques is 0.")


@pytest.mark.parametrize("name", ["tau", "q"])
def test_a_channel_that_is_a_copy_is_named(name: str) -> None:
    log = recorded(PUMA)
    x = getattr(log, name).copy()
    x[:, 2] = x[:, 1]
    what = {"tau": "torques", "q": "positions"}[name]
    assert first_reason(PUMA, replace(log, **{name: x})).startswith(f"copied channel: the {what} of joint2 and joint3")


def test_friction_that_changes_is_named_where_it_is_most_of_the_torque() -> None:
    arm = qddot.load("two_link")
    parameters = ParameterSet.of(arm)
    theta = truth(parameters, 2)
    log = recorded(arm, 2)
    _, qd, _ = series(arm, log.t, 2)
    viscous, dry = (theta[parameters.place(f"joint2.{kind}")] for kind in ("viscous", "coulomb"))
    less = 0.6 * (log.t > 9.3) * (viscous * qd[:, 1] + dry * np.tanh(qd[:, 1] / 0.03))
    tau = log.tau - less[:, None] * [0.0, 1.0]
    assert first_reason(arm, replace(log, tau=tau)).startswith("friction changes: friction of joint2 changes from t = 9.")


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_a_second_of_a_log_is_too_little_and_no_other_load(seed: int) -> None:
    arm = random_arm(seed, 3)
    assert first_reason(arm, recorded(arm, seed)[800:1000]).startswith("insufficient excitation")


@pytest.mark.skipif(ROBOTS is None, reason="example-robot-data is not installed")
def test_errors_that_come_and_go_without_moving_parameters_are_no_contact() -> None:
    """Before its friction becomes less, the elbow turns most in the first second."""
    assert ROBOTS is not None
    arm = qddot.load(ROBOTS / "ur_description/urdf/ur5_robot.urdf")
    parameters = ParameterSet.of(arm)
    theta = truth(parameters, 6)
    log = simulated(parameters, theta, 20.0, 250.0, (1e-5, 0.05), 6, 6)
    _, qd, _ = series(arm, log.t, 6)
    viscous, dry = (theta[parameters.place(f"elbow_joint.{kind}")] for kind in ("viscous", "coulomb"))
    less = 0.6 * (log.t > 10.9) * (viscous * qd[:, 2] + dry * np.tanh(qd[:, 2] / 0.03))
    tau = log.tau - less[:, None] * (np.arange(arm.nv) == 2)
    assert first_reason(arm, replace(log, tau=tau)).startswith("friction changes: friction of elbow_joint")


@pytest.mark.parametrize("friction", [{"viscous": False, "coulomb": None}, {"coulomb": "sign"}], ids=["none", "sign"])
def test_a_delay_is_named_with_friction_of_any_form(friction: dict) -> None:
    """Also of a model without friction, and with the sign of the speed, whose step has no width."""
    robot = qddot.load("two_link")
    parameters = ParameterSet.of(robot, **friction)
    log = simulated(parameters, truth(parameters), SECONDS, RATE, (2e-5, 0.01), 0, 0)
    late = Log(log.t, log.q, np.concatenate([log.tau[:8], log.tau[:-8]]), joint_names=log.joint_names)
    concern = next(c for c in robot.identify(late, parameter_set=parameters).verdict.concerns if c.serious)
    assert concern.code == "delay", concern


def test_units_of_each_joint_are_found_together() -> None:
    """The heavy joints' are; those of light wrists hardly show."""
    gains = np.array([1.2, 0.9, 1.1, 1.3, 0.8, 1.15])
    log = recorded(PUMA)
    text = str(PUMA.identify(replace(log, tau=log.tau * gains)).verdict)
    for name, gain in zip(PUMA.joint_names[1:3], gains[1:3] / gains[0]):
        found = re.search(rf"against joint1: .*?{name} ([\d.]+)", text)
        assert found is not None, text
        assert float(found[1]) == pytest.approx(gain, rel=0.02), text


def test_equal_arms_that_move_alike_need_equal_torques() -> None:
    robot = qddot.load("two_link")
    log = recorded(robot, noise=(0.0, 0.0))
    concerns = [c.code for c in robot.identify(replace(log, tau=log.tau[:, [0, 0]])).verdict.concerns if c.serious]
    assert "copied channel" in concerns, concerns
