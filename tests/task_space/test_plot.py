"""Pictures: what is in them, and what cannot be drawn."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, MissingExtraError
from qddot.task_space.plot import SIZE
from tests.pictures.drawn import drawn

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_planar_arm():
    found = qddot.load("point_mass_2r").ellipsoids([0, 5 * np.pi / 6])
    assert found.rows == ("x", "y")
    ax = found.plot()
    mass, belt, velocity, force = (line for line in ax.get_lines() if len(line.get_xdata()) > 100)
    tip, reach = np.array([1 - np.sqrt(3) / 2, 0.5]), 2.0
    for line, shape in ((mass, found.mass), (velocity, found.velocity), (force, found.force)):
        distances = np.linalg.norm(np.transpose(line.get_data()) - tip, axis=1)
        np.testing.assert_allclose(
            [distances.max(), distances.min()], shape.lengths * SIZE * reach / 5, rtol=1e-3
        )  # 5 kg is longest
    away = np.transpose(belt.get_data()) - tip
    felt = np.linalg.norm(away, axis=1) / found.effective_mass(away)
    np.testing.assert_allclose(felt, felt[0], rtol=1e-9)
    assert ax.get_title(loc="left") or ax.get_title() == "point_mass_2r, q = (0, 2.62)"
    assert labels(ax) == [
        "effective mass: 5, 1 kg",
        "mass felt in each direction",
        "velocity: 1.01, 0.494 m/s for |qd| = 1",
        "force: 2.02, 0.988 N for |tau| = 1",
        "to one scale: 1 kg, 1 m/s and 1 N are 0.14 m long",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x [m]", "y [m]")
    assert drawn(ax) > 0.02


def test_ellipsoids_of_a_planar_arm_lie_in_its_plane():
    upright = qddot.Builder("arm").body("a", "base", axis=(0, 1, 0), mass=1, com=(0.5, 0, 0))
    upright = (
        upright.body("b", "a", axis=(0, -1, 0), xyz=(1, 0, 0), mass=1, com=(0.5, 0, 0)).frame("end", "b", xyz=(1, 0, 0)).robot()
    )
    assert upright.ellipsoids([0.3, 0.4]).rows == ("x", "z")
    assert np.isfinite(upright.ellipsoids([0.3, 0.4]).mass.lengths).all()
    tilted = qddot.Builder("arm").body("a", "base", axis=(0, 0.6, 0.8), mass=1, com=(0.5, 0, 0), tensor=(1, 1, 1)).robot()
    assert tilted.ellipsoids([0.3]).rows == ("x", "y", "z")


def test_a_given_axes_is_used():
    _, ax = plt.subplots()
    assert qddot.load("rp_arm").ellipsoids([0.3, 0.5], rows=("x", "y")).plot(ax) is ax


def test_in_space_and_where_axes_are_infinite():
    ax = qddot.load("puma560").ellipsoids([0, 0.7, 3.1, 0, 0.7, 0]).plot()
    assert (ax.name, ax.get_zlabel()) == ("3d", "z [m]")
    stretched = qddot.load("point_mass_2r").ellipsoids([0, 0]).plot()
    assert "effective mass: inf, 1 kg" in labels(stretched)
    for picture in (ax, stretched, qddot.load("point_mass_2r").ellipsoids([0, 0], rows=("x", "y", "z")).plot()):
        assert drawn(picture) > 0.01
        legend, whole = picture.get_legend().get_window_extent(), picture.figure.bbox
        assert whole.contains(legend.x0, legend.y0)
        assert whole.contains(legend.x1, legend.y1)


def test_joint_space():
    ax = qddot.load("rp_arm").ellipsoids([0, 0.7], rows=("x", "y")).plot_joint_space()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("joint1 [N m]", "joint2 [N]")
    with pytest.raises(InputError, match="with 6 degrees of freedom cannot be drawn"):
        qddot.load("puma560").ellipsoids(np.ones(6)).plot_joint_space()


def test_what_cannot_be_drawn():
    robot = qddot.load("point_mass_2r")
    with pytest.raises(InputError, match=r"rows=\('wz', 'x'\) cannot be drawn"):
        robot.ellipsoids([0, 1], rows=("wz", "x")).plot()
    with pytest.raises(InputError, match=r"q has shape \(3, 2\)"):
        robot.ellipsoids(np.ones((3, 2)), rows=("x", "y")).plot()
    _, ax = plt.subplots()
    with pytest.raises(InputError, match=r'make it with plt\.subplots\(subplot_kw=\{"projection": "3d"\}\)'):
        robot.ellipsoids([0, 1], rows=("x", "y", "z")).plot(ax)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"a picture needs the package 'matplotlib': pip install 'qddot\[plot\]'"):
        qddot.load("rp_arm").ellipsoids([0, 1], rows=("x", "y")).plot()
