"""The letters of a derivation: legal LaTeX in every notation, and each with one meaning."""

from __future__ import annotations

import re
import shutil

import pytest

import qddot
from qddot.symbolic.derivation.pdf import pdf
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
        ("craig", "u", "P", r"\theta"),
        ("siciliano", r"\mathcal{U}", "P", "q"),
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
