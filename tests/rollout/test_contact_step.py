"""Contacts compiled into rollouts: the laws of contact, in batches, with gradients, beside the time stepping they come from."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot.contact import Contacts, Plane, Sphere, simulate
from qddot.errors import InputError, IntegrationError
from qddot.model.description import Joint, Limits, Link
from qddot.model.drive import Drive
from qddot.model.model import Model
from qddot.model.spatial import Mat, Transform, Vec
from qddot.robot import Robot
from tests.contact.test_contact import balls, g, sliders, slope


def ball_on_floor(**how):
    robot = balls(1)
    q = robot.neutral()
    q[6] = 0.3
    return Contacts(robot, [Sphere("ball0", 0.1)], [Plane()], **how), q


def chain(n, length=0.2, mass=0.2):
    """Links with spheres at their ends, free in space."""
    inertia = qddot.Inertia(mass, (length / 2, 0, 0), (1e-4, mass * length**2 / 12, mass * length**2 / 12))
    links, joints = [Link("base")], []
    for k in range(n):
        links.append(Link(f"link{k}", inertia))
        end, axis = Transform(Mat(), Vec(length, 0, 0)), Vec(0, 1, 0) if k % 2 else Vec(0, 0, 1)
        first = Joint("free", "free", "base", "link0")
        joints.append(Joint(f"joint{k}", "continuous", f"link{k - 1}", f"link{k}", origin=end, axis=axis) if k else first)
    robot = Robot(Model("chain", links, joints))
    spheres = [*(Sphere(f"link{k}", 0.02) for k in range(n)), Sphere(f"link{n - 1}", 0.02, (length, 0, 0))]
    return Contacts(robot, spheres, [Plane()], friction=0.5, among=False)


def test_a_ball_falls_slides_and_rolls_as_in_time_stepping():
    contacts, q = ball_on_floor(friction=0.3)
    v = np.array([0, 0, 0, 0.4, 0, 0])
    there = contacts.robot.rollout(step=1e-3, contacts=contacts)(q, v, steps=400, every=40)
    here = simulate(contacts, q, v, 0.4, step=1e-3, every=40)
    assert_allclose(there.q, here.q, atol=2e-6)
    assert_allclose(there.qd, here.qd, atol=2e-6)
    speed, spin = there.qd[-1][3:], there.qd[-1][:3]
    assert_allclose(np.linalg.norm(speed), 5 / 7 * 0.4, rtol=2e-3)  # rolling: the angular momentum about the floor is kept
    assert_allclose(np.linalg.norm(spin) * 0.1, np.linalg.norm(speed), rtol=1e-3)


def test_a_ball_bounces_to_the_height_of_its_restitution():
    contacts, q = ball_on_floor(restitution=0.5)
    found = contacts.robot.rollout(step=1e-4, contacts=contacts)(q, None, steps=4000)
    height, fell = found.q[:, 6] - 0.1, int(np.sqrt(2 * 0.2 / g) / 1e-4)
    assert_allclose(height[fell + 5 :].max(), 0.25 * 0.2, rtol=5e-3)


@pytest.mark.parametrize("angle", [0.29, 0.31])
def test_a_block_holds_and_slides_at_the_right_slope(angle):
    angle = np.arctan(angle)
    robot = sliders("x", "z", inertia=qddot.Inertia(2.0))
    run = robot.rollout(step=1e-3, contacts=Contacts(robot, [Sphere("body")], [slope(angle)], friction=0.3))
    found = run([0, 0], None, steps=1000, every=1000)
    along = np.hypot(*found.q[-1])
    expected = max(0.0, g * (np.sin(angle) - 0.3 * np.cos(angle)) / 2)
    assert_allclose(along, expected, rtol=2e-3, atol=1e-9)


def test_a_quadruped_stands_whatever_the_step_and_in_a_batch_to_the_same_bits():
    robot = qddot.load("quadruped")
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    contacts = Contacts(robot, [Sphere(name, 0.02) for name in feet], [Plane()], friction=0.6, among=False)
    q = robot.neutral()
    q[7:] = goal = [0, 0.7, -1.4] * 4
    low = min(robot.transform(q, frame=name)[2, 3] for name in feet)
    q[6] = 0.03 - low

    def law(x):
        return [0.0] * 6 + [80 * (a - b) - 2 * v for a, b, v in zip(goal, x.q[7:], x.qd[6:])]

    run = robot.rollout(law, step=1e-3, contacts=contacts, stops=False)
    one = run(q, None, steps=300, every=100)
    many = run(np.stack([q, q + np.eye(len(q))[6] * 0.02, q]), None, steps=300, every=100)
    assert_array_equal(many.q[:, 0], one.q)
    assert_array_equal(many.q[:, 2], one.q)
    fine = robot.rollout(law, step=2.5e-4, contacts=contacts, stops=False)(q, None, steps=1200, every=400)
    assert_allclose(one.q, fine.q, atol=2e-3)
    assert contacts.touching(one.q[-1]).gap.max() < 1e-4  # all feet on the ground
    assert np.abs(one.qd[-1]).max() < 1.0


def test_a_panda_presses_a_wall_as_hard_as_its_law_does():
    robot = qddot.load("panda")
    q = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])
    x, y, z = robot.transform(q)[:3, 3]
    J = robot.jacobian(q, reference="world_aligned")[3]
    contacts = Contacts(robot, [Sphere(robot.tip)], [Plane((x + 0.01, y, z), (-1, 0, 0))], friction=0.5)

    def law(x):  # 20 N forward on top of gravity
        return [t + 20 * float(j) - 8 * v for t, j, v in zip(x.gravity_torque(), J, x.qd)]

    found = robot.rollout(law, step=1e-3, contacts=contacts, stops=False)(q, None, steps=1000, every=1000)
    push = lambda t, q, qd: robot.gravity_torque(q) + 20 * J - 8 * qd  # noqa: E731
    here = simulate(contacts, q, None, 1.0, torque=push, every=1000)
    assert_allclose(found.q[-1], here.q[-1], atol=1e-4)
    assert abs(contacts.touching(found.q[-1]).gap[0]) < 1e-5
    assert_allclose(here.force[-1, 0, 0], 20, rtol=0.05)  # slowly turning about the point that holds it


def test_a_dropped_chain_comes_to_rest_and_gains_no_energy():
    contacts = chain(3)
    robot, rng = contacts.robot, np.random.default_rng(0)
    q = np.stack([robot.random_configuration(rng) for _ in range(16)])
    q[:, 4:7], q[:, 7:] = (0, 0, 0.7), rng.uniform(-2, 2, (16, 2))
    found = robot.rollout(step=1e-3, contacts=contacts)(q, None, steps=2000, every=20)
    energy = robot.hamiltonian(found.q, found.qd)
    assert np.diff(energy, axis=0).max() < 1e-3 * energy[0].max()
    assert min(contacts.touching(x).gap.min() for x in found.q.reshape(-1, robot.nq)) > -1e-3
    assert np.median(np.abs(found.qd[-1]).max(-1)) < 1e-6


def test_stops_and_dry_friction_take_part():
    drive = Drive(coulomb=2.0)
    limits = Limits(-1.0, 0.5)
    link = Link("arm", qddot.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.1)))
    joint = Joint("hinge", "revolute", "base", "arm", axis=Vec(0, 1, 0), limits=limits, drive=drive)
    robot = Robot(Model("pendulum", [Link("base"), link], [joint]))
    contacts = Contacts(robot, [Sphere("arm", 0.0, (0, 0, -0.5))], [Plane((0, 0, -5.0))])
    run, plain = robot.rollout(step=1e-4, contacts=contacts), robot.rollout(step=1e-4)
    for q0, qd0 in ((0.2, 0.0), (0.45, 0.0), (-0.2, 3.0)):  # holds, slides, runs into its stop
        here, there = (x([q0], [qd0], steps=5000, every=500) for x in (run, plain))
        assert_allclose(here.q, there.q, atol=3e-4)
    assert_allclose(run([0.2], None, steps=100).q[-1], 0.2, atol=1e-12)


def test_gradient_of_a_slide():
    contacts, q = ball_on_floor(friction=0.3)
    q[6] = 0.1
    run = contacts.robot.rollout(step=1e-3, contacts=contacts)
    v = np.array([0, 0, 0, 0.4, 0.1, 0])
    way = run.differentiable(q, v, steps=20, every=20)
    weights = np.zeros_like(way.states.q)
    weights[-1] = np.arange(7.0)
    slope = way(q=weights).qd0
    for k in (3, 4):
        moved = [(run(q, v + s * 1e-5 * np.eye(6)[k], steps=20, every=20).q * weights).sum() for s in (1, -1)]
        assert_allclose(slope[k], (moved[0] - moved[1]) / 2e-5, rtol=1e-5)


def test_single_precision_and_spheres_among_each_other():
    robot = balls(2)
    q = robot.neutral().reshape(2, 7)
    q[:, 4:] = [(0, 0, 0.1), (0.05, 0.02, 0.32)]
    contacts = Contacts(robot, [Sphere("ball0", 0.1), Sphere("ball1", 0.1)], [Plane()], friction=0.3)
    run = robot.rollout(step=1e-3, contacts=contacts)
    double, single = (run(q.ravel(), None, steps=300, every=100, dtype=kind).q for kind in (np.float64, np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, double, atol=2e-3)
    assert np.linalg.norm(double[-1][4:7] - double[-1][11:14]) > 0.2 - 1e-4


def test_refusals():
    contacts, _ = ball_on_floor()
    robot = contacts.robot
    with pytest.raises(InputError, match="another robot"):
        balls(1).rollout(contacts=contacts)
    with pytest.raises(InputError, match="order one"):
        robot.rollout(method="rk4", contacts=contacts)
    with pytest.raises(InputError, match="Contacts"):
        robot.rollout(contacts=[Sphere("ball0")])


def test_a_start_inside_of_the_floor_is_refused():
    contacts, q = ball_on_floor()
    low = q.copy()
    low[6] = 0.05
    with pytest.raises(InputError, match=r"a pair of motion \[1\] is 0.05 m inside"):
        contacts.robot.rollout(step=1e-3, contacts=contacts)(np.stack([q, low]), None, steps=1)


def test_what_cannot_go_on_names_the_motion_that_cannot():
    robot = qddot.load("two_link").with_variable("gravity")
    run = robot.rollout(step=1e-3, method="variational")
    with pytest.raises(IntegrationError, match=r"of motion \[1\]"):
        run([[0.1, 0.2], [0.1, 0.2], [0.3, 0.4]], [[9.0, 0], [1e8, 0], [20.0, 0]], steps=3)


def test_what_has_sunk_in_comes_back_though_a_stop_is_ahead():
    ball = Link("ball", qddot.Inertia.sphere(1.0, 0.1))
    joint = Joint("z", "prismatic", "base", "ball", axis=Vec(0, 0, 1), limits=Limits(-3.0, 0.5))
    robot = Robot(Model("ball", [Link("base"), ball], [joint]))
    contacts = Contacts(robot, [Sphere("ball", 0.1)], [Plane()])
    found = robot.rollout(step=1e-3, contacts=contacts)([[0.095], [0.1001]], [[0.0], [-8.0]], steps=100, every=100)
    assert_allclose(found.q[-1], 0.1, atol=1e-6)
    assert_allclose(simulate(contacts, [0.095], None, 0.1, step=1e-3).q[-1], 0.1, atol=1e-6)
    assert_allclose(simulate(contacts, [0.1001], [-8.0], 0.1, step=1e-3).q[-1], 0.1, atol=1e-6)
