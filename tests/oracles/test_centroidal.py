"""The centroidal momentum matrix, its rate, the rate of momentum and the zero moment point against Pinocchio; reduced models."""

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import qddot  # noqa: E402
from qddot.errors import InputError, SingularityError, UnknownNameError  # noqa: E402
from tests.oracles.comparison import assert_close  # noqa: E402
from tests.oracles.pinocchio_oracle import ANGULAR_FIRST  # noqa: E402
from tests.oracles.random_trees import random_tree  # noqa: E402
from tests.oracles.test_derivatives import FIXED, FLOATING, LARGEST, real_and_random  # noqa: E402
from tests.slow import slow_but  # noqa: E402


@pytest.mark.parametrize(
    "name",
    [
        *list(FIXED)[:2],
        *list(FLOATING)[:1],
        *slow_but([*list(FIXED)[2:3], *list(FLOATING)[1:2], *range(3000, 3008)], *range(3000, 3003)),
    ],
)
def test_centroidal_momentum(name):
    robot, oracle, (q, qd, qdd) = real_and_random(name)
    if not isinstance(name, str):
        robot = qddot.Robot(random_tree(np.random.default_rng(name), 1 + name % LARGEST))
    model, data = oracle.model, oracle.data
    A = np.reshape(pin.ccrba(model, data, oracle.q(q), oracle.v(qd)), (6, -1))[ANGULAR_FIRST] @ oracle.G
    assert_close(robot.centroidal_momentum_matrix(q), A, what="centroidal_momentum_matrix")
    assert_close(robot.centroidal_momentum_matrix(q) @ qd, robot.momentum(q, qd), what="momentum")
    pin.dccrba(model, data, oracle.q(q), oracle.v(qd))
    Adot = np.reshape(data.dAg, (6, -1))[ANGULAR_FIRST] @ oracle.G
    assert_close(robot.centroidal_momentum_matrix_rate(q, qd), Adot, what="centroidal_momentum_matrix_rate")
    wanted = pin.computeCentroidalMomentumTimeVariation(model, data, oracle.q(q), oracle.v(qd), oracle.v(qdd)).vector[ANGULAR_FIRST]
    assert_close(robot.momentum_rate(q, qd, qdd), wanted, what="momentum_rate")
    parts = robot.centroidal_momentum_matrix(q) @ qdd + robot.centroidal_momentum_matrix_rate(q, qd) @ qd
    assert_close(parts, wanted, what="momentum_rate")


@pytest.mark.parametrize("name", list(FLOATING)[:2])
def test_zero_moment_point_is_that_of_the_wrench_on_the_floating_base(name):
    robot, oracle, (q, qd, qdd) = real_and_random(name)
    qdd = 0.1 * qdd
    root = pin.rnea(oracle.model, oracle.data, oracle.q(q), oracle.v(qd * 0.1), oracle.v(qdd))[:6]
    pin.forwardKinematics(oracle.model, oracle.data, oracle.q(q))
    M = oracle.data.oMi[1]
    force = M.rotation @ root[:3]
    moment = M.rotation @ root[3:] + np.cross(M.translation, force)
    up = np.array([0.0, 0.0, 1.0])
    wanted = np.cross(up, moment) / force[2]
    assert_close(robot.zero_moment_point(q, qd * 0.1, qdd), wanted, what="zero_moment_point")


def test_at_rest_it_is_below_the_centre_of_mass():
    robot = qddot.load("puma560")
    q, rest = np.random.default_rng(0).normal(size=(5, 6)), np.zeros(6)
    found = robot.zero_moment_point(q, rest, rest, point=(0, 0, -0.5))
    c = robot.center_of_mass(q)
    np.testing.assert_allclose(found, np.column_stack([c[:, :2], np.full(5, -0.5)]), atol=1e-12)
    with pytest.raises(SingularityError, match="zero moment point"):
        robot.zero_moment_point(q, rest, rest, normal=(0, 0, -1))
    with pytest.raises(InputError, match="normal"):
        robot.zero_moment_point(q, rest, rest, normal=(0, 0, 0))


def test_reduced_is_pinocchios():
    robot = qddot.load("puma560")
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=(2, 6))
    arm = robot.reduced(["joint4", "joint6"], q)
    keep = [0, 1, 2, 4]
    assert arm.joint_names == ("joint1", "joint2", "joint3", "joint5")
    assert_close(arm.mass_matrix(q[keep]), robot.mass_matrix(q)[np.ix_(keep, keep)], what="mass_matrix")
    still = qd.copy()
    still[[3, 5]] = 0
    assert_close(arm.coriolis_torque(q[keep], qd[keep]), robot.coriolis_torque(q, still)[keep], what="coriolis_torque")
    assert_close(arm.transform(q[keep]), robot.transform(q), what="transform")
    with pytest.raises(UnknownNameError, match="joint9"):
        robot.reduced(["joint9"], q)
    with pytest.raises(InputError, match="one configuration"):
        robot.reduced(["joint4"], np.zeros((2, 6)))


def test_neutral_and_difference_are_pinocchios():
    robot, oracle, (q, qd, _) = real_and_random(next(iter(FLOATING)))
    model = oracle.model
    np.testing.assert_allclose(oracle.q(robot.neutral()), pin.neutral(model), atol=1e-15)
    end = robot.integrate(q, 0.3 * qd)
    there = pin.difference(model, oracle.q(q), oracle.q(end))
    assert_close(oracle.v(robot.difference(q, end)), there, what="difference")
