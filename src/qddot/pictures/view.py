"""From where a robot is seen: straight on if it moves in a plane, otherwise with gravity down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from qddot.errors import QddotError
from qddot.model.joints import Prismatic, Revolute, Rotor
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.spatial import Transform

SMALLEST = 0.05
"""m: a robot without extent is drawn this large."""

FAR = 20.0
"""Limits beyond this are none to look at: 3 turns, or 20 m."""

BENT = 0.6
"""rad: where a hinge without limits is drawn, so that an arm is not stretched out."""

AZIMUTH, ELEVATION = math.radians(-55), math.radians(25)
"""Of the corner from which a robot in space is seen."""

PARALLEL = 1e-6


def extent(model: Model) -> float:
    """How far the robot reaches, m: the longest chain of offsets."""
    far = {WORLD: 0.0}
    bounded = {c.name for c in model.mechanism.coordinates if max(abs(c.limits.lower), abs(c.limits.upper)) < FAR}
    for body in model.bodies:
        if not isinstance(body.joint, Rotor):
            travel = body.reach if body.joint_name in bounded else 0.0
            far[body.index] = far[body.parent] + norm(body.placement.p) + travel
    ends = [far.get(body, 0.0) + norm(pose.p) for body, pose in model.mechanism.frames.values()]
    heavy = [norm(body.inertia.h) / float(body.inertia.m) for body in model.bodies if float(body.inertia.m) > 0]
    return max(*ends, *far.values(), max(heavy, default=0.0), SMALLEST)


def plane_normal(model: Model) -> np.ndarray | None:
    """The unit normal of the plane in which everything moves; None for a robot that moves in space, or not at all."""
    at, turning, sliding = {WORLD: np.eye(3)}, [], []
    for body in model.bodies:
        if isinstance(body.joint, Rotor):
            continue
        at[body.index] = at[body.parent] @ np.array([[float(x) for x in row] for row in body.placement.R])
        kinds = {Revolute: turning, Prismatic: sliding}
        if type(body.joint) not in kinds:
            return None
        kinds[type(body.joint)].append(at[body.index][:, 2])
    return common_normal(turning, sliding)


def common_normal(turning: Sequence[np.ndarray], sliding: Sequence[np.ndarray]) -> np.ndarray | None:
    """The direction along which all axes of hinges lie, and at right angles to which all sliders move; None if there is none."""
    if turning:
        normal = turning[0]
    elif sliding:
        crossed = [np.cross(sliding[0], axis) for axis in sliding[1:]]
        normal = next((unit(x) for x in crossed if norm(x) > PARALLEL), at_right_angles(sliding[0]))
    else:
        return None
    off = [abs(abs(axis @ normal) - 1) for axis in turning] + [abs(axis @ normal) for axis in sliding]
    return normal if max(off) < PARALLEL else None


def flat_view(normal: np.ndarray, down: np.ndarray) -> np.ndarray:
    """The directions (2, 3) to the right and up on the page, which lies across the normal: gravity points down if it can, otherwise
    z or y up, and the axis of the world that lies across points to the right."""
    candidates = [-down, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])]
    within = (v - (v @ normal) * normal for v in candidates)
    up = unit(next(v for v in within if norm(v) > PARALLEL * max(norm(down), 1.0)))
    right = np.cross(up, normal)
    return np.array([right if right[np.argmax(abs(right))] > 0 else -right, up])


def own_view(model: Model) -> np.ndarray | None:
    """The page (2, 3) on which a robot that moves in a plane is seen straight on; None for one in space."""
    normal = plane_normal(model)
    return None if normal is None else flat_view(normal, gravity_of(model))


def from_a_corner(down: np.ndarray) -> np.ndarray:
    """The page (2, 3), to the right and up, on which a robot in space is seen from a corner, with gravity down."""
    up = upward(down)
    right = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    right = unit(right - (right @ up) * up)
    away = np.cross(up, right)
    across = math.cos(AZIMUTH) * right - math.sin(AZIMUTH) * away
    depth = math.sin(AZIMUTH) * right + math.cos(AZIMUTH) * away
    return np.array([across, math.cos(ELEVATION) * up + math.sin(ELEVATION) * depth])


def upward(down: np.ndarray) -> np.ndarray:
    """Against gravity; without it along z."""
    return -unit(down) if down.any() else np.array([0.0, 0.0, 1.0])


def gravity_of(model: Model) -> np.ndarray:
    return np.array([float(x) for x in model.gravity])


def bent(robot: Any) -> np.ndarray:
    """A configuration to look at: limited joints in the middle, others bent, as are all if the middle is a straight line; closed
    where the robot is."""
    found, limits = robot.neutral(), robot.limits
    hinges = []
    for c in robot.model.mechanism.coordinates:
        if not c.single:
            continue
        low, high = limits.lower[c.q.start], limits.upper[c.q.start]
        free = BENT if c.kind != "prismatic" else 0.0
        hinges += [c.q.start] if free and high > 0 else []
        found[c.q.start] = (low + high) / 2 if np.isfinite(low) and np.isfinite(high) else float(np.clip(free, low, high))
    if len(hinges) > 1 and not found[hinges].any():
        ways = []
        for angle in (BENT, -BENT):
            ways.append(found.copy())
            ways[-1][hinges] = np.clip(angle, limits.lower[hinges] / 2, limits.upper[hinges] / 2)
        up = upward(gravity_of(robot.model))
        found = max(ways, key=lambda q: float((robot.transforms(q)[:, :3, 3] @ up).sum()))  # upright rather than hanging
    if any(c.active for c in robot.model.constraints):
        try:
            return robot.project(found)
        except QddotError:
            return robot.project(robot.neutral())
    return found


# numbers ----------------------------------------------------------------------------------------------------------------------


def matrix(T: Transform) -> np.ndarray:
    """4 x 4."""
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = [[float(x) for x in row] for row in T.R], [float(x) for x in T.p]
    return found


def at_right_angles(v: np.ndarray) -> np.ndarray:
    """A unit vector at right angles, and to z or another axis that v does not lie along."""
    return unit(np.cross(v, min(np.eye(3)[::-1], key=lambda e: round(abs(float(e @ v)), 9))))


def norm(x: Any) -> float:
    return float(np.linalg.norm([float(v) for v in x]))


def unit(v: np.ndarray) -> np.ndarray:
    return v / (np.linalg.norm(v) or 1.0)
