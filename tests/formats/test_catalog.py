import json
import warnings

import numpy as np
import pytest

from qddot.errors import InputError, ModelFormatError, ModelSyntaxError, ModelValueError, UnknownNameError
from qddot.formats import catalog_names, load_model
from qddot.formats.dh import dh_model
from qddot.model.inertia import Inertia
from tests.formats.kinematics import world_pose
from tests.reference import PEER_VECTORS


def peer(name):
    return json.loads(PEER_VECTORS.read_text())["robots"][name]


@pytest.mark.parametrize("name", catalog_names())
def test_every_robot_is_physically_sound_or_says_so(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = load_model(name)
    if name == "puma560":  # as published; its file explains
        with pytest.raises(ModelValueError, match="without mass"):
            load_model(name, strict=True)
    elif not model.kinematics_only:
        load_model(name, strict=True)
    assert model.name == name
    assert not model.symbols


def test_only_three_robots_have_friction():
    rubbing = {name for name in catalog_names() for joint in load_model(name).joints if joint.drive}
    assert rubbing == {"puma560", "arm7", "furuta"}


def test_two_link_is_the_peers_robot():
    robot, model = peer("matlab_2link"), load_model("two_link")
    links = robot["links"]
    reference = dh_model(
        [{"a": link["a"]} for link in links],
        inertias=[Inertia(link["m"], link["r"], link["I"]) for link in links],
        link_names=["body_1", "body_2"],
    )
    assert [joint.tip for joint in model.joints] == [joint.tip for joint in reference.joints]
    for link, expected in zip(model.links[1:], reference.links[1:], strict=True):
        assert link.name == expected.name
        np.testing.assert_allclose(link.inertia.ten_vector(), expected.inertia.ten_vector(), rtol=1e-12)
    assert list(model.gravity) == robot["gravity"]


def test_puma_is_the_peers_robot():
    robot, model = peer("rtb_puma560"), load_model("puma560")
    for link, joint, expected in zip(model.links[1:], model.joints, robot["links"], strict=True):
        np.testing.assert_allclose(np.array(link.inertia.tensor, float), expected["I"])
        assert (link.inertia.mass, list(link.inertia.com)) == (expected["m"], expected["r"])
        assert joint.tip.p == (expected["a"], 0, pytest.approx(expected["d"]))
        assert joint.tip.R.c.y == round(np.sin(expected["alpha"]))
        drive = joint.drive
        assert (drive.gear_ratio, drive.rotor_inertia, drive.viscous) == (expected["G"], expected["Jm"], expected["B"])
        assert (drive.coulomb, drive.side) == (tuple(map(abs, expected["Tc"])), "motor")


def test_four_bar_is_the_peers_robot():
    robot, model = peer("sympy_fourbar"), load_model("four_bar")
    for link, joint, expected in zip(model.links[1:], model.joints, robot["bodies"], strict=True):
        assert link.inertia.mass == pytest.approx(expected["m"])
        assert link.inertia.com == pytest.approx(expected["com"])
        assert link.inertia.tensor.c.z == pytest.approx(expected["Izz_com"])
        assert joint.origin.p == pytest.approx(expected["p"])
    np.testing.assert_allclose(world_pose(model, "tip", [0, 0, 0])[:3, 3], [0.065 + 0.79, 0, 0])
    np.testing.assert_allclose(world_pose(model, "closure", [0, 0, 0])[:3, 3], [-0.065, 0, 0])


def test_rp_arm_is_the_peers_robot():
    robot, model = peer("seed_rp"), load_model("rp_arm")
    for link, expected in zip(model.links[1:], robot["bodies"], strict=True):
        assert (link.inertia.mass, list(link.inertia.com), link.inertia.tensor.c.z) == (
            expected["m"],
            expected["com"],
            expected["Izz"],
        )
    np.testing.assert_allclose(world_pose(model, "slide", [np.pi / 2, 0.3])[:3, 3], [0, 0.3, 0], atol=1e-15)


def test_pendulums_hang_at_zero_and_swing_forward():
    np.testing.assert_allclose(
        world_pose(load_model("cart_pole"), "tip", [1.0, 0.3])[:3, 3], [1 + 0.5 * np.sin(0.3), 0, -0.5 * np.cos(0.3)]
    )
    np.testing.assert_allclose(world_pose(load_model("acrobot"), "tip", [np.pi / 2, 0])[:3, 3], [2, 0, 0], atol=1e-15)


def test_values_stay_symbols_when_asked():
    model = load_model("point_mass_2r", symbolic=True)
    assert {symbol.name for symbol in model.symbols} == {"m1", "m2", "L1", "L2"}


def test_floating_puts_a_free_joint_first():
    model = load_model("two_link", floating=True)
    assert model.root == "world"
    assert (model.joints[0].name, model.joints[0].kind, model.joints[0].child) == ("floating_base", "free", "base")
    assert (model.mechanism.nq, model.mechanism.nv) == (9, 8)
    assert model.mechanism.coordinates[0].name == "floating_base"


def test_floating_finds_free_names(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text('base = "world"\ndh = [{joint_name = "floating_base", inertia = {mass = 1, com = [1, 0, 0]}}]')
    model = load_model(path, floating=True)
    assert model.root == "world_2"
    assert [joint.name for joint in model.joints] == ["floating_base_2", "floating_base"]


def test_a_floating_table_may_have_a_heavy_base(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text("base_inertia = {mass = 5, tensor = [1, 1, 1]}\ndh = [{inertia = {mass = 1, tensor = [1, 1, 1]}}]")
    model = load_model(path, floating=True)
    assert model.links[1].inertia == Inertia(5.0, tensor=(1, 1, 1))
    assert model.bodies[-2].inertia.m == 5


def test_gravity_is_replaced_or_refused():
    assert load_model("two_link", gravity=(0, 0, 0)).gravity == (0, 0, 0)
    for gravity in ((0, 0), (0, 0, float("nan")), ("a", 0, 0)):
        with pytest.raises(InputError, match="gravity"):
            load_model("two_link", gravity=gravity)


def test_unknown_sources(tmp_path):
    with pytest.raises(UnknownNameError, match="did you mean 'puma560'"):
        load_model("puma56")
    with pytest.raises(FileNotFoundError, match=r"nowhere.toml"):
        load_model(tmp_path / "nowhere.toml")
    (tmp_path / "robot.step").write_text("")
    with pytest.raises(ModelFormatError, match=r"known: \.urdf, \.xml, .*\.toml"):
        load_model(tmp_path / "robot.step")
    (tmp_path / "robot.xml").write_text("<?xml version='1.0'?><!-- <robot> --><mujoco/>")
    assert load_model(tmp_path / "robot.xml").root == "world"  # the root element decides, not the suffix
    with pytest.raises(ModelFormatError, match="text of a description"):
        load_model('<robot name="r">' + "<link/>" * 100 + "</robot>")
    with pytest.raises(ModelFormatError, match="it is a directory"):
        load_model(tmp_path)
    with pytest.raises(UnknownNameError, match="no file or catalog robot ''"):
        load_model("")


def test_comments_without_end_take_no_time(tmp_path):
    (tmp_path / "robot.xml").write_bytes(b"<!--" * 16384)
    with pytest.raises(ModelSyntaxError):
        load_model(tmp_path / "robot.xml")


def test_urdf_by_either_suffix(tmp_path):
    text = "<robot name='r'><link name='base'/></robot>"
    for name in ("r.urdf", "r.xml"):
        (tmp_path / name).write_text(text)
        assert load_model(tmp_path / name).root == "base"
