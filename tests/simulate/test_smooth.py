"""Motion without dry friction and stops: energy, order, manifolds, batches, forces, and what cannot be simulated."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Drive, Inertia, InputError, IntegrationError, Limits, SingularityError, Transmission
from tests.simulate.real_robots import ROBOTS

METHODS = ("RK45", "DOP853", "Radau")
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def ur5():
    if ROBOTS is None:
        pytest.skip("example-robot-data is not installed")
    return qddot.load(ROBOTS / "ur_description/urdf/ur5_robot.urdf")


@pytest.fixture(scope="module")
def arm():
    """Without friction."""
    inertias = [Inertia.box(2.0, (0.3, 0.1, 0.2)).shifted((0.1, 0.05, -0.1)) for _ in range(3)]
    return qddot.from_dh([(0.3, 0.7, 0.1, 0), (0.4, -1.1, 0, 0), (0.2, 0, 0.2, 0)], inertias=inertias)


def pendulum(**drive):
    return Builder("pendulum").body("rod", axis="y", mass=1.0, com=(0, 0, -0.5), drive=Drive(**drive)).robot()


def test_passive_ur5_keeps_its_energy(ur5):
    """The figure: 5e-8 of the peak kinetic energy over 10 s in steps of 1 ms; half the step, a tenth of the error."""
    q0 = np.array([0.3, -1.0, 0.8, 0.4, 0.5, 0.1])
    motions = [ur5.simulate(q0, None, 10.0, step=h, stops=False) for h in (1e-3, 5e-4)]
    errors = [abs(m.energy - m.energy[0]).max() / m.kinetic_energy.max() for m in motions]
    assert errors[0] <= 5e-8
    assert errors[1] <= errors[0] / 10


def test_rk4_has_order_four(arm):
    exact = arm.simulate([0.5, 1.0, -0.3], [1, -1, 2], [0, 1.0], method="DOP853", rtol=1e-12, atol=1e-12).q[-1]
    errors = [abs(arm.simulate([0.5, 1.0, -0.3], [1, -1, 2], 1.0, step=h).q[-1] - exact).max() for h in (0.02, 0.01, 0.005)]
    assert (np.divide(errors[:-1], errors[1:]) > 12).all()


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_same_motion(arm, method):
    expected = arm.simulate([0.5, 1.0, -0.3], None, 0.5, step=1e-3)
    found = arm.simulate([0.5, 1.0, -0.3], None, 0.5, method=method, step=0.1)
    assert_allclose(found.q, expected.q[::100], atol=1e-6)


def test_the_variational_method_converges_with_order_two(arm):
    exact = arm.simulate([0.5, 1.0, -0.3], None, [0, 0.5], method="DOP853", rtol=1e-12, atol=1e-12).q[-1]
    run = lambda h: arm.simulate([0.5, 1.0, -0.3], None, 0.5, method="variational", step=h).q[-1]  # noqa: E731
    errors = [abs(run(h) - exact).max() for h in (2e-3, 1e-3)]
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_the_variational_method_knows_friction_that_only_differences_of_speeds_feel():
    """Nothing of it is left where all joints turn alike: the damping of elastic gears, and a motor between two joints."""
    gear = Drive(gear_ratio=100, rotor_inertia=2e-5, series_stiffness=400.0, series_damping=2.0)
    builder = Builder(gravity=(0, 0, 0)).body("a", mass=1, com=(0.5, 0, 0))
    pair = builder.body("b", "a", xyz=(1, 0, 0), mass=1, com=(0.5, 0, 0)).robot()
    motor = Transmission(("a_joint", "b_joint"), [[50.0, -50.0]], [Drive(rotor_inertia=1e-5, viscous=1e-4)])
    elastic = Builder(gravity=(0, 0, 0)).body("rod", mass=1, com=(0.5, 0, 0), drive=gear).robot()
    for robot in (elastic, pair.with_transmission(motor)):
        exact = robot.simulate([0, 0], [1.0, -1.0], 0.2, step=1e-4, every=2000).energy
        runs = [robot.simulate([0, 0], [1.0, -1.0], 0.2, method="variational", step=h).energy[-1] for h in (1e-3, 5e-4)]
        errors = [abs(energy - exact[-1]) for energy in runs]
        assert exact[-1] < 0.95 * exact[0]
        assert errors[0] < 0.02 * exact[0]
        assert 3.5 < errors[0] / errors[1] < 4.5


@pytest.mark.slow
def test_energy_of_the_variational_method_does_not_drift():
    """10^6 steps of a double pendulum: the error in the last tenth is no larger than in the first."""
    robot = qddot.from_dh([(0.5, 0, 0, 0)] * 2, inertias=[Inertia.point(1.0)] * 2, gravity=(0, -9.81, 0))
    motion = robot.simulate([-1.2, 0.3], None, 1000.0, method="variational", step=1e-3, every=10)
    error = abs(motion.energy - motion.energy[0])
    tenth = len(motion) // 10
    assert error[-tenth:].max() <= 1.2 * error[:tenth].max()
    assert error.max() <= 1e-3 * motion.kinetic_energy.max()


def test_a_spinning_body_keeps_its_momentum():
    """A free body without gravity: angular and linear momentum in world axes, and unit quaternions."""
    robot = Builder(gravity=(0, 0, 0)).body("top", joint="free", mass=2.0, com=(0.1, 0, 0.05), tensor=(0.1, 0.2, 0.25)).robot()
    for method in ("rk4", "DOP853"):
        motion = robot.simulate(robot.neutral(), [0.1, 5, 0.1, 1, 0, 0], 2.0, method=method)
        h = robot.momentum(motion.q, motion.qd)
        assert_allclose(h, np.broadcast_to(h[0], h.shape), atol=1e-7)
        at = robot.model.mechanism.coordinates[0].q.start
        assert_allclose(np.linalg.norm(motion.q[:, at : at + 4], axis=-1), 1, rtol=1e-14)


def test_a_spherical_pendulum_swings_like_a_plane_one():
    ball = Builder().body("rod", joint="spherical", mass=1.0, com=(0, 0, -0.5), tensor=(0.1, 0.1, 0.1)).robot()
    plane = Builder().body("rod", axis="y", mass=1.0, com=(0, 0, -0.5), tensor=(0.1, 0.1, 0.1)).robot()
    a = ball.simulate(ball.integrate(ball.neutral(), [0, 1.0, 0]), None, 1.0)
    b = plane.simulate([1.0], None, 1.0)
    assert_allclose(ball.transform(a.q)[..., :3, 2], plane.transform(b.q)[..., :3, 2], atol=1e-9)


def test_a_row_of_a_batch_is_the_single_motion(arm):
    q0, qd0 = RNG.normal(size=(2, 20, 3))
    batch = arm.simulate(q0, qd0, 0.1)
    assert batch.q.shape == (101, 20, 3)
    one = arm.simulate(q0[7], qd0[7], 0.1)
    assert_array_equal(batch.q[:, 7], one.q)
    assert_allclose(batch[:, 7].qdd, one.qdd, rtol=1e-12)
    assert_allclose(batch.energy[:, 7], one.energy, rtol=1e-12)


def test_a_batch_of_parameters(arm):
    """Rollouts of randomised robots: each as the robot with those parameters."""
    factors = np.array([0.8, 1.0, 1.3])
    motion = arm.simulate([0.5, 1.0, -0.3], None, 0.2, torque=[3.0, 1.0, 0.0], parameters=factors[:, None] * arm.parameters())
    same = arm.simulate([0.5, 1.0, -0.3], None, 0.2, torque=[3.0, 1.0, 0.0])
    assert motion.q.shape == (201, 3, 3)
    assert_allclose(motion.q[:, 1], same.q, atol=1e-10)
    assert_allclose(motion.energy[:, 1], same.energy, rtol=1e-9)
    assert_allclose(motion[:, 1].qdd, same.qdd, rtol=1e-7)
    scaled = arm.simulate([0.5, 1.0, -0.3], None, 0.2, torque=np.array([3.0, 1.0, 0.0]) / 1.3)
    assert_allclose(motion.q[:, 2], scaled.q, atol=1e-10)  # scaling masses is scaling forces


def test_ten_thousand_rollouts():
    robot = pendulum()
    motion = robot.simulate(RNG.uniform(-1, 1, (10_000, 1)), None, 0.1, every=50)
    assert motion.q.shape == (3, 10_000, 1)
    assert_allclose(motion.energy[-1], motion.energy[0], atol=1e-9)


# what drives it ---------------------------------------------------------------------------------------------------------------


def test_torque_as_array_table_and_function(arm):
    tau = arm.gravity_torque([0.2, 0.3, 0.4])
    still = arm.simulate([0.2, 0.3, 0.4], None, 0.2, torque=tau)
    assert_allclose(still.q, np.broadcast_to([0.2, 0.3, 0.4], still.q.shape), atol=1e-12)
    table = np.outer(np.sin(np.linspace(0, 1, 201)), tau)
    by_table = arm.simulate([0.2, 0.3, 0.4], None, 0.2, torque=table)
    assert_array_equal(by_table.tau, table)
    adaptive = arm.simulate([0.2, 0.3, 0.4], None, 0.2, torque=table, method="DOP853")
    assert_allclose(adaptive.q[-1], by_table.q[-1], atol=1e-9)
    function = arm.simulate([0.2, 0.3, 0.4], None, 0.2, torque=lambda t, q, qd: np.sin(5 * t) * tau)
    assert_allclose(function.q[-1], by_table.q[-1], atol=1e-3)  # a table is held for each step


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_sampled_law_is_asked_once_a_period(arm, method):
    calls = []

    def law(t, q, qd):
        calls.append(t)
        return np.full(3, np.cos(t))

    law.period = 0.02
    motion = arm.simulate(np.zeros(3), None, 0.1, torque=law, method=method)
    assert_allclose(calls, np.arange(6) * 0.02, atol=1e-12)
    assert_allclose(motion.tau[:20, 0], 1.0)
    assert_allclose(motion.tau[25, 0], np.cos(0.02))


def test_efforts_and_torque_speed_lines_limit_the_joint_forces():
    robot = Builder(gravity=(0, 0, 0)).body("a", mass=1, com=(1, 0, 0), drive=Drive(torque_speed=(2.0, 10.0), gear_ratio=3)).robot()
    assert_allclose(robot.simulate([0], None, 0.01, torque=[100.0]).tau[0], 6.0)
    fast = robot.simulate([0], [5 / 3], 0.01, torque=[100.0])
    assert_allclose(fast.tau[0], 3.0)
    assert_allclose(robot.simulate([0], None, 20.0, torque=[100.0], step=0.01).qd[-1], 10 / 3, rtol=1e-3)  # no-load speed
    assert_allclose(robot.simulate([0], None, 0.01, torque=[100.0], saturate=False).tau[0], 100)


def test_samples_do_not_lengthen_the_steps(arm):
    """Times that are asked for are samples; between them are steps."""
    q0, fine = [0.5, 1.0, -0.3], arm.simulate([0.5, 1.0, -0.3], None, 1.0)
    assert_allclose(arm.simulate(q0, None, (0, 1.0)).q[-1], fine.q[-1], atol=1e-12)
    uneven = np.array([0.0, 0.0105, 0.4, 1.0])
    motion = arm.simulate(q0, None, uneven)
    assert_array_equal(motion.t, uneven)
    assert_allclose(motion.q[2:], fine.q[[400, 1000]], atol=1e-9)
    table = np.outer(np.arange(4.0), np.ones(3))
    assert_array_equal(arm.simulate(q0, None, uneven, torque=table).tau, table)


def test_a_controller_is_asked_at_its_period_whatever_the_steps(arm):
    for period, step in ((1e-3, 4e-3), (3e-3, 2e-3), (2.5e-3, 1e-3)):
        asked = []

        def law(t, q, qd, asked=asked):
            asked.append(t)
            return np.zeros(3)

        law.period = period
        motion = arm.simulate(np.zeros(3), None, 0.012, torque=law, step=step)
        assert_allclose(asked, np.arange(0, 0.012 + 1e-9, period)[: len(asked)], atol=1e-15)
        assert len(asked) >= 0.012 / period
        assert_allclose(motion.t, np.arange(0, 0.012 + 1e-9, step), atol=1e-15)


def test_torques_of_a_batch(arm):
    q0, torque = np.zeros((4, 3)), np.linspace(-1, 1, 12).reshape(4, 3)
    motion = arm.simulate(q0, None, 0.01, torque=torque)
    for k in range(4):
        assert_array_equal(motion.q[:, k], arm.simulate(q0[k], None, 0.01, torque=torque[k]).q)
    with pytest.raises(InputError, match=r"torque has shape \(10, 3\): give \(3,\), \(11, 3\) for the times"):
        arm.simulate(q0[0], None, 0.01, torque=np.zeros((10, 3)))
    with pytest.raises(InputError, match=r"for \(4,\) motions or for as many times"):
        arm.simulate(q0, None, 0.003, torque=torque)


def test_parameters_broadcast_to_the_batch(arm):
    scaled = arm.parameters() * np.linspace(0.7, 1.4, 4)[:, None]
    q0 = np.random.default_rng(0).uniform(-1, 1, (3, 1, 3))
    motion = arm.simulate(q0, None, 0.05, parameters=scaled)
    assert motion.q.shape == (51, 3, 4, 3)
    assert_array_equal(motion[:, 2].energy, motion.energy[:, 2])
    assert_array_equal(motion[:, 1, 3].energy, motion.energy[:, 1, 3])
    assert_array_equal(motion.q[:, 1, 3], arm.simulate(q0[1, 0], None, 0.05, parameters=scaled[3]).q)


def test_drive_parameters_do_not_vary_in_a_batch():
    robot = Builder().body("a", mass=1, com=(1, 0, 0), drive=Drive(viscous=0.1)).robot()
    with pytest.raises(InputError, match="only the first 10, ten a link"):
        robot.simulate([0.1], None, 0.01, parameters=robot.parameters() * np.ones((5, 1)))


def test_large_positions_are_no_divergence():
    probe = Builder(gravity=(0, 0, 0)).body("probe", joint="prismatic", mass=1).robot()
    for method in ("rk4", "DOP853"):
        assert_allclose(probe.simulate([2e6], [1e3], 1.0, method=method, step=0.1).q[-1], 2e6 + 1e3)
    with pytest.raises(InputError, match="speeds stay below"):
        probe.simulate([0], [1e10], 1.0)


def test_adaptive_solvers_recover_from_trial_steps_that_go_wrong():
    """A link of 0.1 g in thick oil: the first trial steps leave all reason, and a shorter one is right."""
    builder = Builder().body("a", axis="y", mass=1, com=(0.3, 0, 0))
    light = builder.body("b", "a", axis="y", xyz=(0.5, 0, 0), mass=1e-4, com=(0.1, 0, 0), drive=Drive(viscous=1e-2)).robot()
    ends = [light.simulate([0.3, 0.5], None, 0.02, method=method, step=0.01).q[-1] for method in ("DOP853", "Radau")]
    assert_allclose(ends[0], ends[1], atol=1e-7)


def test_variational_steps_say_what_they_cannot(arm):
    swing = Builder().body("rod", axis="y", mass=1.0, com=(0, 0, -0.5), limits=(-0.5, 1.2)).robot()
    with pytest.raises(IntegrationError, match=r"'rod_joint' comes to its stop after t = .* knows none") as caught:
        swing.simulate([1.0], None, 2.0, method="variational")
    assert 0.1 < caught.value.time < 1.0
    free = swing.simulate([1.0], None, 2.0, method="variational", stops=False)
    assert free.q.min() < -0.9


def test_variational_steps_far_from_zero(ur5):
    """Coordinates wound up by many turns are known less well, and so is the implicit step."""
    q0 = np.array([0.1, -0.6, 0.4, 0.3, 0.5, 0.2])
    motion = ur5.simulate(q0 + 2 * np.pi * 40, None, 2.0, method="variational", stops=False, step=1e-3)
    assert abs(motion.energy - motion.energy[0]).max() < 1e-3 * motion.kinetic_energy.max()


def test_limits_hold_the_motor_of_an_elastic_joint():
    drive = Drive(rotor_inertia=1e-3, series_stiffness=100.0, gear_ratio=3, torque_speed=(2.0, 10.0))
    robot = Builder(gravity=(0, 0, 0)).body("a", mass=1, com=(1, 0, 0), drive=drive, limits=Limits(effort=5.0)).robot()
    assert_allclose(robot.simulate([0, 0], None, 0.001, torque=[100.0, 100.0]).tau[0], [100.0, 5.0])  # the effort of the joint
    assert_allclose(robot.simulate([0, 0], [0, 5 / 3], 0.001, torque=[0.0, 100.0]).tau[0], [0.0, 3.0])  # the line


def test_lines_of_coupled_motors_hold_at_the_motors():
    """A differential: motor 1 turns with the sum of both joints, motor 2 with their difference."""
    builder = Builder(gravity=(0, 0, 0)).body("a", mass=1, com=(1, 0, 0)).body("b", "a", xyz=(1, 0, 0), mass=1, com=(1, 0, 0))
    N = np.array([[10.0, 10.0], [10.0, -10.0]])
    transmission = Transmission(("a_joint", "b_joint"), N.tolist(), (Drive(torque_speed=(1.0, 20.0)), None))
    robot = builder.robot().with_transmission(transmission)
    motors = robot.simulate([0, 0], [0.5, 0.5], 0.001, torque=N.T @ [5.0, 5.0]).tau[0] @ np.linalg.inv(N)
    assert_allclose(motors, [0.5, 5.0])  # half the no-load speed leaves half the stall torque; the other has no line
    idle = replace(transmission, matrix=((10.0, 0.0), (10.0, 0.0)))
    with pytest.raises(InputError, match="square and invertible"):
        builder.robot().with_transmission(idle).simulate([0, 0], None, 0.001)


def test_external_forces(arm):
    """A constant force at the tip is a potential: what it puts in shows in the energy."""
    wrench = np.array([0, 0, 0, 3.0, -2.0, 5.0])
    motion = arm.simulate([0.5, 1.0, -0.3], None, 0.3, f_ext={"link3": wrench})
    assert abs(motion.energy_residual).max() < 1e-6
    moved = arm.transform(motion.q)[..., :3, 3]
    assert_allclose(motion.energy - motion.energy[0], (moved - moved[0]) @ wrench[3:], atol=1e-6)
    same = arm.simulate([0.5, 1.0, -0.3], None, 0.3, f_tip=lambda t, q, qd: {"link3": -wrench})
    assert_allclose(same.q, motion.q, atol=1e-12)
    assert_allclose(same.qdd, motion.qdd, atol=1e-9)
    adaptive = arm.simulate([0.5, 1.0, -0.3], None, 0.3, f_ext={"link3": wrench}, method="DOP853")
    assert_allclose(adaptive.q, motion.q, atol=1e-7)


def test_the_balance_of_powers(arm):
    robot = qddot.load("two_link")
    motion = robot.simulate([0.3, 0.4], None, 1.0, torque=lambda t, q, qd: np.array([np.sin(3 * t), 0.2]))
    scale = motion.kinetic_energy.max()
    assert abs(motion.energy_residual).max() < 1e-8 * max(scale, 1)


def test_viscous_friction_takes_energy():
    robot = pendulum(viscous=0.3)
    motion = robot.simulate([2.0], None, 3.0)
    assert (motion.friction_loss >= 0).all()
    assert motion.energy[-1] < motion.energy[0] - 1
    assert abs(motion.energy_residual).max() < 1e-9


# results ----------------------------------------------------------------------------------------------------------------------


def test_every_keeps_the_same_samples(arm):
    full = arm.simulate([0.5, 1.0, -0.3], None, 0.1)
    for method in ("rk4", "DOP853"):
        few = arm.simulate([0.5, 1.0, -0.3], None, 0.1, every=30, method=method)
        assert_allclose(few.t, [0, 0.03, 0.06, 0.09, 0.1])
        assert_allclose(few.q, full.q[[0, 30, 60, 90, 100]], atol=0 if method == "rk4" else 1e-8)


def test_times_may_be_given(arm):
    times = np.array([1.0, 1.001, 1.003, 1.01])
    for method in ("rk4", "DOP853"):
        motion = arm.simulate([0.5, 1.0, -0.3], None, times, method=method)
        assert_array_equal(motion.t, times)
    assert_allclose(motion.q, arm.simulate([0.5, 1.0, -0.3], None, 0.01).q[[0, 1, 3, 10]], atol=1e-9)


def test_accelerations_are_those_of_forward_dynamics(arm):
    motion = arm.simulate([0.5, 1.0, -0.3], None, 0.05, torque=[1, 2, 3])
    assert_array_equal(motion.qdd, arm.forward_dynamics(motion.q, motion.qd, motion.tau))
    assert motion.lam is None


# what cannot be ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_divergence_names_time_step_and_joint(method):
    robot = pendulum()
    with pytest.raises(IntegrationError, match=r"diverges in step \d+ after t = .* s, at joint 'rod_joint'") as caught:
        robot.simulate([0.1], None, 10.0, torque=lambda t, q, qd: qd**3 + 9, method=method, step=0.01)
    assert 0 < caught.value.time < 10
    assert caught.value.step > 0


def test_a_stiff_spring_with_too_large_a_step_diverges_by_name():
    robot = Builder().body("a", mass=1, com=(1, 0, 0), drive=Drive(stiffness=1e7)).robot()
    with pytest.raises(IntegrationError, match="smaller step") as caught:
        robot.simulate([0.1], None, 10.0)
    assert caught.value.joint == "a_joint"


def test_a_robot_without_inertia_says_so():
    robot = Builder().body("a", mass=0.0).robot()
    with pytest.raises(SingularityError, match="nothing resists joint 'a_joint'"):
        robot.simulate([0.0], None, 1.0)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"method": "rk5"}, "method='rk5': did you mean 'rk4'"),
        ({"step": 0.0}, "step=0.0: times and step are finite, and the step is positive"),
        ({"method": None}, "method=None: known: 'rk4'"),
        ({"every": 0}, "every=0 is not a whole number from 1 on"),
        ({"rtol": np.nan, "method": "RK45"}, "rtol=nan is not a positive number"),
        ({"torque": "pd"}, "torque='pd': give an array, or a function"),
        ({"events": lambda t, q, qd: q}, "one finite number is needed"),
        ({"torque": [1.0]}, r"torque has shape \(1,\): give \(3,\)"),
        ({"torque": [1.0, np.nan, 0]}, "torque has a value that is not finite"),
        ({"torque": lambda t, q, qd: np.zeros(2)}, r"torque gave shape \(2,\) at t = 0 s"),
        ({"events": 3}, "events=3 is not a function"),
        ({"parameters": np.zeros(5)}, r"parameters has shape \(5,\), expected \(..., 30\)"),
        ({"method": "variational", "f_ext": {"link3": np.zeros(6)}}, "does not know external forces"),
    ],
)
def test_what_is_refused(arm, options, rule):
    with pytest.raises(InputError, match=rule):
        arm.simulate(np.zeros(3), None, 0.01, **options)


@pytest.mark.parametrize(
    ("q0", "t", "rule"),
    [
        (np.zeros(2), 1.0, r"q0 has shape \(2,\)"),
        ([0, np.nan, 0], 1.0, "q0"),
        (np.zeros(3), -1.0, "the final time is positive"),
        (np.zeros(3), [0.0, 0.0], "times that increase"),
        (np.zeros(3), np.inf, "finite"),
    ],
)
def test_states_and_times_that_are_refused(arm, q0, t, rule):
    with pytest.raises(InputError, match=rule):
        arm.simulate(q0, None, t)


def test_adaptive_methods_and_events_follow_one_motion(arm):
    with pytest.raises(InputError, match=r"follows one motion, q0 has shape \(2, 3\): use method='rk4'"):
        arm.simulate(np.zeros((2, 3)), None, 0.01, method="DOP853")
    with pytest.raises(InputError, match="events belong to one motion"):
        arm.simulate(np.zeros((2, 3)), None, 0.01, events=lambda t, q, qd: q[0])


def test_the_variational_method_refuses_what_it_does_not_know():
    with pytest.raises(InputError, match="dry friction"):
        pendulum(coulomb=0.1).simulate([0.1], None, 0.01, method="variational")
    ball = Builder().body("a", joint="spherical", mass=1.0, com=(0, 0, -0.5), tensor=(0.1, 0.1, 0.1)).robot()
    with pytest.raises(InputError, match="whose qd is the rate of q"):
        ball.simulate(ball.neutral(), None, 0.01, method="variational")
