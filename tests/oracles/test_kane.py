"""Closed forms against Kane's equations as SymPy derives them: the same polynomials, for invented robots of every kind of joint."""

import numpy as np
import pytest

from tests.oracles.kane import KINDS, invented, kane, ours

ROBOTS = 20
FAST = (1, 3, 5, 7, 19)


def compare(number: int) -> None:
    bodies = invented(number)
    robot = ours(bodies)
    equations = robot.equations()
    tau, names = kane(bodies)
    assert equations.nv == len(tau)
    for found, expected in zip(equations.tau, tau):
        assert found == equations.read(expected.doit().xreplace(names)), f"robot {number}"
    rng = np.random.default_rng(number)
    values = {symbol: rng.uniform(0.5, 1.5) for symbol in robot.symbols}
    numeric, qd, qdd = robot.subs(values), *rng.normal(size=(2, robot.nv))
    q = numeric.random_configuration(rng)
    tau = numeric.inverse_dynamics(q, qd, qdd)
    found = equations.tau.evaluate(q, qd, qdd, parameters=values)
    np.testing.assert_allclose(found, tau, rtol=0, atol=1e-12 * abs(tau).max())


@pytest.mark.parametrize("number", FAST)
def test_some_robots(number):
    compare(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [k for k in range(ROBOTS) if k not in FAST])
def test_the_other_robots(number):
    compare(number)


def test_every_kind_of_joint_and_drive_comes_up():
    bodies = [body for number in range(ROBOTS) for body in invented(number)]
    assert {body.kind for body in bodies} == set(KINDS)
    drives = {name for body in bodies for name in body.drive}
    assert drives == {"viscous", "stiffness", "rest", "rotor_inertia", "gear_ratio", "coulomb", "rotor_axis"}
