"""Somebody who knows Pinocchio: the same file and the same numbers, six-vectors and parameters translated as documented."""

import numpy as np
import pytest

import qddot
from tests.newcomers.commands import said


def test_ten_minutes(tmp_path):
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    robot = qddot.load("panda")
    file = tmp_path / "panda.urdf"
    robot.to_urdf(file)
    model = pin.buildModelFromUrdf(str(file))
    data = model.createData()
    names = [name for name in model.names if name != "universe"]
    assert names == list(robot.joint_names)  # one chain: the order is the same

    rng = np.random.default_rng(3)
    q, (qd, qdd) = robot.random_configuration(seed=3), rng.uniform(-1, 1, (2, 7))
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, q, qd, qdd), atol=1e-9)
    np.testing.assert_allclose(robot.mass_matrix_inverse(q), pin.computeMinverse(model, data, q), atol=1e-8, rtol=1e-8)
    slopes = robot.inverse_dynamics_derivatives(q, qd, qdd)
    theirs = pin.computeRNEADerivatives(model, data, q, qd, qdd)
    np.testing.assert_allclose(slopes.dtau_dq, theirs[0], atol=1e-8)
    body = model.inertias[3].toDynamicParameters()[[0, 1, 2, 3, 4, 5, 7, 6, 8, 9]]
    np.testing.assert_allclose(robot.parameters()[20:30], body, atol=1e-9)
    assert "agrees" in said("qddot verify panda --against pinocchio")

    many = robot.random_configuration(seed=0, size=256)  # what was a loop
    assert robot.mass_matrix(many).shape == (256, 7, 7)


def test_old_names_are_translated():
    pin = pytest.importorskip("pinocchio", reason="Pinocchio is not installed")
    robot = qddot.load("panda")
    for name, here in {
        "ccrba": "centroidal_momentum_matrix",
        "oMi": "transforms",
        "getFrameId": "is not needed: frames go by",
    }.items():
        with pytest.raises(AttributeError, match=here):
            getattr(robot, name)
    with pytest.raises(qddot.InputError, match="Pinocchio's LOCAL_WORLD_ALIGNED is 'world_aligned'"):
        robot.jacobian(robot.home(), robot.tip, pin.LOCAL_WORLD_ALIGNED)
