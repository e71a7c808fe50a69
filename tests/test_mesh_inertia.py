"""Inertia from a mesh: exact for every closed surface of triangles, and a clear error for every other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import qddot
from qddot import Inertia, ModelReferenceError, ModelSecurityError, ModelValueError
from qddot.model.mesh import solid_of
from qddot.model.pose import from_rpy
from qddot.model.spatial import Transform, Vec

TRIANGLES = [
    (0, 1, 3),
    (0, 3, 2),
    (4, 6, 7),
    (4, 7, 5),
    (0, 4, 5),
    (0, 5, 1),
    (2, 3, 7),
    (2, 7, 6),
    (0, 2, 6),
    (0, 6, 4),
    (1, 5, 7),
    (1, 7, 3),
]
TRIANGLES = np.array([t[::-1] for t in TRIANGLES])  # turned outwards


def box(size=(1.0, 2.0, 3.0), at=(0.0, 0.0, 0.0)):
    corners = np.array([[x, y, z] for z in (-0.5, 0.5) for y in (-0.5, 0.5) for x in (-0.5, 0.5)])
    vertices = corners * size + np.array(at)
    return vertices, TRIANGLES if np.linalg.det(vertices[TRIANGLES] - at).sum() > 0 else TRIANGLES[:, ::-1]


def both(*meshes):
    """Several meshes as one."""
    offsets = np.cumsum([0, *(len(v) for v, _ in meshes)])
    return np.vstack([v for v, _ in meshes]), np.vstack([t + k for (_, t), k in zip(meshes, offsets)])


def same(found: Inertia, expected: Inertia, tolerance=1e-12):
    assert found.mass == pytest.approx(expected.mass, rel=tolerance)
    assert_allclose(found.com, expected.com, atol=tolerance * 10)
    assert_allclose(found.tensor, expected.tensor, rtol=tolerance, atol=tolerance * np.abs(expected.tensor).max())


# exact ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [(0, 0, 0), (0.3, -2, 7), (1e4, 0, 0)])
def test_a_box(at):
    tolerance = 1e-12 if at[0] < 1e3 else 1e-9  # a vertex has sixteen digits
    same(Inertia.from_mesh(box(at=at), mass=5.0), Inertia.box(5.0, (1, 2, 3)).shifted(at), tolerance)
    assert Inertia.from_mesh(box(at=at), density=2.0).mass == pytest.approx(12.0, rel=tolerance)


def test_a_turned_box_in_millimetres():
    pose = Transform(from_rpy(0.3, -0.7, 1.1), Vec(0.1, 0.2, 0.3))
    vertices, triangles = box()
    turned = vertices @ np.array(pose.R, float).T + np.array(pose.p)
    same(Inertia.from_mesh((1000 * turned, triangles), density=3.0, scale=0.001), Inertia.box(18.0, (1, 2, 3)).moved(pose))


def test_a_tetrahedron():
    """With corners at the origin and on the axes: `integral of x^2 = V / 10`, `of x y = V / 20`."""
    corners, faces = (
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
        np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
    )
    found = solid_of((corners, faces))
    assert found.volume == pytest.approx(1 / 6)
    assert_allclose(found.centre, [0.25] * 3)
    second = (np.full((3, 3), 1 / 20) + np.eye(3) / 20) / 6
    assert_allclose(found.moments, second - np.full((3, 3), 1 / 16) / 6, rtol=1e-12)


def test_spheres_converge_with_the_square_of_their_edges():
    trimesh = pytest.importorskip("trimesh")
    errors = []
    for subdivisions in (2, 3, 4):
        ball = Inertia.from_mesh(trimesh.creation.icosphere(subdivisions, radius=0.5), density=1000.0)
        exact = Inertia.sphere(1000 * 4 / 3 * np.pi * 0.5**3, 0.5)
        errors.append((1 - ball.mass / exact.mass, 1 - ball.tensor[0][0] / exact.tensor[0][0]))
    ratios = np.array(errors)[:-1] / np.array(errors)[1:]
    assert_allclose(ratios, 4, rtol=0.05)
    assert max(errors[-1]) < 1e-2


def test_a_torus():
    """Of m segments round the ring and n round the tube, against Pappus' and the closed forms of the moments, by extrapolation."""

    def torus(m, R=0.5, r=0.2):
        n = m
        u, v = np.meshgrid(np.arange(m) * 2 * np.pi / m, np.arange(n) * 2 * np.pi / n, indexing="ij")
        points = np.stack([(R + r * np.cos(v)) * np.cos(u), (R + r * np.cos(v)) * np.sin(u), r * np.sin(v)], axis=-1).reshape(-1, 3)
        i, j = (x.ravel() for x in np.meshgrid(np.arange(m), np.arange(n), indexing="ij"))
        a, b, c, d = i * n + j, (i + 1) % m * n + j, (i + 1) % m * n + (j + 1) % n, i * n + (j + 1) % n
        return Inertia.from_mesh((points, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])), density=1.0)

    coarse, fine = torus(64), torus(128)
    R, r = 0.5, 0.2
    mass = 2 * np.pi**2 * R * r**2
    exact = {"mass": mass, "axial": mass * (R**2 + 0.75 * r**2), "across": mass * (R**2 / 2 + 5 / 8 * r**2)}
    for key, value in exact.items():
        low, high = ({"mass": x.mass, "axial": x.tensor[2][2], "across": x.tensor[0][0]}[key] for x in (coarse, fine))
        assert high + (high - low) / 3 == pytest.approx(value, rel=1e-5)  # the error falls with the square
    assert_allclose(fine.com, 0, atol=1e-15)


def test_a_cavity_is_taken_out():
    outer, (vertices, triangles) = box((2, 2, 2)), box((1, 1, 1), (0.2, 0, 0))
    hollow = Inertia.from_mesh(both(outer, (vertices, triangles[:, ::-1])), density=1.0)
    inner = Inertia.box(1.0, (1, 1, 1)).shifted((0.2, 0, 0))
    same(hollow + inner, Inertia.box(8.0, (2, 2, 2)))


def test_parts_beside_each_other_add_up():
    found = Inertia.from_mesh(both(box(at=(-3, 0, 0)), box(at=(3, 0, 0))), density=1.0)
    same(found, Inertia.box(6.0, (1, 2, 3)).shifted((-3, 0, 0)) + Inertia.box(6.0, (1, 2, 3)).shifted((3, 0, 0)))


def test_corners_that_are_not_shared_are_joined():
    vertices, triangles = box()
    soup = vertices[triangles].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    same(Inertia.from_mesh(soup, mass=1.0), Inertia.box(1.0, (1, 2, 3)))


# refused ----------------------------------------------------------------------------------------------------------------------

V, T = box()


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ((V, T[:-1]), "the mesh is open: 3 of its edges belong to one triangle only"),
        ((V, np.vstack([T[:-1], T[-1:, ::-1]])), "triangles are turned against each other at 3 edges"),
        ((V, T[:, ::-1]), "inside out: its triangles are turned inwards"),
        (both((V, T), (V + np.array([1, 2, 0]), T)), "the surface touches itself: 1 of its edges belong to more than two"),
        (both((V, T), (V + 9, T[:, ::-1])), "is inside out and no cavity of another"),
        ((np.zeros((0, 3)), np.zeros((0, 3), int)), "the mesh is empty"),
        ((V, np.zeros((0, 3), int)), "the mesh is empty"),
        ((V * [1, 1, 0], T), "touches itself|no volume|degenerate"),
        ((V * 0, T), "all its triangles are degenerate"),
        ((V, np.array([[0, 1, 2], [0, 2, 1]])), "encloses no volume"),
        ((np.where(V[0] == V, np.nan, V), T), "a vertex is not finite"),
        ((V, T + 1), "names vertex 8 of 8"),
        ((V, T - 1), "names vertex"),
        ((V, T.astype(float)), "whole numbers are needed"),
        ((V[:, :2], T), r"\(n, 3\)"),
        ((V, T[:, [0, 1, 2, 0]]), "cut polygons into triangles"),
        (3, "vertices .n, 3. and triangles .m, 3. are needed"),
        (("a", "b"), "vertices .n, 3. and triangles"),
    ],
)
def test_what_is_no_solid(mesh, message):
    with pytest.raises(ModelValueError, match=message) as info:
        Inertia.from_mesh(mesh, density=1.0)
    assert info.value.fix


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "either a density or a mass"),
        ({"density": 1.0, "mass": 1.0}, "either a density or a mass"),
        ({"mass": -1.0}, "mass='-1.0': a positive number"),
        ({"density": np.nan}, "density='nan': a positive number"),
        ({"mass": 1.0, "scale": 0.0}, "scale=0.0"),
        ({"mass": 1.0, "scale": -0.001}, "0.001 for millimetres"),
    ],
)
def test_how_it_weighs(how, message):
    with pytest.raises(ModelValueError, match=message):
        Inertia.from_mesh(box(), **how)


# files ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture
def stl(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    path = tmp_path / "meshes" / "box.stl"
    path.parent.mkdir()
    trimesh.Trimesh(*box(), process=False).export(path)
    return path


def test_a_file(stl):
    same(Inertia.from_mesh(stl, mass=2.0), Inertia.box(2.0, (1, 2, 3)))
    with pytest.raises(ModelReferenceError, match="the mesh does not exist"):
        Inertia.from_mesh(stl.with_name("no.stl"), mass=2.0)
    stl.write_text("solid nothing")
    with pytest.raises(ModelValueError, match="mesh"):
        Inertia.from_mesh(stl, mass=2.0)


def test_without_trimesh(stl, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "trimesh", None)
    with pytest.raises(qddot.MissingExtraError, match=r"pip install 'qddot\[mesh\]'"):
        Inertia.from_mesh(stl, mass=2.0)


def toml(folder, inertia: str) -> qddot.Robot:
    path = folder / "arm.toml"
    path.write_text(f'[[bodies]]\nname = "rod"\ninertia = {inertia}\n')
    return qddot.load(path)


def test_in_a_file_of_our_own(stl, tmp_path):
    robot = toml(tmp_path, '{mesh = "meshes/box.stl", density = 2700, scale = 0.001, xyz = [0.1, 0, 0], rpy = [0, 0, 0.5]}')
    pose = Transform(from_rpy(0.0, 0.0, 0.5), Vec(0.1, 0.0, 0.0))
    same(robot.model.links[1].inertia, Inertia.box(2700 * 6e-9, (1e-3, 2e-3, 3e-3)).moved(pose))
    path = tmp_path / "arm.toml"
    path.write_text('[[bodies]]\nname = "rod"\ninertia = {mesh = "package://shapes/box.stl", mass = 2}\n')
    assert qddot.load(path, packages={"shapes": stl.parent}).model.links[1].inertia.mass == pytest.approx(2)


@pytest.mark.parametrize(
    ("inertia", "error", "message"),
    [
        (
            '{mesh = "no.stl", mass = 1}',
            ModelReferenceError,
            r"arm.toml:3:\d+: body 'rod' > inertia mesh='no.stl': .*does not exist",
        ),
        ('{mesh = "/etc/passwd", mass = 1}', ModelSecurityError, "lies outside the folders of this description"),
        ('{mesh = "../x.stl", mass = 1}', ModelSecurityError, "lies outside"),
        ('{mesh = "file:///etc/passwd", mass = 1}', ModelSecurityError, "lies outside"),
        ('{mesh = "http://host/x.stl", mass = 1}', ModelSecurityError, "nothing is fetched"),
        ('{mesh = "meshes/box.stl"}', ModelValueError, "either a density or a mass"),
        ('{mesh = "meshes/box.stl", mass = -1}', ModelValueError, "mass='-1': a positive number is needed"),
        ('{mesh = "meshes/box.stl", mass = 1, com = [0, 0, 0]}', ModelValueError, "unknown key"),
    ],
)
def test_what_a_file_may_not_say(stl, tmp_path, inertia, error, message):
    with pytest.raises(error, match=message) as info:
        toml(tmp_path, inertia)
    assert info.value.line == 3
