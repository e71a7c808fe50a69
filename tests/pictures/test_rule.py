"""One rule for every picture: made by pyplot, drawn in `ax=` where one is given, the axes returned, and something to see in it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import qddot
from qddot.errors import InputError, MissingExtraError, UnknownNameError
from qddot.pictures.look import color
from tests.pictures.drawn import drawn, shows

mpl = pytest.importorskip("matplotlib")
mpl.use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402


@pytest.fixture(scope="module")
def motion():
    return qddot.load("two_link").simulate([0.3, 0.4], None, 0.1, torque=[0.1, 0.0], step=0.01)


PICTURES = {
    "motion": (lambda m, ax: m.plot(ax=ax), 4),
    "some signals": (lambda m, ax: m.plot("qdd", "energy", ax=ax), 2),
    "robot": (lambda m, ax: m.robot.plot([0.3, 0.4], ax=ax), 1),
    "frames": (lambda m, ax: m.robot.plot([0.3, 0.4], ax=ax, frames=True), 1),
    "ellipsoids": (lambda m, ax: m.robot.ellipsoids([0.3, 0.4]).plot(ax=ax), 1),
    "joint space": (lambda m, ax: m.robot.ellipsoids([0.3, 0.4]).plot_joint_space(ax=ax), 1),
    "film": (lambda m, ax: m.animate(ax=ax).ax, 1),
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_new_figure_is_pyplot_s(motion, name, tmp_path):
    draw, count = PICTURES[name]
    found = draw(motion, None)
    assert len(plt.get_fignums()) == 1
    for ax in np.atleast_1d(found):
        assert isinstance(ax, Axes)
        assert ax.figure is plt.gcf()
        assert "[" in ax.get_ylabel()  # its unit
    assert np.size(found) == count
    plt.savefig(tmp_path / "picture.png")  # what a script does
    assert 0.01 < drawn(found) < 0.6


@pytest.mark.parametrize("name", PICTURES)
def test_given_axes_are_drawn_in(motion, name):
    draw, count = PICTURES[name]
    _, ax = plt.subplots(count)
    found = draw(motion, ax)
    assert [*np.atleast_1d(found)] == [*np.atleast_1d(ax)]
    assert len(plt.get_fignums()) == 1
    assert drawn(found) > 0.01


def test_a_motion_s_curves_are_its_numbers(motion):
    q, qd, tau, energy = motion.plot()
    np.testing.assert_array_equal(q.lines[1].get_ydata(), motion.q[:, 1])
    np.testing.assert_array_equal(tau.lines[0].get_ydata(), motion.tau[:, 0])
    np.testing.assert_array_equal(energy.lines[2].get_ydata(), motion.energy)
    assert [text.get_text() for text in energy.get_legend().get_texts()] == ["kinetic", "potential", "sum"]
    assert qd.get_ylabel() == "speeds qd [rad/s]"
    assert shows(energy, color("inertial"))
    assert shows(energy, color("gravity"))


def test_no_joint_forces_are_a_line_at_zero():
    (tau,) = qddot.load("two_link").simulate([0.5, 0.4], t=0.05).plot("tau")
    assert [*tau.get_yticks()] == [0]
    assert tau.get_ylim() == (-1, 1)


def test_one_axes_shows_one_signal(motion):
    _, ax = plt.subplots()
    (found,) = motion.plot("tau", ax=ax)
    assert found is ax
    (found,) = motion.plot(ax=plt.figure().add_subplot())
    assert found.get_ylabel() == "positions q [rad]"


def test_what_cannot_be_drawn(motion):
    _, ax = plt.subplots()
    with pytest.raises(InputError, match="ax has 1 axes for 2 panels"):
        motion.plot("q", "qd", ax=ax)
    with pytest.raises(UnknownNameError, match="torque"):
        motion.plot("torque")
    with pytest.raises(InputError, match="is not an Axes of matplotlib"):
        motion.robot.plot(ax="here")
    with pytest.raises(InputError, match="ax is flat, this picture is not"):
        qddot.load("puma560").plot(ax=ax)


def test_without_matplotlib(motion, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw, _ in PICTURES.values():
        with pytest.raises(MissingExtraError, match=r"a picture needs the package 'matplotlib': pip install 'qddot\[plot\]'"):
            draw(motion, None)


def test_colours_are_those_of_the_style_sheet():
    assert [color(x) for x in ("inertial", "coriolis", "gravity", "friction", "external")] == [
        "#0072b2",
        "#e69f00",
        "#009e73",
        "#d55e00",
        "#cc79a7",
    ]
    with pytest.raises(KeyError):
        color("magnetic")


def test_figures_stay_interactive_where_a_backend_says_so(tmp_path):
    """As a notebook's backend does, which the first figure loads: without this, only the first picture of a notebook is shown."""
    (tmp_path / "shown_at_once.py").write_text(
        "import matplotlib\nfrom matplotlib.backends.backend_agg import FigureCanvasAgg as FigureCanvas\n"
        "matplotlib.rcParams['interactive'] = True\n"
    )
    script = "import matplotlib, qddot; qddot.load('two_link').plot([0.1, 0.2]); print(matplotlib.is_interactive())"
    environment = {**os.environ, "MPLBACKEND": "module://shown_at_once"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True"]
