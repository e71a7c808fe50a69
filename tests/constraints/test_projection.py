"""Finding configurations that satisfy constraints."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import ConvergenceError, InputError
from tests.constraints.robots import random_robot

STARTS = {"four_bar": [0.4, 1.8, 1.7], "five_bar": [2.1, -1.23, 1.04, 1.23], "delta": np.zeros(12)}


@pytest.mark.parametrize("name", STARTS)
def test_closed_chains_close_from_anywhere_near(name):
    robot = qddot.load(name)
    start = np.array(STARTS[name]) + np.random.default_rng(0).normal(size=(50, robot.nq)) * 0.2
    q = robot.project(start)
    assert abs(robot.constraint_residual(q)).max() <= 1e-12
    assert_allclose(robot.project(q), q, rtol=0)  # what is closed stays as it is
    assert abs(q - start).max() < 2


def test_the_legs_of_a_delta_are_as_long_as_they_are():
    robot = qddot.load("delta")
    q = robot.project(robot.neutral())
    for k in "123":
        elbow, end, corner = (robot.transform(q, f"{x}{k}")[:3, 3] for x in ("elbow", "end", "corner"))
        assert np.linalg.norm(corner - elbow) == pytest.approx(0.6, abs=1e-12)
        assert_allclose(end, corner, atol=1e-12)
    assert_allclose(robot.transform(q, "platform")[:2, 3], 0, atol=1e-12)
    assert robot.nv - np.linalg.matrix_rank(robot.constraint_jacobian(q)) == 3


def test_quaternions_stay_unit():
    robot = random_robot(0, joints=4, kinds=("spherical", "free"))
    q0 = robot.random_configuration(1)
    fixed = qddot.fixed_frame("l3", robot.transform(robot.random_configuration(2), "l3"))
    q = robot.project(q0, fixed)
    assert abs(robot.constraint_residual(q, fixed)).max() <= 1e-12
    assert_allclose(robot.integrate(q, np.zeros(robot.nv)), q, atol=1e-14)


def test_velocity_constraints_do_not_move_q():
    robot = qddot.load("point_mass_2r")
    assert_allclose(robot.project([0.3, 0.4], qddot.contact_point("tip")), [0.3, 0.4])


def test_a_loop_that_cannot_close_says_what_is_left():
    robot = qddot.load("point_mass_2r")
    far = qddot.point_on_line("tip", (3, 0, 0), (0, 0, 1))
    with pytest.raises(
        ConvergenceError, match=r"no configuration found.* in state \[0\]: \|phi\| = 1\.?\d* is left \(tolerance 1e-12\)"
    ):
        robot.project([[0.3, 0.4]] * 2, far)


def test_inputs_are_checked():
    robot = qddot.load("four_bar")
    with pytest.raises(InputError, match=r"q has shape \(2,\)"):
        robot.project([0, 0])
    with pytest.raises(InputError, match=r"q\[0\] is nan"):
        robot.project([np.nan, 0, 0])
    with pytest.raises(InputError, match=r"qd has shape"):
        robot.project_velocity([0, 0, 0], [0, 0])


def test_projection_does_not_wind_joints_up():
    """From near a singular configuration Newton's first step would be many turns long."""
    robot = qddot.load("four_bar")
    assert abs(robot.project(robot.neutral() + 0.1)).max() < np.pi
