"""Random arms in random states, each made and compiled once."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from qddot.model.description import Frame, Joint, Link
from qddot.model.model import Model
from qddot.robot import Robot
from tests.oracles.random_trees import random_axis, random_drive
from tests.robots import ONE_DOF, random_inertia, random_pose

TOOL = "tool"

SIX = {
    "revolute": ("revolute",) * 6,
    "mixed": ("revolute", "revolute", "prismatic", "continuous", "helical", "revolute"),
    "ball": ("spherical", "revolute", "prismatic", "revolute"),
}
SEVEN = {"seven": ("revolute",) * 7, "ball and more": ("revolute", "spherical", "helical", "prismatic", "revolute")}

TASKS = [
    *({"reference": reference} for reference in ("world_aligned", "space", "body")),
    *({"coordinates": coordinates} for coordinates in ("rpy", "zyx", "rotation_vector")),
    {"coordinates": "quaternion", "rows": ("qx", "qy", "qz", "x", "y", "z")},
]
"""Six rows each."""


class Arm(NamedTuple):
    robot: Robot
    q: np.ndarray
    qd: np.ndarray

    def task(self, **options):
        return self.robot.task_space(self.q, self.qd, TOOL, **options)

    def beside(self, h: float, **options) -> list:
        """Task spaces a little later and a little earlier."""
        return [self.robot.task_space(self.robot.integrate(self.q, s * h * self.qd), self.qd, TOOL, **options) for s in (1, -1)]


@cache
def arm(name: str, seed: int = 0) -> Arm:
    """A chain with friction and springs in some joints, away from singularities of the arm and of its orientation's coordinates."""
    kinds, rng = (SIX | SEVEN)[name], np.random.default_rng(seed)
    links, joints = [Link("base")], []
    for i, kind in enumerate(kinds):
        drive = random_drive(rng) if kind in ONE_DOF and i % 2 == 0 else None
        joints.append(
            Joint(
                f"j{i}",
                kind,
                links[-1].name,
                f"l{i}",
                random_pose(rng),
                random_axis(rng),
                pitch=0.1 * (kind == "helical"),
                drive=drive,
            )
        )
        links.append(Link(f"l{i}", random_inertia(rng)))
    robot = Robot(Model(name, links, joints, [Frame(TOOL, links[-1].name, random_pose(rng))]))
    while True:
        q, qd = robot.random_configuration(rng), rng.normal(size=robot.nv)
        pitch = abs(robot.transform(q, TOOL)[2, 0])
        if np.linalg.cond(robot.jacobian(q, TOOL, "world_aligned")) < 50 and pitch < 0.8:
            return Arm(robot, q, qd)
