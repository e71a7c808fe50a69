"""Closed forms at the tip, and the fractions they are made of."""

from math import pi

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import qddot
from qddot.errors import InputError, SingularityError, UnknownNameError
from qddot.symbolic.exact.ratio import Ratio, divide
from qddot.symbolic.exact.ring import NotPolynomialError, Poly
from qddot.symbolic.form import Form

UNIT = {"m1": 1, "m2": 1, "L1": 1, "L2": 1}
L = sympy.symbols("L1:5", positive=True)
m = sympy.symbols("m1:5", positive=True)
VALUES = {str(x): 0.6 + 0.1 * i for i, x in enumerate((*L, *m))}


@pytest.fixture(scope="module")
def arm():
    return qddot.load("point_mass_2r", symbolic=True).equations()


@pytest.fixture(scope="module")
def tip(arm):
    return arm.task_space(rows=["x", "y"])


def planar(n):
    return qddot.from_dh([(x, 0, 0, 0) for x in L[:n]], inertias=[qddot.Inertia.point(x) for x in m[:n]], gravity=(0, -9.81, 0))


def spatial():
    rows = [(0, pi / 2, L[0], 0), (L[1], 0, 0, 0), (L[2], 0, 0, 0)]
    return qddot.from_dh(rows, inertias=[qddot.Inertia.point(x) for x in m[:3]])


# worked examples --------------------------------------------------------------------------------------------------------------


def test_effective_mass_of_two_rods(tip):
    assert_allclose(tip.M_C.evaluate([0, pi / 2], parameters=UNIT), [[1, 0], [0, 2]], atol=1e-15)
    assert_allclose(tip.M_C.evaluate([0, 5 * pi / 6], parameters=UNIT), [[4, -(3**0.5)], [-(3**0.5), 2]], rtol=1e-14)


def test_effective_mass_does_not_depend_on_the_lengths(tip):
    names = {tip.M_C.equations.alphabet.ring.generators[i].name for x in tip.M_C.entries.flat for i in x.letters()}
    assert names.isdisjoint(("L1", "L2"))


def test_exact_at_a_configuration(arm, tip):
    assert tip.M_C.subs({"q1": 0, "q2": pi / 2}) == [[arm.read("m2"), 0], [0, arm.read("m1 + m2")]]


def test_effective_mass_of_a_slider_on_a_hinge():
    eq = qddot.load("rp_arm", symbolic=True).equations()
    M = eq.task_space("slide", rows=["x", "y"]).M_C.subs({"q1": 0})
    assert M[0, 0] == eq.read("m2")
    assert not M[0, 1]
    assert M[1, 1] == divide(eq.read("m2*q2**2 + m1*L1**2 + I1 + I2"), eq.read("q2**2"))


# laws -------------------------------------------------------------------------------------------------------------------------


def test_laws_of_a_square_jacobian(arm, tip):
    identity = [[1, 0], [0, 1]]
    assert tip.J_bar @ tip.J == identity
    assert tip.J.T @ tip.M_C @ tip.J == arm.M
    assert tip.J.T @ tip.g_C == arm.g
    assert tip.C_C @ tip.J @ arm.qd == tip.c_C
    lost = tip.M_C.dt() - tip.C_C * 2
    assert lost + lost.T == [[0, 0], [0, 0]]
    jdot = arm.jacobian_dot(reference="world_aligned")[[3, 4]]
    acceleration = tip.J @ arm.qdd + jdot @ arm.qd
    assert tip.J.T @ (tip.M_C @ acceleration + tip.c_C + tip.g_C) == arm.tau


@pytest.mark.parametrize(
    ("robot", "rows"),
    [(planar(3), ["x", "y"]), (planar(3), ["wz", "x", "y"]), (spatial(), ["x", "y", "z"]), (planar(4), ["x", "y"])],
    ids=["redundant", "with orientation", "spatial", "twice redundant"],
)
def test_like_the_kernels(robot, rows):
    found = robot.equations().task_space(rows=rows)
    values = {str(x): VALUES[str(x)] for x in robot.symbols}
    numeric = robot.subs(values)
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(0.3, 1, robot.nv), rng.normal(size=robot.nv)
    places = [("wx", "wy", "wz", "x", "y", "z").index(row) for row in rows]
    J, Jdot = (
        f[places] for f in (numeric.jacobian(q, reference="world_aligned"), numeric.jacobian_dot(q, qd, reference="world_aligned"))
    )
    inverse = np.linalg.inv(numeric.mass_matrix(q))
    M = np.linalg.inv(J @ inverse @ J.T)
    back = inverse @ J.T @ M
    at = lambda form: form.evaluate(q, qd, parameters=values)  # noqa: E731
    assert (found.frame, found.rows) == (robot.tip, tuple(rows))
    assert_allclose(at(found.J), J, atol=1e-14)
    assert_allclose(at(found.M_C), M, rtol=1e-9, atol=1e-12)
    assert_allclose(at(found.J_bar), back, rtol=1e-9, atol=1e-12)
    assert_allclose(at(found.c_C), back.T @ numeric.coriolis_torque(q, qd) - M @ Jdot @ qd, rtol=1e-9, atol=1e-11)
    assert_allclose(at(found.g_C), back.T @ numeric.gravity_torque(q), rtol=1e-9, atol=1e-11)
    if len(rows) == robot.nv:
        C = back.T @ (numeric.coriolis_matrix(q, qd) - numeric.mass_matrix(q) @ back @ Jdot) @ back
        assert_allclose(at(found.C_C), C, rtol=1e-9, atol=1e-11)
    else:
        assert found.C_C is None


# what is refused --------------------------------------------------------------------------------------------------------------


def test_rows_that_depend_on_one_another(arm):
    with pytest.raises(SingularityError) as info:
        arm.task_space(rows=["x", "z"])
    assert str(info.value) == "the rows x, z of the Jacobian of 'tip' have rank 1 at every q, not 2"
    ball = qddot.from_dh([(0, pi / 2, 0, 0), (0, -pi / 2, 0, 0), (0, 0, 0.1, 0)], inertias=[qddot.Inertia.sphere(1, 0.1)] * 3)
    with pytest.raises(SingularityError, match="have rank 2 at every q, not 3"):
        ball.equations().task_space(rows=["x", "y", "z"])


def test_a_configuration_where_it_is_singular(tip):
    with pytest.raises(SingularityError, match="is 0 here"):
        tip.M_C.evaluate([0.3, 0], parameters=UNIT)


def test_a_mass_matrix_that_is_singular():
    arm = qddot.from_dh([(x, 0, 0, 0) for x in L[:3]]).equations()
    with pytest.raises(SingularityError, match="the mass matrix is singular at every q"):
        arm.task_space(rows=["x", "y"])


def test_wrong_rows(arm):
    with pytest.raises(InputError, match=r"6 rows \(wx, wy, wz, x, y, z\) of a robot with 2 joints: choose at most 2 with rows="):
        arm.task_space()
    with pytest.raises(UnknownNameError, match="no row 'vx'"):
        arm.task_space(rows=["vx"])
    with pytest.raises(InputError, match="the row x stands twice"):
        arm.task_space(rows=["x", "x"])
    with pytest.raises(InputError, match="rows= is empty"):
        arm.task_space(rows=[])
    with pytest.raises(InputError, match="at most 4 joints, this robot has 6"):
        qddot.load("puma560").equations().task_space()


# fractions --------------------------------------------------------------------------------------------------------------------

E = qddot.load("point_mass_2r", symbolic=True).equations()
NAMES = ["s1", "c1", "s2", "c2", "m1", "L1", "qd1", "q1"]
LETTERS = [E.alphabet.ring.letters[E.letter(name)] for name in NAMES]
POINT = {"q": [0.7, -1.1], "qd": [0.4, 0.2], "parameters": {"m1": 1.3, "m2": 0.8, "L1": 0.6, "L2": 0.9}}


@st.composite
def polynomials(draw) -> Poly:
    total = E.alphabet.ring.constant(draw(st.integers(-2, 2)))
    for _ in range(draw(st.integers(0, 2))):
        term = E.alphabet.ring.constant(draw(st.sampled_from((1, -1, 3))))
        for x in draw(st.lists(st.sampled_from(LETTERS), max_size=2)):
            term = term * x
        total = total + term
    return total


@st.composite
def fractions(draw):
    return divide(draw(polynomials()), draw(polynomials().filter(bool)))


def value(x):
    return Form(E, x).evaluate(**POINT)


def letter(name):
    return LETTERS[NAMES.index(name)]


@settings(max_examples=60)
@given(fractions(), fractions(), fractions())
def test_a_field(x, y, z):
    assert x + y == y + x
    assert (x + y) + z == x + (y + z)
    assert x * (y + z) == x * y + x * z
    assert x - x == 0
    if x != 0:
        assert y / x * x == y
        assert 1 / x * x == 1


@settings(max_examples=60)
@given(fractions(), fractions())
def test_values(x, y):
    a, b = value(x), value(y)
    assert_allclose(value(x * y), a * b, rtol=1e-6, atol=1e-9)
    assert_allclose(value(x - y), a - b, rtol=1e-6, atol=1e-6 * max(abs(a), abs(b), 1))


@settings(max_examples=60)
@given(polynomials(), polynomials().filter(bool))
def test_a_polynomial_is_recognised(x, y):
    assert isinstance(divide(x * y, y), Poly)
    assert divide(x * y, y) == x


def test_hidden_factors_are_found():
    s, c = letter("s2"), letter("c2")
    short = divide(s, 1 - c * c)
    assert isinstance(short, Ratio)
    assert (short.num, short.den) == (1, s)
    assert divide(1 - c * c, s) == s
    assert divide(s, 1 + c) == divide(1 - c, s)
    assert len(divide(s, 1 + c)) == 3
    assert divide(s, 1 + c).letters() == s.letters() | c.letters()


def test_roots_do_not_stay_below():
    eq = qddot.from_dh([(1, pi / 4, 0, 0)], inertias=[qddot.Inertia.point(m[0])]).equations()
    two = eq.read("sqrt(2)")
    assert 1 / (two + 1) == two - 1
    assert isinstance(1 / (two + 1), Poly)


def test_derivative():
    s, c = letter("s2"), letter("c2")
    tangent = divide(s, c)
    assert E.alphabet.derivative(tangent, 1) == 1 + tangent * tangent
    assert Form(E, tangent).diff("q2") == 1 + tangent**2
    assert Form(E, tangent).dt() == (1 + tangent**2) * E.alphabet.qd[1]


def test_impossible_divisions():
    with pytest.raises(SingularityError, match="is divided by 0"):
        divide(letter("s2"), letter("s2") * 0 + E.alphabet.ring.constant(0))
    rubbing = qddot.Builder().body("one", mass=1, drive=qddot.Drive(coulomb=1)).robot().equations()
    with pytest.raises(NotPolynomialError, match="the sign of a velocity"):
        divide(1, rubbing.read("1 + sign_qd1"))
