"""Configurations: neutral, random, integrate, difference, on coordinates and on manifolds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qddot
from qddot.model.joints import quaternion_exp, quaternion_log, translation_factor
from qddot.robot import Robot
from tests.robots import random_model

seeds = st.integers(0, 2**32 - 1)


def robot_from(seed: int) -> tuple[Robot, np.random.Generator]:
    rng = np.random.default_rng(seed)
    return Robot(random_model(rng, int(rng.integers(1, 7)))), rng


@given(seeds)
def test_difference_undoes_integrate(seed):
    robot, rng = robot_from(seed)
    q, v = robot.random_configuration(rng), rng.uniform(-0.9, 0.9, size=robot.nv)
    np.testing.assert_allclose(robot.difference(q, robot.integrate(q, v)), v, atol=1e-12)
    np.testing.assert_allclose(robot.integrate(q, 0 * v), q, atol=1e-15)
    np.testing.assert_array_equal(robot.difference(q, q), 0 * v)


@given(seeds)
def test_integrate_takes_batches(seed):
    robot, rng = robot_from(seed)
    q, v = robot.random_configuration(rng), rng.normal(size=(3, 2, robot.nv))
    moved = robot.integrate(q, v)
    assert moved.shape == (3, 2, robot.nq)
    np.testing.assert_allclose(moved[2, 1], robot.integrate(q, v[2, 1]), atol=1e-15)
    assert robot.difference(q, moved).shape == (3, 2, robot.nv)


@given(seeds)
def test_a_small_step_moves_frames_by_their_body_jacobian(seed):
    from qddot.algorithms import jacobian, kinematics
    from qddot.model.field import Floats

    robot, rng = robot_from(seed)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    model, frame, h = robot.model.over(Floats()), robot.frame_names[-1], 1e-6

    def pose(x):
        T = kinematics.frame_pose(model, list(x), frame)
        return np.array(T.R, float), np.array(T.p, float)

    (R1, p1), (R0, p0) = pose(robot.integrate(q, h * v)), pose(robot.integrate(q, -h * v))
    twist = np.array(jacobian.rows(jacobian.jacobian(model, list(q), frame, "world_aligned")), float) @ v
    W = (R1 - R0) / (2 * h) @ pose(q)[0].T
    np.testing.assert_allclose([W[2, 1], W[0, 2], W[1, 0]], twist[:3], atol=1e-7 * max(1, abs(twist).max()))
    np.testing.assert_allclose((p1 - p0) / (2 * h), twist[3:], atol=1e-7 * max(1, abs(twist).max()))


def test_random_configurations_are_seeded_and_within_limits():
    robot = qddot.load("arm7")
    a, b = robot.random_configuration(3), robot.random_configuration(3)
    np.testing.assert_array_equal(a, b)
    many = np.array([robot.random_configuration(i) for i in range(200)])
    assert (many >= robot.limits.lower).all()
    assert (many <= robot.limits.upper).all()
    assert (np.ptp(many, axis=0) > 0.8 * (robot.limits.upper - robot.limits.lower)).all()


def test_neutral_is_zero_with_identity_quaternions():
    robot = qddot.load("two_link", floating=True)
    np.testing.assert_array_equal(robot.neutral(), [1, 0, 0, 0, 0, 0, 0, 0, 0])
    assert (robot.nq, robot.nv) == (9, 8)


@pytest.mark.parametrize("size", [1e-12, 1e-6, 1e-3, 0.3, 3.0])
def test_exponential_and_logarithm_keep_their_digits(size):
    w = np.array([1.0, -2.0, 0.5]) * size / np.linalg.norm([1.0, -2.0, 0.5])
    np.testing.assert_allclose(quaternion_log(quaternion_exp(w)), w, rtol=1e-14)
    from scipy.linalg import expm

    xi = np.zeros((4, 4))
    xi[0, 1], xi[0, 2], xi[1, 2] = -w[2], w[1], -w[0]
    xi[:3, :3] -= xi[:3, :3].T
    xi[:3, 3] = v = [0.3, -0.7, 1.1]
    np.testing.assert_allclose(translation_factor(w) @ v, expm(xi)[:3, 3], rtol=1e-13)
