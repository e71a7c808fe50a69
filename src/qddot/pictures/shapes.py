"""Bodies as simple shapes: drums and blocks at joints, capsules along links, rails under sliders, each in its body's frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from qddot.model.joints import Free, Prismatic, Revolute, Rotor, Spherical
from qddot.model.lower import WORLD, Body
from qddot.model.model import Model
from qddot.model.spatial import Transform
from qddot.pictures.view import matrix, norm

Shape = dict[str, Any]
"""`kind` and what it needs: `drum`, `rail` (radius, length, pose), `block` (size, pose), `ball` (radius, at), `capsule` (from, to,
radius); a pose is three rows of a 4 x 4 matrix."""


def radius(reach: float) -> float:
    return 0.032 * reach


def base_shapes(model: Model, reach: float) -> list[Shape]:
    """From the root's origin to the joints on it, and the rails of sliders there."""
    r = radius(reach)
    shapes: list[Shape] = []
    for child in moved_by(model, WORLD):
        shapes += connection([0.0, 0.0, 0.0], point(child.placement), r) + rail(child, reach)
    return shapes


def link_shapes(model: Model, body: Body, reach: float) -> list[Shape]:
    """A drum or a block at the joint, capsules from there to the next joints, or to the ends."""
    r = radius(reach)
    shapes: list[Shape] = []
    if isinstance(body.joint, Revolute):
        shapes.append({"kind": "drum", "radius": 1.45 * r, "length": 2.6 * r, "pose": rows(Transform())})
    elif isinstance(body.joint, Spherical):
        shapes.append({"kind": "ball", "radius": 1.6 * r, "at": [0.0, 0.0, 0.0]})
    elif isinstance(body.joint, Free) and (box := box_of_equal_inertia(body)):
        shapes.append({"kind": "block", "size": [max(x, r) for x in box["size"]], "pose": box["pose"]})
    elif body.is_link and float(body.inertia.m) > 0:
        shapes.append({"kind": "block", "size": [3.0 * r, 3.0 * r, 3.6 * r], "pose": rows(Transform())})
    ends = [point(child.placement) for child in moved_by(model, body.index)]
    for child in moved_by(model, body.index):
        shapes += rail(child, reach)
    if not any(norm(x) > 0.2 * r for x in ends):  # nothing goes on: as far as the frames, or else the mass
        ends = [point(pose) for index, pose in model.mechanism.frames.values() if index == body.index]
        if not any(norm(x) > 0.2 * r for x in ends) and float(body.inertia.m) > 0:
            ends = [[2 * float(x) / float(body.inertia.m) for x in body.inertia.h]]
    for end in unique(ends):
        shapes += connection([0.0, 0.0, 0.0], end, r)
    return shapes


def rows(T: Transform) -> list[float]:
    """Three rows of a 4 x 4 matrix."""
    return matrix(T)[:3].ravel().tolist()


def point(T: Transform) -> list[float]:
    return [float(x) for x in T.p]
