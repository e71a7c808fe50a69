"""Rollouts: the motions of `simulate`, whatever drives them, step by step in one program."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import Builder, Drive, InputError, IntegrationError, control
from qddot.compile.kernel import Kernel
from qddot.rollout import ComputedTorqueLaw, PDLaw
from qddot.simulate.friction import without_dry_friction

STEPS, STEP = 60, 2e-3


def start(robot, batch=(6,), seed=0):
    rng = np.random.default_rng(seed)
    lower, upper = np.clip(robot.limits.lower, -2, 2), np.clip(robot.limits.upper, -2, 2)
    return rng.uniform(lower, upper, (*batch, robot.nv)), rng.normal(size=(*batch, robot.nv)), rng


def assert_same_motion(found, motion, tolerance=1e-9):
    assert_allclose(found.q, motion.q, atol=tolerance, rtol=0)
    assert_allclose(found.qd, motion.qd, atol=100 * tolerance, rtol=0)


@pytest.mark.parametrize("method", ["rk4", "variational"])
def test_joint_forces_from_an_array(method):
    robot = qddot.load("arm7")
    q, qd, rng = start(robot)
    tau = rng.normal(size=(STEPS + 1, 6, 7))
    motion = robot.simulate(q, qd, np.arange(STEPS + 1) * STEP, torque=tau, step=STEP, method=method, stops=False)
    found = robot.rollout(step=STEP, method=method, stops=False)(q, qd, tau[:-1])
    assert_same_motion(found, motion)


@pytest.mark.parametrize("law", [PDLaw, ComputedTorqueLaw])
def test_the_laws_of_control(law):
    robot = qddot.load("puma560")
    q, qd, rng = start(robot)
    goal = rng.normal(size=(6, 6))
    there = getattr(control, law.__name__.removesuffix("Law"))(robot, control.Hold(goal), 30.0, 4.0)
    motion = robot.simulate(q, qd, STEPS * STEP, torque=there, step=STEP, stops=False)
    here = law(30.0, 4.0)
    found = robot.rollout(here, step=STEP, method="rk4", stops=False)(q, qd, goal, steps=STEPS)
    assert_same_motion(found, motion, 1e-7)


def test_any_law_of_the_state_and_of_time():
    robot = qddot.load("two_link")
    values = dict.fromkeys(robot.symbols, 1.0)
    robot = robot.subs(values) if values else robot

    def law(x):
        height = x.position(robot.tip).z
        return [x.control[0] * x.sin(3 * x.t) - x.qd[0], x.where_positive(x.q[1], -1.0, height) + x.mass_matrix()[0][1]]

    def same(t, q, qd):
        T, M = robot.transform(q), robot.mass_matrix(q)
        first = gain[..., 0] * np.sin(3 * t) - qd[..., 0]
        return np.stack([first, np.where(q[..., 1] > 0, -1.0, T[..., 2, 3]) + M[..., 0, 1]], axis=-1)

    q, qd, rng = start(robot)
    gain = rng.normal(size=(6, 1))
    motion = robot.simulate(q, qd, STEPS * STEP, torque=same, step=STEP, saturate=False)
    found = robot.rollout(law, step=STEP, method="rk4", saturate=False)(q, qd, gain, steps=STEPS, every=20)
    assert found.q.shape == (4, 6, 2)
    assert_allclose(found.q, motion.q[::20], atol=1e-4)  # `where_positive` jumps within a step
    assert_array_equal(found.q[0], q)


def sticky():
    """A swinging arm with every law of dry friction, and stops."""
    builder = Builder("sticky")
    drive = Drive(coulomb=0.8, static=1.1, stribeck_velocity=0.2, viscous=0.1)
    builder.body("a", axis="y", mass=1.0, com=(0, 0, -0.4), limits=(-0.9, 0.8), drive=drive)
    builder.body("b", axis="y", xyz=(0, 0, -0.8), mass=0.7, com=(0, 0, -0.3), drive=Drive(load_friction=0.3))
    builder.body("c", joint="prismatic", axis="z", xyz=(0, 0, -0.6), mass=0.3, limits=(-0.05, 0.05))
    return builder.robot()


@pytest.mark.parametrize("name", ["sticky", "puma560", "cart_pole"])
def test_dry_friction_and_stops(name):
    robot = sticky() if name == "sticky" else qddot.load(name)
    q, qd, rng = start(robot, (8,))
    qd[::2] = 0
    q = np.clip(q, robot.limits.lower, robot.limits.upper)
    tau = robot.gravity_torque(q) + rng.normal(size=q.shape)
    motion = robot.simulate(q, qd, 3 * STEPS * STEP, torque=tau, step=STEP)
    found = robot.rollout(step=STEP, method="rk4")(q, qd, tau, steps=3 * STEPS)
    assert_same_motion(found, motion)
    assert_array_equal(found.qd == 0, motion.qd == 0)
    assert 0.001 < np.mean(found.qd == 0) < 0.99


def test_parameters_of_each_motion():
    robot = qddot.load("arm7")
    q, qd, rng = start(robot)
    parameters = robot.parameters()[: 10 * len(robot.body_names)] * rng.uniform(0.8, 1.2, (6, 1))
    motion = robot.simulate(q, qd, STEPS * STEP, parameters=parameters, step=STEP, stops=False)
    found = robot.rollout(step=STEP, method="rk4", stops=False)(q, qd, steps=STEPS, parameters=parameters)
    assert_same_motion(found, motion)


def test_semi_implicit_by_hand():
    robot = qddot.load("arm7")
    q, qd, rng = start(robot)
    tau = rng.normal(size=q.shape)
    after = qd + STEP * robot.forward_dynamics(q, qd, tau)
    found = robot.rollout(step=STEP, stops=False)(q, qd, tau, steps=1)
    assert_allclose(found.qd[1], after, rtol=1e-12)
    assert_allclose(found.q[1], q + STEP * after, rtol=1e-12)


def test_stages_give_the_bits_of_the_step():
    """A loop over the stages, as a GPU has it, and the whole step."""
    robot = qddot.load("puma560")
    q, qd, rng = start(robot)
    control = rng.normal(size=q.shape)
    run = robot.rollout(PDLaw(30.0, 4.0), step=STEP, method="rk4", stops=False)
    run.robot = robot = without_dry_friction(robot)
    want = run(q, qd, control, steps=5)
    program = run.step(6, False).program(np.dtype(float), in_stages=True)
    kernel, zero = Kernel(program, np.dtype(float)), np.zeros_like(q)
    state = [q, qd, q, qd, zero, zero]
    for k in range(20):
        *state, margins = kernel(*state, control, np.array([k // 4 * STEP]), np.array([STEP]), np.array([float(k % 4)]))
        assert margins.min() > 0
    assert_array_equal(state[0], want.q[-1])
    assert_array_equal(state[1], want.qd[-1])


def test_quaternions_stay_unit():
    builder = Builder("swing").body("box", joint="free", mass=1.0, tensor=(0.2, 0.3, 0.4))
    robot = builder.body("rod", "box", axis="y", mass=0.4, com=(0.1, 0, -0.5), tensor=(0.1, 0.1, 0.1)).robot()
    q = robot.random_configuration(0)
    found = robot.rollout(step=STEP, method="rk4", stops=False)(q, 0.3 * np.ones(robot.nv), steps=100)
    motion = robot.simulate(q, 0.3 * np.ones(robot.nv), 100 * STEP, step=STEP, stops=False)
    assert_same_motion(found, motion)
    assert_allclose(np.linalg.norm(found.q[:, :4], axis=-1), 1, atol=1e-14)


def test_a_batch_is_its_motions():
    robot = sticky()
    q, qd, _ = start(robot, (20,))
    q = np.clip(q, robot.limits.lower, robot.limits.upper)
    run = robot.rollout(PDLaw(20.0, 1.0), step=STEP)
    together = run(q, qd, 0.1 * q, steps=40)
    for k in (0, 7, 19):
        alone = run(q[k], qd[k], 0.1 * q[k], steps=40)
        assert_array_equal(together.q[:, k], alone.q)


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
def test_loops_of_a_description_stay_closed(method):
    robot = qddot.load("four_bar")
    q = robot.project([1.0, -0.5, 1.0])
    qd = robot.project_velocity(q, [1.0, 0, 0])
    tau = np.array([0.02, 0.0, 0.0])
    found = robot.rollout(step=1e-3, method=method, stops=False)(q, qd, tau, steps=300, every=100)
    assert_allclose(robot.constraint_residual(found.q), 0, atol=1e-12)
    motion = robot.simulate(q, qd, 0.3, torque=tau, method="rk4", step=1e-3, every=100, stops=False)
    assert_allclose(found.q, motion.q, atol=1e-12 if method == "rk4" else 5e-3)
    with pytest.raises(InputError, match="violates the constraints, the connection of 'base' and 'rocker'"):
        robot.rollout(stops=False)(q + 0.1, None, np.zeros(3), steps=1)
    open_chain = robot.rollout(step=1e-3, method="rk4", stops=False, constraints=False)(q, qd, tau, steps=100)
    assert abs(robot.constraint_residual(open_chain.q[-1])).max() > 1e-4
    with pytest.raises(InputError, match='method="variational" knows none'):
        robot.rollout(method="variational")


def test_what_is_refused():
    robot = qddot.load("puma560")
    zero = np.zeros(6)
    with pytest.raises(InputError, match=r"'rk5'.*did you mean 'rk4'"):
        robot.rollout(method="rk5")
    with pytest.raises(InputError, match="how many steps"):
        robot.rollout()(zero, None, zero)
    with pytest.raises(InputError, match="no multiple of every=7"):
        robot.rollout()(zero, None, zero, steps=10, every=7)
    with pytest.raises(InputError, match="gave 2 joint forces, 6 are needed"):
        robot.rollout(lambda x: [1, 2])(zero, None, steps=1)
    with pytest.raises(InputError, match=r"laws of \(t, q, qd\) are for simulate"):
        robot.rollout(lambda t, q, qd: q)(zero, None, steps=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"cannot be traced.*no truth value"):
        robot.rollout(lambda x: [1.0 if x.q[0] else 0.0])(zero, None, steps=1)
    with pytest.raises(InputError, match="control of 6 positions, 12 with velocities or 18"):
        robot.rollout(PDLaw(1, 1))(zero, None, np.zeros(5), steps=1)
    with pytest.raises(InputError, match="neither dry friction nor stops"):
        robot.rollout(method="variational")(zero, None, steps=1)
    with pytest.raises(IntegrationError, match=r"diverges in step \d+ after t = .* of motion \[1\]"):
        robot.rollout(lambda x: [1e7 * v for v in x.qd], saturate=False, stops=False)([zero, zero], [zero, zero + 1], steps=100)


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_unchecked_the_other_motions_go_on(method, dtype):
    robot = qddot.load("ur5e")
    run = robot.rollout(lambda x: [x.control[0] * v for v in x.qd], method=method, saturate=False, stops=False)
    q, qd, gain = np.zeros((4, 6)), np.ones((4, 6)), np.array([[0.0], [1e7], [-1e-3], [0.0]])
    found = run(q, qd, gain, steps=60, every=10, dtype=dtype, check=False)
    sound = [0, 2, 3]
    wanted = run(q[sound], qd[sound], gain[sound], steps=60, every=10, dtype=dtype)
    for got, want, first in zip(found, wanted, (q, qd), strict=True):
        assert_array_equal(got[:, sound], want)
        assert np.isnan(got[-1, 1]).all()
        assert_array_equal(got[0], first)
    with pytest.raises(InputError, match="check='soon'"):
        run(q, qd, gain, steps=60, check="soon")
