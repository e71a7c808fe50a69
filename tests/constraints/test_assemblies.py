"""Both branches of a position problem, and which of them a configuration is on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import ConvergenceError, InputError, UnknownNameError


def reach(x, y):
    return qddot.holonomic(lambda state: [state.position("tip").x - x, state.position("tip").y - y])


def test_elbow_up_and_elbow_down():
    """The arm of the notes with its tip at (1, 0): both elbows, in closed form."""
    arm = qddot.load("point_mass_2r")
    at = reach(1.0, 0.0)
    found = arm.assemblies([-1.0, 2.0], at)
    assert_allclose(found, [[-np.pi / 3, 2 * np.pi / 3], [np.pi / 3, -2 * np.pi / 3]], atol=1e-9)
    assert list(arm.assembly_mode(found, at)) == [1, -1]
    assert_allclose(arm.assemblies([1.0, -2.0], at)[0], [np.pi / 3, -2 * np.pi / 3], atol=1e-9)  # the nearest first
    assert arm.assembly_mode([0.3, 0.0], at) == 0  # stretched: both are one
    with pytest.raises(ConvergenceError, match="no configuration found"):
        arm.assemblies([0.1, 0.2], reach(2.5, 0.0))


def test_a_four_bar_closes_in_two_ways():
    """At each crank angle coupler and rocker are mirrored about the line between their ends."""
    linkage = qddot.load("four_bar")
    q = linkage.project([0.4, 1.8, 1.7])
    found = linkage.assemblies(q, hold=["joint1"])
    assert_allclose(found[0], q, atol=1e-9)
    assert len(found) == 2
    assert_allclose(found[:, 0], q[0])
    assert abs(linkage.constraint_residual(found)).max() < 1e-10
    modes = linkage.assembly_mode(found, hold=["joint1"])
    assert modes[0] == -modes[1] != 0
    assert_allclose(np.sin(found[0, 2]), -np.sin(found[1, 2]), atol=1e-9)  # the mirrored triangle


def test_five_bar_and_delta():
    bar = qddot.load("five_bar")
    q = bar.project(bar.neutral() + 0.1)
    motors = [name for name, free in zip(bar.joint_names, np.eye(bar.nv, dtype=bool)[[0, 2]].any(0)) if free]
    found = bar.assemblies(q, hold=motors)
    assert len(found) == 2
    assert abs(bar.constraint_residual(found)).max() < 1e-10
    assert bar.assembly_mode(found[0], hold=motors) == -bar.assembly_mode(found[1], hold=motors)


def test_a_mode_changes_at_dead_centres_only():
    linkage = qddot.load("four_bar")
    q = linkage.project([0.4, 1.8, 1.7])
    motion = linkage.simulate(q, linkage.project_velocity(q, [1.0, 0, 0]), 0.1, stops=False)
    assert (linkage.assembly_mode(motion.q, hold=["joint1"]) == linkage.assembly_mode(q, hold=["joint1"])).all()


def test_what_is_refused():
    linkage, arm = qddot.load("four_bar"), qddot.load("point_mass_2r")
    with pytest.raises(InputError, match=r"fix 2 of 3 free motions, so there are infinitely many configurations: hold 1 more"):
        linkage.assemblies([0.4, 1.8, 1.7])
    with pytest.raises(InputError, match="2 rows of constraints and 3 free columns"):
        linkage.assembly_mode([0.4, 1.8, 1.7])
    with pytest.raises(UnknownNameError, match="no joint 'crank'"):
        linkage.assemblies([0.4, 1.8, 1.7], hold=["crank"])
    with pytest.raises(InputError, match="of one configuration"):
        arm.assemblies(np.zeros((3, 2)), reach(1, 0))


def test_a_violated_constraint_is_named():
    linkage, arm = qddot.load("four_bar"), qddot.load("point_mass_2r")
    with pytest.raises(
        InputError, match=r"row 0 of phi is .* violates the constraints, the connection of .*'rocker'.*; see robot.project"
    ):
        linkage.simulate([0.4, 1.0, 1.0], None, 0.1)
    wall, line = qddot.point_on_plane("tip", (1, 0, 0), (1, 0, 0)), qddot.point_on_plane("lower", (0, 0, 0), (0, 0, 1))
    with pytest.raises(InputError, match=r"row 1 of phi is .* violates the constraints, the plane for 'tip'; see robot.project"):
        arm.simulate([0.3, 0.2], None, 0.1, constraints=(line, wall))
