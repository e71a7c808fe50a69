"""Pictures of each view for the documentation: `QDDOT_SCREENSHOTS=docs/images pytest tests/explore/test_screenshots.py`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import qddot
from qddot.contact import Contacts, Plane, Sphere
from qddot.identify import Log, ParameterSet
from tests.explore.test_browser import LETTERS, simulated
from tests.explore.test_contact import standing

VIEWS = {
    "explorer_two_link": ("two_link", "q=0.7,0.9&qd=1.2,-2&form=letters&lens=coriolis_torque,1,0&ellipsoid=velocity", {}),
    "explorer_arm7": ("arm7", "qd=0.4,-0.6,0.3,0.8,0,0.5,0&ellipsoid=mass&show=axes,centres", {"scheme": "dark"}),
    "explorer_tau": ("puma560", "q=0.3,-0.6,2.2,0.2,0.5,0&qd=1,0.5,-1,2,1,0&qdd=1,2,-3,1,0,0&lens=inverse_dynamics,1,0", {}),
    "explorer_contact": ("quadruped", "drive=hold&show=axes,centres", {}),
    "explorer_narrow": ("cart_pole", "q=0.2,0.7&qd=0,1", {"width": 400, "height": 800}),
}


@pytest.mark.slow
@pytest.mark.parametrize("view", VIEWS)
def test_each_view_is_drawn(opened, view, tmp_path):
    name, fragment, how = VIEWS[view]
    robot, values = qddot.load(name), {}
    if "letters" in fragment:
        robot, values = qddot.load(name, symbolic=True), {"values": LETTERS}
    if view == "explorer_contact":
        feet = [Sphere(x, 0.02) for x in robot.frame_names if x.endswith("_foot")]
        values = {"contacts": Contacts(robot, feet, [Plane()], friction=0.8, among=False), "q": standing(robot)}
    page = opened(robot, fragment, **how, **values)
    if view == "explorer_contact":
        page.evaluate("explorerApp.simulation.toggle()")
        page.evaluate("explorerApp.simulation.stop()")
        simulated(page, 0.8)
        page.evaluate("explorerApp.schedule()")
    if view == "explorer_two_link":
        simulated(page, 1.2)
        page.evaluate("explorerApp.simulation.seek(0.6)")
    page.evaluate("new Promise(done => setTimeout(done, 300))")
    folder = Path(os.environ.get("QDDOT_SCREENSHOTS", tmp_path))
    path = folder / f"{view}.png"
    page.screenshot(path=path)
    assert path.stat().st_size > 20_000
    assert page.evaluate("document.querySelector('.scene canvas').width") > 100


@pytest.mark.slow
def test_a_fit_is_drawn(opened, tmp_path):
    """Measured beside predicted torque, as in docs/identification.md."""
    pytest.importorskip("cvxpy")
    robot = qddot.load("two_link")
    parameters = ParameterSet.of(robot, armature=False)
    t = np.arange(0, 20, 0.005)
    w, a = 2 * np.pi * np.array([0.2, 0.5, 0.9]), np.array([[1.0, 0.4, 0.2], [-0.8, 0.5, 0.3]])
    q, qd, qdd = (f @ a.T for f in (np.sin(np.outer(t, w)), np.cos(np.outer(t, w)) * w, -np.sin(np.outer(t, w)) * w**2))
    rubbing = {"joint1.viscous": 0.4, "joint1.coulomb": 0.6, "joint2.viscous": 0.2, "joint2.coulomb": 0.3}
    theta = [rubbing.get(name, x) for name, x in zip(parameters.names, parameters.described, strict=True)]
    noise = np.random.default_rng(0)
    tau = parameters.matrix(q, qd, qdd) @ np.array(theta) + 0.15 * noise.normal(size=q.shape)
    fit = robot.identify(Log(t, q + 1e-5 * noise.normal(size=q.shape), tau, joint_names=robot.joint_names))
    fit.explore(tmp_path / "fit.html")
    page = opened(tmp_path / "fit.html", "lens=inverse_dynamics,0,0&strip=tau,0")
    page.evaluate("explorerApp.simulation.seek(4.2)")
    page.evaluate("new Promise(done => setTimeout(done, 300))")
    assert page.evaluate("explorerApp.simulation.strips.plots.joints.series.map(s => s.label)") == ["t, s", "measured", "predicted"]
    page.screenshot(path=Path(os.environ.get("QDDOT_SCREENSHOTS", tmp_path)) / "explorer_fit.png")


def test_the_scene_is_not_blank(opened):
    page = opened(qddot.load("two_link"))
    reading = """async () => {
        const app = explorerApp, canvas = document.querySelector('.scene canvas'), flat = document.createElement('canvas');
        [flat.width, flat.height] = [canvas.width, canvas.height];
        app.view.render();
        const pen = flat.getContext('2d');
        pen.drawImage(canvas, 0, 0);
        const {data} = pen.getImageData(0, 0, flat.width, flat.height);
        let seen = 0;
        for (let k = 3; k < data.length; k += 4) seen += data[k] > 0;
        return seen / (data.length / 4);
    }"""
    assert 0.005 < page.evaluate(reading) < 0.5
