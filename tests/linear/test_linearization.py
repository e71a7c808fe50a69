"""Linearisation against 50-digit differences, closed forms and simulations; LQR by Riccati's equation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot.algorithms.forward_dynamics import METHODS
from qddot.errors import ConvergenceError, InputError, SingularityError, UnknownNameError
from qddot.robot import Robot
from tests.fields import FiftyDigits
from tests.robots import random_model


def fifty_digit_slopes(robot: Robot, q, qd, tau) -> np.ndarray:
    """[dqdd/dq, dqdd/dqd, dqdd/dtau] by central differences with steps of 1e-20."""
    mp = FiftyDigits.context
    model = robot.model.over(FiftyDigits())
    accelerations = lambda x: METHODS["crba"](model, *x, None)[0]  # noqa: E731
    h, columns = mp.mpf(10) ** -20, []
    for k in range(3):
        for c in range(robot.nv):
            ends = []
            for side in (h, -h):
                x = [[mp.mpf(float(v)) for v in part] for part in (q, qd, tau)]
                x[k][c] += side
                ends.append(accelerations(x))
            columns.append([float((a - b) / (2 * h)) for a, b in zip(*ends)])
    return np.array(columns).T


@pytest.mark.parametrize("name", ["two_link", "cart_pole", "puma560"])
def test_against_differences_of_fifty_digits(name):
    robot, rng = qddot.load(name), np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, robot.nv))
    found = robot.linearize(q, qd, tau)
    n = robot.nv
    wanted = fifty_digit_slopes(robot, q, qd, tau)
    scale = abs(wanted).max()
    assert_allclose(found.A[n:], wanted[:, : 2 * n], rtol=0, atol=1e-12 * scale)
    assert_allclose(found.B[n:], wanted[:, 2 * n :], rtol=0, atol=1e-12 * scale)
    assert_allclose(found.A[:n], np.eye(n, 2 * n, n))
    assert_allclose(found.B[:n], 0)


@pytest.mark.parametrize("seed", range(2))
def test_deviations_of_any_robot_grow_as_predicted(seed):
    """Quaternions in motion included: the difference of two simulated motions after a short time, to second order."""
    rng = np.random.default_rng(seed)
    robot = Robot(random_model(rng, 4, kinds=("revolute", "spherical", "free", "prismatic", "helical")))
    q, qd, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    lin = robot.linearize(q, qd, tau)
    h, e = 1e-4, 1e-5
    x = rng.normal(size=2 * robot.nv)
    ends = []
    for side in (e, -e):
        q1, qd1 = robot.integrate(q, side * x[: robot.nv]), qd + side * x[robot.nv :]
        ends.append(robot.simulate(q1, qd1, h, torque=tau, step=h, stops=False, saturate=False))
    middle = robot.simulate(q, qd, h, torque=tau, step=h, stops=False, saturate=False)
    moved = [np.concatenate([robot.difference(middle.q[-1], m.q[-1]), m.qd[-1] - middle.qd[-1]]) for m in ends]
    rate = ((moved[0] - moved[1]) / (2 * e) - x) / h
    predicted = lin.A @ x
    assert_allclose(rate, predicted, atol=2e-3 * max(1, abs(lin.A @ lin.A @ x).max()))


def test_batches_and_shapes():
    robot, rng = qddot.load("puma560"), np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 5, 2, 6))
    batch = robot.linearize(q, qd, tau, actuated=["joint3", "joint1"])
    assert batch.A.shape == (5, 2, 12, 12)
    assert batch.B.shape == (5, 2, 12, 2)
    one = robot.linearize(q[3, 1], qd[3, 1], tau[3, 1])
    assert_allclose(batch.A[3, 1], one.A)
    assert_allclose(batch.B[3, 1], one.B[:, [2, 0]])
    assert_allclose(batch.discrete(1e-2).A[3, 1], one.discrete(1e-2).A, atol=1e-12)
    smooth = qddot.load("arm7")
    assert_allclose(smooth.linearize(smooth.neutral()).qdd, 0, atol=1e-9)  # by the forces that hold it


def test_discrete_is_the_motion_between_samples():
    robot = qddot.load("acrobot")
    lin = robot.linearize([np.pi, 0.0], actuated=["elbow"])
    sampled = lin.discrete(0.05)
    fine = lin.discrete(0.05 / 64)
    A, B = np.eye(4), np.zeros((4, 1))
    for _ in range(64):
        A, B = fine.A @ A, fine.A @ B + fine.B
    assert_allclose(sampled.A, A, atol=1e-12)
    assert_allclose(sampled.B, B, atol=1e-12)
    assert_allclose(sampled.A, scipy.linalg.expm(lin.A * 0.05), atol=1e-13)


@pytest.mark.parametrize("period", [None, 0.02])
def test_lqr_satisfies_riccatis_equation_and_holds_the_acrobot(period):
    robot = qddot.load("acrobot")
    lin = robot.linearize([np.pi, 0.0], actuated=["elbow"])
    law = lin.lqr([10, 10, 1, 1], 0.1, period)
    Q, R = np.diag([10, 10, 1, 1]), np.array([[0.1]])
    if period is None:
        left = lin.A.T @ law.S + law.S @ lin.A - law.S @ lin.B @ np.linalg.inv(R) @ lin.B.T @ law.S + Q
        assert law.poles.real.max() < 0
    else:
        A, B, _ = lin.discrete(period)
        left = A.T @ law.S @ A - law.S - A.T @ law.S @ B @ law.K + Q
        assert abs(law.poles).max() < 1
    assert_allclose(left, 0, atol=1e-7 * abs(law.S).max())
    motion = robot.simulate([np.pi + 0.01, -0.01], None, 5.0, torque=law)
    assert abs(law.deviation(motion.q[-1], motion.qd[-1])).max() < 1e-3
    cost = law.cost(motion.q, motion.qd)
    assert cost[-1] < 1e-6 * cost[0]
    if period is None:
        assert (np.diff(cost) <= 1e-9 * cost[0]).all()  # a Lyapunov function


def test_what_cannot_be_driven_is_said():
    robot = qddot.load("two_link").with_gravity((0, 0, 0))
    with pytest.raises(InputError, match="no joint is actuated"):
        robot.linearize([0.3, 0.4], actuated=[]).lqr(1.0, 1.0)
    straight = robot.linearize([0.0, 0.0], actuated=["joint2" if "joint2" in robot.joint_names else robot.joint_names[1]])
    assert straight.controllability() == 2  # without gravity momentum is kept: one joint cannot move both
    with pytest.raises(ConvergenceError, match="2 of 4"):
        straight.lqr(1.0, 1.0)


def test_bad_input():
    robot = qddot.load("acrobot")
    lin = robot.linearize([np.pi, 0.0])
    for bad in ({"Q": -1, "R": 1}, {"Q": 1, "R": 0}, {"Q": np.eye(3), "R": 1}, {"Q": "x", "R": 1}, {"Q": 1, "R": [[1, 2], [0, 1]]}):
        with pytest.raises(InputError):
            lin.lqr(**bad)
    with pytest.raises(InputError, match="batch"):
        robot.linearize(np.zeros((3, 2))).lqr(1, 1)
    with pytest.raises(InputError, match="period"):
        lin.discrete(0.0)
    with pytest.raises(UnknownNameError, match="elbow"):
        robot.linearize([0, 0], actuated=["elbo"])
    five = qddot.load("five_bar")
    with pytest.raises(InputError, match="constraints"):
        five.linearize(five.neutral())
    dry = qddot.from_dh([(1.0, 0, 0, 0)], convention="standard", inertias=[qddot.Inertia(1.0)], drives=[qddot.Drive(coulomb=1.0)])
    with pytest.raises(SingularityError, match="dry friction"):
        dry.linearize([0.1])
    assert dry.linearize([0.1], [1.0]).A.shape == (2, 2)
    with pytest.raises(InputError, match="dry friction"):
        dry.equations().linearize(qd=0)


# equilibria ------------------------------------------------------------------------------------------------------------------


def test_equilibria_of_the_acrobot():
    robot = qddot.load("acrobot")
    starts = np.array([[0.3, -0.2], [3.0, 0.1], [0.2, 3.0], [3.1, 3.0]])
    found = robot.equilibrium(starts)
    assert_allclose(np.sin(found.q), 0, atol=1e-9)
    assert_allclose(found.tau, 0)
    assert found.stable.tolist() == [True, False, False, False]
    held = robot.equilibrium([0.7, 0.5], actuated=["elbow"])
    assert_allclose(robot.gravity_torque(held.q), [0, held.tau[1]], atol=1e-9)
    assert abs(held.tau[1]) > 0.1
    kept = robot.equilibrium([0.3, 0.5], actuated=["shoulder"], hold=["shoulder"])
    assert kept.q[0] == 0.3
    assert_allclose(np.sin(kept.q.sum()), 0, atol=1e-9)
    every = robot.equilibrium([0.3, 0.5], actuated=robot.joint_names)
    assert_allclose(every.tau, robot.gravity_torque([0.3, 0.5]))
    with pytest.raises(ConvergenceError, match="no equilibrium"):
        robot.equilibrium([0.3, 0.5], hold=["shoulder"])


# closed forms ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_link", "cart_pole", "acrobot", "rp_arm"])
def test_closed_forms_are_the_kernels(name):
    robot, rng = qddot.load(name), np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, robot.nv))
    equations = robot.equations()
    forward = equations.forward()
    assert_allclose(forward.qdd.evaluate(q, qd, tau=tau), robot.forward_dynamics(q, qd, tau), rtol=1e-10, atol=1e-10)
    A, B = equations.linearize()
    qdd = robot.forward_dynamics(q, qd, tau)
    lin = robot.linearize(q, qd, tau)
    assert_allclose(A.evaluate(q, qd, qdd), lin.A, rtol=1e-9, atol=1e-9)
    assert_allclose(B.evaluate(q, qd, qdd), lin.B, rtol=1e-9, atol=1e-9)


def test_steps_of_the_factored_solution():
    robot, rng = qddot.load("puma560"), np.random.default_rng(1)
    q, qd, tau = rng.normal(size=(3, 6))
    forward = robot.equations().forward()
    with pytest.raises(InputError, match="at most 3 joints"):
        _ = forward.qdd
    M, rest = robot.mass_matrix(q), tau - robot.bias_torque(q, qd)
    values = {sympy.Symbol(f"M{i + 1}{j + 1}"): M[i, j] for i in range(6) for j in range(i + 1)}
    values |= {sympy.Symbol(f"r{i + 1}"): rest[i] for i in range(6)}
    for letter, value in forward.steps:
        values[letter] = value.subs(values)
    found = [float(values[sympy.Symbol(f"qdd{i + 1}")]) for i in range(6)]
    assert_allclose(found, robot.forward_dynamics(q, qd, tau), rtol=1e-9, atol=1e-9)
    assert_allclose([float(x) for x in forward.h.evaluate(q, qd)], robot.bias_torque(q, qd), rtol=1e-9, atol=1e-9)


def test_pendulum_upright_on_paper():
    m, l, g, b = sympy.symbols("m l g b", positive=True)
    robot = qddot.from_dh(
        [(l, 0, 0, 0)],
        convention="standard",
        inertias=[qddot.Inertia(m)],
        drives=[qddot.Drive(viscous=b)],
        gravity=(0, -g, 0),
    )
    A, B = robot.equations().linearize(q=[sympy.pi / 2], qd=0, qdd=0)
    assert A.sympy() == sympy.Matrix([[0, 1], [g / l, -b / (m * l**2)]])
    assert B.sympy() == sympy.Matrix([0, 1 / (m * l**2)])


@pytest.mark.parametrize("period", [None, 0.01])
def test_feedback_of_what_cannot_be_driven_is_refused(period):
    links = [qddot.Inertia(2.0, (-0.25, 0, 0), (0.01, 0.05, 0.05)), qddot.Inertia(1.0, (-0.2, 0, 0), (0.005, 0.02, 0.02))]
    arm = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], convention="standard", inertias=links, gravity=(0, 0, 0))
    with pytest.raises(ConvergenceError, match="2 of 4 directions"):
        arm.linearize([0, 0], actuated=["joint2"]).lqr(1, 1, period)
