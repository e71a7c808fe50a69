"""Arms and motions for tests of identification."""

from __future__ import annotations

import numpy as np

from qddot.robot import Robot
from tests.robots import random_model


def random_arm(seed: int, joints: int) -> Robot:
    """A chain of hinges with consistent links."""
    return Robot(random_model(np.random.default_rng(seed), joints, ("revolute",), chain=True))


def random_states(seed: int, robot: Robot, samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, qd, qdd, each (samples, nv)."""
    q, qd, qdd = np.random.default_rng(seed).normal(size=(3, samples, robot.nv))
    return 2 * q, qd, 3 * qdd
