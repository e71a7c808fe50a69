"""Derivations end in the equations of motion, say what they checked, and show whatever names a robot has."""

from __future__ import annotations

import re
import shutil
import subprocess
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import sympy

import qddot
from qddot.compile.evaluate import Evaluator
from qddot.errors import InputError, MissingProgramError
from qddot.model.description import Link
from qddot.model.model import Model
from qddot.robot import Robot
from qddot.symbolic.derivation.figure import WIDTH as WIDTH_OF_FIGURE
from qddot.symbolic.derivation.figure import Drawing, Label, Path
from qddot.symbolic.derivation.layout import WIDTH, broken, cut, width
from qddot.symbolic.derivation.mathml import UnknownCommandError, mathml
from qddot.symbolic.derivation.named import Named
from qddot.symbolic.derivation.pdf import LatexError, pdf
from qddot.symbolic.derivation.steps import Derivation, DerivationError
from qddot.symbolic.derivation.subject import Subject
from tests.robots import random_model

METHODS = ("lagrange", "jacobian", "newton-euler")
FIRST = ("lagrange", *(pytest.param(x, marks=pytest.mark.slow) for x in METHODS[1:]))
TITLES = {
    "lagrange": ["Frames", "Masses", "Positions", "Velocities", "Kinetic", "Potential", "The Lagrangian"],
    "jacobian": [
        "Dimensions",
        "Frames",
        "Masses",
        "Positions",
        "Jacobians",
        "The mass matrix",
        "Gravity",
        "The forces of the velocities",
    ],
    "newton-euler": ["Frames", "Inertias", "Velocities", "Accelerations", "The wrench on", "The wrench through", "Joint forces"],
}
ENDS = {
    "lagrange": ["The terms by kind", "The equations of motion"],
    "jacobian": ["The equations of motion"],
    "newton-euler": ["The equations of motion", "The stacked form"],
}


def catalog():
    for name in ("two_link", "point_mass_2r", "rp_arm", "cart_pole"):
        yield pytest.param(qddot.load(name), id=name, marks=pytest.mark.slow)
        yield pytest.param(qddot.load(name, symbolic=True), id=f"{name}-symbolic")
    rng = np.random.default_rng(7)
    yield pytest.param(Robot(random_model(rng, 3, ("revolute", "prismatic"), chain=True)), id="chain", marks=pytest.mark.slow)
    yield pytest.param(Robot(random_model(rng, 4, ("revolute", "prismatic", "helical"))), id="tree", marks=pytest.mark.slow)
    yield pytest.param(Robot(random_model(rng, 3, ("revolute", "helical"), mimic=1.0)), id="mimic")
    yield pytest.param(Robot(random_model(rng, 2, ("planar",))), id="planar", marks=pytest.mark.slow)
    yield pytest.param(driven(), id="driven")
    yield pytest.param(lumped(), id="lumped")


def driven() -> Robot:
    """A slider on a hinge, with everything that a drive can have."""
    drive = qddot.Drive(gear_ratio=50, rotor_inertia=1e-4, viscous=0.2, coulomb=(0.3, 0.1), stiffness=4, rest=0.5)
    return (
        qddot.Builder("driven")
        .body("arm", mass=2, com=(0.2, 0, 0.1), tensor=(0.1, 0.2, 0.2), drive=drive)
        .body("slide", "arm", "prismatic", axis=(1, 0, 0), mass=1, drive=drive)
        .robot()
    )


def lumped() -> Robot:
    """Two symbolic masses in one body, whose centre of mass is no polynomial, and a link without mass."""
    m1, m2, a = sympy.symbols("m1 m2 a")
    arm = qddot.Builder("lumped").body("x", mass=m1, com=(a, 0, 0)).body("y", "x", "fixed", mass=m2, com=(2 * a, 1, 0))
    return arm.body("z", "x", xyz=(a, 0, 0)).body("tip", "z", mass=1, com=(0, 0.5, 0)).robot()


def in_order(titles: list[str], wanted: list[str]) -> bool:
    rest = iter(titles)
    return all(any(title.startswith(want) for title in rest) for want in wanted)


def balanced(latex: str) -> bool:
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", latex):
        if kind == "begin":
            stack.append(name)
        elif not stack or stack.pop() != name:
            return False
    plain = re.sub(r"\\[{}\\]", "", latex)
    lefts, rights = (len(re.findall(rf"\\{side}(?![a-z])", latex)) for side in ("left", "right"))
    return not stack and plain.count("{") == plain.count("}") and lefts == rights


ARITY = {"msub": 2, "msup": 2, "msubsup": 3, "mfrac": 2, "mover": 2, "msqrt": 1}
LINKS = r"url\((?!#to-|data:font/woff2;base64,)"
"""To anything but a part of the page."""


def check_documents(derivation: Derivation) -> str:
    page = derivation.html()
    tree = ET.fromstring(page.removeprefix("<!DOCTYPE html>"))
    for element in tree.iter():
        tag = element.tag.rpartition("}")[2]
        assert len(element) == ARITY.get(tag, len(element))
        assert tag not in ("script", "link", "img", "iframe", "object", "use")
        assert all(name in ("id", "class", "href") or not value.startswith("http") for name, value in element.attrib.items())
        assert element.get("href", "#").startswith("#")
        assert not any(name.startswith("on") for name in element.attrib)
    assert not re.search(LINKS, page)
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    assert {element.get("href", "#step-1")[1:] for element in tree.iter()} <= set(ids)
    assert balanced(derivation.latex())
    assert derivation.markdown().count("$$") % 2 == 0
    return page


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("robot", list(catalog()))
def test_a_derivation_ends_in_the_equations_of_motion(robot, method):
    derivation = robot.derive(method)
    titles = [step.title for step in derivation.steps]
    equations = [f"The equation of coordinate {i + 1}" for i in range(robot.nv)] if method == "lagrange" else []
    assert in_order(titles, [*TITLES[method], *equations, *ENDS[method]])
    assert all(step.checks for step in derivation.steps)
    assert max(check.worst for check in derivation.checks) < 1e-9
    reached = {e.left: e.form for step in derivation.steps for e in step.equations if e.form is not None}
    expected = robot.equations()
    assert reached["M(q)"] == expected.M
    assert reached["g(q)"] == expected.g
    for i in range(robot.nv):
        if rf"\tau_{{{i + 1}}}" in reached and reached[rf"\tau_{{{i + 1}}}"].equations is derivation.equations:
            assert reached[rf"\tau_{{{i + 1}}}"] == expected.tau[i]
    check_documents(derivation)


@pytest.mark.parametrize("method", FIRST)
@pytest.mark.parametrize("name", ["puma560", pytest.param("arm7", marks=pytest.mark.slow)])
def test_long_arms_stay_readable(name, method):
    derivation = qddot.load(name).derive(method)
    check_documents(derivation)
    lines = [line for line in derivation.markdown().splitlines() if "&" in line]
    assert lines
    assert max(width(line) for line in lines if "bmatrix" not in line) < 1.6 * WIDTH
    assert len(lines) < 720  # some twenty-five pages


@pytest.mark.parametrize("method", FIRST)
@pytest.mark.parametrize("parameters", ["inertial", "all"])
def test_numbers_may_become_symbols(method, parameters):
    derivation = qddot.load("two_link").derive(method, parameters)
    assert any("became symbols" in "".join(note) for note in derivation.notes)
    assert "m_{2}" in derivation.latex()


def three_links() -> Robot:
    """Three point masses on massless rods, in a plane, with gravity a symbol."""
    arm = qddot.Builder("three_links", gravity=(0, -sympy.Symbol("g"), 0))
    for i in (1, 2, 3):
        length, before = (sympy.Symbol(f"l{k}") for k in (i, i - 1))
        place = {"xyz": (before, 0, 0), "parent": f"link{i - 1}"} if i > 1 else {}
        arm.body(f"link{i}", mass=sympy.Symbol(f"m{i}"), com=(length, 0, 0), tensor=(0, 0, 0), **place)
    return arm.robot()


def forms(derivation: Derivation) -> dict:
    return {e.left: e.form for step in derivation.steps for e in step.equations if e.form is not None}


# as one reads it -----------------------------------------------------------------------------------------------------------


def test_the_equations_of_two_links_read_as_in_the_notes():
    text = qddot.load("point_mass_2r", symbolic=True).derive("lagrange", gravity="g", notation="lynch-park").markdown()
    assert (
        r"\tau_{2} &= \frac{d}{dt} \frac{\partial \mathcal{L}}{\partial \dot \theta_{2}} - \frac{\partial \mathcal{L}}{\partial "
        r"\theta_{2}} = m_{2} L_{2} \left(L_{2} + L_{1} c_{2}\right) \ddot{\theta}_{1} + m_{2} L_{2}^{2} \ddot{\theta}_{2} "
        r"+ m_{2} L_{1} L_{2} s_{2} \dot{\theta}_{1}^{2} + m_{2} g L_{2} c_{12}"
    ) in text
    assert r"- m_{2} L_{1} L_{2} s_{2} \left(2 \dot{\theta}_{1} \dot{\theta}_{2} + \dot{\theta}_{2}^{2}\right)" in text
    assert r"\mathcal{K} &= \mathcal{K}_{1} + \mathcal{K}_{2}" in text
    assert "g = 9.81 m/s" in text
    assert "dot q" not in text


def test_three_links_are_written_out():
    derivation = three_links().derive("lagrange")
    assert forms(derivation)[r"\mathcal{L}"] == derivation.equations.L
    for i in range(3):
        assert forms(derivation)[rf"\tau_{{{i + 1}}}"] == derivation.equations.tau[i]
    text = derivation.markdown()
    assert r"\left(m_{1} + m_{2} + m_{3}\right) l_{1}^{2}" in text
    assert "k_{1}" not in text


def test_long_equations_are_written_out_when_asked():
    robot = Robot(random_model(np.random.default_rng(5), 3, ("revolute",), chain=True))
    short, full = robot.derive("lagrange"), robot.derive("lagrange", full=True)
    assert r"\mathcal{L}" not in forms(short)
    assert forms(full)[r"\mathcal{L}"] == full.equations.L
    assert forms(full)[r"\tau_{1}"] == full.equations.tau[0]
    assert forms(full)[r"\tau_{1}"].equations is full.equations
    assert "terms} \\rangle" not in full.markdown()


def test_angles_are_defined_where_they_first_occur():
    sections = qddot.load("point_mass_2r", symbolic=True).derive("lagrange").document.sections
    said = {section.title: "".join(part for prose in section.after for part in prose) for section in sections}
    assert said["Frames"] == "Here c_{1}, s_{1} are the cosine and sine of q_{1}; c_{2}, s_{2} those of q_{2}."
    assert said["Positions of the centres of mass"] == "Here c_{12}, s_{12} are the cosine and sine of q_{1} + q_{2}."
    assert not any(text for title, text in said.items() if title not in ("Frames", "Positions of the centres of mass"))


def test_what_equations_are_written_in_was_defined_before():
    derivation = qddot.load("puma560").derive("lagrange")
    seen = ""
    for step in derivation.steps:
        if step.title.startswith("The equation of"):
            assert "M_{ij}" in seen
            assert "g_i" in seen
        seen += " ".join(e.left for e in step.equations)


def test_symbols_that_vanish_take_a_line_of_text():
    text = qddot.load("point_mass_2r", symbolic=True).derive("jacobian").markdown()
    assert "\n\n$b_{1,11}$, $b_{2,12}$, $b_{2,22}$ vanish.\n\n" in text
    assert r"b_{1,22} &= \frac{1}{2}" in text


def test_numbers_have_as_many_digits_as_they_mean():
    robot = qddot.load("two_link")
    text = robot.derive("lagrange").markdown()
    assert r"\left(0.33148 + 0.245 c_{2}\right) \ddot{q}_{1}" in text
    assert "ldots" not in text
    assert "4.65975" in text  # as it follows from what was given
    assert "rounded for display only" in text
    assert r"\left(0.331 + 0.245 c_{2}\right) \ddot{q}_{1}" in robot.derive("lagrange", digits=3).markdown()
    assert "rounded where" not in qddot.load("point_mass_2r", symbolic=True).derive("lagrange").markdown()


@pytest.mark.parametrize("method", METHODS)
def test_no_check_says_the_same_twice(method):
    text = qddot.load("point_mass_2r", symbolic=True).derive(method).markdown()
    assert text.count("random states") == 1
    assert text.count("Checked:") == text.count("\n## ") - 1  # the last section says how


@pytest.mark.parametrize("method", METHODS)
def test_letters_of_the_robot_are_its_own(method):
    """Masses with the numbers of each other's links, and symbols that look like what derivations introduce."""
    m1, m2, p1, M_12, omega = sympy.symbols("m1 m2 p1 M_12 omega_x1", positive=True)
    robot = (
        qddot.Builder("own", gravity=(0, -sympy.Symbol("g"), 0))
        .body("a", mass=m2, com=(p1, 0, 0), tensor=(0, 0, M_12))
        .body("b", "a", xyz=(omega, 0, 0), mass=m1, com=(0.5, 0, 0))
        .robot()
    )
    derivation = robot.derive(method)
    text = derivation.markdown()
    assert r"\tilde{m}_{1} &= m_{2}" in text
    assert r"\tilde{m}_{2} &= m_{1}" in text
    assert "have a tilde" in text
    assert r"\tilde" not in qddot.load("rp_arm", symbolic=True).derive(method, gravity="g").markdown()
    check_documents(derivation)


def test_letters_that_stand_for_others_are_not_the_robots():
    """In a long derivation, `M_12` is an entry of M, and the symbol M_12 something else."""
    arm = qddot.Builder("own").body("a", mass=sympy.Symbol("M_12"), com=(1, 0.5, 0.2), tensor=(0.1, 0.2, 0.3))
    arm.body("b", "a", xyz=(1, 0, 0.3), rpy=(0.3, 0.4, 0), mass=2, com=(0.3, 0.2, 0.1), tensor=(0.1, 0.2, 0.3))
    arm.body("c", "b", xyz=(1, 0, 0.3), rpy=(0.7, 0.4, 0), mass=2, com=(0.3, 0.2, 0.1), tensor=(0.1, 0.2, 0.3))
    text = arm.robot().derive("lagrange").markdown()
    assert r"\tilde{M}_{12} \dot{q}_{2}" in text
    assert "M_{12}" in text.replace(r"\tilde{M}_{12}", "")


def test_a_notation_whose_variable_is_taken():
    robot = qddot.Builder("x").body("a", mass=1, com=(sympy.Symbol("theta1"), 0, 0)).robot()
    with pytest.raises(InputError, match="notation='craig' writes joint variables as 'theta', and the robot has a symbol 'theta1'"):
        robot.derive(notation="craig")
    with pytest.raises(InputError, match="notation='euler' is not one of 'qddot', 'lynch-park'"):
        robot.derive(notation="euler")


@pytest.mark.parametrize("notation", ["lynch-park", "craig", "siciliano", "featherstone"])
@pytest.mark.parametrize("method", FIRST)
def test_every_notation_sets_every_route(method, notation):
    derivation = driven().derive(method, notation=notation, gravity="g")
    check_documents(derivation)
    letters = {"craig": "G(\\theta)", "siciliano": "B(q)", "featherstone": "H(q)", "lynch-park": "M(\\theta)"}
    assert letters[notation] in derivation.latex()


def test_gravity_as_a_symbol():
    tilted = qddot.load("point_mass_2r").with_gravity((3.0, -9.0, 0.0)).derive(gravity="g")
    assert "gx" in tilted.equations.parameters
    assert "gy = 9 m/s" in tilted.markdown()
    with pytest.raises(InputError, match="gravity='L1': the robot has a symbol 'L1' already"):
        qddot.load("point_mass_2r", symbolic=True).derive(gravity="L1")
    assert three_links().derive(gravity="g").equations.parameters == three_links().equations().parameters
    assert qddot.load("point_mass_2r").with_gravity((0, 0, 0)).derive(gravity="g").equations.parameters == ()


def test_abbreviations_are_asked_for_or_announced():
    robot = qddot.load("point_mass_2r", symbolic=True)
    assert "short names" not in robot.derive().markdown()
    text = robot.derive(abbreviate=True).markdown()
    assert "short names" in text
    assert "With the abbreviations" in text
    assert r"k_{1} &= " in text


# figures -------------------------------------------------------------------------------------------------------------------


def test_the_figure_shows_joints_masses_lengths_and_frames():
    figure = qddot.load("point_mass_2r", symbolic=True).derive(notation="craig").document.figure
    labels = {shape.text for shape in figure.shapes if isinstance(shape, Label)}
    assert {r"\theta_{1}", r"\theta_{2}", "m_{1}", "L_{1}", "L_{2}", r"\{0\}", r"\{2\}", r"\vec g"} <= labels
    for shape in figure.shapes:
        points = shape.points if isinstance(shape, Path) else [shape.at]
        assert all(0 <= x <= WIDTH_OF_FIGURE and 0 <= y <= figure.height for x, y in points)


def test_a_planar_arm_is_seen_straight_on():
    """Whichever plane it is, with gravity down the page, and lengths as they are."""
    for axis, down in (("z", (0, -9.81, 0)), ("y", (0, 0, -9.81)), ("x", (0, 0, -9.81)), ("z", (0, 0, -9.81))):
        robot = qddot.Builder("flat", gravity=down).body("a", axis=axis, mass=1, com=(0.3, 0.3, 0.3)).robot()
        drawing = Drawing(Subject(robot.model), on_joints=False)
        assert drawing.is_flat
        np.testing.assert_allclose(drawing.view @ drawing.view.T, np.eye(2), atol=1e-12)
        np.testing.assert_allclose(drawing.view @ drawing.axis(drawing.bodies[0]), 0, atol=1e-12)
    assert not Drawing(Subject(qddot.load("puma560").model), on_joints=True).is_flat
    askew = qddot.Builder("askew").body("a", joint="prismatic", axis=(0.6, 0.64, 0.48), mass=1).robot()
    assert Drawing(Subject(askew.model), on_joints=False).is_flat


# routes --------------------------------------------------------------------------------------------------------------------


def test_routes_agree_on_the_two_link_arm():
    """Of every course: m2 L1 L2 couples the joints, and b_1,22 is -m2 L1 L2 sin q2."""
    robot = qddot.load("point_mass_2r", symbolic=True)
    derivation = robot.derive("jacobian")
    found = {e.left: e.form for step in derivation.steps for e in step.equations}
    expected = derivation.equations.read("-m2*L1*L2*sin(q2)")
    assert found["b_{1,22}"] == expected
    assert found["b_{1,12}"] == expected
    assert found["b_{2,11}"] == -expected
    assert set(derivation.drawn) == {"L1", "L2", "m1", "m2"}
    assert "the open symbols had random values: L1 = " in derivation.markdown()[-300:]


def test_terms_are_sorted_by_kind():
    derivation = qddot.load("rp_arm", symbolic=True).derive("lagrange")
    step = next(step for step in derivation.steps if step.title == "The terms by kind")
    found = {e.left: e.form for e in step.equations if e.form is not None}
    read = derivation.equations.read
    assert found[r"\tau_{1,\mathrm{Coriolis}}"] == read("2*m2*q2*qd1*qd2")
    assert found[r"\tau_{2,\mathrm{centripetal}}"] == read("-m2*q2*qd1**2")
    assert r"\tau_{2,\mathrm{Coriolis}}" not in found
    assert [str(check).split()[0] for check in step.checks] == ["Inertial", "Centripetal", "Coriolis", "Gravity"]


def test_drives_have_their_own_terms():
    derivation = driven().derive("lagrange")
    lefts = [e.left for step in derivation.steps for e in step.equations]
    for left in ("K_r", "P_s", r"\tau_{1,\mathrm{friction}}", r"\tau_{2,\mathrm{spring}}"):
        assert left in lefts


@pytest.mark.parametrize("method", METHODS)
def test_nothing_moves(method):
    check_documents(Robot(Model("post", [Link("base")])).derive(method))


@pytest.mark.parametrize("kind", ["spherical", "free"])
def test_joints_whose_rates_are_no_derivatives(kind):
    robot = (
        qddot.Builder("ball").body("a", joint=kind, mass=1, com=(0.1, 0, 0), tensor=(0.1, 0.2, 0.2)).body("b", "a", mass=1).robot()
    )
    for method in ("lagrange", "jacobian"):
        with pytest.raises(InputError, match=r"whose qd is the rate of q; that of 'a_joint'.*newton-euler"):
            robot.derive(method)
    page = check_documents(robot.derive("newton-euler"))
    assert "is not the derivative of" in page


def test_no_such_method():
    with pytest.raises(InputError, match="method='euler' is not one of 'lagrange', 'jacobian', 'newton-euler'"):
        qddot.load("two_link").derive("euler")


@pytest.mark.parametrize("suffix", [".md", ".tex", ".html"])
def test_save_by_suffix(tmp_path, suffix):
    derivation = qddot.load("cart_pole").derive()
    path = derivation.save(tmp_path / f"derivation{suffix}")
    written = {".md": derivation.markdown, ".tex": derivation.latex, ".html": derivation.html}[suffix]()
    assert path.read_text(encoding="utf-8") == written


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_save_as_pdf(tmp_path):
    """Of several pages, none of which ends in a heading or in a sentence that leads to equations."""
    path = qddot.load("two_link", symbolic=True).derive().save(tmp_path / "derivation.pdf")
    assert path.read_bytes().startswith(b"%PDF")
    if shutil.which("pdftotext"):
        pages = subprocess.run(["pdftotext", "-layout", path, "-"], capture_output=True, text=True, check=True).stdout.split("\f")
        last = ["\n".join([line for line in page.splitlines() if line.strip()][-4:-1]) for page in pages if page.strip()]
        assert len(last) > 3
        assert not [text for text in last[:-1] if re.search(r"^ *\d+ {2,}[A-Z]\w+", text, re.MULTILINE)]


def test_a_pdf_without_latex_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingProgramError, match=r"none of pdflatex, lualatex, tectonic is installed: install TeX Live \(Debian"):
        qddot.load("cart_pole").derive().save(tmp_path / "derivation.pdf")
    assert not (tmp_path / "derivation.pdf").exists()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="pdflatex is not installed")
def test_what_latex_refuses_is_said():
    with pytest.raises(LatexError, match=r"does not take the document: .*Undefined control sequence"):
        pdf("\\documentclass{article}\\begin{document}\\nosuchthing\\end{document}")


def test_save_refuses_other_suffixes(tmp_path):
    with pytest.raises(InputError, match=r"'a.doc' ends in '.doc': a derivation is written to one of .md, .tex, .html, .pdf"):
        qddot.load("cart_pole").derive().save(tmp_path / "a.doc")


def test_repr_lists_the_steps():
    derivation = qddot.load("cart_pole").derive("newton-euler")
    assert repr(derivation).startswith("Derivation of 'cart_pole' (newton-euler): ")
    assert "\n  1. Frames and joints\n" in repr(derivation)
    assert derivation._repr_markdown_() == derivation.markdown()


# what is wrong does not come out --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", FIRST)
@pytest.mark.parametrize("quantity", ["transform", "mass_matrix", "inverse_dynamics", "gravity_torque"])
def test_a_wrong_kernel_is_found(monkeypatch, method, quantity):
    plain = Evaluator.__call__

    def wrong(self, name, *arguments, **options):
        result = plain(self, name, *arguments, **options)
        return result + 1e-6 * abs(result).max() if name == quantity else result

    monkeypatch.setattr(Evaluator, "__call__", wrong)
    with pytest.raises(DerivationError, match="differs from"):
        qddot.load("two_link").derive(method)


@pytest.mark.parametrize("method", FIRST)
@pytest.mark.parametrize("name", ["mass_matrix", "gravity_torque", "inverse_dynamics"])
def test_another_closed_form_is_found(monkeypatch, method, name):
    from qddot.symbolic.equations import Equations

    plain = getattr(Equations, name).func
    monkeypatch.setattr(Equations, name, property(lambda self: plain(self) * 2))
    with pytest.raises(DerivationError):
        qddot.load("two_link").derive(method)


def test_abbreviations_must_mean_what_they_stand_for():
    equations = qddot.load("two_link").equations()
    named = Named(equations, {"x": equations.alphabet.qd[0]})
    assert named.form(named.letters["x"] * 2, equations.alphabet.qd[0] * 2).shape == ()
    with pytest.raises(DerivationError, match="does not expand"):
        named.form(named.letters["x"] * 2, equations.alphabet.qd[0])


def test_values_are_those_of_the_forms():
    subject = Subject(qddot.load("rp_arm", symbolic=True).model, "given")
    form = subject.equations.tau
    for state, value in zip(subject.states, subject.values(form.entries)):
        assert np.allclose(form.evaluate(*state[1:], parameters=subject.drawn), value, rtol=1e-14)


# documents -----------------------------------------------------------------------------------------------------------------

HOSTILE = r"""<script>alert(1)</script> & \input{x} $x_1$ %"#^~{`*|[a](b) é 中"""


def hostile() -> Robot:
    return (
        qddot.Builder(HOSTILE)
        .body(f"L{HOSTILE}", joint_name=f"J{HOSTILE}", mass=sympy.Symbol(r"a_b^{<&$"), com=(0.1, 0, 0))
        .body("tip", f"L{HOSTILE}", mass=sympy.Symbol("λ_2"), com=(sympy.Symbol("αβ é中"), 0, 0))
        .robot()
    )


@pytest.mark.parametrize("method", METHODS)
def test_names_cannot_escape(method):
    derivation = hostile().derive(method)
    page = check_documents(derivation)
    assert "<script" not in page
    tree = ET.fromstring(page.removeprefix("<!DOCTYPE html>"))
    assert HOSTILE in "".join(tree.itertext())
    latex = derivation.latex()
    assert r"\input{x}" not in latex
    assert r"\textbackslash{}input\{x\}" in latex
    assert "中" not in latex
    text = derivation.markdown()
    assert "<script" not in text
    assert r"\$x\_1\$" in text


@pytest.mark.parametrize("method", FIRST)
def test_pdflatex_takes_the_document(tmp_path, method):
    if not shutil.which("pdflatex"):
        pytest.skip("pdflatex is not installed")
    robots = {"hostile": hostile(), "driven": driven(), "rp": qddot.load("rp_arm", symbolic=True), "two": qddot.load("two_link")}
    for name, robot in robots.items():
        robot.derive(method).save(tmp_path / f"{name}.tex")
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"],
            cwd=tmp_path,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]


def test_long_sums_are_broken_between_terms():
    text = " + ".join(f"x_{{{i}}} (a + b)" for i in range(60))
    lines = broken("y", "f", text)
    assert lines[0] == ("y", "= f ")
    assert lines[1].right.startswith("= x_{0}")
    assert all(line.right.startswith(r"\quad {} + x") for line in lines[2:])
    assert max(width(line.right) for line in lines) <= WIDTH
    joined = " ".join(line.right.removeprefix(r"\quad {} ").removeprefix("= ") for line in lines[1:])
    assert joined == text
    assert cut(r"a + \left(b + c\right) - d") == ["a", r"+ \left(b + c\right)", "- d"]


def test_wide_fractions_are_cut_in_their_numerators():
    above = " + ".join(rf"m_{{{i}}} l_{{{i}}} \left(a + b\right)" for i in range(30))
    lines = broken("x", "", rf"-\frac{{{above}}}{{m_{{1}} + s_{{2}}^{{2}}}}")
    assert lines[0].right.startswith(r"= -\frac{1}{m_{1} + s_{2}^{2}} \bigl(m_{0} l_{0}")
    assert lines[-1].right.endswith(r"\bigr)")
    assert len(lines) > 2
    assert broken("x", "", r"\frac{a}{b}")[0].right == r"= \frac{a}{b}"


def test_mathml_knows_what_is_used_and_nothing_else():
    assert mathml(r"\dot q_{1}^{2}").count("<msubsup>") == 1
    assert "<mfrac>" in mathml(r"\frac{1}{2} \left( a - b \right)")
    assert mathml(r"\mathrm{a\_b}") == "<mrow><mi>a_b</mi></mrow>"
    with pytest.raises(UnknownCommandError, match="href"):
        mathml(r"\href{x}{y}")
