"""Robots drawn: where things are in the picture, from where it is seen, and frames of tables."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, UnboundSymbolError
from qddot.pictures.arm import FACES, Arm
from qddot.pictures.frames import XYZ
from qddot.pictures.solids import solid
from qddot.pictures.view import bent, extent, own_view, plane_normal
from tests.pictures.drawn import drawn, shows
from tests.robots import random_model

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402


@pytest.mark.parametrize("name", ["two_link", "rp_arm", "cart_pole", "four_bar", "arm7", "delta", "puma560"])
def test_every_robot_is_drawn(name):
    robot = qddot.load(name)
    ax = robot.plot()
    assert hasattr(ax, "zaxis") == (plane_normal(robot.model) is None)
    assert drawn(ax) > 0.02
    assert ax.get_xlabel().endswith("[m]")


@pytest.mark.parametrize("seed", range(3))
def test_joints_of_every_type_are_drawn(seed):
    robot = qddot.robot.Robot(random_model(np.random.default_rng(seed), 5, mimic=0.2))
    assert drawn(robot.plot(frames=bool(seed % 2))) > 0.01


@pytest.mark.parametrize("place", [(0, 0, 0), (1e6, 0, 0), (1e-6, 0, 0)])
def test_robots_of_any_size_are_drawn(place):
    stone = qddot.Builder("stone")
    assert drawn(stone.robot().plot()) > 0.001
    assert drawn(stone.body("a", "base", xyz=place, mass=1).robot().plot(frames=True)) > 0.001


def test_a_planar_robot_lies_where_it_is():
    robot = qddot.load("two_link")
    arm = Arm(robot.model, own_view(robot.model))
    poses = arm.poses(np.array([0.3, 0.4]))
    ax = robot.plot([0.3, 0.4])
    tip = robot.transform([0.3, 0.4])[:2, 3]
    np.testing.assert_allclose(arm.page(arm.frame(poses, robot.tip)[:3, 3]), tip, atol=1e-15)
    marker = next(line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(np.ravel(marker.get_data()), tip, atol=1e-15)
    link = ax.collections[0].get_paths()[0].vertices  # around the way from joint to joint
    elbow = 0.5 * np.array([np.cos(0.3), np.sin(0.3)])
    along, across = link @ elbow / 0.5, link @ [-elbow[1], elbow[0]] / 0.5
    r = 0.032 * extent(robot.model)
    np.testing.assert_allclose([along.min(), along.max()], [-r, 0.5 + r], atol=0.02 * r)
    np.testing.assert_allclose([across.min(), across.max()], [-r, r], atol=0.02 * r)


@pytest.mark.parametrize(
    ("axis", "down", "labels"),
    [((0, 0, 1), 1, "xy"), ((0, 1, 0), 2, "xz"), ((0, 0, 1), 2, "xy"), ((1, 0, 0), 2, "yz"), ((0, 1, 0), 0, "zx")],
)
def test_a_plane_is_seen_straight_on(axis, down, labels):
    build = qddot.Builder("pendulum", gravity=-9.81 * np.eye(3)[down]).body("rod", "base", axis=axis, mass=1, com=(0.1, 0.2, 0.3))
    ax = build.robot().plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == (f"{labels[0]} [m]", f"{labels[1]} [m]")
    assert ("$g$" in [text.get_text() for text in ax.texts]) == (axis[down] == 0)


def test_sliders_alone_have_a_plane_if_they_can():
    two = qddot.Builder("table").body("x", "base", joint="prismatic", axis=(1, 0, 0), mass=1)
    two = two.body("y", "x", joint="prismatic", axis=(0, 1, 0), mass=1)
    np.testing.assert_allclose(plane_normal(two.robot().model), [0, 0, 1])
    assert plane_normal(two.body("z", "y", joint="prismatic", axis=(0, 0, 1), mass=1).robot().model) is None


def test_a_planar_robot_can_be_drawn_in_space():
    _, ax = plt.subplots(subplot_kw={"projection": "3d"})
    assert qddot.load("two_link").plot(ax=ax) is ax
    assert ax.get_zlabel() == "z [m]"
    assert drawn(ax) > 0.02


def test_several_robots_in_one_picture():
    _, ax = plt.subplots()
    robot = qddot.load("two_link")
    robot.plot([0, 0], ax=ax)
    robot.plot([np.pi, 0], ax=ax)
    low, high = ax.get_xlim()
    assert low < -1.2 < 1.2 < high


def test_what_cannot_be_drawn():
    robot = qddot.load("two_link")
    with pytest.raises(InputError, match=r"q has shape \(3, 2\)"):
        robot.plot(np.zeros((3, 2)))
    with pytest.raises(UnboundSymbolError):
        qddot.load("two_link", symbolic=True).plot([0, 0])
    with pytest.raises(InputError, match="q"):
        robot.plot([1.0])


# frames -----------------------------------------------------------------------------------------------------------------------


def texts(ax) -> set[str]:
    return {line.strip() for text in ax.texts for line in text.get_text().split("\n")} - {"", "$g$"}


def test_frames_of_a_standard_table():
    rows = [(0, np.pi / 2, 0.4, 0), (0.5, 0, 0, 0), (0, np.pi / 2, 0.1, 0)]
    robot = qddot.from_dh(rows, convention="standard", inertias=[qddot.Inertia.point(1.0)] * 3)
    ax = robot.plot([0.3, 0.5, -0.4], frames=True)
    assert {"$d_{1}$ = 0.4 m", "$a_{2}$ = 0.5 m", "$d_{3}$ = 0.1 m"} <= texts(ax)
    assert {"$x_{0}$", "$z_{0}$", "$x_{2}$"} <= texts(ax)
    assert not any("y_" in text for text in texts(ax))
    assert shows(ax, XYZ[0], 40)


def test_frames_of_craig_s_table():
    rows = [(0, 0, 0.4, 0), (0.1, -np.pi / 2, 0, 0), (0.5, 0, 0.2, 0)]
    robot = qddot.from_dh(rows, convention="modified", inertias=[qddot.Inertia.point(1.0)] * 3)
    assert {"$d_{1}$ = 0.4 m", "$a_{1}$ = 0.1 m", "$a_{2}$ = 0.5 m", "$d_{3}$ = 0.2 m"} <= texts(robot.plot(frames=True))


def test_frames_of_a_tree_carry_their_names():
    robot = qddot.load("delta")
    names = [name for text in texts(robot.plot(frames=True)) for name in text.split(", ")]
    assert {"base"} < {*names} <= {*robot.frame_names}
    fork = qddot.Builder("fork").body("trunk", mass=1, com=(0.1, 0, 0))
    for name, side in (("left", 0.2), ("right", -0.2)):
        fork = fork.body(name, "trunk", xyz=(0.4, side, 0.1), mass=1, com=(0.2, 0, 0))
    assert texts(fork.robot().plot(frames=True)) >= {"base, trunk", "left", "right"}  # once where they lie on each other


# shapes -----------------------------------------------------------------------------------------------------------------------

SHAPES = [
    ({"kind": "capsule", "from": [0, 0, 0], "to": [1, 2, 2], "radius": 0.2}, np.pi * 0.2**2 * (3 + 4 / 3 * 0.2)),
    ({"kind": "ball", "at": [1, 0, 0], "radius": 0.5}, 4 / 3 * np.pi * 0.5**3),
    ({"kind": "drum", "radius": 0.3, "length": 0.7, "pose": np.eye(4)[:3].ravel().tolist()}, np.pi * 0.3**2 * 0.7),
    ({"kind": "block", "size": [1, 2, 3], "pose": np.eye(4)[:3].ravel().tolist()}, 6.0),
]


@pytest.mark.parametrize(("shape", "volume"), SHAPES, ids=[x[0]["kind"] for x in SHAPES])
def test_a_solid_has_its_volume_and_faces_outward(shape, volume):
    corners, faces = solid(shape)[1:]
    a, b, c, d = (corners[faces[:, k]] for k in range(4))
    enclosed = sum(np.einsum("ni,ni->", x, np.cross(y, z)) for x, y, z in ((a, b, c), (a, c, d))) / 6
    assert enclosed == pytest.approx(volume, rel=0.08)


def test_bent_is_within_limits_and_closed():
    for name in ("arm7", "four_bar"):
        robot = qddot.load(name)
        q = bent(robot)
        assert (robot.limits.lower <= q).all()
        assert (q <= robot.limits.upper).all()


def test_what_a_description_draws(tmp_path):
    """Its shapes where they stand, in their colours; a mesh simplified."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("fast_simplification")
    trimesh.creation.icosphere(subdivisions=5, radius=0.1).export(tmp_path / "ball.stl")
    shapes = ['<box size="0.2 0.1 0.1"/>', '<cylinder radius="0.05" length="0.4"/>', '<sphere radius="0.1"/>']
    shapes.append('<mesh filename="ball.stl"/>')
    visuals = "".join(
        f'<visual><origin xyz="{0.5 * k} 0 0"/><geometry>{x}</geometry><material name="red"/></visual>'
        for k, x in enumerate(shapes)
    )
    (tmp_path / "drawn.urdf").write_text(
        '<robot name="drawn"><material name="red"><color rgba="1 0 0 1"/></material><link name="base"/><link name="arm"><inertial>'
        '<mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
        f'{visuals}</link><joint name="j" type="continuous"><parent link="base"/><child link="arm"/></joint></robot>'
    )
    model = qddot.load(tmp_path / "drawn.urdf").model
    arm = Arm(model, None)
    parts = [x for body, color, x in arm.solids[: arm.links] if body == 0 and color == (0.88, 0.0, 0.0)]
    assert [x.kind for x in parts] == ["box", "cylinder", "sphere", "mesh"]
    turned = arm.poses(np.zeros(1))[0]
    for k, part in enumerate(parts):
        points = part.placed(turned)
        assert (points.min(axis=0) + points.max(axis=0)) / 2 == pytest.approx([0.5 * k, 0, 0], abs=1e-3)
    assert np.ptp(parts[0].placed(turned), axis=0) == pytest.approx([0.2, 0.1, 0.1])
    assert 100 < len(parts[3].faces) <= FACES
    assert drawn(qddot.load(tmp_path / "drawn.urdf").plot()) > 0.02
    assert {x.kind for _, _, x in Arm(model, None, plain=True).solids} <= {"drum", "capsule", "arrow", "block", "ball"}
