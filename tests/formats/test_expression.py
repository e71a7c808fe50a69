import math

import pytest
import sympy

from qddot.errors import ModelLimitError
from qddot.formats.expression import Scope

l, m = sympy.symbols("l m", real=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        (" -1.5e-3 ", -0.0015),
        ("pi/2", math.pi / 2),
        ("-2**2", -4.0),
        ("2**-1", 0.5),
        ("2**3**2", 512.0),
        ("1 - 2 - 3", -4.0),
        ("8/2/2", 2.0),
        ("2*(3 + 4)", 14.0),
        ("sqrt(2)*cos(pi/4)", 1.0),
        ("- -1", 1.0),
        (".5", 0.5),
    ],
)
def test_numbers(text, value):
    found = Scope().evaluate(text)
    assert isinstance(found, float)
    assert found == pytest.approx(value, rel=1e-15)


def test_symbols_are_real_and_numbers_beside_them_exact():
    assert Scope().evaluate("l/2") == l / 2
    assert Scope().evaluate("1/3*m*l**2") == sympy.Rational(1, 3) * m * l**2
    assert Scope().evaluate("0.1*l") == l / 10
    assert Scope().evaluate("pi*l + sin(l)") == sympy.pi * l + sympy.sin(l)
    assert Scope().evaluate("l - l") == 0.0


def test_values_replace_symbols():
    assert Scope({"l": 0.5}).evaluate("l/2") == 0.25
    assert Scope({"l": 0.5}).evaluate("m*l").free_symbols == {m}


def test_declared_symbols_are_the_only_ones():
    assert Scope(symbols=["m1"]).evaluate("m1").name == "m1"
    with pytest.raises(ValueError, match="unknown symbol 'ml', did you mean 'm1'"):
        Scope(symbols=["m1"]).evaluate("ml")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "1_000",
        "0x10",
        "1.0kg",
        "1 2",
        "1,5",
        "(1",
        "1)",
        "1 +",
        "* 2",
        "2^3",
        "l[0]",
        "l.real",
        "__import__('os')",
        "exec(1)",
        "lambda: 1",
        "sin",
        "sin 1",
        "f(1)",
        "1/0",
        "l/0",
        "sqrt(-1)",
        "sqrt(-1)*l",
        "(-1)**0.5",
        "1e999",
        "1e999*l",
        "9**9**9**9",
        "l**9**9**9",
        "l**m",
        "-" * 400 + "1",
        "(" * 200 + "1" + ")" * 200,
        "1+" * 1000 + "1",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(ValueError):
        Scope().evaluate(text)


@pytest.mark.parametrize("text", ["((l+m)**16)**16", "(l*(l+m)**16)**4", "*".join(["(l+m)**16"] * 5)])
def test_powers_of_powers_are_limited(text):
    with pytest.raises(ModelLimitError, match="over the limit of 64"):
        Scope().evaluate(text)


def test_powers_within_the_limit():
    assert Scope().evaluate("((l+m)**8)**8") == (l + m) ** 64
    assert Scope().evaluate("sqrt(l**2 + m**2)/sin(l)**3") == sympy.sqrt(l**2 + m**2) / sympy.sin(l) ** 3


def test_towers_of_powers_cost_nothing():
    assert Scope().evaluate("l*" + "(" * 5 + "1.000001" + "**16)" * 5).free_symbols == {l}
