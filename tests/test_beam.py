"""Beams of rigid segments on springs, against Euler and Bernoulli."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import qddot
from qddot import ModelValueError

LENGTH, EI, MASS = 1.2, 8.0, 0.6
BETA = np.array([1.8751040687, 4.6940911330, 7.8547574382])  # roots of cos(x) cosh(x) = -1
EXACT = BETA**2 * np.sqrt(EI / (MASS * LENGTH**4))


def beam(segments, **options):
    builder = qddot.Builder(gravity=(0, 0, 0))
    return builder.beam("beam", length=LENGTH, EI=EI, mass_per_length=MASS, segments=segments, **options).robot()


def frequencies(robot):
    """Of small vibrations about the straight beam, rad/s."""
    zero = np.zeros(robot.nv)
    stiffness = robot.inverse_dynamics_derivatives(zero, zero, zero).dtau_dq
    return np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(robot.mass_matrix(zero), stiffness)).real))


@pytest.mark.parametrize("axis", ["y", "z"])
def test_frequencies_of_a_cantilever_converge_with_the_square_of_the_segments(axis):
    errors = np.array([abs(frequencies(beam(n, axis=axis))[:3] / EXACT - 1) for n in (8, 16, 32)])
    assert (errors[-1] < [1e-3, 4e-3, 1e-2]).all()
    assert (errors[:-1] / errors[1:] > 3.5).all()


def test_a_force_at_the_tip_bends_it_as_the_closed_form_says():
    """F L^3 / (3 EI) at the tip, for a small force; the segments add 1/(4 n^2) L^3-th parts that vanish."""
    robot, force = beam(40), 1e-4
    q = np.linalg.solve(
        np.diag(robot.spring_torque(np.ones(robot.nv))), robot.jacobian(np.zeros(robot.nv), reference="world_aligned")[4] * force
    )
    assert_allclose(robot.transform(q)[1, 3], force * LENGTH**3 / (3 * EI), rtol=1e-3)


def test_mass_and_length_are_those_of_the_beam():
    robot = beam(5)
    assert robot.nv == 5
    assert_allclose(robot.transform(np.zeros(5))[:3, 3], [LENGTH, 0, 0], rtol=1e-15)
    assert_allclose(sum(link.inertia.mass for link in robot.model.links if link.inertia), LENGTH * MASS)


def test_it_vibrates_with_its_frequency():
    robot = beam(6)
    wanted = frequencies(robot)[0]
    zero = np.zeros(6)
    stiffness = robot.inverse_dynamics_derivatives(zero, zero, zero).dtau_dq
    squares, shapes = np.linalg.eig(np.linalg.solve(robot.mass_matrix(zero), stiffness))
    shape = shapes[:, squares.real.argmin()].real
    period = 2 * np.pi / wanted
    motion = robot.simulate(1e-4 * shape, None, period, step=period / 400)
    assert_allclose(motion.q[-1], motion.q[0], atol=1e-8)
    assert_allclose(motion.q[200], -motion.q[0], atol=1e-8)


def test_numbers_may_be_symbols():
    k = sympy.Symbol("k", positive=True)
    robot = qddot.Builder().beam("beam", length=1, EI=k, mass_per_length=1, segments=2).robot()
    assert_allclose(robot.subs({k: 3.0}).spring_torque([1, 0]), [6, 0])


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"length": 0}, "beam 'b' length='0.0': a positive number is needed"),
        ({"EI": -1}, "EI='-1.0': a positive number"),
        ({"segments": 0}, "segments='0': a whole number from 1"),
        ({"segments": 2.5}, "segments='2.5': a whole number"),
        ({"axis": "x"}, "a beam along x bends about y or z"),
    ],
)
def test_what_is_no_beam(values, rule):
    options = {"length": 1.0, "EI": 1.0, "mass_per_length": 1.0, "segments": 3} | values
    with pytest.raises(ModelValueError, match=rule):
        qddot.Builder().beam("b", **options)
