"""Films: every format, what moves in them, and how they show themselves."""

from __future__ import annotations

import base64
import io
import re
import shutil
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import qddot
from qddot import progress
from qddot.errors import InputError

pytest.importorskip("matplotlib").use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from PIL import Image, ImageSequence  # noqa: E402


@pytest.fixture(scope="module")
def motion():
    return qddot.load("two_link").simulate([0.3, 0.4], None, 0.5, step=0.01)


def test_pictures_are_the_figure_s_own(motion):
    film = motion.animate(fps=10)
    pictures = list(film.pictures())
    assert len(pictures) == len(film.t) == 6
    film.show(3)
    film.ax.figure.canvas.draw()
    height, width, _ = pictures[3].shape
    plain = np.asarray(film.ax.figure.canvas.buffer_rgba())[:height, :width, :3]
    assert (np.abs(plain.astype(int) - pictures[3]).max(axis=-1) > 8).mean() < 1e-3  # drawn in parts, it looks as drawn at once
    assert (pictures[0] != pictures[5]).any()


@pytest.mark.parametrize("name", ["two_link", "arm7"])
def test_gif(name, tmp_path):
    robot = qddot.load(name)
    q = np.linspace(robot.limits.lower.clip(-1, 1), robot.limits.upper.clip(-1, 1), 11)
    film = robot.animate(SimpleNamespace(t=np.linspace(0, 1, 11), q=q), tmp_path / "film.gif", fps=5)
    assert plt.get_fignums() == []
    with Image.open(tmp_path / "film.gif") as read:
        frames = [np.asarray(x.convert("RGB")) for x in ImageSequence.Iterator(read)]
        assert read.info["duration"] == 200
    assert len(frames) == len(film.t) == 6
    assert all((a != b).any() for a, b in pairwise(frames))
    assert 0.01 < (frames[0] < 250).any(axis=-1).mean() < 0.6


def test_html_holds_its_pictures_and_asks_for_nothing(motion, tmp_path):
    motion.animate(tmp_path / "film.html", fps=10)
    text = (tmp_path / "film.html").read_text("utf-8")
    frames = re.findall(r'"(iVBOR[^"]*)"', text)
    assert len(frames) == 6
    seen = np.asarray(Image.open(io.BytesIO(base64.b64decode(frames[0]))).convert("RGB"))
    assert 0.01 < (seen < 250).any(axis=-1).mean() < 0.6
    assert not re.search(r"https?:|src=\"(?!data)", text)


@pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="no ffmpeg on the path")
def test_mp4(motion, tmp_path):
    motion.animate(tmp_path / "film.mp4", fps=10)
    assert (tmp_path / "film.mp4").read_bytes()[4:8] == b"ftyp"
    with pytest.raises(InputError, match="ffmpeg could not write it"):
        motion.animate(tmp_path / "nowhere" / "film.mp4", fps=10)


def test_what_is_refused(motion, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"saved as \.gif, \.html or \.mp4"):
        motion.animate(tmp_path / "film.avi")
    with pytest.raises(InputError, match="fps=0"):
        motion.animate(fps=0)
    with pytest.raises(InputError, match="has no t and q"):
        motion.robot.animate([1, 2, 3])
    with pytest.raises(InputError, match="a sample a row"):
        motion.robot.animate(SimpleNamespace(t=motion.t[:-1], q=motion.q))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="needs the program ffmpeg"):
        motion.animate(tmp_path / "film.mp4")
    assert list(tmp_path.iterdir()) == []


def test_a_notebook_plays_it_and_shows_no_second_picture(motion):
    film = motion.animate(fps=5)
    shown = film._repr_html_()
    assert '<iframe sandbox="allow-scripts"' in shown
    assert shown.count("iVBOR") == len(film.t)
    assert plt.get_fignums() == []
    assert repr(film).startswith("Film of 'two_link': 3 pictures, 5 a second")


def test_a_bar_for_long_films(motion, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    motion.animate(tmp_path / "film.gif", fps=10, progress=True)
    assert "drawing film.gif" in capsys.readouterr().err
    motion.animate(tmp_path / "film.gif", fps=10, progress=False)
    assert capsys.readouterr().err == ""
    assert not sys.stderr.isatty()
