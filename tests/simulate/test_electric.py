"""Motors under voltage: against closed forms, and their balance of energy; and that of every other drive."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Drive, Inertia, InputError, ModelValueError, Transmission

R, L, K, N, JM = 2.0, 4e-3, 0.05, 50.0, 2e-5
MOTOR = Drive(gear_ratio=N, rotor_inertia=JM, resistance=R, inductance=L, torque_constant=K, viscous=0.1)


def wheel(drive=MOTOR):
    return qddot.Builder(gravity=(0, 0, 0)).body("wheel", mass=1.0, tensor=(0.1, 0.1, 0.05), drive=drive).robot()


def arm(*drives):
    link = Inertia(1.0, (-0.1, 0, 0.02), np.diag([0.01, 0.02, 0.03]))
    return qddot.from_dh(
        [(0.3, np.pi / 2, 0, 0), (0.2, 0, 0, 0)], inertias=[link] * 2, drives=[*drives, *[None] * (2 - len(drives))]
    )


def test_a_motor_that_starts():
    """Speed and current of the linear system, in closed form."""
    from scipy.linalg import expm

    I = 0.05 + N**2 * JM
    A = np.array([[-0.1 / I, N * K / I], [-N * K / L, -R / L]])
    settled = np.linalg.solve(A, [0, -12.0 / L])
    motion = wheel().simulate([0.0], None, 0.3, voltage=[12.0], step=1e-4)
    expected = np.array([settled - expm(A * t) @ settled for t in motion.t])
    assert_allclose(motion.qd[:, 0], expected[:, 0], rtol=1e-7, atol=1e-8)
    assert_allclose(motion.current[:, 0], expected[:, 1], rtol=1e-6, atol=1e-6)


def test_a_motor_without_inductance():
    """`tau = N k (u - k N qd) / R`: a first-order lag."""
    motion = wheel().simulate([0.0], None, 0.5, voltage=[12.0], electric="reduced", step=1e-3)
    I, b = 0.05 + N**2 * JM, 0.1 + (N * K) ** 2 / R
    expected = N * K * 12.0 / R / b * (1 - np.exp(-b / I * motion.t))
    assert_allclose(motion.qd[:, 0], expected, rtol=1e-7, atol=1e-9)
    assert_allclose(motion.current[:, 0], (12.0 - K * N * motion.qd[:, 0]) / R)
    assert abs(motion.energy_residual).max() < 1e-6 * abs(motion.electrical_power).max()
    assert not motion.magnetic_energy.any()
    moves = K * N * motion.qd[:, 0] * motion.current[:, 0]  # the rest of the power is heat
    assert_allclose(motion.heat, motion.electrical_power - moves, atol=1e-12 * motion.heat.max())


def test_the_full_motion_goes_over_into_the_reduced_one():
    from dataclasses import replace

    reduced = wheel().simulate([0.0], None, 0.3, voltage=[12.0], electric="reduced", step=1e-3)
    full = wheel(replace(MOTOR, inductance=1e-7)).simulate([0.0], None, 0.3, voltage=[12.0], method="Radau", step=1e-3)
    assert_allclose(full.qd, reduced.qd, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["rk4", pytest.param("DOP853", marks=pytest.mark.slow)])
def test_energy_of_an_arm_under_voltage(method):
    """Electrical power in is mechanical energy, heat, friction and magnetic energy, to the order of the method."""

    def voltage(t, q, qd):
        assert q.shape[-1] == 2  # nothing is seen of charges
        return [6 * np.sin(5 * t), 2 * np.cos(3 * t)]

    robot = arm(MOTOR, Drive(gear_ratio=-30, rotor_inertia=JM, resistance=1.0, inductance=2e-3, torque_constant=0.03))
    motions = [robot.simulate([0.3, 0.2], None, 0.5, voltage=voltage, method=method, step=h) for h in (4e-4, 2e-4)]
    errors = [abs(m.energy_residual).max() / abs(m.electrical_power).max() for m in motions]
    assert errors[1] < 1e-7
    assert motions[0].magnetic_energy.max() > 0
    if method == "rk4":
        assert errors[1] < errors[0] / 8


@pytest.mark.parametrize("method", ["DOP853", pytest.param("Radau", marks=pytest.mark.slow)])
def test_the_balance_is_that_of_the_motion_and_not_of_its_samples(method):
    """Samples ten time constants of the circuits apart; voltages and other joint forces that are held, too."""
    from dataclasses import replace

    robot = wheel(replace(MOTOR, viscous=0.0))
    table = 5 * np.sin(np.arange(11))[:, None]
    for voltage, torque in (([12.0], None), (lambda t, q, qd: [9 * np.cos(80 * t)], None), (table, -0.1 * table)):
        motion = robot.simulate(
            [0.0], None, np.linspace(0, 0.2, 11), voltage=voltage, torque=torque, method=method, rtol=1e-10, atol=1e-10
        )
        assert abs(motion.energy_residual).max() < 1e-7 * abs(motion.electrical_power).max()
        assert abs(motion[3:].energy_residual).max() < 1e-7 * abs(motion.electrical_power).max()


def test_currents_of_a_batch_of_robots():
    """Inertial parameters that differ, with currents as states and without."""
    masses = [1.0, 2.0]
    built = [
        qddot.Builder(gravity=(0, -9.81, 0)).body("bar", mass=m, com=(0.2, 0, 0), tensor=(0, 0.1, 0.1), drive=MOTOR).robot()
        for m in masses
    ]
    inertial = np.array([robot.parameters()[:10] for robot in built])
    for electric in ("full", "reduced"):
        both = built[0].simulate([0.3], None, 0.05, voltage=[6.0], parameters=inertial, electric=electric, step=1e-3)
        for k, robot in enumerate(built):
            alone = robot.simulate([0.3], None, 0.05, voltage=[6.0], electric=electric, step=1e-3)
            assert_allclose(both.current[:, k], alone.current, rtol=1e-9)
            assert_allclose(both.energy[:, k], alone.energy, rtol=1e-9)


def test_a_motor_with_dry_friction_sticks_until_its_current_is_enough():
    drive = Drive(gear_ratio=N, rotor_inertia=JM, resistance=R, inductance=L, torque_constant=K, coulomb=5.0)
    motion = wheel(drive).simulate([0.0], None, 0.1, voltage=[12.0], method="DOP853", step=1e-3)
    (slip,) = (e.time for e in motion.events if e.kind == "slip")
    assert slip == pytest.approx(-L / R * np.log(1 - 5.0 / (N * K) * R / 12.0), rel=1e-6)
    assert abs(motion.energy_residual[motion.t < slip]).max() < 1e-6


def test_coupled_and_elastic_motors():
    coil = {"resistance": R, "inductance": L, "torque_constant": K}
    motor = Drive(rotor_inertia=JM, **coil)
    differential = arm().with_transmission(
        Transmission(("joint1", "joint2"), [(20, 20), (20, -20)], [motor, motor], ["left", "right"])
    )
    elastic = arm(Drive(gear_ratio=N, rotor_inertia=JM, series_stiffness=50.0, series_damping=0.1, **coil))
    for robot, u in ((differential, [3.0, -2.0]), (elastic, [4.0])):
        motion = robot.simulate(np.zeros(robot.nq), None, 0.2, voltage=u, step=2e-4)
        assert abs(motion.energy_residual).max() < 1e-6 * abs(motion.electrical_power).max()
        assert motion.current.shape == (len(motion), len(u))


def test_batches_tables_and_controllers():
    robot = wheel()
    whole = robot.simulate(np.zeros((3, 1)), None, 0.01, voltage=np.array([[1.0], [2.0], [3.0]]), step=1e-3)
    assert_allclose(whole.current[-1, :, 0] / whole.current[-1, 0, 0], [1, 2, 3], rtol=1e-12)
    table = robot.simulate([0.0], None, 0.01, voltage=np.full((11, 1), 2.0), step=1e-3)
    assert_allclose(table.current[:, 0], whole.current[:, 1, 0], rtol=1e-12)

    class Controller:
        period = 2e-3

        def __call__(self, t, q, qd):
            return [2.0]

    assert_allclose(robot.simulate([0.0], None, 0.01, voltage=Controller(), step=1e-3).current, table.current, rtol=1e-12)
    assert whole[:, 1].current.shape == (11, 1)
    assert {"u1", "i1", "magnetic_energy"} <= set(table.columns())


def test_refusals():
    with pytest.raises(ModelValueError, match=r"resistance='-1.0'.*not negative"):
        Drive(resistance=-1.0, torque_constant=0.1)
    with pytest.raises(ModelValueError, match=r"torque_constant='0.1': an electric motor has a resistance too"):
        Drive(torque_constant=0.1)
    with pytest.raises(ModelValueError, match=r"resistance='1.0': an electric motor has a torque constant too"):
        Drive(resistance=1.0)
    with pytest.raises(InputError, match="has no electric motor"):
        arm().simulate([0, 0], None, 0.1, voltage=[1.0])
    with pytest.raises(InputError, match="electric='none' is not one of"):
        wheel().simulate([0.0], None, 0.1, voltage=[1.0], electric="none")
    with pytest.raises(InputError, match=r"the current of 'wheel_joint' settles in 0.002 s, too fast for steps of 0.01 s"):
        wheel().simulate([0.0], None, 0.1, voltage=[1.0], step=0.01)
    with pytest.raises(InputError, match="voltage has shape"):
        wheel().simulate([0.0], None, 0.1, voltage=[1.0, 2.0])


def test_files(tmp_path):
    robot = wheel()
    robot.to_toml(tmp_path / "wheel.toml")
    assert qddot.load(tmp_path / "wheel.toml").drives == robot.drives


# every drive ------------------------------------------------------------------------------------------------------------------

DRIVES = {
    "viscous": Drive(viscous=(0.3, 0.2), viscous_quadratic=0.05, viscous_cubic=0.01, offset=0.1),
    "Coulomb": Drive(coulomb=(0.2, 0.1)),
    "smoothed": Drive(coulomb=0.2, smoothing_velocity=0.2),
    "Stribeck": Drive(coulomb=0.1, static=0.2, stribeck_velocity=0.3),
    "load": Drive(load_friction=0.1, smoothing_velocity=0.2),
    "spring": Drive(stiffness=3.0, rest=0.4, damping=0.1),
    "elastic": Drive(rotor_inertia=0.02, series_stiffness=40.0, series_damping=0.2, viscous=0.1),
    "gyroscope": Drive(rotor_inertia=1e-4, gear_ratio=50, rotor_axis=(0, 1, 0), viscous=0.05),
}


@pytest.mark.parametrize("name", DRIVES)
def test_energy_of_every_drive(name):
    """The balance is closed to the order of the rule: four, where nothing sticks or turns round on the way."""
    robot = arm(DRIVES[name], DRIVES[name])
    n, torque = robot.nv, np.array([1.5, 2.5, 0.5, 0.3])
    errors = []
    for h in (4e-3, 2e-3):
        motion = robot.simulate(np.full(n, 0.3), np.full(n, 1.0), 0.2, torque=torque[:n], step=h)
        assert (motion.qd[:, :2] > 0).all()
        errors.append(abs(motion.energy_residual).max() / abs(motion.energy).max())
    assert errors[1] < 1e-7
    assert errors[1] < errors[0] / 8 or errors[1] < 1e-12


# on paper ---------------------------------------------------------------------------------------------------------------------


def test_equations_and_derivation():
    import sympy

    Ra, La, k, ratio = sympy.symbols("R_a L_a k N", positive=True)
    robot = wheel(Drive(gear_ratio=ratio, resistance=Ra, inductance=La, torque_constant=k))
    e = robot.equations()
    assert e.voltage[0] == e.read("R_a*i1 + L_a*id1 + k*N*qd1")
    assert e.motor_torque[0] == e.read("k*N*i1")
    found = robot.derive()
    assert found.steps[-1].title == "The motors"
    assert "L_{a}" in found.latex()


def test_where_a_motor_cannot_be():
    with pytest.raises(ModelValueError, match=r"an electric motor .* needs a joint with one coordinate of its own"):
        qddot.Builder().body("a", joint="spherical", mass=1.0, drive=Drive(resistance=1.0, torque_constant=1.0)).robot()
