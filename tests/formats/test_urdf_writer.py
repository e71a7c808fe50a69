"""What is written reads back to the same robot."""

import math
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
import sympy

from qddot.errors import ModelValueError, ModelWarning, UnboundSymbolError
from qddot.formats import load_model
from qddot.formats.urdf_writer import write_urdf
from qddot.model.description import Frame, Joint, Limits, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import Model
from qddot.model.pose import from_axis_angle, from_rpy, to_rpy, unit
from qddot.model.spatial import Transform, Vec

BODY = Inertia(1.3, (0.1, -0.2, 1 / 3), (0.03, 0.001, -0.002, 0.04, 0.003, 0.05))
AXIS = unit(Vec(1.0, 2.0, -0.5))[0]
POSE = Transform(from_rpy(0.3, -1.1, 2.7), Vec(0.1, 1 / 3, -1e-7))


def round_trip(model: Model, tmp_path) -> Model:
    path = tmp_path / "robot.urdf"
    write_urdf(model, path)
    return load_model(path)


def chain(*joints: Joint, frames=(), gravity=(0, 0, -9.81), name: str = "r") -> Model:
    links = [Link("base"), *(Link(joint.child, BODY) for joint in joints)]
    return Model(name, links, joints, frames, gravity)


def assert_same_robot(a: Model, b: Model) -> None:
    """Bodies, coordinates, drives, gravity, and where every frame of `a` is."""
    A, B = a.mechanism, b.mechanism
    assert (a.name, a.gravity) == (b.name, b.gravity)
    assert list(map(hinged, A.coordinates)) == list(map(hinged, B.coordinates))
    for x, y in zip(A.bodies, B.bodies, strict=True):
        assert (x.joint_name, x.parent, type(x.joint)) == (y.joint_name, y.parent, type(y.joint))
        assert (x.coordinates, x.columns, x.rate, x.offset, x.drive) == (y.coordinates, y.columns, y.rate, y.offset, y.drive)
        assert getattr(x.joint, "pitch", None) == getattr(y.joint, "pitch", None)
        same_numbers(x.placement, y.placement)
        same_numbers(x.inertia, y.inertia)
    for name, (body, pose) in A.frames.items():
        assert B.frames[name][0] == body
        same_numbers(pose, B.frames[name][1])


def hinged(coordinates):
    """All but the parts, which compare by identity; a hinge without limits of position is written as continuous."""
    free = coordinates.kind == "revolute" and (coordinates.limits.lower, coordinates.limits.upper) == (-math.inf, math.inf)
    return coordinates._replace(kind="continuous" if free else coordinates.kind, parts=())


def same_numbers(a, b) -> None:
    for x, y in zip(a, b, strict=True):
        np.testing.assert_allclose(np.array(x, float), np.array(y, float), rtol=4e-15, atol=4e-15)


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "planar", "free", "fixed"])
def test_every_type_of_urdf(kind, tmp_path):
    bounded = kind in ("revolute", "prismatic")
    limits = Limits(-0.1, 1 / 3, 7, 11) if bounded else Limits(velocity=2) if kind == "planar" else Limits()
    model = chain(Joint("j1", kind, "base", "l1", POSE, AXIS, limits=limits), Joint("j2", "revolute", "l1", "l2", POSE, AXIS))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = round_trip(model, tmp_path)
    assert_same_robot(model, back)
    assert [j.kind for j in back.joints] == [kind, "continuous"]
    assert back.joints[0].limits == limits


@pytest.mark.parametrize("joint", [{"kind": "helical", "pitch": 0.01}, {"kind": "spherical"}, {"kind": "revolute", "rate": 2.5}])
def test_what_only_qddot_reads_is_said(joint, tmp_path):
    model = chain(Joint(name="odd", parent="base", child="l1", origin=POSE, axis=AXIS, **joint))
    with pytest.warns(ModelWarning, match="only qddot reads the joints 'odd'"):
        back = round_trip(model, tmp_path)
    assert_same_robot(model, back)


def test_numbers_are_exact(tmp_path):
    model = chain(
        Joint("j", "revolute", "base", "l1", axis=AXIS, origin=Transform(p=POSE.p), limits=Limits(-1 / 3, 1 / 7, 0.1, 1e-300))
    )
    back = round_trip(model, tmp_path)
    assert back.links == model.links
    assert back.joints == model.joints


def test_unlimited_reads_back_as_unlimited(tmp_path):
    half = Joint("j", "revolute", "base", "l1", limits=Limits(lower=-1))
    slider = Joint("s", "prismatic", "l1", "l2", limits=Limits(effort=3))
    wheel = Joint("w", "continuous", "l2", "l3", limits=Limits(velocity=3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = round_trip(chain(half, slider, wheel), tmp_path)
    assert [(j.kind, j.limits) for j in back.joints] == [(j.kind, j.limits) for j in (half, slider, wheel)]


def test_other_readers_find_finite_limits(tmp_path):
    write_urdf(chain(Joint("s", "prismatic", "base", "l1", limits=Limits(effort=3))), tmp_path / "r")
    limit = ElementTree.parse(tmp_path / "r").find("joint/limit").attrib
    numbers = {"lower": "-1000000000.0", "upper": "1000000000.0", "velocity": "1000000000.0", "effort": "3.0"}
    assert limit == {**numbers, "qddot_unlimited": "lower upper velocity"}


def test_a_hinge_without_limits_is_continuous(tmp_path):
    write_urdf(chain(Joint("j", "revolute", "base", "l1")), tmp_path / "r")
    joint = ElementTree.parse(tmp_path / "r").find("joint")
    assert joint.get("type") == "continuous"
    assert joint.find("limit") is None


@pytest.mark.parametrize(("place", "error"), [(".", IsADirectoryError), ("no/such/folder/r.urdf", FileNotFoundError)])
def test_where_nothing_can_be_written_the_path_is_named(place, error, tmp_path):
    path = tmp_path / place
    with pytest.raises(error) as info:
        write_urdf(chain(Joint("j", "revolute", "base", "l1")), path)
    assert info.value.filename == str(path)
    assert list(tmp_path.iterdir()) == []


def test_bounded_continuous_joint_keeps_its_limits(tmp_path):
    joint = round_trip(chain(Joint("j", "continuous", "base", "l1", limits=Limits(-1, 1))), tmp_path).joints[0]
    assert (joint.kind, joint.limits) == ("revolute", Limits(-1, 1))


def test_lost_limits_are_said(tmp_path):
    with pytest.warns(ModelWarning, match="position limits of the joints 'j' are not written"):
        write_urdf(chain(Joint("j", "planar", "base", "l1", limits=Limits(-1, 1))), tmp_path / "r.urdf")


@pytest.mark.parametrize(
    "drive",
    [
        Drive(viscous=0.1, coulomb=0.2),
        Drive(coulomb=(0.3, 0.1)),
        Drive(viscous=0.1, damping=0.2, stiffness=3, rest=0.5),
        Drive(gear_ratio=-100, rotor_inertia=2e-5, viscous=1e-3, coulomb=(0.3, 0.1), side="motor"),
    ],
)
def test_drives(drive, tmp_path):
    model = chain(Joint("j", "revolute", "base", "l1", drive=drive))
    back = round_trip(model, tmp_path)
    assert back.joints[0].drive == drive
    assert_same_robot(model, back)


def test_other_readers_see_friction_at_the_joint(tmp_path):
    write_urdf(
        chain(Joint("j", "revolute", "base", "l1", drive=Drive(viscous=0.1, coulomb=1, gear_ratio=10, side="motor"))),
        tmp_path / "r",
    )
    dynamics = ElementTree.parse(tmp_path / "r").find("joint/dynamics").attrib
    assert {key: float(x) for key, x in dynamics.items()} == {"damping": pytest.approx(10), "friction": 10}


def test_mimic_and_gravity(tmp_path):
    joints = (
        Joint("a", "revolute", "base", "l1", drive=Drive(viscous=1)),
        Joint("b", "prismatic", "l1", "l2", POSE, AXIS, mimic=Mimic("a", -1 / 3, 0.1), drive=Drive(stiffness=2, rest=0.3)),
    )
    model = chain(*joints, gravity=(0.1, -9.7, 1 / 3))
    back = round_trip(model, tmp_path)
    assert_same_robot(model, back)
    assert back.joints[1].mimic == joints[1].mimic


def test_plain_robot_is_plain_urdf(tmp_path):
    write_urdf(chain(Joint("j", "revolute", "base", "l1", drive=Drive(viscous=1))), tmp_path / "r.urdf")
    assert b"qddot" not in (tmp_path / "r.urdf").read_bytes()


def test_link_frames_away_from_their_joints(tmp_path):
    """A branched standard-DH robot: order of coordinates, inertia and every frame survive the split of links."""
    joints = [
        Joint("a", "revolute", "base", "l1", POSE, AXIS, tip=POSE),
        Joint("b", "prismatic", "l1", "l2", tip=Transform(p=Vec(1.0, 0.0, 0.0))),
        Joint("c", "revolute", "base", "l3", tip=POSE),
        Joint("d", "fixed", "l3", "l4", POSE, tip=POSE),
        Joint("e", "revolute", "l4", "l5", axis=AXIS),
    ]
    model = chain(*joints, frames=[Frame("tool", "l2", POSE), Frame("camera", "base", POSE)])
    back = round_trip(model, tmp_path)
    assert_same_robot(model, back)
    assert {"l1__body", "l2__body", "l3__body", "tool", "camera"} <= {link.name for link in back.links}
    assert back.frame("tool")[0] == 1


def test_helper_names_do_not_collide(tmp_path):
    model = Model("r", [Link("base"), Link("l"), Link("l__body", BODY)], [
        Joint("l__tip", "revolute", "base", "l", tip=POSE),
        Joint("x", "revolute", "l", "l__body"),
    ])  # fmt: skip
    assert_same_robot(model, round_trip(model, tmp_path))


@pytest.mark.parametrize("name", ["a & b", "<j>", "'\"quoted\"'", "é 关节", "${x}", "%s{0}", "]]>", "\U0001f916"])
def test_names_are_escaped(name, tmp_path):
    model = Model(name, [Link("base"), Link(name, BODY)], [Joint(name, "revolute", "base", name)], [Frame(f"{name}.tool", name)])
    assert_same_robot(model, round_trip(model, tmp_path))


@pytest.mark.parametrize("name", ["a\x01", "\ufffe", "\ud800"])
def test_names_xml_cannot_hold(name, tmp_path):
    with pytest.raises(ModelValueError, match="a character XML cannot"):
        write_urdf(Model(name, [Link("base")]), tmp_path / "r.urdf")


def test_symbols_are_refused(tmp_path):
    m, length = sympy.symbols("m L")
    model = Model("r", [Link("base"), Link("l", Inertia(m, (length, 0, 0)))], [Joint("j", "revolute", "base", "l")])
    with pytest.raises(UnboundSymbolError, match="symbols L, m"):
        write_urdf(model, tmp_path / "r.urdf")
    assert list(tmp_path.iterdir()) == []
    assert_same_robot(model.subs({m: 2, length: 3}), round_trip(model.subs({m: 2, length: 3}), tmp_path))


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.urdf"
    path.write_text("old")

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("qddot.formats.urdf_writer.ElementTree.write", fail)
    with pytest.raises(OSError, match="disk full"):
        write_urdf(Model("r", [Link("base")]), path)
    assert [p.name for p in tmp_path.iterdir()] == ["r.urdf"]
    assert path.read_text() == "old"


def test_rotations_survive_roll_pitch_yaw_even_at_gimbal_lock():
    rng = np.random.default_rng(1)
    for k in range(2000):
        axis = unit(Vec(*map(float, rng.normal(size=3))))[0]
        R = from_axis_angle(axis, float(rng.uniform(-4, 4)))
        if k % 2:  # at and around pitch = +-90 degrees
            near = float(rng.choice([-1, 1])) * math.pi / 2 + float(rng.choice([-1, 0, 1]) * 10.0 ** rng.uniform(-17, -3))
            R = from_rpy(float(rng.uniform(-3, 3)), near, float(rng.uniform(-3, 3)))
        np.testing.assert_allclose(np.array(from_rpy(*to_rpy(R)), float), np.array(R, float), atol=2e-15)


def test_gimbal_lock_has_no_yaw():
    roll, pitch, yaw = to_rpy(from_rpy(0.4, math.pi / 2, 0.1))
    assert (pitch, yaw) == (math.pi / 2, 0)
    assert roll == pytest.approx(0.3, abs=1e-15)
