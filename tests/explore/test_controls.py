"""How the page is used: by keys, by touch, and what it says of robots that lack something."""

from __future__ import annotations

import json

import numpy as np
import pytest

import qddot
from qddot.contact import Contacts, Plane, Sphere
from qddot.errors import InputError, UnboundSymbolError
from qddot.explore.page import page as html_of
from qddot.explore.source import source
from tests.explore.test_browser import held, settled, simulated
from tests.explore.test_page import equations, parts

PLAYS = "explorerApp.simulation.running"


def test_space_plays_after_a_control_was_touched_and_works_a_button_the_keyboard_went_to(opened):
    page = opened(qddot.load("two_link"))
    is_running = lambda: page.evaluate(PLAYS)  # noqa: E731
    for control in (".controls input[type=range]", "[data-value='1.62']", ".lens .tab >> nth=2", "#mass .cell >> nth=1"):
        page.locator(control).first.click()
        before = is_running()
        page.keyboard.press("Space")
        assert is_running() != before, control
    assert page.evaluate("explorerApp.state.lens.quantity") == "mass_matrix"  # the last click, which Space did not repeat
    page.locator(".controls select").first.select_option("hold")
    page.locator(".controls select").first.focus()
    page.keyboard.press("Space")
    assert is_running()
    page.keyboard.press("Space")
    page.locator("[data-value='0']").focus()
    page.keyboard.press("Shift+Tab")  # to the Moon
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert not is_running()
    assert not any(page.evaluate("explorerApp.state.world.gravity"))
    page.locator(".controls input[type=range]").first.focus()
    page.keyboard.press("Space")
    assert is_running()
    page.keyboard.press("Space")


def test_a_tapped_number_leads_to_its_equation_on_a_telephone(opened):
    page = opened(qddot.load("two_link"), width=400, height=800)
    page.locator("[data-entry='gravity_torque,0,0']").click()
    page.evaluate("new Promise(r => setTimeout(r, 900))")
    top = page.locator("#formula").bounding_box()["y"]
    assert 0 <= top < 760
    assert page.locator("h1").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_energies_of_strips_and_panel_are_those_of_one_moment(opened):
    page = opened(qddot.load("two_link"))
    page.keyboard.press("Space")
    page.evaluate("new Promise(r => setTimeout(r, 333))")
    settled(page, lambda: page.keyboard.press("Space"))
    last = page.evaluate("(s => [s.t, s.kinetic, s.potential])(explorerApp.simulation.samples.at(-1))")
    shown = held(page, "kinetic potential")
    assert last == [page.evaluate("explorerApp.simulation.time"), shown["kinetic"][0], shown["potential"][0]]


def test_a_recorded_motion_is_weighed_with_its_payload(opened, tmp_path):
    robot = qddot.load("two_link")
    robot.simulate([0.3, 0.4], None, 0.5).explore(tmp_path / "motion.html")
    page = opened(tmp_path / "motion.html")
    slider = page.get_by_label("payload, a point mass at the tip, kg", exact=True)
    settled(page, lambda: slider.evaluate("e => { e.value = 1; e.dispatchEvent(new Event('input', {bubbles: true})); }"))
    first = page.evaluate("explorerApp.simulation.samples[0].potential")
    assert first == held(page, "potential")["potential"][0]


def test_tau_can_be_copied(opened):
    robot = qddot.load("two_link")
    page = opened(robot, "lens=inverse_dynamics,1,0")
    page.locator("[data-copy=Python]").click()
    page.locator("html[data-copied]").wait_for(state="attached")
    want = robot.equations().tau[1].python().replace("def form(", "def inverse_dynamics_2(")
    assert page.evaluate("document.documentElement.dataset.copied") == want
    for name in ("LaTeX", "C", "SymPy"):
        assert page.locator(f"[data-copy={name}]").is_enabled()


def test_sines_of_sums_are_explained(opened):
    page = opened(qddot.load("ur5e"), "qd=1,2,3,1,2,3&lens=coriolis_torque,2,0")
    words = page.locator(".words").text_content()
    assert "s223=sin(2q2+q3)" in words.replace("\u2061", "").replace("\u2062", "")


def test_abbreviations_unfold_and_are_copied_with_what_they_stand_for(opened):
    robot = qddot.load("puma560")
    page = opened(robot, "q=0.1,0.4,-0.7,0.3,1,0.2&form=letters&lens=gravity_torque,1,0")
    q = page.evaluate("[...explorerApp.state.q]")
    switch, names = page.get_by_label("abbreviated", exact=True), page.locator(".names button")
    assert switch.is_checked()  # it is long
    total = lambda: float(page.locator("#formula").get_attribute("data-total"))  # noqa: E731
    assert total() == pytest.approx(robot.gravity_torque(q)[1], abs=1e-12)
    first, definition = names.first, page.locator(".definition").first
    name = first.get_attribute("data-name")
    assert not definition.is_visible()
    first.press("Enter")
    assert first.get_attribute("aria-expanded") == "true"
    parts = definition.locator(".term").evaluate_all("xs => xs.map(x => Number(x.dataset.value))")
    assert sum(parts) == pytest.approx(page.evaluate("name => explorerApp.lens.variant.values[name]", name), rel=1e-15)
    page.locator("#formula .term").first.click()  # the same name stands in it
    assert not definition.is_visible()
    page.locator("[data-copy=LaTeX]").click()
    page.locator("html[data-copied]").wait_for(state="attached")
    assert page.evaluate("document.documentElement.dataset.copied").count("&=") == names.count()
    settled(page, switch.uncheck)
    assert names.count() == 0
    assert total() == pytest.approx(robot.gravity_torque(q)[1], abs=1e-12)
    assert "&abbreviated=off" in page.evaluate("explorerApp.state.fragment()")


def test_a_loop_is_drawn_closed_and_moves(opened, tmp_path):
    robot = qddot.load("four_bar")
    page = opened(robot)
    assert page.evaluate("explorerApp.data.tips.map(x => x.name)") == ["coupler"]  # its tip stands on the ground
    assert "As it is described, neither gravity" in page.locator(".controls .note").text_content()
    assert np.ptp([s["q"][0] for s in simulated(page, 0.5)]) > 0.3  # no gravity: it starts with a velocity
    settled(page, lambda: page.locator("[data-entry='gravity_torque,0,0']").click())
    assert page.evaluate("explorerApp.state.lens.quantity") == "gravity_torque"
    assert "no gravity" in page.locator(".lens .note").last.text_content()
    data = json.loads(parts(robot.explore(str(tmp_path / "page.html")).html)["robot"])
    assert [x["kind"] for x in data["base"]] == ["drum", "capsule", "capsule"]  # the pivot, and the bar on the ground on both sides


def test_joints_have_the_colours_of_plots(opened):
    pytest.importorskip("matplotlib")
    motion = qddot.load("puma560").simulate(np.zeros(6), None, 0.02)
    panel = motion.plot("q")[0]
    want = [line.get_color() for line in panel.get_lines()[:6]]
    page = opened(qddot.load("puma560"))
    simulated(page, 0.03)
    settled(page, lambda: page.evaluate("explorerApp.schedule()"))
    series = page.evaluate("explorerApp.simulation.strips.plots.joints.series.slice(1).map(s => s.stroke())")
    for text, color in zip(series, want, strict=True):
        got = np.array([int(x) for x in text[4:-1].split(",")])
        assert np.abs(got - 255 * np.array(color[:3])).max() < 6


@pytest.mark.parametrize("name", ["table", "lwr4"])
def test_without_masses_the_page_says_so_and_shows_kinematics(opened, name):
    table = [(0.5, 0, 0, 0), (0.4, 0, 0, 0)]
    if name == "table":
        with pytest.warns(qddot.errors.ModelWarning):
            robot = qddot.from_dh(table, convention="standard")
    else:
        robot = qddot.load(name)
    assert "kinematics only: " in str(robot)
    page = opened(robot)
    assert "Kinematics only, no dynamics" in page.locator(".controls .note").text_content()
    assert not page.locator("#mass").count()
    assert not page.locator(".lens").is_visible()
    assert np.allclose(held(page, "tip")["tip"], robot.transform(held(page, "q")["q"])[:3, 3])


@pytest.mark.slow
def test_a_quadruped_opens_on_its_feet_and_its_joints_can_be_told_apart(opened):
    robot = qddot.load("quadruped")
    feet = [Sphere(x, 0.02) for x in robot.frame_names if x.endswith("_foot")]
    page = opened(robot, contacts=Contacts(robot, feet, [Plane()], friction=0.8, among=False))
    names = page.locator(".vectors th[scope=row]").all_text_contents()
    assert len(set(names)) == robot.nv
    assert "fr_le_knee" in names
    page.evaluate("explorerApp.simulation.toggle()")
    page.evaluate("explorerApp.simulation.stop()")
    assert simulated(page, 1.0)[-1]["q"][6] > 0.3


@pytest.mark.slow
def test_terms_that_have_become_large_are_unfolded(opened):
    page = opened(qddot.load("arm7"), "q=0,0,0,0,0,0,0&lens=mass_matrix,0,0")
    page.evaluate("explorerApp.state.q.set([1, 1.2, -0.7, 1.9, 0.5, 1.1, 0.4])")
    settled(page, lambda: page.evaluate("explorerApp.schedule()"))
    page.evaluate("new Promise(r => setTimeout(r, 1200))")
    folded = "explorerApp.lens.folded.terms.map(f => Math.abs(f(explorerApp.state)))"
    written = "explorerApp.lens.chips.map(x => Math.abs(x.compute(explorerApp.state)))"
    assert max(page.evaluate(folded)) <= 1.0001 * min(page.evaluate(written)) or max(page.evaluate(folded)) < 1e-3 * sum(
        page.evaluate(written)
    )


def test_a_tip_dragged_out_of_reach_stretches_the_arm_towards_it(opened):
    page = opened(qddot.load("two_link"))
    box = page.locator(".scene").bounding_box()
    spot = page.evaluate("(() => { const v = explorerApp.view; return v.tip.position.clone().project(v.camera).toArray(); })()")
    x, y = box["x"] + (spot[0] + 1) / 2 * box["width"], box["y"] + (1 - spot[1]) / 2 * box["height"]
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 9):
        settled(page, lambda k=k: page.mouse.move(x + 15 * k, y - 5 * k))
        target = np.array(page.evaluate("explorerApp.mouse.toArray()"))
        nearest = 1.2 * target / np.linalg.norm(target)  # of the circle that it reaches
        assert np.abs(held(page, "tip")["tip"] - nearest).max() < 2e-3
    page.mouse.up()


def test_numbers_are_typed_as_people_write_them(opened):
    page = opened(qddot.load("two_link"))
    box = page.get_by_label("position of joint1 as a number, rad")
    typed = {"pi/2": np.pi / 2, "-3π/4": -0.75 * np.pi, "2*pi / 3": 2 * np.pi / 3, "45°": np.pi / 4, "1,2": 1.2, "−1e-1": -0.1}
    for text, value in typed.items():
        box.fill(text)
        settled(page, lambda: box.press("Enter"))
        assert held(page, "q")["q"][0] == pytest.approx(value, abs=1e-15), text


def test_what_is_typed_and_no_number_is_said(opened):
    page, state = opened(qddot.load("two_link")), "[...explorerApp.state.q, ...explorerApp.state.world.gravity]"
    for name, text in [
        ("position of joint1", "1,2,3"),
        ("position of joint1", "alert(1)"),
        ("position of joint1", "1/0"),
        ("gravity", "45°"),
    ]:
        box = page.get_by_label(f"{name} as a number")
        before = page.evaluate(state)
        box.fill(text)
        box.press("Enter")
        assert f'{name}: "{text}" is no number' in page.locator("#said").text_content()
        assert page.evaluate(state) == before


def test_the_address_tells_the_time_while_it_plays(opened):
    page = opened(qddot.load("two_link"))
    page.keyboard.press("Space")
    page.evaluate("async () => { while (!location.hash.includes('run=')) await new Promise(r => setTimeout(r, 50)); }")
    assert page.evaluate(PLAYS)
    assert "time=" in page.evaluate("location.hash")


# without a browser ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ("qq=1&foo", "did you mean 'q'"),
        ("len=mass_matrix,0,0", "did you mean 'lens'"),
        ("q=1,2,3", "2 finite numbers are needed, there are 3"),
        ("q=1,nan", "2 finite numbers are needed, there are 1"),
        ("ellipsoid=speed", "no 'speed'"),
        ("show=frames,axis", "did you mean 'axes'"),
        (7, "as text"),
    ],
)
def test_a_view_that_makes_no_sense_is_refused(asset, view, said):
    with pytest.raises(InputError, match=said):
        html_of(qddot.load("two_link"), view=view)


def test_symbols_without_values(asset):
    with pytest.raises(UnboundSymbolError, match=r"explore\(values=\{'l2': \.\.\., 'm1'"):
        qddot.load("two_link", symbolic=True).explore("never.html", values={"l1": 0.5})


def test_letters_in_a_table_and_the_script_that_brings_them_back(asset, tmp_path):
    """A robot that was made in Python goes with the script, as text."""
    bodies = [qddot.Inertia(1.0, (-0.2, 0, 0.05), (0.01, 0.02, 0.03))] * 2
    rows = [("a1", "pi/2", "d1", 0), ("a1/2", 0, 0, "0.1")]
    robot = qddot.from_dh(rows, convention="standard", inertias=bodies, name='"""\\')
    values = {"a1": 0.4, "d1": 0.2}
    inside: dict = {"qddot": qddot}
    exec(source(robot.subs(values).model, robot.model), inside)
    again, q = inside["robot"], [0.3, -0.7]
    assert again.name == robot.name
    assert np.allclose(again.subs(values).mass_matrix(q), robot.subs(values).mass_matrix(q), rtol=1e-15)
    made = robot.explore(str(tmp_path / "page.html"), values=values)
    assert "letters = qddot.load_string(" in json.loads(parts(made.html)["robot"])["script"]["begin"]
    assert equations(made.html)["variants"][0]["name"] == "letters"
