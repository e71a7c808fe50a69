"""Closed loops in motion: they stay closed, and their forces do no work."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Builder, InputError


def start(name):
    """A robot with closed loops, and a state on them in which it moves."""
    robot = qddot.load(name)
    q = robot.project(robot.neutral() + 0.1)
    return robot, q, robot.project_velocity(q, np.linspace(1, 2, robot.nv))


def check(robot, motion):
    assert abs(robot.constraint_residual(motion.q)).max() <= 1e-9
    A = robot.constraint_jacobian(motion.q)
    rate, force = (A @ motion.qd[..., None])[..., 0], (np.swapaxes(A, -1, -2) @ motion.lam[..., None])[..., 0]
    assert abs(rate).max() <= 1e-9
    power = abs((force * motion.qd).sum(-1)).max()
    total = (abs(force * motion.qd).sum(-1)).max()
    assert power <= 1e-9 * total
    Adot = robot.constraint_jacobian_dot(motion.q, motion.qd)
    assert_allclose((A @ motion.qdd[..., None] + Adot @ motion.qd[..., None])[..., 0], 0, atol=1e-6)


@pytest.mark.parametrize(("name", "step"), [("four_bar", 1e-2), ("delta", 4e-3)])
def test_loops_stay_closed(name, step):
    """The figure: a drift of at most 1e-9 over 10 s, and a power of at most 1e-9 of the total."""
    robot, q, qd = start(name)
    motion = robot.simulate(q, qd, 10.0, step=step, stops=False)
    check(robot, motion)


def test_adaptive_methods_keep_energy_and_loops():
    robot, q, qd = start("delta")
    motion = robot.simulate(q, qd, 0.2, method="DOP853", step=0.05, stops=False)
    check(robot, motion)
    assert abs(motion.energy - motion.energy[0]).max() < 1e-7 * motion.kinetic_energy.max()
    steps = robot.simulate(q, qd, 0.2, step=1e-3, stops=False)
    assert_allclose(steps.q[::50], motion.q, atol=1e-6)


def test_a_wire_makes_a_pendulum():
    """A bead on a plane, held at a distance from the origin, swings like a pendulum of that length."""
    bead = (
        Builder(gravity=(0, 0, -9.81))
        .body("x", joint="prismatic", axis="x", mass=0)
        .body("bead", "x", "prismatic", axis="z", mass=0.7)
    )
    robot = bead.robot()
    wire = qddot.holonomic(lambda at: [at.q[0] * at.q[0] + at.q[1] * at.q[1] - 1])
    plain = Builder().body("rod", axis="y", mass=0.7, com=(0, 0, -1)).robot()
    angle = plain.simulate([0.8], None, 0.3, step=2e-3)
    motion = robot.simulate([-np.sin(0.8), -np.cos(0.8)], None, 0.3, constraints=wire, step=2e-3)
    assert_allclose(motion.q, np.c_[-np.sin(angle.q), -np.cos(angle.q)], atol=1e-8)
    tension = 0.7 * (angle.qd**2 + 9.81 * np.cos(angle.q))  # of the wire, which pulls inward
    assert_allclose(abs(2 * motion.lam), tension, atol=1e-6)


def test_friction_in_a_loop_holds_it():
    robot = qddot.load("five_bar")
    model = robot.model
    joints = [replace(joint, drive=qddot.Drive(coulomb=100.0)) if joint.kind != "fixed" else joint for joint in model.joints]
    stiff = qddot.Robot(model.copy(joints=joints))
    q = stiff.project(stiff.neutral() + 0.1)
    for method in ("rk4", "DOP853"):
        motion = stiff.simulate(q, None, 0.05, method=method, step=5e-3, stops=False)
        assert_allclose(motion.q, np.broadcast_to(q, motion.q.shape), atol=1e-11)
        assert_allclose(motion.qdd, 0, atol=1e-9)


def test_what_is_refused():
    robot, q, qd = start("delta")
    with pytest.raises(InputError, match="violates the constraints"):
        robot.simulate(q + 0.01, qd, 0.1, stops=False)
    with pytest.raises(InputError, match="constraints know the robot's own parameters"):
        robot.simulate(q, qd, 0.1, parameters=np.zeros(10 * len(robot.body_names)))


def test_the_open_tree_moves_when_asked_for():
    robot, q, qd = start("delta")
    opened = robot.simulate(q, qd, 0.1, constraints=False, stops=False)
    assert opened.lam is None
    assert abs(robot.constraint_residual(opened.q)).max() > 1e-3
