"""What the page draws: bodies and their shapes, frames, joints and how far they go, from where one looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qddot.explore.visuals import matrix, visual_shapes
from qddot.model.joints import Free, Prismatic, Revolute, Rotor, Spherical
from qddot.model.lower import WORLD, Body
from qddot.model.model import Model
from qddot.model.spatial import Transform

SMALLEST = 0.05
"""m: a robot without extent is drawn this large."""

FAR = 20.0
"""Limits beyond this are none to look at: 3 turns, or 20 m."""

Shape = dict[str, Any]


def scene(model: Model) -> dict[str, Any]:
    """Bodies, frames, sliders and the view, as plain data."""
    reach = extent(model)
    normal = plane_normal(model)
    up = upward(model, normal)
    if normal is not None:  # the axis of the world that lies across points to the right
        right = np.cross(up, normal)
        normal = normal * (1.0 if right[np.argmax(abs(right))] > 0 else -1.0)
    drawn, notes = visual_shapes(model)
    return {
        "notes": notes,
        "isDrawn": bool(drawn),
        "reach": reach,
        "up": up.tolist(),
        "normal": None if normal is None else normal.tolist(),
        "base": drawn.get(WORLD, []) if drawn else base_shapes(model, reach),
        "bodies": [body_data(model, body, reach, drawn) for body in model.bodies],
        "frames": [{"name": name, "body": body, "pose": rows(pose)} for name, (body, pose) in model.mechanism.frames.items()],
        "coordinates": with_short_names(coordinates(model, reach)),
    }


# where from -------------------------------------------------------------------------------------------------------------------


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
    """The axis about which everything turns, for an arm that moves in one plane; None for one that moves in space."""
    normal, sliders = None, []
    at = {WORLD: np.eye(3)}
    for body in model.bodies:
        if isinstance(body.joint, Rotor):
            continue
        at[body.index] = at[body.parent] @ matrix(body.placement)[:3, :3]
        axis = at[body.index][:, 2]
        if isinstance(body.joint, Prismatic):
            sliders.append(axis)
        elif not isinstance(body.joint, Revolute) or (normal is not None and abs(abs(axis @ normal) - 1) > 1e-6):
            return None
        else:
            normal = axis if normal is None else normal
    if normal is None or any(abs(axis @ normal) > 1e-6 for axis in sliders):
        return None
    gravity = np.array([float(x) for x in model.gravity])
    return normal if abs(gravity @ normal) <= 1e-6 * norm(gravity) else None


def upward(model: Model, normal: np.ndarray | None) -> np.ndarray:
    """Against gravity; without it along z, or along y in the plane of x and y."""
    gravity = np.array([float(x) for x in model.gravity])
    if gravity.any():
        return -gravity / norm(gravity)
    z = np.array([0.0, 0.0, 1.0])
    return np.array([0.0, 1.0, 0.0]) if normal is not None and abs(normal @ z) > 0.5 else z


# shapes -----------------------------------------------------------------------------------------------------------------------


def body_data(model: Model, body: Body, reach: float, drawn: Mapping[int, list[Shape]]) -> dict[str, Any]:
    """One body. It is drawn as the description says; one with mass of which it says nothing, as drums and capsules."""
    inertia = body.inertia
    mass = float(inertia.m)
    is_plain = not drawn or (mass > 0 and body.is_link)
    generic = link_shapes(model, body, reach) if is_plain and not isinstance(body.joint, Rotor) else []
    return {
        "name": body.name,
        "joint": body.joint_name,
        "kind": type(body.joint).__name__.lower(),
        "parent": body.parent,
        "isLink": body.is_link,
        "columns": list(body.columns),
        "rate": float(body.rate),
        "mass": mass,
        "com": [float(x) / mass for x in inertia.h] if mass > 0 else [0.0, 0.0, 0.0],
        "box": box_of_equal_inertia(body),
        "shapes": drawn.get(body.index) or generic,
    }


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
    elif not isinstance(body.joint, Free) and body.is_link and float(body.inertia.m) > 0:
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


def moved_by(model: Model, index: int) -> list[Body]:
    return [child for child in model.bodies if child.parent == index and not isinstance(child.joint, Rotor)]


def connection(start: Sequence[float], end: Sequence[float], r: float) -> list[Shape]:
    long = norm(np.subtract(end, start)) > 0.2 * r
    return [{"kind": "capsule", "from": list(start), "to": list(end), "radius": r}] if long else []


def rail(body: Body, reach: float) -> list[Shape]:
    """Along which a slider goes, on the body that carries it; sliders without mass are coordinates, and nothing to see."""
    if not isinstance(body.joint, Prismatic) or not float(body.inertia.m) > 0:
        return []
    length = 2 * min(body.reach, reach)
    return [{"kind": "rail", "radius": 0.35 * radius(reach), "length": length, "pose": rows(body.placement)}]


def unique(points: list[list[float]]) -> list[list[float]]:
    return [x for i, x in enumerate(points) if not any(np.allclose(x, y, atol=1e-9) for y in points[:i])]


def box_of_equal_inertia(body: Body) -> dict[str, Any] | None:
    """The solid box with the body's mass and inertia: size and pose; None where there is none."""
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


# sliders ----------------------------------------------------------------------------------------------------------------------


def coordinates(model: Model, reach: float) -> list[dict[str, Any]]:
    """One for each degree of freedom: where it stands in q and qd, its unit and range.

    A quaternion has three: `quaternion` is where it begins in q, `component` which part of the rotation vector they are.
    """
    found = []
    for c in model.mechanism.coordinates:
        i, k = c.q.start, c.v.start
        for n, part in enumerate(c.parts):
            if part.quaternion:
                names = [f"{c.name}.{x}" for x in ("rx", "ry", "rz")]
                found += [
                    {"name": name, "unit": "rad", "v": k + j, "quaternion": i, "component": j, "lower": -math.pi, "upper": math.pi}
                    for j, name in enumerate(names)
                ]
                for j, axis in enumerate("xyz" if isinstance(part, Free) else ""):
                    found.append(plain(f"{c.name}.{axis}", "m", i + 4 + j, k + 3 + j, -reach, reach))
            else:
                turns = not isinstance(part, Prismatic)
                name = c.name if len(c.parts) == 1 else f"{c.name}.{('x', 'y', 'angle')[n]}"
                low, high = (c.limits.lower, c.limits.upper) if c.single else (-math.inf, math.inf)
                whole = math.pi if turns else reach
                shown = (low if abs(low) < FAR else min(-whole, high - 1), high if abs(high) < FAR else max(whole, low + 1))
                entry = plain(name, "rad" if turns else "m", i, k, *shown)
                entry["stops"] = [low if math.isfinite(low) else None, high if math.isfinite(high) else None]
                found.append(entry | {"speed": c.limits.velocity if c.limits.velocity < 1e3 else None})
            i, k = i + part.nq, k + part.nv
    return found


def with_short_names(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each with its name less what all names begin with, up to a `_`, `/`, `-` or `.`."""
    names = [x["name"] for x in found]
    first, last = min(names), max(names)
    alike = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), 0)  # between first and last, all begin so
    cut = max(first[:alike].rfind(sign) for sign in "_/-.") + 1
    return [{**x, "short": x["name"][cut:]} for x in found]


def plain(name: str, unit: str, q: int, v: int, lower: float, upper: float) -> dict[str, Any]:
    return {"name": name, "unit": unit, "q": q, "v": v, "lower": float(lower), "upper": float(upper)}


# numbers ----------------------------------------------------------------------------------------------------------------------


def rows(T: Transform) -> list[float]:
    """Three rows of a 4 x 4 matrix."""
    return matrix(T)[:3].ravel().tolist()


def point(T: Transform) -> list[float]:
    return [float(x) for x in T.p]


def norm(x: Any) -> float:
    return float(np.linalg.norm([float(v) for v in x]))
