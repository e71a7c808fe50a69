"""Hamilton's equations in numbers: the same motion as Lagrange's, told by momenta."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Drive

RNG = np.random.default_rng(5)


def driven():
    """Viscous friction, rotors and springs, and a joint that follows another."""
    drive = Drive(viscous=0.3, rotor_inertia=1e-4, gear_ratio=30, stiffness=5.0)
    builder = Builder().body("a", axis="y", mass=2.0, com=(0.2, 0, 0.1), tensor=(0.1, 0.2, 0.2), drive=drive)
    return builder.body(
        "b", "a", axis="z", xyz=(0.4, 0, 0), mass=1.0, com=(0.1, 0.1, 0), tensor=(0.01, 0.02, 0.02), drive=drive
    ).robot()


ROBOTS = {"puma560": lambda: qddot.load("puma560"), "two_link": lambda: qddot.load("two_link"), "driven": driven}


@pytest.mark.parametrize("name", ROBOTS)
def test_momenta_velocities_and_energy(name):
    robot = ROBOTS[name]()
    q, qd = RNG.normal(size=(2, 8, robot.nv))
    p = robot.generalized_momentum(q, qd)
    assert_allclose(p, (robot.mass_matrix(q) @ qd[..., None])[..., 0], rtol=1e-12, atol=1e-12)
    assert_allclose(robot.hamilton_rates(q, p).qd, qd, rtol=1e-9, atol=1e-12)
    assert_allclose(robot.hamiltonian_of_momentum(q, p), robot.hamiltonian(q, qd), rtol=1e-11)
    assert_array_equal(robot.hamilton_rates(q[3], p[3]).pd, robot.hamilton_rates(q, p).pd[3])


@pytest.mark.parametrize("name", ROBOTS)
def test_the_rates_are_slopes_of_the_hamiltonian(name):
    """`qd = dH/dp`, and without friction `pd = -dH/dq + tau`, by central differences of H itself."""
    robot = ROBOTS[name]()
    q, p, tau = RNG.normal(size=(3, robot.nv))
    h, one = 1e-6, np.eye(robot.nv)
    slope = lambda f: np.array([(f(h * e) - f(-h * e)) / (2 * h) for e in one])  # noqa: E731
    rates = robot.hamilton_rates(q, p, tau)
    assert_allclose(rates.qd, slope(lambda d: robot.hamiltonian_of_momentum(q, p + d)), rtol=1e-6, atol=1e-6)
    pd = tau - robot.friction_torque(rates.qd) - slope(lambda d: robot.hamiltonian_of_momentum(q + d, p))
    assert_allclose(rates.pd, pd, rtol=1e-5, atol=1e-5 * abs(pd).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_forces_and_forward_dynamics(name):
    """`pd = M qdd + Mdot qd`, with joint forces and forces at the tip."""
    robot = ROBOTS[name]()
    q, qd, tau = RNG.normal(size=(3, robot.nv))
    push = {robot.body_names[-1]: RNG.normal(size=6)}
    qdd = robot.forward_dynamics(q, qd, tau, f_ext=push)
    found = robot.hamilton_rates(q, robot.generalized_momentum(q, qd), tau, f_ext=push)
    expected = robot.mass_matrix(q) @ qdd + robot.mass_matrix_rate(q, qd) @ qd
    assert_allclose(found.pd, expected, rtol=1e-8, atol=1e-9 * abs(expected).max())
    assert_allclose(
        found.pd, robot.hamilton_rates(q, robot.generalized_momentum(q, qd), tau, f_tip={n: -w for n, w in push.items()}).pd
    )


def test_momenta_of_bodies_that_turn_freely():
    """Euler's equations: without forces the momentum of a free body in its own axes turns by p x w, its energy stays."""
    robot = Builder(gravity=(0, 0, 0)).body("top", joint="spherical", mass=1.0, tensor=(0.1, 0.2, 0.3)).robot()
    w = np.array([1.0, 2.0, 3.0])
    p = robot.generalized_momentum(robot.neutral(), w)
    found = robot.hamilton_rates(robot.neutral(), p)
    assert_allclose(p, [0.1, 0.4, 0.9])
    assert_allclose(found.pd, np.cross(p, w), rtol=1e-12)


def test_integrating_hamiltons_equations_gives_the_motion():
    from scipy.integrate import solve_ivp

    robot = qddot.load("two_link")
    q0, t = np.array([0.3, 0.4]), np.linspace(0, 1, 6)
    slope = lambda t, y: np.concatenate(robot.hamilton_rates(y[:2], y[2:], [0.5, 0.1]))  # noqa: E731
    run = solve_ivp(slope, (0, 1), np.r_[q0, 0, 0], t_eval=t, rtol=1e-10, atol=1e-10)
    motion = robot.simulate(q0, None, t, torque=[0.5, 0.1], method="DOP853", rtol=1e-10, atol=1e-10)
    assert_allclose(run.y[:2].T, motion.q, atol=1e-7)
    assert_allclose(run.y[2:].T, robot.generalized_momentum(motion.q, motion.qd), atol=1e-7)


def test_a_robot_without_mass_has_no_velocity_for_a_momentum():
    with pytest.warns(qddot.ModelWarning):
        massless = Builder().body("a").robot()
    with pytest.raises(qddot.SingularityError, match="nothing resists joint 'a_joint'"):
        massless.hamilton_rates([0], [1.0])
