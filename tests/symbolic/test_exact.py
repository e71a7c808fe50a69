"""Decimals become the fractions that were meant; rotations become exactly orthogonal."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import assume, given
from hypothesis import strategies as st

import qddot
from qddot.errors import InputError
from qddot.model.pose import from_rpy
from qddot.model.spatial import Mat, Vec
from qddot.symbolic.exact.numbers import COSINES, STEP, Surd, cosine, rational, rotation, simplest, surd, turn

ROOTS = (1.0, math.sqrt(2), math.sqrt(3), math.sqrt(6))


def number(x) -> float:
    return sum(a * r for a, r in zip(x, ROOTS)) / 4 if isinstance(x, Surd) else float(x)


def squares(c, s):
    """cos^2 + sin^2, exactly."""
    exact = [
        sum(sympy.Integer(a) * sympy.sqrt(p) for a, p in zip(x, (1, 2, 3, 6))) / 4 if isinstance(x, Surd) else x for x in (c, s)
    ]
    return sympy.expand(sum(sympy.sympify(x) ** 2 for x in exact))


# numbers ----------------------------------------------------------------------------------------------------------------------


@given(st.integers(-(10**14), 10**14), st.integers(0, 12))
def test_decimals_are_read_as_written(digits, places):
    assert rational(float(f"{digits}e-{places}")) == Fraction(digits, 10**places)


@given(st.fractions(-100, 100, max_denominator=999))
def test_simple_fractions_survive_floats(x):
    assert rational(float(x)) == x


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e100, max_value=1e100))
def test_every_float_comes_back_within_a_few_roundings(x):
    assert float(rational(x)) == pytest.approx(x, rel=5e-15, abs=0)


@pytest.mark.parametrize(
    ("x", "meant"), [(0.1 + 0.2, "3/10"), (0.1**2, "1/100"), (0.3**2 / 12, "3/400"), (2 / 3, "2/3"), (1e-7, "1e-7")]
)
def test_what_was_meant_by_a_computed_float(x, meant):
    assert rational(x) == Fraction(meant)


def test_numbers_of_numpy():
    assert rational(np.float64(0.1)) == Fraction(1, 10)


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_only_finite_numbers(x):
    with pytest.raises(InputError, match="is not a finite number"):
        rational(x)


@given(st.fractions(-50, 50), st.fractions(0, 3))
def test_simplest_has_the_least_denominator(low, width):
    high = low + width
    found = simplest(low, high)
    assert low <= found <= high
    for d in range(1, min(found.denominator, 200)):
        assert math.floor(high * d) < low * d


# angles -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(-30, 31))
def test_multiples_of_fifteen_degrees(k):
    c, s, off = turn(k * math.pi / 12)
    assert isinstance(c, Surd)
    assert (c, s, off) == (cosine(k), cosine(k - 6), 0.0)
    assert number(c) == pytest.approx(math.cos(k * STEP), abs=5e-15)
    assert number(s) == pytest.approx(math.sin(k * STEP), abs=5e-15)
    assert squares(c, s) == 1


@pytest.mark.parametrize(
    ("angle", "k"),
    [
        (1.5708, 6),
        (-1.5708, -6),
        (1.5707, 6),
        (3.1416, 12),
        (3.14159, 12),
        (0.7854, 3),
        (0.7853, 3),
        (1.5707963, 6),
        (0.5236, 2),
        (4.7124, 18),
    ],
)
def test_multiples_with_a_few_decimals(angle, k):
    c, s, off = turn(angle)
    assert (c, s) == (cosine(k), cosine(k - 6))
    assert off == pytest.approx(angle - k * STEP, abs=1e-15)
    assert off != 0


@pytest.mark.parametrize("angle", [1.57, 3.14, 0.785, 1.5713, 1.5709, 0.001, 1e-5])
def test_other_angles_stay_what_they_are(angle):
    c, s, off = turn(angle)
    assert isinstance(c, Fraction)
    assert off == 0.0
    assert number(c) == pytest.approx(math.cos(angle), abs=3e-16)
    assert number(s) == pytest.approx(math.sin(angle), abs=3e-16)


def test_what_was_computed_and_not_written_is_not_rounded():
    assert isinstance(turn(1.5708, written=False)[0], Fraction)
    assert turn(math.pi / 2, written=False)[0] == Surd(0)


@given(st.floats(-20, 20))
def test_every_turn_is_on_the_circle(angle):
    c, s, off = turn(angle)
    assert squares(c, s) == 1
    assert number(c) == pytest.approx(math.cos(angle - off), abs=2e-12)  # what is closer to a multiple is that multiple
    assert number(s) == pytest.approx(math.sin(angle - off), abs=2e-12)


def test_surds():
    for k in range(25):
        assert surd(math.cos(k * STEP)) == cosine(k)
    assert surd(0.7) is None
    assert len(COSINES) == 7


@given(st.tuples(*[st.floats(-3.1, 3.1)] * 3))
def test_rotations_are_read_within_rounding(rpy):
    R = from_rpy(*rpy)
    yaw, pitch, roll, off, error = rotation(R)
    assume(not off)
    assert error == 0
    (cz, sz), (cy, sy), (cx, sx) = ((number(c), number(s)) for c, s in (yaw, pitch, roll))
    Rz = Mat(Vec(cz, -sz, 0), Vec(sz, cz, 0), Vec(0, 0, 1))
    Ry = Mat(Vec(cy, 0, sy), Vec(0, 1, 0), Vec(-sy, 0, cy))
    Rx = Mat(Vec(1, 0, 0), Vec(0, cx, -sx), Vec(0, sx, cx))
    np.testing.assert_allclose(np.array(Rz @ Ry @ Rx, float), np.array(R, float), atol=2e-12)


# what is reported -------------------------------------------------------------------------------------------------------------

URDF = """
<robot name="arm">
  <link name="base"/>
  <link name="l"><inertial>
    <mass value="1"/><origin xyz="0.1 0 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="j" type="continuous"><parent link="base"/><child link="l"/><origin rpy="{rpy}"/><axis xyz="0 0 1"/></joint>
</robot>
"""


def equations(tmp_path, rpy):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF.format(rpy=rpy))
    return qddot.load(path).equations()


def test_an_angle_with_a_few_decimals_is_recognised_and_reported(tmp_path):
    found = equations(tmp_path, "1.5708 0 0")
    assert found.notes == ("joint 'j': the angle 1.5708 rad was read as pi/2, 3.7e-06 rad away",)
    assert found.g == [found.read("981*cos(q1)/1000")]


def test_a_calibrated_angle_is_not(tmp_path):
    found = equations(tmp_path, "1.5713 0 0")
    assert found.notes == ()
    assert found.g.evaluate([0.0]) == pytest.approx([0.981 * math.sin(1.5713)], rel=1e-15)
    assert found.g.entries[0].letters() == found.read("cos(q1)").letters()


@pytest.mark.parametrize(
    ("rpy", "shown"),
    [("0 0 -3.1416", "pi"), ("3.1416 0 0", "-pi"), ("0 2.0944 0", "pi/3"), ("-0.2618 0 0", "-pi/12"), ("1e-10 0 0", "0")],
)
def test_how_multiples_are_shown(tmp_path, rpy, shown):
    notes = equations(tmp_path, rpy).notes
    assert any(f"was read as {shown}, " in note for note in notes)
