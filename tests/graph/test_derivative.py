"""Derivatives of expressions, forward and reverse, against the complex step and central differences."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qddot.graph.derivative import along, gradient, variables_of
from qddot.graph.expr import Trace, schedule
from tests.graph.test_expr import evaluate

STEP = 1e-30

SMOOTH = {
    "sum": lambda f, x, y: x + y + 2,
    "difference": lambda f, x, y: 3 - x - y * 2,
    "product": lambda f, x, y: x * y * x,
    "quotient": lambda f, x, y: (x - 1) / (y + 5) + 2 / (x + 7),
    "negative": lambda f, x, y: -(-x * y - 1),
    "trigonometry": lambda f, x, y: f.cos_sin(x * y)[0] * f.cos_sin(x - y)[1],
    "root": lambda f, x, y: f.sqrt(x * x + y * y + 1),
    "nested": lambda f, x, y: f.sqrt(2 + f.cos_sin(x)[0] * y / (3 + f.cos_sin(y)[1])) * x,
}
REAL = {
    "angle": lambda f, x, y: f.atan2(y + 0.1, x) * y,
    "angle of constants": lambda f, x, y: f.atan2(2.0, x) + f.atan2(y, 3.0),
    "sign": lambda f, x, y: f.sign(x) * x * y,
    "select": lambda f, x, y: f.where_positive(x, x * x * y, y - x),
    "select of numbers": lambda f, x, y: f.where_positive(y, 1.0, x * 2) * x,
}


class ComplexStep:
    def cos_sin(self, angle):
        return cmath.cos(angle), cmath.sin(angle)

    def sqrt(self, x):
        return cmath.sqrt(x)


def recorded(build):
    trace = Trace()
    x, y = trace.variable(0, 0), trace.variable(0, 1)
    return build(trace, x, y), x, y


POINTS = [(0.3, -1.2), (-0.7, 0.4), (1.9, 2.3), (-2.2, -0.6)]


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("point", POINTS)
def test_both_modes_equal_the_complex_step(name, point):
    z, x, y = recorded(SMOOTH[name])
    exact = [
        SMOOTH[name](ComplexStep(), point[0] + STEP * 1j, point[1]).imag / STEP,
        SMOOTH[name](ComplexStep(), point[0], point[1] + STEP * 1j).imag / STEP,
    ]
    forward = [along([z], {v: 1.0})[0] for v in (x, y)]
    reverse = gradient(z, [x, y])
    np.testing.assert_allclose([evaluate(d, point) for d in forward], exact, rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose([evaluate(d, point) for d in reverse], exact, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("point", POINTS)
def test_operations_of_real_numbers_equal_central_differences(name, point):
    z, x, y = recorded(REAL[name])
    h = 1e-5
    at = lambda dx, dy: evaluate(z, (point[0] + dx, point[1] + dy))  # noqa: E731
    numeric = [(at(h, 0) - at(-h, 0)) / (2 * h), (at(0, h) - at(0, -h)) / (2 * h)]
    np.testing.assert_allclose([evaluate(d, point) for d in gradient(z, [x, y])], numeric, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose([evaluate(along([z], {v: 1.0})[0], point) for v in (x, y)], numeric, rtol=1e-8, atol=1e-9)


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
def test_forward_is_reverse_times_the_rates(px, py, rx, ry):
    z, x, y = recorded(SMOOTH["nested"])
    total = evaluate(along([z], {x: rx, y: ry})[0], (px, py))
    parts = [evaluate(d, (px, py)) for d in gradient(z, [x, y])]
    assert total == pytest.approx(parts[0] * rx + parts[1] * ry, rel=1e-12, abs=1e-12)


def test_second_derivatives():
    z, x, y = recorded(lambda f, x, y: f.cos_sin(x * y)[1])
    first = gradient(z, [x, y])
    mixed, same = along([first[0]], {y: 1.0})[0], along([first[1]], {x: 1.0})[0]
    a, b = 0.6, -1.1
    expected = math.cos(a * b) - a * b * math.sin(a * b)
    assert evaluate(mixed, (a, b)) == pytest.approx(expected, rel=1e-14)
    assert evaluate(same, (a, b)) == pytest.approx(expected, rel=1e-14)


def test_a_derivative_shares_what_it_can():
    z, x, _ = recorded(lambda f, x, y: f.cos_sin(x)[1] * y)
    (slope,) = gradient(z, [x])
    cosines = [node for node in schedule([z, slope]) if node.op == "cos"]
    assert len(cosines) == 1
    assert along([slope], {x: 1.0})[0] is -z


def test_constants_have_no_slope():
    _, x, y = recorded(lambda f, x, y: x)
    assert gradient(3.0, [x, y]) == [0.0, 0.0]
    assert along([2.0, x], {y: 1.0}) == [0.0, 0.0]
    assert gradient(x, [x, y]) == [1.0, 0.0]


def test_the_variables_of_an_expression():
    z, x, y = recorded(lambda f, x, y: x * 2 + y * 0)
    assert variables_of([z]) == {x}
    assert variables_of([z, y, 1.0]) == {x, y}
