"""Robots over exact scalars: every joint type, constants of every kind, drives, and numbers that become symbols."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy

import qddot
from qddot.errors import InputError
from tests.symbolic.samples import assert_agrees

a, b, alpha, k, p = sympy.symbols("a b alpha k p", real=True)
BODY = {"mass": 1.25, "com": (0.3, -0.2, 0.1), "tensor": (0.3, 0.01, -0.02, 0.4, 0.03, 0.5)}
PARAMETERS = ("given", "inertial", "all")


def arm(**hinge) -> qddot.Builder:
    return qddot.Builder("arm", gravity=(0.5, -1.0, -9.81)).body("upper", **BODY, **hinge)


def equal_entries(form, other) -> bool:
    """Of two robots, letter by letter of the same name."""
    return form.shape == other.shape and all(x == y for x, y in zip(form.entries.flat, other.entries.flat))


# joints -----------------------------------------------------------------------------------------------------------------------

JOINTS = {
    "revolute": {},
    "prismatic": {"axis": (0.6, 0.0, 0.8)},
    "helical": {"axis": "y", "pitch": 0.05},
    "planar": {"axis": (0.0, 0.6, -0.8)},
    "spherical": {},
    "free": {},
}


@pytest.mark.parametrize("parameters", PARAMETERS)
@pytest.mark.parametrize("kind", JOINTS)
def test_every_joint_type_agrees_with_its_kernels(kind, parameters):
    robot = (
        arm(axis="-x").body("tip", "upper", kind, xyz=(0.1, 0.2, 0.3), rpy=(0.3, math.pi / 4, 1.0), **BODY, **JOINTS[kind]).robot()
    )
    assert_agrees(robot, robot.equations(parameters), "tip")


def test_ball_joints_in_a_row():
    robot = (
        arm()
        .body("ball", "upper", "spherical", xyz=(0, 0, 1), **BODY)
        .body("tip", "ball", "spherical", xyz=(1, 0, 0), **BODY)
        .robot()
    )
    E = robot.equations()
    assert_agrees(robot, E, "tip", without=("coriolis_matrix",))
    assert E.M == E.M.T
    with pytest.raises(InputError, match="christoffel needs joints whose qd is the rate of q"):
        _ = E.christoffel


def test_symbolic_pitch():
    robot = arm().body("tip", "upper", "helical", pitch=p, **BODY).robot()
    E = robot.equations()
    assert E.M[1, 1] == E.read("p**2*5/4 + 1/2 + 5/4*(9/100 + 4/100)")
    assert_agrees(robot.subs({p: 0.07}), E, "tip", parameters={"p": 0.07})


@pytest.mark.parametrize("multiplier", [2, -1, Fraction(1, 2), -3, 0.7, 0])
def test_followers(multiplier):
    follower = qddot.Mimic("upper_joint", float(multiplier), 0.3)
    robot = arm().body("tip", "upper", xyz=(0.4, 0, 0), rpy=(0.5, 0, 0), mimic=follower, **BODY).robot()
    for parameters in PARAMETERS:
        assert_agrees(robot, robot.equations(parameters), "tip")


def test_a_follower_of_an_odd_fraction_gets_its_own_sine():
    robot = arm().body("tip", "upper", mimic=qddot.Mimic("upper_joint", 0.7312), **BODY).robot()
    E = robot.equations()
    assert_agrees(robot, E, "tip")
    assert E.notes == ("cos(q1): kept as they are; equal forms that differ only in what these mean are not seen to be equal",)


@pytest.mark.parametrize("value", [2.0, -1.0, 0.37])
def test_symbolic_multiplier_and_offset(value):
    drive = qddot.Drive(viscous=0.2, coulomb=(0.1, 0.3), stiffness=2.0, rest=0.4, gear_ratio=10, rotor_inertia=0.001)
    robot = arm().body("tip", "upper", xyz=(0.4, 0, 0), mimic=qddot.Mimic("upper_joint", k, b), drive=drive, **BODY).robot()
    E = robot.equations()
    assert_agrees(robot.subs({k: value, b: 0.6}), E, "tip", parameters={"k": value, "b": 0.6})
    assert E.read("cos(k*q1)**2 + sin(k*q1)**2") == 1
    assert E.M.diff("q1") == E.mass_matrix_gradient[:, :, 0]


def test_two_symbolic_multiples_of_one_joint():
    """cos(2 k q) is written by cos(k q): both followers share letters."""
    first, second = qddot.Mimic("upper_joint", k), qddot.Mimic("upper_joint", 2 * k + 1)
    robot = arm().body("mid", "upper", mimic=first, **BODY).body("tip", "mid", xyz=(1, 0, 0), mimic=second, **BODY).robot()
    E = robot.equations()
    assert E.notes == ()
    assert_agrees(robot.subs({k: 0.6}), E, "tip", parameters={"k": 0.6})


def test_fixed_joints_are_lumped_exactly():
    """A body welded on by thirds and a rotation by 45 degrees: the sum has no rounding in it."""
    robot = (
        arm()
        .body(
            "weld", "upper", "fixed", xyz=(1 / 3, 0, 0), rpy=(0, 0, math.pi / 4), mass=0.3, com=(0.1, 0, 0), tensor=(0.1, 0.2, 0.3)
        )
        .robot()
    )
    M = robot.equations().M
    mine, welded = Fraction(1, 2) + Fraction(5, 4) * Fraction(13, 100), Fraction(3, 10)
    assert M[0, 0] == robot.equations().read("sqrt(2)/100") + mine + welded + welded * (Fraction(1, 9) + Fraction(1, 100))
    assert_agrees(robot, robot.equations("all"), "weld")


def test_a_robot_that_does_not_move():
    for robot in (qddot.Builder("rock").body("top", None, "fixed", **BODY).robot(),):
        for parameters in PARAMETERS:
            E = robot.equations(parameters)
            assert E.nv == 0
            assert E.g.entries.size == E.tau.entries.size == E.M.entries.size == 0
            assert E.T == 0
            assert E.transform("top").evaluate([]) == pytest.approx(np.eye(4))


# constants --------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (sympy.sqrt(a), "sqrt(a)"),
        (sympy.sqrt(a**2 + b**2), "sqrt(a**2 + b**2)"),
        (sympy.pi * a, "pi*a"),
        (a / b, "a/b"),
        (a ** sympy.Rational(3, 2), "a*sqrt(a)"),
        (1 / sympy.sqrt(a), "sqrt(a)/a"),
        (sympy.tan(alpha), "sin(alpha)/cos(alpha)"),
        (sympy.cos(2 * alpha), "cos(2*alpha)"),
        (sympy.cos(alpha + b), "cos(alpha)*cos(b) - sin(alpha)*sin(b)"),
        (sympy.cos(alpha + sympy.pi / 3), "cos(alpha)/2 - sqrt(3)*sin(alpha)/2"),
        (sympy.sqrt(5) * a, "sqrt(5)*a"),
        (a / (a + b), "a/(a + b)"),
        (sympy.atan2(a, b), None),
        (abs(a), None),
        (0.1 * a, "a/10"),
    ],
)
def test_constants_of_every_kind(expression, text):
    robot = qddot.Builder().body("l", mass=expression, com=(b, 0, 0), tensor=(0, 0, expression**2)).robot()
    E = robot.equations()
    given = {x: y for x, y in ((a, 0.8), (b, 0.6), (alpha, 0.3)) if x in robot.symbols}
    found = E.M.evaluate([0.0], parameters={str(x): y for x, y in given.items()})
    number = float(expression.subs(given))
    assert found == pytest.approx(np.array([[number * 0.36 + number**2]]), rel=1e-14)
    if text:
        assert E.M[0, 0] == E.read(f"({text})*b**2 + ({text})**2")


def test_squares_of_roots_are_known():
    robot = qddot.Builder().body("l", mass=1, com=(sympy.sqrt(a**2 + b**2), 0, 0)).robot()
    E = robot.equations()
    assert E.M[0, 0] == E.read("a**2 + b**2")
    assert E.notes == ()


def test_what_is_not_known_of_a_letter_is_said():
    E = qddot.Builder().body("l", mass=a / (a + b), com=(sympy.atan(a), 0, 0)).robot().equations()
    assert E.notes == (
        "1/(a + b), atan(a): kept as they are; equal forms that differ only in what these mean are not seen to be equal",
    )


def test_multiples_of_a_constant_angle_share_letters():
    robot = arm().body("tip", "upper", rpy=(alpha, 0, 0), **BODY).frame("f", "tip", (0, 0, 0), (2 * alpha, 0, alpha / 2)).robot()
    E = robot.equations()
    assert E.read("cos(2*alpha)") == E.read("2*cos(alpha)**2 - 1") == E.read("2*(2*cos(alpha/2)**2 - 1)**2 - 1")
    assert E.transform("f")[:3, :3] @ E.transform("f")[:3, :3].T == np.eye(3, dtype=int)
    assert_agrees(robot.subs({alpha: 0.4}), E, "f", parameters={"alpha": 0.4})


@pytest.mark.parametrize("theta", [math.pi / 4, math.pi / 3, math.pi / 12, -math.pi / 2])
def test_rotations_of_letters_and_multiples_are_exact(theta):
    robot = qddot.from_dh([(1, alpha, 0, theta), (0.5, 0, 0, 0)], convention="modified", inertias=[qddot.Inertia(**BODY)] * 2)
    E = robot.equations()
    R = E.transform()[:3, :3]
    assert E.notes == ()
    assert np.eye(3, dtype=int) == R @ R.T
    assert_agrees(robot.subs({alpha: 0.4}), E, robot.link_names[-1], parameters={"alpha": 0.4})


def test_rotations_of_letters_and_other_numbers_are_reported():
    robot = qddot.from_dh([(1, alpha, 0, 0.3)], convention="modified", inertias=[qddot.Inertia(**BODY)])
    assert robot.equations().notes == (
        "joint 'joint1': a rotation of letters and of numbers that were rounded: a rotation only within 1e-15",
    )


def test_gravity_symbols():
    robot = qddot.Builder(gravity=(a, 0, -b)).body("l", mass=2, com=(1, 0, 0), axis="y").robot()
    E = robot.equations()
    assert E.g == [E.read("2*a*sin(q1) - 2*b*cos(q1)")]
    assert E.read("-2*a*cos(q1) - 2*b*sin(q1)") == E.V


@pytest.mark.parametrize("symbol", [sympy.Symbol("z", imaginary=True), sympy.Symbol("z", extended_real=False)])
def test_symbols_that_are_not_real_are_refused(symbol):
    with pytest.raises(InputError, match="the symbol z is declared not to be real"):
        qddot.Builder().body("l", mass=symbol).robot().equations()


def test_complex_numbers_are_refused():
    with pytest.raises(InputError, match="not a finite real number"):
        qddot.Builder().body("l", mass=sympy.I * a).robot().equations()
    with pytest.raises(InputError, match="exponents over 64"):
        qddot.Builder().body("l", mass=(a + b) ** 1000).robot().equations()


# names ------------------------------------------------------------------------------------------------------------------------


def test_symbols_named_like_sines():
    c1, s1 = sympy.symbols("c1 s1", real=True)
    E = qddot.Builder(gravity=(0, -1, 0)).body("l", mass=c1, com=(s1, 0, 0)).robot().equations()
    assert E.g == [E.read("c1*s1*cos(q1)")]
    assert E.M[0, 0] == E.read("c1*s1**2")


@pytest.mark.parametrize("name", ["q1", "qd1", "qdd1"])
def test_symbols_named_like_joint_variables_are_refused(name):
    with pytest.raises(InputError, match=f"the symbol {name} of this robot is also the name of a joint variable"):
        qddot.Builder().body("l", mass=sympy.Symbol(name)).robot().equations()


def test_two_symbols_of_one_name_are_refused():
    loose, real = sympy.Symbol("m"), sympy.Symbol("m", real=True)
    with pytest.raises(InputError, match="two different symbols of this robot are called m"):
        qddot.Builder().body("l", mass=loose).body("r", mass=real).robot().equations()


def test_a_symbol_of_the_robot_is_not_taken_for_a_number():
    m1 = sympy.Symbol("m1", real=True)
    robot = qddot.Builder().body("first", mass=2, com=(1, 0, 0)).body("second", "first", mass=m1, com=(1, 0, 0)).robot()
    assert robot.equations().M[1, 1] == robot.equations().read("m1")
    with pytest.raises(InputError, match="m1 is a symbol of this robot and cannot also stand for its number 2"):
        robot.equations("inertial")
    same = qddot.Builder().body("first", mass=m1, com=(1, 0, 0)).robot().equations("inertial")
    assert same.M[0, 0] == same.read("m1")


# drives -----------------------------------------------------------------------------------------------------------------------


def test_reflected_inertia_is_not_rounded():
    drive = qddot.Drive(
        gear_ratio=-62.6111, rotor_inertia=0.0002, side="motor", viscous=0.1, damping=0.2, coulomb=0.3, stiffness=0.7
    )
    E = qddot.Builder().body("l", drive=drive).robot().equations()
    N = Fraction(-626111, 10000)
    assert E.M[0, 0] == N**2 * Fraction(2, 10000)
    assert E.friction_torque == [E.read("qd1") * (N**2 * Fraction(3, 10)) + E.read("sign_qd1") * (-N * Fraction(3, 10))]
    assert E.spring_torque == [E.read("q1") * (N**2 * Fraction(7, 10))]


@pytest.mark.parametrize("ratio", [3.5, -2.0])
def test_symbolic_gear_ratio(ratio):
    N, J, F = sympy.symbols("N J F", real=True)
    drive = qddot.Drive(gear_ratio=N, rotor_inertia=J, viscous=0.2, coulomb=F, side="motor")
    robot = arm(drive=drive).robot()
    E = robot.equations()
    assert E.M[0, 0] == E.read("N**2*J + 1/2 + 5/4*13/100")
    magnitude = E.alphabet.parameters["Abs(N)"]
    assert magnitude**2 == E.read("N**2")
    assert E.friction_torque == [E.read("N**2*qd1/5") + magnitude * E.read("F*sign_qd1")]
    given = {"N": ratio, "J": 0.002, "F": 0.3}
    assert_agrees(robot.subs(given), E, "upper", parameters=given)


def test_friction_that_differs_with_the_direction():
    robot = arm(drive=qddot.Drive(coulomb=(0.2, 0.5), viscous=0.1, stiffness=3.0, rest=0.25)).robot()
    E = robot.equations()
    assert E.friction_torque.evaluate([0.0], [2.0]) == pytest.approx([0.4])
    assert E.friction_torque.evaluate([0.0], [-2.0]) == pytest.approx([-0.7])
    assert E.friction_torque.evaluate([0.0], [0.0]) == pytest.approx([0.0])
    assert E.friction_torque[0] * E.qd[0] == E.read("qd1**2/10 + 7/20*sign_qd1*qd1 - 3/20*qd1")
    symbols = robot.equations("inertial")
    assert {"Fp1", "Fn1", "Fv1", "k1", "rest1"} <= set(symbols.values)
    assert_agrees(robot, symbols, "upper")


# numbers that become symbols --------------------------------------------------------------------------------------------------


def test_symbols_stand_for_the_numbers_that_are_not_zero():
    robot = qddot.load("two_link")
    E = robot.equations("inertial")
    assert set(E.values) == {f"{x}{i}" for x in ("m", "mx", "Ixx", "Iyy", "Izz") for i in (1, 2)}
    assert E.values["m1"] == Fraction(1, 2)
    assert E.values["mx1"] == Fraction(-1, 8)
    everything = robot.equations("all")
    assert everything.values["gy"] == Fraction(-981, 100)
    assert everything.values["a2"] == Fraction(1, 2)
    assert equal_entries(everything.M.subs(everything.values), robot.equations().M)


def test_numbers_with_roots_become_symbols_too():
    robot = arm().body("tip", "upper", xyz=(0.1, 0, 0), rpy=(0, 0, 0.3), **BODY).robot()
    turned = arm().body("weld", "upper", "fixed", rpy=(0, 0, math.pi / 4)).body("tip", "weld", xyz=(0.1, 0, 0), **BODY).robot()
    assert turned.equations("all").values["a2"] == turned.equations().read("sqrt(2)/20")
    for r in (robot, turned):
        assert_agrees(r, r.equations("all"), "tip")


def test_unknown_choice_of_parameters():
    with pytest.raises(InputError, match="symbols='some' is not one of 'given', 'inertial', 'all'"):
        arm().robot().equations("some")
