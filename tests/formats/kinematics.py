"""Forward kinematics of the tests' own: poses of bodies multiplied along the tree."""

import numpy as np

from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.model.pose import to_matrix


def world_pose(model: Model, frame: str, q) -> np.ndarray:
    """The 4 x 4 pose of a frame at q."""
    floats = Floats()
    lifted = model.over(floats)
    index, pose = lifted.frame(frame)
    T = to_matrix(pose)
    while index >= 0:
        body = lifted.bodies[index]
        T = to_matrix(body.pose(floats, list(q))) @ T
        index = body.parent
    return T


def rot(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    T = np.eye(4)
    T[i, i] = T[j, j] = c
    T[i, j], T[j, i] = -s, s
    return T


def trans(x: float = 0, y: float = 0, z: float = 0) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = x, y, z
    return T


def bracket(S) -> np.ndarray:
    """The 4 x 4 matrix of a twist `[w; v]`."""
    (a, b, c), v = S[:3], S[3:]
    return np.array([[0, -c, b, v[0]], [c, 0, -a, v[1]], [-b, a, 0, v[2]], [0, 0, 0, 0]], float)
