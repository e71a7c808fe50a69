"""Time-optimal paths: closed forms, limits held, toppra's times."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline, PPoly

import qddot
from qddot import Drive, Inertia
from qddot.control import ComputedTorque
from qddot.errors import ConvergenceError, InputError
from qddot.model.description import Joint, Link
from qddot.model.model import Model
from qddot.model.spatial import Vec
from qddot.robot import Robot, RobotLimits


def limits(n, velocity=np.inf, effort=np.inf):
    return RobotLimits(np.full(n, -np.inf), np.full(n, np.inf), np.full(n, velocity), np.broadcast_to(effort, (n,)))


def sledge(mass=2.0, **drive):
    joint = Joint("x", "prismatic", "base", "body", axis=Vec(1, 0, 0), drive=Drive(**drive) if drive else None)
    return Robot(Model("sledge", [Link("base"), Link("body", Inertia(mass))], [joint]))


LINE = PPoly(np.array([[[1.0]], [[0.0]]]), [0.0, 1.0])


def test_a_sledge_is_pushed_and_braked():
    motion = sledge().time_optimal(LINE, limits=limits(1, effort=4.0), points=201)
    assert_allclose(motion.duration, 2 * np.sqrt(1 / 2.0), rtol=1e-9)  # half the way with 2 m/s^2, half with -2
    assert_allclose(motion(0.3).q, [0.5 * 2 * 0.09], atol=1e-12)
    assert_allclose(np.abs(motion.torque()).max(), 4.0, atol=1e-9)


def test_limits_of_speed_and_acceleration():
    motion = sledge().time_optimal(LINE, limits=limits(1, velocity=0.5), acceleration=2.0, points=1001)
    assert_allclose(motion.duration, 1 / 0.5 + 0.5 / 2.0, rtol=1e-4)  # a trapezium
    assert np.abs(motion(np.linspace(0, motion.duration, 500)).qd).max() <= 0.5 + 1e-9


def test_friction_counts():
    push = 4.0
    dry = sledge(coulomb=1.0).time_optimal(LINE, limits=limits(1, effort=push), points=501)
    up, down = (push - 1) / 2, (push + 1) / 2
    way = down / (up + down)
    assert_allclose(dry.duration, np.sqrt(2 * way / up) + np.sqrt(2 * (1 - way) / down), rtol=1e-3)
    viscous = sledge(viscous=3.0).time_optimal(LINE, limits=limits(1, effort=push), points=301)
    assert np.abs(viscous.torque()).max() <= push * (1 + 1e-6)
    assert viscous.duration > sledge().time_optimal(LINE, limits=limits(1, effort=push), points=301).duration


EFFORT = np.array([90.0, 120.0, 60.0, 8.0, 8.0, 8.0])


def puma_path():
    rng = np.random.default_rng(3)
    return CubicSpline(np.linspace(0, 1, 5), rng.uniform(-1.2, 1.2, (5, 6)))


@pytest.mark.parametrize("bound", ["effort", "acceleration", "both"])
def test_toppra_agrees(bound):
    toppra = pytest.importorskip("toppra")
    from toppra import constraint

    toppra.setup_logging("ERROR")
    robot, path = qddot.load("puma560"), puma_path()
    bare = Robot(robot.model.copy(joints=[Joint(j.name, j.kind, j.parent, j.child, j.origin, j.axis) for j in robot.model.joints]))
    speed, acceleration = 3.0, 12.0
    mine = bare.time_optimal(
        path,
        limits=limits(6, velocity=speed, effort=EFFORT if bound != "acceleration" else np.inf),
        acceleration=acceleration if bound != "effort" else np.inf,
        points=201,
    )
    interpolated = constraint.DiscretizationType.Interpolation
    pair = lambda x: np.stack([-np.broadcast_to(x, 6), np.broadcast_to(x, 6)], axis=1).astype(float)  # noqa: E731
    rules = [constraint.JointVelocityConstraint(pair(speed))]
    if bound != "acceleration":
        torque = constraint.JointTorqueConstraint(bare.inverse_dynamics, pair(EFFORT), np.zeros(6))
        torque.set_discretization_type(interpolated)
        rules.append(torque)
    if bound != "effort":
        rules.append(constraint.JointAccelerationConstraint(pair(acceleration), discretization_scheme=interpolated))
    other = toppra.algorithm.TOPPRA(
        rules, toppra.SplineInterpolator(path.x, path(path.x)), gridpoints=mine.s, parametrizer="ParametrizeConstAccel"
    )
    _, sd, _ = other.compute_parameterization(0, 0)
    duration = float((2 * np.diff(mine.s) / (sd[1:] + sd[:-1])).sum())
    assert_allclose(mine.duration, duration, rtol=1e-4)
    assert_allclose(mine.speed, sd, atol=1e-3 * sd.max())


def test_torques_stay_within_their_limits_and_touch_them():
    robot = qddot.load("puma560")
    motion = robot.time_optimal(puma_path(), limits=limits(6, effort=EFFORT), points=301)
    share = np.abs(motion.torque()) / EFFORT
    assert share.max() <= 1 + 1e-6
    assert (share.reshape(-1, 2, 6).max((1, 2)) > 1 - 1e-6).mean() > 0.95  # always at some limit
    t = np.linspace(0, motion.duration, 2000)
    want = motion(t)
    assert_allclose(np.gradient(want.q, t, axis=0)[5:-5], want.qd[5:-5], atol=2e-2 * np.abs(want.qd).max())
    assert_allclose(motion(-1.0).q, puma_path()(0.0))
    assert_allclose(motion(1e9).qd, 0)


def test_a_controller_follows_it():
    robot = qddot.load("two_link")
    motion = robot.time_optimal([[0.0, 0.0], [0.8, -0.5], [1.2, 0.6]], acceleration=6.0, points=200)
    law = ComputedTorque(robot, lambda t: motion(t), kp=400, kd=40)
    run = robot.simulate([0, 0], None, motion.duration, torque=law, step=2e-3, saturate=False, stops=False)
    assert_allclose(run.q[-1], [1.2, 0.6], atol=5e-3)


def test_what_cannot_be_done_is_said():
    robot = qddot.load("puma560")
    with pytest.raises(InputError, match=r"corner at s = 0.5"):
        robot.time_optimal(PPoly(np.array([[[1.0] * 6, [-1.0] * 6], [[0.0] * 6, [0.5] * 6]]), [0.0, 0.5, 1.0]))
    with pytest.raises(InputError, match=r"joint 'joint2' to 3 at s = 1, beyond its limits \["):
        robot.time_optimal([[0.0] * 6, [0, 3.0, 0, 0, 0, 0]], acceleration=1.0)
    with pytest.raises(ConvergenceError, match="hold the robot"):
        robot.time_optimal(puma_path(), limits=limits(6, effort=1.0))
    with pytest.raises(InputError, match="waypoints"):
        robot.time_optimal([0.0] * 6)
    with pytest.raises(InputError, match="the same"):
        robot.time_optimal([[0.0] * 6, [0.0] * 6])
    with pytest.raises(InputError, match="without a range"):
        robot.time_optimal(lambda s: s)
    with pytest.raises(InputError, match="points"):
        robot.time_optimal(puma_path(), points=1)
    with pytest.raises(ConvergenceError, match="start_speed"):
        robot.time_optimal(puma_path(), limits=limits(6, velocity=1.0), acceleration=5.0, start_speed=50.0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"limits": [1.0]}, "robot.limits"),
        ({"limits": limits(1, effort=0.0)}, "effort"),
        ({"acceleration": [1.0, 2.0]}, "acceleration"),
        ({"acceleration": "fast"}, "acceleration"),
        ({"acceleration": np.nan}, "acceleration"),
        ({"start_speed": -1.0}, "from 0 to 1e"),
        ({"end_speed": 1e200}, "from 0 to 1e"),
        ({"end_speed": {}}, "end_speed"),
        ({"points": 10**9}, "at most 1000000"),
    ],
)
def test_limits_and_speeds_are_looked_at(given, said):
    with pytest.raises(InputError, match=said):
        sledge().time_optimal(LINE, **given)
