"""What a constraint becomes: phi, A along the tangent, and its exact rate; and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import InputError, UnknownNameError
from qddot.model.pose import from_rpy, to_matrix
from qddot.model.spatial import Transform, Vec
from tests.constraints.robots import CONSTRAINTS, POSE, random_robot, random_state
from tests.slow import slow_but

HOLONOMIC = [name for name in CONSTRAINTS if name not in ("contact", "sticking", "knife edge", "several")]


@pytest.mark.parametrize("name", HOLONOMIC)
@pytest.mark.parametrize("case", slow_but(range(2), 1))
def test_A_is_the_derivative_of_h_along_the_tangent(name, case):
    robot = random_robot(case, mimic=0.3)
    q, v, _ = random_state(robot, case)
    h, step = lambda q: robot.constraint_residual(q, CONSTRAINTS[name]), 1e-5
    numeric = (h(robot.integrate(q, step * v)) - h(robot.integrate(q, -step * v))) / (2 * step)
    assert_allclose(robot.constraint_jacobian(q, CONSTRAINTS[name]) @ v, numeric, atol=3e-8)


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("case", slow_but(range(2), 1))
def test_Adot_is_the_rate_of_A_along_the_motion(name, case):
    robot = random_robot(case, mimic=0.3)
    q, v, _ = random_state(robot, case)
    A, step = lambda q: robot.constraint_jacobian(q, CONSTRAINTS[name]), 1e-5
    numeric = (A(robot.integrate(q, step * v)) - A(robot.integrate(q, -step * v))) / (2 * step)
    assert_allclose(robot.constraint_jacobian_dot(q, v, CONSTRAINTS[name]), numeric, atol=3e-7)


@pytest.mark.parametrize("case", range(2))
def test_rows_of_points_are_rows_of_jacobians(case):
    robot = random_robot(case)
    q, qd, _ = random_state(robot, case)
    J, Jdot = robot.jacobian(q, "l3", "world_aligned"), robot.jacobian_dot(q, qd, "l3", "world_aligned")
    n = np.array([1, 2, 3]) / np.sqrt(14)
    plane = CONSTRAINTS["plane"]
    assert_allclose(robot.constraint_jacobian(q, plane), [n @ J[3:]], atol=1e-14)
    assert_allclose(robot.constraint_jacobian_dot(q, qd, plane), [n @ Jdot[3:]], atol=1e-13)
    assert_allclose(robot.constraint_jacobian(q, CONSTRAINTS["sticking"]), J[3:], atol=1e-14)
    assert_allclose(robot.constraint_jacobian_dot(q, qd, CONSTRAINTS["sticking"]), Jdot[3:], atol=1e-13)
    line, normals = robot.constraint_jacobian(q, CONSTRAINTS["line"]), np.array(CONSTRAINTS["line"].normals)
    assert_allclose(line, normals @ J[3:], atol=1e-14)
    assert_allclose(normals @ np.column_stack([n, normals.T]), [[0, 1, 0], [0, 0, 1]], atol=1e-15)
    assert_allclose(robot.constraint_residual(q, plane), [n @ (robot.transform(q, "l3")[:3, 3] - [0.1, 0.2, 0])], atol=1e-15)


def test_a_weld_that_holds_has_the_relative_twist_as_its_rate():
    robot = random_robot(1)
    q, _, _ = random_state(robot, 1)
    T1, T3 = robot.transform(q, "l1"), robot.transform(q, "l3")
    weld = qddot.weld("l1", "l3", np.linalg.inv(T1) @ T3)
    assert_allclose(robot.constraint_residual(q, weld), 0, atol=1e-14)
    R = T3[:3, :3]  # the first spot has the axes of l3 now
    J1, J3 = (robot.jacobian(q, frame, "space") for frame in ("l1", "l3"))
    relative = J3 - J1
    at_spot = relative[3:] + np.cross(relative[:3].T, T3[:3, 3]).T
    assert_allclose(robot.constraint_jacobian(q, weld), np.vstack([R.T @ relative[:3], R.T @ at_spot]), atol=1e-13)


@pytest.mark.parametrize("angle", [1e-9, 0.3, 2.0, 3.1, -3.1])
def test_the_rows_of_a_weld_grow_with_the_angle(angle):
    body = qddot.Builder("body").body("link", joint="free", mass=1.0, tensor=(1, 1, 1)).robot()
    axis = np.array([2, -1, 2]) / 3
    q = body.integrate(body.neutral(), [*(axis * angle), 0, 0, 0])
    rows = body.constraint_residual(q, qddot.fixed_frame("link", np.eye(4)))
    assert_allclose(rows[:3], 2 * np.sin(angle / 2) * axis, rtol=1e-7, atol=1e-15)


def test_coupled_joints():
    robot = qddot.load("two_link")
    both = (qddot.joint_equality("joint2", "joint1", -2, 0.5),)
    assert_allclose(robot.constraint_residual([0.3, 1.0], both), [1.0 + 0.6 - 0.5])
    assert_allclose(robot.constraint_jacobian([0.3, 1.0], both), [[2, 1]])


def test_following_joints_are_coordinates_too():
    robot = (
        qddot.Builder("pair")
        .body("a", mass=1, com=(1, 0, 0))
        .body("b", "a", xyz=(1, 0, 0), mass=1, com=(1, 0, 0), mimic=("a_joint", -2, 0.1))
        .robot()
    )
    assert_allclose(robot.constraint_residual([0.3], qddot.holonomic(lambda s: s.joint("b_joint"))), [-0.5])


def test_equations_are_batched_and_compiled_once():
    robot = random_robot(2)
    q = np.stack([robot.random_configuration(i) for i in range(40)])
    A = robot.constraint_jacobian(q.reshape(5, 8, -1), CONSTRAINTS["weld"])
    assert A.shape == (5, 8, 6, robot.nv)
    assert_allclose(A.reshape(40, 6, -1)[17], robot.constraint_jacobian(q[17], CONSTRAINTS["weld"]), rtol=0)
    kernels = len(robot._evaluate.kernels.made)
    robot.constraint_jacobian(q[0], qddot.weld("l1", "l3", POSE))  # equal, but made anew
    assert len(robot._evaluate.kernels.made) == kernels


def test_no_constraints_are_no_rows():
    robot = qddot.load("two_link")
    assert robot.constraint_jacobian(np.zeros((3, 2)), ()).shape == (3, 0, 2)
    assert robot.constraint_residual([0, 0], []).shape == (0,)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: qddot.pfaffian(lambda s: s.qd[0] * s.qd[1]), "row 0 of constraint '<lambda>' is not linear in qd"),
        (lambda: qddot.pfaffian(lambda s: [s.qd[0], s.qd[1] + s.q[0]]), "row 1 of .* is not zero at qd = 0"),
        (lambda: qddot.pfaffian(lambda s: s.qd[0] - 1), "without a drift"),
        (lambda: qddot.holonomic(lambda s: s.qd[0]), "speaks of q alone: for velocities use qddot.pfaffian"),
        (lambda: qddot.holonomic(lambda s: s.velocity("tip").x), "speaks of q alone"),
        (lambda: qddot.holonomic(lambda s: None), "returns None"),
        (lambda: qddot.holonomic(lambda s: ["x"]), "row 0 of .* is 'x': one scalar a row"),
        (lambda: qddot.holonomic(lambda s: s.q[0] == s.q[1]), "row 0 of .* is False: a row is what must become zero, a - b"),
        (lambda: qddot.pfaffian(lambda s: [s.qd[0], s.qd[0] != s.qd[1]]), "row 1 of .* no comparison"),
        (lambda: qddot.holonomic(lambda s: []), "returns no rows"),
        (lambda: qddot.pfaffian(lambda s: ()), "returns no rows"),
        (lambda: qddot.holonomic(lambda s: math.nan), "is nan whatever q"),
        (lambda: qddot.holonomic(lambda s: 1.0), "is 1 whatever q: it cannot become zero"),
        (lambda: qddot.point_on_plane("tip", (0, 0, 0), (0, 0, 0)), "normal=.* has no direction"),
        (lambda: qddot.point_on_plane("tip", (0, 0), (0, 0, 1)), "point=.*three numbers are needed"),
        (lambda: qddot.connect("tip", "base", "xx"), "axes='xx' are not some of"),
        (lambda: qddot.fixed_frame("tip", np.ones((4, 4))), "pose: "),
        (lambda: qddot.holonomic(lambda s: math.cos(s.q[0])), "they have .* state.cos"),
        (lambda: qddot.holonomic(lambda s: np.cos(s.q[0])), "they have .* state.cos"),
        (lambda: qddot.holonomic(lambda s: np.hypot(s.q[0], s.q[1]) - 1), "they have .* state.cos"),
        (lambda: qddot.holonomic(lambda s: s.q[0] if s.q[0] > 0 else 0), "cannot be compared"),
        (lambda: "tip", "'tip' is no constraint"),
        (lambda: None, "has no constraints of its own"),
    ],
)
def test_what_is_no_constraint_is_refused(make, message):
    robot = qddot.load("point_mass_2r")
    with pytest.raises(InputError, match=message):
        robot.constraint_jacobian([0.1, 0.2], make())


def test_unknown_frames_and_joints_come_with_near_matches():
    robot = qddot.load("point_mass_2r")
    with pytest.raises(UnknownNameError, match="no frame 'tipp': did you mean 'tip'"):
        robot.constraint_jacobian([0.1, 0.2], qddot.connect("tipp", "base"))
    with pytest.raises(UnknownNameError, match="no joint 'joint3'"):
        robot.constraint_jacobian([0.1, 0.2], qddot.joint_equality("joint3", "joint1"))
    ball = qddot.Builder("ball").body("link", joint="spherical", mass=1.0, tensor=(1, 1, 1)).robot()
    with pytest.raises(InputError, match="'link_joint' is spherical"):
        ball.constraint_jacobian(ball.neutral(), qddot.joint_equality("link_joint", "link_joint"))


def test_powers():
    robot = qddot.load("point_mass_2r")
    power = qddot.holonomic(lambda s: [s.q[0] ** 3 - 1, s.q[1] ** -2, s.q[0] ** 0 - 1])
    assert_allclose(robot.constraint_residual([2.0, 4.0], power), [7, 1 / 16, 0])
    assert_allclose(robot.constraint_jacobian([2.0, 4.0], power), [[12, 0], [0, -2 / 64], [0, 0]])
    with pytest.raises(InputError, match=r"0.5 is not a whole number"):
        robot.constraint_residual([2.0, 4.0], qddot.holonomic(lambda s: s.q[0] ** 0.5))


def test_aliases():
    assert qddot.loop_closure is qddot.connect
    assert qddot.frames_fixed is qddot.weld
    assert qddot.weld("a", "b", Transform(from_rpy(0, 0, 0.1), Vec(1.0, 2.0, 3.0))) == qddot.weld(
        "a", "b", to_matrix(Transform(from_rpy(0, 0, 0.1), Vec(1.0, 2.0, 3.0)))
    )
