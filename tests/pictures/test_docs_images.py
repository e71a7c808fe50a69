"""Pictures of the documentation: `QDDOT_SCREENSHOTS=docs/images pytest tests/pictures/test_docs_images.py -m slow`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import qddot

pytest.importorskip("matplotlib").use("Agg")

from matplotlib import pyplot as plt  # noqa: E402
from PIL import Image  # noqa: E402

POSE = [0.3, -0.5, 0.2, -1.8, 0.1, 1.9, 0.4]
START = [0.5, 0.4]
WRIST = [0.3, 0.6, -0.3, 0.4, 0.7, 0]


def planar_and_spatial() -> None:
    figure = plt.figure(figsize=(9, 4.2), layout="constrained")
    qddot.load("two_link").plot(START, ax=figure.add_subplot(1, 2, 1))
    qddot.load("arm7").plot(POSE, ax=figure.add_subplot(1, 2, 2, projection="3d"))


PICTURES = {
    "plot_robots": planar_and_spatial,
    "plot_dh": lambda: qddot.load("puma560").plot(WRIST, frames=True),
    "plot_motion": lambda: qddot.load("two_link").simulate(START, None, 3.0).plot(),
    "plot_ellipsoids": lambda: qddot.load("point_mass_2r").ellipsoids([0.3, 1.2]).plot(),
}


@pytest.fixture
def folder(tmp_path) -> Path:
    yield Path(os.environ.get("QDDOT_SCREENSHOTS", tmp_path))
    plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_each_picture_is_drawn(name, folder):
    PICTURES[name]()
    plt.savefig(folder / f"{name}.png", dpi=90)
    seen = np.asarray(Image.open(folder / f"{name}.png").convert("RGB"))
    assert 0.02 < (seen < 250).any(axis=-1).mean() < 0.7


@pytest.mark.slow
def test_a_film(folder):
    _, ax = plt.subplots(figsize=(4, 4), layout="constrained")
    qddot.load("two_link").simulate(START, None, 2.0).animate(folder / "film_two_link.gif", fps=20, ax=ax)
    assert (folder / "film_two_link.gif").stat().st_size < 400_000


@pytest.mark.slow
def test_a_notebook(browser, folder, tmp_path):
    robot = qddot.load("two_link", symbolic=True)
    shown = (qddot.load("arm7"), robot.equations())
    page = tmp_path / "cards.html"
    page.write_text(f"<!doctype html><meta charset='utf-8'>{'<br>'.join(x._repr_html_() for x in shown)}", "utf-8")
    tab = browser.new_page(viewport={"width": 700, "height": 590})
    tab.goto(page.as_uri())
    tab.evaluate("document.fonts.ready.then(() => 0)")
    tab.screenshot(path=folder / "notebook.png")
    assert (folder / "notebook.png").stat().st_size > 20_000
