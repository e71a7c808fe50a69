"""The scene that the page draws: bodies and their shapes, frames, joints and their ranges, and the view."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from qddot.model.joints import Free, Prismatic
from qddot.model.lower import Body
from qddot.model.model import Model
from qddot.pictures.shapes import Shape, box_of_equal_inertia, rows
from qddot.pictures.view import FAR, extent, flat_view, gravity_of, plane_normal, room, thickness, upward
from qddot.pictures.visuals import looks

FACES = 4000
"""Most triangles of one mesh file: fewer would show, and more would not improve the picture."""


def scene(model: Model) -> dict[str, Any]:
    """Return bodies, frames, sliders and the view as plain data."""
    reach = extent(model)
    down, normal = gravity_of(model), plane_normal(model)
    if normal is not None and abs(down @ normal) > 1e-6 * np.linalg.norm(down):
        normal = None  # a robot that moves across gravity is seen from above at an angle
    right, up = flat_view(normal, down) if normal is not None else (None, upward(down))
    normal = None if right is None else np.cross(right, up)
    look = looks(model, FACES)
    return {
        "notes": look.notes,
        "isDrawn": look.is_drawn,
        "reach": reach,
        "thickness": thickness(model),
        "room": [reach, reach] if right is None else room(model, np.array([right, up])),
        "up": up.tolist(),
        "normal": None if normal is None else normal.tolist(),
        "base": [packed(x) for x in look.base],
        "bodies": [body_data(body, look.bodies[body.index]) for body in model.bodies],
        "frames": [{"name": name, "body": body, "pose": rows(pose)} for name, (body, pose) in model.mechanism.frames.items()],
        "coordinates": with_short_names(coordinates(model, reach)),
    }


# bodies -----------------------------------------------------------------------------------------------------------------------


def body_data(body: Body, shapes: list[Shape]) -> dict[str, Any]:
    """Return a body and its shapes as plain data."""
    inertia = body.inertia
    mass = float(inertia.m)
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
        "shapes": [packed(x) for x in shapes],
    }


def packed(shape: Shape) -> dict[str, Any]:
    """Return a shape as plain data, a mesh with 16-bit coordinates."""
    if shape["kind"] != "mesh":
        return shape
    points, faces = shape["points"], shape["faces"]
    low, high = points.min(axis=0), points.max(axis=0)
    step = np.where(high > low, (high - low) / 65535, 1.0)
    return {
        "kind": "mesh",
        "color": shape["color"],
        "origin": low.tolist(),
        "scale": step.tolist(),
        "positions": text_of(np.rint((points - low) / step)),
        "indices": text_of(faces),
    }


def text_of(numbers: np.ndarray) -> str:
    """Return whole numbers below 65536 in base64, two bytes each."""
    return base64.b64encode(np.ascontiguousarray(numbers, dtype="<u2").tobytes()).decode()


# sliders ----------------------------------------------------------------------------------------------------------------------


def coordinates(model: Model, reach: float) -> list[dict[str, Any]]:
    """Return one entry per degree of freedom: its places in q and qd, its unit and range.

    A quaternion has three entries: `quaternion` is its place in q, `component` the index in the rotation vector.
    """
    found = []
    for c in model.mechanism.coordinates:
        i, k = c.q.start, c.v.start
        for n, part in enumerate(c.parts):
            driven = not isinstance(part, Free)
            if part.quaternion:
                whole = {"lower": -math.pi, "upper": math.pi, "isDriven": driven}
                for j, x in enumerate(("rx", "ry", "rz")):
                    found.append({"name": f"{c.name}.{x}", "unit": "rad", "v": k + j, "quaternion": i, "component": j, **whole})
                for j, axis in enumerate("xyz" if isinstance(part, Free) else ""):
                    found.append({**plain(f"{c.name}.{axis}", "m", i + 4 + j, k + 3 + j, -reach, reach), "isDriven": driven})
            else:
                turns = not isinstance(part, Prismatic)
                name = c.name if len(c.parts) == 1 else f"{c.name}.{('x', 'y', 'angle')[n]}"
                low, high = (c.limits.lower, c.limits.upper) if c.single else (-math.inf, math.inf)
                whole = math.pi if turns else reach
                shown = (low if abs(low) < FAR else min(-whole, high - 1), high if abs(high) < FAR else max(whole, low + 1))
                entry = plain(name, "rad" if turns else "m", i, k, *shown)
                entry["isDriven"] = driven
                entry["stops"] = [low if math.isfinite(low) else None, high if math.isfinite(high) else None]
                found.append(entry | {"speed": c.limits.velocity if c.limits.velocity < 1e3 else None})
            i, k = i + part.nq, k + part.nv
    return found


def with_short_names(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries with short names: without the beginning and end that all names share, up to a `_`, `/`, `-` or `.`."""
    names = [x["name"] for x in found]
    cut = shared(names)
    names = [name[cut:] for name in names]
    end = shared([name[::-1] for name in names])
    return [{**x, "short": name[: len(name) - end]} for x, name in zip(found, names)]


def shared(names: list[str]) -> int:
    """Return the length of the beginning that all names share, up to a separator of words."""
    first, last = min(names), max(names)  # a beginning that these two share is shared by all
    alike = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), 0)
    return max(first[:alike].rfind(sign) for sign in "_/-.") + 1


def plain(name: str, unit: str, q: int, v: int, lower: float, upper: float) -> dict[str, Any]:
    return {"name": name, "unit": unit, "q": q, "v": v, "lower": float(lower), "upper": float(upper)}
