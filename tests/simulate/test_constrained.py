"""Closed loops in motion: they stay closed, and their forces do no work."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, InputError, IntegrationError, SingularityError
from qddot.constraints.constrained import ConstrainedRobot
from qddot.simulate.dynamics import Dynamics, Forces
from qddot.simulate.fixed_step import FixedStep
from qddot.simulate.friction import DryFriction
from qddot.simulate.modes import Switching
from qddot.simulate.torque import Torque

BENT = {"four_bar": [0.4, 1.8, 1.7]}  # near zero it is stretched: rounding would decide where its loop closes


def start(name):
    """A robot with closed loops, and a state on them in which it moves."""
    robot = qddot.load(name)
    q = robot.project(BENT.get(name, robot.neutral() + 0.1))
    return robot, q, robot.project_velocity(q, np.linspace(1, 2, robot.nv))


def runge_kutta(robot, constraints=None, torque=None) -> FixedStep:
    dynamics = Dynamics(robot, Forces(robot), {}, ConstrainedRobot(robot._evaluate, constraints))
    return FixedStep(robot, Switching(robot, dynamics, DryFriction(robot), False), Torque(robot, torque, np.zeros(1), (), True))


def check(robot, motion):
    assert abs(robot.constraint_residual(motion.q)).max() <= 1e-9
    A = robot.constraint_jacobian(motion.q)
    rate, force = (A @ motion.qd[..., None])[..., 0], (np.swapaxes(A, -1, -2) @ motion.lam[..., None])[..., 0]
    assert abs(rate).max() <= 1e-9
    power = abs((force * motion.qd).sum(-1)).max()
    total = (abs(force * motion.qd).sum(-1)).max()
    assert power <= 1e-9 * total
    Adot = robot.constraint_jacobian_dot(motion.q, motion.qd)
    assert_allclose((A @ motion.qdd[..., None] + Adot @ motion.qd[..., None])[..., 0], 0, atol=1e-6)


@pytest.mark.parametrize(("name", "step"), [("four_bar", 1e-2), pytest.param("delta", 4e-3, marks=pytest.mark.slow)])
def test_loops_stay_closed(name, step):
    """The figure: a drift of at most 1e-9 over 10 s, and a power of at most 1e-9 of the total."""
    robot, q, qd = start(name)
    motion = robot.simulate(q, qd, 10.0, step=step, stops=False)
    check(robot, motion)


def test_adaptive_methods_keep_energy_and_loops():
    robot, q, qd = start("delta")
    motion = robot.simulate(q, qd, 0.2, method="DOP853", step=0.05, stops=False)
    check(robot, motion)
    assert abs(motion.energy - motion.energy[0]).max() < 1e-7 * motion.kinetic_energy.max()
    steps = robot.simulate(q, qd, 0.2, step=1e-3, stops=False)
    assert_allclose(steps.q[::50], motion.q, atol=1e-6)


def test_a_wire_makes_a_pendulum():
    """A bead on a plane, held at a distance from the origin, swings like a pendulum of that length."""
    bead = (
        Builder(gravity=(0, 0, -9.81))
        .body("x", joint="prismatic", axis="x", mass=0)
        .body("bead", "x", "prismatic", axis="z", mass=0.7)
    )
    robot = bead.robot()
    wire = qddot.holonomic(lambda at: [at.q[0] * at.q[0] + at.q[1] * at.q[1] - 1])
    plain = Builder().body("rod", axis="y", mass=0.7, com=(0, 0, -1)).robot()
    angle = plain.simulate([0.8], None, 0.3, step=2e-3)
    motion = robot.simulate([-np.sin(0.8), -np.cos(0.8)], None, 0.3, constraints=wire, step=2e-3)
    assert_allclose(motion.q, np.c_[-np.sin(angle.q), -np.cos(angle.q)], atol=1e-8)
    tension = 0.7 * (angle.qd**2 + 9.81 * np.cos(angle.q))  # of the wire, which pulls inward
    assert_allclose(abs(2 * motion.lam), tension, atol=1e-6)


def test_friction_in_a_loop_holds_it():
    robot = qddot.load("five_bar")
    model = robot.model
    joints = [replace(joint, drive=qddot.Drive(coulomb=100.0)) if joint.kind != "fixed" else joint for joint in model.joints]
    stiff = qddot.Robot(model.copy(joints=joints))
    q = stiff.project(stiff.neutral() + 0.1)
    for method in ("rk4", "DOP853"):
        motion = stiff.simulate(q, None, 0.05, method=method, step=5e-3, stops=False)
        assert_allclose(motion.q, np.broadcast_to(q, motion.q.shape), atol=1e-11)
        assert_allclose(motion.qdd, 0, atol=1e-9)


def test_what_is_refused():
    robot, q, qd = start("delta")
    with pytest.raises(InputError, match="violates the constraints"):
        robot.simulate(q + 0.01, qd, 0.1, stops=False)
    with pytest.raises(SingularityError, match="mass matrix"):
        robot.simulate(q, qd, 0.1, parameters=np.zeros(10 * len(robot.body_names)))


def test_the_open_tree_moves_when_asked_for():
    robot, q, qd = start("four_bar")
    opened = robot.simulate(q, qd, 1.0, constraints=False, stops=False)
    assert opened.lam is None
    assert abs(robot.constraint_residual(opened.q)).max() > 1e-3


@pytest.mark.parametrize("name", ["four_bar", "five_bar", pytest.param("delta", marks=pytest.mark.slow)])
def test_the_compiled_step_is_that_of_four_stages(name, cared_for):
    robot, q, qd = start(name)
    step, tau, h = runge_kutta(robot), np.linspace(-1, 1, robot.nv), 1e-3
    compiled = step.plain(q=q, qd=qd, tau=tau, dt=h)
    assert not cared_for
    stages = step.careful({"q": q, "qd": qd, "tau": tau, "dt": np.array([h])})
    assert cared_for == [1, 1, 1, 1]
    for found, wanted in zip(compiled, stages):
        assert_allclose(found, wanted, atol=1e-12 * max(abs(wanted).max(), 1))
    assert_allclose(step.dynamics.settle(*compiled), ConstrainedRobot(robot._evaluate, None).settled(*stages), atol=1e-12)


@pytest.mark.parametrize(
    "name", ["four_bar", pytest.param("five_bar", marks=pytest.mark.slow), pytest.param("delta", marks=pytest.mark.slow)]
)
def test_a_motion_asks_for_no_care(name, cared_for):
    robot, q, qd = start(name)
    robot.simulate(q, qd, 0.2, torque=np.ones(robot.nv), stops=False)
    robot.simulate(q, qd, 0.02, torque=lambda t, q, qd: -qd, stops=False)
    assert not cared_for


def test_rows_said_twice_change_no_motion(cared_for):
    robot, q, qd = start("four_bar")
    twice = (qddot.connect("closure", "tip", "xy"), qddot.connect("closure", "tip", "yx"))
    with pytest.warns(qddot.RankWarning):
        doubled = robot.simulate(q, qd, 0.1, step=5e-3, constraints=twice, stops=False)
    assert not cared_for  # which rows follow from others is known beforehand
    once = robot.simulate(q, qd, 0.1, step=5e-3, stops=False)
    assert_allclose(doubled.q, once.q, atol=1e-12)
    assert_allclose(doubled.lam @ np.eye(4)[:, [0, 1]] * 2, once.lam, rtol=1e-9, atol=1e-9 * abs(once.lam).max())


def groove():
    """A bead where two surfaces meet, in the line y = z = 0; at x = 0 they are all but parallel."""
    robot = (
        Builder(gravity=(0, -1, -2))
        .body("x", joint="prismatic", axis="x", mass=0.1)
        .body("y", "x", "prismatic", axis="y", mass=0.1)
        .body("bead", "y", "prismatic", axis="z", mass=0.7)
        .robot()
    )
    return robot, qddot.holonomic(lambda at: [at.q[2], at.q[2] - at.q[1] * (1e-3 + at.q[0] * at.q[0])])


def test_care_comes_and_goes_with_the_state(cared_for):
    robot, surfaces = groove()
    x0, v = np.linspace(-0.3, 0.1, 20), 0.2
    q0, qd0 = np.c_[x0, np.zeros((20, 2))], np.array([v, 0, 0])
    batch = robot.simulate(q0, qd0, 1.0, step=0.02, constraints=surfaces)
    assert 0 < sum(cared_for) < 20 * 50 * 4 / 2
    assert max(cared_for) < 20  # never the whole batch
    assert_allclose(batch.q[..., 0], x0 + v * batch.t[:, None], atol=1e-12)
    assert_allclose(batch.q[..., 1:], 0, atol=1e-12)
    for i in (0, 10, 19):
        alone = robot.simulate(q0[i], qd0, 1.0, step=0.02, constraints=surfaces)
        assert_array_equal(batch.q[:, i], alone.q)
        assert_array_equal(batch.qd[:, i], alone.qd)


def test_a_loop_that_is_torn_open():
    """A step much too long for its speed: no state near its end has a closed loop, and the error names time and joint."""
    robot, q, qd = start("four_bar")
    with pytest.raises(IntegrationError, match="diverges in step 1 after t = 0 s, at joint"):
        robot.simulate(q, 1e4 * qd, 1.0, step=0.1, stops=False)


def test_a_batch_is_its_motions_bit_by_bit(cared_for):
    robot, q, _ = start("five_bar")
    rng = np.random.default_rng(0)
    qd = robot.project_velocity(q, rng.normal(size=(20, robot.nv)))
    tau = rng.normal(size=(20, robot.nv))
    batch = robot.simulate(q, qd, 0.05, torque=tau, stops=False)
    heavier = robot.parameters() * np.linspace(0.5, 2, 20)[:, None]
    laden = robot.simulate(q, qd, 0.05, torque=tau, parameters=heavier, stops=False)
    for i in (0, 7, 19):
        alone = robot.simulate(q, qd[i], 0.05, torque=tau[i], stops=False)
        assert_array_equal(batch.q[:, i], alone.q)
        assert_array_equal(batch.qd[:, i], alone.qd)
        assert_array_equal(batch[:, i].lam, alone.lam)
        alone = robot.simulate(q, qd[i], 0.05, torque=tau[i], parameters=heavier[i], stops=False)
        assert_array_equal(laden.q[:, i], alone.q)
        assert_array_equal(laden[:, i].lam, alone.lam)
    assert not cared_for
    assert abs(laden.q[-1] - batch.q[-1]).max() > 1e-6


def test_other_parameters_move_like_another_robot():
    robot, q, qd = start("four_bar")
    scaled = lambda x: x and qddot.Inertia.from_ten_vector([1.7 * p for p in x.ten_vector()])  # noqa: E731
    heavier = qddot.Robot(robot.model.copy(links=[replace(link, inertia=scaled(link.inertia)) for link in robot.model.links]))
    options = {"torque": np.array([5.0, 0, 0]), "stops": False}
    motion = robot.simulate(q, qd, 0.2, parameters=robot.parameters() * 1.7, **options)
    wanted = heavier.simulate(q, qd, 0.2, **options)
    assert_allclose(motion.q, wanted.q, atol=1e-12)
    assert_allclose(motion.lam, wanted.lam, rtol=1e-9, atol=1e-9)


def test_forces_of_every_kind_under_constraints():
    """Compiled accelerations in the stages and in an adaptive method: external forces, and a law of the state."""
    robot, q, qd = start("five_bar")
    forces = {"torque": lambda t, q, qd: -0.1 * qd, "f_ext": {robot.body_names[0]: [0, 0, 0.3, 0, 0.2, 0]}, "stops": False}
    fixed = robot.simulate(q, qd, 0.1, **forces)
    adaptive = robot.simulate(q, qd, 0.1, method="DOP853", rtol=1e-10, atol=1e-12, **forces)
    assert_allclose(fixed.q, adaptive.q, atol=1e-9)
    check(robot, fixed)


def test_a_rolling_disk_needs_no_positions():
    """Constraints of velocities alone: nothing to close, and the speed stays within them."""
    disk = (
        Builder("disk")
        .body("x", joint="prismatic", axis="x")
        .body("y", "x", joint="prismatic", axis="y")
        .body("fork", "y", axis="z")
        .body("disk", "fork", axis="y", mass=2.0, tensor=(0.005, 0.01, 0.005))
        .robot()
    )

    def no_slip(state, radius=0.1):
        v, w = state.velocity("disk"), state.angular_velocity("disk")
        return [v.x - radius * w.y, v.y + radius * w.x]

    motion = disk.simulate(np.zeros(4), [0.3, 0, 1, 3], 2 * np.pi, step=np.pi / 500, constraints=qddot.pfaffian(no_slip))
    assert_allclose(motion.q[-1], [0, 0, 2 * np.pi, 6 * np.pi], atol=1e-7)  # once round a circle of radius 0.3 m


def with_joints(robot, drives=None, limits=None):
    """The robot with other drives and limits, by joint name."""
    drives, limits = drives or {}, limits or {}
    change = lambda j: replace(j, drive=drives.get(j.name, j.drive), limits=limits.get(j.name, j.limits))  # noqa: E731
    return qddot.Robot(robot.model.copy(joints=[change(joint) for joint in robot.model.joints]))


def test_what_sticks_in_a_loop_stays():
    """Projection onto constraints leaves speeds of rounding, which must not say which way friction acts."""
    inertias = [qddot.Inertia(1.0, (-0.2, 0, 0), (0.01, 0.02, 0.02))] * 3
    rows = [(0.5, 0, 0, 0), (0.4, 0, 0, 0), (0.3, 0, 0, 0)]
    drives = [qddot.Drive(coulomb=1000.0), None, None]
    arm = qddot.from_dh(rows, inertias=inertias, drives=drives, gravity=(0, -9.81, 0))
    wall = qddot.point_on_plane(arm.tip, (0.6, 0, 0), (1, 0, 0))
    q = arm.project([0.3, 0.7, -0.4], wall)
    motions = [arm.simulate(q, None, 0.3, constraints=wall, method=method, step=1e-3) for method in ("rk4", "DOP853")]
    for motion in motions:
        assert abs(motion.q[:, 0] - q[0]).max() < 1e-10
    assert_allclose(motions[0].q, motions[1].q, atol=1e-7)


@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_a_loop_rests_against_a_stop(method):
    robot = with_joints(qddot.load("four_bar"), limits={"joint1": qddot.Limits(0.35, 0.45)})
    motion = robot.simulate(robot.project([0.4, 1.8, 1.7]), None, 0.8, torque=[60.0, 0, 0], method=method)
    assert_allclose(motion.q[-1, 0], 0.45, atol=1e-9)
    assert_allclose(motion.qdd[-1], 0, atol=1e-8)
    assert_allclose(motion.lam[-1], 0, atol=1e-6)
    assert abs(robot.constraint_residual(motion.q)).max() < 1e-11


def test_friction_and_a_stop_in_a_loop():
    """One degree of freedom, held by three: what lets go last lets it move, and a force that comes and goes is not missed."""
    drives = {"joint2": qddot.Drive(coulomb=4.0), "joint3": qddot.Drive(coulomb=2.0, static=3.0)}
    robot = with_joints(qddot.load("four_bar"), drives, {"joint1": qddot.Limits(0.35, 0.45)})
    q, push = robot.project([0.4, 1.8, 1.7]), lambda t, q, qd: np.array([60 * np.cos(8 * t), 0, 0])
    steps, motion = (robot.simulate(q, None, 1.2, torque=push, method=m, step=1e-3, every=10) for m in ("rk4", "DOP853"))
    assert_allclose(steps.q, motion.q, atol=1e-3)
    assert np.ptp(motion.q[70:, 0]) > 0.09  # from stop to stop and back


def test_load_friction_at_rest_feels_the_constraint():
    """Pressed against a wall, a joint is held by more friction than its weight alone would give."""
    drives = [qddot.Drive(load_friction=0.2), None]
    inertias = [qddot.Inertia(1.0, (-0.2, 0, 0), (0.01, 0.02, 0.02))] * 2
    arm = qddot.from_dh([(0.5, 0, 0, 0), (0.4, 0, 0, 0)], inertias=inertias, drives=drives, gravity=(0, -9.81, 0))
    wall = qddot.point_on_plane(arm.tip, (0.6, 0, 0), (1, 0, 0))
    q = arm.project([0.3, 0.7], wall)
    load = arm.gravity_torque(q) + arm.constraint_jacobian(q, wall)[0] * 50.0
    for part, moves in ((0.9, False), (1.3, True)):
        tau = load + np.array([part * 0.2 * abs(load[0]), 0])
        for method in ("rk4", "DOP853"):
            motion = arm.simulate(q, None, 0.05, torque=tau, constraints=wall, method=method, step=1e-3)
            assert (abs(motion.q[-1] - q).max() > 1e-6) == moves
