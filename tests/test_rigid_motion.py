"""Exponentials and logarithms of rotations and rigid motions, beside 50 digits and their own laws."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from qddot import rigid_motion
from qddot.errors import InputError

ANGLES = [0.0, 1e-300, 1e-9, 1e-4, 9e-3, 1.1e-2, 0.09, 0.11, 1.0, 2.0, 2.2, 3.0, np.pi - 1e-6, np.pi - 1e-9]


def digits(twist):
    with mpmath.workdps(50):
        w, v = twist[:3], twist[3:]
        M = mpmath.matrix([[0, -w[2], w[1], v[0]], [w[2], 0, -w[0], v[1]], [-w[1], w[0], 0, v[2]], [0, 0, 0, 0]])
        return np.array(mpmath.expm(M).tolist(), float)


@pytest.mark.parametrize("angle", ANGLES)
def test_exponential_against_fifty_digits(angle):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        axis = rng.normal(size=3)
        twist = np.concatenate([axis / np.linalg.norm(axis) * angle, rng.normal(size=3)])
        np.testing.assert_allclose(rigid_motion.exp(twist), digits(twist.tolist()), rtol=0, atol=4e-15)


@pytest.mark.parametrize("angle", ANGLES)
def test_logarithm_is_the_inverse(angle):
    rng = np.random.default_rng(7)
    axes = np.concatenate([rng.normal(size=(50, 3)), np.eye(3), -np.eye(3)])
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    twists = np.concatenate([axes * angle, rng.normal(size=(56, 3))], axis=1)
    back = rigid_motion.log(rigid_motion.exp(twists))
    np.testing.assert_allclose(back, twists, rtol=0, atol=2e-14)


def test_half_a_turn():
    rng = np.random.default_rng(1)
    for n in [*np.eye(3), *rng.normal(size=(50, 3))]:
        n = n / np.linalg.norm(n)
        R = 2 * np.outer(n, n) - np.eye(3)
        w = rigid_motion.log_rotation(R)
        assert np.linalg.norm(w) == pytest.approx(np.pi, abs=1e-12)
        np.testing.assert_allclose(rigid_motion.exp_rotation(w), R, atol=1e-14)


def test_adjoint_and_bracket_obey_their_laws():
    rng = np.random.default_rng(2)
    V, W = rng.normal(size=(2, 6))
    S, T = rigid_motion.exp(V), rigid_motion.exp(W)
    np.testing.assert_allclose(rigid_motion.adjoint(S @ T), rigid_motion.adjoint(S) @ rigid_motion.adjoint(T), atol=1e-14)
    np.testing.assert_allclose(
        S @ rigid_motion.exp(W) @ np.linalg.inv(S), rigid_motion.exp(rigid_motion.adjoint(S) @ W), atol=1e-13
    )
    h = 1e-6
    rate = (rigid_motion.adjoint(rigid_motion.exp(h * V)) - rigid_motion.adjoint(rigid_motion.exp(-h * V))) @ W / (2 * h)
    np.testing.assert_allclose(rigid_motion.bracket(V) @ W, rate, atol=1e-8)


def test_batches_are_their_rows():
    twists = np.random.default_rng(3).normal(size=(4, 5, 6))
    T = rigid_motion.exp(twists)
    assert T.shape == (4, 5, 4, 4)
    np.testing.assert_array_equal(T[2, 3], rigid_motion.exp(twists[2, 3]))
    assert rigid_motion.adjoint(T).shape == (4, 5, 6, 6)
    assert rigid_motion.screw(np.zeros((7, 3)), [0, 0, 2.0]).shape == (7, 6)


def test_nearest_rotation_is_one():
    found = rigid_motion.nearest_rotation(np.random.default_rng(4).normal(size=(100, 3, 3)))
    assert np.max(rigid_motion.rotation_error(found)) < 1e-14


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: rigid_motion.log_rotation(np.diag([1.0, 1, -1])), "no rotation"),
        (lambda: rigid_motion.log(np.full((4, 4), np.nan)), "not finite"),
        (lambda: rigid_motion.log(np.eye(3)), "ends in"),
        (lambda: rigid_motion.exp("a"), "real numbers are needed"),
        (lambda: rigid_motion.screw([0, 0, 0], [0, 0, 0]), "direction"),
    ],
)
def test_wrong_input_is_named(call, word):
    with pytest.raises(InputError, match=word):
        call()
