"""Options that no other test gives: each beside what it must be equal to."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot.contact import Contacts, Plane, Sphere, bounce
from qddot.control import MomentumObserver
from qddot.errors import InputError

PUSH = [0.3, -0.2, 0.5, 1.0, -2.0, 0.7]


@pytest.fixture(scope="module")
def arm():
    return qddot.load("two_link")


def test_bias_torque_under_a_force_at_the_tip(arm):
    q, qd = [0.3, 0.8], [1.0, -2.0]
    assert_allclose(
        arm.bias_torque(q, qd, f_tip={"body_2": PUSH}), arm.inverse_dynamics(q, qd, [0, 0], f_tip={"body_2": PUSH}), rtol=1e-14
    )


@pytest.mark.parametrize("force", [{"f_tip": {"grip": PUSH}}, {"f_ext": {"rocker": PUSH}}])
def test_constrained_dynamics_under_forces(force):
    """What acts from outside is a joint force, J^T f, under constraints as without."""
    linkage = qddot.load("four_bar")
    robot = linkage.with_tool(np.eye(4), name="grip", frame="coupler")
    rng = np.random.default_rng(0)
    q = robot.project(linkage.assemblies([0.7, 0, 0], hold=["joint1"])[0] + 0.01, tolerance=1e-12)
    qd, tau = robot.project_velocity(q, rng.normal(size=3)), rng.normal(size=3)
    felt = robot.inverse_dynamics(q, qd, np.zeros(3), **force) - robot.inverse_dynamics(q, qd, np.zeros(3))
    pushed, alone = robot.constrained_forward_dynamics(q, qd, tau, **force), robot.constrained_forward_dynamics(q, qd, tau - felt)
    assert_allclose(pushed.qdd, alone.qdd, rtol=1e-9, atol=1e-9)
    needed = robot.constrained_inverse_dynamics(q, qd, pushed.qdd, None, pushed.lam, **force)
    assert_allclose(needed, tau, rtol=1e-9, atol=1e-9)


def test_assemblies_from_other_starts():
    linkage = qddot.load("four_bar")
    usual = linkage.assemblies(linkage.home(), hold=["joint1"])
    assert_allclose(linkage.assemblies(linkage.home(), hold=["joint1"], starts=20, seed=5), usual, atol=1e-9)


def test_every_solution_of_a_part_of_a_pose(arm):
    pose = arm.transform([0.4, 0.9], frame="body_2")
    found = arm.inverse_kinematics_solutions(pose, "body_2", rows=["wz", "x"], tolerance=1e-10, starts=40, seed=3, limits=False)
    assert len(found.q) > 0
    reached = arm.transform(found.q, frame="body_2")
    assert_allclose(reached[:, :2, :2], np.broadcast_to(pose[:2, :2], (len(found.q), 2, 2)), atol=1e-9)
    assert_allclose(reached[:, 0, 3], pose[0, 3], atol=1e-9)


def test_casadi_under_external_forces(arm):
    q, qd, qdd, forces = [0.3, 0.8], [1.0, -2.0], [0.5, 0.25], np.arange(12.0).reshape(2, 6)
    tau = arm.casadi("inverse_dynamics", wrench=True)(q, qd, qdd, forces)
    ours = arm.program("inverse_dynamics", wrench=True)
    wanted = arm.inverse_dynamics(q, qd, qdd) - sum(
        arm.jacobian(q, frame=name, reference="space").T @ f for name, f in zip(arm.body_names, forces)
    )
    assert [x.name for x in ours.inputs] == ["q", "qd", "qdd", "wrench"]
    assert_allclose(tau.full()[:, 0], wanted, rtol=1e-12, atol=1e-12)


def test_linear_step_at_a_time_and_with_other_masses(arm):
    """A and B beside differences of the step itself, under a law that depends on the time."""
    run = arm.rollout(lambda x: [u * (1 + x.t) for u in x.control], step=0.01)
    heavier, q, qd, u = 1.3 * arm.parameters()[:20], np.array([0.2, -0.4]), np.array([1.0, 0.5]), np.array([3.0, 1.0])
    found = run.linear(q, qd, u, t=0.0, parameters=heavier)
    after = lambda q, qd, u: np.concatenate([x[-1] for x in run(q, qd, u, steps=1, parameters=heavier)])  # noqa: E731
    for k, e in enumerate(1e-6 * np.eye(2)):
        assert_allclose(found.A[:, k], (after(q + e, qd, u) - after(q - e, qd, u)) / 2e-6, atol=1e-8)
        assert_allclose(found.A[:, 2 + k], (after(q, qd + e, u) - after(q, qd - e, u)) / 2e-6, atol=1e-8)
        assert_allclose(found.B[:, k], (after(q, qd, u + e) - after(q, qd, u - e)) / 2e-6, atol=1e-8)
    later = run.linear(q, qd, u, t=1.0, parameters=heavier)
    assert_allclose(later.B, 2 * found.B, rtol=1e-9)  # twice the force a unit of control


def test_bouncing_under_a_force():
    """A ball that is pushed up with half its weight falls half as fast."""
    ball = qddot.Builder("ball").body("ball", joint="prismatic", mass=2.0).robot()
    contacts = Contacts(ball, [Sphere("ball", 0.1)], [Plane()], restitution=0.5)
    free, pushed = (bounce(contacts, [1.1], None, 0.3, torque=torque) for torque in (None, np.array([9.81])))
    assert_allclose(1.1 - pushed.q[-1], (1.1 - free.q[-1]) / 2, rtol=1e-9)


def test_an_observer_with_a_threshold_of_its_own(arm):
    motion = arm.simulate([0.3, 0.8], t=0.05, f_ext={"body_2": [0, 0, 0, 0, -5, 0]})
    observer = MomentumObserver(arm, gain=60, period=1e-3, threshold=[2.0, 100.0])
    alarms = []
    for sample in zip(motion.q, motion.qd, motion.tau, strict=True):
        observer.update(*sample)
        alarms.append(observer.alarm)
    first = np.abs(observer.observe(motion.q, motion.qd, motion.tau))[:, 0]
    assert alarms == list(first > 2.0)
    assert 0 < sum(alarms) < len(alarms)
    for wrong in (np.nan, -1.0, [1.0, 2.0, 3.0], "loud"):
        with pytest.raises(InputError, match="threshold"):
            MomentumObserver(arm, gain=60, threshold=wrong)
