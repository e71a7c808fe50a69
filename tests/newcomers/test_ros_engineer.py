"""A ROS engineer: the text of /robot_description, is it sound, does another library agree, gravity compensation."""

import json

import numpy as np
import pytest

import qddot
from tests.newcomers.commands import call, inside, said

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 0.2"/><mass value="3"/>
  <inertia ixx="0.05" iyy="0.05" izz="0.004" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="lower"><inertial><origin xyz="0 0 0.15"/><mass value="2"/>
  <inertia ixx="0.02" iyy="0.02" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
  <limit lower="-1.5" upper="1.5" effort="60" velocity="2"/><dynamics damping="0.5"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/><origin xyz="0 0 0.4"/><axis xyz="0 1 0"/>
  <limit lower="-2.5" upper="2.5" effort="30" velocity="3"/></joint></robot>"""


def test_ten_minutes(tmp_path):
    with inside(tmp_path):
        shown = said("qddot info -", ARM)  # ros2 param get ... | qddot info -
        assert "shoulder" in shown
        assert "elbow" in shown
        (tmp_path / "arm.urdf").write_text(ARM)
        assert "0 errors, 0 warnings" in said("qddot check --strict arm.urdf")
        report = json.loads(said("qddot info arm.urdf --json"))
        assert report["dof"] == 2
        assert report["joints"][0]["limits"]["effort"] == 60
        said("qddot convert arm.urdf arm.toml")
        said("qddot export-c arm.urdf c gravity_torque")
        assert any("shoulder" in path.read_text() for path in (tmp_path / "c").glob("*.h"))
        again = qddot.load("arm.toml")

    robot = qddot.load_string(ARM)
    assert robot.joint_names == ("shoulder", "elbow")
    q = [0.4, -0.9]
    hold = robot.gravity_torque(q)
    np.testing.assert_allclose(robot.forward_dynamics(q, [0, 0], hold), 0, atol=1e-12)
    np.testing.assert_allclose(again.mass_matrix(q), robot.mass_matrix(q), rtol=1e-12)
    assert robot.friction_torque([1.0, 1.0])[0] == 0.5  # <dynamics> counts


def test_pinocchio_says_the_same(tmp_path):
    pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    with inside(tmp_path):
        (tmp_path / "arm.urdf").write_text(ARM)
        assert "agrees" in said("qddot verify arm.urdf --against pinocchio")


def test_a_broken_file_is_told_with_line_and_fix(tmp_path):
    with inside(tmp_path):
        (tmp_path / "arm.urdf").write_text(ARM.replace('child link="lower"', 'child link="lowr"'))
        result = call("qddot info arm.urdf")
    assert result.exit_code == 1
    assert "lowr" in result.stderr
    assert "arm.urdf" in result.stderr


@pytest.mark.parametrize("around", ["data: '{}'\n---\n", "String value is: {}"])
def test_what_ros_prints_around_a_description(around):
    """As `ros2 topic echo` and `ros2 param get` do."""
    assert "ros2 param get --hide-type" in call("qddot info -", around.format(ARM)).stderr
