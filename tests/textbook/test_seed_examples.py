"""The worked examples of the courses this project grew from: closed forms to machine precision, printed figures to their digits.

Where a printed formula is known to be wrong, the test holds the right one and shows that it differs.
"""

import numpy as np
import pytest
from numpy import array, cos, pi, sin
from numpy.testing import assert_allclose

import qddot
from qddot.model.pose import from_rpy

G = 9.81
CASES = range(5)


def printed(found, figures, digits=4):
    """Equal to figures printed with so many decimals."""
    assert_allclose(found, figures, rtol=0, atol=0.51 * 10.0**-digits)


def exact(found, expected):
    assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


def states(case, n=2):
    """q, qd, qdd."""
    return np.random.default_rng([case, n]).uniform(-2, 2, (3, n))


# two cylinders, standard Denavit-Hartenberg -----------------------------------------------------------------------------------

Q = array([pi / 3, pi / 2])
REST = array([0.0, 0.0])
PUSH = {"body_1": [0, 0, 0, 0, 1, 0]}
PULL = {"body_2": [0, 0, 0, 5, 0, 0]}


@pytest.fixture(scope="module")
def two_link():
    return qddot.load("two_link")


def test_two_link_is_the_table_of_the_example(two_link):
    lengths, masses = (0.5, 0.7), (0.5, 0.7)
    inertias = [qddot.Inertia.solid_cylinder(m, 0.04, a, "x").shifted((-a / 2, 0, 0)) for m, a in zip(masses, lengths)]
    by_hand = qddot.from_dh([(a, 0, 0, 0) for a in lengths], inertias=inertias, gravity=(0, -G, 0))
    exact(by_hand.inverse_dynamics(*states(0)), two_link.inverse_dynamics(*states(0)))
    assert [round(i.tensor[2][2], 7) for i in inertias] == [0.0106167, 0.0288633]
    assert [i.com.x for i in inertias] == [-0.25, -0.35]


def test_two_link_terms(two_link):
    printed(two_link.mass_matrix(Q), [[0.331480, 0.114613], [0.114613, 0.114613]], digits=6)
    printed(two_link.gravity_torque(Q), [0.2484, -2.0814])
    printed(two_link.coriolis_torque(Q, [pi / 4, pi / 10]), [-0.0725, 0.0756])


@pytest.mark.parametrize("case", CASES)
def test_two_link_coriolis_matrix(two_link, case):
    q, qd, _ = states(case)
    k = 49 / 400 * sin(q[1])
    exact(two_link.coriolis_matrix(q, qd), [[-k * qd[1], -k * (qd[0] + qd[1])], [k * qd[0], 0]])


def test_two_link_external_wrenches_about_the_base(two_link):
    printed(two_link.external_wrench(Q, PUSH), [[0, 0, 0.5, -0.8660, 0.5, 0], np.zeros(6)])
    printed(two_link.external_wrench(Q, PULL), [np.zeros(6), [0, 0, 2.5, -4.3301, 2.5, 0]])


@pytest.mark.parametrize("method", ["aba", "crba"])
def test_two_link_forward_dynamics(two_link, method):
    f_ext = two_link.external_wrench(Q, PUSH | PULL)
    printed(two_link.forward_dynamics(Q, REST, REST, method=method, f_ext=f_ext), [3.0900, 15.0706])
    printed(two_link.forward_dynamics(Q, [-pi / 2, pi / 5], REST, method=method), [-10.2416, 25.7650])
    printed(two_link.forward_dynamics(Q, REST, [5, 5], method=method), [-10.7434, 72.5289])


def test_two_link_inverse_dynamics(two_link):
    printed(two_link.inverse_dynamics(Q, [-pi / 2, pi / 5], REST), [0.4419, -1.7792])
    assert_allclose(two_link.inverse_dynamics(Q, REST, [3.0900, 15.0706]), [3, 0], atol=2e-5)  # the input has 4 digits
    printed(two_link.inverse_dynamics(Q, REST, REST, f_ext=two_link.external_wrench(Q, PUSH)), [-0.2516, -2.0814])


def test_forward_dynamics_returns_the_accelerations_that_result(two_link):
    qdd = two_link.forward_dynamics(Q, REST, [3, 0])
    exact(two_link.inverse_dynamics(Q, REST, qdd), [3, 0])


def test_coulomb_friction_scales_with_the_gear_ratio_and_viscous_with_its_square():
    Bm, Tc, ratio, qd = 0.003, 0.02, 50.0, array([0.4, -1.1])
    drive = qddot.Drive(viscous=Bm, coulomb=Tc, gear_ratio=ratio, side="motor")
    robot = qddot.from_dh([(0.5, 0, 0, 0), (0.7, 0, 0, 0)], drives=[drive, drive])
    exact(robot.friction_torque(qd), Bm * ratio**2 * qd + Tc * ratio * np.sign(qd))


def mass_and_moment_regressor(robot, q, qd, qdd):
    """ParameterSet of (Izz1, Izz2, m1, m2) where the centres of mass are known: moments about them, masses."""
    Y = dict(zip(robot.parameter_names, np.moveaxis(robot.regressor(q, qd, qdd), -1, 0)))
    columns = [Y[f"{body}.Izz"] for body in ("body_1", "body_2")]
    for body, x in (("body_1", -0.25), ("body_2", -0.35)):
        columns.append(Y[f"{body}.m"] + x * Y[f"{body}.mcx"] + x**2 * Y[f"{body}.Izz"])
    return np.stack(columns, axis=-1).reshape(-1, 4)


def test_identification_keeps_rank_only_with_gravity(two_link):
    motion = np.random.default_rng(1).uniform(-2, 2, (3, 40, 2))
    Y = mass_and_moment_regressor(two_link, *motion)
    found, *_, values = np.linalg.lstsq(Y, two_link.inverse_dynamics(*motion).ravel(), rcond=None)
    assert values[-1] > 1e-2 * values[0]
    assert_allclose(found, [0.0106167, 0.0288633, 0.5, 0.7], atol=5e-8)

    weightless = mass_and_moment_regressor(two_link.with_gravity((0, 0, 0)), *motion)
    assert np.linalg.matrix_rank(weightless) == 3
    exact(weightless[:, 2], weightless[:, 0] / 16)  # Izz1 and m1 cannot be told apart


# two point masses, the tip in a channel ---------------------------------------------------------------------------------------


def test_channel_2r():
    robot = qddot.load("point_mass_2r", gravity=(0, 0, 0))
    q, qd = array([-pi / 3, 2 * pi / 3]), array([1.0, 0.0])
    exact(robot.mass_matrix(q), [[2, 0.5], [0.5, 1]])
    exact(robot.bias_torque(q, qd), [0, np.sqrt(3) / 2])
    A, Adot = robot.jacobian(q, reference="world_aligned")[3], robot.jacobian_dot(q, qd, reference="world_aligned")[3]
    exact(A, [0, -np.sqrt(3) / 2])
    exact(Adot, [-1, -0.5])
    exact(robot.transform(q)[0, 3], 1)  # in the channel


@pytest.mark.parametrize("tau", [(0, 0), (1, 0), (0, 1), (0.7, -2.3)])
@pytest.mark.parametrize("written", ["ready", "by hand", "of joints"])
def test_channel_2r_constrained(tau, written):
    robot = qddot.load("point_mass_2r", gravity=(0, 0, 0))
    channel = {
        "ready": qddot.point_on_plane("tip", (1, 0, 0), (1, 0, 0)),
        "by hand": qddot.holonomic(lambda state: state.position("tip").x - 1),
        "of joints": qddot.holonomic(lambda state: state.cos(state.q[0]) + state.cos(state.q[0] + state.q[1]) - 1),
    }[written]
    q, qd, root = array([-pi / 3, 2 * pi / 3]), array([1.0, 0.0]), np.sqrt(3)
    to_12_digits = {"rtol": 0, "atol": 1e-12}
    assert_allclose(robot.constraint_residual(q, channel), [0], **to_12_digits)
    assert_allclose(robot.constraint_jacobian(q, channel), [[0, -root / 2]], **to_12_digits)
    assert_allclose(robot.constraint_jacobian_dot(q, qd, channel), [[-1, -1 / 2]], **to_12_digits)
    qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, channel, tolerance=1e-12)
    assert_allclose(lam, [tau[0] / (2 * root) - 2 * tau[1] / root - 1 / 6], **to_12_digits)
    assert_allclose(qdd, [tau[0] / 2 + 1 / (2 * root), -2 / root], **to_12_digits)
    f_tip = robot.constraint_wrench(q, lam, channel, moment=False)
    assert_allclose(f_tip, [0, 0, 0, lam[0], 0, 0], **to_12_digits)
    P, P_qdd = robot.constraint_projections(q, channel)
    assert_allclose(P, [[1, 0], [1 / 4, 0]], **to_12_digits)
    assert_allclose(P_qdd, [[1, 1 / 4], [0, 0]], **to_12_digits)
    assert_allclose(np.eye(2) - P, [[0, 0], [-1 / 4, 1]], **to_12_digits)


@pytest.mark.parametrize(("qdd1", "f"), [(0, 0), (1.3, -2), (-0.4, 5)])
def test_channel_2r_constrained_inverse_dynamics_needs_the_force(qdd1, f):
    robot, root = qddot.load("point_mass_2r", gravity=(0, 0, 0)), np.sqrt(3)
    channel = qddot.point_on_plane("tip", (1, 0, 0), (1, 0, 0))
    q, qd, qdd = array([-pi / 3, 2 * pi / 3]), array([1.0, 0.0]), array([qdd1, -2 / root])
    tau = robot.constrained_inverse_dynamics(q, qd, qdd, channel, [f])
    expected = [2 * qdd1 - 1 / root, qdd1 / 2 - root / 2 * f - 1 / (2 * root)]  # the first is printed with 0.578 for 1/sqrt(3)
    assert_allclose(tau, expected, rtol=0, atol=1e-12)
    found = robot.constrained_forward_dynamics(q, qd, tau, channel)
    assert_allclose(found.qdd, qdd, rtol=0, atol=1e-12)
    assert_allclose(found.lam, [f], rtol=0, atol=1e-12)


# two point masses -------------------------------------------------------------------------------------------------------------


def point_masses(case=None, drives=(None, None), gravity=G):
    """The robot, and (m1, m2, L1, L2): random numbers, or ones."""
    m1, m2, L1, L2 = values = np.ones(4) if case is None else np.random.default_rng(case).uniform(0.2, 3, 4)
    robot = (
        qddot.Builder("point_masses", gravity=(0, -gravity, 0))
        .body("upper", mass=m1, com=(L1, 0, 0), drive=drives[0])
        .body("lower", "upper", xyz=(L1, 0, 0), mass=m2, com=(L2, 0, 0), drive=drives[1])
        .frame("end1", "upper", (L1, 0, 0))
        .frame("tip", "lower", (L2, 0, 0))
        .robot()
    )
    return robot, values


def test_point_mass_catalog_robot_has_unit_values():
    q, qd, qdd = states(1)
    exact(qddot.load("point_mass_2r").inverse_dynamics(q, qd, qdd), point_masses()[0].inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("case", CASES)
def test_point_mass_terms(case):
    robot, (m1, m2, L1, L2) = point_masses(case)
    q, (v1, v2), _ = states(case)
    q1, q2 = q
    M12 = m2 * (L1 * L2 * cos(q2) + L2**2)
    exact(robot.mass_matrix(q), [[m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * cos(q2) + L2**2), M12], [M12, m2 * L2**2]])
    k = m2 * L1 * L2 * sin(q2)
    exact(robot.coriolis_torque(q, [v1, v2]), [-k * (2 * v1 * v2 + v2**2), k * v1**2])
    far = m2 * G * L2 * cos(q1 + q2)
    exact(robot.gravity_torque(q), [(m1 + m2) * L1 * G * cos(q1) + far, far])


@pytest.mark.parametrize("case", CASES)
def test_point_mass_coriolis_matrices(case):
    robot, (_, m2, L1, L2) = point_masses(case)
    q, qd, _ = states(case)
    (v1, v2), k = qd, m2 * L1 * L2 * sin(q[1])
    standard, rate, gradient = (robot.coriolis_matrix(q, qd, form) for form in ("christoffel", "rate", "gradient"))
    exact(standard, [[-v2 * k, -(v1 + v2) * k], [v1 * k, 0]])
    exact(rate, [[-2 * v2 * k, -v2 * k], [(v1 - v2 / 2) * k, v1 * k / 2]])
    exact(gradient, [[0, -(2 * v1 + v2) * k], [(v1 + v2 / 2) * k, -v1 * k / 2]])  # the last entry is printed without its sign
    for C in (standard, rate, gradient):
        exact(C @ qd, robot.coriolis_torque(q, qd))
    misprinted = gradient.copy()
    misprinted[1, 1] *= -1
    assert abs(misprinted @ qd - robot.coriolis_torque(q, qd)).max() > 1e-3


@pytest.mark.parametrize("case", CASES)
def test_point_mass_rate_less_twice_the_standard_matrix_is_skew(case):
    robot, (_, m2, L1, L2) = point_masses(case)
    q, qd, _ = states(case)
    k, Mdot = m2 * L1 * L2 * sin(q[1]) * qd[1], robot.mass_matrix_rate(q, qd)
    exact(Mdot, [[-2 * k, -k], [-k, 0]])
    for form, skew in (("christoffel", True), ("rate", False), ("gradient", False)):
        S = Mdot - 2 * robot.coriolis_matrix(q, qd, form)
        assert np.allclose(S, -S.T, atol=1e-13) == skew
        exact(qd @ S @ qd, 0)


@pytest.mark.parametrize("case", CASES)
def test_point_mass_christoffel_symbols(case):
    robot, (_, m2, L1, L2) = point_masses(case)
    q, qd, _ = states(case)
    k, Gamma = m2 * L1 * L2 * sin(q[1]), robot.christoffel(q)
    exact(Gamma[:, :, 0], [[0, -k], [-k, -k]])
    exact(Gamma[:, :, 1], [[k, 0], [0, 0]])
    exact(np.einsum("ijk,i,j->k", Gamma, qd, qd), robot.coriolis_torque(q, qd))


@pytest.mark.parametrize("case", CASES)
def test_point_mass_newton_euler_in_closed_form(case):
    robot, _ = point_masses(case)
    q, qd, _ = states(case)
    stacked = robot.newton_euler_matrices(q, qd)
    exact(stacked.M, robot.mass_matrix(q))
    exact(stacked.c, robot.coriolis_torque(q, qd))
    exact(stacked.g, robot.gravity_torque(q))
    exact(stacked.Mdot, robot.mass_matrix_rate(q, qd))


@pytest.mark.parametrize("case", CASES)
def test_point_mass_tip_acceleration(case):
    robot, (_, _, L1, L2) = point_masses(case)
    _, (v1, v2), _ = states(case)
    Jdot = robot.jacobian_dot([0, pi / 2], [v1, v2], "tip", reference="world_aligned")
    centripetal, coriolis = array([-L1 * v1**2, -L2 * v1**2 - L2 * v2**2]), array([0, -2 * L2 * v1 * v2])
    exact((Jdot @ [v1, v2])[3:5], centripetal + coriolis)
    exact((Jdot @ [v1, v2])[4], -L2 * (v1 + v2) ** 2)
    exact(robot.task_space([0, pi / 2], [v1, v2], "tip", rows=("x", "y")).acceleration([0, 0]), [-L1 * v1**2, -L2 * (v1 + v2) ** 2])


def effective_mass(robot, q):
    J = robot.jacobian(q, "tip", reference="world_aligned")
    assert J.shape == (6, 2)
    inverse = np.linalg.inv(J[3:5])
    general = np.linalg.inv(J[3:5] @ np.linalg.inv(robot.mass_matrix(q)) @ J[3:5].T)
    exact(inverse.T @ robot.mass_matrix(q) @ inverse, general)
    exact(robot.task_space(q, [0, 0], "tip", rows=("x", "y")).M_C, general)
    return general


def test_point_mass_effective_mass_at_the_tip():
    robot, _ = point_masses()
    exact(effective_mass(robot, [0, pi / 2]), [[1, 0], [0, 2]])
    exact(effective_mass(robot, [0, 5 * pi / 6]), [[4, -np.sqrt(3)], [-np.sqrt(3), 2]])


def test_point_mass_force_and_acceleration_are_parallel_on_the_principal_axes_only():
    robot, _ = point_masses()
    found = robot.ellipsoids([0, 5 * pi / 6], "tip", rows=("x", "y"))
    M_C = array([[4, -np.sqrt(3)], [-np.sqrt(3), 2]])
    exact(found.mass.lengths, [5, 1])
    for direction, length in zip(found.mass.directions.T, found.mass.lengths):
        exact(M_C @ direction, length * direction)
        exact(found.effective_mass(direction), length)
    fx, fy = M_C @ [1, 0]
    assert abs(fy) > 1
    assert found.effective_mass([1, 0]) < fx  # where the tip is not held to a line, it evades


def test_point_mass_task_dynamics_in_coordinates():
    """F = M_C xdd + c_C + g_C + F_tip is tau = M qdd + c + g + J^T F_tip in other coordinates; Y_C = J^-T Y."""
    robot, _ = point_masses(2)
    q, qd, qdd = states(2)
    t = robot.task_space(q, qd, "tip", rows=("x", "y"))
    F_tip, inverse = array([0.3, -0.7]), np.linalg.inv(t.J)
    tau = robot.inverse_dynamics(q, qd, qdd, f_tip={"tip": [0, 0, 0, *F_tip, 0]})
    exact(t.torque(t.inverse_dynamics(t.acceleration(qdd), F_tip)), tau)
    exact(t.regressor(qdd), inverse.T @ robot.regressor(q, qd, qdd))
    exact(t.regressor(qdd) @ robot.parameters() + F_tip, inverse.T @ tau)


def test_point_mass_bounds():
    robot, (m1, m2, L1, L2) = point_masses(3)
    q, qd, _ = np.random.default_rng(0).uniform(-1, 1, (3, 20_000, 2)) * pi / 2
    norm = abs(robot.mass_matrix(q)).sum(axis=-2).max(axis=-1)
    low = (m1 + m2) * L1**2 + 2 * m2 * L2**2
    assert low - 1e-12 <= norm.min()
    assert norm.max() <= low + 3 * m2 * L1 * L2 + 1e-12
    assert abs(robot.gravity_torque(q)).sum(axis=-1).max() <= (m1 + m2) * G * L1 + 2 * m2 * G * L2
    assert (abs(robot.coriolis_torque(q, qd)).sum(axis=-1) <= m2 * L1 * L2 * abs(qd).sum(axis=-1) ** 2 + 1e-12).all()


def test_point_mass_coriolis_bound_is_tighter_than_printed():
    robot, _ = point_masses()
    angle = np.linspace(0, pi, 20_001)
    c = robot.coriolis_torque([0, pi / 2], np.stack([cos(angle), sin(angle)], axis=-1))
    printed(np.linalg.norm(c, axis=-1).max(), 1.6445)  # of m2 L1 L2, where the general rule n^2 max|Gamma| gives 4


@pytest.mark.parametrize("case", CASES)
def test_point_mass_friction_and_regressor(case):
    Fs, Fv = np.random.default_rng(case).uniform(0.1, 1, (2, 2))
    drives = [qddot.Drive(coulomb=s, viscous=v) for s, v in zip(Fs, Fv)]
    robot, (m1, m2, L1, L2) = point_masses(case, drives)
    q, qd, qdd = states(case)
    (q1, q2), (v1, v2), (a1, a2) = q, qd, qdd
    Y11 = L1**2 * a1 + G * L1 * cos(q1)
    Y22 = (L2**2 + L1 * L2 * cos(q2)) * a1 + L2**2 * a2 + L1 * L2 * v1**2 * sin(q2) + G * L2 * cos(q1 + q2)
    Y12 = (L1**2 + L2**2 + 2 * L1 * L2 * cos(q2)) * a1 + (L2**2 + L1 * L2 * cos(q2)) * a2
    Y12 += -L1 * L2 * (2 * v1 * v2 + v2**2) * sin(q2) + G * L1 * cos(q1) + G * L2 * cos(q1 + q2)
    Y = array([[Y11, Y12, np.sign(v1), v1, 0, 0], [0, Y22, 0, 0, np.sign(v2), v2]])
    tau = robot.inverse_dynamics(q, qd, qdd)
    exact(Y @ [m1, m2, Fs[0], Fv[0], Fs[1], Fv[1]], tau)
    exact(tau[1], m2 * Y22 + Fv[1] * v2 + Fs[1] * np.sign(v2))

    full = dict(zip(robot.parameter_names, robot.regressor(q, qd, qdd).T))
    ours = [
        full[f"{x}.m"] + L * full[f"{x}.mcx"] + L**2 * (full[f"{x}.Iyy"] + full[f"{x}.Izz"])
        for x, L in zip(("upper", "lower"), (L1, L2))
    ]
    ours += [full[f"{joint}.{what}"] for joint in ("upper_joint", "lower_joint") for what in ("coulomb", "viscous")]
    exact(np.stack(ours, axis=-1), Y)


def test_potential_energy_may_be_negative():
    robot, _ = point_masses()
    exact(robot.potential_energy([-pi / 2, 0]), -3 * G)
    exact(robot.potential_energy([pi / 2, 0]), 3 * G)


def test_tip_wrench_acts_on_the_environment_and_external_force_on_the_robot():
    robot, _ = point_masses(2)
    q, qd, qdd = states(2)
    wrench = array([0.3, -0.2, 0.7, 1.1, -2.0, 0.4])
    free, J = robot.inverse_dynamics(q, qd, qdd), robot.jacobian(q, "tip", reference="world_aligned")
    exact(robot.inverse_dynamics(q, qd, qdd, f_tip={"tip": wrench}), free + J.T @ wrench)
    exact(robot.inverse_dynamics(q, qd, qdd, f_ext={"tip": wrench}), free - J.T @ wrench)


# Craig's form -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_centrifugal_and_coriolis_products(case):
    robot, (_, m2, L1, L2) = point_masses(case)
    q, qd, _ = states(case)
    k, C, B = m2 * L1 * L2 * sin(q[1]), robot.centrifugal_matrix(q), robot.coriolis_products_matrix(q)
    exact(C, [[0, -k], [k, 0]])  # b_{1,22} = -k: printed with dm12/dq1 for one of two dm12/dq2, which would halve it
    exact(B, [[-2 * k], [0]])
    exact(C @ qd**2 + B @ [qd[0] * qd[1]], robot.coriolis_torque(q, qd))
    halved = array([[0, -k / 2], [k, 0]])
    assert abs(halved @ qd**2 + B @ [qd[0] * qd[1]] - robot.coriolis_torque(q, qd)).max() > 1e-3


@pytest.mark.parametrize("case", CASES)
def test_gravity_torque_is_minus_the_jacobians_times_the_acceleration(case):
    robot, (m1, m2, *_) = point_masses(case)
    q, *_ = states(case)
    Jv1, Jv2 = (robot.jacobian(q, frame, reference="world_aligned")[3:] for frame in ("end1", "tip"))
    exact(robot.gravity_torque(q), -(m1 * Jv1 + m2 * Jv2).T @ robot.gravity)
    exact(robot.mass_matrix(q), m1 * Jv1.T @ Jv1 + m2 * Jv2.T @ Jv2)


def test_craigs_table_gives_the_same_arm():
    m1, m2, L1, L2 = point_masses(4)[1]
    inertias = [qddot.Inertia.point(m1, (L1, 0, 0)), qddot.Inertia.point(m2, (L2, 0, 0))]
    craig = qddot.from_dh([(0, 0, 0, 0), (L1, 0, 0, 0)], convention="modified", inertias=inertias, gravity=(0, -G, 0))
    exact(craig.inverse_dynamics(*states(4)), point_masses(4)[0].inverse_dynamics(*states(4)))


def spatial_arm():
    """Three joints, one of them sliding, about different axes, with full tensors."""
    rng = np.random.default_rng(7)
    bodies = [
        qddot.Inertia.box(m, size).rotated(turned(rng)).shifted(rng.normal(size=3))
        for m, size in ((2, (1, 2, 3)), (1, (2, 1, 1)), (3, (1, 1, 2)))
    ]
    rows = [
        {"a": 0.3, "alpha": pi / 2, "d": 0.5},
        {"a": 0.1, "alpha": -pi / 3, "type": "prismatic", "theta": 0.4},
        {"a": 0.2, "alpha": 0.2, "d": 0.1},
    ]
    return qddot.from_dh(rows, inertias=bodies), bodies


def turned(rng):
    return from_rpy(*rng.uniform(-1, 1, 3))


def test_tensor_is_turned_into_the_axes_of_the_angular_jacobian():
    robot, bodies = spatial_arm()
    q, *_ = states(6, 3)
    right, unturned = np.zeros((3, 3)), np.zeros((3, 3))
    for name, body in zip(robot.link_names[1:], bodies):
        J, T = robot.jacobian(q, name, reference="world_aligned"), robot.transform(q, name)
        Jw, R, I = J[:3], T[:3, :3], array(body.tensor, float)
        Jv = J[3:] + np.cross(Jw, R @ array(body.com), axis=0)
        right += body.mass * Jv.T @ Jv + Jw.T @ R @ I @ R.T @ Jw
        unturned += body.mass * Jv.T @ Jv + Jw.T @ I @ Jw
    exact(robot.mass_matrix(q), right)
    assert abs(robot.mass_matrix(q) - unturned).max() > 1e-2


def test_a_slider_turns_nothing():
    robot, _ = spatial_arm()
    J = robot.jacobian(states(6, 3)[0], reference="world_aligned")
    exact(J[:3, 1], 0)
    exact(np.linalg.norm(J[3:, 1]), 1)


# a hinge and a slider ---------------------------------------------------------------------------------------------------------


def rp_arm(case):
    m1, m2, L1, I1, I2 = values = np.random.default_rng([9, case]).uniform(0.2, 3, 5)
    robot = (
        qddot.Builder("rp_arm", gravity=(0, -G, 0))
        .body("arm", mass=m1, com=(L1, 0, 0), tensor=(0, I1, I1))
        .body("slide", "arm", "prismatic", axis="x", mass=m2, tensor=(0, I2, I2))
        .robot()
    )
    return robot, values


def test_rp_catalog_robot_has_its_values():
    q = [0.7, 0.9]
    robot = qddot.load("rp_arm")
    exact(robot.mass_matrix(q), [[2.0 * 0.4**2 + 1.5 * 0.9**2 + 0.03 + 0.02, 0], [0, 1.5]])
    exact(robot.coriolis_torque(q, [1.2, -0.5]), [-1.62, -1.944])


@pytest.mark.parametrize("case", CASES)
def test_rp_torques(case):
    robot, (m1, m2, L1, I1, I2) = rp_arm(case)
    q, qd, qdd = states(case)
    (q1, q2), (v1, v2), (a1, a2) = q, qd, qdd
    inertia = m1 * L1**2 + m2 * q2**2 + I1 + I2
    tau1 = inertia * a1 + 2 * m2 * q2 * v1 * v2 + (m1 * L1 + m2 * q2) * G * cos(q1)
    tau2 = m2 * a2 - m2 * q2 * v1**2 + m2 * G * sin(q1)
    exact(robot.inverse_dynamics(q, qd, qdd), [tau1, tau2])
    exact(robot.forward_dynamics(q, qd, [tau1, tau2]), qdd)
    exact(robot.coriolis_torque(q, qd), [2 * m2 * q2 * v1 * v2, -m2 * q2 * v1**2])
    assert abs(robot.coriolis_torque(q, qd)[1] + m2 * q2 * v2**2) > 1e-3  # printed once with the slider's speed
    kinetic, potential = (m2 * v2**2 + inertia * v1**2) / 2, (m1 * L1 + m2 * q2) * G * sin(q1)
    exact(robot.kinetic_energy(q, qd), kinetic)
    exact(robot.lagrangian(q, qd), kinetic - potential)
    exact(robot.hamiltonian(q, qd), kinetic + potential)


@pytest.mark.parametrize("case", CASES)
def test_rp_effective_mass(case):
    robot, (m1, m2, L1, I1, I2) = rp_arm(case)
    q2 = 0.3 + case
    inverse = np.linalg.inv(robot.jacobian([0, q2], "slide", reference="world_aligned")[3:5])
    expected = np.diag([m2, m2 + (m1 * L1**2 + I1 + I2) / q2**2])
    assert_allclose(inverse.T @ robot.mass_matrix([0, q2]) @ inverse, expected, rtol=1e-12, atol=1e-12)
    assert_allclose(robot.task_space([0, q2], [0, 0], "slide", rows=("x", "y")).M_C, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_rp_mass_matrix_is_positive_definite(case):
    robot, _ = rp_arm(case)
    assert np.linalg.eigvalsh(robot.mass_matrix(states(case)[0])).min() > 0


def test_recursion_starts_from_gravity():
    robot, _ = rp_arm(0)
    q, *_ = states(0)
    exact(robot.inverse_dynamics(q, REST, REST), robot.gravity_torque(q))
    exact(robot.with_gravity((0, 0, 0)).inverse_dynamics(q, REST, REST), REST)


def test_kinetic_energy_uses_the_angular_velocity():
    robot = qddot.Builder().body("wheel", mass=1.0, tensor=(0.1, 0.1, 0.2)).robot()
    exact(robot.kinetic_energy([0.3], [5.0]), 0.5 * 0.2 * 25)


def test_home_rotation_counts():
    """A tensor given in a link frame that stands turned at home is not that of one that stands straight."""
    home = np.eye(4)
    home[:3, :3] = [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]  # a quarter turn about y: z of the link points along x of the base
    wheel = qddot.Inertia(1.0, (0, 0, 0), (0.3, 0.2, 0.15))
    turned_home, straight = (qddot.from_screws([[0, 0, 1, 0, 0, 0]], [pose], inertias=[wheel]) for pose in (home, np.eye(4)))
    exact(turned_home.transform([0.0]), home)
    exact(turned_home.mass_matrix([0.4]), [[0.3]])
    exact(straight.mass_matrix([0.4]), [[0.15]])


def test_axis_that_is_not_unit_is_made_so_and_reported():
    with pytest.warns(qddot.ModelWarning):
        robot = qddot.Builder().body("arm", axis=(-0.9, 0.15, 0), mass=1.0, com=(0, 0, 1)).robot()
    exact(np.linalg.norm(robot.jacobian([0.3])[:3, 0]), 1)
