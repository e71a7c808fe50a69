"""Compiled motion under constraints beside the linear algebra that knows every case."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot.constraints import elimination
from qddot.constraints.compiled import CompiledConstraints
from qddot.constraints.constrained import ConstrainedRobot
from tests.constraints.robots import CONSTRAINTS, random_robot, random_state, that_closes, that_moves
from tests.slow import slow_but

EPS = np.finfo(float).eps


def in_motion(robot, constraints=None, parameters=None, has_wrench=False) -> CompiledConstraints:
    return CompiledConstraints(ConstrainedRobot(robot._evaluate, constraints), parameters, has_wrench, {})


@pytest.fixture
def no_care(monkeypatch):
    """Every state must be computed by the kernel."""

    def refuse(self, *arguments, **inputs):
        raise AssertionError("not compiled")

    monkeypatch.setattr(ConstrainedRobot, "accelerations", refuse)
    monkeypatch.setattr(ConstrainedRobot, "settled", refuse)


def smallest_pivot(robot, q) -> float:
    """Of `A M^-1 A^T` with a diagonal of ones, eliminated from the last row up."""
    A = robot.constraint_jacobian(q)
    G = A @ np.linalg.solve(robot.mass_matrix(q), A.T)
    scale = 1 / np.sqrt(np.diag(G))
    return float((np.diag(np.linalg.cholesky(np.flip(scale[:, None] * G * scale))) ** 2).min())


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("case", slow_but(range(2), 0))
def test_the_same_accelerations(name, case, no_care):
    robot, q, qd, tau = that_moves(CONSTRAINTS[name], case)
    qdd, lam = in_motion(robot, CONSTRAINTS[name]).accelerations(q, qd, tau)
    wanted = robot.constrained_forward_dynamics(q, qd, tau, CONSTRAINTS[name])
    assert_allclose(qdd, wanted.qdd, atol=1e-12 * abs(wanted.qdd).max())
    assert_allclose(lam, wanted.lam, atol=1e-12 * abs(wanted.lam).max())


def test_external_forces_and_parameters(no_care):
    robot = random_robot(0)
    q, qd, tau = random_state(robot, 0)
    wrench, heavier = robot.external_wrench(q, {"l2": np.arange(6.0)}), robot.parameters() * 1.3
    found = in_motion(robot, CONSTRAINTS["connect"], heavier, True).accelerations(q, qd, tau, wrench=wrench)
    wanted = ConstrainedRobot(robot._evaluate, CONSTRAINTS["connect"], heavier).forward_dynamics(q, qd, tau, wrench, None, None)
    own = robot.constrained_forward_dynamics(q, qd, tau, CONSTRAINTS["connect"], f_ext=wrench)
    assert_allclose(found.qdd, wanted.qdd, rtol=1e-11)
    assert abs(found.qdd - own.qdd).max() > 1e-3


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_the_same_way_back(name):
    """A state that a step has led away from its constraints."""
    constraint = CONSTRAINTS[name]
    robot, q, qd = that_closes(constraint, 1)
    away = robot.integrate(q, 1e-7 * np.linspace(-1, 1, robot.nv))
    found, wanted = in_motion(robot, constraint).settled(away, qd), ConstrainedRobot(robot._evaluate, constraint).settled(away, qd)
    assert abs(robot.constraint_residual(found[0], constraint)).max(initial=0) < 1e-13
    assert abs(robot.constraint_jacobian(found[0], constraint) @ found[1]).max() < 1e-12
    assert_allclose(found[0], wanted[0], atol=1e-12)
    assert_allclose(found[1], wanted[1], atol=1e-11)


def test_accuracy_follows_from_the_pivot(cared_for):
    """Towards the stretched linkage, where its two rows become one: as accurate as the threshold promises, down to it."""
    robot, rng = qddot.load("four_bar"), np.random.default_rng(0)
    motion, compiled = in_motion(robot), 0
    for size in np.geomspace(1, 1e-6, 60):
        q, qd, tau = [rng.uniform(-3, 3), 0, 0] + size * rng.normal(size=3), rng.normal(size=3), rng.normal(size=3)
        pivot, before = smallest_pivot(robot, q), len(cared_for)
        found = motion.accelerations(q, qd, tau).qdd
        assert (len(cared_for) > before) == (pivot < elimination.INDEPENDENT)
        if pivot > elimination.INDEPENDENT:
            compiled += 1
            wanted = robot.constrained_forward_dynamics(q, qd, tau).qdd
            assert abs(found - wanted).max() < 100 * EPS / pivot * abs(wanted).max()
    assert 10 < compiled < 50


def test_rows_that_follow_from_others_are_known_beforehand(cared_for):
    robot = qddot.load("five_bar")
    q = robot.project(robot.neutral() + 0.1)
    qd, once = robot.project_velocity(q, np.ones(robot.nv)), ConstrainedRobot(robot._evaluate, None).constraints
    found = in_motion(robot, [*once, qddot.holonomic(lambda state: 3 * once[0].rows(state)[0])]).accelerations(q, qd, np.zeros(4))
    wanted = robot.constrained_forward_dynamics(q, qd, np.zeros(4))
    assert not cared_for
    assert_allclose(found.qdd, wanted.qdd, rtol=1e-10)


def test_rows_of_zeros_are_left_out(no_care):
    """The third row of a planar loop asks for nothing: no need to look at it."""
    robot = qddot.load("four_bar")
    q, qd, tau = robot.project([0.4, 1.8, 1.7]), np.array([1.0, -2, 0.5]), np.array([1.0, 2, 3])
    planar = in_motion(robot).accelerations(q, qd, tau)
    spatial = in_motion(robot, qddot.connect("closure", "tip")).accelerations(q, qd, tau)
    assert_array_equal(spatial.qdd, planar.qdd)
    assert_array_equal(spatial.lam, [*planar.lam, 0])


def test_rows_of_rounding_are_not_taken_for_constraints():
    """The same loop in a plane that is tilted, where the third row is not zero but 1e-17."""
    robot = qddot.load("four_bar")
    q, qd, tau = robot.project([0.4, 1.8, 1.7]), np.array([1.0, -2, 0.5]), np.array([1.0, 2, 3])

    def rows(state):
        apart = state.position("tip") - state.position("closure")
        return [apart.x, apart.y, 1e-17 * (apart.x - 2 * apart.y) * state.q[0]]

    found = in_motion(robot, qddot.holonomic(rows)).accelerations(q, qd, tau)
    assert_allclose(found.qdd, in_motion(robot).accelerations(q, qd, tau).qdd, rtol=1e-12)


def test_rows_that_are_constant_and_alike():
    slides = (
        qddot.Builder("slides")
        .body("x", joint="prismatic", axis="x", mass=1.0)
        .body("y", "x", "prismatic", axis="y", mass=2.0)
        .robot()
    )
    once = qddot.joint_equality("y_joint", "x_joint", 2.0)
    twice = (once, qddot.holonomic(lambda state: state.q[1] - 2 * state.q[0]))
    state = np.zeros(2), np.zeros(2), np.array([1.0, 0.0])
    assert_allclose(in_motion(slides, twice).accelerations(*state).qdd, in_motion(slides, once).accelerations(*state).qdd)


def test_a_batch_gives_the_bits_of_its_states(cared_for):
    """Also where some of its states are near a singular one."""
    robot, rng = qddot.load("four_bar"), np.random.default_rng(1)
    q = np.concatenate([rng.uniform(-3, 3, (40, 3)), [rng.uniform(-3, 3), 0, 0] + 1e-5 * rng.normal(size=(10, 3))])
    qd, tau = rng.normal(size=(2, 50, 3))
    motion = in_motion(robot)
    together = motion.accelerations(q, qd, tau)
    assert cared_for == [10]
    for i in range(len(q)):
        alone = motion.accelerations(q[i], qd[i], tau[i])
        assert_array_equal(together.qdd[i], alone.qdd)
        assert_array_equal(together.lam[i], alone.lam)


def test_a_massless_link_is_refused():
    robot = qddot.load("four_bar")
    with pytest.raises(qddot.SingularityError, match="mass matrix"):
        in_motion(robot, parameters=np.zeros(30)).accelerations(np.zeros(3), np.zeros(3), np.zeros(3))


@pytest.mark.parametrize(("links", "compiled"), [(20, True), (21, False)])
def test_a_robot_of_many_columns_is_not_compiled(links, compiled, cared_for):
    """A hanging chain whose end slides along a rod moves the same either way."""
    chain = qddot.Builder("chain")
    for i in range(links):
        at = {"parent": f"l{i - 1}", "xyz": (0.1, 0, 0)} if i else {}
        chain = chain.body(f"l{i}", axis="y", mass=0.1, com=(0.05, 0, 0), tensor=(1e-4,) * 3, **at)
    robot, rod = chain.robot(), qddot.point_on_plane(f"l{links - 1}", (0, 0, 0), (0, 0, 1))
    q, qd = np.linspace(0.2, -0.1, links), np.zeros(links)
    found = in_motion(robot, rod).accelerations(q, qd, qd)
    assert bool(cared_for) != compiled
    wanted = robot.constrained_forward_dynamics(q, qd, qd, rod).qdd
    assert_allclose(found.qdd, wanted, atol=1e-9 * abs(wanted).max())
