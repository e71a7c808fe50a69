"""Elastic joints: motors with coordinates of their own, and gears that give."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Drive, Inertia, ModelValueError

K, D, N, JM = 300.0, 0.4, 100.0, 2e-5
RNG = np.random.default_rng(9)


def single(**drive):
    """A rod on a hinge without gravity, with an elastic gear."""
    options = {"gear_ratio": N, "rotor_inertia": JM, "series_stiffness": K, **drive}
    return qddot.from_dh([(1, 0, 0, 0)], inertias=[Inertia.point(0.5)], drives=[Drive(**options)], gravity=(0, 0, 0))


def arm(elastic=True, **drive):
    drive = {"gear_ratio": N, "rotor_inertia": JM, **drive} | ({"series_stiffness": K, "series_damping": D} if elastic else {})
    inertias = [Inertia.box(2.0, (0.3, 0.1, 0.2)).shifted((-0.1, 0.05, -0.1)) for _ in range(2)]
    return qddot.from_dh([(0.4, 0.7, 0.1, 0), (0.3, 0, 0, 0)], inertias=inertias, drives=[Drive(**drive)] * 2)


def test_motors_come_after_joints():
    robot = arm()
    assert robot.joint_names == ("joint1", "joint2", "joint1.motor", "joint2.motor")
    assert (robot.nq, robot.nv) == (4, 4)


def test_they_are_shown():
    assert "q[3]  joint2.motor  continuous  behind an elastic gear" in repr(arm())


def test_frequencies_of_a_single_joint():
    """Link and motor swing against each other with sqrt(K (1/I + 1/B)), and turn together freely."""
    robot = single()
    M, B = robot.mass_matrix(np.zeros(2)), N**2 * JM
    assert_allclose(M, np.diag([0.5, B]), atol=1e-15)
    stiffness = robot.inverse_dynamics_derivatives(np.zeros(2), np.zeros(2), np.zeros(2)).dtau_dq
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(M, stiffness)).real)
    assert_allclose(squares, [0, K * (1 / 0.5 + 1 / B)], rtol=1e-12, atol=1e-9)


def test_the_locked_motor_leaves_the_link_frequency():
    robot = single()
    stiffness = robot.inverse_dynamics_derivatives(np.zeros(2), np.zeros(2), np.zeros(2)).dtau_dq
    assert_allclose(stiffness[0, 0] / robot.mass_matrix(np.zeros(2))[0, 0], K / 0.5)


def test_spongs_equations():
    """M qdd + C qd + g + K (q - theta) + D (qd - thetad) = 0 and B thetadd - K (q - theta) - D (qd - thetad) = tau."""
    robot, rigid = arm(viscous=0.3), arm(elastic=False, rotor_inertia=0)
    for _ in range(5):
        (q, th), (qd, thd), (qdd, thdd) = RNG.normal(size=(3, 2, 2))
        tau = robot.inverse_dynamics(np.r_[q, th], np.r_[qd, thd], np.r_[qdd, thdd])
        wound = K * (q - th) + D * (qd - thd)
        assert_allclose(tau[:2], rigid.inverse_dynamics(q, qd, qdd) + wound, rtol=1e-12)
        assert_allclose(tau[2:], N**2 * JM * thdd + 0.3 * thd - wound, rtol=1e-12)


def test_the_spring_is_between_the_links_and_the_damper_at_the_motor():
    robot = single(stiffness=7.0, rest=0.1, damping=0.2, viscous=0.3)
    assert_allclose(robot.friction_torque([1.0, 2.0]), [0.0, (0.2 + 0.3) * 2.0])
    assert_allclose(robot.spring_torque([0.5, 0.5]), [7.0 * (0.5 - 0.1), 0.0])


def test_everything_agrees_with_everything():
    robot = arm(viscous=0.2, coulomb=0.1)
    q, qd, qdd = RNG.normal(size=(3, 4))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-9)
    assert_allclose(robot.regressor(q, qd, qdd) @ robot.parameters(), tau, rtol=1e-12)
    h = 1e-6
    slope = np.stack([(robot.potential_energy(q + h * e) - robot.potential_energy(q - h * e)) / (2 * h) for e in np.eye(4)])
    assert_allclose(slope, robot.gravity_torque(q) + robot.spring_torque(q), rtol=1e-6)
    eq = robot.equations()
    for i in range(4):
        L, free = eq.lagrangian, eq.tau[i] - eq.friction_torque[i]
        assert L.diff(f"qd{i + 1}").dt() - L.diff(f"q{i + 1}") == free


def test_a_stiff_gear_tends_to_a_rigid_one():
    """Released from rest with damped gears, the links deviate from the rigid arm by what the gears give: as 1 / stiffness."""
    q0, rigid = np.array([0.3, -0.4]), arm(elastic=False)
    expected = rigid.simulate(q0, None, 0.3, method="DOP853", step=0.1, rtol=1e-9).q[-1]
    errors = []
    for stiffness in (1e4, 1e5, 1e6):
        damping = 2 * np.sqrt(stiffness * N**2 * JM)  # so that they do not ring
        robot = arm(elastic=False, series_stiffness=stiffness, series_damping=damping)
        motion = robot.simulate(np.r_[q0, q0], None, 0.3, method="Radau", step=0.1, rtol=1e-7, atol=1e-9)
        errors.append(abs(motion.q[-1, :2] - expected).max())
    assert errors[0] < 1e-2
    assert (np.divide(errors[:-1], errors[1:]) > 5).all()


def test_it_swings_with_the_frequency_of_the_closed_form():
    """Link against motor: q - theta = a cos(w t), w^2 = K (1/I + 1/B)."""
    robot, w = single(), np.sqrt(K * (1 / 0.5 + 1 / (N**2 * JM)))
    motion = robot.simulate([1e-2, 0.0], None, 0.3)
    assert_allclose(motion.q[:, 0] - motion.q[:, 1], 1e-2 * np.cos(w * motion.t), atol=1e-8)


def test_a_gyroscopic_rotor_may_be_elastic():
    robot = arm(rotor_axis=(0, 1, 0))
    q, qd, qdd = RNG.normal(size=(3, 4))
    assert_allclose(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, rtol=1e-9)
    assert_allclose(np.diag(robot.mass_matrix(q))[2:], N**2 * JM)
    assert robot.mass_matrix(q)[3, 0] != 0
    assert_allclose(arm(rotor_axis=(0, 1, 0), viscous=0.1).friction_torque(qd) - robot.friction_torque(qd), 0.1 * qd * [0, 0, 1, 1])


def test_what_is_not_elastic():
    with pytest.raises(ModelValueError, match="give series_stiffness"):
        Drive(series_damping=1.0)
    with pytest.raises(ModelValueError, match="positive"):
        Drive(series_stiffness=0)
