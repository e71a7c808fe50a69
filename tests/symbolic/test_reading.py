"""SymPy expressions and texts as polynomials; angles as sums."""

import pickle
from fractions import Fraction

import pytest
import sympy

import qddot
from qddot.errors import InputError, UnknownNameError
from qddot.formats.expression import Scope
from qddot.symbolic.exact.reading import angle_parts, exactly, read, squared, with_surds
from qddot.symbolic.exact.ring import NotPolynomialError
from qddot.symbolic.form import Form

a, b = sympy.symbols("a b", real=True)


def leaves(expression) -> list[tuple[str, str]]:
    """Which leaves are asked for."""
    found = []
    read(expression, lambda kind, x: found.append((kind, str(x))) or 1)
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (a, [("parameter", "a")]),
        (2 * a * b, [("parameter", "a"), ("parameter", "b")]),
        (a**3, [("parameter", "a")]),
        (1 / a, [("inverse", "a")]),
        (1 / (a + b), [("inverse", "a + b")]),
        (sympy.sqrt(a), [("atom", "sqrt(a)")]),
        (1 / sympy.sqrt(a), [("inverse", "a"), ("atom", "sqrt(a)")]),
        (sympy.sqrt(10), [("root", "2"), ("root", "5")]),
        (sympy.cos(a + b), [("cos", "a + b")]),
        (sympy.tan(a), [("sin", "a"), ("inverse", "cos(a)")]),
        (sympy.pi, [("atom", "pi")]),
        (a ** sympy.Rational(1, 3), [("atom", "a**(1/3)")]),
        (sympy.Rational(3, 7), []),
    ],
)
def test_leaves(expression, expected):
    assert leaves(expression) == expected


def test_numbers():
    assert read(sympy.Rational(-3, 7), lambda *_: 1) == Fraction(-3, 7)
    assert read(sympy.Float(0.1), lambda *_: 1) == Fraction(1, 10)
    assert read(a**2 + 3 * b, lambda _, x: {a: Fraction(5), b: Fraction(2)}[x]) == 31
    assert exactly(0.1 * a) == a / 10


def test_what_is_not_real_is_refused():
    for expression in (sympy.I, sympy.I * a, sympy.zoo, sympy.oo, sympy.nan, sympy.sqrt(-2) * a):
        with pytest.raises(InputError, match="not a finite real number|is not a real number"):  # noqa: RUF043
            read(expression, lambda *_: 1)


def test_squares():
    assert squared(sympy.sqrt(a + b)) == a + b
    assert squared(abs(a)) == a**2
    assert squared(sympy.atan(a)) is None


def test_parts_of_an_angle():
    parts, number = angle_parts(2 * a - b / 3 + sympy.pi / 2)
    assert parts == {a: 2, b: Fraction(-1, 3)}
    assert number == pytest.approx(1.5707963267948966)
    assert angle_parts(a * (b + 1)) == ({a: 1, a * b: 1}, 0.0)
    assert angle_parts(sympy.Float(0.5) * a + 0.25) == ({a: Fraction(1, 2)}, 0.25)


def test_surds_in_rotations():
    assert with_surds(0.7071067811865476 * a) == sympy.sqrt(2) * a / 2
    assert with_surds(0.25 * a) == 0.25 * a
    assert with_surds(a) == a


# texts ------------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def E():
    return qddot.load("point_mass_2r", symbolic=True).equations()


def test_texts(E):
    assert E.read("cos(q1 + q2)") == E.read("cos(q1)*cos(q2) - sin(q1)*sin(q2)")
    assert E.read("sin(2*q1)") == E.read("2*sin(q1)*cos(q1)")
    assert E.read("cos(q1 + pi/2)") == E.read("-sin(q1)")
    assert E.read("1/3") == Fraction(1, 3)
    assert E.read("0.1*m1") == E.read("m1/10")
    assert E.read("sqrt(2)*sqrt(2)") == 2
    assert E.read("0") == 0
    assert E.read(sympy.Symbol("m1", positive=True)) == E.read("m1")  # by its name


def test_names_are_checked(E):
    with pytest.raises(UnknownNameError, match=r"no letter 'm3': did you mean .*'m[12]'"):
        E.read("m3*L1")
    with pytest.raises(NotPolynomialError, match="1/m1 is not a polynomial in the letters of these equations"):
        E.read("1/m1")
    with pytest.raises(NotPolynomialError, match=r"cos\(1/3\*q1\) is not a polynomial in the letters of this robot"):
        E.read("cos(q1/3)")
    with pytest.raises(NotPolynomialError, match=r"cos\(100\*q1\) is not a polynomial"):
        E.read("cos(100*q1)")
    with pytest.raises(InputError, match="a power is written"):
        E.read("m1^2")
    with pytest.raises(InputError, match="is not an expression"):
        E.read(sympy.Eq(a, b))


def test_signs_and_magnitudes_are_read_from_texts():
    drive = qddot.Drive(coulomb=sympy.Symbol("Fs", positive=True), viscous=sympy.Symbol("Fv", positive=True))
    eq = qddot.Builder("one").body("arm", mass=1.0, com=(1, 0, 0), drive=drive).robot().equations()
    assert eq.friction_torque[0] == eq.read("Fv*qd1 + Fs*sign(qd1)")
    assert eq.read("abs(qd1)") == eq.read("sign(qd1)*qd1")
    assert eq.read("sign(-3) + abs(-2)*Fs") == eq.read("2*Fs - 1")


@pytest.mark.parametrize("kept", [False, True])
def test_every_rate_has_a_sign(kept):
    """With or without friction; what is equal is seen to be, whichever factor comes first."""
    eq = qddot.load("two_link").equations()
    eq = pickle.loads(pickle.dumps(eq)) if kept else eq
    read, sign, v = eq.read, eq.read("sign(qd2)"), eq.read("qd2")
    assert sign * v == v * sign == read("abs(qd2)")
    assert read("sign(-3*qd2)") == -sign
    assert sign * (sign * v) == (sign * sign) * v == v * (sign * sign) == read("sign(qd2)*abs(qd2)") == v
    assert read("abs(qd2)**2") == v * v
    assert sign * sign * read("qd1") != read("qd1")
    assert (eq.tau + Form(eq, [sign, sign * v])).subs({"qd2": 0}) == eq.tau.subs({"qd2": 0})


def test_sign_is_a_function_of_equations_and_not_of_descriptions():
    with pytest.raises(ValueError, match="unknown function 'sign'"):
        Scope().evaluate("sign(3)")


def test_a_symbol_may_stand_before_a_form():
    eq = qddot.load("point_mass_2r", symbolic=True).equations()
    m1 = sympy.Symbol("m1", real=True)
    assert m1 * eq.M == eq.M * m1
    assert m1 + eq.M - m1 == eq.M
