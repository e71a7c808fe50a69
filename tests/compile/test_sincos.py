"""Our sine and cosine against 50 digits: every magnitude, every width the same bits."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from qddot.compile import singly
from qddot.compile.gufunc import make_gufunc
from qddot.compile.lanes import Lanes
from qddot.compile.llvm import compile_program, this_computer
from qddot.compile.sincos import LIMIT, REACH, exact_parts
from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program

FMA = [True, False] if this_computer().fma else [False]
"""What can be tried here: a computer with fused multiply-add can also do without."""


def sincos(dtype: np.dtype, width: int, fma: bool):
    """A gufunc (1)->(2) compiled for vectors of `width`."""
    trace, computer = Trace(), this_computer()
    c, s = trace.cos_sin(trace.variable(0, 0))
    program = Program("sincos", (Input("x", (1,)),), (Output("y", (2,), (s, c)),))
    real = "double" if dtype == np.float64 else "float"
    single = compile_program(program, Lanes(1, real, fma), computer)
    code = single if width == 1 else compile_program(program, Lanes(width, real, fma), computer)
    task = singly.task(program, single.kernel, Lanes(1, real, fma))
    return make_gufunc(program, code.loop, task, dtype, (code, single))


def arguments(dtype: np.dtype) -> np.ndarray:
    rng = np.random.default_rng(0)
    # beyond LIMIT the C library answers: its own worst cases are not ours to test
    limit, huge = LIMIT["double" if dtype == np.float64 else "float"], float(np.finfo(dtype).max)
    near_multiples = np.arange(-2000, 2000) * (np.pi / 2)
    parts = [
        rng.uniform(-np.pi, np.pi, 4000),
        rng.uniform(-1000, 1000, 2000),
        rng.uniform(-limit, limit, 2000),
        10.0 ** rng.uniform(-30, np.log10(huge), 2000) * rng.choice([-1, 1], 2000),
        near_multiples,
        np.nextafter(near_multiples, np.inf),
        [0.0, -0.0, limit, np.nextafter(limit, np.inf), huge, 5e-324, np.pi, 1e22],
    ]
    with np.errstate(all="ignore"):
        x = np.concatenate(parts).astype(dtype)
    return x[np.isfinite(x)]


@pytest.mark.parametrize("fma", FMA, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "float"])
def test_error_is_below_1_6_units_in_the_last_place(dtype, fma):
    dtype = np.dtype(dtype)
    x = arguments(dtype)
    with np.errstate(all="ignore"):
        y = sincos(dtype, 1, fma)(x[:, None])
    worst = 0.0
    for angle, (s, c) in zip(x, y):
        with mpmath.workdps(60 + max(0, int(np.log10(abs(angle) or 1)))):
            for value, exact in ((s, mpmath.sin(mpmath.mpf(float(angle)))), (c, mpmath.cos(mpmath.mpf(float(angle))))):
                unit = float(np.spacing(np.abs(dtype.type(float(exact))))) or float(np.finfo(dtype).tiny)
                worst = max(worst, abs(float((mpmath.mpf(float(value)) - exact) / unit)))
    assert worst < 1.6


@pytest.mark.parametrize("fma", FMA, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["double", "float"])
@pytest.mark.parametrize("width", [2, 4, 8])
def test_every_width_gives_the_same_bits(dtype, width, fma):
    dtype = np.dtype(dtype)
    x = arguments(dtype)[:, None]
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(sincos(dtype, width, fma)(x), sincos(dtype, 1, fma)(x))


@pytest.mark.parametrize("fma", FMA, ids=str)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_gives_none(value, fma):
    with np.errstate(all="ignore"):
        assert np.isnan(sincos(np.dtype(float), 1, fma)(np.array([value]))).all()
        assert np.isnan(sincos(np.dtype(float), 4, fma)(np.full((9, 1), value))).all()


@pytest.mark.parametrize("real", ["double", "float"])
def test_parts_of_pi_multiply_exactly(real):
    """Without fused multiply-add: a part times any number of quarter turns still fits, and together they are pi/2."""
    parts, digits = list(exact_parts(real)), 53 if real == "double" else 24
    for part in parts[:-1]:
        numerator, _ = part.as_integer_ratio()
        assert numerator.bit_length() + (REACH[real] - 1).bit_length() <= digits
    with mpmath.workdps(60):
        left = mpmath.pi / 2 - mpmath.fsum(parts)
        assert abs(left) * REACH[real] < mpmath.mpf(2) ** -(2 * digits + 20 if real == "double" else 60)
