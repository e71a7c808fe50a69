"""What objects show of themselves: in a notebook as HTML or LaTeX, in a terminal as text and by rich."""

from __future__ import annotations

import io
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import qddot
from qddot.card import ROWS, Card, Table, rich_table
from tests.explore.test_page import HOSTILE

VOID = {"img", "br", "meta", "link", "input"}


class Tags(HTMLParser):
    """Elements in order; each that is opened must be closed."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def tags(html: str) -> list[str]:
    parser = Tags()
    parser.feed(html)
    assert parser.open == []
    return parser.seen


def printed(thing, width: int = 160) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(thing)
    return stream.getvalue()


@pytest.fixture(scope="module")
def shown() -> dict:
    robot = qddot.load("two_link")
    return {
        "robot": robot,
        "arm": qddot.load("arm7"),
        "letters": qddot.load("two_link", symbolic=True),
        "loops": qddot.load("four_bar"),
        "equations": robot.equations(),
        "equations of seven joints": qddot.load("arm7").equations(),
        "properties": robot.properties(),
        "motion": robot.simulate([0.3, 0.4], None, 0.1),
        "batch": robot.simulate(np.zeros((3, 2)), None, 0.01),
        "derivation": robot.derive(),
    }


@pytest.mark.parametrize("width", [30, 60, 80, 160])
def test_names_and_numbers_are_never_cut(width):
    row = ["shoulder_pan_link.mx", "0.00043112", "-0.0011 to 0.0021", "not distinguishable", "wrist.mass + 0.5*hand.mass"]
    words = printed(rich_table(Table(["name", "value", "95 % interval", "", "stands for"], [row, row])), width).split()
    assert {word.strip(":;") for word in words} >= {word for cell in row for word in cell.split()}


@pytest.mark.parametrize("width", [43, 46, 200])
def test_a_long_cell_goes_below_its_row_where_the_table_is_too_wide(width):
    head, doubt = ["name", "value", "std", "state", "stands for"], frozenset({1})
    rows = [["arm.m", "1.5 kg", "0.125", "good", f"arm.m + {'0.5*hand.m + ' * 6}z"], ["arm.Ixx", "2 kg", "0.25", "bad", "arm.Ixx"]]
    text = printed(rich_table(Table(head, rows, doubtful=doubt, spare=frozenset({2}), below=4)), width)
    lines = text.strip().splitlines()
    assert max(map(len, lines)) <= width
    assert {cell for row in rows for cell in (row[0], row[3])} <= set(text.split())
    if width < 200:
        assert [line.split() for line in lines[:2]] == [
            ["name", "value", "state;", "below:", "stands", "for"],
            ["arm.m", "1.5", "kg", "good"],
        ]
        assert lines[0].index("value") == lines[1].index("1.5")  # columns are aligned
        assert lines[2].startswith("    arm.m + 0.5*hand.m")
        assert lines[-1].split() == ["arm.Ixx", "2", "kg", "bad"]  # which stands for itself
        assert "0.125" not in text
    else:
        assert "0.125" in text


def test_all_of_them_are_html_and_text(shown):
    for name, thing in shown.items():
        seen = tags(thing._repr_html_())
        assert "script" not in seen
        if name != "derivation":  # whose page is in a frame
            assert seen[:2] == ["div", "style"]
        assert len(printed(thing)) > 20
        assert "object at 0x" not in repr(thing)


def test_a_robot_is_drawn_beside_its_joints(shown):
    html = shown["robot"]._repr_html_()
    assert html.count("<polygon") >= 4
    assert "<td>joint1</td><td>revolute</td><td>base -&gt; body_1</td>" in html
    assert "positions" not in html  # it has no limits
    assert "<td>[-2.9, 2.9] rad</td><td>2.2 rad/s</td><td>90 N m</td>" in shown["arm"]._repr_html_()
    assert "<svg" not in shown["letters"]._repr_html_()
    assert "symbols: l1, l2, m1, m2, r" in printed(shown["letters"])
    assert "constraints: " in printed(shown["loops"])


def test_equations_are_written_out_for_few_joints(shown):
    small, large = shown["equations"], shown["equations of seven joints"]
    assert small._repr_html_().count("<math") == 7  # the law, three letters, three forms
    assert small._repr_latex_().startswith(r"$\displaystyle \begin{aligned} M &= \begin{bmatrix}")
    assert "c = [-0.1225*s2*qd2*(2*qd1 + qd2), 0.1225*s2*qd1**2]" in repr(small)
    assert large._repr_latex_() is None
    assert repr(large) == "Equations of 'arm7': 7 dof"
    rubbed = qddot.Builder("p").body("a", "base", mass=1, com=(1, 0, 0), drive=qddot.Drive(viscous=0.5, stiffness=2.0)).robot()
    assert "tau = M(q) qdd + c(q, qd) + g(q) + f(qd) + s(q)" in repr(rubbed.equations())


def test_a_motion_says_how_far_and_how_fast(shown):
    motion = shown["motion"]
    row = f"{motion.q[:, 1].min():.4g} to {motion.q[:, 1].max():.4g} rad"
    assert row in motion._repr_html_()
    assert row in printed(motion)
    assert "batch (3,)" in printed(shown["batch"])


def test_a_property_that_does_not_hold_is_marked(shown):
    assert shown["properties"]._repr_html_().count('<tr class="doubtful">') == 2


def test_a_fit_shows_its_verdict_and_parameters():
    from tests.identify.test_verdict import LOG, fitted

    fit = fitted(LOG)
    assert tags(fit._repr_html_()).count("tr") == fit.base.rank + 1
    assert "identified" in printed(fit)
    assert fit.base.names[0] in printed(fit)


def test_names_are_text():
    build = qddot.Builder(HOSTILE).body(HOSTILE, "base", joint_name=HOSTILE + "2", axis=(0, 0, 1), mass=1, com=(0.1, 0, 0))
    robot = build.robot()
    for thing in (robot, robot.equations(), robot.simulate([0.1], None, 0.01)):
        assert "img" not in tags(thing._repr_html_())
    assert "[bold]" in printed(Card("[bold]x", ["[red]y"], [Table(["[a]"], [["[b]"]])]))


def test_long_tables_are_cut_in_notebooks():
    card = Card("long", (), [Table(["n"], [[str(k)] for k in range(ROWS + 5)])])
    assert "... and 5 more" in card.html()
    assert f"{ROWS + 4}" in printed(card.rich())


def test_cards_in_a_browser(shown, browser, tmp_path: Path):
    page = tmp_path / "cards.html"
    inside = "".join(thing._repr_html_() for thing in shown.values())
    page.write_text(f"<!doctype html><meta charset='utf-8'><h3>theirs</h3>{inside}", "utf-8")
    for scheme, paper in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(22, 24, 27)")):
        tab = browser.new_page(viewport={"width": 900, "height": 800}, color_scheme=scheme)
        tab.goto(page.as_uri())
        assert tab.locator(".card").first.evaluate("x => getComputedStyle(x).backgroundColor") == paper
        assert tab.locator("h3").first.evaluate("x => getComputedStyle(x).fontSize") != "13.65px"  # nothing else of a page changes
        assert tab.evaluate("document.documentElement.scrollWidth") <= 900
        assert tab.locator("math mtable").first.bounding_box()["height"] > 25
        tab.close()


def test_what_an_untrusted_notebook_cannot_show_says_so():
    """Jupyter takes styles, frames and formulas out; a sentence is left, which the style hides where all is kept."""
    robot = qddot.load("two_link")
    for shown in (robot.derive()._repr_html_(), robot.equations()._repr_html_()):
        assert ".qddot-untrusted{display:none}" in shown
        assert '<p class="qddot-untrusted">Not shown in a notebook that is not trusted: run this cell' in shown


def test_formulas_of_properties_are_set_in_a_notebook_and_written_in_a_terminal():
    properties = qddot.load("two_link", symbolic=True).properties()
    html, text = properties._repr_html_(), printed(properties)
    assert "**" not in html.split("</style>")[-1]
    assert html.count("<math>") > 20
    assert "Ṁ = C + Cᵀ" in html
    assert "dM/dt = C + C^T" in text
    assert "l1**2*m2" in text
    tags(html)
    assert "<math><mi>τ</mi>" in qddot.load("two_link").equations()._repr_html_()
