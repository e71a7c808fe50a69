"""Robots and constraints for tests: any joint type, any kind of constraint."""

from __future__ import annotations

import contextlib

import numpy as np

import qddot
from qddot.model.pose import from_rpy, to_matrix
from qddot.model.spatial import Transform, Vec
from qddot.robot import Robot
from tests.robots import ALL, random_model


def random_robot(case: int, joints: int = 5, kinds=ALL, mimic: float = 0.0) -> Robot:
    return Robot(random_model(np.random.default_rng([case, 7]), joints, kinds, mimic, chain=True))


def random_state(robot: Robot, case: int) -> tuple[np.ndarray, ...]:
    """q, qd, tau."""
    rng = np.random.default_rng([case, 8])
    return robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


def that_moves(constraints, case: int, joints: int = 6, mimic: float = 0.0) -> tuple:
    """A robot that can move against every row of the constraints, and such a state: the first from this case on, by tens."""
    for number in range(case, case + 500, 10):
        robot = random_robot(number, joints, mimic=mimic)
        q, qd, tau = random_state(robot, number)
        if np.linalg.cond(robot.constraint_jacobian(q, constraints)) < 1e3:
            return robot, q, qd, tau
    raise AssertionError("no such robot")


def that_closes(constraints, case: int) -> tuple:
    """A robot that can satisfy the constraints, and such a configuration: the first from this case on, by tens."""
    for number in range(case, case + 500, 10):
        robot = random_robot(number)
        q, qd, _ = random_state(robot, number)
        with contextlib.suppress(qddot.ConvergenceError):
            return robot, robot.project(q, constraints), qd
    raise AssertionError("no such robot")


def knife_edge(state):
    """The last link does not slip sideways."""
    return state.velocity("l2").dot(state.pose("l2").R @ Vec(0, 1, 0))


def distance(state):
    between = state.position("l1") - state.position("l3")
    return [state.sqrt(between.dot(between) + 0.1) - 1, state.cos(state.q[0]) + state.atan2(state.position("l2").x, 2.0)]


POSE = to_matrix(Transform(from_rpy(0.1, -0.2, 0.3), Vec(0.1, 0.2, 0.3)))

CONSTRAINTS = {
    "line": qddot.point_on_line("l3", (0.1, 0.2, 0), (1, 2, 3)),
    "plane": qddot.point_on_plane("l3", (0.1, 0.2, 0), (1, 2, 3)),
    "contact": qddot.contact_point("l3", (0, 1, 1)),
    "sticking": qddot.contact_point("l3"),
    "connect": qddot.connect("l1", "l3"),
    "planar": qddot.connect("l1", "l3", "xz"),
    "weld": qddot.weld("l1", "l3", POSE),
    "fixed": qddot.fixed_frame("l3", POSE),
    "function": qddot.holonomic(distance),
    "knife edge": qddot.pfaffian(knife_edge),
    "several": (qddot.point_on_plane("l2", (0, 0, 0), (0, 0, 1)), qddot.pfaffian(knife_edge), qddot.connect("l1", "l3", "y")),
}
