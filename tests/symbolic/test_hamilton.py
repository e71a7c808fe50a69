"""Hamilton's equations in closed form: derivatives of H, the same motion as Newton's, the robot's energy."""

import numpy as np
import pytest
import sympy

import qddot
from qddot.errors import InputError

ROBOTS = {
    "two_link": qddot.load("two_link"),
    "rp_arm": qddot.load("rp_arm"),
    "cart_pole": qddot.load("cart_pole"),
    "damped": qddot.Builder("damped")
    .body("upper", axis="y", mass=1.0, com=(0.4, 0, 0), tensor=(0.1, 0.1, 0.1), drive=qddot.Drive(viscous=0.3, stiffness=2.0))
    .body(
        "lower", "upper", axis="x", xyz=(0.5, 0, 0), mass=0.5, com=(0.1, 0.2, 0), drive=qddot.Drive(gear_ratio=9, rotor_inertia=0.1)
    )
    .robot(),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_rates_are_derivatives_of_the_hamiltonian(name):
    found = ROBOTS[name].equations().hamilton
    eq, n = found.equations, found.equations.nv
    friction = found.pd - [-found.H.diff(f"q{i + 1}") + eq.read(f"tau{i + 1}") for i in range(n)]
    for i in range(n):
        assert found.H.diff(f"p{i + 1}") == found.qd[i]
        assert bool(friction[i]) == bool(eq.friction_torque[i])
    assert found.M @ found.qd == found.p
    assert found.M @ found.M_inverse == np.eye(n, dtype=int)


@pytest.mark.parametrize("name", ROBOTS)
def test_in_numbers_it_is_newtons_motion(name):
    robot = ROBOTS[name]
    eq = robot.equations()
    found = eq.hamilton
    q, qd, tau = np.random.default_rng(5).normal(size=(3, robot.nv))
    p = robot.mass_matrix(q) @ qd
    close(eq.generalized_momentum.evaluate(q, qd), p)
    close(found.qd.evaluate(q, p=p), qd)
    close(found.H.evaluate(q, p=p), robot.hamiltonian(q, qd))
    qdd = robot.forward_dynamics(q, qd, tau)
    close(found.pd.evaluate(q, p=p, tau=tau), robot.mass_matrix(q) @ qdd + robot.mass_matrix_rate(q, qd) @ qd)
    close(found.pd.lambdify()(q, p=p, tau=tau), found.pd.evaluate(q, p=p, tau=tau))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, abs(np.asarray(expected)).max(initial=0)))


def test_hinge_and_slider_in_letters():
    found = qddot.load("rp_arm", symbolic=True).equations().hamilton
    read = found.equations.read
    inertia = read("m1*L1**2 + m2*q2**2 + I1 + I2")
    assert read("p1**2") / (2 * inertia) + read("p2**2") / (2 * read("m2")) + read("(m1*L1 + m2*q2)*9.81*sin(q1)") == found.H
    assert found.qd == [read("p1") / inertia, read("p2") / read("m2")]
    assert found.pd[0] == read("tau1 - (m1*L1 + m2*q2)*9.81*cos(q1)")
    assert found.pd[1] == read("m2*q2*p1**2") / inertia**2 - read("m2*9.81*sin(q1)") + read("tau2")


def test_potential_energy_is_not_put_under_the_line():
    found = qddot.load("point_mass_2r", symbolic=True).equations().hamilton
    assert str(found.H).startswith("9.81*(m1 + m2)*L1*s1 + 9.81*m2*L2*s12 + ")
    assert r"\frac" in found.H.latex(lhs=True)
    q, p = [0.3, 0.5], [0.7, -0.2]
    values = {"m1": 1.1, "m2": 0.7, "L1": 0.9, "L2": 1.2}
    symbols = found.H.sympy().free_symbols
    point = {"q1": 0.3, "q2": 0.5, "p1": 0.7, "p2": -0.2, **values}
    close(float(found.H.sympy().subs({s: point[str(s)] for s in symbols})), found.H.evaluate(q, p=p, parameters=values))


def test_names_in_c_do_not_clash():
    source = qddot.load("rp_arm", symbolic=True).equations().hamilton.pd.c()
    assert "const double p[2], const double parameters[" in source.replace("const double tau[2], ", "")


def test_longer_arms_keep_the_factored_statement():
    found = qddot.load("puma560").equations().hamilton
    assert found.M.shape == (6, 6)
    with pytest.raises(InputError, match="at most 4 joints"):
        found.H  # noqa: B018


def test_what_momenta_cannot_say_is_refused():
    dry = qddot.Builder("dry").body("arm", mass=1.0, com=(1, 0, 0), drive=qddot.Drive(coulomb=0.1)).robot().equations().hamilton
    with pytest.raises(InputError, match="signs of velocities"):
        dry.pd  # noqa: B018
    ball = qddot.Builder("ball").body("ball", joint="spherical", mass=1.0, tensor=(1, 1, 1)).robot()
    with pytest.raises(InputError, match="rate of q"):
        ball.equations().hamilton  # noqa: B018


def test_a_symbol_of_the_robot_may_not_be_a_momentum():
    arm = qddot.Builder("arm").body("arm", mass=sympy.Symbol("p1", positive=True), com=(1, 0, 0)).robot()
    assert arm.equations().M.shape == (1, 1)
    with pytest.raises(InputError, match="p1"):
        arm.equations().hamilton  # noqa: B018
