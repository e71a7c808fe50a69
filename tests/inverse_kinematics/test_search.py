"""Inverse kinematics by search: reachable poses are reached within the limits, the others are named."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot.errors import ConvergenceError, InputError, UnknownNameError
from tests.task_space.arms import SEVEN, SIX, TOOL, arm

QUARTER = np.pi / 2
UR5 = [
    (0, QUARTER, 0.089, 0),
    (-0.425, 0, 0, 0),
    (-0.392, 0, 0, 0),
    (0, QUARTER, 0.109, 0),
    (0, -QUARTER, 0.0947, 0),
    (0, 0, 0.0823, 0),
]


def reachable(robot, n, seed=0, frame=None):
    """Random configurations (n, nq) and their poses."""
    rng = np.random.default_rng(seed)
    q = np.stack([robot.random_configuration(rng) for _ in range(n)])
    return q, robot.transform(q, frame)


@pytest.mark.parametrize("name", ["puma560", "arm7", "ur5", *SIX, *SEVEN])
def test_reachable_poses_are_reached_within_the_limits(name):
    if name == "ur5":
        robot, frame = qddot.from_dh(UR5, convention="standard"), None
    elif name in SIX or name in SEVEN:
        robot, frame = arm(name).robot, TOOL
    else:
        robot, frame = qddot.load(name), None
    _, T = reachable(robot, 300, frame=frame)
    found = robot.inverse_kinematics(T.reshape(3, 100, 4, 4), frame)
    assert found.reached.shape == (3, 100)
    assert found.reached.all()
    assert_allclose(robot.transform(found.q, frame).reshape(T.shape), T, rtol=0, atol=3e-9)
    assert (found.q >= robot.limits.lower).all()
    assert (found.q <= robot.limits.upper).all()


def test_a_batch_is_what_each_pose_gives_from_its_start():
    robot = qddot.load("puma560")
    q, T = reachable(robot, 20)
    start = np.clip(q + 0.02, *robot.limits[:2])
    batch = robot.inverse_kinematics(T, start=start)
    assert_allclose(robot.transform(batch.q), T, atol=3e-9)
    for k in range(20):
        assert_array_equal(robot.inverse_kinematics(T[k], start=start[k]).q, batch.q[k])
    assert_array_equal(robot.inverse_kinematics(T, seed=3).q, robot.inverse_kinematics(T, seed=3).q)
    assert robot.inverse_kinematics(np.zeros((0, 4, 4))).q.shape == (0, 6)


def test_a_start_beside_a_solution_leads_to_it():
    robot = qddot.load("puma560")
    q = np.array([0.3, -0.5, 0.8, 1.2, 0.9, -0.4])
    assert_allclose(robot.inverse_kinematics(robot.transform(q), start=q + 0.05).q, q, atol=1e-9)


def test_two_link_by_the_law_of_cosines():
    first, second = 0.5, 0.3
    robot = qddot.from_dh([(first, 0, 0, 0), (second, 0, 0, 0)], convention="standard")
    x, y = 0.4, 0.35
    elbow = np.arccos((x * x + y * y - first**2 - second**2) / (2 * first * second))
    shoulder = lambda e: np.arctan2(y, x) - np.arctan2(second * np.sin(e), first + second * np.cos(e))  # noqa: E731
    found = robot.inverse_kinematics_solutions([x, y, 0])
    assert_allclose(sorted(found[0].tolist()), sorted([[shoulder(e), e] for e in (elbow, -elbow)]), atol=1e-9)


def test_rows_positions_and_held_joints():
    robot = qddot.load("arm7")
    q, T = reachable(robot, 50, 1)
    there = robot.inverse_kinematics(T[:, :3, 3])
    assert_allclose(robot.transform(there.q)[:, :3, 3], T[:, :3, 3], atol=2e-9)
    rows = robot.inverse_kinematics(T, rows=("x", "z"))
    assert_allclose(robot.transform(rows.q)[:, [0, 2], 3], T[:, [0, 2], 3], atol=2e-9)
    away = np.where(np.arange(7) == 2, q, 0.3)
    held = robot.inverse_kinematics(T, start=away, hold=robot.joint_names[2], limits=False)
    assert_array_equal(held.q[:, 2], q[:, 2])
    assert_allclose(robot.transform(held.q), T, atol=3e-9)


def test_a_planar_arm_reaches_poses_of_its_plane():
    robot = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0), (0.2, 0, 0, 0)], convention="standard")
    _, T = reachable(robot, 100, 2)
    assert_allclose(robot.transform(robot.inverse_kinematics(T).q), T, atol=3e-9)
    assert_array_equal(np.unique(robot.inverse_kinematics_solutions(T).count), [2])
    tilted = T[0].copy()
    tilted[:3, :3] = tilted[:3, :3] @ [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    with pytest.raises(ConvergenceError, match="rad are left"):
        robot.inverse_kinematics(tilted)


def test_poses_out_of_reach_are_named_and_the_closest_is_given_on_request():
    robot = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], convention="standard")
    far = np.array([[0.3, 0.2, 0], [1.2, 0.5, 0]])
    with pytest.raises(
        ConvergenceError, match=r"pose\[1\].*1 of 2 poses.*0.4 m.*1.3 m from the base, and the arm at most 0.9 m long"
    ):
        robot.inverse_kinematics(far)
    found = robot.inverse_kinematics(far, nearest=True)
    assert_array_equal(found.reached, [True, False])
    assert_allclose(found.distance[1], 0.4, atol=1e-6)  # stretched towards it
    assert_allclose(robot.transform(found.q[1])[:2, 3], 0.9 * far[1, :2] / 1.3, atol=1e-3)
    assert "Not reached" in repr(robot.inverse_kinematics(far[1], nearest=True))
    assert len(robot.inverse_kinematics_solutions(far[1])) == 0
    with pytest.raises(ConvergenceError, match=r"0.05 m.*may be out of reach"):
        robot.inverse_kinematics([0.05, 0, 0])


def test_limits_rule_out_what_lengths_allow():
    robot = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], convention="standard", limits=[(-1, 1), (0.2, 1)])
    position = robot.transform([0.3, 0.1])[:3, 3]
    with pytest.raises(ConvergenceError, match="within the joint limits"):
        robot.inverse_kinematics(position)
    assert len(robot.inverse_kinematics_solutions(position)) == 0
    assert len(robot.inverse_kinematics_solutions(position, limits=False)) == 2


def test_bad_input():
    robot, T = qddot.load("puma560"), np.eye(4)
    with pytest.raises(InputError, match="SE\\(3\\)"):
        robot.inverse_kinematics(2 * T)
    with pytest.raises(InputError, match="SE\\(3\\)"):
        robot.inverse_kinematics(np.diag([1.0, 1, -1, 1]))
    with pytest.raises(InputError, match="need a pose"):
        robot.inverse_kinematics([0.1, 0, 0], rows=("wx", "x"))
    with pytest.raises(InputError, match="finite"):
        robot.inverse_kinematics(T * np.nan)
    with pytest.raises(InputError, match="shape"):
        robot.inverse_kinematics(np.eye(5))
    with pytest.raises(InputError, match="hold needs start"):
        robot.inverse_kinematics(T, hold=["joint1"])
    with pytest.raises(InputError, match="every joint is held"):
        robot.inverse_kinematics(T, start=np.zeros(6), hold=robot.joint_names)
    with pytest.raises(UnknownNameError, match="joint7"):
        robot.inverse_kinematics(T, start=np.zeros(6), hold=["joint7"])
    with pytest.raises(InputError, match="leading dimensions"):
        robot.inverse_kinematics(np.stack([T, T]), start=np.zeros((3, 6)))
    with pytest.raises(InputError, match="starts"):
        robot.inverse_kinematics(T, starts=0)
    with pytest.raises(InputError, match="constraints"):
        qddot.load("five_bar").inverse_kinematics([0.1, 0.1, 0], frame=qddot.load("five_bar").frame_names[-1])
    with pytest.raises(InputError, match="infinitely many configurations: hold 1"):
        qddot.load("arm7").inverse_kinematics_solutions(T)


def test_variables_are_as_described():
    robot = qddot.load("puma560")
    pose = robot.transform([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    varied = robot.with_variable("joint3.xyz", "payload")
    assert_allclose(varied.inverse_kinematics(pose, seed=0).q, robot.inverse_kinematics(pose, seed=0).q)
    assert varied.inverse_kinematics_solutions(pose, limits=False).q.shape == (8, 6)
