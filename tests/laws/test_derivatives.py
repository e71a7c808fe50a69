"""Closed-form derivatives against the complex step, and compiled kernels against 50 digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qddot
from qddot.algorithms import analytic, derivatives, forward_dynamics, inverse_dynamics, jacobian
from qddot.algorithms.quantities import QUANTITIES
from qddot.model.field import Floats
from qddot.model.joints import Free, Spherical
from qddot.robot import Robot
from tests.fields import Complex, FiftyDigits
from tests.robots import random_model
from tests.slow import slow_but

H = 1e-100
seeds = st.integers(0, 2**32 - 1)


def tangent(robot: Robot, q: np.ndarray) -> np.ndarray:
    """dq/dt for each unit velocity, (nq, nv): the identity, but for quaternions."""
    N = np.zeros((robot.nq, robot.nv))
    for c in robot.model.mechanism.coordinates:
        i, k = c.q.start, c.v.start
        for part in c.parts:
            if isinstance(part, (Spherical, Free)):
                w, x, y, z = q[i : i + 4]
                N[i : i + 4, k : k + 3] = np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) / 2
                if isinstance(part, Free):
                    R = np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                                  [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                                  [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])  # fmt: skip
                    N[i + 4 : i + 7, k + 3 : k + 6] = R
            else:
                N[i, k] = 1
            i, k = i + part.nq, k + part.nv
    return N


def step(f, arrays, which: int, directions: np.ndarray) -> np.ndarray:
    """Derivative of f along each direction (column) of one argument."""
    columns = []
    for direction in directions.T:
        moved = [list(map(complex, a)) for a in arrays]
        moved[which] = [x + 1j * H * d for x, d in zip(moved[which], direction)]
        columns.append([y.imag / H if isinstance(y, complex) else 0.0 for y in f(*moved)])
    return np.array(columns).T


@given(seeds)
def test_derivatives_equal_the_complex_step(seed):
    rng = np.random.default_rng(seed)
    robot = Robot(random_model(rng, int(rng.integers(1, 6)), mimic=0.2))
    q, (qd, qdd) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    floats, dual = robot.model.over(Floats()), robot.model.over(Complex())
    N, E = tangent(robot, q), np.eye(robot.nv)

    def inverse(*arrays):
        return inverse_dynamics.inverse_dynamics(dual, *arrays)

    exact = derivatives.inverse_dynamics_derivatives(floats, list(q), list(qd), list(qdd))
    for which, (value, directions) in enumerate(zip(exact, (N, E, E))):
        wanted = step(inverse, (q, qd, qdd), which, directions)
        np.testing.assert_allclose(np.array(value, dtype=float), wanted, atol=1e-11 * max(1, abs(wanted).max()))

    tau = inverse_dynamics.inverse_dynamics(floats, list(q), list(qd), list(qdd))

    def forward(*arrays):
        return forward_dynamics.composite_bodies(dual, *arrays)[0]

    *exact, _ = derivatives.forward_dynamics_derivatives(floats, list(q), list(qd), tau)
    condition = np.linalg.cond(
        np.array(derivatives.inverse_dynamics_derivatives(floats, list(q), list(qd), list(qdd))[2], dtype=float)
    )
    for which, (value, directions) in enumerate(zip(exact, (N, E, E))):
        wanted = step(forward, (q, qd, tau), which, directions)
        np.testing.assert_allclose(np.array(value, dtype=float), wanted, atol=1e-13 * condition * max(1, abs(wanted).max()))


@given(seeds, st.sampled_from(jacobian.REFERENCES))
def test_jacobian_rate_equals_the_complex_step(seed, reference):
    rng = np.random.default_rng(seed)
    robot = Robot(random_model(rng, int(rng.integers(1, 7)), mimic=0.2))
    q, qd = robot.random_configuration(rng), rng.normal(size=robot.nv)
    frame, dual = robot.frame_names[-1], robot.model.over(Complex())
    moved = [x + 1j * H * d for x, d in zip(q, tangent(robot, q) @ qd)]
    J = np.array(jacobian.rows(jacobian.jacobian(dual, moved, frame, reference)), dtype=complex)
    rate = jacobian.rows(jacobian.jacobian_rate(robot.model.over(Floats()), list(q), list(qd), frame, reference))
    np.testing.assert_allclose(np.array(rate, dtype=float), J.imag / H, atol=1e-12 * max(1, abs(J.imag / H).max()))


@given(seeds, st.sampled_from(analytic.COORDINATES))
def test_analytic_jacobian_rate_equals_the_complex_step(seed, coordinates):
    rng = np.random.default_rng(seed)
    robot = Robot(random_model(rng, int(rng.integers(1, 7)), mimic=0.2))
    q, qd = robot.random_configuration(rng), rng.normal(size=robot.nv)
    frame = robot.frame_names[-1]
    moved = [x + 1j * H * d for x, d in zip(q, tangent(robot, q) @ qd)]
    J, _ = analytic.analytic_jacobian(robot.model.over(Complex()), moved, frame, coordinates)
    wanted = np.array(J, dtype=complex).imag / H
    rate, (margin,) = analytic.analytic_jacobian_rate(robot.model.over(Floats()), list(q), list(qd), frame, coordinates)
    stretch = 1 / np.cos(np.arcsin(min(1, abs(robot.transform(q, frame)[2, 0])))) if coordinates in ("rpy", "zyx") else 1.0
    assert margin > 0
    np.testing.assert_allclose(np.array(rate, dtype=float), wanted, atol=1e-11 * stretch * max(1, abs(wanted).max()))


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-6, 2e-5, 1e-3, 3.0])
def test_the_rate_of_a_rotation_vector_at_any_angle(angle):
    robot = qddot.load("arm7").with_floating_base()
    turn = np.array([0.6, 0.0, 0.8])
    q = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * turn, np.ones(10)])
    qd = np.random.default_rng(3).normal(size=robot.nv)
    found = robot.analytic_jacobian_dot(q, qd, "base", "rotation_vector")[:3, :3]
    h = 1e-4
    ahead, behind = (robot.analytic_jacobian(robot.integrate(q, s * h * qd), "base", "rotation_vector")[:3, :3] for s in (1, -1))
    np.testing.assert_allclose(found, (ahead - behind) / (2 * h), atol=1e-6)
    exact = QUANTITIES["analytic_jacobian_dot"].compute(
        robot.model.over(FiftyDigits()),
        *([FiftyDigits.context.mpf(float(x)) for x in a] for a in (q, qd)),
        "base",
        "rotation_vector",
    )[0]
    np.testing.assert_allclose(found, np.array(exact, dtype=float)[:3, :3], atol=1e-9)


OPTIONS = {
    "joint_wrenches": {"axes": "parent"},
    "coriolis_matrix": {"form": "christoffel"},
    "forward_dynamics": {"method": "crba"},
    "jacobian": {"reference": "world_aligned"},
    "jacobian_dot": {"reference": "body"},
    "analytic_jacobian": {"coordinates": "rotation_vector"},
    "analytic_jacobian_dot": {"coordinates": "rotation_vector"},
    "frame_velocity": {"reference": "body"},
    "frame_acceleration": {"reference": "world_aligned"},
}


@pytest.mark.parametrize("quantity", [q for q in QUANTITIES if q != "newton_euler_matrices"])
@pytest.mark.parametrize("name", slow_but(("puma560", "arm7"), "puma560"))
def test_compiled_kernels_agree_with_fifty_digits(name, quantity):
    robot, rng = qddot.load(name), np.random.default_rng(11)
    options = dict(OPTIONS.get(quantity, {}))
    if "frame" in QUANTITIES[quantity].options:
        options["frame"] = robot.tip
    entry = QUANTITIES[quantity]
    arrays = [robot.random_configuration(rng) if x == "q" else rng.normal(size=robot.nv) for x in entry.inputs]
    mp = FiftyDigits.context
    exact = entry.compute(robot.model.over(FiftyDigits()), *([mp.mpf(float(x)) for x in a] for a in arrays), **options)
    values = robot.kernel(quantity, **options)(*arrays)
    first, wanted = (values[0], exact[0]) if isinstance(values, tuple) else (values, exact)
    wanted = np.array(np.vectorize(float)(np.array(wanted, dtype=object)), dtype=float)
    np.testing.assert_allclose(
        first, wanted, rtol=0, atol=5e-14 * max(1.0, abs(wanted).max()) * (50 if "forward" in quantity else 1)
    )
