"""Closed forms on paper and as code: exact strings of textbook arms; nothing printed may differ from its polynomial."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from fractions import Fraction

import numpy as np
import pytest
import sympy

import qddot
from qddot.errors import InputError, UnboundSymbolError, UnknownNameError
from qddot.model.drive import Drive
from qddot.symbolic.abbreviations import Abbreviations
from qddot.symbolic.form import Form
from qddot.symbolic.latex import LatexPrinter
from qddot.symbolic.notation import NOTATIONS, shown, split
from qddot.symbolic.presentation import Presentation, Style, style_of
from qddot.symbolic.ratio import divide
from qddot.symbolic.text import TextPrinter
from qddot.symbolic.tree import Inverse, Number, Power, Product, Sum, Symbol, size
from tests.symbolic.samples import every_letter

CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
HOSTILE = ("x}; system(1)", "__import__('os')", "lambda", "if", '"""', "a\\b", "m%1", "*/ int x;", "sin", "q", "out", "αβ")
STYLES = [{}, {"angles": "single"}, {"group": "parameter"}, {"group": "none"}, {"abbreviate": True}]


def styled(style: dict) -> Style:
    return style_of(style | ({"abbreviate": Abbreviations()} if style.get("abbreviate") else {}))


def textbook():
    """Two point masses on massless rods, gravity and all lengths open."""
    L1, L2, m1, m2, g = sympy.symbols("L1 L2 m1 m2 g", positive=True)
    arm = qddot.Builder("textbook", gravity=(0, -g, 0))
    arm.body("upper", mass=m1, com=(L1, 0, 0), tensor=(0, 0, 0))
    arm.body("lower", "upper", xyz=(L1, 0, 0), mass=m2, com=(L2, 0, 0), tensor=(0, 0, 0))
    return arm.robot().equations()


@pytest.fixture(scope="module")
def book():
    return textbook()


@pytest.fixture(scope="module")
def puma():
    return qddot.load("puma560").equations("all")


def planar(*signs: int, joints: str = ""):
    """Rods in a row about z or -z; a `P` slides along z."""
    arm, parent = qddot.Builder("planar", gravity=(0, -9.81, 0)), "base"
    kinds = joints or "R" * len(signs)
    for i, (sign, kind) in enumerate(zip(signs, kinds)):
        joint = "revolute" if kind == "R" else "prismatic"
        l = sympy.Symbol(f"l{i + 1}")
        arm.body(f"b{i}", parent, joint, axis=(0, 0, sign), xyz=(l, 0, 0), mass=1.5, com=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
        parent = f"b{i}"
    return arm.robot().equations()


# strings of the textbooks -----------------------------------------------------------------------------------------------------


def test_textbook_text(book):
    assert book.M.text() == (
        "[[2*m2*L1*L2*c2 + m1*L1**2 + m2*L1**2 + m2*L2**2, m2*L2*(L1*c2 + L2)],\n [m2*L2*(L1*c2 + L2), m2*L2**2]]"
    )
    assert book.c.text() == "[-m2*L1*L2*s2*qd2*(2*qd1 + qd2), m2*L1*L2*s2*qd1**2]"
    assert book.g.text() == "[(m1 + m2)*g*L1*c1 + m2*g*L2*c12, m2*g*L2*c12]"
    assert book.V.text(lhs=True) == "V(q) = (m1 + m2)*g*L1*s1 + m2*g*L2*s12"
    assert book.g[1].text() == "m2*g*L2*c12"


def test_textbook_latex(book):
    assert book.g.latex() == (
        "\\begin{bmatrix}\n"
        "\\left(m_{1} + m_{2}\\right) g L_{1} c_{1} + m_{2} g L_{2} c_{12} \\\\\n"
        "m_{2} g L_{2} c_{12}\n"
        "\\end{bmatrix}"
    )
    assert book.c[1].latex() == r"m_{2} L_{1} L_{2} s_{2} \dot{q}_{1}^{2}"
    assert book.M[0, 1].latex() == r"m_{2} L_{2} \left(L_{1} c_{2} + L_{2}\right)"
    assert book.M._repr_latex_() == f"$\\displaystyle {book.M.latex()}$"


def test_single_angles(book):
    assert book.g[1].text(angles="single") == "m2*g*L2*(c1*c2 - s1*s2)"


def test_groups(book):
    assert book.g[0].text(group="none") == "m1*g*L1*c1 + m2*g*L1*c1 + m2*g*L2*c12"
    assert book.M[0, 0].text(group="none") == "2*m2*L1*L2*c2 + m1*L1**2 + m2*L1**2 + m2*L2**2"
    two = qddot.load("two_link", symbolic=True).equations()
    assert two.g[0].text(group="parameter", angles="single") == "4.905*m1*l1*c1 + 9.81*m2*l1*c1 + 4.905*m2*l2*(c1*c2 - s1*s2)"


def test_notations(book):
    assert book.M.latex(lhs=True).startswith("M(q) = ")
    assert book.g.latex(lhs=True, notation="craig").startswith("G(\\theta) = ")
    assert book.c.latex(lhs=True, notation="craig").startswith("V(\\theta, \\dot{\\theta}) = ")
    assert book.c[1].latex(notation="lynch-park") == r"m_{2} L_{1} L_{2} s_{2} \dot{\theta}_{1}^{2}"
    assert book.M.text(lhs=True, notation="siciliano").startswith("B(q) = ")
    assert book.M.text(lhs=True, notation="featherstone").startswith("H(q) = ")
    assert book.tau.latex(lhs=True).startswith("\\tau = ")
    assert book.mass_matrix_rate.latex(lhs=True).startswith("\\dot{M}(q, \\dot{q}) = ")
    assert book.christoffel.latex(lhs=True).startswith("\\Gamma_{1} = \\begin{bmatrix}")
    for notation in NOTATIONS:
        ElementTree.fromstring(book.M.mathml(lhs=True, notation=notation))


def test_abbreviations(book):
    short = Abbreviations()
    assert book.M.text(abbreviate=short) == "[[2*k1*c2 + k2, k1*c2 + k3],\n [k1*c2 + k3, k3]]"
    assert book.c.text(abbreviate=short) == "[-k1*s2*qd2*(2*qd1 + qd2), k1*s2*qd1**2]"
    assert short.text() == "k1 = m2*L1*L2\nk2 = m1*L1**2 + m2*L1**2 + m2*L2**2\nk3 = m2*L2**2"
    assert short.latex().splitlines()[1] == r"k_{1} &= m_{2} L_{1} L_{2} \\"
    ElementTree.fromstring(short.mathml())
    scope = dict(zip(("m1", "m2", "L1", "L2"), (2.0, 3.0, 5.0, 7.0)))
    exec(short.python(), scope)
    assert (scope["k1"], scope["k2"], scope["k3"]) == (105.0, 272.0, 147.0)
    text, own = book.g.abbreviated()
    assert text == "[k1*c1 + k2*c12, k2*c12]"
    assert repr(own) == "k1 = (m1 + m2)*g*L1\nk2 = m2*g*L2"


def test_abbreviations_keep_away_from_parameters():
    arm = qddot.Builder("sprung")
    k1, m, l = sympy.symbols("k1 m l")
    arm.body("a", mass=m, com=(l, 0, 0), tensor=(0, 0, 0), drive=Drive(stiffness=k1))
    equations = arm.robot().equations()
    assert equations.tau.abbreviated()[0] == "[p1*qdd1 + k1*q1]"


def test_abbreviations_belong_to_one_set_of_equations(book, puma):
    short = Abbreviations()
    book.M.text(abbreviate=short)
    with pytest.raises(InputError, match="belong to other equations"):
        puma.M.text(abbreviate=short)


def test_differences_of_angles():
    e = planar(1, -1)
    assert "s_{1-2}" in e.V.latex()
    assert "sin(q1 - q2)" in e.V.text()


def test_a_slider_between_parallel_joints():
    assert "c13" in planar(1, 1, 1, joints="RPR").g.text()


def test_ten_joints_are_separated():
    e = planar(*[1] * 11, joints="P" * 8 + "RRR")
    assert "c_{10,11}" in e.M[8, 10].latex()
    assert "c10_11" in e.M[8, 10].text()


def test_long_sums_of_angles_are_written_out():
    e = planar(*[1] * 5)
    assert r"\cos\left(q_{1} + q_{2} + q_{3} + q_{4} + q_{5}\right)" in e.g[4].latex()
    assert "c1234" in e.g[3].text()


def test_products_stay_where_axes_are_not_parallel():
    arm = qddot.Builder("wrist")
    arm.body("a", mass=1.0, com=(0, 0, 0), tensor=(0.1, 0.2, 0.3))
    arm.body("b", "a", axis="x", mass=1.0, com=(0, 0.3, 0), tensor=(0.1, 0.2, 0.4))
    e = arm.robot().equations("inertial")
    assert e.M[0, 0].text() == "Izz2*c2**2 + Iyy2*s2**2 + Izz1"


# numbers and names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "fractions", "text"),
    [
        ("7", False, "7"),
        ("1/2", False, "0.5"),
        ("1/2", True, "1/2"),
        ("4.905", True, "4.905"),
        ("1/3", False, "1/3"),
        ("0.00002", False, "0.00002"),
        ("1e-20", False, "1e-20"),
        ("1.5e20", False, "1.5e20"),
        ("2000000/3", False, "666666..."),
        ("200/301", False, "0.664451..."),
        ("2e30/3", False, "6.66666...e29"),
        ("123456789123456789", False, "1.23456...e17"),
        ("0.1234567890123456", False, "0.123456..."),
    ],
)
def test_numbers(number, fractions, text):
    top, _, bottom = number.partition("/")
    x = shown(Fraction(top) / Fraction(bottom or 1), fractions, 6)
    written = x.digits + ("..." if x.cut else "") + (f"e{x.exponent}" if x.exponent else "") + (f"/{x.bottom}" if x.bottom else "")
    assert written == text


def test_numbers_in_latex():
    e = qddot.load("two_link", symbolic=True).equations()
    assert e.M[1, 1].latex() == r"m_{2} \left(\tfrac{1}{3} l_{2}^{2} + \tfrac{1}{4} r^{2}\right)"
    assert e.M[1, 1].text() == "m2*(l2**2/3 + r**2/4)"
    x = qddot.load("two_link").equations()
    third = Form(x, x.lift(Fraction(10**7, 3)))
    assert third.latex() == r"3.33333\ldots \cdot 10^{6}"
    assert third.latex(digits=9) == r"3333333.33\ldots"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("m1", ("m", "1")),
        ("Ixx2", ("I", "xx", "2")),
        ("L12", ("L", "12")),
        ("alpha", ("alpha",)),
        ("rho3", ("rho", "3")),
        ("gz", ("g", "z")),
        ("l_c1", ("l", "c", "1")),
        ("m_load", ("m", "load")),
        ("mass", ("mass",)),
        ("a_", ("a_",)),
        ("x y", ("x y",)),
    ],
)
def test_names(name, parts):
    found = split(name)
    assert (found.head, *found.subscripts) == parts


def test_symbols_in_latex(book):
    printer = LatexPrinter(book, Style())
    names = {
        "Ixx2": "I_{xx,2}",
        "alpha": r"\alpha",
        "mass": r"\mathrm{mass}",
        "m_load": r"m_{\mathrm{load}}",
        "x}": r"\mathrm{x\}}",
        "a\\b": r"\mathrm{a\backslash{}b}",
    }
    for name, latex in names.items():
        assert printer.symbol(Symbol(name)) == latex
    assert printer.symbol(Symbol("qdd3", "acceleration", 2)) == r"\ddot{q}_{3}"


def test_reciprocals_of_fractions(book):
    printer = LatexPrinter(book, Style())
    half, m, l = Number(Fraction(1, 2)), Symbol("m"), Inverse(Symbol("l"))
    assert printer.expression(Product((half, m, l))) == r"\tfrac{1}{2} \frac{m}{l}"
    assert printer.expression(Product((half, l))) == r"\tfrac{1}{2} \frac{1}{l}"
    assert printer.expression(l) == r"\frac{1}{l}"
    assert printer.expression(Sum((m, Power(l, 2)))) == r"m + \frac{1}{l^{2}}"
    assert printer.expression(Product((Number(Fraction(-3)), Power(l, 2)))) == r"-\frac{3}{l^{2}}"
    text = TextPrinter(book, Style())
    assert text.expression(Product((half, m, l))) == "m/(2*l)"
    assert text.expression(l) == "1/l"
    assert text.expression(Power(Sum((m, l)), 2)) == "(m + 1/l)**2"


def test_roots_signs_and_reciprocals():
    l, m = sympy.symbols("l m")
    arm = qddot.Builder("slanted", gravity=(0, 0, -9.81))
    arm.body("a", axis="z", rpy=(np.pi / 4, 0, 0), mass=m, com=(1 / l, 0, 0), tensor=(0, 0, 0), drive=Drive(coulomb=0.5))
    e = arm.robot().equations()
    assert e.M.latex() == "\\begin{bmatrix}\n\\frac{m}{l^{2}}\n\\end{bmatrix}"
    assert e.M.text() == "[[m/l**2]]"
    assert e.g[0].latex() == r"\frac{4.905 \sqrt{2} m c_{1}}{l}"
    assert e.g[0].text() == "4.905*sqrt(2)*m*c1/l"
    assert e.friction_torque.text() == "[sign(qd1)/2]"
    assert (
        e.friction_torque.latex()
        == "\\begin{bmatrix}\n\\tfrac{1}{2} \\operatorname{sign}\\left(\\dot{q}_{1}\\right)\n\\end{bmatrix}"
    )


# exactness --------------------------------------------------------------------------------------------------------------------


def assert_exact(form: Form, style: dict) -> None:
    presentation = Presentation(form.equations, styled(style))
    for x in form.entries.flat:
        assert presentation.rebuilt(presentation.entry(x)) == x


@pytest.mark.parametrize("parameters", ["given", "inertial", "all"])
@pytest.mark.parametrize("name", ["puma560", "two_link", "rp_arm", "cart_pole", "acrobot"])
def test_presentation_is_exact(name, parameters):
    e = qddot.load(name).equations(parameters)
    for style in STYLES:
        assert_exact(e.M, style)
        assert_exact(e.g, style)
    assert_exact(e.c, {})


def test_presentation_of_the_7r_arm_is_exact():
    e = qddot.load("arm7").equations("all")
    assert_exact(e.M, {})
    assert_exact(e.g, {"abbreviate": True})


@pytest.mark.parametrize("robot", ["planar", "opposed", "puma560", "followed"])
def test_random_polynomials_are_presented_exactly(robot):
    if robot == "puma560":
        e = qddot.load(robot).equations()
    elif robot == "followed":
        e = followed().equations()
    else:
        e = planar(*((1, 1, 1) if robot == "planar" else (1, -1, -1)))
    rng = np.random.default_rng(7)
    letters = [x for pair in e.alphabet.angles.values() for x in pair] + [
        *e.alphabet.qd[:2],
        *list(e.alphabet.parameters.values())[:2],
    ]
    for _ in range(25):
        p = e.alphabet.ring.constant(0)
        for _ in range(rng.integers(1, 8)):
            term = e.alphabet.ring.constant(Fraction(int(rng.integers(-5, 6)), int(rng.integers(1, 4))))
            for x in rng.choice(len(letters), size=rng.integers(0, 6)):
                term = e.alphabet.ring.constant(term * letters[x])
            p = p + term
        for style in STYLES:
            assert_exact(Form(e, p), style)


def followed():
    """The second joint turns twice as far as the first, and back."""
    arm = qddot.Builder("followed", gravity=(0, -9.81, 0))
    arm.body("a", joint_name="j", mass=1.0, com=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
    arm.body("b", "a", xyz=(1, 0, 0), mass=1.0, com=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1), mimic=("j", -2.5, 0.0))
    arm.body("c", "b", xyz=(1, 0, 0), mass=1.0, com=(0.5, 0, 0), tensor=(0.1, 0.1, 0.1))
    return arm.robot()


def test_multiples_of_an_angle_are_written_out():
    e = followed().equations()
    assert_exact(e.M, {})
    assert_exact(e.g, {})
    assert e.g[1].text() == "4.905*cos(1.5*q1 - q2)"
    assert np.allclose(e.M.lambdify()([0.3, 0.4]), followed().mass_matrix([0.3, 0.4]))


def test_sums_of_angles_are_shorter(puma):
    single, several = (Presentation(puma, Style(angles=angles)) for angles in ("single", "sum"))
    entries = list(puma.M.entries.flat)
    assert sum(size(several.entry(x)) for x in entries) < sum(size(single.entry(x)) for x in entries)


def test_every_kind_of_letter():
    e = every_letter()
    for form in (e.M, e.tau, e.friction_torque):
        assert_exact(form, {})
        assert_well_formed(form.latex())
        ElementTree.fromstring(form.mathml())
    values = {g.name: 0.5 + 0.1 * i for i, g in enumerate(e.alphabet.ring.generators) if g.kind == "parameter"}
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.normal(size=e.nq), rng.normal(size=e.nv), rng.normal(size=e.nv)
    assert np.allclose(e.tau.lambdify()(q, qd, qdd, **values), e.tau.evaluate(q, qd, qdd, values), rtol=1e-12)


def test_spherical_joints():
    arm = qddot.Builder("ball")
    arm.body("a", joint="spherical", mass=2.0, com=(0, 0, -0.5), tensor=(0.1, 0.2, 0.3))
    robot = arm.robot()
    e = robot.equations()
    assert_exact(e.tau, {})
    assert e.V.latex() == "19.62 q_{2}^{2} + 19.62 q_{3}^{2} - 9.81"
    q = robot.random_configuration(np.random.default_rng(1))
    assert np.allclose(e.g.lambdify()(3 * q), robot.gravity_torque(q))


# well-formed ------------------------------------------------------------------------------------------------------------------


def assert_well_formed(latex: str) -> None:
    """Braces, \\left and \\right, and environments are closed in the order in which they were opened."""
    open_: list[str] = []
    closing = {"}": "{", r"\right": r"\left"}
    for token in latex_tokens(latex):
        if token in ("{", r"\left"):
            open_.append(token)
        elif token in closing:
            assert open_, latex
            assert open_.pop() == closing[token], latex
    assert not open_, latex
    assert latex.count(r"\begin{bmatrix}") == latex.count(r"\end{bmatrix}")


def latex_tokens(latex: str) -> list[str]:
    tokens, i = [], 0
    while i < len(latex):
        if latex[i] == "\\":
            j = i + 1
            while j < len(latex) and latex[j].isalpha():
                j += 1
            j = max(j, i + 2)
            tokens.append(latex[i:j])
            i = j
        else:
            tokens.append(latex[i])
            i += 1
    return tokens


@pytest.mark.parametrize("style", STYLES)
def test_latex_and_mathml_are_well_formed(puma, style):
    for form in (puma.M, puma.g, puma.c[3], puma.tau[5]):
        short = {"abbreviate": Abbreviations()} if "abbreviate" in style else {}
        assert_well_formed(form.latex(**style | short))
        ElementTree.fromstring(form.mathml(**style | short))
        assert form.text(**style | short).isascii()


def test_three_indices(book):
    latex = book.christoffel.latex()
    assert_well_formed(latex)
    assert latex.count("bmatrix") == 4
    assert book.christoffel.text().startswith("[[[0, m2*L1*L2*s2],\n  [-m2*L1*L2*s2, 0]],\n\n [[")


def test_repr_is_short(puma, book):
    assert len(repr(puma.M)) < 2000
    assert "<" in repr(puma.M)
    assert repr(book.g) == str(book.g) == book.g.text()


def test_fractions_of_polynomials(book):
    ratio = Form(book, [divide(book.M.entries[0, 1], book.M.entries[0, 0])], "ratio")
    assert ratio[0].latex().startswith(r"\frac{m_{2} L_{2} \left(L_{1} c_{2} + L_{2}\right)}{2 m_{2}")
    assert_well_formed(ratio.latex())
    given = {"m1": 1.0, "m2": 2.0, "L1": 3.0, "L2": 4.0}
    expected = book.M.evaluate([0.1, 0.2], parameters=given | {"g": 9.81})
    assert np.allclose(ratio.lambdify()([0.1, 0.2], **given), expected[0, 1] / expected[0, 0])
    assert sympy.simplify(ratio.sympy()[0] * book.M[0, 0].sympy() - book.M[0, 1].sympy()) == 0


@pytest.mark.parametrize(
    "style", [{"angles": "triple"}, {"group": "x"}, {"notation": "goethe"}, {"digits": 0}, {"digits": "6"}, {"abbreviate": "k"}]
)
def test_wrong_styles_are_refused(book, style):
    with pytest.raises(InputError):
        book.M.latex(**style)


def test_unknown_styles_are_refused(book):
    with pytest.raises(UnknownNameError, match="angle"):
        book.M.latex(angle="sum")
    with pytest.raises(InputError, match="has no name"):
        book.M[0].latex(lhs=True)


# SymPy ------------------------------------------------------------------------------------------------------------------------


def test_sympy_is_exact(book):
    for form in (book.M, book.c, book.g, book.tau):
        back = [book.read(x) for x in sympy.flatten(form.sympy())]
        assert Form(book, back) == Form(book, form.entries.ravel())
    q1, q2 = sympy.symbols("q1 q2", real=True)
    L2, m2, g = sympy.symbols("L2 m2 g", positive=True)
    assert sympy.simplify(book.g[1].sympy() - g * m2 * L2 * sympy.cos(q1 + q2)) == 0
    assert book.christoffel.sympy().shape == (2, 2, 2)


@pytest.mark.parametrize("parameters", ["given", "inertial", "all"])
def test_sympy_of_puma_is_exact(parameters):
    e = qddot.load("puma560").equations(parameters)
    assert Form(e, [e.read(x) for x in sympy.flatten(e.M.sympy())]) == Form(e, e.M.entries.ravel())


# code -------------------------------------------------------------------------------------------------------------------------


def run_python(form: Form, *arrays, **parameters):
    scope: dict = {}
    source = form.python()
    exec(compile(source, "generated", "exec"), scope)
    return scope[form.name](*arrays, **parameters)


@pytest.mark.parametrize("parameters", ["given", "all"])
def test_python_runs(parameters):
    robot = qddot.load("puma560")
    e = robot.equations(parameters)
    rng = np.random.default_rng(3)
    q, qd = rng.normal(size=(2, 4, 2, 6))
    assert np.allclose(run_python(e.M, q), robot.mass_matrix(q), rtol=1e-12, atol=1e-12)
    assert np.allclose(run_python(e.coriolis_torque, q, qd), robot.coriolis_torque(q, qd), rtol=1e-12, atol=1e-12)


def test_lambdify_equals_the_compiled_kernels():
    robot = qddot.load("puma560")
    e = robot.equations()
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.normal(size=(3, 10, 6))
    assert np.allclose(e.tau.lambdify()(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-11, atol=1e-11)
    assert np.allclose(e.tau.lambdify()(q), robot.inverse_dynamics(q, 0 * q, 0 * q), rtol=1e-11, atol=1e-11)
    assert np.allclose(e.T.lambdify()(q, qd), robot.kinetic_energy(q, qd))


def test_lambdify_takes_parameters(book):
    f = book.g.lambdify()
    values = {"L1": 1.0, "L2": 2.0, "m1": 3.0, "m2": np.array([4.0, 5.0]), "g": 9.81}
    got = f([0.1, 0.2], **values)
    for k in range(2):
        assert np.allclose(got[k], book.g.evaluate([0.1, 0.2], parameters=values | {"m2": values["m2"][k]}))
    with pytest.raises(UnboundSymbolError, match="m2 has no value"):
        f([0.1, 0.2], L1=1, L2=1, m1=1, g=1)
    with pytest.raises(UnknownNameError):
        f([0.1, 0.2], L3=1)
    with pytest.raises(InputError, match="q has shape"):
        f([0.1], **values)


def run_c(form: Form, arrays, p, directory) -> np.ndarray:
    (directory / "form.c").write_text(form.c())
    library = directory / "form.so"
    flags = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run([CC, *flags, "form.c", "-o", str(library), "-lm"], cwd=directory, check=True, capture_output=True)
    out = np.empty(form.shape)
    inputs = [np.ascontiguousarray(x, dtype=float) for x in (*arrays, *([p] if p else []))]
    pointer = ctypes.POINTER(ctypes.c_double)
    function = getattr(ctypes.CDLL(str(library)), form.name)
    function(*(x.ctypes.data_as(pointer) for x in inputs), out.ctypes.data_as(pointer))
    return out


needs_compiler = pytest.mark.skipif(CC is None or sys.platform == "win32", reason="no C compiler on the path")


@needs_compiler
def test_c_runs(puma, book, tmp_path):
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 6))
    e = qddot.load("puma560").equations()
    assert np.allclose(run_c(e.tau, (q, qd, qdd), [], tmp_path), e.tau.evaluate(q, qd, qdd), rtol=1e-12)
    (tmp_path / "book").mkdir()
    order = book.g.c().split("/* p: ")[1].split(" */")[0].split(", ")
    values = dict(zip(order, (1.1, 1.2, 1.3, 1.4, 1.5)))
    got = run_c(book.g, (q[:2],), list(values.values()), tmp_path / "book")
    assert np.allclose(got, book.g.evaluate(q[:2], parameters=values), rtol=1e-14)


@needs_compiler
def test_c_of_a_constant_has_no_warnings(tmp_path):
    e = qddot.load("rp_arm").equations()
    constant = Form(e, [1, 2], "constant")
    assert np.array_equal(run_c(constant, ([0.0, 0.0],), [], tmp_path), [1, 2])


@needs_compiler
def test_hostile_names_are_harmless(tmp_path):
    arm = qddot.Builder('"""; import os', gravity=(0, -9.81, 0))
    symbols = [sympy.Symbol(name) for name in HOSTILE]
    arm.body("a", mass=symbols[0], com=symbols[1:4], tensor=symbols[4:7])
    arm.body("b", "a", xyz=symbols[7:10], mass=symbols[10], com=(symbols[11], 0, 0), tensor=(0, 0, 0))
    e = arm.robot().equations()
    form = e.M
    assert set(form.equations.parameters) <= set(HOSTILE)
    assert_well_formed(form.latex())
    ElementTree.fromstring(form.mathml())
    q = np.linspace(-1, 1, e.nq)
    values = {name: 0.3 + 0.1 * i for i, name in enumerate(HOSTILE)}
    expected = form.evaluate(q, parameters=values)
    assert np.allclose(form.lambdify()(q, **values), expected)
    from qddot.symbolic.code import Program, PythonPrinter

    program = Program(form, PythonPrinter)
    assert all(name.isidentifier() and name.isascii() for name in program.parameters.values())
    assert len(set(program.parameters.values())) == len(program.parameters)
    assert np.allclose(run_c(form, (q,), [values[name] for name in program.parameters], tmp_path), expected)


def test_long_sums_are_cut_into_statements():
    e = qddot.load("arm7").equations()
    source = e.M.python()
    assert "t1 = t1 + " in source
    q = np.random.default_rng(6).normal(size=7)
    assert np.allclose(run_python(e.M, q), qddot.load("arm7").mass_matrix(q), atol=1e-12)
