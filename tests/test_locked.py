"""Robots some of whose joints are locked: the others move as if these were held at rest."""

import warnings

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot import Builder, Drive, InputError, ModelValueError, ModelWarning, UnboundSymbolError, UnknownNameError
from tests.robots import random_model

RNG = np.random.default_rng(2)


@pytest.mark.parametrize("seed", range(4))
def test_the_others_move_as_if_it_were_held(seed):
    robot = qddot.Robot(random_model(np.random.default_rng(seed), 7, mimic=0.3))
    coordinates = robot.model.mechanism.coordinates
    chosen = coordinates[seed % len(coordinates)]
    q = robot.random_configuration(seed)
    qd, qdd = RNG.normal(size=(2, robot.nv))
    qd[list(chosen.v)] = qdd[list(chosen.v)] = 0
    locked = robot.with_locked({chosen.name: q[list(chosen.q)].tolist()})
    rest = [k for k in range(robot.nq) if k not in chosen.q], [k for k in range(robot.nv) if k not in chosen.v]
    assert_allclose(
        locked.inverse_dynamics(q[rest[0]], qd[rest[1]], qdd[rest[1]]),
        robot.inverse_dynamics(q, qd, qdd)[rest[1]],
        rtol=1e-10,
        atol=1e-10,
    )
    for frame in robot.link_names:
        assert_allclose(locked.transform(q[rest[0]], frame), robot.transform(q, frame), atol=1e-12)


def test_followers_are_locked_too():
    builder = Builder("gripper").body("hand", mass=1, com=(0, 0, 0.1))
    builder.body("left", "hand", joint="prismatic", axis="y", mass=0.1, limits=(0, 0.04), drive=Drive(viscous=1.0))
    builder.body("right", "hand", joint="prismatic", axis="-y", mass=0.1, mimic="left_joint")
    open_hand = builder.robot().with_locked({"left_joint": 0.04})
    assert open_hand.joint_names == ("hand_joint",)
    assert_allclose(open_hand.transform([0.0], "right")[:3, 3], [0, -0.04, 0])


def test_positions_may_be_arrays():
    robot = Builder().body("a", mass=1, com=(1, 0, 0)).body("b", "a", xyz=(1, 0, 0), mass=1, com=(1, 0, 0)).robot()
    for value in (np.array(0.3), np.array([0.3]), np.float32(0.3), [0.3], (0.3,)):
        assert_allclose(robot.with_locked({"b_joint": value}).transform([0.1]), robot.transform([0.1, 0.3]), atol=1e-7)


def test_a_position_beyond_the_limits_is_reported():
    robot = Builder().body("a", mass=1, com=(1, 0, 0), limits=(-0.5, 0.5)).body("b", "a", mass=1, com=(1, 0, 0)).robot()
    with pytest.warns(ModelWarning, match=r"joint 'a_joint' '0.6': locked beyond its limits \[-0.5, 0.5\]"):
        robot.with_locked({"a_joint": 0.6})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.with_locked({"a_joint": 0.5})


def test_symbols_need_values_first():
    m = sympy.Symbol("m", positive=True)
    robot = Builder().body("a", mass=m, com=(1, 0, 0)).body("b", "a", mass=1, com=(1, 0, 0)).robot()
    with pytest.raises(UnboundSymbolError, match="still holds the symbols m"):
        robot.with_locked({"b_joint": 0.1})
    assert robot.subs({m: 1.0}).with_locked({"b_joint": 0.1}).joint_names == ("a_joint",)


def test_what_cannot_be_locked():
    robot = qddot.load("four_bar")
    with pytest.raises(UnknownNameError, match="joint with coordinates of its own"):
        robot.with_locked({"nobody": 0.0})
    with pytest.raises(InputError, match="joints are locked at positions"):
        robot.with_locked([robot.joint_names[0]])
    for value, rule in (
        ([0.0, 1.0], "1 numbers are needed"),
        ([[0.0]], "1 numbers are needed"),
        (np.nan, "a position is finite"),
        (np.array([np.inf]), "a position is finite"),
        ("half open", "made of numbers"),
        (None, "a position is finite"),
    ):
        with pytest.raises(ModelValueError, match=rule):
            robot.with_locked({robot.joint_names[0]: value})
    ball = Builder().body("a", joint="spherical", mass=1, com=(1, 0, 0)).body("b", "a", mass=1, com=(1, 0, 0)).robot()
    for quaternion in ([0, 0, 0, 0], [2, 0, 0, 0]):
        with pytest.raises(ModelValueError, match="its quaternion wxyz has length"):
            ball.with_locked({"a_joint": quaternion})
    gyro = Builder().body("a", mass=1, com=(1, 0, 0), drive=Drive(rotor_inertia=1e-3, rotor_axis=(1, 0, 0))).robot()
    with pytest.raises(ModelValueError, match="its rotor is a gyroscope"):
        gyro.with_locked({"a_joint": 0.0})
