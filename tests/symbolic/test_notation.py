"""Numbers and names as they are written."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

import qddot
from qddot.model.drive import Drive
from qddot.symbolic.form import Form
from qddot.symbolic.printing.latex import LatexPrinter
from qddot.symbolic.printing.notation import shown, split
from qddot.symbolic.printing.presentation import Style
from qddot.symbolic.printing.text import TextPrinter
from qddot.symbolic.printing.tree import Inverse, Number, Power, Product, Sum, Symbol


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
        ("λ_x", ("lambda", "x")),
        ("α3", ("alpha", "3")),
        ("φ", ("phi",)),
        ("αβ", ("αβ",)),
        ("3x", ("3x",)),
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
        "λ2": r"\lambda_{2}",
        "3x": r"\mathrm{3x}",  # not three times x
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
    assert e.g[0].latex() == r"\frac{9.81}{2} \frac{\sqrt{2} m c_{1}}{l}"
    assert e.g[0].text() == "9.81*sqrt(2)*m*c1/(2*l)"
    assert e.friction_torque.text() == "[sign(qd1)/2]"
    assert (
        e.friction_torque.latex()
        == "\\begin{bmatrix}\n\\tfrac{1}{2} \\operatorname{sign}\\left(\\dot{q}_{1}\\right)\n\\end{bmatrix}"
    )
