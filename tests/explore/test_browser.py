"""The page in a real browser: what it computes, what it shows, what it survives."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import qddot
from qddot.explore import show
from qddot.explore.source import source
from qddot.robot import Robot
from tests.explore.test_page import HOSTILE
from tests.robots import random_model

SET = "(e, v) => { e.value = v; e.dispatchEvent(new Event('input', {bubbles: true})); }"
LETTERS = {"l1": 0.5, "l2": 0.7, "m1": 0.5, "m2": 0.7, "r": 0.04}
NUMBER = re.compile(r"-?\d[\d.e-]*")
FRAME = "async n => { while (explorerApp.frames <= n) await new Promise(requestAnimationFrame); }"


def settled(page, act) -> None:
    """Do something, and wait for the frame it causes."""
    before = page.evaluate("explorerApp.frames")
    act()
    page.evaluate(FRAME, before)


def held(page, names: str) -> dict:
    """Arrays of the page's physics and state."""
    inside = ", ".join(f"{x}: [...explorerApp.{'state' if x in ('q', 'qd', 'qdd') else 'physics'}.{x}]" for x in names.split())
    return {k: np.array(v) for k, v in json.loads(page.evaluate(f"JSON.stringify({{{inside}}})")).items()}


def cells(page, quantity: str) -> list[float]:
    return page.locator(f"[data-entry^='{quantity},']").evaluate_all("xs => xs.map(x => x.number)")


def agrees(page, robot) -> None:
    """Every number shown is the kernels' at the q and qd the page holds (a browser keeps 15 digits of a slider)."""
    at = held(page, "q qd M c g kinetic potential poses")
    q, qd = at["q"], at["qd"]
    for name, want in (
        ("mass_matrix", robot.mass_matrix(q)),
        ("coriolis_torque", robot.coriolis_torque(q, qd)),
        ("gravity_torque", robot.gravity_torque(q)),
    ):
        scale = max(1.0, np.abs(want).max())
        assert np.abs(np.array(cells(page, name)) - want.ravel()).max() <= 1e-12 * scale, name
    assert at["kinetic"][0] == pytest.approx(float(robot.kinetic_energy(q, qd)), abs=1e-12)
    assert at["potential"][0] == pytest.approx(float(robot.potential_energy(q)), abs=1e-11)
    tau = robot.inverse_dynamics(q, qd, held(page, "qdd")["qdd"])
    assert np.abs(np.array(cells(page, "inverse_dynamics")) - tau).max() <= 1e-12 * max(1, np.abs(tau).max())


@pytest.mark.parametrize("name", ["two_link", pytest.param("arm7", marks=pytest.mark.slow)])
def test_every_slider_moves_numbers_that_are_the_kernels(opened, name):
    robot = qddot.load(name)
    page, rng = opened(robot), np.random.default_rng(0)
    page.evaluate("document.querySelectorAll('details').forEach(x => x.open = true)")
    sliders = page.locator(".controls details").nth(0).locator("input[type=range]").all()
    sliders += page.locator(".controls details").nth(1).locator("input[type=range]").all()
    sliders += page.locator(".controls details").nth(2).locator("input[type=range]").all()
    assert len(sliders) == 3 * robot.nv
    for slider in sliders:
        low, high = (float(slider.get_attribute(x)) for x in ("min", "max"))
        value = rng.uniform(low, high)
        settled(page, lambda s=slider, v=value: s.evaluate(SET, v))
        agrees(page, robot)


def test_gravity_payload_and_friction_are_those_of_python(opened):
    robot = qddot.load("puma560")
    page = opened(robot, "q=0.1,0.2,0.3,0.4,0.5,0.6&qd=1,-1,0.5,0.2,0.1,-0.4&gravity=0,0,-1.62&payload=2.5")
    at = held(page, "q qd M g friction")
    moon = robot.with_gravity([0, 0, -1.62])
    p = robot.jacobian(at["q"], reference="world_aligned")[3:]
    assert np.abs(at["M"].reshape(6, 6) - (moon.mass_matrix(at["q"]) + 2.5 * p.T @ p)).max() <= 1e-12 * 10
    assert np.abs(at["g"] - (moon.gravity_torque(at["q"]) - 2.5 * p.T @ moon.gravity)).max() <= 1e-12 * 50
    assert np.abs(at["friction"] - robot.friction_torque(at["qd"])).max() <= 1e-12 * 10
    settled(page, lambda: page.get_by_label("Friction").uncheck())
    assert not held(page, "friction")["friction"].any()


def test_the_lens_shows_the_ring_s_form_and_its_present_value(opened):
    robot = qddot.load("two_link")
    page = opened(robot, "q=0.3,1.1&qd=2,-1")
    settled(page, lambda: page.locator("[data-entry='coriolis_torque,0,0']").click())
    want = robot.equations().c[0]
    total = float(page.locator("#formula").get_attribute("data-total"))
    assert total == pytest.approx(robot.coriolis_torque([0.3, 1.1], [2, -1])[0], abs=1e-12)
    plain = lambda text: "".join(text.split()).replace("\u2062", "").replace("\u2061", "")  # noqa: E731
    shown = plain(page.locator("#formula math").first.text_content())
    assert shown == "0.1225s2q˙2(2q˙1+q˙2)"
    page.locator("[data-copy=LaTeX]").click()
    page.locator("html[data-copied]").wait_for(state="attached")
    assert page.evaluate("document.documentElement.dataset.copied") == want.latex()
    settled(page, lambda: page.get_by_label("notation").select_option("craig"))
    assert "θ" in page.locator("#formula math").first.text_content()
    assert plain(page.locator(".left math").text_content()) == "V1(θ,θ˙)="
    words = page.locator(".word")
    assert plain(words.text_content()) == "s2=sin(θ2)=0.8912"  # with its present value
    assert words.evaluate("e => getComputedStyle(e).whiteSpace") == "nowrap"


def test_long_coriolis_forces_are_shown_by_products_of_velocities(opened):
    robot, qd = qddot.load("arm7"), [1, -0.5, 0.3, 1, 0.2, 1, 0.5]
    page = opened(robot, f"qd={','.join(map(str, qd))}&lens=coriolis_torque,2,0")
    want = robot.coriolis_torque(held(page, "q")["q"], qd)
    assert float(page.locator("#formula").get_attribute("data-total")) == pytest.approx(want[2], abs=1e-12)
    assert page.locator("#formula .term").count() == 28
    settled(page, lambda: page.locator("#formula .term").nth(1).click())  # Gamma_123, from three derivatives of M
    symbols = np.array(page.evaluate("[...explorerApp.lens.christoffel()]")).reshape(7, 7, 7)
    parts = [float(x) for x in page.locator(".detail .term").evaluate_all("xs => xs.map(x => x.dataset.value)")]
    assert len(parts) == 3
    assert sum(parts) == pytest.approx(symbols[0, 1, 2], abs=1e-12)
    q, step = held(page, "q")["q"], 1e-6 * np.eye(7)[1]
    slope = (robot.mass_matrix(q + step) - robot.mass_matrix(q - step))[2, 0] / 2e-6
    assert parts[0] == pytest.approx(slope / 2, abs=1e-8)
    assert held(page, "c")["c"] == pytest.approx(want, abs=1e-12)


def test_tau_is_the_sum_of_terms_that_open(opened):
    robot = qddot.load("two_link")
    page = opened(robot, "q=0.3,1.1&qd=2,-1&qdd=3,4&lens=inverse_dynamics,1,0")
    total = float(page.locator("#formula").get_attribute("data-total"))
    assert total == pytest.approx(robot.inverse_dynamics([0.3, 1.1], [2, -1], [3, 4])[1], abs=1e-12)
    settled(page, lambda: page.locator("#formula .term.gravity").click())
    assert page.evaluate("explorerApp.state.lens.quantity") == "gravity_torque"


def simulated(page, seconds: float) -> list[dict]:
    """The samples of a motion, advanced step by step."""
    page.evaluate(
        "n => { for (let k = 0; k < n; k++) if (!explorerApp.simulation.advance()) throw new Error('stopped') }",
        round(seconds * 1000),
    )
    sample = "({t: s.t, q: [...s.q], qd: [...s.qd], E: s.kinetic + s.potential})"
    return json.loads(page.evaluate(f"JSON.stringify(explorerApp.simulation.samples.map(s => {sample}))"))


@pytest.mark.parametrize("name", ["two_link", "five_bar"])
def test_the_simulation_is_python_s(opened, name):
    robot = qddot.load(name)
    page = opened(robot)
    samples = simulated(page, 1.5)
    motion = robot.simulate(samples[0]["q"], None, 1.5)
    assert samples[-1]["t"] == pytest.approx(1.5)
    assert np.abs(np.array(samples[-1]["q"]) - motion.q[-1]).max() <= 1e-6
    drift, want = (np.ptp(x) for x in ([s["E"] for s in samples], motion.energy))
    assert drift <= 2 * want + 1e-9


def test_dry_friction_holds_and_stops_stop(opened):
    drive = qddot.Drive(coulomb=5.0)
    build = qddot.Builder("dry").body("a", "base", axis=(0, 1, 0), mass=1, com=(0.3, 0, 0), drive=drive)
    robot = build.body("b", "a", xyz=(0.5, 0, 0), axis=(0, 1, 0), mass=0.5, com=(0.2, 0, 0), limits=qddot.Limits(-1.0, 1.0)).robot()
    page = opened(robot, "q=0.2,0.3")
    samples = simulated(page, 2.0)
    motion = robot.simulate([0.2, 0.3], None, 2.0)
    assert samples[-1]["q"][0] == pytest.approx(motion.q[-1][0], abs=2e-3)
    assert samples[-1]["q"][1] == pytest.approx(motion.q[-1][1], abs=2e-3)


def test_what_holds_a_joint_is_friction_and_what_stops_it_comes_from_outside(opened, tmp_path):
    """Motors are off: of a joint that dry friction holds and one at its stop, the parts of the joint force add up to nothing."""
    build = qddot.Builder("rest").body("a", "base", axis=(0, 1, 0), mass=1, com=(0.3, 0, 0), drive=qddot.Drive(coulomb=9.0))
    robot = build.body("b", "a", xyz=(0.5, 0, 0), axis=(0, 1, 0), mass=0.5, com=(0.2, 0, 0), limits=qddot.Limits(-1.0, 1.0)).robot()
    page = opened(robot, "q=0.2,1")
    simulated(page, 0.5)
    robot.simulate([0.2, 1.0], None, 0.5).explore(tmp_path / "motion.html")
    for played in (page, opened(tmp_path / "motion.html")):
        settled(played, lambda p=played: p.evaluate("explorerApp.simulation.seek(0.5)"))
        at = held(played, "q qd g friction external")
        assert at["q"] == pytest.approx([0.2, 1.0], abs=1e-9)
        assert cells(played, "inverse_dynamics") == pytest.approx([0, 0], abs=1e-9)
        assert at["friction"] == pytest.approx([-at["g"][0], 0], abs=1e-6)
        assert at["external"] == pytest.approx([0, at["g"][1]], abs=1e-6)


def test_forces_of_loops_are_a_part_of_joint_forces(opened):
    robot = qddot.load("five_bar")
    page = opened(robot)
    simulated(page, 0.3)
    settled(page, lambda: page.evaluate("explorerApp.simulation.seek(0.3)"))
    at = held(page, "q external")
    A = robot.constraint_jacobian(at["q"])
    rest = at["external"] - A.T @ np.linalg.lstsq(A.T, at["external"], rcond=None)[0]
    assert np.abs(at["external"]).max() > 0.1
    assert np.abs(rest).max() < 1e-6  # they do no work
    assert cells(page, "inverse_dynamics") == pytest.approx(np.zeros(4), abs=1e-9)


def test_friction_that_is_stiff_for_its_inertia_does_not_diverge(opened):
    """As of fingers in many descriptions: then steps are implicit, of order one."""
    build = qddot.Builder("stiff").body("a", "base", axis=(0, 1, 0), mass=1, com=(0.3, 0, 0))
    light = {"mass": 0.01, "com": (0.02, 0, 0), "drive": qddot.Drive(viscous=0.5)}
    robot = build.body("b", "a", xyz=(0.5, 0, 0), axis=(0, 1, 0), **light).robot()
    samples = simulated(opened(robot, "q=0.2,0.3"), 0.2)
    motion = robot.simulate([0.2, 0.3], None, 0.2, step=2e-5)
    assert samples[-1]["q"] == pytest.approx(motion.q[-1], abs=2e-3)
    assert samples[-1]["qd"] == pytest.approx(motion.qd[-1], abs=2e-2)  # of 6 rad/s


def test_a_motion_that_cannot_begin_says_why_and_leaves_the_state(opened):
    build = qddot.Builder("light").body("a", "base", axis=(0, 1, 0), mass=1, com=(0.3, 0, 0))
    robot = build.body("b", "a", xyz=(0.5, 0, 0), axis=(0, 1, 0), mass=0.0, joint_name="wrist").robot()
    page = opened(robot, "q=0.2,0.3")
    settled(page, lambda: page.keyboard.press("Space"))
    page.evaluate("new Promise(r => setTimeout(r, 200))")
    assert page.locator("#said").inner_text() == "The motion cannot begin: nothing resists joint wrist, its links have no mass."
    assert not page.evaluate("explorerApp.simulation.running")
    assert held(page, "q")["q"] == pytest.approx([0.2, 0.3])
    agrees(page, robot)


@pytest.mark.parametrize(
    ("rubbing", "friction", "seconds", "rests"),
    [("motors", 4.0, 0.5, True), ("all", 1.0, 0.1, True), ("all", 0.4, 0.2, False)],
)
def test_a_closed_loop_sticks(opened, rubbing, friction, seconds, rests):
    """It swings and comes to rest where Python's does; with friction in more joints than can move by themselves it never moves."""
    loop, drive = qddot.load("five_bar").model, qddot.Drive(coulomb=friction)
    rubs = lambda joint: joint.kind != "fixed" and (rubbing == "all" or joint.parent == loop.root)  # noqa: E731
    robot = Robot(loop.copy(joints=tuple(replace(x, drive=drive) if rubs(x) else x for x in loop.joints)))
    samples = simulated(opened(robot, "qd=3,-3,0,0" if rubbing == "motors" else ""), seconds)
    motion = robot.simulate(samples[0]["q"], samples[0]["qd"], seconds)
    assert np.abs(np.array(samples[-1]["q"]) - motion.q[-1]).max() <= 2e-3
    assert (not np.any(samples[-1]["qd"])) == (np.abs(motion.qd[-1]).max() < 1e-9) == rests
    assert (np.ptp(motion.q, axis=0).max() > 0.01) == (friction != 1.0)


def test_every_friction_in_the_lens(opened):
    smooth = qddot.Drive(viscous=0.3, coulomb=1.0, offset=0.2, smoothing_velocity=0.05)
    loaded = qddot.Drive(coulomb=(0.4, 0.6), static=0.9, stribeck_velocity=0.3, load_friction=0.2)
    build = qddot.Builder("rough").body("a", "base", axis=(0, 1, 0), mass=1, com=(0.3, 0, 0), drive=smooth)
    robot = build.body("b", "a", xyz=(0.5, 0, 0), axis=(0, 1, 0), mass=0.5, com=(0.2, 0, 0), drive=loaded).robot()
    page = opened(robot, "q=0.3,1.1&qd=0.1,-1&qdd=3,4&lens=friction_torque,0,0")
    total = float(page.locator("#formula").get_attribute("data-total"))
    assert total == pytest.approx(robot.friction_torque([0.1, -1])[0], abs=1e-9)
    agrees(page, robot)
    settled(page, lambda: page.get_by_label("row", exact=True).select_option(index=1))
    settled(page, lambda: page.locator(".tab.total").click())
    want = robot.inverse_dynamics([0.3, 1.1], [0.1, -1], [3, 4])[1]
    assert float(page.locator("#formula").get_attribute("data-total")) == pytest.approx(want, abs=1e-9)
    samples = simulated(page, 1.0)
    motion = robot.simulate(samples[0]["q"], samples[0]["qd"], 1.0)
    assert np.abs(np.array(samples[-1]["q"]) - motion.q[-1]).max() <= 5e-3


def test_without_coriolis_forces_energy_is_not_kept(opened):
    page = opened(qddot.load("two_link"), "q=0.5,1.5&coriolis=off")
    energies = [s["E"] for s in simulated(page, 1.0)]
    assert np.ptp(energies) > 0.05


def test_the_address_holds_the_whole_state(opened):
    robot = qddot.load("two_link")
    page = opened(
        robot,
        "q=0.25,-1.5&qd=1,2&payload=0.5&lens=gravity_torque,1,0&show=frames,centres&ellipsoid=mass&drive=gravity&form=letters"
        "&speed=0.1&strip=qd,1",
    )
    page.evaluate("new Promise(r => setTimeout(r, 400))")
    fragment = page.evaluate("location.hash")
    again = opened(robot, fragment[1:])
    for key in ("q", "qd", "lens", "view", "drive", "variant", "speed", "strip"):
        assert page.evaluate(f"JSON.stringify(explorerApp.state.{key})") == again.evaluate(
            f"JSON.stringify(explorerApp.state.{key})"
        )
    assert again.evaluate("explorerApp.state.world.payload") == 0.5


def test_reloading_brings_back_camera_speed_strip_and_run(opened):
    page = opened(qddot.load("two_link"), "q=0.5,1.5&show=path")
    page.get_by_label("speed").select_option("0.25")
    simulated(page, 0.345)
    settled(page, lambda: page.evaluate("explorerApp.simulation.rest(); explorerApp.schedule()"))
    page.get_by_label("what is drawn over time").select_option("qd")
    asked = "(({state: {q, qd, speed, strip}, simulation: {time, end, samples}, view: {viewpoint, path}}) => "
    asked += (
        "JSON.stringify([q, qd, speed, strip, time, end, samples.at(-1).q, viewpoint.written(), path.length > 20]))(explorerApp)"
    )
    resting = "new Promise(r => setTimeout(r, 400))"
    page.evaluate(resting)
    before = page.evaluate(asked)
    assert "0.345" in before
    page.reload()
    page.locator("html[data-lens]").wait_for(state="attached")
    after = page.evaluate(asked)
    assert [float(x) for x in NUMBER.findall(after)] == pytest.approx([float(x) for x in NUMBER.findall(before)], rel=1e-5)
    assert after.endswith("true]")
    page.evaluate("explorerApp.edited()")  # by a slider, say: what ran before belongs to another motion
    page.evaluate(resting)
    assert "run=" not in page.evaluate("location.hash")
    assert "camera=" in page.evaluate("location.hash")


@pytest.mark.parametrize(("name", "values"), [("two_link", LETTERS), pytest.param("puma560", None, marks=pytest.mark.slow)])
def test_copied_python_reproduces_the_view(opened, monkeypatch, tmp_path, name, values):
    """It computes the numbers, and opens a page with the same address."""
    robot = qddot.load(name, symbolic=values is not None)
    state = "q=0.25,-1.5&qd=1,2&qdd=1,3" if name == "two_link" else "q=0.1,0.2,0.3,0.4,0.5,0.6&qd=1,-1,0.5,0.2,0.1,-0.4"
    page = opened(
        robot, f"{state}&payload=0.5&gravity=0,-1.62,0&ellipsoid=mass&lens=gravity_torque,1,0&form=letters", values=values
    )
    page.locator("body").press("p")
    page.locator("html[data-copied]").wait_for(state="attached")
    made: list[str] = []
    monkeypatch.setattr(show.Page, "open", lambda self: made.append(self.html))
    inside: dict = {}
    exec(page.evaluate("document.documentElement.dataset.copied"), inside)
    at = held(page, "M c g")
    assert np.abs(inside["M"].ravel() - at["M"]).max() <= 1e-12 * max(1, np.abs(at["M"]).max())
    tau = np.array(cells(page, "inverse_dynamics"))
    assert np.abs(inside["tau"] - tau).max() <= 1e-12 * max(1, np.abs(tau).max())
    again = tmp_path / "again.html"
    again.write_text(made[0], "utf-8")
    page.evaluate("new Promise(r => setTimeout(r, 300))")
    assert opened(again).evaluate("explorerApp.state.fragment()") == page.evaluate("explorerApp.state.fragment()")


def test_python_of_a_robot_that_no_text_can_say_says_so():
    with pytest.warns(qddot.errors.ModelWarning, match="length 2"):
        robot = qddot.from_screws([[0, 0, 2, 0, 0, 0]], inertias=[qddot.Inertia(1.0, (0.3, 0, 0), (0.1, 0.1, 0.1))])
    assert source(robot.model).startswith("robot = ...")
    heavy = qddot.load("two_link").model.copy(gravity=(0, -1.62, 0))
    assert source(heavy) == "robot = qddot.load('two_link').with_gravity([0.0, -1.62, 0.0])"


def test_keys_and_mouse(opened):
    page = opened(qddot.load("two_link"))
    slider = page.locator(".controls input[type=range]").first
    slider.focus()
    settled(page, lambda: slider.press("End"))
    assert held(page, "q")["q"][0] == pytest.approx(np.pi, abs=1e-14)
    page.locator("h1").click()
    settled(page, lambda: page.keyboard.press("r"))
    assert held(page, "q")["q"][0] == pytest.approx(0.6)
    before = held(page, "tip")["tip"]
    box = page.locator(".scene").bounding_box()
    spot = page.evaluate("(() => { const v = explorerApp.view; return v.tip.position.clone().project(v.camera).toArray(); })()")
    x, y = box["x"] + (spot[0] + 1) / 2 * box["width"], box["y"] + (1 - spot[1]) / 2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 40, y + 30, steps=5)
    page.mouse.up()
    moved = held(page, "tip")["tip"] - before
    assert moved[0] < -0.02
    assert moved[1] < -0.02


def test_the_lens_is_of_the_present_gravity_and_says_where_a_payload_is_missing(opened):
    robot, q = qddot.load("two_link"), [0.3, 1.1]
    g, M = robot.gravity_torque(q)[0], robot.mass_matrix(q)[0, 0]
    half = ",".join(map(str, 0.5 * np.asarray(robot.gravity)))
    page = opened(robot, f"q=0.3,1.1&gravity={half}&lens=gravity_torque,0,0")
    total = lambda: float(page.locator("#formula").get_attribute("data-total"))  # noqa: E731
    assert total() == pytest.approx(0.5 * g, abs=1e-12)
    assert "present gravity" in page.locator(".warning").text_content()
    settled(page, lambda: page.locator("[data-entry='mass_matrix,0,0']").click())
    assert not page.locator(".warning").is_visible()  # which gravity does not change
    settled(page, lambda: page.evaluate("location.hash = 'q=0.3,1.1&payload=2'"))
    now = cells(page, "mass_matrix")[0]
    assert now > M + 0.1
    assert total() == pytest.approx(M, abs=1e-12)
    assert f"without the payload; as the robot is now, it is {now:.4f}"[:60] in page.locator(".warning").text_content()
    settled(page, lambda: page.locator("[data-entry='inverse_dynamics,0,0']").click())
    assert total() == pytest.approx(cells(page, "inverse_dynamics")[0], abs=1e-12)
    assert not page.locator(".warning").is_visible()


def test_the_tip_is_pulled_while_it_moves(opened):
    page = opened(qddot.load("two_link"), "drive=hold&lens=inverse_dynamics,0,0")
    page.get_by_label("speed").select_option("0.02")
    page.locator("body").press(" ")
    box = page.locator(".scene").bounding_box()
    spot = page.evaluate("explorerApp.view.tip.position.clone().project(explorerApp.view.camera).toArray()")
    x, y = box["x"] + (spot[0] + 1) / 2 * box["width"], box["y"] + (1 - spot[1]) / 2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    settled(page, lambda: page.mouse.move(x - 90, y - 20, steps=3))
    assert page.evaluate("explorerApp.simulation.running && explorerApp.view.spring.visible")
    assert page.evaluate("explorerApp.physics.external.some(x => Math.abs(x) > 0.1)")
    settled(page, lambda: page.evaluate("explorerApp.simulation.stop()"))
    tau = np.array(page.evaluate("[...explorerApp.simulation.samples.at(-1).tau]"))  # of the motors, as the strip shows it
    assert cells(page, "inverse_dynamics") == pytest.approx(tau, abs=1e-9)
    assert float(page.locator("#formula").get_attribute("data-total")) == pytest.approx(tau[0], abs=1e-9)
    assert page.locator("#formula .term.external").count() == 1
    page.mouse.up()
    assert page.evaluate("explorerApp.simulation.pull === null")


def test_the_wheel_scrolls_until_the_scene_is_clicked_and_keys_move_the_view(opened):
    page = opened(qddot.load("two_link"), height=500)
    written = "explorerApp.view.viewpoint.written()"
    first = page.evaluate(written)
    box = page.locator(".scene").bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 150)
    zoom = lambda: page.evaluate("explorerApp.view.camera.zoom")  # noqa: E731
    page.mouse.wheel(0, 100)
    page.evaluate("new Promise(r => setTimeout(r, 300))")
    assert page.evaluate("scrollY") > 0
    assert zoom() == 1
    page.evaluate("scrollTo(0, 0)")
    page.mouse.click(box["x"] + 60, box["y"] + 150)
    settled(page, lambda: page.mouse.wheel(0, 100))
    assert page.evaluate("scrollY") == 0
    assert zoom() != 1
    canvas = page.locator(".scene canvas")
    settled(page, lambda: canvas.press("ArrowLeft"))
    page.evaluate("new Promise(r => setTimeout(r, 400))")
    fragment = page.evaluate("location.hash")
    assert "camera=" in fragment
    again = opened(qddot.load("two_link"), fragment[1:])
    assert again.evaluate(written) == pytest.approx(page.evaluate(written), rel=1e-5)
    settled(page, lambda: page.locator("body").press("f"))
    page.evaluate("new Promise(r => setTimeout(r, 400))")
    assert page.evaluate(written) == pytest.approx(first, abs=1e-9)
    assert "camera=0," in page.evaluate("location.hash")


@pytest.mark.parametrize("seed", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_joints_of_every_type(opened, seed):
    robot = qddot.robot.Robot(random_model(np.random.default_rng(seed), 5, mimic=0.2)).with_floating_base()
    page, rng = opened(robot), np.random.default_rng(0)
    for slider in page.locator(".controls details").first.locator("input[type=range]").all()[:8]:
        value = float(rng.uniform(-1, 1))
        settled(page, lambda s=slider, v=value: s.evaluate(SET, v))
    at = held(page, "q qd M g poses")
    assert np.abs(at["M"].reshape(robot.nv, -1) - robot.mass_matrix(at["q"])).max() <= 1e-11
    samples = simulated(page, 0.2)
    motion = robot.simulate(samples[0]["q"], None, 0.2)
    assert np.abs(np.array(samples[-1]["q"]) - motion.q[-1]).max() <= 1e-6


def test_symbolic_lengths_stand_on_the_links(opened):
    robot = qddot.load("two_link", symbolic=True)
    page = opened(robot, "q=0,1.5707963267948966", values=LETTERS)
    first, second = page.locator(".length").all()
    assert (first.text_content(), second.text_content()) == ("l1", "l2")
    (a, b) = (x.bounding_box() for x in (first, second))
    settled(page, lambda: page.evaluate("explorerApp.schedule()"))
    spot = "(() => { const v = explorerApp.view; return v.tip.position.clone().project(v.camera).toArray(); })()"
    box, tip = page.locator(".scene").bounding_box(), page.evaluate(spot)
    x, y = box["x"] + (tip[0] + 1) / 2 * box["width"], box["y"] + (1 - tip[1]) / 2 * box["height"]
    assert a["y"] > b["y"]  # the first link lies, the second stands on its end
    assert abs(b["x"] + b["width"] / 2 - x) < 40
    assert y < b["y"] < a["y"]


STRANGE = {
    "q=1,2,3": "q=1,2,3: 2 finite numbers are needed, there are 3",
    "q=1,nan": "2 finite numbers are needed, there are 1",
    "qq=1&payload=2": "qq: there is no such key",
    "payload=-1": "a mass in kg is needed",
    "show=axes,axis": "it can be frames, axes, centres, path, boxes",
    "lens=mass_matrix,7,0": "row and column are whole numbers from 0 to 1",
    "lens=<img src=x>": "lens=<img src=x>: it begins with one of mass_matrix, ",
    "q=1,NaN&qd=x&gravity=1,2&tip=99&lens=<img>,9,-1&notation=__proto__&form=constructor": "form=constructor: it can be numbers,",
    "speed=9&strip=toString,length&time=x&run=1,2": "run=1,2: 5 finite numbers are needed, there are 2",
}


def test_what_makes_no_sense_in_an_address_is_said(opened):
    page = opened(qddot.load("two_link"), "ellipsoid=speed")
    note = page.get_by_role("alert")
    assert "it can be none, velocity, force, mass" in note.inner_text()
    note.get_by_role("button").click()
    assert not note.is_visible()
    for fragment, said in STRANGE.items():
        settled(page, lambda f=fragment: page.evaluate("f => { location.hash = f }", f))
        assert said in note.inner_text()
        assert (page.evaluate("explorerApp.state.world.payload") == 2) == ("payload=2" in fragment)  # the rest is taken
    agrees(page, qddot.load("two_link"))
    settled(page, lambda: page.evaluate("location.hash = 'q=0.1,0.2'"))
    assert not note.is_visible()
    assert held(page, "q")["q"] == pytest.approx([0.1, 0.2])


def test_a_quaternion_in_an_address_has_length_one(opened):
    build = qddot.Builder("ball").body("a", "base", joint="spherical", mass=1, com=(0.3, 0, 0)).robot()
    page = opened(build, "q=0,0,0,0")
    assert "a quaternion w, x, y, z of length 1" in page.get_by_role("alert").inner_text()
    assert held(page, "q")["q"] @ held(page, "q")["q"] == pytest.approx(1)


def test_hostile_names_stay_text(opened):
    build = qddot.Builder(HOSTILE).body(HOSTILE, "base", joint_name=HOSTILE + "2", axis=(0, 0, 1), mass=1, com=(0.1, 0, 0))
    page = opened(build.robot())
    assert page.title() == HOSTILE
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.locator("img").count() == 0


def test_a_script_that_is_not_ours_does_not_run(opened, tmp_path):
    path = tmp_path / "changed.html"
    html = qddot.load("two_link").explore(path).html
    path.write_text(html.replace("</body>", "<b>said</b></body>").replace("<title>", "<title>ours "), "utf-8")
    assert opened(path).title() == "ours two_link"


def test_nothing_overflows(opened):
    page = opened(qddot.load("arm7"), scheme="dark")
    for width in (400, 800, 1100, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_font_is_in_the_page(opened):
    page = opened(qddot.load("two_link"))
    page.evaluate("document.fonts.ready.then(() => 0)")
    assert "loaded" in page.evaluate("[...document.fonts].map(f => f.status)")


def test_a_notebook_shows_the_page(opened, tmp_path):
    made = qddot.load("two_link").explore(tmp_path / "arm.html")
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!doctype html><html data-ready data-lens><body>{made._repr_html_()}</body></html>", "utf-8")
    page = opened(outer)
    inner = page.frame_locator("iframe")
    inner.locator("html[data-lens]").wait_for(state="attached", timeout=20_000)
    assert inner.locator("h1").inner_text() == "two_link"
    assert not page.locator(".qddot-untrusted").is_visible()


def test_a_motion_plays(opened, tmp_path):
    robot = qddot.load("two_link")
    path = tmp_path / "motion.html"
    robot.simulate([0.3, 0.4], None, 0.5).explore(path)
    page = opened(path)
    settled(page, lambda: page.get_by_label("time", exact=True).evaluate(SET, 0.5))
    want = robot.simulate([0.3, 0.4], None, 0.5).q[-1]
    assert held(page, "q")["q"] == pytest.approx(want, abs=1e-7)
    page.evaluate("new Promise(r => setTimeout(r, 400))")
    again = opened(path, page.evaluate("location.hash.slice(1)"))
    assert again.locator(".clock").inner_text() == "0.50 s"
    assert held(again, "q")["q"] == pytest.approx(want, abs=1e-7)


def test_a_blow_at_a_stop_is_told_and_every_joint_is_in_the_legend(opened):
    page = opened(qddot.load("panda"))
    simulated(page, 0.6)
    settled(page, lambda: page.evaluate("explorerApp.schedule()"))
    assert "joint2 hit its stop at 0.4" in page.locator(".blow").inner_text()
    legend = page.locator(".strip").nth(1).locator(".u-series:visible").all_inner_texts()
    assert [f"joint{k}" in row for k, row in enumerate(legend, 1)] == [True] * 7
    assert page.locator(".strip .u-legend").nth(1).evaluate("x => x.scrollHeight - x.clientHeight") <= 1  # none is hidden
