"""Dry friction and stops: closed forms, exact rest, events."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Drive, Inertia, InputError, Transmission
from qddot.simulate.dynamics import Dynamics, Forces
from qddot.simulate.friction import DryFriction, without_dry_friction
from qddot.simulate.modes import Switching

G = 9.81


def block(mass=2.0, **drive):
    """On rails along x, without gravity."""
    builder = Builder("block", gravity=(0, 0, 0))
    return builder.body("block", joint="prismatic", axis="x", mass=mass, drive=Drive(**drive)).robot()


def pendulum(limits=None, **drive):
    return Builder("pendulum").body("rod", axis="y", mass=1.0, com=(0, 0, -0.5), limits=limits, drive=Drive(**drive)).robot()


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_sliding_block_stops_where_the_closed_form_says(method):
    """v0^2 / (2 a) far, after v0 / a, and then it stays."""
    motion = block(coulomb=3.0).simulate([0.0], [1.2], 2.0, method=method)
    assert_allclose(motion.q[-1], 1.2**2 / (2 * 1.5), atol=2e-6 if method == "rk4" else 1e-9)
    still = motion.t > 0.8 + 1e-3
    assert_array_equal(motion.qd[still], 0)
    assert_array_equal(motion.qdd[still], 0)
    assert_array_equal(np.diff(motion.q[still], axis=0), 0)
    assert_allclose(motion.qdd[motion.t < 0.79], -1.5)
    if method != "rk4":
        assert_allclose([e.time for e in motion.events], [0.8], atol=1e-9)
        assert [(e.kind, e.joint) for e in motion.events] == [("stick", "block_joint")]


def spring_stops(x, coulomb, static, stiffness):
    """Half swings about +-coulomb / stiffness, each shorter by twice that, until the spring no longer moves it."""
    turns = [x]
    while abs(x) * stiffness > static:
        x = -(x - 2 * coulomb / stiffness * np.sign(x))
        turns.append(x)
    return turns


def test_a_block_on_a_spring_event_by_event():
    m, k, fc, fs = 2.0, 50.0, 3.0, 4.0
    motion = block(coulomb=fc, static=fs, stiffness=k).simulate([1.0], None, 6.0, method="DOP853", step=0.01)
    turns = spring_stops(1.0, fc, fs, k)
    assert_allclose(motion.q[-1], turns[-1], atol=1e-7)
    sticks = [e.time for e in motion.events if e.kind == "stick"]
    assert_allclose(sticks, np.pi * np.sqrt(m / k) * np.arange(1, len(turns)), atol=1e-7)
    assert motion.qd[-1] == 0 == motion.qdd[-1]


def test_rk4_converges_to_the_events():
    robot, end = block(coulomb=3.0, static=4.0, stiffness=50.0), spring_stops(1.0, 3.0, 4.0, 50.0)[-1]
    errors = [abs(robot.simulate([1.0], None, 6.0, step=h).q[-1, 0] - end) for h in (8e-3, 4e-3, 1e-3)]
    assert errors[0] < 5e-3
    assert errors[-1] < errors[0] / 8


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_stick_and_slip_of_a_dragged_block(method):
    """A spring pulls at constant speed: the block waits until the spring pulls with the static friction, and jumps.

    Slipping begins at t1 = fs / (k v); then m x'' = k (v t - x) - fc, whose solution is known until the block rests again.
    """
    m, k, v, fc, fs = 1.0, 40.0, 0.1, 2.0, 3.0
    robot = block(m, coulomb=fc, static=fs)
    motion = robot.simulate([0.0], None, 1.6, torque=lambda t, q, qd: k * (v * t - q), method=method)
    t1, w = fs / (k * v), np.sqrt(k / m)
    s = motion.t - t1
    moving = v * s - (v / w) * np.sin(w * s) + (fs - fc) / k * (1 - np.cos(w * s))
    end = 2 / w * (np.pi - np.arctan((fs - fc) / (m * w * v)))  # of the first jump
    exact = np.where(s < 0, 0, np.where(s < end, moving, v * end - v / w * np.sin(w * end) + (fs - fc) / k * (1 - np.cos(w * end))))
    assert t1 + end < 1.6
    assert_allclose(motion.q[:, 0], exact, atol=3e-4 if method == "rk4" else 1e-7)
    assert_array_equal(motion.qd[motion.t < t1 - 2e-3], 0)
    assert_array_equal(motion.qd[motion.t > t1 + end + 2e-3], 0)
    if method != "rk4":
        assert [e.kind for e in motion.events] == ["slip", "stick"]
        assert_allclose([e.time for e in motion.events], [t1, t1 + end], atol=1e-7)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_pendulum_rests_in_its_friction(method):
    robot = pendulum(coulomb=1.0)
    limit = np.arcsin(1.0 / (0.5 * G))
    held = robot.simulate([0.99 * limit], None, 0.5, method=method, step=0.01)
    assert_array_equal(held.q, np.full((51, 1), 0.99 * limit))
    assert_array_equal(held.qdd, 0)
    loose = robot.simulate([1.01 * limit], None, 0.5, method=method, step=0.01)
    assert loose.q[-1] < loose.q[0]


def test_friction_of_a_moving_arm_is_lost_energy():
    robot = qddot.load("puma560")
    motion = robot.simulate(np.zeros(6), None, 0.5, method="DOP853", step=2e-3, stops=False)
    assert (motion.friction_loss >= -1e-12).all()
    assert abs(motion.energy_residual).max() < 1e-4 * motion.kinetic_energy.max()


def test_steps_and_events_agree_for_an_arm():
    robot = qddot.load("puma560")
    exact = robot.simulate(np.zeros(6), None, 0.6, method="DOP853", step=0.1)
    errors = [abs(robot.simulate(np.zeros(6), None, 0.6, step=h).q[-1] - exact.q[-1]).max() for h in (4e-3, 1e-3)]
    assert errors[1] < 1e-5
    assert_array_equal(exact.qd[:, [0, 3, 4, 5]], 0)  # nothing pulls at these hard enough
    assert [e.kind for e in exact.events] == ["slip"]


def test_a_batch_with_friction_is_row_by_row_the_single_motion():
    robot = qddot.load("puma560")
    q0 = np.random.default_rng(2).uniform(-0.5, 0.5, (17, 6))
    batch = robot.simulate(q0, None, 0.1)
    for i in (0, 16):
        one = robot.simulate(q0[i], None, 0.1)
        assert_array_equal(batch.q[:, i], one.q)
        assert_allclose(batch[:, i].qdd, one.qdd, atol=1e-9)


def test_friction_that_grows_with_the_load():
    """A lowered weight: going down, the load drives and friction is a part of it."""
    part, h = 0.2, 0.3
    robot = Builder().body("lift", joint="prismatic", axis="z", mass=2.0, drive=Drive(load_friction=part)).robot()
    for method in ("rk4", "DOP853"):
        motion = robot.simulate([0.0], [-0.1], h, method=method)
        assert_allclose(motion.qdd[5:], robot.forward_dynamics(motion.q[5:], motion.qd[5:], motion.tau[5:]), rtol=1e-9)
        held = robot.simulate([0.0], None, 0.1, torque=[2.0 * G * 0.9], method=method)
        assert_array_equal(held.qd, 0)


def test_coupled_motors_may_stick():
    """Two joints on one shaft with friction: the difference of both is held, their sum swings."""
    inertias = [Inertia.point(1.0), Inertia.point(1.0)]
    robot = qddot.from_dh([(0.3, 0, 0, 0), (0.3, 0, 0, 0)], inertias=inertias, gravity=(0, -G, 0))
    shaft = Transmission(("joint1", "joint2"), [[1.0, -1.0]], [Drive(coulomb=50.0)])
    for method in ("rk4", "DOP853"):
        motion = robot.with_transmission(shaft).simulate([0.3, 0.3], None, 0.3, method=method)
        assert_allclose(motion.q[:, 0] - motion.q[:, 1], 0, atol=1e-9)
        assert abs(motion.q[-1, 0] - 0.3) > 0.1


# stops ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_pendulum_falls_onto_its_stop_and_stays(method):
    robot = pendulum(limits=(0.2, 1.0))
    motion = robot.simulate([0.8], None, 1.0, method=method)
    assert motion.q.min() >= 0.2
    assert_array_equal(motion.q[-1], 0.2)
    assert_array_equal(motion.qd[-1], 0)
    assert_array_equal(motion.qdd[-1], 0)
    if method != "rk4":
        assert [(e.kind, e.joint) for e in motion.events] == [("stop", "rod_joint")]


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_stop_lets_go_when_it_would_have_to_pull(method):
    robot = pendulum(limits=(0.2, 1.0))
    lift = lambda t, q, qd: np.array([0.5 * G * np.sin(0.2) + 2 * (t - 0.3)])  # noqa: E731
    motion = robot.simulate([0.2], None, 0.6, torque=lift, method=method)
    assert_array_equal(motion.q[motion.t < 0.3 - 1e-3], 0.2)
    assert motion.q[-1] > 0.21
    if method != "rk4":
        assert [e.kind for e in motion.events] == ["release"]
        assert_allclose(motion.events[0].time, 0.3, atol=1e-6)


def test_an_impact_moves_the_rest_of_the_arm():
    """An elbow that hits its stop takes the momentum over: angular momentum about the shoulder is kept."""
    inertias = [Inertia.point(1.0), Inertia.point(1.0)]
    plain = qddot.from_dh([(0.5, 0, 0, 0), (0.5, 0, 0, 0)], inertias=inertias, limits=[None, (-1, 0.5)], gravity=(0, 0, 0))
    motion = plain.simulate([0.0, 0.0], [0.0, 2.0], 0.5, method="DOP853")
    M = plain.mass_matrix(motion.q)
    momentum = (M[:, 0] * motion.qd).sum(-1)
    assert_allclose(momentum, momentum[0], atol=1e-8)
    struck = motion.t > motion.events[0].time
    assert motion.q[:, 1].max() <= 0.5 < motion.q[:, 1].max() + 1e-2
    assert abs(np.diff(motion.energy[struck])).max() < 1e-9
    assert motion.energy[-1] < 0.9 * motion.energy[0]
    fixed = plain.simulate([0.0, 0.0], [0.0, 2.0], 0.5)
    assert_allclose(fixed.q, motion.q, atol=5e-3)


def test_stops_can_be_left_out():
    assert pendulum(limits=(0.2, 1.0)).simulate([0.8], None, 1.0, stops=False).q.min() < -0.5


def test_a_start_beyond_a_stop_is_refused():
    rule = r"q0 of joint 'rod_joint' is 2, beyond its limits \[0.2, 1\]: start within, or use stops=False"
    with pytest.raises(InputError, match=rule):
        pendulum(limits=(0.2, 1.0)).simulate([2.0], None, 1.0)


# the caller's events ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "DOP853", "variational"])
def test_zero_crossings_are_found(method):
    """A pendulum passes its lowest point twice a period: of small swings at the known times."""
    w = np.sqrt(G / 0.5)

    def lowest(t, q, qd):
        return q[0]

    motion = pendulum().simulate([1e-3], None, 3.0, method=method, events=lowest)
    times = [e.time for e in motion.events]
    assert_allclose(times, (np.arange(len(times)) + 0.5) * np.pi / w, atol=1e-5)
    assert {e.kind for e in motion.events} == {"lowest"}
    assert len(times) == 4
    lowest.direction = 1
    upward = pendulum().simulate([1e-3], None, 3.0, method=method, events=[lowest])
    assert_allclose([e.time for e in upward.events], times[1::2], atol=1e-8)


@pytest.mark.parametrize("method", ["rk4", "DOP853", "variational"])
def test_a_terminal_event_ends_the_motion_where_it_happens(method):
    def fast(t, q, qd):
        return abs(qd[0]) - 1.0

    fast.terminal = True
    motion = pendulum().simulate([1.0], None, 3.0, method=method, events=fast)
    assert_allclose(abs(motion.qd[-1]), 1.0, atol=1e-8)
    assert motion.t[-1] == motion.events[-1].time < 3.0
    assert len(motion.q) == len(motion.t) == len(motion.tau) == len(motion.qdd)


def test_a_joint_may_rest_at_its_limit_with_nothing_to_push_it():
    builder = Builder(gravity=(0, 0, 0)).body("x", joint="prismatic", axis="x", mass=1, limits=(0, 0.1))
    for method in ("rk4", "DOP853", "Radau"):
        motion = builder.robot().simulate([0.1], None, 1.0, method=method, step=0.1)
        assert_array_equal(motion.q, 0.1)
        assert motion.events == ()


@pytest.mark.parametrize("static", [0.3, pytest.param(0.5, marks=pytest.mark.slow)])
def test_friction_and_a_stop_hold_a_joint_together(static):
    """Pushed to and fro by sin 2t: it leaves a stop when the pull exceeds static friction."""
    builder = Builder(gravity=(0, 0, 0))
    drive = Drive(coulomb=0.3, static=static)
    robot = builder.body("x", joint="prismatic", axis="x", mass=1.0, limits=(0, 0.1), drive=drive).robot()
    push = lambda t, q, qd: np.array([np.sin(2 * t)])  # noqa: E731
    motion = robot.simulate([0.05], None, 4.0, torque=push, method="DOP853", step=1e-2)
    assert [e.kind for e in motion.events] == ["slip", "stop", "release", "stop", "release"]
    assert_allclose(
        [e.time for e in motion.events if e.kind == "release"], (np.arcsin(static) + np.array([1, 2]) * np.pi) / 2, atol=1e-7
    )
    steps = robot.simulate([0.05], None, 4.0, torque=push, step=1e-3, every=10)
    assert_allclose(steps.q, motion.q, atol=2e-3)


def test_motions_of_a_batch_do_not_feel_the_stops_of_others():
    robot = (
        Builder()
        .body("a", axis="y", mass=1, com=(0.3, 0, 0))
        .body("b", "a", axis="y", mass=1, com=(0.3, 0, 0), limits=(-1, 1))
        .robot()
    )
    q0, tau = np.array([[0.0, 0.0], [0.5, 1.0], [0.2, -1.0]]), np.array([1.0, 2.0])
    batch = robot.simulate(q0, None, 0.3, torque=tau)
    for k in range(3):
        assert_array_equal(batch.q[:, k], robot.simulate(q0[k], None, 0.3, torque=tau).q)


@pytest.mark.parametrize("seed", [0, pytest.param(8, marks=pytest.mark.slow)])
def test_falls_onto_stops_are_the_same_by_steps_and_by_events(seed):
    """An impact on one stop may set in motion what rests at another, which then leaves and comes back."""
    builder = Builder("chain")
    for k in range(4):
        parent, axis = (f"l{k - 1}" if k else "base"), "yzyz"[k]
        builder.body(
            f"l{k}",
            parent,
            axis=axis,
            xyz=(0.3 if k else 0, 0, 0),
            mass=1,
            com=(0.15, 0, 0),
            tensor=(0.01,) * 3,
            limits=(-0.6, 0.8),
        )
    robot = builder.robot()
    q0, qd0 = robot.random_configuration(seed), np.random.default_rng(seed).normal(size=4) * 3
    motion = robot.simulate(q0, qd0, 0.6, method="DOP853", step=1e-2)
    assert len([e for e in motion.events if e.kind == "stop"]) >= 3
    errors = [abs(robot.simulate(q0, qd0, 0.6, step=h, every=round(1e-2 / h)).q - motion.q).max() for h in (1e-3, 1e-4)]
    assert errors[1] < max(errors[0] / 3, 1e-4)
    assert errors[1] < 5e-3


def test_what_begins_at_zero_has_not_crossed_it():
    def turns(t, q, qd):
        return qd[0]

    turns.terminal = True
    for method in ("rk4", "DOP853", "RK45"):
        motion = pendulum().simulate([1.0], None, 3.0, method=method, events=turns)
        assert_allclose(motion.q[-1], -1.0, atol=1e-6)
        assert len(motion.events) == 1
    turns.terminal = False
    assert pendulum(coulomb=100.0).simulate([1.0], None, 1.0, method="DOP853", events=turns).events == ()


def test_functions_cannot_change_the_state():
    def law(t, q, qd):
        q -= 1.0
        return -q

    with pytest.raises(ValueError, match="read-only"):
        pendulum().simulate([1.0], None, 0.1, torque=law)


def test_sampled_laws_before_time_zero():
    asked = []

    def law(t, q, qd):
        asked.append(t)
        return np.zeros(1)

    law.period = 0.05
    pendulum().simulate([1.0], None, np.linspace(-0.1, 0.1, 21), torque=law)
    assert_allclose(asked, [-0.1, -0.05, 0, 0.05, 0.1], atol=1e-12)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_energy_that_stops_take_is_metered(method):
    robot = qddot.Builder("arm", gravity=(0, -9.81, 0))
    link = {"mass": 1.0, "com": (0.5, 0, 0), "tensor": (0.001, 0.08, 0.08)}
    link["drive"] = Drive(viscous=0.2)
    robot = robot.body("a", **link, limits=(-1.0, 1.0)).body("b", "a", xyz=(1, 0, 0), **link, limits=(-0.5, 0.5)).robot()
    motion = robot.simulate([0.5, 0.3], t=2.0, torque=[1.0, 0.5], method=method)
    assert motion.impact_loss[-1] > 10
    assert abs(motion.energy_residual).max() < 1e-5
    assert abs(motion[500:].energy_residual).max() < 1e-5


def test_a_joint_is_held_while_another_falls():
    """Held, friction would have to push one way; where the other joint gives way, the other way: within its bounds."""
    joints = dict.fromkeys(("joint1.load_friction", "joint2.coulomb"))
    robot = qddot.load("two_link").with_variable(*joints).with_values({"joint1.load_friction": 0.22, "joint2.coulomb": 0.75})
    q, tau = np.array([0.1257, -0.1321]), np.array([-0.544, -0.316])
    exact = robot.simulate(q, None, 0.03, torque=tau, step=0.005, method="DOP853").qd
    assert exact[-1, 0] < -0.3
    assert_array_equal(exact[:, 1], 0)
    assert_allclose(robot.simulate(q, None, 0.03, torque=tau, step=0.005).qd, exact, atol=1e-6)
    assert_allclose(robot.rollout(step=0.005, method="rk4")(q, None, tau, steps=6).qd, exact, atol=1e-6)


@pytest.mark.parametrize("coulomb", [(0.4, 2.4), (2.0, 0.6)])
def test_what_sticks_is_decided_alike_in_simulations_and_in_rollouts(coulomb):
    robot, rng, h = qddot.load("two_link").with_variable("joint1.coulomb", "joint2.coulomb"), np.random.default_rng(0), 1e-5
    robot = robot.with_values(dict(zip(("joint1.coulomb", "joint2.coulomb"), coulomb)))
    q = rng.uniform(-np.pi, np.pi, (400, 2))
    tau = robot.gravity_torque(q) * rng.uniform(0.5, 1.5, (400, 1)) + 2 * rng.normal(size=(400, 2))
    switching = Switching(robot, Dynamics(without_dry_friction(robot), Forces(robot)), DryFriction(robot), stops=False)
    expected = switching.accelerate(0.0, q, 0 * q, tau, switching.decide(0.0, q, 0 * q, tau))[0]
    found = robot.rollout(step=h, stops=False, saturate=False)(q, None, tau, steps=1).qd[-1] / h
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
