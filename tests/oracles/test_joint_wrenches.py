"""Wrenches that joints transmit, against Pinocchio's `data.f`."""

import numpy as np
import pytest

pin = pytest.importorskip("pinocchio")

import qddot  # noqa: E402
from tests.oracles.comparison import assert_close  # noqa: E402
from tests.oracles.pinocchio_oracle import ANGULAR_FIRST  # noqa: E402
from tests.oracles.random_trees import random_tree  # noqa: E402
from tests.oracles.test_derivatives import FIXED, FLOATING, LARGEST, real_and_random  # noqa: E402
from tests.slow import slow_but  # noqa: E402


@pytest.mark.parametrize("name", [*FIXED, *FLOATING, *slow_but(range(2000, 2030), *range(2000, 2010))])
def test_joint_wrenches(name):
    """In world axes at the joint's origin; in a URDF the link's frame is there, so its own axes are compared, too."""
    ours, oracle, (q, qd, qdd) = real_and_random(name)
    oracle.inverse_dynamics(q, qd, qdd)
    pin.forwardKinematics(oracle.model, oracle.data, oracle.q(q))
    robot = ours if isinstance(name, str) else qddot.Robot(random_tree(np.random.default_rng(name), 1 + name % LARGEST))
    bodies = [body.name for body in robot.model.bodies if body.is_link]
    found, own = (robot.joint_wrenches(q, qd, qdd, axes=axes) for axes in ("world", "body"))
    there = [oracle.frames[link][0] for link in bodies]
    turned = [np.kron(np.eye(2), oracle.data.oMi[i].rotation) @ oracle.data.f[i].vector for i in there]
    assert_close(found, np.array(turned)[:, ANGULAR_FIRST], what="joint_wrenches")
    if isinstance(name, str):
        assert_close(own, np.array([oracle.data.f[i].vector[ANGULAR_FIRST] for i in there]), what="joint_wrenches")
