"""What is not a state: every wrong array gets an error that says what is wrong and where."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import qddot
from qddot import InputError, InputWarning, SingularityError, UnknownNameError
from qddot.robot import Robot
from tests.robots import random_model

Z = [0.0, 0.0]


@pytest.fixture(scope="module")
def robot() -> Robot:
    return qddot.load("two_link")


@pytest.fixture(scope="module")
def ball() -> Robot:
    return Robot(random_model(np.random.default_rng(0), 3, kinds=("spherical",), chain=True))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([0.0, 0.0, 0.0], r"q has shape \(3,\), expected \(..., 2\)"),
        ([[0.0], [0.0]], r"q has shape \(2, 1\)"),
        ([], r"q has shape \(0,\)"),
        (0.0, r"q has shape \(\)"),
        (None, "q is None"),
        ([0.0, np.nan], r"q\[1\] is nan"),
        ([0.0, -np.inf], r"q\[1\] is -inf"),
        ([[0.0, 0.0], [0.0, np.nan]], r"q\[1, 1\] is nan"),
        ([0.0, 1j], "complex128"),
        (["a", "b"], "<U1"),
        ([True, False], "bool"),
        (np.array([0.0, object()], dtype=object), "object"),
        ([[0.0, 0.0], [0.0]], "not an array"),
        (np.ma.array([0.0, 0.0], mask=[False, True]), r"masked elements, first at \(1,\)"),
    ],
)
def test_a_wrong_configuration_is_refused(robot, value, message):
    with pytest.raises(InputError, match=message) as caught:
        robot.inverse_dynamics(value, Z, Z)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_every_argument_is_checked_and_named(robot, k):
    arguments = [Z, Z, Z]
    arguments[k] = [np.nan, 0.0]
    with pytest.raises(InputError, match=rf"^{('q', 'qd', 'qdd')[k]}\[0\] is nan"):
        robot.inverse_dynamics(*arguments)


def test_leading_dimensions_that_do_not_fit(robot):
    with pytest.raises(InputError, match=r"q \(3, 2\), qd \(4, 2\)"):
        robot.inverse_dynamics(np.zeros((3, 2)), np.zeros((4, 2)), Z)


@pytest.mark.parametrize(
    "value",
    [[1, 0], (1, 0), np.array([1, 0], dtype=np.int8), np.array([1, 0], dtype=np.float32), np.array([1.0, 0.0], dtype=np.float16)],
    ids=["list", "tuple", "int8", "float32", "float16"],
)
def test_real_numbers_of_any_kind_are_accepted(robot, value):
    result = robot.gravity_torque(value)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, robot.gravity_torque([1.0, 0.0]))


def test_read_only_input_is_accepted(robot):
    q = np.array([1.0, 0.0])
    q.flags.writeable = False
    robot.gravity_torque(q)


def test_extended_precision_is_cast_with_a_warning(robot):
    with pytest.warns(InputWarning, match="computed in float64"):
        robot.gravity_torque(np.array([1.0, 0.0], dtype=np.longdouble))


def test_huge_angles_are_reported(robot):
    with pytest.warns(InputWarning, match=r"'joint1'.*exceeds 1e\+06 rad"):
        robot.gravity_torque([2e6, 0.0])


def test_warnings_point_at_the_caller(robot):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot.gravity_torque([2e6, 0.0])
    assert caught[0].filename == __file__


def test_check_off_lets_nan_through(robot):
    assert np.isnan(robot.inverse_dynamics([np.nan, 0.0], Z, Z, check=False)).any()


def test_a_scalar_is_a_state_of_one_coordinate():
    pendulum = qddot.Builder("pendulum").body("bob", axis=(0, 1, 0), mass=1.0, com=(0, 0, -1)).robot()
    assert pendulum.mass_matrix(0.3) == pytest.approx(1.0)


def test_quaternions_are_normalised_or_refused(ball):
    q = ball.random_configuration(1)
    v = np.ones(ball.nv)
    slightly = q.copy()
    slightly[1:5] *= 1 + 1e-8
    np.testing.assert_allclose(ball.inverse_dynamics(slightly, v, v), ball.inverse_dynamics(q, v, v), rtol=1e-12, atol=1e-12)
    far = q.copy()
    far[1:5] *= 1.01
    with pytest.raises(InputError, match=r"quaternion wxyz of length 1.01, not 1"):
        ball.inverse_dynamics(far, v, v)
    with pytest.raises(InputError, match="length 0"):
        ball.inverse_dynamics(np.zeros(ball.nq), v, v)


def test_unknown_names_come_with_near_matches(robot):
    with pytest.raises(UnknownNameError, match="no frame 'body_3': did you mean 'body_2' or 'body_1'") as caught:
        robot.jacobian(Z, "body_3")
    assert isinstance(caught.value, KeyError)
    with pytest.raises(UnknownNameError, match="did you mean 'puma560'"):
        qddot.load("puma650")
    with pytest.raises(UnknownNameError, match="no quantity 'mass_matrx': did you mean 'mass_matrix'"):
        robot.kernel("mass_matrx")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.coriolis_matrix(Z, Z, form="wrong"), "form='wrong' is not one of 'christoffel', 'rate', 'gradient'"),
        (lambda r: r.jacobian(Z, reference="tool"), "reference='tool'"),
        (lambda r: r.analytic_jacobian(Z, coordinates="xyz"), "coordinates='xyz'"),
        (lambda r: r.forward_dynamics(Z, Z, Z, method="lu"), "method='lu'"),
        (lambda r: r.external_wrench(Z, {}, expressed="tool"), "expressed='tool'"),
        (lambda r: r.mass_matrix(Z, dtype=np.int64), "neither float64 nor float32"),
        (lambda r: r.inverse_dynamics(Z, Z, Z, f_ext={"base": np.zeros(6)}), "fixed to the world"),
        (lambda r: r.inverse_dynamics(Z, Z, Z, f_ext=np.zeros((3, 6))), r"f_ext has shape \(3, 6\), expected \(..., 2, 6\)"),
        (lambda r: r.inverse_dynamics(Z, Z, Z, f_ext={"body_1": [0, 0, 0]}), r"wrench on 'body_1' has shape \(3,\)"),
    ],
)
def test_options_that_do_not_exist(robot, call, message):
    with pytest.raises(InputError, match=message):
        call(robot)


def test_christoffel_symbols_need_coordinates(ball):
    with pytest.raises(InputError, match="spherical and free"):
        ball.christoffel(ball.neutral())


def test_articulated_bodies_refuse_coupled_joints():
    robot = Robot(random_model(np.random.default_rng(5), 6, kinds=("revolute",), mimic=0.9))
    assert robot.mimics
    state = robot.random_configuration(0), np.zeros(robot.nv), np.zeros(robot.nv)
    with pytest.raises(InputError, match='use method="crba"'):
        robot.forward_dynamics(*state, method="aba")
    np.testing.assert_array_equal(robot.forward_dynamics(*state), robot.forward_dynamics(*state, method="crba"))


# what does not exist is refused, never returned as inf or nan ------------------------------------------------------------


def arm_with_tip(**last) -> Robot:
    builder = qddot.Builder("arm").body("upper", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), tensor=(0.01, 0.01, 0.01))
    return builder.body("tip", "upper", axis=(1, 2, 3), xyz=(0.1, 0.3, 0.5), **last).robot()


@pytest.mark.parametrize("method", ["aba", "crba"])
@pytest.mark.parametrize(
    "last", [{}, {"mass": 0.0}, {"mass": 1.0, "com": np.array([1, 2, 3]) / 7}], ids=["nothing", "zero", "on the axis"]
)
def test_forward_dynamics_refuses_a_joint_without_inertia(last, method):
    robot = arm_with_tip(**last)
    with pytest.raises(SingularityError, match="nothing resists joint 'tip"):
        robot.forward_dynamics([0.3, 0.4], Z, [0.0, 1.0], method=method)
    with pytest.raises(SingularityError, match="nothing resists"):
        robot.forward_dynamics_derivatives([0.3, 0.4], Z, [0.0, 1.0])
    assert np.isfinite(robot.inverse_dynamics([0.3, 0.4], Z, Z)).all()


def test_the_singular_state_of_a_batch_is_named():
    """A point mass on a turning slider has no moment of inertia when it passes the axis."""
    robot = qddot.Builder("radar").body("turn").body("mass", "turn", joint="prismatic", axis=(1, 0, 0), mass=1.0).robot()
    q = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0]])
    assert robot.forward_dynamics(q[0], Z, [1.0, 0.0])[0] == pytest.approx(1.0)
    with pytest.raises(SingularityError, match=r"in state \[2\]: nothing resists joint 'turn"):
        robot.forward_dynamics(q, Z, Z)


def test_analytic_jacobian_refuses_gimbal_lock():
    arm = qddot.Builder("wrist").body("hand", axis=(0, 1, 0), mass=1.0).robot()
    assert np.isfinite(arm.analytic_jacobian([1.0])).all()
    with pytest.raises(SingularityError, match="analytic_jacobian"):
        arm.with_gravity((0, 0, 0)).analytic_jacobian([np.pi / 2])


def test_overflow_is_refused(robot):
    with pytest.raises(SingularityError, match=r"tau\[0\] is not finite"):
        robot.inverse_dynamics(Z, [1e200, 1e200], Z)
