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


@pytest.mark.skipif(np.longdouble(1).nbytes == 8, reason="a long double is a double here, as on Windows")
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.mass_matrix(Z, device="cuda"), "no option 'device': arrays are computed where they are"),
        (lambda r: r.jacobian(Z, ref="body"), "jacobian has no option 'ref': did you mean 'reference'"),
        (lambda r: r.inverse_dynamics(Z, Z, Z, fext={}), "no option 'fext': did you mean 'f_ext'"),
        (lambda r: r.mass_matrix(Z, chek=False), "no option 'chek': did you mean 'check'"),
        (lambda r: r.inverse_dynamics_derivatives(Z, Z, Z, f_ext={}), "no option 'f_ext'"),
        (lambda r: r.program("mass_matrix", wrench=True), "does not depend on external forces"),
        (lambda r: r.mass_matrix(Z, dtype="quux"), "neither float64 nor float32"),
        (lambda r: r.mass_matrix(Z, out=[1, 2]), "mass_matrix: "),
        (lambda r: r.mass_matrix(Z, out=np.zeros((2, 2), dtype=int)), "out for M holds int64 elements"),
        (lambda r: r.integrate(np.zeros((3, 2)), np.zeros((4, 2))), r"leading dimensions \(3,\) and \(4,\) do not fit"),
        (lambda r: r.inverse_dynamics(np.zeros((4, 2)), Z, Z, f_ext={"body_1": np.zeros((9, 6))}), r"leading dimensions \(9,\)"),
    ],
)
def test_keywords_and_shapes_that_do_not_fit(robot, call, message):
    with pytest.raises(InputError, match=message):
        call(robot)


def test_an_empty_frame_name_is_not_the_tip(robot):
    with pytest.raises(UnknownNameError, match="no frame ''"):
        robot.transform(Z, "")


def test_difference_checks_quaternions(ball):
    q = ball.random_configuration(2)
    with pytest.raises(InputError, match="quaternion wxyz of length 2"):
        ball.difference(q, np.where(np.arange(len(q)) < 1, q, 2 * q))


def test_check_off_also_reaches_the_forces(robot):
    result = robot.inverse_dynamics([np.nan, 0.0], Z, Z, f_ext={"body_2": np.ones(6)}, check=False)
    assert np.isnan(result).any()


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


def test_without_the_check_a_singular_state_is_not_finite():
    robot = arm_with_tip(mass=0.0)
    assert not np.isfinite(robot.forward_dynamics([0.3, 0.4], Z, [0.0, 1.0], check=False)).all()


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_a_point_mass_on_four_hinges_is_singular_everywhere(method):
    """Rank 3 of 4. The zero pivot is rounding, which other small pivots can blow up: hardly any state may slip through."""
    rng = np.random.default_rng(0)
    builder = qddot.Builder("redundant")
    for i in range(4):
        parent = f"l{i - 1}" if i else None
        builder.body(
            f"l{i}",
            parent,
            axis=rng.normal(size=3),
            xyz=rng.normal(size=3),
            **({"mass": 1.0, "com": (0.3, 0.1, 0.2)} if i == 3 else {}),
        )
    robot = builder.robot()
    accepted = 0
    for seed in range(200):
        try:
            robot.forward_dynamics(robot.random_configuration(seed), np.zeros(4), np.ones(4), method=method)
            accepted += 1
        except SingularityError:
            pass
    assert accepted <= 1


def test_a_frame_always_in_gimbal_lock():
    robot = qddot.Builder("tilted").body("hand", mass=1.0).frame("tool", "hand", rpy=(0, np.pi / 2, 0)).robot()
    with pytest.raises(SingularityError, match="roll and yaw turn about one axis"):
        robot.analytic_jacobian([0.3], "tool")
    assert robot.analytic_jacobian([0.3], "tool", coordinates="quaternion").shape == (7, 1)


def test_analytic_jacobian_refuses_gimbal_lock():
    arm = qddot.Builder("wrist").body("hand", axis=(0, 1, 0), mass=1.0).robot()
    assert np.isfinite(arm.analytic_jacobian([1.0])).all()
    with pytest.raises(SingularityError, match="analytic_jacobian"):
        arm.with_gravity((0, 0, 0)).analytic_jacobian([np.pi / 2])


def test_overflow_is_refused(robot):
    with pytest.raises(SingularityError, match=r"tau\[0\] is not finite"):
        robot.inverse_dynamics(Z, [1e200, 1e200], Z)


def test_the_callers_floating_point_settings_do_not_matter(ball):
    robot = qddot.load("two_link")
    q = ball.random_configuration(0)
    q[1:5] = [1, 1e-170, 0, 0]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.inverse_dynamics(Z, Z, Z, f_ext={"body_1": np.full(6, 1e-310)})
        ball.gravity_torque(q)
        with pytest.raises(InputError, match=r"qdd\[0\] is inf"):
            robot.inverse_dynamics(Z, Z, [1e300, 0], dtype=np.float32)


def test_a_frame_is_a_name(robot):
    with pytest.raises((InputError, UnknownNameError)):
        robot.jacobian(Z, frame=["body_1"])


def test_where_the_processors_flags_are_lost_all_is_looked_at(robot, monkeypatch):
    """Valgrind and some emulators keep no flags."""
    good = robot.inverse_dynamics(np.ones((20, 2)), Z, Z)
    monkeypatch.setattr("qddot.compile.evaluate.are_raised", lambda: False)
    monkeypatch.setattr("qddot.compile.flags.RAISING.settings", {"all": "ignore"})
    monkeypatch.setattr("qddot.compile.flags.RAISING.free", [])
    np.testing.assert_array_equal(robot.inverse_dynamics(np.ones((20, 2)), Z, Z), good)
    bad = np.ones((20, 2))
    bad[7, 1] = np.nan
    with pytest.raises(InputError, match=r"q\[7, 1\] is nan"):
        robot.inverse_dynamics(bad, Z, Z)
    with pytest.raises(SingularityError, match="not finite"):
        robot.inverse_dynamics(np.ones((20, 2)), np.full(2, 1e200), Z)
