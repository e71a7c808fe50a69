"""Derivatives of programs as programs, beside the exact derivatives and each other."""

from __future__ import annotations

import numpy as np
import pytest

import qddot
from qddot.compile.kernel import Kernel
from qddot.graph.tangent import cotangent, tangent

DOUBLE = np.dtype(float)


@pytest.fixture(scope="module")
def robot():
    return qddot.load("puma560")


def run(program, *arrays):
    found = Kernel(program, DOUBLE)(*arrays)
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("inputs", [(0, 1, 2), (1,), (2, 0)])
def test_products_with_the_exact_jacobians(robot, inputs):
    rng = np.random.default_rng(0)
    state = rng.normal(size=(3, 5, 6))
    exact = robot.inverse_dynamics_derivatives(*state)
    program = robot.program("inverse_dynamics")
    rates, weights = rng.normal(size=(3, 5, 6)), rng.normal(size=(5, 6))
    (rate,) = run(tangent(program, inputs), *state, *(rates[k] for k in inputs))
    expected = sum(np.einsum("bij,bj->bi", exact[k], rates[k]) for k in inputs)
    assert np.allclose(rate, expected, rtol=1e-11, atol=1e-10)
    for slope, k in zip(run(cotangent(program, inputs), *state, weights), inputs, strict=True):
        assert np.allclose(slope, np.einsum("bij,bi->bj", exact[k], weights), rtol=1e-11, atol=1e-10)


def test_the_second_order_is_symmetric(robot):
    """d2(w tau)/dq2 by both modes in turn: a symmetric matrix, times a direction."""
    rng = np.random.default_rng(1)
    q, qd, qdd, w, a, b = rng.normal(size=(6, 6))
    slope = cotangent(robot.program("inverse_dynamics"), (0,))  # q, qd, qdd, w -> d/dq
    forward, backward = tangent(slope, (0,)), cotangent(slope, (0,))
    (along_a,), (weighted_b,) = run(forward, q, qd, qdd, w, a), run(backward, q, qd, qdd, w, b)
    assert along_a @ b == pytest.approx(weighted_b @ a, rel=1e-11)
    (along_b,) = run(forward, q, qd, qdd, w, b)
    assert along_a @ b == pytest.approx(along_b @ a, rel=1e-11)
    h = 1e-5
    difference = (run(slope, q + h * a, qd, qdd, w)[0] - run(slope, q - h * a, qd, qdd, w)[0]) / (2 * h)
    assert np.allclose(along_a, difference, rtol=1e-6, atol=1e-6 * np.abs(along_a).max())


def test_constants_have_no_slope():
    frictionless = qddot.load("two_link")
    program = frictionless.program("friction_torque")
    assert np.array_equal(run(tangent(program, (0,)), np.ones(2), np.ones(2))[0], [0, 0])
    assert np.array_equal(run(cotangent(program, (0,)), np.ones(2), np.ones(2))[0], [0, 0])


def test_fingerprints_tell_programs_apart(robot):
    prints = {
        program.fingerprint
        for program in (
            robot.program("inverse_dynamics"),
            robot.program("bias_torque"),
            robot.with_gravity([0, 0, -9.8]).program("inverse_dynamics"),
            tangent(robot.program("inverse_dynamics"), (0,)),
            tangent(robot.program("inverse_dynamics"), (1,)),
        )
    }
    assert len(prints) == 5
    assert robot.program("inverse_dynamics").fingerprint == qddot.load("puma560").program("inverse_dynamics").fingerprint
