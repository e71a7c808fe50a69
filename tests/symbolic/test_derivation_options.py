"""What a derivation says of what it was asked for: constraints, length, gravity, method."""

from __future__ import annotations

import pytest
import sympy

import qddot
from qddot.errors import InputError


def test_constraints_that_are_imposed_are_not_said_to_be_left_out():
    robot = qddot.load("four_bar", symbolic=True)
    text = robot.derive("lagrange", constraints=True).html()
    assert "not imposed" not in text
    assert "the constraints are imposed after them" in text
    assert "`" not in text.partition("<body>")[2]
    open_tree = robot.derive("lagrange").html()
    assert "constraints that are not imposed here: &#x27;loop&#x27;" in open_tree
    assert "`" not in open_tree.partition("<body>")[2]


def test_what_is_too_long_is_said_to_be_left_out():
    robot = qddot.load("four_bar", symbolic=True)
    text = robot.derive("lagrange", constraints=True).markdown()
    assert r"Written out, $\lambda$ would have" in text
    assert r"\lambda_{1} &=" not in text
    full = robot.derive("lagrange", constraints=True, full=True).markdown()
    assert "Written out, " not in full
    assert r"\lambda_{1} &=" in full
    assert r"\ddot q_{3} &=" in full


def test_gravity_that_has_another_symbol():
    robot = qddot.load("point_mass_2r", symbolic=True).with_gravity((0, -sympy.Symbol("g", positive=True), 0))
    with pytest.raises(InputError, match="gravity='G': gravity of this robot has the symbol 'g' already"):
        robot.derive(gravity="G")
    assert "g" in robot.derive(gravity="g").equations.parameters
    renamed = robot.subs({"g": sympy.Symbol("G", positive=True)})
    assert "G" in renamed.derive(gravity="G").equations.parameters


def test_methods_in_any_letter_case():
    assert qddot.load("point_mass_2r").derive("Newton-Euler").method == "newton-euler"
    with pytest.raises(InputError, match="method='Kane' is not one of"):
        qddot.load("point_mass_2r").derive("Kane")
