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


@pytest.mark.slow
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


def test_rounded_numbers_keep_their_zeros():
    """2.40 for 2.3996; what is exact stays as it is."""
    arm = qddot.Builder("arm", gravity=(0, -9.81, 0)).body("a", mass=2.3996, com=(0.5, 0, 0)).robot()
    text = arm.derive("lagrange", digits=3).markdown()
    assert r"m_{1} &= 2.40 \\" in text
    assert r"r_{c1} &= \begin{bmatrix} 0.5 \\ 0 \\ 0 \end{bmatrix}" in text
    assert r"m_{1} &= 2.3996 \\" in arm.derive("lagrange").markdown()


def test_symbols_for_numbers_say_about_what_they_are():
    found = {x: "".join(map("".join, qddot.load("two_link").derive("lagrange", x).notes)) for x in ("given", "inertial", "all")}
    assert "of its own frame" in found["inertial"]
    assert "with z along the joint's axis" in found["all"]
    assert "Izz" not in found["given"]
