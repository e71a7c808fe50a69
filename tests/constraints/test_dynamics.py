"""Motion under constraints: the equations hold, constraint forces do no work, redundant rows change nothing, and what cannot be is
refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy import cos, pi, sin
from numpy.testing import assert_allclose

import qddot
from qddot import InputError, RankWarning, SingularityError
from qddot.model.drive import Drive
from tests.constraints.robots import CONSTRAINTS, random_robot, random_state, that_moves
from tests.slow import slow_but


def check_equations(robot, q, qd, tau, constraints, f_ext=None):
    """tau = M qdd + h + A^T lam and A qdd + Adot qd = 0, to 1e-12 of the terms involved."""
    qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, constraints, f_ext=f_ext)
    A, Adot = robot.constraint_jacobian(q, constraints), robot.constraint_jacobian_dot(q, qd, constraints)
    M, h = robot.mass_matrix(q), robot.bias_torque(q, qd, f_ext=f_ext)
    forces = abs(M) @ abs(qdd) + abs(h) + abs(A.T) @ abs(lam) + abs(tau)
    assert abs(M @ qdd + h + A.T @ lam - tau).max() <= 1e-12 * forces.max()
    rates = abs(A) @ abs(qdd) + abs(Adot) @ abs(qd)
    assert abs(A @ qdd + Adot @ qd).max(initial=0) <= 1e-12 * max(rates.max(initial=0), 1)
    return qdd, lam, A


@pytest.mark.parametrize("name", slow_but(CONSTRAINTS, "weld", "function", "several"))
@pytest.mark.parametrize("case", slow_but(range(3), 2))
def test_the_equations_hold_for_any_joints_and_constraints(name, case):
    robot, q, qd, tau = that_moves(CONSTRAINTS[name], case, mimic=0.2)
    check_equations(robot, q, qd, tau, CONSTRAINTS[name], f_ext={"l2": [0.1, 0.2, 0.3, 1, 2, 3]})


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraint_forces_do_no_work(name):
    robot = random_robot(3, joints=6, kinds=("revolute", "spherical", "free", "prismatic"))
    q, qd, tau = random_state(robot, 3)
    qd = robot.project_velocity(q, qd, CONSTRAINTS[name])
    _, lam, A = check_equations(robot, q, qd, tau, CONSTRAINTS[name])
    assert abs(lam @ A @ qd) <= 1e-12 * (abs(lam) @ abs(A) @ abs(qd))
    assert_allclose(A @ qd, 0, atol=1e-12)


def test_inverse_undoes_forward():
    robot = random_robot(1, joints=6)
    q, qd, tau = random_state(robot, 1)
    for constraints in (CONSTRAINTS["line"], CONSTRAINTS["several"]):
        qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, constraints)
        assert_allclose(robot.constrained_inverse_dynamics(q, qd, qdd, constraints, lam), tau, atol=1e-10)
        more = robot.constrained_inverse_dynamics(q, qd, qdd, constraints, lam + 1)
        again = robot.constrained_forward_dynamics(q, qd, more, constraints)
        assert_allclose(again.qdd, qdd, rtol=1e-8, atol=1e-9)  # the same motion, with more force against the constraint
        assert_allclose(again.lam, lam + 1, rtol=1e-8, atol=1e-9)


def test_a_motion_that_leaves_the_constraints_is_refused():
    robot = random_robot(1, joints=6)
    q, qd, tau = random_state(robot, 1)
    qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, CONSTRAINTS["plane"])
    with pytest.raises(InputError, match=r"qdd does not satisfy the constraints: row 0 of A qdd \+ Adot qd is"):
        robot.constrained_inverse_dynamics(q, qd, qdd + 1, CONSTRAINTS["plane"], lam)
    robot.constrained_inverse_dynamics(q, qd, qdd + 1, CONSTRAINTS["plane"], lam, tolerance=None)


def test_projections():
    robot = random_robot(2, joints=6)
    q, qd, tau = random_state(robot, 2)
    A, M = robot.constraint_jacobian(q, CONSTRAINTS["connect"]), robot.mass_matrix(q)
    P, P_qdd = robot.constraint_projections(q, CONSTRAINTS["connect"])
    n, inverse = robot.nv, np.linalg.inv(M)
    assert_allclose(P, np.eye(n) - A.T @ np.linalg.solve(A @ inverse @ A.T, A @ inverse), atol=1e-10)
    assert_allclose(P @ P, P, atol=1e-10)
    assert_allclose(M @ P_qdd, P @ M, atol=1e-10)
    assert_allclose(A @ P_qdd, 0, atol=1e-11)
    assert np.linalg.matrix_rank(P, tol=1e-8) == n - 3
    qdd, _ = robot.constrained_forward_dynamics(q, qd, tau, CONSTRAINTS["connect"])
    assert_allclose(P @ tau, P @ (M @ qdd + robot.bias_torque(q, qd)), atol=1e-10)


def test_project_velocity_takes_the_least_kinetic_energy():
    robot = random_robot(2, joints=6)
    q, qd, _ = random_state(robot, 2)
    kept = robot.project_velocity(q, qd, CONSTRAINTS["connect"])
    assert_allclose(robot.project_velocity(q, kept, CONSTRAINTS["connect"]), kept, atol=1e-12)
    lost = qd - kept
    assert_allclose(lost @ robot.mass_matrix(q) @ kept, 0, atol=1e-11)  # orthogonal by kinetic energy


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_redundant_rows_change_no_motion_and_share_the_force(scale):
    robot = random_robot(4, joints=6)
    q, qd, tau = random_state(robot, 4)
    x = qddot.holonomic(lambda s: s.position("l3").x)
    again = qddot.holonomic(lambda s: s.position("l3").x * scale)
    other = qddot.holonomic(lambda s: s.position("l3").y)
    alone = robot.constrained_forward_dynamics(q, qd, tau, (x, other))
    with pytest.warns(RankWarning, match="only 2 of 3 constraint rows are independent: lam is the smallest of many"):
        both = robot.constrained_forward_dynamics(q, qd, tau, (x, again, other))
    assert_allclose(both.qdd, alone.qdd, rtol=1e-11, atol=1e-11)
    share = alone.lam[0] / (1 + scale**2)
    assert_allclose(both.lam, [share, share * scale, alone.lam[1]], rtol=1e-9, atol=1e-10 * abs(alone.lam).max())
    assert_allclose([both.lam[0] + both.lam[1] * scale, both.lam[2]], alone.lam, rtol=1e-11)


def test_a_row_that_nothing_moves_is_redundant():
    robot = qddot.load("four_bar")
    q = robot.project([0.5, 1.8, 1.7])
    planar = robot.constrained_forward_dynamics(q, [0, 0, 0], [1, 0, 0])
    with pytest.warns(RankWarning, match="only 2 of 3"):
        spatial = robot.constrained_forward_dynamics(q, [0, 0, 0], [1, 0, 0], qddot.connect("closure", "tip"))
    assert_allclose(spatial.qdd, planar.qdd, rtol=1e-12)
    assert_allclose(spatial.lam, [*planar.lam, 0], rtol=1e-12)


def test_rounding_is_no_row():
    """A planar arm turned in space: the row along its axis is zero up to rounding, and must not count."""
    tilt = (0.3, 0.4, 0.5)
    arm = (
        qddot.Builder("tilted")
        .body("a", rpy=tilt, mass=1, com=(0.5, 0, 0))
        .body("b", "a", xyz=(1, 0, 0), mass=1, com=(0.5, 0, 0))
        .body("c", "b", xyz=(1, 0, 0), mass=1, com=(0.5, 0, 0))
        .frame("tip", "c", (1, 0, 0))
        .robot()
    )
    q, qd = [0.2, 0.5, 0.7], [1.0, -0.4, 0.3]
    normal = arm.transform(q, "a")[:3, 2]
    inside = qddot.point_on_plane("tip", arm.transform(q, "tip")[:3, 3], arm.transform(q, "a")[:3, 0])
    across = qddot.point_on_plane("tip", arm.transform(q, "tip")[:3, 3], normal)
    alone = arm.constrained_forward_dynamics(q, qd, [0, 0, 0], inside)
    with pytest.warns(RankWarning):
        both = arm.constrained_forward_dynamics(q, qd, [0, 0, 0], (inside, across))
    assert_allclose(both.qdd, alone.qdd, rtol=1e-9)
    with pytest.warns(RankWarning, match="only 0 of 1"):
        free = arm.constrained_forward_dynamics(q, qd, [0, 0, 0], across)
    assert_allclose(free.qdd, arm.forward_dynamics(q, qd, [0, 0, 0]), rtol=1e-9)


def test_constraints_that_contradict_each_other():
    robot = qddot.load("point_mass_2r")
    stretched = [0.0, 0.0]
    line = qddot.holonomic(lambda s: [s.position("tip").x - 2, s.position("tip").y])
    moving = [[0.0, 0.0], [1.0, 0.0]]  # at rest it may stay; moving, its tip must leave y = 0 or x = 2
    with (
        pytest.warns(RankWarning),
        pytest.raises(SingularityError, match=r"contradict each other in state \[1\]: rank 1 of 2 rows \(of condition number"),
    ):
        robot.constrained_forward_dynamics(stretched, moving, [0, 0], line)


def test_a_singular_mass_matrix_is_refused_with_its_rank():
    arm = qddot.Builder("light").body("a", mass=1, com=(1, 0, 0)).body("b", "a", xyz=(1, 0, 0)).robot()
    with pytest.raises(SingularityError, match=r"mass matrix of light is not positive definite: rank 1 of 2, condition number inf"):
        arm.constrained_forward_dynamics([0, 0], [0, 0], [0, 0], qddot.point_on_plane("b", (0, 0, 0), (1, 0, 0)))


def test_batches_broadcast():
    robot = random_robot(5, joints=5)
    q = np.stack([robot.random_configuration(i) for i in range(6)]).reshape(2, 3, -1)
    rng = np.random.default_rng(1)
    qd, tau = rng.normal(size=(3, robot.nv)), rng.normal(size=(4, 1, 1, robot.nv))
    found = robot.constrained_forward_dynamics(q, qd, tau, CONSTRAINTS["several"])
    assert found.qdd.shape == (4, 2, 3, robot.nv)
    assert found.lam.shape == (4, 2, 3, 3)
    one = robot.constrained_forward_dynamics(q[1, 2], qd[2], tau[3, 0, 0], CONSTRAINTS["several"])
    assert_allclose(found.qdd[3, 1, 2], one.qdd, rtol=1e-11)
    assert_allclose(found.lam[3, 1, 2], one.lam, rtol=1e-11)
    tau_back = robot.constrained_inverse_dynamics(q, qd, found.qdd, CONSTRAINTS["several"], found.lam)
    assert_allclose(tau_back, np.broadcast_to(tau, tau_back.shape), rtol=1e-7, atol=1e-9)
    assert robot.constraint_projections(q, CONSTRAINTS["several"]).P.shape == (2, 3, robot.nv, robot.nv)
    assert robot.project_velocity(q, qd, CONSTRAINTS["several"]).shape == (2, 3, robot.nv)


def test_leading_dimensions_that_do_not_fit():
    robot, plane = random_robot(5, joints=5), CONSTRAINTS["plane"]
    q, qd = np.stack([robot.neutral()] * 2), np.zeros((2, robot.nv))
    with pytest.raises(InputError, match="do not fit"):
        robot.constrained_forward_dynamics(q, qd, np.zeros((3, robot.nv)), plane)
    with pytest.raises(InputError, match="leading dimensions of lam"):
        robot.constrained_inverse_dynamics(q, qd, qd, plane, np.zeros((3, 1)), tolerance=None)
    with pytest.raises(InputError, match=r"lam has shape \(2,\), expected \(..., 1\)"):
        robot.constrained_inverse_dynamics(q, qd, qd, plane, [0, 0], tolerance=None)
    with pytest.raises(InputError, match=r"tau\[0\] is nan"):
        robot.constrained_forward_dynamics(q[0], qd[0], np.full(robot.nv, np.nan), plane)


def test_without_rows_it_is_forward_dynamics():
    robot = random_robot(2)
    q, qd, tau = random_state(robot, 2)
    found = robot.constrained_forward_dynamics(q, qd, tau, [])
    assert found.lam.shape == (0,)
    assert_allclose(found.qdd, robot.forward_dynamics(q, qd, tau), rtol=1e-9)


def test_a_state_that_violates_its_constraints_is_refused_on_request():
    robot, channel = qddot.load("point_mass_2r"), qddot.point_on_plane("tip", (1, 0, 0), (1, 0, 0))
    q = [-pi / 3, 2 * pi / 3]
    robot.constrained_forward_dynamics(q, [1, 0], [0, 0], channel, tolerance=1e-9)
    with pytest.raises(InputError, match=r"row 0 of phi is 0\.2.*violates the constraints, the plane for 'tip'; see robot.project"):
        robot.constrained_forward_dynamics([-pi / 3, 1.8], [1, 0], [0, 0], channel, tolerance=1e-9)
    with pytest.raises(InputError, match=r"row 0 of A qd is -0.866.*see robot.project_velocity"):
        robot.constrained_forward_dynamics(q, [0, 1], [0, 0], channel, tolerance=1e-9)


def test_drives_count():
    arm = (
        qddot.Builder("arm")
        .body("a", mass=1, com=(1, 0, 0), drive=Drive(viscous=0.5, coulomb=0.2))
        .body("b", "a", xyz=(1, 0, 0), mass=1, com=(1, 0, 0), drive=Drive(stiffness=3.0))
    )
    check_equations(
        arm.robot(), np.array([0.1, 0.4]), np.array([0.5, -1]), np.array([1.0, 2.0]), qddot.joint_equality("b_joint", "a_joint")
    )


# the wrench at the tip ------------------------------------------------------------------------------------------------------


def test_the_wrench_at_a_frame():
    arm = qddot.load("puma560")
    q = arm.random_configuration(3)
    tip = arm.tip
    pose = arm.transform(q, tip)
    weld = qddot.fixed_frame(tip, pose)
    lam = np.array([0.1, 0.2, -0.3, 1, 2, 3])
    R = pose[:3, :3]
    assert_allclose(arm.constraint_wrench(q, lam, weld), np.concatenate([R @ lam[:3], R @ lam[3:]]), rtol=1e-9, atol=1e-9)
    tau = arm.constrained_inverse_dynamics(q, np.zeros(6), np.zeros(6), weld, lam)
    wrench = arm.constraint_wrench(q, lam, weld)
    assert_allclose(tau, arm.inverse_dynamics(q, np.zeros(6), np.zeros(6), f_tip={tip: wrench}), atol=1e-9)


def test_a_constraint_on_another_frame_has_no_wrench_here():
    robot = qddot.load("point_mass_2r")
    elbow = qddot.point_on_plane("lower", (0, 0, 0), (1, 0, 0))
    with pytest.raises(InputError, match=r"no pure force at frame 'upper' equals A\^T lam"):
        robot.constraint_wrench([0.3, 0.5], [1.0], elbow, "upper", moment=False)
    along = np.array([-sin(0.3), cos(0.3), 0])  # the only direction in which the elbow moves: of all forces the smallest
    found = robot.constraint_wrench([0.3, 0.5], [2.0], elbow, "lower", moment=False)
    assert_allclose(found, [0, 0, 0, *(along * 2 * along[0])], atol=1e-14)


def test_a_wrench_that_the_joints_do_not_feel_is_not_guessed():
    """A planar 2R feels two of six directions: what a moment is worth in newtons must be said."""
    arm = qddot.load("point_mass_2r", gravity=(0, 0, 0))
    channel = qddot.point_on_plane(arm.tip, (1, 0, 0), (1, 0, 0))
    q = np.array([-np.pi / 3, 2 * np.pi / 3])
    with pytest.raises(
        InputError, match=r"not determined: the joints do not feel 4 of its 6 directions, in which mx, my, mz, fx, fy, fz"
    ):
        arm.constraint_wrench(q, [1.0], channel)
    J, wanted = arm.jacobian(q, reference="world_aligned"), arm.constraint_jacobian(q, channel)[0]
    by_scale = {scale: arm.constraint_wrench(q, [1.0], channel, scale=scale) for scale in (1e-4, 0.3, 1e4)}
    rng = np.random.default_rng(0)
    _, _, Vt = np.linalg.svd(J.T)
    for scale, f in by_scale.items():
        assert_allclose(J.T @ f, wanted, atol=1e-12)
        size = lambda w, scale=scale: (w[:3] ** 2).sum() / scale**2 + (w[3:] ** 2).sum()  # noqa: E731
        assert all(size(f) <= size(f + 1e-3 * rng.normal(size=4) @ Vt[2:]) for _ in range(20))
    assert_allclose(by_scale[1e-4][3:], [1, 0, 0], atol=1e-6)  # moments are dear: a pure force
    assert abs(by_scale[1e4][2]) > 0.4  # moments are cheap
    for scale in (0, -1, np.inf, np.nan, "a", [1.0, 2.0]):
        with pytest.raises(InputError, match="is not a positive number"):
            arm.constraint_wrench(q, [1.0], channel, scale=scale)


def test_a_wrench_does_not_depend_on_units_where_it_is_determined():
    """Six joints feel everything; the force of a planar contact alone is compared in newtons."""
    arm, q = qddot.load("puma560"), np.array([0.3, -0.7, 0.4, 0.2, 0.6, 0.1])
    weld = qddot.fixed_frame(arm.tip, arm.transform(q))
    lam = np.array([0.1, 0.2, -0.3, 1, 2, 3])
    found = [arm.constraint_wrench(q, lam, weld, scale=scale) for scale in (None, 0.1, 10.0)]
    assert_allclose(found[1:], [found[0]] * 2, rtol=1e-9)
    batch = arm.constraint_wrench(np.stack([q, q + 0.1]), lam, weld)
    assert_allclose(batch[0], found[0], rtol=1e-9)


# closed forms ---------------------------------------------------------------------------------------------------------------


def rolling_disk(m, R):
    """Upright on the plane z = 0: x, y, heading about z, roll about its axis, which is y at heading 0."""
    return (
        qddot.Builder("disk")
        .body("x", joint="prismatic", axis="x")
        .body("y", "x", joint="prismatic", axis="y")
        .body("fork", "y", axis="z")
        .body("disk", "fork", axis="y", mass=m, tensor=(m * R**2 / 4, m * R**2 / 2, m * R**2 / 4))
        .robot()
    )


@pytest.mark.parametrize("case", range(4))
def test_a_rolling_disk_in_closed_form(case):
    rng = np.random.default_rng(case)
    m, R = rng.uniform(0.5, 2, 2)
    robot = rolling_disk(m, R)

    def no_slip(state):
        v, w = state.velocity("disk"), state.angular_velocity("disk")
        return [v.x - R * w.y, v.y + R * w.x]  # of the point at the bottom, v + w x (0, 0, -R)

    x, y, heading, roll = rng.normal(size=4)
    turning, rolling, t_heading, t_roll = rng.normal(size=4)
    qd = [R * rolling * cos(heading), R * rolling * sin(heading), turning, rolling]
    found = robot.constrained_forward_dynamics(
        [x, y, heading, roll], qd, [0, 0, t_heading, t_roll], qddot.pfaffian(no_slip), tolerance=1e-12
    )
    spin = t_roll / (1.5 * m * R**2)
    ax = R * (spin * cos(heading) - rolling * turning * sin(heading))
    ay = R * (spin * sin(heading) + rolling * turning * cos(heading))
    assert_allclose(found.qdd, [ax, ay, t_heading / (m * R**2 / 4), spin], rtol=1e-12, atol=1e-13)
    assert_allclose(found.lam, [-m * ax, -m * ay], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("case", range(4))
def test_a_parallelogram_in_closed_form(case):
    """A four-bar whose coupler stays parallel to the ground: I(theta) is constant, and so are its terms."""
    rng = np.random.default_rng(case)
    ground, crank, rho = 0.3, 0.2, 4.0
    symbolic = qddot.load("four_bar", symbolic=True, gravity=(0, -9.81, 0))
    robot = symbolic.subs({"l1": ground, "l2": crank, "l3": ground, "l4": crank, "rho": rho})
    theta, omega, tau = rng.uniform(0.3, 1.2), rng.normal(), rng.normal()
    q, qd = [theta, pi - theta, theta], omega * np.array([1, -1, 1])
    qdd, _ = robot.constrained_forward_dynamics(q, qd, [tau, 0, 0], tolerance=1e-12)
    bar, coupler = rho * crank, rho * ground
    inertia = 2 * bar * crank**2 / 3 + coupler * crank**2
    weight = 9.81 * cos(theta) * (bar * crank + coupler * crank)
    assert_allclose(qdd, (tau - weight) / inertia * np.array([1, -1, 1]), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("name", ["four_bar", "five_bar", "delta"])
def test_closed_chains_in_minimal_coordinates(name):
    """With qd = G u, G a basis of the null space of A: u' = -(G^T M G)^-1 G^T (M G' u + h - tau), G' by differences of q(t)."""
    robot, rng = qddot.load(name), np.random.default_rng(5)
    start = {"four_bar": [0.4, 1.8, 1.7], "five_bar": [2.1, -1.23, 1.04, 1.23], "delta": np.zeros(12)}[name]
    q = robot.project(start)
    A = robot.constraint_jacobian(q)
    free = np.linalg.svd(A)[2][len(A) :].T
    qd, tau = free @ rng.normal(size=free.shape[1]), rng.normal(size=robot.nv)
    qdd, _ = robot.constrained_forward_dynamics(q, qd, tau, tolerance=1e-11)
    step = 1e-4
    path = [robot.project(q + t * qd) for t in (-step, 0, step)]  # a curve in the closed configurations through q
    curve = (path[0] - 2 * path[1] + path[2]) / step**2
    M, h = robot.mass_matrix(q), robot.bias_torque(q, qd)
    minimal = np.linalg.solve(free.T @ M @ free, free.T @ (tau - h - M @ curve))
    scale = abs(qdd).max()
    assert_allclose(qdd, curve + free @ minimal, atol=1e-5 * scale)


def test_a_state_does_not_depend_on_the_others_of_its_batch():
    robot, tiny = qddot.load("point_mass_2r"), qddot.holonomic(lambda s: [s.q[0] * 1e-6, s.q[1] ** 9])
    q = np.array([[0.1, 0.5], [0.1, 1e3]])  # the second row of A is 24 orders of magnitude larger in the second state
    alone = robot.constrained_forward_dynamics(q[0], [0, 0], [1, 2], tiny)
    with pytest.warns(RankWarning, match=r"only 1 of 2 constraint rows are independent in state \[1\]"):
        both = robot.constrained_forward_dynamics(q, [0, 0], [1, 2], tiny)
    assert_allclose(both.lam[0], alone.lam, rtol=1e-12)
    assert_allclose(both.qdd[0], alone.qdd, atol=1e-12)


def test_friction_in_proportion_to_the_load_feels_constraint_forces():
    """tau = L + part |L| sign(qd) + viscous, with L = M qdd + c + g + A^T lam, by hand; and a simulation agrees."""
    drives = Drive(load_friction=0.2, viscous=0.1), Drive(load_friction=0.1)
    builder = qddot.Builder().body("a", axis="y", mass=2, com=(0.25, 0, 0), drive=drives[0])
    builder.body("b", "a", axis="y", xyz=(0.5, 0, 0), mass=1, com=(0.25, 0, 0), drive=drives[1]).frame("tip", "b", xyz=(0.5, 0, 0))
    robot, wall, tau = builder.robot(), qddot.point_on_plane("tip", (0, 0, 0), (0, 0, 1)), np.array([5.0, 1.0])
    q = robot.project([0.3, -0.6], wall)
    qd = robot.project_velocity(q, [1.0, -0.5], wall)
    qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, wall)
    A = robot.constraint_jacobian(q, wall)
    assert_allclose(A @ qdd + robot.constraint_jacobian_dot(q, qd, wall) @ qd, 0, atol=1e-12)
    load = robot.mass_matrix(q) @ qdd + robot.coriolis_torque(q, qd) + robot.gravity_torque(q) + A.T @ lam
    assert_allclose(load + np.array([0.2, 0.1]) * abs(load) * np.sign(qd) + [0.1 * qd[0], 0], tau, rtol=1e-12)
    assert_allclose(robot.constrained_inverse_dynamics(q, qd, qdd, wall, lam=lam), tau, rtol=1e-12)
    motion = robot.simulate(q, qd, 0.001, torque=tau, constraints=wall)
    assert_allclose(motion.qdd[0], qdd, rtol=1e-9)
    assert_allclose(motion.lam[0], lam, rtol=1e-9)
