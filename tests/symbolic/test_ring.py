"""Laws of the polynomials: a commutative ring in which equal functions are equal elements."""

from fractions import Fraction

import mpmath
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import qddot
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import NotPolynomialError, Poly
from tests.symbolic.samples import every_letter, value, values_at

E = every_letter()
ALPHABET, RING = E.alphabet, E.alphabet.ring
LETTERS = range(len(RING.generators))
FRACTIONS = st.fractions(-3, 3, max_denominator=7)


@st.composite
def polynomials(draw) -> Poly:
    """A few terms of a few letters."""
    total = RING.constant(draw(FRACTIONS))
    for _ in range(draw(st.integers(0, 4))):
        term = RING.constant(draw(FRACTIONS))
        for i in draw(st.lists(st.sampled_from(LETTERS), max_size=4)):
            term = term * RING.letters[i]
        total = total + term
    return total


def letter(name: str) -> Poly:
    return RING.letters[E.letter(name)]


def vanishes(p: Poly) -> bool:
    """Everywhere, as far as one motion with each sign of the rubbing joint's rate can tell."""
    with mpmath.workdps(60):
        return all(abs(value(p, values_at(E, 5, rate))) < 1e-40 for rate in (-0.7, 0.0, 0.9))


# arithmetic -------------------------------------------------------------------------------------------------------------------


@given(polynomials(), polynomials(), polynomials())
def test_ring_laws(a, b, c):
    assert a + b == b + a
    assert a * b == b * a
    assert (a + b) + c == a + (b + c)
    assert RING.constant(a * b) * c == a * RING.constant(b * c)
    assert a * (b + c) == a * b + a * c
    assert a - a == 0
    assert a * 1 is a
    assert a + 0 is a


@given(polynomials(), polynomials())
@settings(max_examples=60)
def test_evaluation_respects_sums_and_products(a, b):
    with mpmath.workdps(60):
        at = values_at(E, 1)
        assert mpmath.almosteq(value(a + b, at), value(a, at) + value(b, at), 1e-45, 1e-45)
        assert mpmath.almosteq(value(RING.constant(a * b), at), value(a, at) * value(b, at), 1e-45, 1e-45)


@given(polynomials())
@settings(max_examples=60)
def test_equal_functions_are_equal_elements(a):
    assert vanishes(a) == (a == 0)
    assert vanishes(RING.constant((a + 1) * (a - 1)) - a * a + 1)


@given(polynomials(), st.integers(0, 5))
@settings(max_examples=40)
def test_powers_are_repeated_products(a, n):
    product = RING.constant(1)
    for _ in range(n):
        product = RING.constant(product * a)
    assert a**n == product


@given(polynomials())
def test_reduced_polynomials_hold_no_leading_power(a):
    square = RING.constant(a * a)
    for i, g in enumerate(RING.generators):
        if g.kind in ("sin", "root") or g.name in ("q2", "q6"):
            assert square.degree(i) <= 1
        elif g.kind == "sign":
            assert square.degree(i) <= 2


# relations --------------------------------------------------------------------------------------------------------------------


def test_sines_and_roots():
    assert letter("sqrt(2)") ** 2 == 2
    assert letter("sqrt(3)") ** 3 == letter("sqrt(3)") * 3
    for c, s in ALPHABET.angles.values():
        assert c**2 + s**2 == 1
        assert s**4 == (1 - c**2) ** 2


def test_quaternions_of_neighbours_are_unit_each_by_itself():
    first, second = ALPHABET.q[1:5], ALPHABET.q[5:9]
    assert sum(x * x for x in first) == 1
    assert sum(x * x for x in second) == 1
    assert sum(x * x for x in first) * sum(x * x for x in second) == 1
    assert first[0] * second[0] != 1
    for R in (E.transform("ball")[:3, :3], E.transform("second")[:3, :3]):
        assert R.T @ R == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_signs():
    s, v = letter("sign_qd1"), letter("qd1")
    assert s**3 == s
    assert s**2 != 1  # at rest it is 0
    assert s * s * v == v
    assert s * (s * v) == v
    assert (s * v) ** 2 == v * v
    assert s * v != v


def test_reciprocals_roots_and_magnitudes():
    b, a, ab = letter("b"), letter("a"), letter("sqrt(a + b)")
    assert letter("1/b") * b == 1
    assert letter("1/b") ** 2 * b**3 == b
    assert letter("sqrt(a)") ** 2 == a
    assert ab**2 == a + b
    assert letter("1/b") * ab * ab == a * letter("1/b") + 1  # the reciprocal meets what the root brought in


def test_fractions_of_a_joint_variable_and_symbolic_multiples():
    half, whole = E.read("cos(q1/2)"), E.read("cos(q1)")
    assert whole == 2 * half**2 - 1
    assert E.read("sin(q1)") == 2 * half * E.read("sin(q1/2)")
    assert E.read("cos(k*q1)**2 + sin(k*q1)**2") == 1
    assert E.read("cos(k*q1 + q1)") == E.read("cos(k*q1)*cos(q1) - sin(k*q1)*sin(q1)")


# calculus ---------------------------------------------------------------------------------------------------------------------


@given(polynomials(), polynomials(), st.integers(0, E.nv - 1))
@settings(max_examples=60)
def test_derivative_rules(a, b, column):
    d = lambda p: ALPHABET.derivative(RING.constant(p), column)  # noqa: E731
    assert d(a + b) == d(a) + d(b)
    assert d(a * b) == d(a) * b + a * d(b)
    assert d(d(a * a)) == 2 * (d(a) * d(a) + a * d(d(a)))


@given(polynomials(), st.integers(0, E.nv - 1))
@settings(max_examples=40)
def test_derivative_along_the_motion(p, column):
    """Against a difference along `qd = e_column`, where q moves as the integrator of the robot moves it."""
    h = mpmath.mpf("1e-20")
    with mpmath.workdps(60):
        at = values_at(E, 2)
        ahead, behind = (moved(at, column, step) for step in (h, -h))
        slope = (value(p, ahead) - value(p, behind)) / (2 * h)
        assert mpmath.almosteq(value(ALPHABET.derivative(p, column), at), slope, 1e-30, 1e-30)


def moved(at, column: int, step):
    """The letters a little later."""
    q = [mpmath.mpf(x) for x in at.motion["q"]]
    if column == 0:
        q[0] += step
    else:
        start, axis = (1, column - 1) if column < 4 else (5, column - 4)
        length = mpmath.sqrt(sum(x * x for x in q[start : start + 4]))
        w, x, y, z = (x / length for x in q[start : start + 4])
        half = [mpmath.cos(step / 2), *(mpmath.sin(step / 2) if k == axis else mpmath.mpf(0) for k in range(3))]
        a, b, c, d = half
        q[start : start + 4] = [w * a - x * b - y * c - z * d, w * b + x * a + y * d - z * c]
        q[start + 2 : start + 2] = [w * c - x * d + y * a + z * b, w * d + x * c - y * b + z * a]
    return type(at)(at.equations, {**at.motion, "q": q}, at.given, at.arithmetic, at.number)


@pytest.mark.parametrize("name", ["b", "alpha", "k"])
def test_derivative_by_a_parameter_takes_along_what_is_made_of_it(name):
    p = E.read("a**2*b + sqrt(a)*cos(alpha)*q1 + a/b + sin(alpha)**2*b") + E.read("cos(k*q1)*a") + letter("sqrt(a + b)") ** 2
    h = mpmath.mpf("1e-20")
    with mpmath.workdps(60):
        at = values_at(E, 3)
        nearby = [{**at.given, name: mpmath.mpf(at.given[name]) + d} for d in (h, -h)]
        shifted = [type(at)(E, at.motion, given, at.arithmetic, at.number) for given in nearby]
        slope = (value(p, shifted[0]) - value(p, shifted[1])) / (2 * h)
        assert mpmath.almosteq(value(ALPHABET.parameter_derivative(p, E.letter(name)), at), slope, 1e-30, 1e-30)


def test_derivative_that_needs_a_letter_there_is_not():
    with pytest.raises(NotPolynomialError, match=r"the derivative of sqrt\(a\) is no polynomial in these letters"):
        ALPHABET.parameter_derivative(letter("sqrt(a)"), E.letter("a"))


# what is refused --------------------------------------------------------------------------------------------------------------


def test_what_is_no_polynomial_is_refused():
    a, sign = letter("a"), next(x for x, g in zip(RING.letters, RING.generators) if g.kind == "sign")
    assert isinstance(1 / (a + 1), Ratio)
    with pytest.raises(NotPolynomialError, match="division by"):
        1 / (sign + 2)
    with pytest.raises(NotPolynomialError, match="an exponent is"):
        a**-1
    with pytest.raises(NotPolynomialError, match="an exponent is"):
        a**0.5
    with pytest.raises(NotPolynomialError, match="is not a number"):
        abs(a)
    with pytest.raises(NotPolynomialError, match="was rounded"):
        a + 0.1
    with pytest.raises(TypeError):
        a + sympy.Symbol("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_numbers():
    a = letter("a")
    assert (a / 4 - a * 0.25) == 0
    assert RING.constant(Fraction(1, 3)) == Fraction(1, 3)
    assert RING.constant(Fraction(1, 3)).value == Fraction(1, 3)
    assert a / RING.constant(2) == a * Fraction(1, 2)
    assert a**0 == 1
    assert a != 1


def test_polynomials_of_other_robots_meet_by_the_names_of_their_letters():
    """Rings of equal size share FLINT's context; letters must not be confused."""
    x, y = sympy.symbols("x y")
    first = qddot.Builder().body("l", mass=x, com=(1, 0, 0)).robot().equations()
    second = qddot.Builder().body("l", mass=y, com=(1, 0, 0)).robot().equations()
    again = qddot.Builder().body("l", mass=x, com=(1, 0, 0)).robot().equations()
    assert first.M.entries.item() == again.M.entries.item()
    assert first.M.entries.item() != second.M.entries.item()
    assert first.M.entries.item() - again.M.entries.item() == 0
    with pytest.raises(NotPolynomialError, match="y is a letter of other equations"):
        first.M.entries.item() + second.M.entries.item()
