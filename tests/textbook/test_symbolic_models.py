"""Robots whose masses, lengths and drives are still letters, and become numbers later."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal

import qddot

VALUES = {"m1": 0.9, "m2": 1.7, "L1": 0.6, "L2": 0.8}
m1, m2, L1, L2 = sympy.symbols("m1 m2 L1 L2", positive=True)
MOTION = np.random.default_rng(3).uniform(-1, 1, (3, 2))

TOML = """
gravity = [0, -9.81, 0]
[[dh]]
a = "L1"
inertia = {shape = "rod", mass = "m1", length = "L1", axis = "x", com = ["-L1/2", 0, 0]}
[[dh]]
a = "L2"
inertia = {shape = "rod", mass = "m2", length = "L2", axis = "x", com = ["-L2/2", 0, 0]}
"""


def by_table(m1, m2, L1, L2):
    inertias = [qddot.Inertia.rod(m, L, "x").shifted((-L / 2, 0, 0)) for m, L in ((m1, L1), (m2, L2))]
    return qddot.from_dh([(L1, 0, 0, 0), (L2, 0, 0, 0)], inertias=inertias, gravity=(0, -9.81, 0))


def by_screws(m1, m2, L1, L2):
    homes = [[[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]] for x in (L1, L1 + L2)]
    inertias = [qddot.Inertia.rod(m, L, "x").shifted((-L / 2, 0, 0)) for m, L in ((m1, L1), (m2, L2))]
    screws = [[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -L1, 0]]
    return qddot.from_screws(screws, homes, inertias=inertias, gravity=(0, -9.81, 0))


def by_builder(m1, m2, L1, L2):
    return (
        qddot.Builder(gravity=(0, -9.81, 0))
        .body("link1", inertia=qddot.Inertia.rod(m1, L1, "x").shifted((L1 / 2, 0, 0)))
        .body("link2", "link1", xyz=(L1, 0, 0), mass=m2, com=(L2 / 2, 0, 0), tensor=(0, m2 * L2**2 / 12, m2 * L2**2 / 12))
        .frame("tip", "link2", (L2, 0, 0))
        .robot()
    )


@pytest.fixture(params=[by_table, by_screws, by_builder])
def build(request):
    return request.param


def assert_same(robot, other):
    """The same geometry and dynamics."""
    q, qd, qdd = MOTION
    assert_allclose(robot.mass_matrix(q), other.mass_matrix(q), rtol=1e-13)
    assert_allclose(robot.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q, qd, qdd), rtol=1e-13)
    assert_allclose(robot.transform(q), other.transform(q), rtol=1e-13, atol=1e-15)


# symbols and their values -----------------------------------------------------------------------------------------------------


def test_symbols(build):
    assert build(m1, m2, L1, L2).symbols == {m1, m2, L1, L2}
    assert build(**VALUES).symbols == frozenset()
    assert build(m1, 1.0, 0.5, L2).symbols == {m1, L2}


def test_values_by_symbol_or_name_give_the_numeric_robot(build):
    symbolic, numeric = build(m1, m2, L1, L2), build(**VALUES)
    by_symbol = symbolic.subs({m1: 0.9, m2: 1.7, L1: 0.6, L2: 0.8})
    by_name = symbolic.subs(VALUES)
    assert by_symbol.symbols == by_name.symbols == frozenset()
    assert_same(by_symbol, numeric)
    assert_same(by_name, numeric)


def test_values_in_steps(build):
    symbolic = build(m1, m2, L1, L2)
    half = symbolic.subs({m1: 0.9, L2: 0.8})
    assert half.symbols == {m2, L1}
    assert_same(half.subs({"m2": 1.7, "L1": 0.6}), build(**VALUES))
    assert symbolic.symbols == {m1, m2, L1, L2}  # a robot never changes


def test_values_may_be_expressions(build):
    L = sympy.Symbol("L")
    equal = build(m1, m2, L1, L2).subs({L1: L, L2: 2 * L, m1: 1, m2: sympy.Rational(1, 2)})
    assert equal.symbols == {L}
    assert_same(equal.subs({L: 0.4}), build(1.0, 0.5, 0.4, 0.8))


def test_expressions_of_symbols():
    rho = sympy.Symbol("rho")
    robot = by_table(rho * L1, rho * L2, L1, L2)
    assert robot.symbols == {rho, L1, L2}
    assert_same(robot.subs({rho: 2.0, L1: 0.6, L2: 0.8}), by_table(1.2, 1.6, 0.6, 0.8))


def test_symbolic_angles_gravity_frames_and_drives():
    alpha, g, x, N, J = sympy.symbols("alpha g x N J")
    robot = qddot.from_dh(
        [(0.3, alpha, 0, 0), (0.2, 0, 0, sympy.pi / 2)],
        inertias=[qddot.Inertia.point(1.0), qddot.Inertia.point(2.0)],
        drives=[qddot.Drive(gear_ratio=N, rotor_inertia=J), None],
        gravity=(0, 0, -g),
    )
    assert robot.symbols == {alpha, g, N, J}
    numeric = robot.subs({alpha: 0.7, g: 9.81, N: 50, J: 1e-4})
    plain = qddot.from_dh(
        [(0.3, 0.7, 0, 0), (0.2, 0, 0, np.pi / 2)],
        inertias=[qddot.Inertia.point(1.0), qddot.Inertia.point(2.0)],
        drives=[qddot.Drive(gear_ratio=50, rotor_inertia=1e-4), None],
    )
    assert_same(numeric, plain)
    assert_array_equal(numeric.gravity, [0, 0, -9.81])

    framed = qddot.Builder().body("arm", mass=1.0).frame("tool", "arm", (x, 0, 0)).robot()
    assert framed.symbols == {x}
    assert framed.subs({x: 0.25}).transform([0.0], "tool")[0, 3] == 0.25


def test_numbers_made_of_sympy_are_numbers():
    robot = by_table(sympy.Rational(9, 10), sympy.Float(1.7), sympy.Rational(3, 5), sympy.sqrt(sympy.Rational(16, 25)))
    assert robot.symbols == frozenset()
    assert_same(robot, by_table(**VALUES))


# files ------------------------------------------------------------------------------------------------------------------------


def test_open_symbols_of_a_file(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(TOML)
    robot = qddot.load(path)
    assert {str(s) for s in robot.symbols} == set(VALUES)
    assert_same(robot.subs(VALUES), by_table(**VALUES))


def test_a_file_may_give_some_values(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text("values = {m1 = 0.9, L1 = 0.6}\n" + TOML)
    robot = qddot.load(path)
    assert {str(s) for s in robot.symbols} == {"m2", "L2"}
    assert_same(robot.subs({"m2": 1.7, "L2": 0.8}), by_table(**VALUES))


@pytest.mark.parametrize("name", ["two_link", "point_mass_2r", "rp_arm", "four_bar", "cart_pole", "acrobot"])
def test_catalog_robot_with_open_symbols(name):
    numeric, symbolic = qddot.load(name), qddot.load(name, symbolic=True)
    assert symbolic.symbols
    assert not numeric.symbols
    assert symbolic.joint_names == numeric.joint_names


def test_catalog_symbols_take_values():
    symbolic = qddot.load("point_mass_2r", symbolic=True)
    q = [0.3, 1.1]
    m1, m2, L1, L2 = VALUES.values()
    M12 = m2 * (L1 * L2 * np.cos(q[1]) + L2**2)
    M11 = m1 * L1**2 + m2 * (L1**2 + 2 * L1 * L2 * np.cos(q[1]) + L2**2)
    assert_allclose(symbolic.subs(VALUES).mass_matrix(q), [[M11, M12], [M12, m2 * L2**2]], rtol=1e-14)


# without values ---------------------------------------------------------------------------------------------------------------

CALLS = {
    "inverse_dynamics": lambda robot: robot.inverse_dynamics(*MOTION),
    "forward_dynamics": lambda robot: robot.forward_dynamics(*MOTION),
    "mass_matrix": lambda robot: robot.mass_matrix(MOTION[0]),
    "gravity_torque": lambda robot: robot.gravity_torque(MOTION[0]),
    "coriolis_matrix": lambda robot: robot.coriolis_matrix(*MOTION[:2]),
    "kinetic_energy": lambda robot: robot.kinetic_energy(*MOTION[:2]),
    "center_of_mass": lambda robot: robot.center_of_mass(MOTION[0]),
    "momentum": lambda robot: robot.momentum(*MOTION[:2]),
    "transform": lambda robot: robot.transform(MOTION[0]),
    "jacobian": lambda robot: robot.jacobian(MOTION[0]),
    "regressor": lambda robot: robot.regressor(*MOTION),
    "parameters": lambda robot: robot.parameters(),
    "friction_torque": lambda robot: robot.friction_torque(MOTION[1]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_no_number_without_values(call):
    robot = by_table(m1, 1.7, L1, 0.8)
    with pytest.raises(qddot.UnboundSymbolError, match=r"robot still holds the symbols L1, m1: give them values with robot\.subs"):
        call(robot)
    call(robot.subs({m1: 0.9, L1: 0.6}))


def test_only_the_symbols_still_open_are_named():
    with pytest.raises(qddot.UnboundSymbolError, match=r"the symbols m2: "):
        by_table(m1, m2, 0.6, 0.8).subs({m1: 1}).mass_matrix([0, 0])


def test_unknown_symbol_is_named_with_near_matches():
    with pytest.raises(qddot.UnknownNameError, match=r"no symbol 'm3': did you mean .*'m[12]'"):
        by_table(m1, m2, 0.6, 0.8).subs({"m3": 1})


def test_robot_shows_its_symbols():
    assert "symbols: L1, m1" in repr(by_table(m1, 1.7, L1, 0.8))
    assert "symbols" not in repr(by_table(**VALUES))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), sympy.zoo])
def test_values_are_finite(value):
    with pytest.raises(ValueError, match="finite"):
        by_table(m1, m2, L1, L2).subs({m1: value})


# values that arrive later are checked like those of a new description ---------------------------------------------------------


def test_a_symbolic_axis_is_made_unit_when_it_gets_values():
    a = sympy.Symbol("a", real=True)
    arm = qddot.Builder("arm").body("l", axis=(a, 0, 0), mass=1, com=(0, 1, 0)).robot()
    assert arm.subs({a: 2}).mass_matrix([0.3]) == pytest.approx(1.0)
    np.testing.assert_allclose(
        arm.subs({a: 2}).transform([0.3])[:3, :3] @ arm.subs({a: 2}).transform([0.3])[:3, :3].T, np.eye(3), atol=1e-15
    )
    with pytest.raises(qddot.ModelValueError):
        arm.subs({a: 0})


def test_substitution_is_simultaneous():
    a, b = sympy.symbols("a b", positive=True)
    arm = qddot.Builder("arm").body("l", mass=a, com=(0, b, 0)).robot()
    swapped = arm.subs({a: b, b: a}).subs({a: 2.0, b: 3.0})
    assert swapped.mass_matrix([0]) == pytest.approx(3.0 * 2.0**2)


@pytest.mark.parametrize("value", ["__import__('os').getcwd()", None, float("nan"), [1.0]])
def test_only_numbers_and_expressions_are_substituted(value):
    a = sympy.Symbol("a", real=True)
    arm = qddot.Builder("arm").body("l", mass=a).robot()
    with pytest.raises(qddot.ModelValueError):
        arm.subs({a: value})


def test_a_symbolic_follower_is_printed():
    k = sympy.Symbol("k", real=True)
    builder = qddot.Builder("pair").body("a", mass=1, com=(1, 0, 0))
    robot = builder.body("b", "a", mass=1, com=(1, 0, 0), mimic=qddot.Mimic("a_joint", k)).robot()
    assert "b_joint follows a_joint: k q + 0" in repr(robot)
