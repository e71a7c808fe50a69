"""Somebody who learns: batches, robots that differ, rollouts, gradients that are right, an environment."""

import numpy as np
import pytest

import qddot
from qddot.rollout import PDLaw


def test_ten_minutes():
    arm = qddot.load("two_link")
    arms = arm.with_variable("payload", "gravity")
    q = arm.random_configuration(seed=0, size=64)
    loads = np.linspace(0, 1, 64)
    tau = arms.inverse_dynamics(q, 0 * q, 0 * q, variables={"payload": loads})
    np.testing.assert_allclose(tau[0], arm.gravity_torque(q[0]), atol=1e-12)
    np.testing.assert_allclose(tau[9], arms.with_values({"payload": loads[9]}).gravity_torque(q[9]), atol=1e-12)

    run = arm.rollout(PDLaw(kp=20, kd=4), step=1e-3)
    goals = np.zeros((64, 2))
    states = run(q, None, goals, steps=200, every=200)
    assert states.q.shape == (2, 64, 2)

    slopes, h = arm.forward_dynamics_derivatives(q[0], [0.3, 0.1], [1.0, 0.5]), 1e-6
    step = arm.forward_dynamics(q[0] + [h, 0], [0.3, 0.1], [1.0, 0.5]) - arm.forward_dynamics(q[0] - [h, 0], [0.3, 0.1], [1.0, 0.5])
    np.testing.assert_allclose(slopes.dqdd_dq[:, 0], step / (2 * h), rtol=1e-5, atol=1e-5)


def test_an_environment():
    pytest.importorskip("gymnasium", reason="gymnasium is not installed")
    from qddot.environments import Environments, Reach

    envs = Environments(Reach(qddot.load("two_link"), effort=5.0), 16)
    seen, _ = envs.reset(seed=0)
    seen, reward, *_ = envs.step(envs.action_space.sample())
    assert np.isfinite(seen).all()
    assert reward.shape == (16,)


def test_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-arrays")
    arm = qddot.load("two_link")
    q = torch.zeros(8, 2, dtype=torch.float64, requires_grad=True)
    (arm.gravity_torque(q) ** 2).sum().backward()
    assert q.grad.shape == (8, 2)
