"""Friction that depends on a sign: of a joint's rate, of the rate of a motor that turns several joints, of a load."""

import copy
import pickle
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot import Drive, Inertia, InputError, Transmission
from qddot.symbolic.exact.ring import NotPolynomialError
from qddot.symbolic.form import Form
from qddot.symbolic.printing.presentation import Presentation, Style
from tests.symbolic.rebuilt import rebuilt
from tests.symbolic.test_code import needs_compiler, run_c, run_python
from tests.symbolic.well_formed import assert_well_formed

LINK = Inertia(1.0, (-0.1, 0, 0.02), np.diag([0.01, 0.02, 0.03]))
DRY = Drive(rotor_inertia=0.01, viscous=0.1, coulomb=(0.5, 0.4))
STRIBECK = Drive(coulomb=(0.5, 0.4), static=(0.9, 0.7), stribeck_velocity=3)
SMOOTHED = replace(STRIBECK, smoothing_velocity=0.5, viscous_quadratic=0.1)
JOINTS = ("joint1", "joint2", "joint3")


def arm(*drives):
    rows = [(0.3, np.pi / 2, 0, 0), (0.2, 0, 0, 0), (0.1, 0.3, 0, 0)]
    return qddot.from_dh(rows, inertias=[LINK] * 3, drives=[*drives, *[None] * (3 - len(drives))])


def coupled(rows, motors, *drives):
    return arm(*drives).with_transmission(Transmission(JOINTS, rows, motors))


ROBOTS = {
    "one joint": lambda: coupled([(-10, 0, 0)], [DRY]),
    "several joints": lambda: coupled([(0, 8, -8), (0, 4, 2), (0, -0.5, 0.5)], [DRY, Drive(coulomb=0.3), Drive(coulomb=0.1)]),
    "beside drives": lambda: coupled([(3, 0, 0), (1, 2, 3)], [DRY, DRY], Drive(coulomb=(0.2, 0.3)), Drive(viscous=0.1)),
    "Stribeck": lambda: coupled([(10, 0, 0), (0, 8, -8)], [STRIBECK, STRIBECK]),
    "load": lambda: arm(Drive(load_friction=0.2), None, Drive(coulomb=(0.3, 0.1), viscous=0.1, load_friction=0.15, stiffness=2)),
    "load and Stribeck": lambda: arm(None, Drive(coulomb=0.4, static=0.7, stribeck_velocity=0.3, load_friction=0.1)),
    "load behind a spring": lambda: arm(None, Drive(rotor_inertia=0.1, series_stiffness=10, coulomb=0.1, load_friction=0.2)),
    "polynomial": lambda: arm(Drive(viscous=(0.3, 0.1), viscous_quadratic=0.2, viscous_cubic=0.1), Drive(offset=-0.4, viscous=0.1)),
    "smoothed": lambda: arm(Drive(coulomb=(0.5, 0.4), smoothing_velocity=0.3, offset=0.1), Drive(coulomb=1, smoothing_velocity=2)),
    "all smoothed": lambda: arm(SMOOTHED, None, replace(SMOOTHED, load_friction=0.1)),
    "smoothed motors": lambda: coupled([(10, 0, 0), (0, 8, -8)], [SMOOTHED, replace(DRY, smoothing_velocity=2)], SMOOTHED),
    "load beside motors": lambda: coupled([(5, -5, 0)], [DRY], Drive(load_friction=0.1)),
}
every_robot = pytest.mark.parametrize("name", ROBOTS)


@cache
def robot(name):
    return ROBOTS[name]()


@cache
def equations(name):
    return robot(name).equations()


def states(name):
    """Any, both ways round, at rest, and with shafts at rest whose joints are not (at speeds of few bits: no product rounds)."""
    n = robot(name).nv
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 6, n))
    rest = np.zeros((3, n))
    rest[1, :3], rest[2, :3] = 0.25, (1.0, 1.0, -2.0)
    return np.concatenate([q, q, q[:3]]), np.concatenate([qd, -qd, rest]), np.concatenate([qdd, -qdd, qdd[:3]])


def close(found, expected):
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# the same as the compiled quantities ------------------------------------------------------------------------------------------


@every_robot
def test_joint_forces(name):
    r, e = robot(name), equations(name)
    for state in zip(*states(name)):
        expected = r.inverse_dynamics(*state)
        close(e.tau.evaluate(*state), expected)
        close(np.array(e.tau.evaluate(*state, digits=30), dtype=float), expected)
        close(e.friction_torque.evaluate(*state[:2]), r.friction_torque(state[1]))


@every_robot
def test_many_states_at_once(name):
    expected = robot(name).inverse_dynamics(*states(name))
    close(equations(name).tau.lambdify()(*states(name)), expected)
    close(run_python(equations(name).tau, *states(name)), expected)


@every_robot
def test_regressor(name):
    r = robot(name)
    Y, remainder, names = equations(name).regressor()
    assert names == tuple(r.parameter_names)
    assert not remainder
    close(Y.lambdify()(*states(name)), r.regressor(*states(name)))


@every_robot
def test_derivatives(name):
    tau, state = equations(name).tau, next(zip(*states(name)))
    slopes = robot(name).inverse_dynamics_derivatives(*state)
    for letter, expected in zip(("q", "qd", "qdd"), slopes):
        found = [tau.diff(f"{letter}{k + 1}").evaluate(*state) for k in range(robot(name).nv)]
        assert_allclose(np.transpose(found), expected, rtol=1e-11, atol=1e-11)


@every_robot
def test_with_symbols_for_numbers(name):
    close(robot(name).equations("inertial").tau.lambdify()(*states(name)), robot(name).inverse_dynamics(*states(name)))


# round trips ------------------------------------------------------------------------------------------------------------------


@every_robot
def test_sympy_is_exact(name):
    e = equations(name)
    tops = Form(e, [getattr(x, "num", x) for x in e.tau.entries])
    assert Form(e, [e.read(x) for x in tops.sympy()]) == tops
    letters = [sympy.symbols(f"{x}1:{e.nv + 1}", real=True) for x in ("q", "qd", "qdd")]
    f = sympy.lambdify(letters, list(e.tau.sympy()))
    for state in zip(*states(name)):
        close(f(*state), robot(name).inverse_dynamics(*state))


@needs_compiler
@every_robot
def test_c(name, tmp_path):
    for k, state in enumerate(zip(*(x[-4:] for x in states(name)))):
        (tmp_path / str(k)).mkdir()
        close(run_c(equations(name).tau, state, [], tmp_path / str(k)), robot(name).inverse_dynamics(*state))


@every_robot
def test_what_is_printed_is_what_is_meant(name):
    e = equations(name)
    presentation = Presentation(e, Style())
    assert all(rebuilt(presentation, presentation.entry(x)) == x for x in e.tau.entries)
    assert_well_formed(e.tau.latex())
    ElementTree.fromstring(e.tau.mathml())


@every_robot
def test_copies(name):
    state = next(zip(*states(name)))
    for other in (pickle.loads(pickle.dumps(equations(name))), copy.deepcopy(equations(name))):
        assert other.tau == equations(name).tau
        close(other.tau.evaluate(*state), robot(name).inverse_dynamics(*state))


# on paper ---------------------------------------------------------------------------------------------------------------------


def test_a_motor_of_one_joint_turns_as_the_joint():
    e = coupled([(-10, 0, 0)], [Drive(coulomb=(0.5, 0.3))]).equations()
    assert e.friction_torque[0] == e.read("4*sign_qd1 - sign_qd1**2")
    assert not e.notes


def test_a_motor_of_several_joints_has_a_letter():
    e = coupled([(0, 8, -8), (0, -1, 1)], [Drive(coulomb=0.5), Drive(coulomb=1)]).equations()
    f = e.friction_torque
    assert f.text() == "[0, 5*sign(qd2 - qd3), -5*sign(qd2 - qd3)]"
    assert f[1].latex() == r"5 \operatorname{sign}\left(\dot{q}_{2} - \dot{q}_{3}\right)"
    assert f[1].python().splitlines()[-2].endswith("= 5*np.sign(qd2 - qd3)")
    assert f[1].c().splitlines()[-3].endswith("= 5.0*((qd2 - qd3 > 0.0) - (qd2 - qd3 < 0.0));")
    assert f[1] == e.read(5 * sympy.sign(sympy.Symbol("qd2") - sympy.Symbol("qd3")))
    assert "sign(qd2 - qd3): kept" in e.notes[0]


def test_a_load_is_written_by_its_name():
    mu = sympy.Symbol("mu", positive=True)
    e = arm(Drive(load_friction=mu)).equations()
    lost = e.tau - e.load_torque
    assert lost.text() == "[mu*sign(qd1)*abs(load1), 0, 0]"
    assert lost[0].latex() == r"\mu \operatorname{sign}\left(\dot{q}_{1}\right) \left|\mathrm{load}_{1}\right|"
    assert e.load_torque == e.M @ e.qdd + e.c + e.g
    assert e.regressor(["mu"]).Y[0].text() == "[sign(qd1)*abs(load1)]"
    assert e.notes[0] == "load1: the force on 'joint1' without friction, load_torque[0]"


def test_a_load_that_is_always_zero():
    with pytest.warns(qddot.ModelWarning):
        r = qddot.Builder().body("a", mass=0, drive=Drive(load_friction=0.1, coulomb=0.2)).robot()
    assert r.equations().tau.text() == "[0.2*sign(qd1)]"


# symbols --------------------------------------------------------------------------------------------------------------------


N, K = sympy.Symbol("N", positive=True), sympy.Symbol("K", negative=True)
R = sympy.Symbol("R", real=True)
VALUES = {"N": 3.0, "K": -2.0, "R": -1.5}


@pytest.mark.parametrize(
    ("row", "sign"),
    [
        ((N, 0, 0), "sign(qd1)"),
        ((K, 0, 0), "sign(qd1)"),
        ((R, 0, 0), "sign(R*qd1)"),
        ((0, N, -N), "sign(qd2 - qd3)"),
        ((0, N, K), "sign(N*qd2 + K*qd3)"),
        ((0, 1 / N, 2 / N), "sign(qd2 + 2*qd3)"),
        ((0, sympy.sqrt(2) * N, sympy.sqrt(2) * N), "sign(qd2 + qd3)"),
        ((0, N**2 + 1, 0), "sign((1 + N**2)*qd2)"),
    ],
)
def test_gear_ratios_that_are_symbols(row, sign):
    r = coupled([row], [Drive(coulomb=(0.5, 0.3))])
    e = r.equations()
    assert sign in e.friction_torque.text()
    values = {s: VALUES[s.name] for s in r.symbols}
    known = r.subs(values)
    for state in zip(*states("one joint")):
        close(e.tau.evaluate(*state, parameters=values), known.inverse_dynamics(*state))


def test_what_is_not_linear():
    m, mu = sympy.symbols("m mu", positive=True)
    e = qddot.Builder().body("a", mass=m, com=(1, 0, 0), drive=Drive(load_friction=mu)).robot().equations()
    with pytest.raises(InputError, match=r"tau_1 is not linear in m: it contains sign\(load1\)"):
        e.regressor(["m"])
    Y, remainder, _ = e.regressor(["mu"])
    assert Y @ [e.read("mu")] + remainder == e.tau


def test_letters_inside_a_sign_are_replaced():
    e = coupled([(0, 8, -8)], [Drive(coulomb=0.5)], None, Drive(coulomb=0.1)).equations()
    f = e.friction_torque
    assert f.subs({"qd3": 0}).text() == "[0, 4.1*sign(qd2), -4*sign(qd2)]"
    assert f[2].subs({"qd2": "2*qd3", "qd3": "2*qd2"}).text() == "4*sign(qd2 - qd3)"
    assert f.subs({"qd2": 1, "qd3": 3}) == [0, -sympy.Rational(39, 10), 4]
    with pytest.raises(InputError, match=r"friction depends on sign\(qd2 - qd3\), and these equations have no letter"):
        f.subs({"qd3": "q1"})
    loaded = arm(Drive(load_friction=0.2)).equations()
    assert loaded.tau.subs({"qd1": 0, "qd2": 0}) == loaded.load_torque.subs({"qd1": 0, "qd2": 0})
    with pytest.raises(InputError, match=r"friction depends on sign\(load1\)"):
        loaded.tau.subs({"q2": 0})


def test_signs_that_no_letter_has():
    e = equations("one joint")
    with pytest.raises(NotPolynomialError, match=r"the sign of qd1 \+ qd2 is no letter of these equations"):
        e.read(sympy.sign(sympy.Symbol("qd1") + sympy.Symbol("qd2")))
