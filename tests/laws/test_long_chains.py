"""Long chains: frames parallel to the world's give what body frames give, with fewer operations."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.algorithms import kinematics
from qddot.algorithms.coriolis import coriolis_matrix
from qddot.algorithms.derivatives import inverse_dynamics_derivatives
from qddot.algorithms.kinematics import short_frames
from qddot.algorithms.mass_matrix import mass_matrix
from qddot.model.field import Floats
from qddot.robot import Robot
from tests.robots import ALL, CLASSIC, ONE_DOF, random_model


@pytest.mark.parametrize("seed", range(4))
def test_frames_parallel_to_the_worlds_change_nothing(seed, monkeypatch):
    """For trees of every type of joint, with joints that follow others."""
    robot = Robot(random_model(np.random.default_rng(seed), 9, kinds=ALL, mimic=0.2))
    model, rng = robot.model.over(Floats()), np.random.default_rng(seed)
    q, (qd, qdd) = robot.random_configuration(rng).tolist(), rng.normal(size=(2, robot.nv)).tolist()
    found = []
    for turned in (np.inf, -np.inf):
        monkeypatch.setattr(kinematics, "TURNED", turned)
        frames, _ = short_frames(model, q)
        assert (frames is model) == (turned > 0)
        found.append([mass_matrix(model, q), coriolis_matrix(model, q, qd), *inverse_dynamics_derivatives(model, q, qd, qdd)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * np.abs(b).max())


def test_a_long_chain_obeys_the_laws():
    robot = Robot(random_model(np.random.default_rng(1), 20, kinds=ONE_DOF, chain=True))
    model, rng = robot.model.over(Floats()), np.random.default_rng(1)
    q, (qd, _) = robot.random_configuration(rng), rng.normal(size=(2, 20))
    assert short_frames(model, q.tolist())[0] is not model
    M, C, still = robot.mass_matrix(q), robot.coriolis_matrix(q, qd), np.zeros(20)
    columns = [robot.inverse_dynamics(q, still, e) - robot.gravity_torque(q) for e in np.eye(20)]
    np.testing.assert_allclose(M, np.transpose(columns), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(C @ qd, robot.coriolis_torque(q, qd), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(C + C.T, robot.mass_matrix_rate(q, qd), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CLASSIC)
def test_usual_robots_keep_their_body_frames(name):
    robot = qddot.load(name)
    model = robot.model.over(Floats())
    assert short_frames(model, robot.random_configuration(1).tolist())[0] is model
