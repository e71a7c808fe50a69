"""Bodies as simple shapes, each in its body's frame: drums and blocks at joints, also at those that close loops, capsules along
links, rails under sliders."""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.model.constraints import Connect
from qddot.model.joints import Free, Prismatic, Revolute, Rotor, Spherical
from qddot.model.lower import WORLD, Body
from qddot.model.model import Model
from qddot.model.pose import to_matrix, z_onto
from qddot.model.spatial import Transform, Vec
from qddot.pictures.view import norm

Shape = dict[str, Any]
"""`kind` and its data: `drum`, `rail` (radius, length, pose), `block` (size, pose), `ball` (radius, at), `capsule` (from, to,
radius); a pose is three rows of a 4 x 4 matrix."""

ACROSS = {"xy": Vec(0.0, 0.0, 1.0), "xz": Vec(0.0, 1.0, 0.0), "yz": Vec(1.0, 0.0, 0.0)}
"""The axis that is not among two others."""


def base_shapes(model: Model, reach: float, r: float) -> list[Shape]:
    """Return shapes from the root's origin to the joints on it, and the rails of sliders there."""
    closed, shapes = loops(model, WORLD, r)
    for child in moved_by(model, WORLD):
        shapes += rail(model, child, reach, r)
    for end in unique([*(point(child.placement) for child in moved_by(model, WORLD) if not is_virtual(model, child)), *closed]):
        shapes += connection(end, r)
    return shapes


def link_shapes(model: Model, body: Body, reach: float, r: float) -> list[Shape]:
    """Return a drum or a block at the joint, and capsules from there to the next joints, or to the ends. `reach`: of the robot, m;
    `r`: half the thickness of its links, m."""
    closed, shapes = loops(model, body.index, r)
    if isinstance(body.joint, Revolute):
        shapes.append({"kind": "drum", "radius": 1.45 * r, "length": 2.6 * r, "pose": rows(Transform())})
    elif isinstance(body.joint, Spherical):
        shapes.append({"kind": "ball", "radius": 1.6 * r, "at": [0.0, 0.0, 0.0]})
    elif isinstance(body.joint, Free) and (box := box_of_equal_inertia(body)):
        shapes.append({"kind": "block", "size": [max(x, r) for x in box["size"]], "pose": box["pose"]})
    elif body.is_link and float(body.inertia.m) > 0:
        shapes.append({"kind": "block", "size": [3.0 * r, 3.0 * r, 3.6 * r], "pose": rows(Transform())})
    ends = [*(point(child.placement) for child in moved_by(model, body.index)), *closed]
    for child in moved_by(model, body.index):
        shapes += rail(model, child, reach, r)
    if not any(norm(x) > 0.2 * r for x in ends):  # a last link ends at its frames, or else beyond its mass
        ends = [point(pose) for index, pose in model.mechanism.frames.values() if index == body.index]
        if not any(norm(x) > 0.2 * r for x in ends) and float(body.inertia.m) > 0:
            ends = [[2 * float(x) / float(body.inertia.m) for x in body.inertia.h]]
    for end in unique(ends):
        shapes += connection(end, r)
    return shapes


def loops(model: Model, index: int, r: float) -> tuple[list[list[float]], list[Shape]]:
    """Return the points of a body (-1: the world) at which loops are closed, and the joints there, drawn on the first of two
    links."""
    points: list[list[float]] = []
    shapes: list[Shape] = []
    for c in model.constraints:
        if not isinstance(c, Connect) or not c.active:
            continue
        for link, p in ((c.link1, c.point1), (c.link2, c.point2)):
            body, pose = model.mechanism.frames[link]
            if body != index:
                continue
            at = pose @ Transform(p=p)
            points.append(point(at))
            if link == c.link1 and len(c.axes) == 3:
                shapes.append({"kind": "ball", "radius": 1.35 * r, "at": point(at)})
            elif link == c.link1 and c.axes in ACROSS:  # a hinge at right angles to the plane in which the points meet
                turned = rows(at @ Transform(z_onto(ACROSS[c.axes])))
                shapes.append({"kind": "drum", "radius": 1.45 * r, "length": 2.6 * r, "pose": turned})
    return points, shapes


def box_of_equal_inertia(body: Body) -> dict[str, Any] | None:
    """Return size and pose of the solid box with the body's mass and inertia; None for a body without mass."""
    m, h, I = float(body.inertia.m), *(np.array(x, dtype=float) for x in (body.inertia.h, body.inertia.I))
    if not m > 0:
        return None
    c = h / m
    central = I - m * (c @ c * np.eye(3) - np.outer(c, c))
    moments, axes = np.linalg.eigh((central + central.T) / 2)
    size = np.sqrt(np.maximum(6 / m * (moments.sum() - 2 * moments), 0))
    if np.linalg.det(axes) < 0:
        axes[:, 0] *= -1
    pose = np.column_stack([axes, c])
    return {"size": size.tolist(), "pose": pose.ravel().tolist()}


def moved_by(model: Model, index: int) -> list[Body]:
    return [child for child in model.bodies if child.parent == index and not isinstance(child.joint, Rotor)]


def connection(end: list[float], r: float) -> list[Shape]:
    """Return a capsule from a body's origin to a point; nothing if that is very close."""
    return [{"kind": "capsule", "from": [0.0, 0.0, 0.0], "to": end, "radius": r}] if norm(end) > 0.2 * r else []


def is_virtual(model: Model, body: Body) -> bool:
    """True for a slider without mass in a robot with masses: it is only a coordinate, with nothing to draw."""
    massless = not float(body.inertia.m) > 0
    return isinstance(body.joint, Prismatic) and massless and any(float(x.inertia.m) > 0 for x in model.bodies)


def rail(model: Model, body: Body, reach: float, r: float) -> list[Shape]:
    """Return the rail of a slider, on the body that carries it; nothing for sliders that are only coordinates."""
    carrier = None if body.parent == WORLD else model.bodies[body.parent]
    if not isinstance(body.joint, Prismatic) or is_virtual(model, body) or (carrier is not None and is_virtual(model, carrier)):
        return []
    low, high = travel(model, body, reach)
    middle = Transform(p=Vec(0.0, 0.0, (low + high) / 2))
    return [{"kind": "rail", "radius": 0.35 * r, "length": high - low, "pose": rows(body.placement @ middle)}]


def travel(model: Model, body: Body, reach: float) -> tuple[float, float]:
    """Return the range of a slider, m, which includes its zero; without limits it is the reach of the robot."""
    far = min(body.reach, reach)
    limits = next((c.limits for c in model.mechanism.coordinates if c.name == body.joint_name and c.single), None)
    if limits is None or float(body.rate) != 1.0:
        return -far, far
    return max(min(limits.lower, 0.0), -far), min(max(limits.upper, 0.0), far)


def unique(points: list[list[float]]) -> list[list[float]]:
    return [x for i, x in enumerate(points) if not any(np.allclose(x, y, atol=1e-9) for y in points[:i])]


def rows(T: Transform) -> list[float]:
    """Return the first three rows of the 4 x 4 matrix of a pose."""
    return to_matrix(T)[:3].ravel().tolist()


def point(T: Transform) -> list[float]:
    return [float(x) for x in T.p]
