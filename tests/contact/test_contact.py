"""Contact: impacts at the right times, friction at the right angle, limit cycles, walls, heaps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Inertia
from qddot.contact import Contacts, Plane, Sphere, bounce, simulate
from qddot.contact.coulomb import impulses, projected
from qddot.control import ComputedTorque, Hold
from qddot.errors import InputError, InputWarning, IntegrationError
from qddot.model.description import Joint, Link
from qddot.model.model import Model
from qddot.model.spatial import Vec
from qddot.robot import Robot

g = 9.81


def sliders(*moves, inertia, gravity=(0, 0, -g), name="body"):
    """One body behind sliders ("x", "y", "z") and hinges ("turn")."""
    links, joints, last = [Link("base")], [], "base"
    for k, move in enumerate(moves):
        body = "body" if k + 1 == len(moves) else f"carriage{k}"
        axis = {"x": Vec(1, 0, 0), "y": Vec(0, 1, 0), "z": Vec(0, 0, 1), "turn": Vec(0, 1, 0)}[move]
        links.append(Link(body, inertia if body == "body" else Inertia(0.0)))
        joints.append(Joint(move, "continuous" if move == "turn" else "prismatic", last, body, axis=axis))
        last = body
    return Robot(Model(name, links, joints, gravity=gravity))


def balls(n, radius=0.1):
    """Free balls of 0.5 kg."""
    links = [Link("base"), *(Link(f"ball{k}", Inertia.sphere(0.5, radius)) for k in range(n))]
    joints = [Joint(f"free{k}", "free", "base", f"ball{k}") for k in range(n)]
    return Robot(Model("balls", links, joints))


def slope(angle):
    return Plane(normal=(-np.sin(angle), 0, np.cos(angle)))


# the law ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_coulombs_law_holds_at_every_contact(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    A = rng.normal(size=(3 * k, 3 * k + 2))
    W, c, mu = A @ A.T, rng.normal(size=(k, 3)), rng.uniform(0.1, 1.0)
    r = impulses(W, c, mu)
    u = (W @ r.ravel()).reshape(k, 3) + c
    assert (r[:, 0] >= 0).all()
    assert (u[:, 0] >= -1e-7).all()
    assert_allclose(r[:, 0] * u[:, 0], 0, atol=1e-7)
    limit, tangent = mu * r[:, 0], np.linalg.norm(r[:, 1:], axis=1)
    assert (tangent <= limit + 1e-9).all()
    for i in range(k):
        if np.linalg.norm(u[i, 1:]) > 1e-5:  # it slides: friction is at its limit, against the motion
            assert_allclose(r[i, 1:], -limit[i] * u[i, 1:] / np.linalg.norm(u[i, 1:]), atol=1e-5)


def test_projection_is_onto_the_cone():
    rng = np.random.default_rng(0)
    x, mu = rng.normal(size=(500, 3)), 0.6
    p = projected(x, mu)
    assert (np.linalg.norm(p[:, 1:], axis=1) <= mu * p[:, 0] + 1e-12).all()
    others = projected(rng.normal(size=(500, 3)), mu)
    assert (((x - p) * (others - p)).sum(-1) <= 1e-12).all()


# event by event --------------------------------------------------------------------------------------------------------------


def test_times_of_a_bouncing_ball():
    e, radius, height = 0.8, 0.1, 1.0
    robot = sliders("x", "y", "z", inertia=Inertia(0.7))
    contacts = Contacts(robot, [Sphere("body", radius)], [Plane()], restitution=e)
    found = bounce(contacts, [0, 0, height + radius], None, 3.0)
    t = np.sqrt(2 * height / g)
    speeds = g * t * e ** np.arange(1, 10)
    wanted = np.concatenate([[t], t + np.cumsum(2 * speeds / g)])[: len(found.times)]
    assert len(wanted) >= 6
    assert_allclose(found.times, wanted, rtol=0, atol=1e-9)


def test_a_ball_that_bounces_ever_lower_comes_to_rest():
    robot = sliders("x", "z", inertia=Inertia(0.7))
    contacts = Contacts(robot, [Sphere("body", 0.1)], [Plane()], restitution=0.3)
    found = bounce(contacts, [0, 0.2], None, 1.0, rest=1e-4)
    t = np.sqrt(2 * 0.1 / g)
    assert_allclose(found.times[-1], t * (1 + 2 * 0.3 / 0.7), atol=1e-4)  # the sum of all flights
    assert_allclose(found.q[-1], [0, 0.1], atol=1e-8)
    found = bounce(Contacts(robot, [Sphere("body", 0.1)], [Plane()], restitution=0.5), [0, 0.2], None, 1.0)  # by itself, too
    assert_allclose(found.times[-1], t * (1 + 2 * 0.5 / 0.5), atol=1e-4)


@pytest.mark.parametrize(("tangent", "slides"), [(0.28, False), (0.2999, False), (0.3001, True), (0.35, True)])
def test_a_block_sticks_and_slips_at_the_right_angle(tangent, slides):
    mu, angle = 0.3, np.arctan(tangent)
    robot = sliders("x", "y", "z", inertia=Inertia(2.0))
    contacts = Contacts(robot, [Sphere("body")], [slope(angle)], friction=mu)
    down = -np.array([np.cos(angle), 0, np.sin(angle)])
    wanted = g * (np.sin(angle) - mu * np.cos(angle)) / 2 * 0.25 if slides else 0.0
    assert_allclose(bounce(contacts, np.zeros(3), None, 0.5).q[-1] @ down, wanted, atol=1e-9)
    assert_allclose(simulate(contacts, np.zeros(3), None, 0.5, step=2e-3).q[-1] @ down, wanted, rtol=1e-6, atol=1e-9)


def test_a_sliding_block_stops_where_its_energy_is_spent():
    robot = sliders("x", "z", inertia=Inertia(2.0))
    contacts = Contacts(robot, [Sphere("body")], [Plane()], friction=0.3)
    found = bounce(contacts, [0, 0], [1.0, 0.0], 1.0)
    assert_allclose(found.q[-1], [1 / (2 * 0.3 * g), 0], atol=1e-8)
    assert_allclose(found.qd[-1], 0, atol=1e-9)


def test_a_rimless_wheel_reaches_its_limit_cycle():
    """McGeer's: from foot to foot it gains `2 m g l sin(alpha) sin(gamma)`, an impact leaves a share of the speed."""
    feet, length, gamma, moment = 8, 1.0, 0.08, 0.05
    alpha = np.pi / feet
    inertia = Inertia(1.0, (0, 0, 0), (moment, moment, moment))
    robot = sliders("x", "z", "turn", inertia=inertia, gravity=(g * np.sin(gamma), 0, -g * np.cos(gamma)))
    turns = np.arange(feet) * 2 * alpha
    spheres = [Sphere("body", 0.0, (length * np.sin(a), 0.0, -length * np.cos(a))) for a in turns]
    contacts = Contacts(robot, spheres, [Plane()], friction=5.0, among=False)
    about_foot = moment + length**2
    share = (moment + length**2 * np.cos(2 * alpha)) / about_foot
    gain = 4 * g * length * np.sin(alpha) * np.sin(gamma) / about_foot  # of the squared speed
    after = share * np.sqrt(gain / (1 - share**2))
    speed = 1.05 * after
    q0 = [0.0, length * np.cos(alpha), alpha]  # two feet on the ground
    qd0 = [speed * length * np.cos(alpha), speed * length * np.sin(alpha), speed]  # about the foot in front
    found = bounce(contacts, q0, qd0, 4.5, rtol=1e-8, atol=1e-9)
    speeds = found.qd[np.searchsorted(found.t, found.times, side="right") - 1, 2]
    assert len(speeds) >= 4
    assert_allclose(speeds[1:], share * np.sqrt(speeds[:-1] ** 2 + gain), rtol=1e-6)  # the map from impact to impact
    assert_allclose(speeds[-1], after, rtol=1e-2)  # and its fixed point


# many at once ----------------------------------------------------------------------------------------------------------------


def test_time_stepping_bounces_to_the_right_height():
    robot = sliders("x", "y", "z", inertia=Inertia(0.7))
    contacts = Contacts(robot, [Sphere("body", 0.1)], [Plane()], restitution=0.8)
    motion = simulate(contacts, [0, 0, 1.1], None, 1.2, step=1e-3)
    assert_allclose(motion.q[motion.t > 0.5, 2].max(), 0.1 + 0.64, atol=5e-3)


def test_an_arm_presses_a_wall_with_the_force_of_its_law():
    robot = qddot.load("arm7")
    q0 = np.array([0.0, 0.6, 0.0, -1.2, 0.0, 0.6, 0.0])
    tip = robot.transform(q0)[:3, 3]
    goal = robot.inverse_kinematics(tip + np.array([0.05, 0, 0]), start=q0).q  # behind the wall
    contacts = Contacts(robot, [Sphere(robot.tip)], [Plane(point=tuple(tip), normal=(-1, 0, 0))], friction=0.4)
    law = ComputedTorque(robot, Hold(goal), kp=100, kd=20)
    motion = simulate(contacts, q0, None, 1.6, torque=law, step=4e-3, every=25)
    q = motion.q[-1]
    assert np.abs(motion.qd[-1]).max() < 2e-2
    assert abs(robot.transform(q)[0, 3] - tip[0]) < 1e-6
    force = motion.force[-1, 0]
    assert force[0] > 1
    assert np.linalg.norm(force[1:]) <= 0.4 * force[0] + 1e-9
    at = contacts.touching(q)
    J = contacts.jacobian(q, at)[0]
    pushed = law(0.0, q, np.zeros(7)) - robot.gravity_torque(q)
    assert_allclose(-J.T @ force, pushed, atol=0.03 * np.abs(pushed).max())  # the wall takes all that the law pushes


def rod(limits, drive=None):
    """A rod of 1 m that swings in a vertical plane, and a floor out of its reach."""
    builder = qddot.Builder("rod", gravity=(0, -g, 0))
    builder.body("rod", mass=1.0, com=(0.5, 0, 0), tensor=(0.001, 0.08, 0.08), limits=limits, drive=drive)
    robot = builder.frame("tip", "rod", xyz=(1, 0, 0)).robot()
    return robot, Contacts(robot, [Sphere("tip")], [Plane(point=(0, -5, 0), normal=(0, 1, 0))])


def test_limits_of_joints_are_stops_and_efforts_are_kept():
    robot, contacts = rod((-1.0, 1.0))
    motion, known = simulate(contacts, [0.5], None, 1.0), robot.simulate([0.5], t=1.0)
    assert motion.q.min() > -1.0 - 1e-9
    assert_allclose(motion.q, known.q, atol=5e-3)  # of order one
    assert motion.depth.max() == 0
    assert_allclose(motion.qd[-1], 0, atol=1e-12)
    weak, contacts = rod(qddot.Limits(-1.0, 1.0, effort=2.0))
    motion = simulate(contacts, [0.0], None, 0.5, torque=[100.0], step=2e-4)  # it cannot hold its weight of 4.9 N m
    assert_allclose(motion.q, weak.simulate([0.0], t=0.5, step=2e-4, torque=[100.0]).q, atol=1e-3)
    with pytest.raises(InputError, match=r"'rod_joint' is 1\.5, beyond its limit 1"):
        simulate(contacts, [1.5], None, 1.0)
    with pytest.raises(IntegrationError, match=r"beyond its limits at t = 0\.4"):
        bounce(rod((-1.0, 1.0))[1], [0.5], None, 1.0)
    with pytest.warns(InputWarning, match="dry friction of rod_joint"):
        simulate(rod((-1.0, 1.0), qddot.Drive(coulomb=1.0))[1], [0.5], None, 0.01)


@pytest.mark.parametrize("n", [6, pytest.param(50, marks=pytest.mark.slow)])
def test_balls_in_a_box_come_to_rest_and_do_not_sink(n):
    robot, radius = balls(n), 0.1
    side = 3 if n < 20 else 4
    width = side * 0.22
    walls = [
        Plane(),
        Plane((0, 0, 0), (1, 0, 0)),
        Plane((width, 0, 0), (-1, 0, 0)),
        Plane((0, 0, 0), (0, 1, 0)),
        Plane((0, width, 0), (0, -1, 0)),
    ]
    contacts = Contacts(robot, [Sphere(f"ball{k}", radius) for k in range(n)], walls, friction=0.3)
    rng, q = np.random.default_rng(0), robot.neutral().reshape(n, 7)
    for k in range(n):
        layer, place = divmod(k, side * side)
        center = np.array([0.11 + 0.22 * (place % side), 0.11 + 0.22 * (place // side), 0.12 + 0.23 * layer])
        q[k, 4:] = center + rng.uniform(-0.005, 0.005, 3)
    motion = simulate(contacts, q.ravel(), None, 1.2, step=4e-3, every=5)
    E = motion.energy
    assert (np.diff(E) <= 1e-6 * E[0]).all()  # nothing gains energy
    assert motion.depth.max() < 2e-3
    speed = np.linalg.norm(motion.qd[-1].reshape(n, 6)[:, 3:], axis=1)  # a ball may go on spinning where it stands
    assert np.median(speed) < 0.05
    assert speed.max() < (0.2 if n < 20 else 1.0)  # on top of a heap some still roll
    assert E[-20:].max() - E[-20:].min() < (1e-3 if n < 20 else 3e-2) * E[0]
    weight = n * 0.5 * g
    floor = motion.force[-1, : 5 * n].reshape(n, 5, 3)[:, 0, 0].sum()
    assert_allclose(floor, weight, rtol=0.1)


# what makes no sense ---------------------------------------------------------------------------------------------------------


def test_bad_input():
    robot = sliders("x", "z", inertia=Inertia(1.0))
    for bad in ({"friction": -1}, {"restitution": 1.5}, {"friction": np.nan}):
        with pytest.raises(InputError):
            Contacts(robot, [Sphere("body")], [Plane()], **bad)
    with pytest.raises(InputError, match="fixed to the world"):
        Contacts(robot, [Sphere("base")], [Plane()])
    with pytest.raises(InputError, match="nothing can touch"):
        Contacts(robot, [Sphere("body")], [])
    with pytest.raises(InputError, match="are lists"):
        Contacts(robot, Sphere("body"), [Plane()])  # type: ignore[arg-type]
    with pytest.raises(InputError, match="normal 0"):
        Contacts(robot, [Sphere("body")], [Plane(normal=(0, 0, 0))])
    massless = sliders("x", "z", inertia=Inertia(0.0))
    with pytest.raises(InputError, match="without mass"):
        Contacts(massless, [Sphere("body")], [Plane()])
    contacts = Contacts(robot, [Sphere("body")], [Plane()])
    with pytest.raises(InputError, match="inside of each other"):
        bounce(contacts, [0, -0.1], None, 1.0)
    with pytest.raises(InputError, match="inside of each other"):
        simulate(contacts, [0, -0.1], None, 1.0)
    for run in (simulate, bounce):
        for torque in (3.0, [1.0], [np.nan, 0.0], lambda t, q, qd: None, lambda t, q, qd: [1.0, 2.0, 3.0], lambda t, q, qd: "push"):
            with pytest.raises(InputError, match="torque"):
                run(contacts, [0, 0.1], None, 0.01, torque=torque)
    with pytest.raises(InputError, match="one motion"):
        simulate(contacts, np.zeros((2, 2)), None, 1.0)
    with pytest.raises(InputError, match="duration"):
        simulate(contacts, [0, 0], None, -1.0)
    with pytest.raises(InputError, match="quaternions"):
        bounce(Contacts(balls(1), [Sphere("ball0", 0.1)], [Plane()]), balls(1).neutral(), None, 1.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda r: Contacts(r, [Sphere("ball0", 0.1)], [Plane()], friction=[0.5]),
        lambda r: Contacts(r, [Sphere("ball0", 0.1)], [Plane()], friction="0.5"),
        lambda r: Contacts(r, [Sphere("ball0", 0.1)], [Plane()], restitution=None),
        lambda r: Contacts(r, [Sphere("ball0", 0.1)], [(0, 0, 1)]),
        lambda r: Contacts(r, [Sphere("ball0", "x")], [Plane()]),
        lambda r: Contacts(r, [Sphere("ball0", 0.1, (0, 0))], [Plane()]),
        lambda r: Contacts(r, [Sphere("ball0", np.nan)], [Plane()]),
    ],
)
def test_what_is_no_contact_is_refused_in_words(make):
    with pytest.raises(InputError):
        make(balls(1))


def test_what_is_smooth_does_not_stick_to_what_it_comes_near():
    robot = sliders("x", "z", inertia=qddot.Inertia(1.0), gravity=(0, 0, 0))
    contacts = Contacts(robot, [Sphere("body")], [Plane()], friction=0.0)
    motion = simulate(contacts, [0.0, 1e-4], [1.0, 0.0], 0.05, step=1e-3)
    assert_allclose(motion.q[-1], [0.05, 1e-4], atol=1e-12)
    assert (projected(np.array([[-1.0, 0.0, 0.0]]), 0.0) == 0).all()
