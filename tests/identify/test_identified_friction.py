"""A robot as identified predicts what the fit predicts, whatever friction was asked for, also after a file."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import ModelWarning
from qddot.identify import ParameterSet
from tests.identify.arms import random_arm
from tests.identify.simulated import series, simulated

ASKED = {
    "usual": {},
    "hard": {"coulomb": "sign"},
    "each way": {"asymmetric": True},
    "Stribeck": {"stribeck": 0.3},
    "cubic": {"viscous": 3},
    "load": {"load": True, "offset": False},
    "harmonics": {"harmonics": {"j0": 2, "j2": (5,)}},
    "coupled": {"coupled": [("j1", "j2")]},
    "all": {"stribeck": 0.3, "viscous": 3, "load": True, "standstill": 0.1},
}
SIZES = {
    "viscous": 2.0,
    "coulomb": 3.0,
    "offset": -0.4,
    "armature": 0.3,
    "stribeck": 1.0,
    "load": 0.15,
    "viscous_cubic": 0.1,
    "cos1": 2.0,
    "sin5": 1.0,
}
COUPLED = {"j1+j2.armature": 0.1, "j1+j2.viscous": 0.5, "j1+j2.coulomb": 1.0}


QUICK = ("hard", "all", "harmonics", "coupled")


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in ASKED])
def test_the_robot_predicts_as_the_fit_does(name, tmp_path):
    robot = random_arm(4, 3)
    parameters = ParameterSet.of(robot, **ASKED[name])
    draw = np.random.default_rng(0)
    kinds = [x.rpartition(".")[2] for x in parameters.names]
    sizes = [SIZES.get(kind, SIZES.get(kind.removesuffix("_negative"), 0.2 if "viscous" in kind else None)) for kind in kinds]
    theta = np.array([x if s is None else s * draw.uniform(0.5, 1.5) for s, x in zip(sizes, parameters.described)])
    theta = np.array([COUPLED.get(name, x) for name, x in zip(parameters.names, theta)])
    parameters = parameters.carrying(parameters.full(theta))  # the load is that of this robot
    fit = robot.identify(
        simulated(parameters, theta, 20.0, 200.0, (0, 1e-3), 1), parameter_set=ParameterSet.of(robot, **ASKED[name])
    )
    assert fit.left_out == ()
    q, qd, qdd = series(robot, np.linspace(0, 3, 200), 7)
    predicted, scale = fit.predict(q, qd, qdd), np.abs(fit.predict(q, qd, qdd)).max()
    assert fit.consistent.kept
    assert np.abs(fit.robot.inverse_dynamics(q, qd, qdd) - predicted).max() < 1e-9 * scale
    fit.robot.to_toml(tmp_path / "found.toml")
    files = ("found.toml",) if name == "coupled" else ("found.toml", "found.urdf")  # URDF has no motors for two joints
    for file in files:
        (fit.robot.to_toml if file.endswith("toml") else fit.robot.to_urdf)(tmp_path / file)
        assert np.abs(qddot.load(tmp_path / file).inverse_dynamics(q, qd, qdd) - predicted).max() < 1e-9 * scale
    tau = parameters.matrix(q, qd, qdd) @ theta
    assert np.abs(predicted - tau).max() < 2e-3 * np.abs(tau).max()


def test_friction_of_nearly_the_whole_load():
    """Parameters and load by turns alone would settle as slowly as friction is large."""
    robot = qddot.load("two_link")
    asked = ParameterSet.of(robot, load=True)
    sizes = SIZES | {"load": 0.9}
    theta = np.array([sizes.get(name.rpartition(".")[2], x) for name, x in zip(asked.names, asked.described)])
    fit = robot.identify(simulated(asked.carrying(theta), theta, 20.0, 100.0, (0, 1e-3), 1), parameter_set=asked)
    assert [fit.parameters[f"{joint}.load"] for joint in robot.joint_names] == pytest.approx([0.9, 0.9], abs=1e-4)


def test_constants_that_no_motor_of_two_joints_has_are_named():
    robot = random_arm(4, 3)
    parameters = ParameterSet.of(robot, coupled=[("j1", "j2")])
    sizes = COUPLED | {"j1+j2.viscous": -0.3, "j1+j2.armature": 5.0}  # less than none, and more than both rotors
    theta = [sizes.get(x, SIZES.get(x.rpartition(".")[2], y)) for x, y in zip(parameters.names, parameters.described)]
    log = simulated(parameters, np.array(theta), 20.0, 200.0, (0, 1e-3), 1)
    fit = robot.identify(log, parameter_set=parameters)
    assert set(fit.left_out) == {"j1+j2.viscous", "j1+j2.armature"}
    with pytest.warns(ModelWarning, match=r"it cannot hold j1\+j2.armature, j1\+j2.viscous"):
        assert fit.robot


def test_a_lift_weighs_the_same_in_the_fit_and_in_its_robot():
    """Torques do not tell its weight from an offset, but friction grows with the weight alone. It moves by a few centimetres."""
    lift = qddot.Builder("lift", gravity=(0, 0, -9.81)).body("car", joint="prismatic", mass=8, com=(0.05, 0, 0.1), limits=(0, 0.08))
    robot = lift.body("arm", "car", axis="y", xyz=(0.1, 0, 0.3), mass=4, com=(0.2, 0, 0), tensor=(0.02, 0.09, 0.08)).robot()
    steps = {"car_joint": 0.002, "arm_joint": 0.03}
    parameters = ParameterSet.of(robot, load=True, standstill=steps)
    sizes = [SIZES.get(name.rpartition(".")[2]) for name in parameters.names]
    theta = np.array([x if s is None else s for s, x in zip(sizes, parameters.described)])
    parameters = parameters.carrying(parameters.full(theta))
    asked = ParameterSet.of(robot, load=True, standstill=steps)
    fit = robot.identify(simulated(parameters, theta, 20.0, 500.0, (1e-7, 1e-2), 1), parameter_set=asked)
    assert fit.verdict, fit.verdict  # a slider need not move by a tenth of a metre
    q, qd, qdd = series(robot, np.linspace(0, 3, 200), 7)
    predicted = fit.predict(q, qd, qdd)
    assert fit.consistent.kept
    assert np.abs(fit.robot.inverse_dynamics(q, qd, qdd) - predicted).max() < 1e-9 * np.abs(predicted).max()


def test_recorded_accelerations_are_used():
    """Where they agree with the positions, which are noisy here; others are left alone, with a word."""
    robot = random_arm(4, 3)
    parameters = ParameterSet.of(robot)
    t = np.arange(4000) / 200.0
    q, qd, qdd = series(robot, t)
    draw = np.random.default_rng(0)
    noisy = q + 1e-4 * draw.normal(size=q.shape)
    tau = parameters.matrix(q, qd, qdd) @ parameters.described
    recorded = qddot.identify.Log(t, noisy, tau, joint_names=robot.joint_names, qdd=qdd)
    without = qddot.identify.Log(t, noisy, tau, joint_names=robot.joint_names)
    wrong = qddot.identify.Log(t, noisy, tau, joint_names=robot.joint_names, qdd=qdd[::-1])
    fits = [robot.identify(log, parameter_set=parameters, method="wls") for log in (recorded, without, wrong)]
    better, plain, other = (np.linalg.norm(fit.signals.qdd - qdd[np.searchsorted(t, fit.signals.t - 1e-9)]) for fit in fits)
    assert better < 0.2 * plain
    assert other == plain
    told = [next((x.message for x in fit.findings if x.code == "acceleration"), "") for fit in fits]
    assert told[0].startswith("the log's")
    assert told[1] == ""
    assert told[2].startswith("positions are differentiated")


def test_bias_without_drives():
    robot = qddot.load("puma560")
    q, qd = np.random.default_rng(0).normal(size=(2, 5, robot.nv))
    links = robot.coriolis_torque(q, qd) + robot.gravity_torque(q)
    np.testing.assert_allclose(robot.bias_torque(q, qd, drives="without"), links, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(robot.bias_torque(q, qd) - links, robot.friction_torque(qd), rtol=1e-9, atol=1e-12)


def test_the_bias_has_the_gyroscopes():
    """Without drives, too: a rotor on a moving link is a body, and its spin is part of C."""
    rows, links = [(0.3, 1.0, 0, 0), (0.2, -0.5, 0, 0), (0.2, 0, 0, 0)], [qddot.Inertia.sphere(1, 0.1)] * 3
    rotor = qddot.Drive(rotor_inertia=1e-3, gear_ratio=50, rotor_axis=(1, 0, 0), viscous=0.1)
    bare, spinning = (qddot.from_dh(rows, convention="standard", inertias=links, drives=[None, None, x]) for x in (None, rotor))
    q, qd = np.random.default_rng(1).normal(size=(2, 5, 3))
    bias = spinning.bias_torque(q, qd, drives="without")
    np.testing.assert_allclose(bias, spinning.coriolis_torque(q, qd) + spinning.gravity_torque(q), rtol=1e-12, atol=1e-12)
    stacked = spinning.newton_euler_matrices(q, qd)
    np.testing.assert_allclose(bias, stacked.c + stacked.g, rtol=1e-12, atol=1e-12)
    assert abs(bias - bare.bias_torque(q, qd)).max() > 1e-2
