"""The implicit step: solved where a solution exists, in batches, in parts, and under constraints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import InputError, IntegrationError
from qddot.simulate.implicit_step import ImplicitStep


@pytest.fixture
def parted(monkeypatch):
    """Into how many halves the parted steps were parted, call by call."""
    found, call = [], ImplicitStep.__call__

    def count(self, inputs, parts=10):
        found.append(10 - parts)
        return call(self, inputs, parts)

    monkeypatch.setattr(ImplicitStep, "__call__", count)
    return found


@pytest.mark.parametrize("step", [0.005, 0.02, 0.05])
def test_a_harmless_motion_does_not_diverge(step):
    """An arm that swings chaotically, in steps of up to a tenth of its fastest turns."""
    arm = qddot.load("two_link")
    motion = arm.simulate([np.pi / 3, np.pi / 2], [0, 0], 5.0, method="variational", step=step)
    assert abs(motion.energy - motion.energy[0]).max() < 0.15 * motion.kinetic_energy.max() * (step / 0.05) ** 0.5


def test_the_careful_solution_is_the_compiled_one():
    arm = qddot.load("two_link")
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 50, 2)) * np.array([1, 3, 1])[:, None, None]
    inputs = {"q": q, "p": (arm.mass_matrix(q) @ qd[..., None])[..., 0], "tau": tau, "dt": np.full((50, 1), 0.01)}
    compiled = arm._evaluate("variational_step", inputs, {})
    for found, wanted in zip(ImplicitStep(arm._evaluate, None)(inputs), compiled):
        assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_batch_of_long_steps_is_its_motions(parted):
    """Steps for which simple iteration is not enough, of some motions of a batch only."""
    arm, q0 = qddot.load("acrobot"), np.random.default_rng(1).uniform(-3, 3, (30, 2))
    batch = arm.simulate(q0, None, 2.0, method="variational", step=0.1, stops=False)
    assert parted
    for i in (3, 17):
        assert_array_equal(batch.q[:, i], arm.simulate(q0[i], None, 2.0, method="variational", step=0.1, stops=False).q)


def test_steps_that_lead_elsewhere_are_parted(parted):
    """At 30 rad/s a step of 0.1 s is half a turn: iteration would end far off, where the energy is another one."""
    arm = qddot.load("two_link")
    motion = arm.simulate([np.pi / 3, np.pi / 2], [0, 0], 5.0, method="variational", step=0.1)
    assert max(parted) > 0
    assert abs(motion.energy - motion.energy[0]).max() < 0.25 * motion.kinetic_energy.max()


def test_what_does_diverge():
    arm = qddot.load("two_link")
    with pytest.raises(IntegrationError, match="the motion diverges in step"):
        arm.simulate([0.3, 0.2], None, 2.0, torque=lambda t, q, qd: 500 * qd, method="variational")


@pytest.mark.parametrize(
    "name", ["four_bar", pytest.param("five_bar", marks=pytest.mark.slow), pytest.param("delta", marks=pytest.mark.slow)]
)
def test_loops_by_variational_steps(name):
    """Loops stay closed, the order is two, and parameters and batches go through."""
    robot = qddot.load(name)
    q = robot.project({"four_bar": [0.4, 1.8, 1.7]}.get(name, robot.neutral() + 0.1))
    qd = robot.project_velocity(q, np.linspace(1, 2, robot.nv))
    exact = robot.simulate(q, qd, [0, 0.1], method="DOP853", rtol=1e-11, atol=1e-12, stops=False)
    run = lambda h, **how: robot.simulate(q, qd, 0.1, method="variational", step=h, stops=False, **how)  # noqa: E731
    motions = [run(h) for h in (4e-3, 2e-3)]
    errors = [abs(m.q[-1] - exact.q[-1]).max() for m in motions]
    assert 3.3 < errors[0] / errors[1] < 4.7
    for motion in motions:
        assert abs(robot.constraint_residual(motion.q)).max() < 1e-12
        assert abs((robot.constraint_jacobian(motion.q) @ motion.qd[..., None])[..., 0]).max() < 1e-11
    heavy = run(4e-3, parameters=robot.parameters() * np.array([[1.0], [1.5]]))
    assert_allclose(heavy.q[:, 0], motions[0].q, atol=1e-9)


def crank_rocker():
    """A four-bar whose crank goes round, under gravity."""
    rod = lambda length: qddot.Inertia.rod(1.0, length, "x").shifted((length / 2, 0, 0))  # noqa: E731
    builder = (
        qddot.Builder(gravity=(0, -9.81, 0))
        .body("crank", inertia=rod(0.1))
        .body("coupler", "crank", xyz=(0.1, 0, 0), inertia=rod(0.3))
    )
    builder = builder.body("rocker", xyz=(0.35, 0, 0), inertia=rod(0.25)).frame("end", "coupler", xyz=(0.3, 0, 0))
    return builder.frame("pin", "rocker", xyz=(0.25, 0, 0)).robot(), qddot.connect("end", "pin", "xy")


def test_energy_of_a_loop_does_not_drift():
    """The error of the energy after forty turns is that of the first."""
    linkage, loop = crank_rocker()
    q = linkage.project([0.5, 0.3, 1.5], loop)
    qd = linkage.project_velocity(q, [15.0, 0, 0], loop)
    motion = linkage.simulate(q, qd, 6.0, method="variational", step=0.01, constraints=loop)
    error, third = abs(motion.energy - motion.energy[0]) / motion.kinetic_energy.max(), len(motion) // 3
    assert np.ptp(motion.q[:, 0]) > 40
    assert error.max() < 0.1
    assert error[-third:].max() < 1.2 * error[:third].max()


def test_rolling_is_refused():
    disk = qddot.Builder().body("x", joint="prismatic", axis="x", mass=1.0).body("y", "x", "prismatic", axis="y", mass=1.0).robot()
    edge = qddot.pfaffian(lambda state: state.qd[0] - state.qd[1] * state.q[0])
    with pytest.raises(InputError, match="does not know constraints of velocities"):
        disk.simulate([0, 0], None, 1.0, constraints=edge, method="variational")


def test_stiff_friction_slows_down():
    """A light wrist in thick oil: friction is taken in the middle of a step, so that long steps are stable."""
    arm = qddot.load("arm7")
    motion = arm.simulate(np.full(7, 0.3), None, 1.0, method="variational", step=0.03, stops=False)
    fine = arm.simulate(np.full(7, 0.3), None, 1.0, step=1e-3, stops=False)
    assert_allclose(motion.q[-1], fine.q[-1], atol=0.1)


def test_friction_keeps_the_order():
    """Friction of both directions, quadratic and smoothed: half the step, a quarter of the error."""
    from qddot import Drive, Inertia

    thick = Drive(viscous=(0.3, 0.2), viscous_quadratic=0.1, coulomb=0.3, static=0.5, stribeck_velocity=1.0, smoothing_velocity=0.5)
    link = Inertia(1.0, (-0.1, 0, 0.02), np.diag([0.01, 0.02, 0.03]))
    rows = [(0.3, np.pi / 2, 0, 0), (0.2, 0, 0, 0)]
    robot = qddot.from_dh(rows, convention="standard", inertias=[link] * 2, drives=[thick, thick])
    exact = robot.simulate([0.3, 0.2], [3.0, 1.0], [0, 0.5], method="DOP853", rtol=1e-11, atol=1e-11).q[-1]
    errors = [
        abs(robot.simulate([0.3, 0.2], [3.0, 1.0], 0.5, method="variational", step=h).q[-1] - exact).max() for h in (1e-2, 5e-3)
    ]
    assert errors[0] < 1e-3
    assert 3.3 < errors[0] / errors[1] < 5
    loaded = qddot.from_dh(
        rows, convention="standard", inertias=[link] * 2, drives=[Drive(load_friction=0.1, smoothing_velocity=0.2)] * 2
    )
    with pytest.raises(InputError, match="does not know friction that grows with the load"):
        loaded.simulate([0.3, 0.2], None, 0.5, method="variational")
