"""What descriptions draw: shapes, meshes simplified, and nothing that lies elsewhere."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import qddot
from qddot.explore.scene import FACES, scene
from qddot.model.pose import to_matrix
from qddot.pictures.visuals import parts_of

URDF = """<robot name="drawn">
<material name="red"><color rgba="1 0 0 1"/></material>
<link name="base"><visual><geometry><box size="0.2 0.3 0.1"/></geometry></visual></link>
<link name="arm"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
<visual><origin xyz="0 0 0.5" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.05" length="1"/></geometry>
<material name="red"/></visual>{more}</link>
<joint name="j" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.fixture
def ball(tmp_path):
    """A mesh of many triangles beside a description."""
    trimesh = pytest.importorskip("trimesh")
    pytest.importorskip("fast_simplification")
    trimesh.creation.icosphere(subdivisions=5, radius=0.25).export(tmp_path / "ball.stl")
    return tmp_path / "ball.stl"


def written(folder, more: str = ""):
    path = folder / "drawn.urdf"
    path.write_text(URDF.format(more=more))
    return path


def test_shapes_stand_where_the_description_says(tmp_path):
    data = scene(qddot.load(written(tmp_path)).model)
    (box,), (cylinder,) = data["base"], data["bodies"][0]["shapes"]
    assert box["size"] == [0.2, 0.3, 0.1]
    assert (cylinder["kind"], cylinder["radius"], cylinder["length"]) == ("cylinder", 0.05, 1.0)
    assert cylinder["color"] == [1.0, 0.0, 0.0]
    pose = np.array(cylinder["pose"]).reshape(3, 4)
    assert pose[:, 3] == pytest.approx([0, 0, 0.5])
    assert pose[:, 2] == pytest.approx([1, 0, 0], abs=1e-12)


def test_meshes_are_simplified_onto_a_grid(ball):
    path = written(ball.parent, '<visual><geometry><mesh filename="ball.stl" scale="2 2 2"/></geometry></visual>')
    mesh = scene(qddot.load(path).model)["bodies"][0]["shapes"][1]
    faces = np.frombuffer(base64.b64decode(mesh["indices"]), "<u2")
    grid = np.frombuffer(base64.b64decode(mesh["positions"]), "<u2").reshape(-1, 3)
    points = np.array(mesh["origin"]) + grid * np.array(mesh["scale"])
    assert len(faces) <= 3 * FACES
    assert faces.max() < len(grid)
    assert np.linalg.norm(points, axis=1) == pytest.approx(0.5, abs=0.01)
    assert len(parts_of(ball, FACES)[0][1]) <= FACES


@pytest.mark.filterwarnings("ignore")
def test_meshes_elsewhere_are_not_opened(ball, tmp_path_factory):
    elsewhere = written(tmp_path_factory.mktemp("other"), f'<visual><geometry><mesh filename="{ball}"/></geometry></visual>')
    shapes = scene(qddot.load(elsewhere).model)["bodies"][0]["shapes"]
    assert [x["kind"] for x in shapes] == ["cylinder"]


def test_a_broken_mesh_is_said_and_the_robot_is_drawn(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "bad.stl").write_bytes(b"solid nothing\nendsolid")
    path = written(tmp_path, '<visual><geometry><mesh filename="bad.stl"/></geometry></visual>')
    data = scene(qddot.load(path).model)
    assert "bad.stl is not drawn" in data["notes"][0]
    assert len(data["bodies"][0]["shapes"]) == 1


def test_mjcf_shapes(tmp_path):
    pytest.importorskip("mujoco")
    (tmp_path / "m.xml").write_text(
        "<mujoco><worldbody><body name='a'><joint name='j' axis='0 1 0'/>"
        "<geom type='capsule' size='0.05 0.2' pos='0 0 0.2' rgba='0 0 1 1'/><geom type='box' size='.1 .1 .1' group='3'/>"
        "</body></worldbody></mujoco>"
    )
    (shape,) = scene(qddot.load(tmp_path / "m.xml").model)["bodies"][0]["shapes"]
    assert (shape["kind"], shape["radius"], shape["to"]) == ("capsule", 0.05, [0, 0, 0.2])


@pytest.mark.parametrize("given", [True, False])
def test_mjcf_meshes(tmp_path, given):
    """Where the file says, whether MuJoCo opens them for their inertia, and moves them into their principal axes, or not."""
    pytest.importorskip("mujoco")
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "meshes").mkdir()
    brick = trimesh.creation.box((0.1, 0.2, 0.4))
    brick.apply_translation((0.3, 0.1, 0.0))
    brick.export(tmp_path / "meshes" / "brick.stl")
    inertial = "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>" if given else ""
    (tmp_path / "m.xml").write_text(
        "<mujoco><compiler meshdir='meshes'/><default><default class='seen'><geom type='mesh' rgba='0 0 1 1'/></default></default>"
        "<asset><mesh name='b' file='brick.stl' scale='2 2 2' refpos='0.1 0 0'/><mesh file='gone.stl'/></asset>"
        f"<worldbody><body name='a'>{inertial}<joint name='j' axis='0 1 0'/>"
        "<geom class='seen' mesh='b' pos='0 0 1' euler='0 0 90'/><geom class='seen' mesh='b' group='3' mass='0'/>"
        "</body></worldbody></mujoco>"
    )
    link = next(x for x in qddot.load(tmp_path / "m.xml").model.links if x.name == "a")
    (mesh,) = link.visuals
    assert (mesh.kind, mesh.size, mesh.color) == ("mesh", (2, 2, 2), (0, 0, 1))
    at = to_matrix(mesh.pose) @ [2 * 0.3, 2 * 0.1, 0, 1]  # the middle of the brick
    assert at[:3] == pytest.approx([-0.2, 2 * 0.2, 1], abs=1e-6)
    assert abs(to_matrix(mesh.pose)[:3, 0]) == pytest.approx([0, 1, 0], abs=1e-6)


def test_the_page_draws_meshes(opened, ball):
    path = written(ball.parent, '<visual><geometry><mesh filename="ball.stl"/></geometry></visual>')
    page = opened(qddot.load(path))
    data = json.loads(page.locator("#robot").text_content())
    assert data["isDrawn"]
    triangles = page.evaluate("explorerApp.view.renderer.info.render.triangles")
    assert triangles > 1000
