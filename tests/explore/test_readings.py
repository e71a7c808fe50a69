"""What the page shows besides the equation of motion, and what is copied from its lens, beside Python."""

from __future__ import annotations

import shutil
import subprocess

import numpy as np
import pytest
import sympy

import qddot
from tests.explore.test_browser import SET, cells, held, settled

Q, QD, QDD = [0.3, 1.1], [2.0, -1.0], [3.0, 4.0]
STATE = "q=0.3,1.1&qd=2,-1&qdd=3,4"


def fact(page, name: str) -> float:
    return page.locator(f"[data-fact={name}]").evaluate("x => x.number")


def test_gravity_and_payload_have_sliders_and_buttons(opened):
    robot = qddot.load("two_link")
    page = opened(robot, STATE)
    p = robot.jacobian(Q, reference="world_aligned")[3:]

    def agrees(size: float, payload: float) -> None:
        here = robot.with_gravity([0, -size, 0])
        want = here.gravity_torque(Q) + payload * size * p[1]
        assert np.abs(np.array(cells(page, "gravity_torque")) - want).max() <= 1e-12 * 10
        M = np.array(cells(page, "mass_matrix")).reshape(2, 2)
        assert np.abs(M - robot.mass_matrix(Q) - payload * p.T @ p).max() <= 1e-12

    for name, size in (("Mars", 3.71), ("Moon", 1.62), ("none", 0.0), ("Earth", 9.81)):
        settled(page, lambda n=name: page.get_by_role("button", name=n, exact=True).click())
        agrees(size, 0.0)
    settled(page, lambda: page.get_by_label("gravity, m/s²", exact=True).evaluate(SET, 4.25))
    agrees(4.25, 0.0)
    settled(page, lambda: page.get_by_label("payload, a point mass at the tip, kg", exact=True).evaluate(SET, 0.75))
    agrees(4.25, 0.75)


def test_condition_manipulability_and_ellipsoids_are_python_s(opened):
    robot = qddot.load("two_link")
    page = opened(robot, STATE)
    assert fact(page, "condition") == pytest.approx(np.linalg.cond(robot.mass_matrix(Q)), rel=1e-12)
    found = robot.ellipsoids(Q)
    assert fact(page, "manipulability") == pytest.approx(np.prod(found.velocity.lengths), rel=1e-12)
    assert fact(page, "energy") == pytest.approx(float(robot.hamiltonian(Q, QD)), rel=1e-12)
    for kind in ("velocity", "force", "mass"):
        settled(page, lambda k=kind: page.get_by_label("Ellipsoid").select_option(k))
        drawn = page.evaluate("(e => [...e.elements])(explorerApp.view.ellipsoid.mesh.matrix)")
        axes = np.array(drawn).reshape(4, 4)[:3, :3]  # half axes, m
        lengths = np.linalg.norm(axes, axis=1)
        flat = np.sort(lengths[np.abs(axes[:, 2]) < 0.5 * lengths])
        want = np.sort(getattr(found, kind).lengths)
        assert flat / flat.max() == pytest.approx(want / want.max(), rel=1e-6)
        said = page.locator(".caption").inner_text().split("half axes ")[1].split()[:2]
        assert [float(x.strip(",")) for x in said] == pytest.approx(want[::-1], rel=5e-3)


def test_bars_are_as_long_as_their_parts(opened):
    robot = qddot.load("two_link")
    page = opened(robot, STATE)
    widths = (
        "xs => xs.map(x => ['inertial', 'coriolis', 'gravity'].map(r => Number(x.querySelector('.' + r).getAttribute('width'))))"
    )
    drawn = np.array(page.locator(".bar:not(.axis) svg").evaluate_all(widths))
    parts = np.array([robot.mass_matrix(Q) @ QDD, robot.coriolis_torque(Q, QD), robot.gravity_torque(Q)]).T
    assert drawn / drawn.max() == pytest.approx(np.abs(parts) / np.abs(parts).max(), abs=1e-3)
    assert [x.strip() for x in page.locator(".bar.axis").inner_text().split("\n") if x.strip()] == ["−10", "0", "10"]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_copies_of_an_entry_are_its_value(opened, tmp_path):
    page = opened(qddot.load("two_link"), f"{STATE}&lens=coriolis_torque,0,0")
    copies = {}
    for name in ("Python", "C", "SymPy", "LaTeX"):
        page.locator(f"[data-copy={name}]").click()
        page.locator(f"#said:text('{name} copied')").wait_for()
        copies[name] = page.evaluate("document.documentElement.dataset.copied")
    value = cells(page, "coriolis_torque")[0]
    inside: dict = {}
    exec(copies["Python"], inside)
    assert float(inside["coriolis_torque_1"](Q, QD)) == pytest.approx(value, rel=1e-13)
    letters = dict(zip(sympy.symbols("q1 q2 qd1 qd2"), (*Q, *QD), strict=True))
    assert float(sympy.sympify(copies["SymPy"]).subs(letters)) == pytest.approx(value, rel=1e-13)
    main = "#include <stdio.h>\nint main(void) { double q[] = {0.3, 1.1}, qd[] = {2, -1}, c[1]; coriolis_torque_1(q, qd, c);"
    (tmp_path / "c.c").write_text(f'{copies["C"]}\n{main} printf("%.17g", c[0]); return 0; }}\n')
    subprocess.run(["cc", "-Wall", "-Werror", tmp_path / "c.c", "-o", tmp_path / "c", "-lm"], check=True)
    assert float(subprocess.run([tmp_path / "c"], capture_output=True, check=True).stdout) == pytest.approx(value, rel=1e-13)
    assert copies["LaTeX"] == r"-0.1225 s_{2} \dot{q}_{2} \left(2 \dot{q}_{1} + \dot{q}_{2}\right)"
    page.get_by_role("button", name="Where it comes from").click()
    assert page.locator(".derivation .here").inner_text().endswith("The forces of the velocities")


def test_a_link_is_dragged_and_the_view_comes_back(opened):
    page = opened(qddot.load("two_link"))
    box, before = page.locator(".scene").bounding_box(), held(page, "q")["q"]
    spot = page.evaluate(
        "at => explorerApp.view.tip.position.clone().set(...at).project(explorerApp.view.camera).toArray()",
        [0.25 * np.cos(before[0]), 0.25 * np.sin(before[0]), 0.0],
    )
    x, y = box["x"] + (spot[0] + 1) / 2 * box["width"], box["y"] + (1 - spot[1]) / 2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 30, y - 40, steps=6)
    page.mouse.up()
    after = held(page, "q")["q"]
    assert after[0] > before[0] + 0.3
    assert after[1] == before[1]
    settled(page, lambda: page.get_by_role("button", name="Reset").click())
    assert held(page, "q")["q"] == pytest.approx(before)


def test_every_control_has_a_name(opened):
    page = opened(qddot.load("puma560"), scheme="dark")
    page.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
    named = "x.getAttribute('aria-label') || x.textContent.trim() || x.labels?.[0]?.textContent.trim()"
    unnamed = f"xs => xs.filter(x => !x.hidden && !({named})).map(x => x.outerHTML.slice(0, 80))"
    assert page.locator("button, input, select, summary, canvas, [role=button]").evaluate_all(unnamed) == []
