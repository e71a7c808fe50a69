"""What the page draws: bodies and their shapes, frames, joints and how far they go, from where one looks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from qddot.explore.visuals import visual_shapes
from qddot.model.joints import Free, Prismatic, Rotor
from qddot.model.lower import WORLD, Body
from qddot.model.model import Model
from qddot.pictures.shapes import Shape, base_shapes, box_of_equal_inertia, link_shapes, rows
from qddot.pictures.view import FAR, extent, flat_view, gravity_of, plane_normal, upward


def scene(model: Model) -> dict[str, Any]:
    """Bodies, frames, sliders and the view, as plain data."""
    reach = extent(model)
    down, normal = gravity_of(model), plane_normal(model)
    if normal is not None and abs(down @ normal) > 1e-6 * np.linalg.norm(down):
        normal = None  # it moves across gravity, and is seen from above at an angle
    right, up = flat_view(normal, down) if normal is not None else (None, upward(down))
    normal = None if right is None else np.cross(right, up)
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


# bodies -----------------------------------------------------------------------------------------------------------------------


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


# sliders ----------------------------------------------------------------------------------------------------------------------


def coordinates(model: Model, reach: float) -> list[dict[str, Any]]:
    """One for each degree of freedom: where it stands in q and qd, its unit and range.

    A quaternion has three: `quaternion` is where it begins in q, `component` which part of the rotation vector they are.
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
    """Each with its name less what all names begin with, up to a `_`, `/`, `-` or `.`."""
    names = [x["name"] for x in found]
    first, last = min(names), max(names)
    alike = next((i for i, (a, b) in enumerate(zip(first, last)) if a != b), 0)  # between first and last, all begin so
    cut = max(first[:alike].rfind(sign) for sign in "_/-.") + 1
    return [{**x, "short": x["name"][cut:]} for x in found]


def plain(name: str, unit: str, q: int, v: int, lower: float, upper: float) -> dict[str, Any]:
    return {"name": name, "unit": unit, "q": q, "v": v, "lower": float(lower), "upper": float(upper)}
