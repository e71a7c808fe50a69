"""The view of a robot: straight on if it moves in a plane, otherwise from a corner with gravity down."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from qddot.errors import QddotError
from qddot.model.constraints import Connect
from qddot.model.joints import Prismatic, Revolute, Rotor
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.spatial import Transform

SMALLEST = 0.05
"""m: a robot without extent is drawn this large."""

FAR = 20.0
"""Limits beyond this, 3 turns or 20 m, are ignored in pictures."""

BENT = 0.6
"""rad: position in which a hinge without limits is drawn, so that an arm is not stretched out."""

AZIMUTH, ELEVATION = math.radians(-55), math.radians(25)
"""Direction from which a robot in space is seen."""

PARALLEL = 1e-6


def extent(model: Model, *, slid: bool = True) -> float:
    """Return the reach of the robot, m: the longest chain of offsets, shortened where closed loops limit it. `slid`: with sliders
    at their ends; otherwise with all of them at zero."""
    far: dict[Any, float] = {WORLD: 0.0}  # distances of bodies, and of points at which loops close, from the root's origin
    bounded = {c.name for c in model.mechanism.coordinates if max(abs(c.limits.lower), abs(c.limits.upper)) < FAR}
    ways: list[tuple[Any, Any, float]] = []
    for body in model.bodies:
        if not isinstance(body.joint, Rotor):
            travel = body.reach if slid and body.joint_name in bounded else 0.0
            ways.append((body.parent, body.index, norm(body.placement.p) + travel))
            far[body.index] = far[body.parent] + ways[-1][2]
    loops = [c for c in model.constraints if isinstance(c, Connect) and c.active and len(c.axes) > 1]
    closing: list[tuple[str, int, np.ndarray]] = []  # loop, body, and the point in its frame
    for c in loops:
        for link, p in ((c.link1, c.point1), (c.link2, c.point2)):
            body, pose = model.mechanism.frames[link]
            closing.append((c.name, body, np.array((pose @ Transform(p=p)).p, dtype=float)))
    ways += [(body, name, norm(p)) for name, body, p in closing]
    for _ in range(len(far) if loops else 0):  # find the shortest distances
        for one, other, length in ways:
            there = min(far.get(other, math.inf), far[one] + length)
            far[one], far[other] = min(far[one], there + length), there
    by_loop = lambda on, p: [far[name] + norm(np.subtract(p, there)) for name, body, there in closing if body == on]  # noqa: E731
    frames = model.mechanism.frames.values()
    ends = [min(far.get(body, 0.0) + norm(pose.p), *by_loop(body, pose.p), math.inf) for body, pose in frames]
    heavy = [norm(body.inertia.h) / float(body.inertia.m) for body in model.bodies if float(body.inertia.m) > 0]
    return max(*ends, *far.values(), max(heavy, default=0.0), SMALLEST)


def thickness(model: Model) -> float:
    """Return half the thickness of drawn links, m; a long rail does not make its cart much thicker."""
    return 0.032 * math.sqrt(extent(model) * extent(model, slid=False))


def room(model: Model, view: np.ndarray) -> list[float]:
    """Return how far a planar robot extends from its origin to the sides, and up and down, m; a slider on a fixed rail counts only
    along it. `view`: (2, 3), the directions to the right and up."""
    whole, arms = extent(model), extent(model, slid=False)
    along = np.zeros(2)
    fixed = {WORLD: np.eye(3)}
    for body in model.bodies:
        if body.parent in fixed and isinstance(body.joint, Prismatic):
            fixed[body.index] = fixed[body.parent] @ np.array([[float(x) for x in row] for row in body.placement.R])
            along += min(body.reach, whole) * abs(view @ fixed[body.index][:, 2])
    loose = max(whole - arms - along.sum(), 0.0)  # travel of sliders on moving bodies
    return np.minimum(arms + along + loose, whole).tolist()


def plane_normal(model: Model) -> np.ndarray | None:
    """Return the unit normal of the plane in which the robot moves; None if it moves in space, or not at all."""
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
    """Return the direction that is parallel to all axes of hinges and at right angles to all sliders; None if there is none."""
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
    """Return the directions (2, 3) to the right and up on a page across the normal: gravity points down if possible, otherwise z or
    y up, and the horizontal axis of the world points to the right."""
    candidates = [-down, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])]
    within = (v - (v @ normal) * normal for v in candidates)
    up = unit(next(v for v in within if norm(v) > PARALLEL * max(norm(down), 1.0)))
    right = np.cross(up, normal)
    return np.array([right if right[np.argmax(abs(right))] > 0 else -right, up])


def own_view(model: Model) -> np.ndarray | None:
    """Return the page (2, 3) on which a planar robot is seen straight on; None for a robot in space."""
    normal = plane_normal(model)
    return None if normal is None else flat_view(normal, gravity_of(model))


def from_a_corner(down: np.ndarray) -> np.ndarray:
    """Return the page (2, 3), to the right and up, on which a robot in space is seen from a corner, with gravity down."""
    up = upward(down)
    right = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    right = unit(right - (right @ up) * up)
    away = np.cross(up, right)
    across = math.cos(AZIMUTH) * right - math.sin(AZIMUTH) * away
    depth = math.sin(AZIMUTH) * right + math.cos(AZIMUTH) * away
    return np.array([across, math.cos(ELEVATION) * up + math.sin(ELEVATION) * depth])


def upward(down: np.ndarray) -> np.ndarray:
    """Return the direction against gravity, or z without gravity."""
    return -unit(down) if down.any() else np.array([0.0, 0.0, 1.0])


def gravity_of(model: Model) -> np.ndarray:
    return np.array([float(x) for x in model.gravity])


def bent(robot: Any) -> np.ndarray:
    """Return a configuration for a picture: limited joints in the middle of their range, other hinges bent; all hinges bent if the
    robot would be straight; loops closed."""
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


def at_right_angles(v: np.ndarray) -> np.ndarray:
    """Return a unit vector at right angles to v, and to z or another axis that is not parallel to v."""
    return unit(np.cross(v, min(np.eye(3)[::-1], key=lambda e: round(abs(float(e @ v)), 9))))


def norm(x: Any) -> float:
    return float(np.linalg.norm([float(v) for v in x]))


def unit(v: np.ndarray) -> np.ndarray:
    return v / (np.linalg.norm(v) or 1.0)
