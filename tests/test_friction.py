"""The laws of friction: what a robot takes, against the formulas written out here; on paper, in C, and at other shafts."""

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
import qddot.formats.text
from qddot import Drive, ModelValueError
from qddot.model.details import WORDS
from qddot.model.friction import FRICTION, LAWS, NAMES, SETTLED, ShaftFriction, smooth_step
from qddot.symbolic.exact.exact_model import MOMENTS, OFFSETS, symbols_of
from tests.compile.test_c_export import built, needs_compiler
from tests.fields import FiftyDigits

V = np.concatenate([np.geomspace(1e-6, 30, 40), -np.geomspace(1e-6, 30, 40), [0.0]])
W = 0.05


def step(v, w):
    return v / (w**4 + v**4) ** 0.25 if w else np.sign(v)


def each_way(v, positive, negative):
    return np.where(v > 0, positive, negative)


CASES = {
    "viscous": (Drive(viscous=0.3), lambda v: 0.3 * v),
    "viscous each way": (Drive(viscous=(0.3, 0.1)), lambda v: each_way(v, 0.3, 0.1) * v),
    "quadratic": (Drive(viscous_quadratic=0.2), lambda v: 0.2 * v * abs(v)),
    "cubic": (Drive(viscous_cubic=0.01), lambda v: 0.01 * v**3),
    "coulomb": (Drive(coulomb=(0.5, 0.2)), lambda v: each_way(v, 0.5, 0.2) * np.sign(v)),
    "smoothed": (Drive(coulomb=(0.5, 0.2), smoothing_velocity=W), lambda v: each_way(v, 0.5, 0.2) * step(v, W)),
    "offset": (Drive(offset=-0.7), lambda v: -0.7 + 0 * v),
    "stribeck": (
        Drive(coulomb=0.5, static=(0.9, 0.8), stribeck_velocity=0.1),
        lambda v: (0.5 + each_way(v, 0.4, 0.3) / (1 + (v / 0.1) ** 2)) * np.sign(v),
    ),
    "all": (
        Drive(viscous=0.1, coulomb=0.5, static=0.9, stribeck_velocity=0.1, smoothing_velocity=W, offset=0.2, viscous_cubic=0.01),
        lambda v: 0.1 * v + (0.5 + 0.4 / (1 + (v / 0.1) ** 2)) * step(v, W) + 0.2 + 0.01 * v**3,
    ),
}
every_case = pytest.mark.parametrize("name", CASES)


def wheel(drive, **options):
    return qddot.Builder(gravity=(0, 0, 0)).body("wheel", mass=1.0, tensor=(0.1, 0.1, 0.2), drive=drive, **options).robot()


@every_case
def test_kernels(name):
    drive, law = CASES[name]
    assert_allclose(wheel(drive).friction_torque(V[:, None])[:, 0], law(V), rtol=1e-13, atol=1e-13)


@every_case
def test_closed_form(name):
    drive, law = CASES[name]
    friction = wheel(drive).equations().friction_torque
    assert_allclose(friction.lambdify()(np.zeros((len(V), 1)), V[:, None])[:, 0], law(V), rtol=1e-12, atol=1e-12)


@every_case
def test_a_motor_of_two_joints(name):
    """It turns with a sum of rates, whose sign is a letter of its own on paper."""
    drive, law = CASES[name]
    arm = qddot.Builder(gravity=(0, 0, 0)).body("a", mass=1.0, tensor=(0.1, 0.1, 0.2))
    arm = arm.body("b", "a", mass=1.0, tensor=(0.1, 0.1, 0.2)).robot()
    robot = arm.with_transmission(qddot.Transmission(arm.joint_names, [[1, 2]], drives=[drive], motors=["m"]))
    qd = np.stack([V, np.full(len(V), 0.3)], axis=-1)
    felt = law(qd @ [1, 2])[:, None] * [1, 2]
    assert_allclose(robot.friction_torque(qd), felt, rtol=1e-12, atol=1e-12)
    assert_allclose(robot.equations().friction_torque.lambdify()(np.zeros_like(qd), qd), felt, rtol=1e-11, atol=1e-11)


@every_case
def test_slope(name):
    """Against a difference with 50 digits, away from rest."""
    drive, field = CASES[name][0], FiftyDigits()
    friction = drive.at_joint.friction
    exact = friction.map(field.constant)
    v, h = field.context.mpf("0.08"), field.context.mpf("1e-20")
    ahead, back = (exact.at(field, v + d, None, friction).torque() for d in (h, -h))
    slope = wheel(drive).inverse_dynamics_derivatives([0.0], [0.08], [0.0]).dtau_dqd
    assert_allclose(slope, [[float((ahead - back) / (2 * h))]], rtol=1e-12)


@every_case
def test_regressor(name):
    drive, law = CASES[name]
    robot = wheel(drive)
    Y = robot.regressor(np.zeros((len(V), 1)), V[:, None], np.zeros((len(V), 1)))
    assert_allclose((Y @ robot.parameters())[:, 0], law(V), rtol=1e-12, atol=1e-12)
    assert {name.rpartition(".")[2] for name in robot.parameter_names[10:]} <= set(NAMES)


@every_case
@pytest.mark.parametrize("ratio", [4.0, -4.0])
def test_a_follower_feels_the_same_at_its_leader(name, ratio):
    """What a joint takes at `ratio` times the speed, times the ratio: the power is the same."""
    drive, law = CASES[name]
    shaft = drive.friction.geared(ratio)
    found = np.array([float(shaft.at(FiftyDigits(), float(v)).torque()) for v in V])
    assert_allclose(found, ratio * law(ratio * V), rtol=1e-12, atol=1e-12)


@every_case
def test_on_the_motors_side(name):
    drive, law = CASES[name]
    robot = wheel(replace(drive, gear_ratio=7.0, side="motor"))
    assert_allclose(robot.friction_torque(V[:, None])[:, 0], 7 * law(7 * V), rtol=1e-12, atol=1e-12)


@needs_compiler
@every_case
def test_c(name, tmp_path):
    """Exported C passes its own test, and follows the law."""
    drive, law = CASES[name]
    wheel(drive).export_c(tmp_path, ["friction_torque", "inverse_dynamics", "regressor"], name="wheel")
    library = ctypes.CDLL(str(built(tmp_path, "wheel")))
    found = np.zeros(1)
    for v, expected in zip(V, law(V)):
        library.wheel_friction_torque(*(ctypes.c_void_p(x.ctypes.data) for x in (np.array([v]), found)))
        assert found[0] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@every_case
def test_files(name, tmp_path):
    """TOML and URDF say every law."""
    robot = wheel(CASES[name][0])
    robot.to_toml(tmp_path / "wheel.toml")
    robot.to_urdf(tmp_path / "wheel.urdf")
    for file in ("wheel.toml", "wheel.urdf"):
        assert qddot.load(tmp_path / file).drives == robot.drives


def test_load_friction_is_smoothed_too():
    drive = Drive(load_friction=0.2, smoothing_velocity=W)
    robot = qddot.Builder().body("arm", mass=2.0, com=(0.3, 0, 0), axis="y", drive=drive).robot()
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 50, 1))
    load = replaced(robot).inverse_dynamics(q, qd, qdd)
    assert_allclose(robot.inverse_dynamics(q, qd, qdd), load + 0.2 * abs(load) * step(qd, W), rtol=1e-12)
    assert_allclose(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd)), qdd, rtol=1e-10)
    tau = robot.inverse_dynamics(q, qd, qdd)
    back, ahead = (robot.forward_dynamics(q, qd + d, tau) for d in (-1e-6, 1e-6))
    slopes = robot.forward_dynamics_derivatives(q, qd, tau).dqdd_dqd[..., 0]
    assert_allclose(slopes, (ahead - back) / 2e-6, rtol=1e-6, atol=1e-6)
    back, ahead = (robot.inverse_dynamics(q, qd + d, qdd) for d in (-1e-6, 1e-6))
    assert_allclose(robot.inverse_dynamics_derivatives(q, qd, qdd).dtau_dqd[..., 0], (ahead - back) / 2e-6, rtol=1e-6, atol=1e-6)


def replaced(robot):
    from qddot.simulate.friction import without_dry_friction

    drives = {name: replace(drive, smoothing_velocity=0.0) for name, drive in robot.drives.items()}
    joints = [replace(joint, drive=drives.get(joint.name)) for joint in robot.model.joints]
    return without_dry_friction(type(robot)(robot.model.copy(joints=joints)))


def test_the_smoothed_step_is_nearly_a_sign():
    assert smooth_step(SETTLED, 1.0) > 0.995
    assert 0 < 1 - smooth_step(100.0, 1.0) < 1e-8
    assert smooth_step(1e-9, 1.0) == pytest.approx(1e-9)


def test_smoothed_friction_does_not_stick():
    """On a slope it creeps, at the speed at which the step balances the weight; a hard step holds."""
    block = lambda **drive: (  # noqa: E731
        qddot.Builder().body("block", joint="prismatic", axis="x", mass=1.0, drive=Drive(coulomb=4.0, **drive)).robot()
    )
    creeping = block(smoothing_velocity=0.01).simulate([0.0], None, 2.0, torque=[2.0], step=1e-3)
    held = block().simulate([0.0], None, 2.0, torque=[2.0], step=1e-3)
    assert not held.qd.any()
    speed = creeping.qd[-1, 0]
    assert 4.0 * step(speed, 0.01) == pytest.approx(2.0, rel=1e-9)


def test_every_law_has_a_field_and_a_name():
    assert {law.name for law in LAWS} <= set(ShaftFriction.__dataclass_fields__)
    assert len(set(NAMES)) == len(NAMES)


def test_a_variable_that_does_nothing_is_refused():
    robot = wheel(Drive(coulomb=1.0, smoothing_velocity=W)).with_variable("wheel_joint.static")
    with pytest.raises(
        ModelValueError, match=r"static='a variable': smoothed friction holds nothing at rest \(give stribeck_velocity"
    ):
        robot.inverse_dynamics([0.0], [1.0], [0.0])


def test_symbols_in_every_law():
    names = "b b2 b3 Fc Fs vs w mu F0"
    b, b2, b3, Fc, Fs, vs, w, mu, F0 = symbols = sympy.symbols(names, positive=True)
    drive = Drive(b, Fc, static=Fs, stribeck_velocity=vs, viscous_quadratic=b2, viscous_cubic=b3, smoothing_velocity=w)
    drive = replace(drive, load_friction=mu, offset=F0)
    values = dict(zip(symbols, (0.3, 0.2, 0.1, 0.5, 0.9, 0.1, 0.05, 0.2, -0.3)))
    assert all(getattr(drive, key) for key in FRICTION)
    robot = qddot.Builder().body("arm", mass=2.0, com=(0.3, 0, 0), axis="y", drive=drive).robot()
    q, qd, qdd = [0.3], [0.07], [1.1]
    expected = robot.subs(values).inverse_dynamics(q, qd, qdd)
    assert_allclose(robot.equations().tau.evaluate(q, qd, qdd, parameters=values), expected, rtol=1e-12)
    slope = robot.subs(values).inverse_dynamics_derivatives(q, qd, qdd).dtau_dqd[0]
    assert_allclose(robot.equations().tau.diff("qd1").evaluate(q, qd, qdd, parameters=values), slope, rtol=1e-11)


@pytest.mark.parametrize("method", ["lagrange", "jacobian", "newton-euler"])
@pytest.mark.parametrize(
    "given",
    [
        {"coulomb": "Fc", "static": "Fs"},
        {"coulomb": "Fc", "static": "Fs", "stribeck_velocity": "vs"},
        {"load_friction": "mu"},
        {"coulomb": "Fc", "smoothing_velocity": "w", "offset": "F0", "viscous_quadratic": "b2"},
    ],
    ids=["static", "Stribeck", "load", "smoothed"],
)
def test_symbolic_friction_is_derived(given, method):
    drive = Drive(**{key: sympy.Symbol(name, positive=True) for key, name in given.items()})
    m, L = sympy.symbols("m L", positive=True)
    robot = qddot.Builder().body("arm", mass=m, com=(L, 0, 0), axis="y", drive=drive).robot()
    found = robot.derive(method)
    assert found.equations.tau == robot.equations().tau
    assert all(x in found.latex() for x in ("F_{c}",) if "coulomb" in given)


def test_a_robot_that_no_numbers_make_is_refused_in_words():
    F = sympy.Symbol("F", positive=True)
    robot = wheel(Drive(coulomb=F, static=F / 2))
    with pytest.raises(qddot.InputError, match=r"none were found that make a robot .*less than the Coulomb friction"):
        robot.derive()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"viscous": (0.1, 0.2, 0.3)}, "viscous='(0.1, 0.2, 0.3)': one number or a pair"),
        ({"viscous_quadratic": -1}, "viscous_quadratic='-1.0': .*not negative"),
        ({"smoothing_velocity": -1}, "smoothing_velocity='-1.0'"),
        ({"offset": float("nan")}, "offset='nan': nan is not a finite number"),
        ({"coulomb": 1, "static": 2, "smoothing_velocity": 0.1}, "static='2.0': smoothed friction holds nothing at rest"),
    ],
)
def test_what_is_no_friction(given, message):
    with pytest.raises(ModelValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        Drive(**given)


def test_every_law_has_letters_of_its_own():
    """Two constants with one letter would become one in closed forms."""
    directions = (1, 1), (1, 2)
    letters = [x for law in LAWS if law.symbol for x in sorted({x for values in directions for x in symbols_of(law, values)})]
    letters += [*OFFSETS, *MOMENTS, "J", "k", "rest"]
    assert len(set(letters)) == len(letters)


def test_every_key_is_shown_and_described():
    page = (Path(__file__).parents[1] / "docs" / "describe.md").read_text(encoding="utf-8")
    for key in FRICTION:
        assert key in WORDS
        assert f"`{key}`" in page
        assert key in str(qddot.formats.text.__doc__)
        assert key in str(Drive.__doc__)
