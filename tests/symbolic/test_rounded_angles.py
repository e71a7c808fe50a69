"""Angles written with few decimals: what is computed beside the closed forms is computed of the robot as it was read."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot.symbolic.exact.rounded_angles import rounded_angles

SHORT = """
<robot name="short">
  <link name="base"/>
  <link name="a"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="b"><inertial><origin xyz="0.3 0 0"/><mass value="1"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j1" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/></joint>
  <joint name="j2" type="continuous"><parent link="a"/><child link="b"/>
    <origin xyz="0.4 0 0" rpy="1.5708 0 0"/><axis xyz="0 0 1"/></joint>
</robot>
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    path = tmp_path_factory.mktemp("rounded_angles") / "short.urdf"
    path.write_text(SHORT)
    return qddot.load(path)


def test_the_closed_forms_say_what_was_read(short):
    (note,) = short.equations().notes
    assert note == "joint 'j2': the angle 1.5708 rad was read as pi/2, 3.7e-06 rad away"
    q = [0.3, 0.4]
    exact = qddot.Robot(rounded_angles(short.model)).mass_matrix(q)
    assert_allclose(short.equations().M.evaluate(q), exact, rtol=1e-15)
    assert abs(short.mass_matrix(q) - exact).max() > 1e-8


def test_only_what_was_read_otherwise_changes(short):
    read = rounded_angles(short.model)
    assert_allclose(np.array(read.joints[1].origin.R, float), [[1, 0, 0], [0, 0, -1], [0, 1, 0]], atol=1e-16)
    assert read.joints[0] == short.model.joints[0]
    assert rounded_angles(read) is read
    puma = qddot.load("puma560").model
    assert rounded_angles(puma) is puma


@pytest.mark.parametrize("method", ["lagrange", "jacobian", "newton-euler"])
def test_derivations_are_checked_against_the_robot_as_read(short, method):
    derivation = short.derive(method)
    assert max(check.worst for check in derivation.checks) < 1e-9
    text = derivation.markdown()
    assert "the angle 1.5708 rad was read as pi/2" in text
    assert "are those of the robot so read" in text


def test_bounds_are_those_of_the_robot_as_read(short):
    properties = short.properties()
    for bound in properties.bounds:
        low, high = (bound.rigorous, bound.attained) if bound.name == "mu_1" else (bound.attained, bound.rigorous)
        assert low <= high * (1 + 1e-12), bound
    assert math.isfinite(properties.mu_2[2].rigorous)
