"""Rotors as gyroscopes, coupled motors, and friction laws beyond Coulomb, in every quantity of a robot that feels them."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Drive, Inertia, ModelReferenceError, ModelValueError, Transmission

RNG = np.random.default_rng(5)
Q, QD, QDD = RNG.uniform(-1, 1, (3, 3))
N, JM, AXIS = 30.0, 4e-4, np.array([0.6, 0.0, 0.8])
BODIES = [Inertia.box(2.0, (0.3, 0.1, 0.2)).shifted((0.1, 0.05, -0.1)) for _ in range(3)]
ROWS = [(0.3, 0.7, 0.1, 0), (0.4, -1.1, 0, 0), (0.2, 0, 0.2, 0)]


def arm(*drives, **options):
    return qddot.from_dh(ROWS, inertias=BODIES, drives=[*drives, *[None] * (3 - len(drives))], **options)


def close(found, expected):
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def gyro():
    """A rotor on link 1 that drives joint 2, and one on the base that drives joint 1."""
    first = Drive(gear_ratio=N, rotor_inertia=JM, rotor_axis=(0, 0, 1))
    return arm(first, Drive(gear_ratio=-N, rotor_inertia=JM, rotor_axis=AXIS * 7))


@pytest.fixture(scope="module")
def spelled_out():
    """The same with the rotors as links of their own that follow the joints: thin discs without mass across the axis."""
    disc = Inertia(0.0, tensor=(0, 0, JM))
    builder = qddot.Builder()
    plain = arm().model
    for joint, link in zip(plain.joints, plain.links[1:]):
        builder.joints.append(joint)
        builder._links.append(link)
    builder.body("rotor1", axis="z", inertia=disc, mimic=("joint1", N, 0))
    tilt = (0, np.arctan2(AXIS[0], AXIS[2]), 0)
    builder.body("rotor2", "link1", axis="z", rpy=tilt, inertia=disc, mimic=("joint2", -N, 0))
    with pytest.warns(qddot.ModelWarning):
        return builder.robot()


QUANTITIES = {
    "mass_matrix": lambda r: r.mass_matrix(Q),
    "coriolis_matrix": lambda r: r.coriolis_matrix(Q, QD),
    "mass_matrix_rate": lambda r: r.mass_matrix_rate(Q, QD),
    "inverse_dynamics": lambda r: r.inverse_dynamics(Q, QD, QDD),
    "forward_dynamics": lambda r: r.forward_dynamics(Q, QD, QDD),
    "kinetic_energy": lambda r: r.kinetic_energy(Q, QD),
    "derivatives": lambda r: np.array(r.inverse_dynamics_derivatives(Q, QD, QDD)),
    "forward_derivatives": lambda r: np.array(r.forward_dynamics_derivatives(Q, QD, QDD)),
    "momentum": lambda r: r.momentum(Q, QD),
}


@pytest.mark.parametrize("quantity", QUANTITIES.values(), ids=QUANTITIES.keys())
def test_a_rotor_is_the_spinning_disc_it_stands_for(gyro, spelled_out, quantity):
    close(quantity(gyro), quantity(spelled_out))


def test_a_rotor_couples_joints_and_is_more_than_armature(gyro):
    plain, M = arm(), gyro.mass_matrix(Q)
    difference = M - plain.mass_matrix(Q)
    close(difference[1, 1], N**2 * JM)
    along = AXIS @ [0, np.sin(0.7), np.cos(0.7)]  # the rotor's axis along that of joint 1, both on link 1
    close(difference[0, 0], N**2 * JM + JM * along**2)
    close(difference[0, 1], -N * JM * along)


def test_lagrange_agrees(gyro):
    eq = gyro.equations()
    for i in range(3):
        L = eq.lagrangian
        assert L.diff(f"qd{i + 1}").dt() - L.diff(f"q{i + 1}") == eq.tau[i]


def test_the_regressor_has_the_rotors(gyro):
    names = gyro.parameter_names
    assert "joint1.rotor.inertia" in names
    assert "joint2.rotor.inertia" in names
    close(gyro.regressor(Q, QD, QDD) @ gyro.parameters(), gyro.inverse_dynamics(Q, QD, QDD))


# coupled motors ---------------------------------------------------------------------------------------------------------------

MATRIX = np.array([[50.0, 0, 0], [0, 40.0, -40.0], [0, 40.0, 40.0]])
MOTORS = [Drive(rotor_inertia=2e-4, viscous=1e-3, coulomb=0.02), Drive(rotor_inertia=1e-4, viscous=2e-3), None]


@pytest.fixture(scope="module")
def wrist():
    """A differential wrist: two motors drive the last two joints together."""
    return arm().with_transmission(Transmission(("joint1", "joint2", "joint3"), MATRIX, MOTORS, ("a", "b", "c")))


def test_reflected_inertia_is_a_full_matrix(wrist):
    J = np.diag([2e-4, 1e-4, 0])
    close(wrist.mass_matrix(Q) - arm().mass_matrix(Q), MATRIX.T @ J @ MATRIX)
    assert wrist.motor_names == ("a", "b", "c")
    assert_array_equal(wrist.transmission_matrix, MATRIX)


def test_friction_acts_at_the_motors(wrist):
    speed = MATRIX @ QD
    motor = np.array([1e-3, 2e-3, 0]) * speed + np.array([0.02, 0, 0]) * np.sign(speed)
    close(wrist.friction_torque(QD), MATRIX.T @ motor)
    close(wrist.inverse_dynamics(Q, QD, QDD) - wrist.friction_torque(QD) - arm().bias_torque(Q, QD), wrist.mass_matrix(Q) @ QDD)


def test_everything_agrees_with_everything(wrist):
    tau = wrist.inverse_dynamics(Q, QD, QDD)
    close(wrist.forward_dynamics(Q, QD, tau), QDD)
    close(wrist.regressor(Q, QD, QDD) @ wrist.parameters(), tau)
    assert [name for name in wrist.parameter_names if name[:2] in ("a.", "b.", "c.")] == [
        "a.inertia", "b.inertia", "a.viscous", "a.coulomb", "b.viscous",
    ]  # fmt: skip
    slope = wrist.inverse_dynamics_derivatives(Q, QD, QDD).dtau_dqd
    assert_allclose(slope, numeric(lambda v: wrist.inverse_dynamics(Q, v, QDD), QD), atol=1e-7)


def test_the_matrix_of_plain_drives_is_diagonal():
    assert_array_equal(arm(Drive(gear_ratio=10), Drive(gear_ratio=-5)).transmission_matrix, np.diag([10, -5, 1]))


def test_a_file_may_couple_motors(tmp_path):
    path = tmp_path / "wrist.toml"
    path.write_text("""
[[dh]]
inertia = {mass = 1, com = [0.1, 0, 0]}
[[dh]]
inertia = {mass = 1, com = [0.1, 0, 0]}
[[transmissions]]
joints = ["joint1", "joint2"]
matrix = [["k", 0], [-10, 10]]
motors = ["left", "right"]
drives = [{rotor_inertia = 1e-4}, {viscous = 0.1}]
""")
    robot = qddot.load(path)
    assert {str(s) for s in robot.symbols} == {"k"}
    numeric = robot.subs({"k": 20})
    assert numeric.motor_names == ("left", "right")
    assert_array_equal(numeric.transmission_matrix, [[20, 0], [-10, 10]])
    path.write_text(path.read_text().replace('"joint2"]', '"joint3"]'))
    with pytest.raises(ModelReferenceError, match=r"wrist.toml:\d+.*no joint 'joint3'"):
        qddot.load(path)


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ((("joint1",), [[1, 2]]), "one row a motor"),
        ((("joint1",), []), "one row a motor"),
        ((("joint1",), [["x"]]), "neither a number"),
        ((("joint1",), [[1]], [Drive(gear_ratio=2)]), "no gear ratio"),
        ((("joint1",), [[1]], [Drive(series_stiffness=100.0, rotor_inertia=1e-3)]), "no .* elastic gear"),
        ((("joint1",), [[1]], [None, None]), "one for each of 1 motors"),
    ],
)
def test_what_is_no_transmission(arguments, rule):
    with pytest.raises(ModelValueError, match=rule):
        Transmission(*arguments)


# friction laws ----------------------------------------------------------------------------------------------------------------

STRIBECK = Drive(viscous=0.2, coulomb=(0.5, 0.4), static=(0.9, 0.7), stribeck_velocity=0.1)
LOADED = Drive(viscous=0.2, coulomb=0.3, load_friction=0.15)


def numeric(f, x, h=1e-6):
    """Central differences."""
    return np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))], axis=-1)


@pytest.mark.parametrize("v", [1e-9, 0.05, 0.1, 2.0])
def test_stribeck(v):
    robot = arm(STRIBECK)
    close(robot.friction_torque([v, 0, 0])[0], 0.2 * v + 0.5 + 0.4 / (1 + (v / 0.1) ** 2))
    close(robot.friction_torque([-v, 0, 0])[0], -0.2 * v - 0.4 - 0.3 / (1 + (v / 0.1) ** 2))
    assert robot.friction_torque([0, 0, 0])[0] == 0


def test_static_friction_without_a_stribeck_velocity_is_for_standstill_only():
    assert_array_equal(arm(Drive(coulomb=0.5, static=0.9)).friction_torque([1e-12, 0, 0]), [0.5, 0, 0])


def test_friction_on_the_motor_side():
    motor = Drive(coulomb=0.01, static=0.02, stribeck_velocity=5.0, gear_ratio=-50, side="motor")
    joint = Drive(coulomb=0.5, static=1.0, stribeck_velocity=0.1)
    close(arm(motor).friction_torque(QD), arm(joint).friction_torque(QD))


def test_load_friction_by_its_definition():
    robot, plain = arm(LOADED, None, LOADED), arm()
    load = plain.inverse_dynamics(Q, QD, QDD)
    extra = np.array([1, 0, 1]) * (0.2 * QD + 0.3 * np.sign(QD) + 0.15 * abs(load) * np.sign(QD))
    close(robot.inverse_dynamics(Q, QD, QDD), load + extra)


@pytest.mark.parametrize("drives", [(STRIBECK, STRIBECK), (LOADED, LOADED, LOADED), (STRIBECK, LOADED)])
@pytest.mark.parametrize("method", ["aba", "crba"])
def test_forward_dynamics_undoes_inverse_dynamics(drives, method):
    robot = arm(*drives)
    for _ in range(20):
        q, qd, qdd = RNG.normal(size=(3, 3))
        close(robot.forward_dynamics(q, qd, robot.inverse_dynamics(q, qd, qdd), method=method), qdd)


@pytest.mark.parametrize("drives", [(STRIBECK, STRIBECK), (LOADED, LOADED, LOADED), (STRIBECK, LOADED)])
def test_derivatives(drives):
    robot = arm(*drives)
    found = robot.inverse_dynamics_derivatives(Q, QD, QDD)
    assert_allclose(found.dtau_dq, numeric(lambda x: robot.inverse_dynamics(x, QD, QDD), Q), atol=1e-7)
    assert_allclose(found.dtau_dqd, numeric(lambda x: robot.inverse_dynamics(Q, x, QDD), QD), atol=1e-7)
    assert_allclose(found.dtau_dqdd, numeric(lambda x: robot.inverse_dynamics(Q, QD, x), QDD), atol=1e-7)
    tau = robot.inverse_dynamics(Q, QD, QDD)
    found = robot.forward_dynamics_derivatives(Q, QD, tau)
    assert_allclose(found.dqdd_dq, numeric(lambda x: robot.forward_dynamics(x, QD, tau), Q), rtol=1e-5, atol=1e-6)
    assert_allclose(found.dqdd_dqd, numeric(lambda x: robot.forward_dynamics(Q, x, tau), QD), rtol=1e-5, atol=1e-6)
    assert_allclose(found.dqdd_dtau, numeric(lambda x: robot.forward_dynamics(Q, QD, x), tau), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("drive", [STRIBECK, LOADED, Drive(coulomb=0.2, static=0.5, stribeck_velocity=0.2)])
def test_the_regressor_has_the_friction(drive):
    robot = arm(drive, Drive(stiffness=2.0))
    for _ in range(5):
        q, qd, qdd = RNG.normal(size=(3, 3))
        close(robot.regressor(q, qd, qdd) @ robot.parameters(), robot.inverse_dynamics(q, qd, qdd))


def test_friction_takes_energy_away():
    robot = arm(STRIBECK, LOADED, Drive(viscous=1.0))
    for _ in range(50):
        q, qd, qdd = RNG.normal(size=(3, 3))
        lost = robot.inverse_dynamics(q, qd, qdd) - arm().inverse_dynamics(q, qd, qdd)
        assert (lost * qd >= 0).all()


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"coulomb": 0.5, "static": 0.3}, "less than the Coulomb friction"),
        ({"load_friction": 1.0}, "less than 1"),
        ({"load_friction": -0.1}, "not negative"),
        ({"stribeck_velocity": -1}, "not negative"),
        ({"rotor_axis": (0, 0, 0)}, "a direction"),
        ({"rotor_axis": (0, 1)}, "three numbers"),
        ({"torque_speed": (1.0,)}, "two positive numbers"),
        ({"torque_speed": (1.0, 0.0)}, "two positive numbers"),
        ({"static": (1, 2, 3)}, "a pair"),
    ],
)
def test_what_is_no_drive(values, rule):
    with pytest.raises(ModelValueError, match=rule):
        Drive(**values)


def test_load_friction_needs_a_load_of_its_own():
    builder = qddot.Builder().body("a", mass=1, com=(1, 0, 0))
    builder.body("b", "a", mass=1, com=(1, 0, 0), mimic="a_joint", drive=Drive(load_friction=0.1))
    with pytest.raises(ModelValueError, match="shares its load"):
        builder.robot()


def test_a_urdf_keeps_the_drive(tmp_path):
    drive = Drive(
        coulomb=(0.3, 0.2), static=0.5, stribeck_velocity=0.1, load_friction=0.05, rotor_axis=(1, 0, 0), torque_speed=(3, 40)
    )
    robot = arm(drive)
    robot.to_urdf(tmp_path / "arm.urdf")
    assert qddot.load(tmp_path / "arm.urdf").drives["joint1"] == robot.drives["joint1"]


def test_symbols_of_a_drive():
    fs, vs, mu = sympy.symbols("fs vs mu", positive=True)
    robot = arm(Drive(coulomb=0.1, static=fs, stribeck_velocity=vs, load_friction=mu))
    assert robot.symbols == {fs, vs, mu}
    close(
        robot.subs({fs: 0.4, vs: 0.2, mu: 0.1}).friction_torque(QD),
        arm(Drive(coulomb=0.1, static=0.4, stribeck_velocity=0.2)).friction_torque(QD),
    )


def test_the_motor_of_an_elastic_joint_turns_with_its_own_coordinate():
    drive = Drive(rotor_inertia=1e-3, series_stiffness=100.0, gear_ratio=50)
    robot = Builder().body("a", mass=1, com=(1, 0, 0), drive=drive).body("b", "a", mass=1, com=(1, 0, 0)).robot()
    assert robot.motor_names == ("a_joint", "b_joint")
    assert_allclose(robot.transmission_matrix, [[0, 0, 50], [0, 1, 0]])


def test_stribeck_friction_has_rates():
    """Against differences along the motion q(t) = sin t."""
    robot = arm(Drive(static=0.3, coulomb=0.2, stribeck_velocity=0.1))
    scale, at = np.array([0.5, 0.4, -0.3]), lambda t: scale[:, None] * [np.sin(t), np.cos(t), -np.sin(t), -np.cos(t), np.sin(t)]
    found, h = robot.torque_rates(*at(0.7).T), 1e-4
    tau = [robot.inverse_dynamics(*at(0.7 + s * h).T[:3]) for s in (-1, 0, 1)]
    close(found.tau, tau[1])
    assert_allclose(found.taud, (tau[2] - tau[0]) / (2 * h), atol=1e-6)
    assert_allclose(found.taudd, (tau[2] - 2 * tau[1] + tau[0]) / h**2, atol=1e-5)


def test_a_differential_at_rest_has_no_friction_of_rounding():
    robot = arm().with_transmission(Transmission(("joint2", "joint3"), [[5, -5]], [Drive(coulomb=1.0)]))
    for speed in np.linspace(0.1, 0.9, 33):
        assert_array_equal(robot.friction_torque([0, speed, speed]), 0)
        close(robot.friction_torque([0, speed + 1e-9, speed]), [0, 5, -5])


def test_friction_of_a_motor_with_unequal_ratios():
    """`N^T f(N qd)`, where each motor rubs by its own speed."""
    N = np.array([[50.0, 0.0], [30.0, -40.0]])
    drives = [Drive(viscous=2e-4, coulomb=3e-3), Drive(viscous=5e-4, coulomb=1e-3)]
    robot = qddot.load("two_link").with_transmission(Transmission(("joint1", "joint2"), N.tolist(), drives))
    for qd in np.array([[0.3, -0.7], [1.0, 0.1], [0.4, 0.9]]):
        speed = N @ qd
        motor = [2e-4, 5e-4] * speed + [3e-3, 1e-3] * np.sign(speed)
        assert_allclose(robot.friction_torque(qd), N.T @ motor, rtol=1e-13)
