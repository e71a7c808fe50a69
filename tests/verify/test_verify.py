"""Robots beside Pinocchio and MuJoCo: agreement, the conventions that were translated, and what cannot be compared."""

from dataclasses import replace

import numpy as np
import pytest

import qddot
from qddot.errors import InputError
from qddot.verify import verify

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

PEERS = ("pinocchio", "mujoco")
LINK = """<link name="{0}"><inertial><origin xyz="{1}"/><mass value="{2}"/>
<inertia ixx="0.015" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0.001"/></inertial></link>"""
LIMIT = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
BRANCHED = f"""<robot name="r"><link name="base"/>
{LINK.format("a", "0.1 0 0", 1)}{LINK.format("b", "0 0.1 0", 2)}{LINK.format("c", "0 0 0.1", 3)}
<joint name="z_first" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="a_second" type="revolute"><parent link="base"/><child link="b"/><axis xyz="1 0 0"/>{LIMIT}</joint>
<joint name="follower" type="prismatic"><parent link="a"/><child link="c"/><axis xyz="0 0 1"/>{LIMIT}
<mimic joint="a_second" multiplier="0.5" offset="0.1"/><dynamics damping="3"/></joint></robot>"""


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("name", qddot.catalog_names())
def test_every_robot_of_ours_agrees_or_says_why_not(name, peer):
    robot = qddot.load(name)
    found = verify(robot, peer, states=2)
    if robot.model.kinematics_only:
        assert "kinematics only" in found.reason
    else:
        assert found.agrees, str(found)


@pytest.mark.parametrize("peer", PEERS)
def test_a_branched_robot_with_followers(tmp_path, peer):
    path = tmp_path / "robot.urdf"
    path.write_text(BRANCHED)
    found = verify(qddot.load(path), peer, source=path)
    assert found.agrees, str(found)
    assert found.read == "the file itself"
    said = " ".join(found.conventions)
    assert "mimic joint" in said
    assert "links alone" in said
    if peer == "pinocchio":
        assert "another order there" in said
        assert "cosine, sine" in said


@pytest.mark.parametrize("peer", PEERS)
def test_a_floating_robot(peer):
    robot = qddot.load("arm7").model.copy(name="flying")
    base = qddot.Inertia.box(2, (0.1, 0.2, 0.3))
    links = [replace(x, inertia=base) if x.name == robot.root else x for x in robot.links]
    found = verify(qddot.Robot(robot.copy(links=links).with_floating_base()), peer)
    assert found.agrees, str(found)
    assert "free joint" in " ".join(found.conventions)


@pytest.mark.parametrize("peer", PEERS)
def test_forces_that_cancel_are_compared_with_what_cancels(peer):
    """A rod on an upright hinge feels neither gravity nor Coriolis forces: what is left of them is rounding."""
    rod = qddot.Inertia.rod(1.0, 0.4, "x").shifted((0.2, 0, -0.5))
    door = qddot.Builder().body("rod", axis="z", inertia=rod).robot()
    for seed in range(3):
        found = verify(door, peer, seed=seed)
        assert found.agrees, str(found)
        assert all(row.difference < 1e-13 for row in found.rows)


def test_a_wrong_robot_is_found_out(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(BRANCHED)
    other = qddot.load(path).with_payload(0.1, (0.2, 0, 0), frame="a")
    found = verify(other, "pinocchio", source=path)
    assert not found.agrees
    assert "DIFFERS" in str(found)
    assert np.isfinite(found.rows[0].difference)
    assert found.rows[0].joint == "z_first"


def test_what_cannot_be_compared_says_why():
    ball = qddot.Builder().body("a", joint="spherical", mass=1, com=(0.1, 0, 0), tensor=(0.1, 0.1, 0.1)).robot()
    found = verify(ball, "pinocchio")
    assert not found.agrees
    assert "spherical" in found.reason
    with pytest.raises(InputError, match="did you mean 'pinocchio'"):
        verify(ball, "pinochio")


def test_moments_without_mass_are_a_convention(tmp_path):
    inertia = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    foot = f'<link name="foot"><inertial><mass value="0"/>{inertia}</inertial></link>'
    joint = '<joint name="sole" type="fixed"><parent link="a"/><child link="foot"/></joint></robot>'
    path = tmp_path / "robot.urdf"
    path.write_text(BRANCHED.replace("</robot>", foot + joint))
    robot = qddot.load(path)
    assert verify(robot, "pinocchio", source=path).agrees
    found = verify(robot, "mujoco", source=path)
    assert found.agrees, str(found)
    assert "MuJoCo drops the moments of foot" in found.conventions[0]
