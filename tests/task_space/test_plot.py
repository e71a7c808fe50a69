"""Pictures: what is in them, and what cannot be drawn."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, MissingExtraError
from qddot.task_space.plot import SIZE

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_planar_arm(tmp_path):
    found = qddot.load("point_mass_2r").ellipsoids([0, 5 * np.pi / 6], rows=("x", "y"))
    ax = found.plot()
    arm, mass, belt, velocity, force = ax.get_lines()[0], *(line for line in ax.get_lines() if len(line.get_xdata()) > 100)
    tip = np.array([1 - np.sqrt(3) / 2, 0.5])
    np.testing.assert_allclose(np.transpose(arm.get_data()), [[0, 0], [0, 0], [1, 0], tip], atol=1e-12)
    for line, shape in ((mass, found.mass), (velocity, found.velocity), (force, found.force)):
        distances = np.linalg.norm(np.transpose(line.get_data()) - tip, axis=1)
        np.testing.assert_allclose([distances.max(), distances.min()], shape.lengths * SIZE / 5, rtol=1e-3)  # 5 kg is the longest
    away = np.transpose(belt.get_data()) - tip
    felt = np.linalg.norm(away, axis=1) / found.effective_mass(away)
    np.testing.assert_allclose(felt, felt[0], rtol=1e-9)
    assert labels(ax) == [
        "point_mass_2r, q = (0, 2.62)",
        "effective mass: 5, 1 kg",
        "mass felt in each direction",
        "velocity: 1.01, 0.494 m/s for |qd| = 1",
        "force: 2.02, 0.988 N for |tau| = 1",
        "drawn to one scale: 1 kg, 1 m/s and 1 N are 0.07 m long",
    ]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x [m]", "y [m]")
    ax.figure.savefig(tmp_path / "tip.png")
    assert (tmp_path / "tip.png").stat().st_size > 5000


def test_a_given_axes_is_used():
    _, ax = plt.subplots()
    assert qddot.load("rp_arm").ellipsoids([0.3, 0.5], rows=("x", "y")).plot(ax) is ax


def test_in_space_and_where_axes_are_infinite(tmp_path):
    ax = qddot.load("puma560").ellipsoids([0, 0.7, 3.1, 0, 0.7, 0]).plot()
    assert (ax.name, ax.get_zlabel()) == ("3d", "z [m]")
    stretched = qddot.load("point_mass_2r").ellipsoids([0, 0], rows=("x", "y")).plot()
    assert "effective mass: inf, 1 kg" in labels(stretched)
    for number, picture in enumerate((ax, stretched, qddot.load("point_mass_2r").ellipsoids([0, 0]).plot())):
        picture.figure.savefig(tmp_path / f"{number}.png")


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
    with pytest.raises(InputError, match='make it with projection="3d"'):
        robot.ellipsoids([0, 1]).plot(ax)


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"a picture needs the package 'matplotlib': pip install 'qddot\[plot\]'"):
        qddot.load("rp_arm").ellipsoids([0, 1], rows=("x", "y")).plot()
