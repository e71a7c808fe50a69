"""Many steps of one motion by one call: the same bits as step by step, and as in a batch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import qddot
from qddot.constraints import compiled
from qddot.constraints.following import dependent
from qddot.constraints.motion_program import Following
from qddot.simulate import fixed_step


def never(t, q, qd):
    return 1.0


def first_states(robot, count):
    rng = np.random.default_rng(3)
    return 0.3 * rng.uniform(-1, 1, (count, robot.nq)), rng.normal(size=(count, robot.nv))


def assert_same(one, other):
    assert_array_equal(one.q, other.q)
    assert_array_equal(one.qd, other.qd)


@pytest.fixture
def four_bar():
    robot = qddot.load("four_bar")
    q = robot.project([0.4, 1.8, 1.7])
    return robot, q, robot.project_velocity(q, [0.3, 0.6, 0.9])


LAWS = {
    "none": None,
    "constant": np.linspace(-1, 1, 6),
    "table": np.random.default_rng(0).normal(size=(151, 6)),
}


@pytest.mark.parametrize("law", LAWS)
def test_dry_friction_and_stops_ahead_and_step_by_step(law):
    """Watching for an event takes the motion step by step."""
    robot = qddot.load("puma560")
    q, qd = (x[0] for x in first_states(robot, 1))
    ahead = robot.simulate(q, qd, 0.15, torque=LAWS[law])
    assert_same(ahead, robot.simulate(q, qd, 0.15, torque=LAWS[law], events=never))


def test_a_sampled_controller_is_asked_as_often():
    robot, asked = qddot.load("two_link"), []

    class Damping:
        period = 0.01

        def __call__(self, t, q, qd):
            asked.append(t)
            return -qd

    ahead = robot.simulate([0.1, 0.2], None, 0.1, torque=Damping())
    before = list(asked)
    asked.clear()
    assert_same(ahead, robot.simulate([0.1, 0.2], None, 0.1, torque=Damping(), events=never))
    assert before == asked


def test_loops_ahead_and_step_by_step(four_bar):
    robot, q, qd = four_bar
    assert_same(robot.simulate(q, qd, 0.4), robot.simulate(q, qd, 0.4, events=never))


def test_motions_of_a_batch_are_those_ahead():
    """Some of them run into stops, which ends the way ahead."""
    robot = qddot.load("puma560")
    q, qd = first_states(robot, 40)
    batch = robot.simulate(q, 4 * qd, 0.2)
    assert batch._impacts
    for i in (0, 17, 39):
        alone = robot.simulate(q[i], 4 * qd[i], 0.2)
        assert_array_equal(batch.q[:, i], alone.q)
        assert_array_equal(batch.qd[:, i], alone.qd)


def test_what_sticks_is_decided_as_without_a_compiled_step(monkeypatch):
    robot = qddot.load("puma560")
    q, qd = first_states(robot, 30)
    found = robot.simulate(q, qd, 0.1, torque=np.linspace(-2, 2, 6))
    monkeypatch.setattr(fixed_step, "SWITCHED_COLUMNS", 0)
    wanted = robot.simulate(q, qd, 0.1, torque=np.linspace(-2, 2, 6))
    assert_array_equal(found.qd == 0, wanted.qd == 0)
    assert_allclose(found.q, wanted.q, atol=1e-11)
    assert_allclose(found.qd, wanted.qd, atol=1e-9)


def test_rows_that_were_said_to_follow_but_do_not(monkeypatch, four_bar):
    """The programs see it, and the motion is what it is."""
    robot, q, qd = four_bar
    wanted = robot.simulate(q, qd, 0.05)
    monkeypatch.setattr(compiled, "following", lambda _: Following((1,), (1,)))
    found = qddot.load("four_bar").simulate(q, qd, 0.05)
    assert_allclose(found.q, wanted.q, atol=1e-11)
    assert abs(robot.constraint_residual(found.q)).max() < 1e-11


def test_which_rows_depend_on_rows_before():
    A = np.array([[1.0, 2, 0], [0, 0, 0], [2, 4, 0], [0, 1, 1], [3, 8, 2], [0, 0, 1]])
    assert dependent(A) == [1, 2, 4]
