"""Numbers of a robot that are given in each call: beside robots that were described with those numbers."""

from __future__ import annotations

import pickle
import shutil
import subprocess

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot import InputError, UnknownNameError

NAMES = (
    "gravity",
    "payload",
    "link3.mass",
    "link2.com",
    "link2.inertia",
    "joint2.viscous",
    "joint3.coulomb",
    "joint4.stiffness",
    "joint5.rotor_inertia",
    "joint3.xyz",
)


@pytest.fixture(scope="module")
def robot():
    return qddot.load("puma560").with_variable(*NAMES)


def drawn(robot, lead=(), seed=0):
    """Other numbers than described, such as a robot could have."""
    rng = np.random.default_rng(seed)
    return {
        name: x + 0.05 * rng.uniform(size=(*lead, *x.shape)) * np.maximum(np.abs(x), 0.5) for name, x in robot.variables.items()
    }


def states(lead=(), seed=1):
    return np.random.default_rng(seed).normal(size=(3, *lead, 6))


QUANTITIES = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "coriolis_matrix": 2,
    "gravity_torque": 1,
    "friction_torque": "qd",
    "spring_torque": 1,
    "transform": 1,
    "jacobian": 1,
    "kinetic_energy": 2,
    "potential_energy": 1,
    "center_of_mass": 1,
    "inverse_dynamics_derivatives": 3,
    "forward_dynamics_derivatives": 3,
    "regressor": 3,
}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_each_state_has_a_robot_of_its_own(robot, quantity):
    values, state, needs = drawn(robot, (3,)), states((3,)), QUANTITIES[quantity]
    arrays = [state[1]] if needs == "qd" else state[:needs]
    found = getattr(robot, quantity)(*arrays, variables=values)
    for i in range(3):
        described = robot.with_values({name: x[i] for name, x in values.items()})
        expected = getattr(described, quantity)(*(x[i] for x in arrays))
        for a, b in zip(*((x if isinstance(x, tuple) else (x,)) for x in (found, expected))):
            assert_allclose(a[i], b, rtol=1e-11, atol=1e-11 * np.abs(b).max() + 1e-13)


def test_not_given_is_as_described(robot):
    plain, state = qddot.load("puma560"), states((4,))
    assert_allclose(robot.inverse_dynamics(*state), plain.inverse_dynamics(*state), rtol=1e-13)
    some = robot.inverse_dynamics(*state, variables={"payload": 2.0})
    assert_allclose(some, plain.with_payload(2.0).inverse_dynamics(*state), rtol=1e-12, atol=1e-12)
    one = [x[0] for x in state]
    assert_allclose(robot.inverse_dynamics(*one), plain.inverse_dynamics(*one), rtol=1e-13)


def test_forms_in_which_they_are_given(robot):
    values, state = drawn(robot, (4,)), states((4,))
    packed = np.concatenate([x.reshape(4, -1) for x in values.values()], -1)
    expected = robot.inverse_dynamics(*state, variables=values)
    assert_array_equal(robot.inverse_dynamics(*state, variables=packed), expected)
    grid = robot.inverse_dynamics(*(x[:, None] for x in state), variables=values)
    assert_array_equal(grid[np.arange(4), np.arange(4)], expected)
    found = robot.compute(["mass_matrix", "gravity_torque"], state[0], variables=values)
    assert_array_equal(found["gravity_torque"], robot.gravity_torque(state[0], variables=values))
    step = robot.bind("inverse_dynamics")
    step.q, step.qd, step.qdd = (x[0] for x in state)
    assert_array_equal(step(), robot.inverse_dynamics(*(x[0] for x in state)))
    step.variables = packed[0]
    assert_array_equal(step(), expected[0])


def test_derivatives_with_respect_to_them(robot):
    values, state, h = drawn(robot), states(), 1e-6
    packed = np.concatenate([np.atleast_1d(x) for x in values.values()])
    for quantity in ("inverse_dynamics", "forward_dynamics", "mass_matrix"):
        arrays = state[: QUANTITIES[quantity]]
        slope = robot.derivative(quantity, *arrays, variables=packed)
        call = getattr(robot, quantity)
        for k in range(len(packed)):
            e = h * np.eye(len(packed))[k]
            difference = (call(*arrays, variables=packed + e) - call(*arrays, variables=packed - e)) / (2 * h)
            assert_allclose(slope[..., k], difference, rtol=1e-5, atol=1e-6 * np.abs(slope).max())
    exact = robot.inverse_dynamics_derivatives(*state, variables=packed).dtau_dqd
    assert_allclose(robot.derivative("inverse_dynamics", *state, wrt="qd", variables=packed), exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("method", ["semi_implicit", "rk4", "variational"])
def test_rollouts(method):
    names = ("payload", "gravity", "joint1.viscous", "joint2.xyz", "joint2.stiffness")
    robot = qddot.load("two_link").with_variable(*names)
    rng = np.random.default_rng(0)
    values = {name: x + 0.1 * rng.uniform(size=(3, *x.shape)) for name, x in robot.variables.items()}
    run = robot.rollout(step=1e-3, method=method, stops=False)
    q, _ = run(np.zeros(2), None, np.array([0.5, 0.1]), steps=50, every=50, variables=values)
    assert np.ptp(q[-1], axis=0).min() > 1e-5
    for i in range(3):
        one = robot.with_values({name: x[i] for name, x in values.items()}).rollout(step=1e-3, method=method, stops=False)
        assert_allclose(q[:, i], one(np.zeros(2), None, np.array([0.5, 0.1]), steps=50, every=50).q, rtol=1e-10, atol=1e-12)
    described = run(np.zeros(2), None, np.array([0.5, 0.1]), steps=50, every=50)
    plain = qddot.load("two_link").rollout(step=1e-3, method=method, stops=False)
    assert_allclose(described.q, plain(np.zeros(2), None, np.array([0.5, 0.1]), steps=50, every=50).q, rtol=1e-12, atol=1e-14)


DRY = ("joint1.coulomb", "joint1.static", "joint2.coulomb", "joint1.load_friction")


def dry_arms(lead):
    """Arms with friction that sticks, the first of them without any at its first joint."""
    rng = np.random.default_rng(3)
    slides = rng.uniform(0, 2, lead)
    slides[0] = 0.0
    numbers = slides, slides * 1.5, rng.uniform(0, 8, lead), rng.uniform(0, 0.3, lead)
    return qddot.load("two_link").with_variable(*DRY), dict(zip(DRY, numbers))


@pytest.mark.parametrize("method", ["semi_implicit", "rk4"])
def test_dry_friction_varies_in_a_rollout(method):
    robot, values = dry_arms(4)
    q, _, tau = np.random.default_rng(0).normal(size=(3, 4, 2))
    found = robot.rollout(step=0.005, method=method)(q, None, tau, steps=40, variables=values)
    assert np.ptp(found.q[..., 1], axis=0).min() == 0  # one of them sticks
    for i in range(4):
        one = robot.with_values({name: x[i] for name, x in values.items()}).rollout(step=0.005, method=method)
        assert_array_equal(found.q[:, i], one(q[i], None, tau[i], steps=40).q)


def test_gradient_with_respect_to_dry_friction():
    robot, values = dry_arms(4)
    run, (q, qd, tau), h = robot.rollout(step=0.005), np.random.default_rng(0).normal(size=(3, 4, 2)), 1e-7
    way = run.differentiable(q, qd, tau, steps=40, every=40, variables=values)
    weight = np.random.default_rng(1).normal(size=way.states.q.shape)
    slope = way(q=weight).variables
    assert np.abs(slope[:, [0, 2, 3]]).max(0).min() > 1e-3
    for k, name in enumerate(DRY):
        moved = [run(q, qd, tau, steps=40, every=40, variables=values | {name: values[name] + s * h}).q for s in (1, -1)]
        assert_allclose(slope[:, k], (weight * (moved[0] - moved[1])).sum((0, 2)) / (2 * h), rtol=1e-4, atol=1e-6)


def test_what_holds_at_rest_is_what_slides_unless_it_is_said():
    drive = qddot.Drive(coulomb=1.0, stribeck_velocity=0.1)
    plain = qddot.Builder("rod").body("a", axis="z", inertia=qddot.Inertia(1.0), drive=drive).robot()
    assert plain.with_variable("a_joint.static").variables["a_joint.static"] == 1.0
    assert_allclose(plain.with_variable("a_joint.static").friction_torque([0.2]), plain.friction_torque([0.2]))


def test_smoothing_does_not_begin_in_a_rollout():
    robot = qddot.load("two_link").with_variable("joint1.smoothing_velocity")
    with pytest.raises(InputError, match=r"joint1.smoothing_velocity cannot vary in a rollout from 0"):
        robot.rollout()(np.zeros(2), None, steps=2)


# beyond single quantities -----------------------------------------------------------------------------------------------------

ARM = ("payload", "gravity", "body_2.mass", "joint2.viscous", "joint2.stiffness", "joint2.xyz", "joint1.rotor_inertia")
WALL = qddot.point_on_plane("body_2", point=(0.5, 0, 0), normal=(1, 0, 0))
OF_TASKS = ("J", "Jdot", "V", "M_C", "J_bar", "N", "C_C", "c_C", "g_C", "d_C", "M", "free")


def projected(robot, q, qd, **given):
    q = robot.project(q, WALL, **given)
    return q, robot.project_velocity(q, qd, WALL, **given)


def constrained(robot, q, qd, tau, **given):
    q, qd = projected(robot, q, qd, **given)
    found = robot.constrained_forward_dynamics(q, qd, tau, WALL, tolerance=1e-6, **given)
    again = robot.constrained_inverse_dynamics(q, qd, found.qdd, WALL, found.lam, **given)
    rows = [getattr(robot, name)(q, WALL, **given) for name in ("constraint_residual", "constraint_jacobian")]
    rate, P = robot.constraint_jacobian_dot(q, qd, WALL, **given), robot.constraint_projections(q, WALL, **given)
    return (q, qd, *found, again, *rows, rate, *P, robot.constraint_wrench(q, found.lam, WALL, moment=False, **given))


def linear(robot, q, qd, tau, **given):
    found, held = robot.linearize(q, qd, tau, **given), robot.linearize(q, **given)
    return found.A, found.B, found.qdd, held.A, held.tau


def at_the_tip(robot, q, qd, tau, **given):
    found = robot.task_space(q, qd, rows=["x", "y"], **given)
    return (*(getattr(found, name) for name in OF_TASKS), found.forward_dynamics(tau=tau), found.regressor(tau))


def simulated(method):
    def call(robot, q, qd, tau, **given):
        found = robot.simulate(q, qd, 0.1, torque=tau, step=0.01, method=method, every=10, **given)
        return found.q[-1], found.energy[-1]

    return call


def under_constraints(robot, q, qd, tau, **given):
    q, qd = projected(robot, q, qd, **given)
    return (robot.rollout(step=0.01, stops=False, constraints=WALL)(q, qd, tau, steps=5, **given).q[-1],)


COMPOSED = {
    "constrained": constrained,
    "linearize": linear,
    "task_space": at_the_tip,
    "rk4": simulated("rk4"),
    "variational": simulated("variational"),
    "rollout under constraints": under_constraints,
}


@pytest.mark.parametrize("what", COMPOSED)
def test_every_robot_of_a_batch_is_as_it_is_alone(what):
    robot, rng = qddot.load("two_link").with_variable(*ARM), np.random.default_rng(0)
    values = drawn(robot, (3,))
    values["joint2.xyz"][..., 2] = 0.0
    q, qd, tau = rng.normal(size=(3, 3, 2))
    found = COMPOSED[what](robot, q, qd, tau, variables=values)
    for i in range(3):
        one = COMPOSED[what](robot.with_values({name: x[i] for name, x in values.items()}), q[i], qd[i], tau[i])
        for a, b in zip(found, one, strict=True):
            assert_allclose(a[i], b, rtol=1e-10, atol=1e-11 * np.abs(b).max() + 1e-13)


def test_one_state_of_many_robots():
    robot, loads = qddot.load("two_link").with_variable("payload"), np.array([0.0, 1.0, 2.0])
    given, q, qd = {"variables": {"payload": loads}}, np.array([0.3, 0.8]), np.array([0.2, -0.1])
    for found in (
        robot.linearize(q, qd, **given).A,
        robot.task_space(q, qd, rows=["x", "y"], **given).M_C,
        robot.constraint_projections(q, WALL, **given).P,
        robot.simulate(q, qd, 0.01, step=0.01, **given).q[-1],
        robot.project(q, WALL, **given),
    ):
        assert len(found) == 3
    assert robot.simulate(q, qd, 0.01, step=0.01, **given).q.shape == (2, 3, 2)


def test_where_variables_are_refused():
    robot, q = qddot.load("two_link").with_variable("payload"), np.array([0.3, 0.8])
    one = {"payload": 1.0}
    with pytest.raises(InputError, match=r"no variables under constraints: robot.rollout"):
        robot.simulate(robot.project(q, WALL), None, 0.1, constraints=WALL, variables=one)
    dry, values = dry_arms(2)
    with pytest.raises(InputError, match=r"joint1.coulomb cannot vary in simulate.*robot.rollout takes it"):
        dry.simulate(q, None, 0.1, variables=values)
    with pytest.raises(InputError, match=r"q0 \(3,\), qd0 \(\) and parameters or variables \(2,\) do not fit"):
        robot.simulate(np.zeros((3, 2)), None, 0.1, variables={"payload": np.ones(2)})
    with pytest.raises(InputError, match="leading dimensions of q and variables do not fit"):
        robot.project(np.zeros((3, 2)), WALL, variables={"payload": np.ones(2)})
    with pytest.raises(InputError, match="this robot has no variables"):
        qddot.load("two_link").linearize(q, variables=one)
    with pytest.raises(qddot.SingularityError, match="'joint1' has dry friction and rests"):
        dry.linearize(q, variables=values)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_exported_c_has_them_as_an_input(tmp_path):
    names = ("payload", "gravity", "joint1.viscous", "joint2.coulomb", "joint1.stiffness", "joint2.rotor_inertia", "joint2.xyz")
    robot = qddot.load("two_link").with_variable(*names, "body_2.mass", "body_1.com", "body_2.inertia")
    robot.export_c(tmp_path, ["inverse_dynamics", "forward_dynamics"], name="arm")
    header = (tmp_path / "arm.h").read_text()
    assert "variables[1..3]  gravity  0, -9.81, 0\n" in header
    assert "variables[7]  joint2.rotor_inertia  " in header
    command = ["cc", "-std=c99", "-Wall", "-Werror", "arm.c", "arm_selftest.c", "-o", "selftest", "-lm"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([tmp_path / "selftest"], check=True, capture_output=True)


def test_a_robot_keeps_its_variables(robot):
    again = pickle.loads(pickle.dumps(robot))
    assert list(again.variables) == list(NAMES)
    moon = robot.with_gravity([0, 0, -1.62])
    assert moon.variables["gravity"].tolist() == [0, 0, -1.62]  # as described now
    state = states()
    assert_allclose(
        moon.gravity_torque(state[0]), qddot.load("puma560").with_gravity([0, 0, -1.62]).gravity_torque(state[0]), rtol=1e-12
    )
    assert robot.variables["gravity"].tolist() == [0, 0, -9.81]
    assert robot.with_values({}).variables == {}


def test_what_cannot_vary_or_is_not_there(robot):
    plain = qddot.load("puma560")
    with pytest.raises(UnknownNameError, match=r"no variable 'link3.mas': did you mean 'link3.mass'"):
        plain.with_variable("link3.mas")
    with pytest.raises(UnknownNameError, match=r"no variable 'joint9.viscous'"):
        plain.with_variable("joint9.viscous")
    with pytest.raises(InputError, match="gear_ratio cannot vary"):
        plain.with_variable("joint1.gear_ratio")
    with pytest.raises(InputError, match="each once"):
        robot.with_variable("payload")
    with pytest.raises(InputError, match="each once"):
        plain.with_variable()
    with pytest.raises(InputError, match="takes names such as"):
        plain.with_variable(3)
    state = states((3,))
    with pytest.raises(InputError, match="this robot has no variables"):
        plain.inverse_dynamics(*state, variables={"payload": 1.0})
    with pytest.raises(UnknownNameError, match="no variable 'paylod': did you mean 'payload'"):
        robot.inverse_dynamics(*state, variables={"paylod": 1.0})
    with pytest.raises(InputError, match=r"gravity has shape \(2,\), expected \(..., 3\)"):
        robot.inverse_dynamics(*state, variables={"gravity": [0, 0]})
    with pytest.raises(InputError, match=r"payload is nan|variables\[.*\] is nan"):
        robot.inverse_dynamics(*state, variables={"payload": np.nan})
    with pytest.raises(InputError, match=r"do not fit each other: gravity \(2, 3\), payload \(3,\)"):
        robot.inverse_dynamics(*state, variables={"payload": np.zeros(3), "gravity": np.zeros((2, 3))})
    with pytest.raises(InputError, match=r"has no input 'variables'.*with_variable"):
        plain.derivative("inverse_dynamics", *state)
    with pytest.raises(InputError, match="payload is a variable of this robot"):
        robot.kernel("inverse_dynamics", inertias="runtime")
