"""Explicit Euler, to be learnt from: its order is one, and the energy of what swings grows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Builder, Drive


@pytest.fixture(scope="module")
def arm():
    return qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], inertias=[qddot.Inertia.point(1.0)] * 2, gravity=(0, -9.81, 0))


def test_order_one(arm):
    exact = arm.simulate([0.3, 0.4], None, [0, 1.0], method="DOP853", rtol=1e-12, atol=1e-12).q[-1]
    errors = [abs(arm.simulate([0.3, 0.4], None, 1.0, method="euler", step=h).q[-1] - exact).max() for h in (2e-4, 1e-4)]
    assert 1.8 < errors[0] / errors[1] < 2.2


def test_one_step_is_that_of_the_notes(arm):
    q, qd, h = np.array([0.3, 0.4]), np.array([1.0, -2.0]), 0.01
    motion = arm.simulate(q, qd, h, step=h, method="euler", torque=[0.5, 0.1])
    assert_allclose(motion.q[1], q + h * qd, rtol=1e-15)
    assert_allclose(motion.qd[1], qd + h * arm.forward_dynamics(q, qd, [0.5, 0.1]), rtol=1e-14)


def test_its_energy_grows_as_theory_says():
    """A mass m on a spring k: each step multiplies the energy by exactly 1 + h^2 k/m."""
    spring = Builder(gravity=(0, 0, 0)).body("m", joint="prismatic", mass=2.0, drive=Drive(stiffness=50.0)).robot()
    motion = spring.simulate([0.1], None, 2.0, method="euler", step=0.01)
    assert_allclose(motion.energy, motion.energy[0] * (1 + 0.01**2 * 25) ** np.arange(201), rtol=1e-10)
    assert motion.energy[-1] > 1.5 * motion.energy[0]


def test_batches_quaternions_loops_friction(arm):
    """Everything else is as with steps of order four."""
    q0 = np.random.default_rng(0).normal(size=(5, 2))
    batch = arm.simulate(q0, None, 0.1, method="euler")
    assert_allclose(batch.q[:, 3], arm.simulate(q0[3], None, 0.1, method="euler").q, rtol=1e-13)
    top = Builder().body("top", joint="spherical", mass=2.0, com=(0, 0, 0.1), tensor=(0.1, 0.1, 0.2)).robot()
    spin = top.simulate(top.neutral(), [0, 1, 5], 0.2, method="euler", step=1e-3)
    assert_allclose(np.linalg.norm(spin.q, axis=-1), 1, rtol=1e-14)
    bar = qddot.load("five_bar")
    loop = bar.simulate(bar.project(bar.neutral() + 0.1), None, 0.05, method="euler", stops=False)
    assert abs(bar.constraint_residual(loop.q)).max() < 1e-11
    block = Builder(gravity=(0, 0, 0)).body("m", joint="prismatic", mass=1.0, drive=Drive(coulomb=1.0)).robot()
    rest = block.simulate([0.0], [1.0], 2.0, method="euler", step=1e-3)
    assert rest.qd[-1, 0] == 0
    assert_allclose(rest.q[-1], 0.5, atol=2e-3)
