"""Constraints in closed form: the worked examples, numbers against the compiled constraints, and what must hold exactly."""

import numpy as np
import pytest
import sympy
from numpy import pi

import qddot
from qddot.errors import InputError, SingularityError

CHANNEL = qddot.holonomic(lambda state: state.position("tip").x - 1)
r, m, I, J = sympy.symbols("r m I J", positive=True)


def rolling(radius):
    def no_slip(state):
        v, w = state.velocity("disk"), state.angular_velocity("disk")
        return [v.x - radius * w.y, v.y + radius * w.x]

    return qddot.pfaffian(no_slip)


def disk(mass, across, along):
    return (
        qddot.Builder("disk")
        .body("x", joint="prismatic", axis="x")
        .body("y", "x", joint="prismatic", axis="y")
        .body("fork", "y", axis="z")
        .body("disk", "fork", axis="y", mass=mass, tensor=(across, along, across))
        .robot()
    )


def ball_on_a_plane():
    return (
        qddot.Builder("pendulum")
        .body("rod", joint="spherical", mass=1.2, com=(0, 0.1, -0.5), tensor=(0.1, 0.1, 0.02))
        .frame("tip", "rod", (0.3, 0.2, -0.5))
        .robot()
    )


def plane_and_screw():
    return (
        qddot.Builder("mixed", gravity=(0.3, -9, 1))
        .body("cart", joint="planar", mass=2.0, com=(0.1, 0, 0), tensor=(0.1, 0.2, 0.3))
        .body("screw", "cart", "helical", axis="y", pitch=0.1, xyz=(0.2, 0, 0.1), mass=0.7, com=(0, 0, 0.2), tensor=(0.1, 0.1, 0.1))
        .frame("tip", "screw", (0.1, 0.0, 0.3))
        .robot()
    )


def damped():
    drive = qddot.Drive(viscous=0.3, coulomb=0.2, stiffness=2.0, rest=0.1, gear_ratio=10, rotor_inertia=0.01)
    return (
        qddot.Builder("damped", gravity=(0, -9.81, 0))
        .body("upper", mass=1.0, com=(0.4, 0, 0), tensor=(0, 0.1, 0.1), drive=drive)
        .body("lower", "upper", "prismatic", axis="x", xyz=(0.3, 0.1, 0), mass=0.5, com=(0.1, 0.2, 0), tensor=(0, 0.1, 0.1))
        .body("follower", "lower", mass=0.2, com=(0.2, 0, 0), tensor=(0, 0.1, 0.1), mimic=("upper_joint", 2, 0.1))
        .frame("tip", "follower", (0.3, 0, 0))
        .robot()
    )


CASES = {
    "channel": (qddot.load("point_mass_2r"), CHANNEL),
    "plane": (qddot.load("point_mass_2r"), qddot.point_on_plane("tip", (0.1, 0.2, 0), (1, 2, 0))),
    "four bar": (qddot.load("four_bar"), None),
    "five bar": (qddot.load("five_bar"), None),
    "disk": (disk(2.0, 0.005, 0.01), rolling(0.1)),
    "coupled": (qddot.load("two_link"), qddot.joint_equality("joint2", "joint1", -0.3, 0.2)),
    "quaternion": (ball_on_a_plane(), qddot.holonomic(lambda state: state.position("tip").z + 0.3)),
    "contact": (plane_and_screw(), qddot.contact_point("tip", (0.3, 1, 2))),
    "drives": (damped(), qddot.holonomic(lambda s: 0.3 * s.position("tip").y ** 2 - s.cos(2 * s.q[0]) / 7 - 0.01)),
    "quotient": (qddot.load("rp_arm"), qddot.holonomic(lambda s: 1 / s.q[1] - s.sin(s.q[0]))),
}


@pytest.mark.parametrize("case", CASES)
def test_closed_forms_are_what_the_kernels_compute(case):
    robot, constraints = CASES[case]
    found = robot.equations(constraints=constraints).constraints
    rng = np.random.default_rng(3)
    q, qd, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)
    A, Adot = robot.constraint_jacobian(q, constraints), robot.constraint_jacobian_dot(q, qd, constraints)
    close(found.residual.evaluate(q), robot.constraint_residual(q, constraints))
    close(found.A.evaluate(q), A)
    close(found.Adot.evaluate(q, qd), Adot)
    close(found.h.evaluate(q, qd), robot.bias_torque(q, qd))
    close(A @ found.N.evaluate(q), 0)
    qdd, lam = robot.constrained_forward_dynamics(q, qd, tau, constraints)
    close(found.qdd.evaluate(q, qd, tau=tau), qdd)
    close(found.lam.evaluate(q, qd, tau=tau), lam)
    P, P_qdd = robot.constraint_projections(q, constraints)
    close(found.P.evaluate(q), P)
    close(found.P_qdd.evaluate(q), P_qdd)
    close(found.inverse_dynamics.evaluate(q, qd, qdd, lam=lam), tau)
    close(found.reduced.evaluate(q, qd, qdd), found.N.evaluate(q).T @ tau)


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * max(1.0, abs(np.asarray(expected)).max(initial=0)))


@pytest.mark.parametrize("case", ["channel", "four bar", "disk"])
def test_projections_are_projections_exactly(case):
    robot, constraints = CASES[case]
    found = robot.equations(constraints=constraints).constraints
    k, n = found.A.shape
    assert found.P @ found.P == found.P
    assert found.P_qdd @ found.P_qdd == found.P_qdd
    assert not found.A @ found.P_qdd
    assert not found.A @ found.N
    assert found.N.shape == (n, n - k)
    assert found.equations.M @ found.P_qdd == found.P @ found.equations.M
    assert found.A @ found.qdd + found.Adot @ found.equations.qd == [0] * k
    tau = np.array(found.equations.alphabet.further["force"])
    assert found.equations.M @ found.qdd + found.h + found.A.T @ found.lam == tau


def test_channel_of_the_lecture_notes_in_letters():
    eq = qddot.load("point_mass_2r", symbolic=True, gravity=(0, 0, 0)).equations(constraints=CHANNEL)
    found, read = eq.constraints, eq.read
    assert [[read("-L1*sin(q1) - L2*sin(q1 + q2)"), read("-L2*sin(q1 + q2)")]] == found.A
    assert found.Adot == [
        [read("-L1*cos(q1)*qd1 - L2*cos(q1 + q2)*(qd1 + qd2)"), read("-L2*cos(q1 + q2)*(qd1 + qd2)")],
    ]
    assert [[read("L2*sin(q1 + q2)")], [read("-L1*sin(q1) - L2*sin(q1 + q2)")]] == found.N
    ones = {"L1": 1, "L2": 1, "m1": 1, "m2": 1}
    here = {"q": [-pi / 3, 2 * pi / 3], "qd": [1, 0], "parameters": ones}
    root = np.sqrt(3)
    for tau in ([0, 0], [1, 0], [0, 1], [0.7, -2.3]):
        close(found.lam.evaluate(**here, tau=tau), [tau[0] / (2 * root) - 2 * tau[1] / root - 1 / 6])
        close(found.qdd.evaluate(**here, tau=tau), [tau[0] / 2 + 1 / (2 * root), -2 / root])
    close(found.P.evaluate(here["q"], parameters=ones), [[1, 0], [1 / 4, 0]])
    f = 1.7
    expected = [2 * 0.4 - 1 / root, 0.4 / 2 - root / 2 * f - 1 / (2 * root)]
    close(found.inverse_dynamics.evaluate(**here, qdd=[0.4, -2 / root], lam=[f]), expected)


def test_rolling_disk_in_letters_of_robot_and_constraint():
    found = disk(m, I, J).equations(constraints=rolling(r)).constraints
    read = found.equations.read
    assert [[1, 0, 0, read("-r*cos(q3)")], [0, 1, 0, read("-r*sin(q3)")]] == found.A
    assert found.Adot == [[0, 0, 0, read("r*sin(q3)*qd3")], [0, 0, 0, read("-r*cos(q3)*qd3")]]
    assert found.qdd[2] == read("tau3") / read("I")
    assert found.qdd[3] == read("r*cos(q3)*tau1 + r*sin(q3)*tau2 + tau4") / read("J + m*r**2")
    assert found.reduced == [read("I*qdd3"), read("m*r*(cos(q3)*qdd1 + sin(q3)*qdd2) + J*qdd4")]
    assert found.equations.parameters == ("I", "J", "m", "r")


def test_printed_in_every_target():
    found = disk(m, I, J).equations(constraints=rolling(r)).constraints
    lam = found.lam
    assert r"\lambda = \begin{bmatrix}" in lam.latex(lhs=True)
    assert r"\tau_{1}" in lam.latex()
    assert "<mfrac>" in lam.mathml(lhs=True)
    assert "lambda1" in found.inverse_dynamics.text()
    assert "const double tau[4]" in lam.c()
    assert "def constraint_multipliers(q, qd, tau, *, J, m, r)" in lam.python()
    q, qd, tau = np.random.default_rng(0).normal(size=(3, 5, 4))
    values = {"m": 2.0, "I": 0.005, "J": 0.01, "r": 0.1}
    numbers = lam.lambdify()(q, qd, tau=tau, **{k: values[k] for k in "mJr"})
    for i in range(5):
        close(numbers[i], lam.evaluate(q[i], qd[i], tau=tau[i], parameters=values))
    symbols = {"q3": 0.3, "qd3": 0.7, "qd4": -1.1, "tau1": 0.4, "tau2": 1.0, "tau3": 0, "tau4": -0.2, **values}
    expression = lam.sympy()[0]
    value = float(expression.subs({s: symbols[str(s)] for s in expression.free_symbols}))
    close(value, lam.evaluate([0, 0, 0.3, 0], [0, 0, 0.7, -1.1], tau=[0.4, 1.0, 0, -0.2], parameters=values)[0])


def test_fifty_digits():
    found = qddot.load("point_mass_2r").equations(constraints=CHANNEL).constraints
    value = found.lam.evaluate([-sympy.pi / 3, 2 * sympy.pi / 3], [1, 0], digits=50)[0]
    assert abs(value - found.lam.evaluate([-pi / 3, 2 * pi / 3], [1, 0])[0]) < 1e-13


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (qddot.weld("upper", "tip"), "a square root is not a polynomial"),
        (qddot.holonomic(lambda s: s.atan2(s.q[0], s.q[1])), "an arc tangent"),
        (qddot.holonomic(lambda s: s.position("tip").z - 1), "whatever q: it cannot become zero"),
        (qddot.pfaffian(lambda s: s.qd[0] ** 2), "not linear in qd"),
        (qddot.pfaffian(lambda s: s.qd[0] - 1), "not zero at qd = 0"),
        (qddot.holonomic(lambda s: s.q[0] == 1), "no comparison"),
        (qddot.holonomic(lambda s: s.cos(s.q[0] * s.q[1])), "not a polynomial"),
    ],
)
def test_what_has_no_closed_form_is_refused(constraint, message):
    with pytest.raises(InputError, match=message):
        qddot.load("point_mass_2r").equations(constraints=constraint).constraints  # noqa: B018


def test_dependent_rows_are_refused_where_something_must_be_solved():
    twice = qddot.load("point_mass_2r").equations(constraints=[CHANNEL, CHANNEL]).constraints
    assert twice.A.shape == (2, 2)
    with pytest.raises(SingularityError, match="rank 1 at every q"):
        twice.lam  # noqa: B018


def test_large_systems_keep_what_is_short():
    found = qddot.load("delta").equations().constraints
    assert found.A.shape[0] > 2
    with pytest.raises((InputError, SingularityError)):
        found.P  # noqa: B018


def test_friction_by_the_load_is_refused():
    arm = qddot.from_dh([(0.5, 0, 0, 0)] * 2, inertias=[qddot.Inertia.point(1)] * 2, drives=[qddot.Drive(load_friction=0.1), None])
    found = arm.equations(constraints=qddot.joint_equality("joint2", "joint1")).constraints
    with pytest.raises(InputError, match="grows with the load"):
        found.qdd  # noqa: B018


def test_without_constraints_there_are_none():
    with pytest.raises(InputError, match="has no constraints of its own"):
        qddot.load("two_link").equations().constraints  # noqa: B018


def test_rates_of_forces_have_no_letters():
    found = qddot.load("point_mass_2r").equations(constraints=CHANNEL).constraints
    with pytest.raises(qddot.QddotError, match="no letter for the rate of"):
        found.lam.dt()


@pytest.mark.parametrize("written", ["html", "latex", "markdown"])
def test_derivation_goes_on_to_the_constraints(written):
    d = disk(m, I, J).derive("newton-euler", constraints=rolling(r))
    titles = [step.title for step in d.steps]
    assert titles[-5:] == [
        "The constraints",
        "The forces of the constraints",
        "Multipliers and accelerations",
        "Projections",
        "What is left of the equations",
    ]
    assert all(len(step.checks) > 0 for step in d.steps[-5:])
    assert max(check.worst for check in d.checks) < 1e-12
    assert len(getattr(d, written)()) > 5000


def test_derivation_of_a_loop_and_of_the_open_tree():
    linkage = qddot.load("four_bar", symbolic=True)
    closed, opened = linkage.derive("jacobian", constraints=True), linkage.derive("jacobian")
    assert len(closed.steps) == len(opened.steps) + 5
    with pytest.raises(InputError, match="has no constraints of its own"):
        qddot.load("two_link").derive(constraints=True)
