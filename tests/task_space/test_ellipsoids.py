"""Ellipsoids and manipulability."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot.errors import InputError
from tests.task_space.arms import TOOL, arm

RNG = np.random.default_rng(2)
XYZ = ("x", "y", "z")


@pytest.mark.parametrize("name", ["revolute", "mixed", "seven"])
@pytest.mark.parametrize("rows", [XYZ, ("y", "x"), ("wx", "wy", "wz")])
def test_axes_are_those_of_their_definitions(name, rows):
    a = arm(name)
    found, t = a.robot.ellipsoids(a.q, TOOL, rows), a.task(rows=rows)
    for shape, matrix in (
        (found.mass, t.M_C @ t.M_C),
        (found.velocity, t.J @ t.J.T),
        (found.force, np.linalg.inv(t.J @ t.J.T)),
        (found.joint, t.M @ t.M),
    ):
        assert (np.diff(shape.lengths) <= 0).all()
        assert_allclose(shape.directions.T @ shape.directions, np.eye(len(matrix)), atol=1e-12)
        made = shape.directions * shape.lengths**2 @ shape.directions.T
        assert_allclose(made, matrix, rtol=1e-8, atol=1e-9 * abs(matrix).max())
    assert_allclose(found.mobility @ t.M_C, np.eye(len(rows)), atol=1e-9)


def test_effective_mass_is_felt_by_a_push():
    """A force f along u, nothing else acting, accelerates the frame along u by f / m(u)."""
    a = arm("seven")
    found, u = a.robot.ellipsoids(a.q, TOOL), RNG.normal(size=3)
    u /= np.linalg.norm(u)
    floating, rest = a.robot.with_gravity((0, 0, 0)), np.zeros(7)
    springs = floating.spring_torque(a.q)
    qdd = floating.forward_dynamics(a.q, rest, springs, f_ext={TOOL: [0, 0, 0, *(6 * u)]})
    pushed = u @ (a.robot.jacobian(a.q, TOOL, "world_aligned")[3:] @ qdd)
    assert_allclose(found.effective_mass(u), 6 / pushed, rtol=1e-9)
    assert_allclose(found.effective_mass([3 * u, -u]), [6 / pushed] * 2, rtol=1e-9)
    assert found.mass.lengths[-1] <= found.effective_mass(u) <= found.mass.lengths[0]


def test_the_slider_of_the_rp_arm_feels_lighter_farther_out():
    robot = qddot.load("rp_arm")
    out = np.array([0.4, 0.8, 1.6])
    q = np.stack([0 * out, out], axis=-1)
    found = robot.ellipsoids(q, rows=("x", "y"))
    m1, L1, I1, m2, I2 = 2.0, 0.4, 0.03, 1.5, 0.02
    assert_allclose(found.mass.lengths, np.stack([m2 + (m1 * L1**2 + I1 + I2) / out**2, 0 * out + m2], axis=-1), rtol=1e-12)
    turning = m1 * L1**2 + m2 * out**2 + I1 + I2
    assert_allclose(np.sort(found.joint.lengths), np.sort(np.stack([turning, 0 * out + m2], axis=-1)), rtol=1e-12)


def test_stretched_arm():
    found = qddot.load("point_mass_2r").ellipsoids([0, np.pi], rows=("x", "y"))
    assert found.mass.lengths[0] == found.force.lengths[0] == np.inf
    assert found.velocity.lengths[1] == 0
    assert_allclose(abs(found.mass.directions[:, 0]), [1, 0], atol=1e-12)
    flat = qddot.load("point_mass_2r").ellipsoids([0, 1], rows=("x", "y", "z"))  # of a planar arm it is the plane by default
    assert flat.mass.lengths[0] == np.inf
    assert flat.effective_mass([0, 0, 1]) == np.inf
    assert np.isfinite(flat.mass.lengths[1:]).all()
    assert repr(flat) == "Ellipsoids of 'tip': x, y, z"


def test_manipulability():
    robot = qddot.load("point_mass_2r")
    q = RNG.uniform(-3, 3, (4, 5, 2))
    assert_allclose(robot.manipulability(q, rows=("x", "y")), abs(np.sin(q[..., 1])), atol=1e-14)
    a = arm("seven")
    J = a.robot.jacobian(a.q, TOOL, "world_aligned")
    assert_allclose(a.robot.manipulability(a.q, TOOL), np.sqrt(np.linalg.det(J @ J.T)), rtol=1e-9)
    with pytest.raises(InputError, match=r"6 rows .* is zero everywhere for a robot with 2 degrees of freedom: choose at most 2"):
        robot.manipulability([0, 1])


def test_a_direction_has_a_length():
    found = qddot.load("point_mass_2r").ellipsoids([0, 1], rows=("x", "y"))
    with pytest.raises(InputError, match=r"direction\[1\] has no length"):
        found.effective_mass([[1, 0], [0, 0]])
    with pytest.raises(InputError, match=r"direction\[\] has no length"):
        found.effective_mass([0, 0])
