"""Log-Cholesky coordinates, and fits in them."""

from __future__ import annotations

import numpy as np
import pytest

from qddot.errors import ConvergenceError, InputError
from qddot.identify.deviations import deviations
from qddot.identify.physical.log_cholesky import Chart, chosen, derivative, factor, from_ten, nonlinear_least_squares, to_ten
from qddot.identify.physical.pseudo_inertia import congruence, pseudo_inertia
from qddot.model.inertia import Inertia
from tests.identify.arms import random_arm, random_states
from tests.robots import random_inertia

BALL = np.array(Inertia.sphere(2.0, 0.2).ten_vector(), float)


def test_round_trips():
    rng = np.random.default_rng(0)
    eta = rng.normal(size=(50, 10))
    assert np.allclose(from_ten(to_ten(eta)), eta, atol=1e-9)
    ten = np.array([random_inertia(rng).ten_vector() for _ in range(50)], float)
    assert np.allclose(to_ten(from_ten(ten)), ten, atol=1e-12)


def test_every_point_is_a_body():
    ten = to_ten(2 * np.random.default_rng(1).normal(size=(100, 10)))
    assert all(np.linalg.eigvalsh(J)[0] > 0 for J in pseudo_inertia(ten))
    assert all(Inertia.from_ten_vector(x.tolist()).is_consistent for x in ten)


def test_the_factor_is_upper_triangular():
    U = factor(np.random.default_rng(2).normal(size=10))
    assert np.array_equal(U, np.triu(U))


def test_derivative_against_differences():
    eta, h = np.random.default_rng(3).normal(size=10) * 0.5, 1e-6
    numeric = np.stack([(to_ten(eta + h * e) - to_ten(eta - h * e)) / (2 * h) for e in np.eye(10)], axis=1)
    assert np.allclose(derivative(eta), numeric, atol=1e-7 * abs(numeric).max())
    assert derivative(np.stack([eta, eta])).shape == (2, 10, 10)


def test_a_plate_has_no_coordinates():
    with pytest.raises(InputError, match="a body with volume has a positive definite one"):
        from_ten(np.array(Inertia.rod(1.0, 1.0).ten_vector(), float))


def test_the_chart_leaves_drives_alone():
    names = (*(f"a.{x}" for x in ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")), "j.viscous")
    chart = Chart(names, np.append(BALL, 9.0), np.full(11, 2.0))
    pi = np.append(0.5 * BALL, 0.3)
    x = chart.coordinates(pi)
    assert x[-1] == 0.15
    assert np.allclose(chart.parameters(x), pi)
    assert chart.jacobian(x)[-1].tolist() == [0.0] * 10 + [2.0]


def test_coordinates_about_a_reference_have_no_unit_and_no_frame():
    one, other = (np.array(random_inertia(np.random.default_rng(k)).ten_vector(), float) for k in range(2))
    names = tuple(f"a.{x}" for x in ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz"))
    assert np.allclose(Chart(names, one).coordinates(one), 0, atol=1e-12)
    turned = congruence(np.array([[3.0, 0.2, 0.1, 0.5], [0, 3.0, 0.4, -0.2], [0, 0, 3.0, 0.3], [0, 0, 0, 1]]))
    assert np.allclose(Chart(names, turned @ one).coordinates(turned @ other), Chart(names, one).coordinates(other))


def offset(start: np.ndarray) -> Chart:
    """Coordinates of a single constant that may have any sign."""
    return Chart(("j.offset",), start)


def test_a_step_into_nowhere_is_taken_back():
    start = np.array([0.01])
    found = nonlinear_least_squares(
        lambda x: np.where(x < 2.5, 1000 * np.sqrt(x), np.nan) - 1000, lambda x: 500 / np.sqrt(x)[:, None], offset(start), start
    )
    assert found == pytest.approx([1.0])
    with pytest.raises(InputError, match="residuals of the start are not finite"):
        nonlinear_least_squares(lambda x: x * np.nan, lambda x: np.eye(1), offset(start), start)


def test_torques_of_a_consistent_truth_are_recovered():
    robot = random_arm(0, 3)
    Y = robot.regressor(*random_states(0, robot, 100)).reshape(-1, 30)
    tau = Y @ robot.parameters()
    start = np.tile(BALL, 3)
    found = nonlinear_least_squares(lambda pi: Y @ pi - tau, lambda pi: Y, Chart(robot.parameter_names, start), start)
    assert np.linalg.norm(Y @ found - tau) < 1e-6 * np.linalg.norm(tau) < np.linalg.norm(Y @ start - tau)
    assert all(np.linalg.eigvalsh(J)[0] > 0 for J in pseudo_inertia(found.reshape(3, 10)))


def test_output_error_fit_of_a_falling_arm():
    """Simulated positions, not torques: which no linear least squares can use."""
    truth = random_arm(1, 1)
    pi = truth.parameters()
    names, dt, t = truth.parameter_names, 0.01, np.arange(150)

    def simulated(pi: np.ndarray) -> np.ndarray:
        kernel = truth.kernel("forward_dynamics", inertias="runtime").ufunc
        q, qd, found = np.array([0.3]), np.zeros(1), []
        for _ in t:
            qd = qd + dt * kernel(q, qd, np.zeros(1), pi)[0]
            q = q + dt * qd
            found.append(q[0])
        return np.array(found)

    measured = simulated(pi)
    start = pi.copy()
    start[4:] *= 1.3

    def slope(pi: np.ndarray) -> np.ndarray:
        steps = 1e-6 * np.maximum(np.abs(pi), 1.0)
        return np.stack([(simulated(pi + h * e) - simulated(pi - h * e)) / (2 * h) for h, e in zip(steps, np.eye(10))], axis=1)

    found = nonlinear_least_squares(lambda x: simulated(x) - measured, slope, Chart(names, start), start, gamma=1e-6)
    assert np.linalg.norm(simulated(found) - measured) < 1e-4 < np.linalg.norm(simulated(start) - measured)


def test_only_what_is_free_moves():
    robot = random_arm(2, 2)
    Y = robot.regressor(*random_states(2, robot, 50)).reshape(-1, 20)
    start = robot.parameters()
    start[10:] = BALL
    tau = Y @ robot.parameters()
    names = robot.parameter_names
    found = nonlinear_least_squares(
        lambda pi: Y @ pi - tau, lambda pi: Y, Chart(names, start), start, free=chosen(names, ["l1"]), gamma=1e-9
    )
    assert np.allclose(found[:10], start[:10], rtol=1e-12, atol=1e-14)
    assert np.linalg.norm(Y @ found - tau) < 1e-3 * np.linalg.norm(Y @ start - tau)


def test_deviations_of_a_nonlinear_fit():
    """What the residuals leave open has none; the rest have those of the linear problem."""
    J, errors = np.random.default_rng(0).normal(size=(50, 2)), np.random.default_rng(1).normal(size=50)
    found = deviations(np.column_stack([J, J[:, 1]]), errors, 50)
    assert np.isinf(found[1:]).all()
    assert np.allclose(deviations(J, errors, 50) ** 2, np.diagonal(np.linalg.inv(J.T @ J)) * (errors @ errors) / 48)


def test_refusals():
    robot = random_arm(3, 1)
    names = robot.parameter_names
    with pytest.raises(InputError, match="free='l9' is neither a parameter nor a link"):
        chosen(names, ["l9"])
    with pytest.raises(InputError, match="of link 'l0' all ten numbers are free, or none"):
        chosen(names, ["l0.m"])
    with pytest.raises(ConvergenceError, match="not converged after 2 evaluations"):
        nonlinear_least_squares(lambda pi: pi - 3 * BALL, lambda pi: np.eye(10), Chart(names, BALL), BALL, evaluations=2)
