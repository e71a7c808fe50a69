"""Closed forms on paper: exact strings of textbook arms; nothing printed may differ from its polynomial."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from fractions import Fraction

import numpy as np
import pytest
import sympy

import qddot
from qddot.errors import InputError, UnknownNameError
from qddot.model.drive import Drive
from qddot.symbolic.exact.ratio import divide
from qddot.symbolic.form import Form
from qddot.symbolic.printing.abbreviations import Abbreviations
from qddot.symbolic.printing.notation import NOTATIONS, shown
from qddot.symbolic.printing.presentation import Presentation, Style, style_of
from qddot.symbolic.printing.tree import size
from tests.symbolic.rebuilt import rebuilt
from tests.symbolic.samples import every_letter
from tests.symbolic.well_formed import assert_well_formed

STYLES = [{}, {"angles": "single"}, {"group": "parameter"}, {"group": "rates"}, {"group": "none"}, {"abbreviate": True}]


def styled(style: dict) -> Style:
    return style_of(style | ({"abbreviate": Abbreviations()} if style.get("abbreviate") else {}))


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
    assert book.M.text() == ("[[2*m2*L1*L2*c2 + (m1 + m2)*L1**2 + m2*L2**2, m2*L2*(L1*c2 + L2)],\n [m2*L2*(L1*c2 + L2), m2*L2**2]]")
    assert book.c.text() == "[-m2*L1*L2*s2*qd2*(2*qd1 + qd2), m2*L1*L2*s2*qd1**2]"
    assert book.g.text() == "[(m1 + m2)*g*L1*c1 + m2*g*L2*c12, m2*g*L2*c12]"
    assert book.V.text(lhs=True) == "P(q) = (m1 + m2)*g*L1*s1 + m2*g*L2*s12"
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


def test_grouped_by_rates_as_equations_of_motion_are_written(book):
    first, second = book.tau
    assert first.text(group="rates") == (
        "((m1 + m2)*L1**2 + m2*L2**2 + 2*m2*L1*L2*c2)*qdd1 + m2*L2*(L2 + L1*c2)*qdd2 - m2*L1*L2*s2*(2*qd1*qd2 + qd2**2)"
        " + (m1 + m2)*g*L1*c1 + m2*g*L2*c12"
    )
    assert second.text(group="rates") == "m2*L2*(L2 + L1*c2)*qdd1 + m2*L2**2*qdd2 + m2*L1*L2*s2*qd1**2 + m2*g*L2*c12"
    slide = qddot.load("rp_arm", symbolic=True).equations()
    assert slide.L.text(group="rates") == "(m1*L1**2 + m2*q2**2 + I1 + I2)*qd1**2/2 + m2*qd2**2/2 - 9.81*(m1*L1 + m2*q2)*s1"


def test_numbers_may_be_rounded():
    style = {"group": "rates", "digits": 5, "rounded": True, "exact": 7}
    found = qddot.load("two_link").equations().M.text(**style)
    assert found == "[[0.33148 + 0.245*c2, 0.11461 + 0.1225*c2],\n [0.11461 + 0.1225*c2, 0.11461]]"
    assert shown(Fraction(999999, 10), False, 3, rounded=True, exact=3).digits == "100000"
    assert shown(Fraction(1, 700000), False, 3, rounded=True, exact=3)[:4] == ("0.00000143", "", False, 0)


def test_groups(book):
    assert book.g[0].text(group="none") == "m1*g*L1*c1 + m2*g*L1*c1 + m2*g*L2*c12"
    assert book.M[0, 0].text(group="none") == "2*m2*L1*L2*c2 + m1*L1**2 + m2*L1**2 + m2*L2**2"
    two = qddot.load("two_link", symbolic=True).equations()
    assert two.g[0].text(group="parameter", angles="single") == "9.81*m1*l1*c1/2 + 9.81*m2*l1*c1 + 9.81*m2*l2*(c1*c2 - s1*s2)/2"


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
    assert short.text() == "k1 = m2*L1*L2\nk2 = (m1 + m2)*L1**2 + m2*L2**2\nk3 = m2*L2**2"
    assert short.latex().splitlines()[1] == r"k_{1} &= m_{2} L_{1} L_{2} \\"
    ElementTree.fromstring(short.mathml())
    scope = dict(zip(("m1", "m2", "L1", "L2"), (2.0, 3.0, 5.0, 7.0)))
    exec(short.python(), scope)
    assert (scope["k1"], scope["k2"], scope["k3"]) == (105.0, 272.0, 147.0)
    text, own = book.g.abbreviated()
    assert text == "[k1*c1 + k2*c12, k2*c12]"
    assert repr(own) == "k1 = (m1 + m2)*g*L1\nk2 = m2*g*L2"


def test_abbreviations_in_latex(book):
    latex, names = book.c.abbreviated("latex")
    assert r"-k_{1} s_{2} \dot{q}_{2}" in latex
    assert r"k_{1} &= m_{2} L_{1} L_{2}" in names.latex()
    with pytest.raises(InputError, match="target='pdf' is not one of 'text', 'latex', 'mathml'"):
        book.c.abbreviated("pdf")
    with pytest.raises(InputError, match=r"see Form\.abbreviated"):
        book.c.latex(abbreviate=True)


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


# exactness --------------------------------------------------------------------------------------------------------------------


def assert_exact(form: Form, style: dict) -> None:
    presentation = Presentation(form.equations, styled(style))
    for x in form.entries.flat:
        assert rebuilt(presentation, presentation.entry(x)) == x


@pytest.mark.parametrize("parameters", ["given", "inertial", "all"])
@pytest.mark.parametrize("name", [pytest.param("puma560", marks=pytest.mark.slow), "two_link", "rp_arm", "cart_pole", "acrobot"])
def test_presentation_is_exact(name, parameters):
    e = qddot.load(name).equations(parameters)
    for style in STYLES:
        assert_exact(e.M, style)
        assert_exact(e.g, style)
    assert_exact(e.c, {})


@pytest.mark.slow
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
    for c in e.model.mechanism.coordinates:
        if c.parts[0].quaternion:
            q[c.q.start : c.q.start + 4] /= np.linalg.norm(q[c.q.start : c.q.start + 4])
    assert np.allclose(e.tau.lambdify()(q, qd, qdd, **values), e.tau.evaluate(q, qd, qdd, values), rtol=1e-12)


def test_spherical_joints():
    arm = qddot.Builder("ball")
    arm.body("a", joint="spherical", mass=2.0, com=(0, 0, -0.5), tensor=(0.1, 0.2, 0.3))
    robot = arm.robot()
    e = robot.equations()
    assert_exact(e.tau, {})
    assert e.V.latex() == "19.62 q_{2}^{2} + 19.62 q_{3}^{2} - 9.81"
    q = robot.random_configuration(np.random.default_rng(1))
    assert np.allclose(e.g.lambdify()(q), robot.gravity_torque(q))


# well-formed ------------------------------------------------------------------------------------------------------------------


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
    named = book.christoffel.latex(lhs=True)
    assert " ".join(named.split()).endswith(r"\Gamma_{2} = \begin{bmatrix} m_{2} L_{1} L_{2} s_{2} & 0 \\ 0 & 0 \end{bmatrix}")
    assert book.christoffel.text().startswith("[[[0, m2*L1*L2*s2],\n  [-m2*L1*L2*s2, 0]],\n\n [[")


def test_a_polynomial_has_signs_between_its_terms(book):
    assert str(book.read("q1 - m1*sin(q1)*qd1 - 3")) == "-s1*qd1*m1 + q1 - 3"


def test_repr_is_short(puma, book):
    assert len(repr(puma.M)) < 2000
    assert "<" in repr(puma.M)
    assert repr(book.g) == str(book.g) == book.g.text()


def test_fractions_of_polynomials(book):
    ratio = Form(book, [divide(book.M.entries[0, 1], book.M.entries[0, 0])], "ratio")
    assert ratio[0].latex().startswith(r"\frac{m_{2} L_{2} \left(L_{2} + L_{1} c_{2}\right)}{\left(m_{1} + m_{2}\right) L_{1}^{2}")
    assert_well_formed(ratio.latex())
    given = {"m1": 1.0, "m2": 2.0, "L1": 3.0, "L2": 4.0}
    expected = book.M.evaluate([0.1, 0.2], parameters=given | {"g": 9.81})
    assert np.allclose(ratio.lambdify()([0.1, 0.2], **given), expected[0, 1] / expected[0, 0])
    assert sympy.simplify(ratio.sympy()[0] * book.M[0, 0].sympy() - book.M[0, 1].sympy()) == 0


def test_rates_that_the_same_thing_multiplies_are_put_together(book):
    assert book.C[0, 1].text(group="rates") == "-m2*L1*L2*s2*(qd1 + qd2)"
    tip = qddot.load("point_mass_2r", symbolic=True).equations().jacobian_dot("tip", "world_aligned")
    assert tip[3, 0].text(group="rates") == "-L1*c1*qd1 - L2*c12*(qd1 + qd2)"
    spun = Form(book, book.read("L1*(qd1 + qd2)**2 + L2*sin(q1)*qd1**2"))
    assert spun.text(group="rates") == "L2*s1*qd1**2 + L1*(qd1 + qd2)**2"


def test_sines_in_fractions_are_those_of_sums():
    """The mass at the tip of a planar arm, and the motion of one whose tip slides in a channel."""
    equations = qddot.load("point_mass_2r", symbolic=True).equations()
    task = equations.task_space("tip", ["x", "y"])
    assert task.M_C.text() == "[[m2 + m1*c12**2/s2**2, m1*c12*s12/s2**2],\n [m1*c12*s12/s2**2, m2 + m1*s12**2/s2**2]]"
    assert task.J_bar[1, 0].text() == "-(L1*c1 + L2*c12)/(L1*L2*s2)"
    channel = qddot.holonomic(lambda state: state.position("tip").x - 1)
    found = qddot.load("point_mass_2r", symbolic=True).equations(constraints=channel).constraints
    assert found.P[1, 0].text() == "m2*L2*c12*s12*s2/(L1*(m1*s12**2 + m2*s2**2))"
    assert "c1*c2" not in found.lam.text() + found.P.text() + found.qdd.text() + found.reduced.text()


def test_energies_in_momenta_are_sums():
    H = qddot.load("rp_arm", symbolic=True).equations().hamilton.H
    assert H.text() == "9.81*s1*(m2*q2 + m1*L1) + p1**2/(2*(m1*L1**2 + m2*q2**2 + I1 + I2)) + p2**2/(2*m2)"
    assert qddot.load("point_mass_2r", symbolic=True).equations().hamilton.pd[1].text().endswith("*(m1 + m2*s2**2)**2)")


def test_stribecks_law_is_a_sum():
    b, low, high, v = sympy.symbols("b f_c f_s v_s", positive=True)
    drive = Drive(viscous=b, coulomb=low, static=high, stribeck_velocity=v)
    friction = qddot.Builder("rubbing").body("arm", mass=1, com=(1, 0, 0), drive=drive).robot().equations().friction_torque
    assert friction[0].text() == "b*qd1 + f_c*sign(qd1) + (f_s - f_c)*v_s**2*sign(qd1)/(qd1**2 + v_s**2)"


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
