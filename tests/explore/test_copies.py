"""Copied texts say what the page shows: of loops, at stops, in the chosen notation, in another world."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.explore import show
from tests.explore.test_browser import cells, held, settled, simulated


def copied(page, name: str) -> str:
    page.evaluate("delete document.documentElement.dataset.copied")  # of the copy before
    page.locator(f"[data-copy={name}]").click()
    page.locator("html[data-copied]").wait_for(state="attached")
    return page.evaluate("document.documentElement.dataset.copied")


@pytest.mark.parametrize(("name", "seconds"), [("four_bar", 0.3), ("scara", 0.5)])
def test_copied_python_computes_the_joint_forces_of_a_loop_and_at_a_stop(opened, monkeypatch, name, seconds):
    page = opened(qddot.load(name))
    simulated(page, seconds)
    settled(page, lambda: page.evaluate("explorerApp.simulation.rest(); explorerApp.schedule()"))
    tau, outside = np.array(cells(page, "inverse_dynamics")), held(page, "external")["external"]
    assert np.abs(outside).max() > 0.1
    page.locator("body").press("p")
    page.locator("html[data-copied]").wait_for(state="attached")
    monkeypatch.setattr(show.Page, "open", lambda self: None)
    inside: dict = {}
    exec(page.evaluate("document.documentElement.dataset.copied"), inside)
    assert np.abs(inside["tau"] - tau).max() <= 1e-7 * np.abs(outside).max()
    assert cells(page, "inverse_dynamics") == pytest.approx(tau, abs=1e-12)  # as before


def test_latex_is_copied_in_the_notation(opened):
    page = opened(qddot.load("two_link"), "lens=coriolis_torque,0,0&notation=craig")
    text = copied(page, "LaTeX")
    assert r"\dot{\theta}_{2}" in text
    assert "q" not in text
    settled(page, lambda: page.get_by_label("notation").select_option("siciliano"))
    assert copied(page, "LaTeX") == text.replace(r"\theta", "q")


def test_copies_in_another_world_say_so(opened):
    page = opened(qddot.load("two_link"), "q=0.3,1.1&gravity=0,-1.62,0&payload=2&lens=gravity_torque,0,0")
    said = page.locator(".warning").text_content()
    assert "without the payload" in said
    assert "1.62 m/s²; the formula has the described one, 9.81 m/s²" in said
    head = "of the robot as described, unlike the page: without the payload of 2 kg"
    gravity = "under the gravity [0, -9.81, 0] m/s^2, not [0, -1.62, 0]"
    for name, sign in {"LaTeX": "%", "Python": "#", "C": "//", "SymPy": "#"}.items():
        assert copied(page, name).splitlines()[0] == f"{sign} {head}; {gravity}"
    settled(page, lambda: page.locator("[data-entry='mass_matrix,0,0']").click())
    assert copied(page, "LaTeX").splitlines()[0] == f"% {head}"
