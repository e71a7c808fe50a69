"""Regressors of chosen and of standard parameters, base parameters, and the reasons why some stay hidden."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot.errors import InputError, UnknownNameError
from qddot.robot import Robot
from tests.symbolic.samples import every_letter

ROBOTS = next((p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists()), None)
needs_robots = pytest.mark.skipif(ROBOTS is None, reason="example-robot-data is not installed")

SEED = {  # the worked example of a planar arm with friction
    (0, 0): "L1**2*qdd1 + g*L1*cos(q1)",
    (0, 1): "(L1**2 + L2**2 + 2*L1*L2*cos(q2))*qdd1 + (L2**2 + L1*L2*cos(q2))*qdd2 - L1*L2*(2*qd1*qd2 + qd2**2)*sin(q2)"
    " + g*L1*cos(q1) + g*L2*cos(q1 + q2)",
    (0, 2): "sign_qd1",
    (0, 3): "qd1",
    (1, 1): "(L2**2 + L1*L2*cos(q2))*qdd1 + L2**2*qdd2 + L1*L2*qd1**2*sin(q2) + g*L2*cos(q1 + q2)",
    (1, 4): "sign_qd2",
    (1, 5): "qd2",
}
CHOSEN = ["m1", "m2", "Fs1", "Fv1", "Fs2", "Fv2"]


@pytest.fixture(scope="module")
def rubbing():
    """Two point masses on massless rods, with friction, everything a symbol."""
    m1, m2, L1, L2, g, Fs1, Fv1, Fs2, Fv2 = sympy.symbols("m1 m2 L1 L2 g Fs1 Fv1 Fs2 Fv2", positive=True)
    return (
        qddot.Builder(gravity=(0, -g, 0))
        .body("upper", mass=m1, com=(L1, 0, 0), drive=qddot.Drive(viscous=Fv1, coulomb=Fs1))
        .body("lower", "upper", xyz=(L1, 0, 0), mass=m2, com=(L2, 0, 0), drive=qddot.Drive(viscous=Fv2, coulomb=Fs2))
        .robot()
        .equations()
    )


def two_link(gravity):
    """The arm of the first course, with moments of inertia about the centres of mass."""
    names = "m1 m2 Ixx1 Iyy1 Izz1 Ixx2 Iyy2 Izz2"
    m1, m2, Ixx1, Iyy1, Izz1, Ixx2, Iyy2, Izz2 = sympy.symbols(names, positive=True)
    inertias = [
        qddot.Inertia(m1, (-0.25, 0, 0), (Ixx1, Iyy1, Izz1)),
        qddot.Inertia(m2, (-0.35, 0, 0), (Ixx2, Iyy2, Izz2)),
    ]
    return qddot.from_dh([(0.5, 0, 0, 0), (0.7, 0, 0, 0)], inertias=inertias, gravity=gravity).equations()


def numeric_rank(robot, samples=60):
    rng = np.random.default_rng(0)
    q = np.array([robot.random_configuration(rng) for _ in range(samples)])
    Y = robot.regressor(q, *rng.normal(size=(2, samples, robot.nv))).reshape(samples * robot.nv, -1)
    return np.linalg.matrix_rank(Y, tol=1e-10 * np.abs(Y).max())


def letters(found):
    equations = found.combinations.equations
    return lambda name: equations.alphabet.ring.letters[equations.letter(name)]


# chosen parameters ------------------------------------------------------------------------------------------------------------


def test_worked_example(rubbing):
    Y, remainder, names = rubbing.regressor(CHOSEN)
    assert names == tuple(CHOSEN)
    assert Y.shape == (2, 6)
    for i in range(2):
        for j in range(6):
            assert Y[i, j] == rubbing.read(SEED.get((i, j), "0"))
    assert not remainder
    assert Y @ [rubbing.read(name) for name in names] == rubbing.tau


def test_what_no_parameter_multiplies_is_the_remainder(rubbing):
    Y, remainder, _ = rubbing.regressor(["m2", "Fv1"])
    assert remainder == rubbing.tau.subs({"m2": 0, "Fv1": 0})
    assert remainder
    assert Y @ [rubbing.read("m2"), rubbing.read("Fv1")] + remainder == rubbing.tau


def test_no_parameters(rubbing):
    Y, remainder, names = rubbing.regressor([])
    assert (Y.shape, names) == ((2, 0), ())
    assert remainder == rubbing.tau


def test_products_are_refused(rubbing):
    with pytest.raises(InputError) as info:
        rubbing.regressor(["m2", "L1"])
    words = "tau_1 is not linear in m2 and L1 together: it has the product m2*L1**2; leave one of them out"
    assert str(info.value) == words
    with pytest.raises(InputError, match=r"tau_1 is not linear in L1: it has the product .*L1\*\*2"):
        rubbing.regressor(["L1"])
    rubbing.regressor(["g", "Fv1"])
    with pytest.raises(InputError, match="together"):
        rubbing.regressor(["g", "m1"])


def test_letters_may_hide_a_parameter():
    a, alpha = sympy.symbols("a alpha", positive=True)
    arm = qddot.Builder().body("one", rpy=(alpha, 0, 0), mass=1, com=(1 / a, 0, 0)).robot().equations()
    with pytest.raises(InputError, match=r"^tau_1 is not linear in a: it contains 1/a$"):
        arm.regressor(["a"])
    with pytest.raises(InputError, match=r"^tau_1 is not linear in alpha: it contains (sin|cos)\(alpha\)$"):
        arm.regressor(["alpha"])


def test_names(rubbing):
    with pytest.raises(UnknownNameError, match="no parameter 'm3': did you mean"):
        rubbing.regressor(["m3"])
    with pytest.raises(UnknownNameError, match="no parameter 'qd1'"):
        rubbing.regressor(["qd1"])
    with pytest.raises(InputError, match="m1 stands twice"):
        rubbing.regressor(["m1", "m2", "m1"])


# standard parameters ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["two_link", "rp_arm", "cart_pole", "puma560"])
def test_like_the_compiled_regressor(name):
    robot = qddot.load(name)
    Y, remainder, names = robot.equations().regressor()
    rng = np.random.default_rng(1)
    motion = robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))
    assert names == robot.parameter_names
    assert not remainder
    assert_allclose(Y.evaluate(*motion), robot.regressor(*motion), rtol=1e-11, atol=1e-12)


def test_a_robot_without_joints():
    robot = qddot.Builder().body("plate", joint="fixed", mass=1).robot()
    found = robot.equations().base_parameters()
    assert (found.rank, found.names, found.regressor.shape) == (0, (), (0, 0))


# base parameters --------------------------------------------------------------------------------------------------------------


def test_combinations_in_symbols():
    eq = qddot.load("point_mass_2r", symbolic=True).equations()
    found = eq.base_parameters()
    assert found.names == ("upper.mcx", "upper.mcy", "upper.Izz", "lower.mcx", "lower.mcy", "lower.Izz")
    assert found.rank == 6
    x = letters(found)
    assert found.combinations == [
        x("upper.mcx") + x("L1") * x("lower.m"),
        x("upper.mcy"),
        x("upper.Izz") + x("L1") ** 2 * x("lower.m"),
        *map(x, ("lower.mcx", "lower.mcy", "lower.Izz")),
    ]
    assert found.values == [eq.read(x) for x in ("L1*m1 + L1*m2", "0", "L1**2*m1 + L1**2*m2", "L2*m2", "0", "L2**2*m2")]
    assert found.regressor @ found.values == eq.tau
    assert found.alone == ("upper.mcy", "lower.mcx", "lower.mcy", "lower.Izz")
    assert repr(found) == "6 combinations of 20 parameters (4 of them alone, 13 never)"


@pytest.mark.parametrize(
    "name", ["two_link", "rp_arm", "cart_pole", "acrobot", "four_bar", "puma560", pytest.param("arm7", marks=pytest.mark.slow)]
)
def test_exact_and_least(name):
    robot = qddot.load(name)
    eq = robot.equations()
    found = eq.base_parameters()
    assert found.rank == numeric_rank(robot)
    assert found.regressor @ found.values == eq.tau
    everyone = {*found.names, *found.grouped, *found.unidentifiable}
    assert everyone == set(robot.parameter_names)
    values = found.combinations.evaluate(robot.neutral())
    assert_allclose(values, found.values.evaluate(robot.neutral()), rtol=1e-12)


def test_seven_hinges_have_43_inertial_base_parameters():
    found = qddot.load("arm7").equations().base_parameters()
    assert sum("viscous" not in name for name in found.names) == 43
    assert found.unidentifiable["link2.mcz"] == (
        "the joint forces do not depend on link2.mcz: gravity is (0, 0, -9.81); with gravity along x or y it would show"
    )


@pytest.mark.slow
def test_every_number_a_symbol():
    """Offsets, gravity and inertias: the same combinations, now formulas."""
    found = qddot.load("arm7").equations("all").base_parameters()
    assert found.rank == 50
    combination, x = dict(zip(found.names, found.combinations)), letters(found)
    assert combination["link1.Izz"] == x("link1.Izz") + x("link2.Iyy")
    outer = x("link3.m") + x("link4.m") + x("link5.m") + x("link6.m") + x("link7.m")
    assert combination["link2.mcy"] == x("link2.mcy") - x("link3.mcz") + x("b3") * outer


@pytest.mark.slow
def test_turned_ninety_degrees_gravity_shows_more():
    robot = qddot.load("puma560")
    lying = robot.with_gravity((-9.81, 0, 0))
    assert lying.equations().base_parameters().rank == numeric_rank(lying) > numeric_rank(robot)


def test_floating_base_keeps_the_ten_numbers_of_the_first_link():
    robot = qddot.load("two_link").with_floating_base()
    eq = robot.equations()
    found = eq.base_parameters()
    assert found.rank == numeric_rank(robot) == 24
    assert found.regressor @ found.values == eq.tau
    assert not found.unidentifiable


def test_letters_of_every_kind():
    """Ball joints, followers, roots of sums, reciprocals, symbolic angles."""
    eq = every_letter()
    found = eq.base_parameters()
    assert found.regressor @ found.values == eq.tau
    assert found.rank == numeric_rank(Robot(eq.model).subs({"a": 0.7, "b": 1.3, "alpha": 0.4, "k": 0.6}))


@needs_robots
def test_ur5():
    robot = qddot.load(ROBOTS / "ur_description/urdf/ur5_robot.urdf")
    eq = robot.equations()
    found = eq.base_parameters()
    assert found.rank == numeric_rank(robot) == 36
    assert found.regressor @ found.values == eq.tau
    assert found.grouped["wrist_3_link.Izz"] == (
        "the column of wrist_3_link.Izz is a combination of those of wrist_2_link.Ixx, wrist_2_link.Izz, wrist_3_link.Ixx: "
        "what lies on the axis of wrist_3_joint, or is symmetric about it, may as well belong to wrist_2_link"
    )


@pytest.mark.slow
@needs_robots
def test_panda(tmp_path):
    """Seven hinges with the hand on them; and with the fingers moving, of which one follows the other."""
    source = ROBOTS / "panda_description/urdf/panda.urdf"
    fixed = tmp_path / "panda.urdf"
    fixed.write_text(
        source.read_text().replace('type="prismatic"', 'type="fixed"').replace('<mimic joint="panda_finger_joint1"/>', "")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm, hand = qddot.load(fixed), qddot.load(source)
    eq = arm.equations()
    found = eq.base_parameters()
    assert found.regressor @ found.values == eq.tau
    assert sum("viscous" not in name for name in found.names) == 43
    assert found.rank == numeric_rank(arm) == 50
    found = hand.equations().base_parameters()
    assert found.rank == numeric_rank(hand) == 56
    assert found.grouped["panda_finger_joint2.viscous"].endswith("viscous shows: their joints move together")


# the doctor -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gravity", "now"), [((0, 0, 0), "there is no gravity"), ((0, 0, -9.81), "gravity is (0, 0, -9.81)")])
def test_without_gravity_in_the_plane_a_mass_hides_behind_a_moment(gravity, now):
    eq = two_link(gravity)
    found = eq.identifiability(["Izz1", "Izz2", "m1", "m2"])
    assert found.rank == 3
    assert found.names == ("Izz1", "Izz2", "m2")
    assert found.combinations == [eq.read(x) for x in ("Izz1 + m1/16", "Izz2", "m2")]
    assert str(found) == (
        "3 combinations of 4 parameters (2 of them alone, 0 never)\n"
        "the columns of m1 and Izz1 are proportional, only Izz1 + 1/16*m1 shows: "
        f"{now}; with gravity along x or y they would separate"
    )


def test_with_gravity_in_the_plane_all_four_show():
    found = two_link((0, -9.81, 0)).identifiability(["Izz1", "Izz2", "m1", "m2"])
    assert found.rank == 4
    assert found.alone == found.names == ("Izz1", "Izz2", "m1", "m2")
    assert (found.grouped, found.unidentifiable) == ({}, {})


def test_what_never_enters():
    found = two_link((0, -9.81, 0)).identifiability(["Ixx1", "m2"])
    assert found.unidentifiable == {
        "Ixx1": "the joint forces do not depend on Ixx1: link1 turns about one axis only, and this is not the moment about it"
    }


def test_a_slider_never_turns_against_the_link_before():
    found = qddot.load("rp_arm", symbolic=True).equations().identifiability(["I1", "I2", "m2"])
    assert found.grouped == {
        "I2": "the columns of I2 and I1 are proportional, only I1 + I2 shows: "
        "slide slides on arm and never turns against it, so their moments of inertia add up"
    }


def test_a_rotor_turns_with_the_first_link():
    I, J = sympy.symbols("I J", positive=True)
    drive = qddot.Drive(gear_ratio=10, rotor_inertia=J)
    eq = qddot.Builder().body("arm", mass=1, tensor=(I, I, I), drive=drive).robot().equations()
    found = eq.identifiability(["I", "J"])
    assert found.grouped == {
        "J": "the columns of J and I are proportional, only I + 100*J shows: "
        "the rotor of arm_joint turns with the link, and both inertias are about the same axis"
    }


def test_proportions_may_be_formulas(rubbing):
    """Two masses at one place, and lengths that stay symbols."""
    a, b, M, N, g = sympy.symbols("a b M N g", positive=True)
    eq = qddot.Builder(gravity=(0, 0, -g)).body("one", mass=M + N * a / b, com=(1, 0, 0)).robot().equations()
    found = eq.identifiability(["N", "M"])
    assert found.names == ("N",)
    assert found.combinations.entries[0] * eq.read("a") == eq.read("a*N + b*M")
