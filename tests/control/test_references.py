"""References: rates are the derivatives of positions, ends are where they should be, limits are kept."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from qddot import InputError
from qddot.control import Cubic, Hold, Quintic, Trapezoidal

START, END = np.array([0.1, -0.5, 0.0]), np.array([1.1, 0.5, 0.0])


@pytest.mark.parametrize(
    "reference",
    [
        Cubic(START, END, 1.7),
        Quintic(START, END, 1.7),
        Trapezoidal(START, END, 0.8, 3.0),
        Trapezoidal(START, END, 5.0, [1.0, 2.0, 1.0]),
        Hold(START),
    ],
)
def test_rates_are_derivatives(reference):
    h = 1e-5
    for t in np.linspace(0.05, 1.6, 23):
        before, now, after = reference(t - h), reference(t), reference(t + h)
        assert_allclose(now.qd, (after.q - before.q) / (2 * h), atol=1e-4)


@pytest.mark.parametrize("reference", [Quintic(START, END, 1.7), Hold(START)])
def test_smooth_ones_have_all_five(reference):
    h = 1e-5
    for t in np.linspace(0.05, 1.6, 23):
        before, now, after = reference(t - h), reference(t), reference(t + h)
        for k in range(4):
            assert_allclose(now[k + 1], (after[k] - before[k]) / (2 * h), atol=1e-5)


def test_what_is_no_way():
    with pytest.raises(InputError, match=r"start has shape \(2,\), end \(3,\)"):
        Quintic([0, 0], [1, 2, 3], 1.0)
    with pytest.raises(InputError, match="not finite"):
        Hold([np.nan])


@pytest.mark.parametrize("reference", [Cubic(START, END, 1.7), Quintic(START, END, 1.7), Trapezoidal(START, END, 0.8, 3.0)])
def test_from_rest_to_rest(reference):
    for t, q in ((-1.0, START), (0.0, START), (reference.duration, END), (reference.duration + 1, END)):
        assert_allclose(reference(t).q, q, atol=1e-12)
        assert_allclose(reference(t).qd, 0, atol=1e-12)


def test_a_trapezoid_uses_its_limits():
    reference = Trapezoidal(START, END, 0.8, 3.0)
    speeds = np.array([abs(reference(t).qd).max() for t in np.linspace(0, reference.duration, 500)])
    assert_allclose(speeds.max(), 0.8)
    assert_allclose(reference.duration, 1 / 0.8 + 0.8 / 3.0)  # way / speed + speed / acceleration
    short = Trapezoidal([0.0], [0.01], 1.0, 1.0)
    assert_allclose(short.duration, 2 * np.sqrt(0.01))  # a triangle
    assert Trapezoidal(START, START, 1.0, 1.0)(0.5).q == pytest.approx(START)


def test_what_is_refused():
    for duration in (0, np.nan, np.inf):
        with pytest.raises(InputError, match=f"duration={duration} is not a positive number"):
            Quintic(START, END, duration)
    with pytest.raises(InputError, match="speed is positive, got -1"):
        Trapezoidal(START, END, -1, 1)
    with pytest.raises(InputError, match=r"speed has shape \(2,\): one number, or one for each position \(3,\)"):
        Trapezoidal(START, END, [1.0, 2.0], 1.0)
    for speed, acceleration in ((np.inf, np.inf), (1.0, np.inf), (1.0, [np.inf, np.inf, 1.0])):  # the last joint does not move
        with pytest.raises(InputError, match="no joint that moves has a finite acceleration"):
            Trapezoidal(START, END, speed, acceleration)


def test_a_speed_without_a_limit_makes_a_triangle():
    assert_allclose(Trapezoidal([0.0], [4.0], np.inf, 1.0).duration, 4.0)
