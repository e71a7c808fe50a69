"""The gradient of a rollout, beside differences, 50 digits, and derivatives of the step multiplied out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import InputError
from qddot.rollout import PDLaw
from qddot.rollout.adjoint import stride


def arm():
    return qddot.load("two_link").with_variable("payload", "gravity", "joint1.viscous")


def setting(robot, lead=(), steps=30, seed=0):
    rng = np.random.default_rng(seed)
    values = {name: x + 0.1 * rng.uniform(size=(*lead, *x.shape)) for name, x in robot.variables.items()}
    return rng.normal(size=(*lead, robot.nq)), rng.normal(size=(*lead, robot.nv)), rng.normal(size=(steps, *lead, robot.nv)), values


def loss(states, weights):
    return np.sum(weights[0] * np.sin(states.q)) + np.sum(weights[1] * states.qd)


def slopes(states, weights):
    return weights[0] * np.cos(states.q), weights[1] * np.ones_like(states.qd)


@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
def test_beside_differences(method, every):
    robot = arm()
    run = robot.rollout(step=0.01, method=method, stops=False)
    q0, qd0, control, values = setting(robot)
    packed = np.concatenate([np.atleast_1d(x) for x in values.values()])
    way = run.differentiable(q0, qd0, control, every=every, variables=packed)
    weights = np.random.default_rng(1).normal(size=(2, *way.states.q.shape))
    found = way(*slopes(way.states, weights))
    assert_allclose(way.states.q, run(q0, qd0, control, every=every, variables=packed).q, rtol=0, atol=0)

    def of(**changed):
        given = {"q0": q0, "qd0": qd0, "control": control, "variables": packed} | changed
        return loss(run(**given, every=every), weights)

    for name, x in (("q0", q0), ("qd0", qd0), ("control", control), ("variables", packed)):
        direction, h = np.random.default_rng(2).normal(size=x.shape), 1e-5
        difference = (of(**{name: x + h * direction}) - of(**{name: x - h * direction})) / (2 * h)
        assert np.sum(getattr(found, name) * direction) == pytest.approx(difference, rel=1e-7, abs=1e-7)


def test_whoever_writes_the_inputs_later_changes_no_gradient():
    robot = qddot.load("two_link").with_variable("joint1.viscous")
    q0, qd0, control, values = setting(robot, (3,))
    parameters = robot.parameters() * 1.1
    way = robot.rollout(step=0.01, stops=False).differentiable(q0, qd0, control, parameters=parameters, variables=values)
    before = way(q=2 * way.states.q)
    for x in (q0, qd0, control, parameters, *values.values()):
        x += 0.5
        assert all(np.array_equal(a, b) for a, b in zip(before, way(q=2 * way.states.q), strict=True))


def test_a_batch_is_as_many_motions_and_what_is_given_once_is_summed():
    robot = arm()
    run = robot.rollout(step=0.01, stops=False)
    q0, qd0, control, values = setting(robot, (3,))
    way = run.differentiable(q0, qd0, control, variables=values)
    weights = np.random.default_rng(1).normal(size=(2, *way.states.q.shape))
    found = way(*weights)
    for i in range(3):
        one = run.differentiable(q0[i], qd0[i], control[:, i], variables={name: x[i] for name, x in values.items()})
        alone = one(*weights[:, :, i])
        assert_allclose(found.q0[i], alone.q0, rtol=1e-12)
        assert_allclose(found.control[:, i], alone.control, rtol=1e-12)
        assert_allclose(found.variables[i], alone.variables, rtol=1e-12)
    shared = run.differentiable(q0[0], qd0, control[:, 0])  # one start and one sequence of torques for three speeds
    gradient = shared(*weights)
    assert gradient.q0.shape == (2,)
    assert gradient.control.shape == (30, 2)
    each = run.differentiable(np.tile(q0[0], (3, 1)), qd0, np.tile(control[:, :1], (1, 3, 1)))(*weights)
    assert_allclose(gradient.q0, each.q0.sum(0), rtol=1e-12)
    assert_allclose(gradient.control, each.control.sum(1), rtol=1e-12)
    held = run.differentiable(q0, qd0, control[0, 0], steps=30)(*weights)  # the same torques in every step
    many = run.differentiable(q0, qd0, np.tile(control[0, 0], (30, 3, 1)))(*weights)
    assert_allclose(held.control, many.control.sum((0, 1)), rtol=1e-11)


def test_parameters_and_a_law():
    robot = qddot.load("two_link")
    run = robot.rollout(PDLaw(kp=20, kd=3), step=0.01, stops=False)
    p = robot.parameters()[: 10 * len(robot.body_names)]
    goal = np.array([0.5, -0.3])
    way = run.differentiable(np.zeros(2), None, goal, steps=40, every=40, parameters=p)
    slope = way(q=np.concatenate([np.zeros((1, 2)), np.ones((1, 2))]))
    h = 1e-6
    for name, x in (("parameters", p), ("control", goal)):
        for k in range(len(x)):
            e = h * np.eye(len(x))[k]
            ends = [{"control": goal, "parameters": p} | {name: x + s * e} for s in (1, -1)]
            up, down = (run(np.zeros(2), None, steps=40, every=40, **end).q[-1].sum() for end in ends)
            assert getattr(slope, name)[k] == pytest.approx((up - down) / (2 * h), rel=1e-6, abs=1e-8)


def test_beside_fifty_digits():
    """A pendulum by semi-implicit steps, differentiated with 50 digits by hand: d(end)/d(start)."""
    from mpmath import cos, mp, mpf, sin

    mp.dps = 50
    robot = qddot.Builder("pendulum").body("bob", axis="y", inertia=qddot.Inertia(1.0, (0.0, 0.0, -0.5))).robot()
    run, steps, h = robot.rollout(step=0.01, stops=False), 200, mpf(0.01)
    way = run.differentiable([0.7], [0.1], None, steps=steps, every=steps)
    found = way(q=np.array([[0.0], [1.0]]))
    dq, dv, g_over_l, q, v = (mpf(1), mpf(0)), (mpf(0), mpf(1)), mpf(9.81) / mpf("0.5"), mpf(0.7), mpf(0.1)
    for _ in range(steps):
        a, da = -g_over_l * sin(q), tuple(-g_over_l * cos(q) * x for x in dq)
        v, dv = v + h * a, tuple(x + h * y for x, y in zip(dv, da))
        q, dq = q + h * v, tuple(x + h * y for x, y in zip(dq, dv))
    assert way.states.q[-1, 0] == pytest.approx(float(q), rel=1e-12)
    assert found.q0[0] == pytest.approx(float(dq[0]), rel=1e-11)
    assert found.qd0[0] == pytest.approx(float(dq[1]), rel=1e-11)


def test_quaternions():
    ball = qddot.Builder("ball").body("a", joint="spherical", inertia=qddot.Inertia(1.0, (0.1, 0.0, -0.5), (0.1, 0.2, 0.3)))
    robot = ball.body("b", "a", xyz=(0, 0, -1), axis="y", inertia=qddot.Inertia(1.0, (0.1, 0.0, -0.5), (0.1, 0.2, 0.3))).robot()
    run = robot.rollout(step=0.01, stops=False)
    rng = np.random.default_rng(0)
    q0, qd0, control = robot.random_configuration(0), rng.normal(size=robot.nv), rng.normal(size=(10, robot.nv))
    way = run.differentiable(q0, qd0, control, every=10)
    weight = rng.normal(size=way.states.q.shape)
    slope, h = way(q=weight), 1e-6
    direction = rng.normal(size=robot.nv)
    rate = robot.configuration_rate(q0, direction)
    ends = [run(robot.integrate(q0, s * h * direction), qd0, control, every=10).q for s in (1, -1)]
    assert slope.q0 @ rate == pytest.approx(np.sum(weight * (ends[0] - ends[1])) / (2 * h), rel=1e-6)
    later = weight.copy()
    later[0] = 0.0  # the first state is what was given
    assert abs(way(q=later).q0[:4] @ q0[:4]) < 1e-14  # no part along the quaternion


def test_stops_and_dry_friction_within_a_mode():
    """Where nearby motions go through the same modes step by step, the gradient is theirs."""
    robot = qddot.load("puma560")
    run = robot.rollout(step=0.002)
    rng = np.random.default_rng(0)
    q0, qd0, control = 0.3 * rng.normal(size=6), rng.normal(size=6), 5 * rng.normal(size=(25, 6))
    way = run.differentiable(q0, qd0, control, every=25)
    weight = rng.normal(size=way.states.q.shape)
    slope, h, direction = way(q=weight), 1e-7, rng.normal(size=control.shape)
    up, down = (np.sum(weight * run(q0, qd0, control + s * h * direction, every=25).q) for s in (1, -1))
    assert np.sum(slope.control * direction) == pytest.approx((up - down) / (2 * h), rel=1e-4)


def test_few_states_are_kept():
    robot = arm()
    way = robot.rollout(step=0.001, stops=False).differentiable(np.zeros(2), None, np.zeros(2), steps=1000, every=1000)
    assert stride(1000) == 31
    assert len(way.kept) == 33


def test_what_cannot_be_done():
    robot = arm()
    with pytest.raises(InputError, match='method="semi_implicit" and "rk4"'):
        robot.rollout(method="variational", stops=False).differentiable(np.zeros(2), None, steps=3)
    way = robot.rollout().differentiable(np.zeros(2), None, steps=3)
    with pytest.raises(InputError, match=r"slopes of q have shape \(2,\), the states have \(4, 2\)"):
        way(q=np.zeros(2))


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
def test_one_step_linearised(method):
    run = qddot.load("cart_pole").rollout(step=0.02, method=method, stops=False, saturate=False)
    x, u, h = np.random.default_rng(0).normal(size=(3, 4)), np.random.default_rng(1).normal(size=(3, 2)), 1e-6
    A, B = run.linear(x[:, :2], x[:, 2:], u)
    step = lambda x, u: np.concatenate([y[-1] for y in run(x[:, :2], x[:, 2:], u, steps=1)], -1)  # noqa: E731
    for k in range(4):
        e = h * np.eye(4)[k]
        assert_allclose(A[:, :, k], (step(x + e, u) - step(x - e, u)) / (2 * h), rtol=1e-6, atol=1e-8)
    for k in range(2):
        e = h * np.eye(2)[k]
        assert_allclose(B[:, :, k], (step(x, u + e) - step(x, u - e)) / (2 * h), rtol=1e-6, atol=1e-8)
