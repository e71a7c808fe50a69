"""The letters of a derivation: legal LaTeX in every notation, and each with one meaning."""

from __future__ import annotations

import re
import shutil

import pytest
import sympy

import qddot
from qddot.symbolic.derivation.pdf import pdf
from qddot.symbolic.derivation.terms import Names
from qddot.symbolic.derivation.vocabulary import BOOKS

every_notation = pytest.mark.parametrize("notation", BOOKS)


@every_notation
def test_accents_on_letters_that_are_commands(notation):
    derivation = qddot.load("rp_arm", symbolic=True).derive("newton-euler", notation=notation)
    for text in (derivation.latex(), derivation.markdown()):
        assert not re.search(r"(\\(dot|ddot|hat|tilde|vec|bar)|[_^]) ?\\(math|tilde)", text)
    if notation == "lynch-park":
        assert r"\dot{\mathcal{V}}_{1}" in derivation.markdown()
        if shutil.which("pdflatex"):
            assert pdf(derivation.latex()).startswith(b"%PDF")


def test_abbreviations_are_no_energies():
    text = qddot.load("rp_arm", symbolic=True).derive("lagrange", notation="craig", abbreviate=True).markdown()
    defined = re.findall(r"^([a-z]_\{\d+\}) &= ", text, re.MULTILINE)
    assert "k_{1}" in defined
    assert len(defined) == len(set(defined))
    assert "k_{1} &= " in qddot.load("rp_arm", symbolic=True).derive("lagrange", abbreviate=True).markdown()


def test_stiffness_is_no_energy():
    arm = qddot.from_dh([(0.3, 0, 0, 0)], inertias=[qddot.Inertia(1.0, (0.1, 0, 0))], drives=[qddot.Drive(stiffness=3)])
    text = arm.derive("lagrange", notation="craig").markdown()
    assert r"\tilde{k}_i (\theta_i - \theta_{0i})^2" in text
    assert "have a tilde" in text


@pytest.mark.parametrize(
    ("notation", "energy", "projection", "variable"),
    [
        ("qddot", "P", r"\tilde{P}", "q"),
        ("lynch-park", r"\mathcal{P}", "P", r"\theta"),
        pytest.param("craig", "u", "P", r"\theta", marks=pytest.mark.slow),
        pytest.param("siciliano", r"\mathcal{U}", "P", "q", marks=pytest.mark.slow),
    ],
)
def test_the_projection_is_no_potential_energy(notation, energy, projection, variable):
    text = qddot.load("four_bar").derive("lagrange", constraints=True, notation=notation).markdown()
    assert f"{energy} &= {energy}_{{1}} + " in text
    assert f"{projection} &= 1 - A" in text
    assert rf"{projection}_{{\ddot {variable}}} &= " in text
    assert "Checked: the projection (" in text


def test_the_stacked_form_has_the_letters_of_the_notation():
    text = qddot.load("rp_arm").derive("newton-euler", notation="lynch-park").markdown()
    assert r"[\mathrm{ad}_{\mathcal{A} \dot \theta}]" in text
    assert r"[\mathrm{ad}_{\mathcal{V}}]" in text


def test_letters_with_indices_are_different_letters():
    """The slope of M_11 along q11 is not M_11,11."""
    names, n = Names(12), range(12)
    found = [names.mass(i, j) for i in n for j in n if i <= j] + [names.slope(i, j, k) for i in n for j in n for k in n if i <= j]
    assert len(set(found)) == len(found)
    assert Names(3).slope(1, 0, 2) == "M_12_3"


def test_abbreviations_take_a_letter_that_is_free():
    names = [f"{letter}1" for letter in ("k", "p", "h", "w", "e", "y", "z")]
    letters = [sympy.Symbol(x, positive=True) for x in names]
    arm = qddot.Builder("arm").body("a", mass=sum(letters[1:], letters[0]), com=(letters[0] * letters[1], 0, 0)).robot()
    text = arm.derive("newton-euler", abbreviate=True).markdown()
    assert r"\kappa_{1}" in text
    assert "abbreviation_" not in text


def test_every_abbreviation_is_used():
    """Of a robot with fractions too: in a form that was tried and not taken, none is defined."""
    robot = qddot.load("point_mass_2r", symbolic=True)
    channel = qddot.holonomic(lambda state: state.position("tip").x - 1)
    text = robot.derive("lagrange", constraints=channel, abbreviate=True).markdown()
    defined = re.findall(r"^(k_\{\d+\}) &= ", text, re.MULTILINE)
    assert defined
    assert all(text.count(name) > 1 for name in defined)


@pytest.mark.parametrize(("notation", "squares", "matrix"), [("qddot", "Q(q)", r"C(q, \dot q)"), ("craig", r"C(\theta)", "V_m")])
def test_squares_of_velocities_and_the_coriolis_matrix_have_letters_of_their_own(notation, squares, matrix):
    robot = qddot.load("two_link")
    text = robot.derive("jacobian", notation=notation).markdown()
    assert f"{squares} &= " in text
    assert matrix in text
    eq = robot.equations()
    letters = {x.latex(lhs=True, notation=notation).split("(")[0] for x in (eq.centrifugal_matrix, eq.coriolis_matrix())}
    assert len(letters) == 2
