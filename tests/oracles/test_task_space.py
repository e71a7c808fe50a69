"""Task space from Pinocchio's own inverse of the mass matrix, Jacobians and their rates."""

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import qddot  # noqa: E402
from tests.oracles.comparison import assert_close  # noqa: E402
from tests.oracles.pinocchio_oracle import described  # noqa: E402
from tests.slow import slow_but  # noqa: E402
from tests.task_space.arms import SEVEN, SIX, TOOL, arm  # noqa: E402

REFERENCES = ("world_aligned", "space", "body")


def catalog(name):
    robot, rng = qddot.load(name), np.random.default_rng(5)
    return robot, robot.random_configuration(rng), rng.normal(size=robot.nv), robot.tip


@pytest.mark.parametrize("reference", REFERENCES)
@pytest.mark.parametrize("name", slow_but(["puma560", "arm7", *SIX, *SEVEN], "puma560", *list(SIX)[:1], *list(SEVEN)[:1]))
def test_task_space(name, reference):
    robot, q, qd, frame = catalog(name) if name in ("puma560", "arm7") else (*arm(name), TOOL)
    oracle = described(robot.model)
    J, Jdot = oracle.jacobian(q, frame, reference), oracle.jacobian_dot(q, qd, frame, reference)
    inverse = np.triu(pin.computeMinverse(oracle.model, oracle.data, oracle.q(q)))
    back = np.linalg.inv(oracle.G)
    inverse = back @ (inverse + np.triu(inverse, 1).T) @ back.T
    M_C = np.linalg.inv(J @ inverse @ J.T)
    J_bar = inverse @ J.T @ M_C
    t = robot.task_space(q, qd, frame, reference=reference)
    assert_close(t.M_C, M_C, what="task inertia", tolerance=1e-11)
    assert_close(t.J_bar, J_bar, what="consistent inverse", tolerance=1e-11)
    assert_close(t.c_C, J_bar.T @ oracle.coriolis_torque(q, qd) - M_C @ Jdot @ qd, what="task velocity products", tolerance=1e-11)
    assert_close(t.g_C, J_bar.T @ oracle.gravity_torque(q), what="task gravity", tolerance=1e-11)
    C = oracle.coriolis_matrix(q, qd)
    assert_close(t.C_C, (J_bar.T @ C - M_C @ Jdot) @ J_bar, what="task Coriolis matrix", tolerance=1e-11)
    assert_close(robot.mass_matrix(q), oracle.mass_matrix(q), what="mass matrix")
