"""The display of a robot: lines of text in a terminal, a card with a drawing in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.card import Card, Table
from qddot.errors import QddotError
from qddot.model.lower import Body, Coordinates
from qddot.model.model import Model
from qddot.model.scalar import few_digits
from qddot.pictures.sketch import sketch
from qddot.pictures.view import bent

SHOWN = 12
"""Most joints that the text shows."""


def text(model: Model) -> str:
    """Return name and size of a robot, and a line for each joint."""
    joints = model.mechanism.coordinates
    lines = [f"Robot {model.name!r}: {size(model)}"]
    for c in joints[:SHOWN]:
        reach = f"  {limits(c)}" if limits(c) else ""
        lines.append(f"  q{span(c.q)}  {c.name}  {c.kind}  {between(model, c)}{reach}")
    if len(joints) > SHOWN:
        lines.append(f"  ... and {len(joints) - SHOWN} more joints")
    return "\n".join(lines + [f"  {line}" for line in others(model)])


def card(robot: Any) -> Card:
    """Return the joints as a table, beside a drawing if the robot can be drawn."""
    model = robot.model
    rows = []
    for c in model.mechanism.coordinates:
        unit, force = ("rad", "N m") if c.parts[0].angle else ("m", "N")
        speed = f"{c.limits.velocity:.4g} {unit}/s" if np.isfinite(c.limits.velocity) else ""
        effort = f"{c.limits.effort:.4g} {force}" if np.isfinite(c.limits.effort) else ""
        reach = f"{limits(c)} {unit}" if limits(c) else ""
        rows.append((f"q{span(c.q)}", c.name, c.kind, between(model, c), reach, speed, effort))
    head = ("", "joint", "type", "from -> to", "positions", "speed", "force")
    kept = [k for k in range(len(head)) if k < 4 or any(row[k] for row in rows)]  # without empty columns of limits
    table = Table([head[k] for k in kept], [[row[k] for k in kept] for row in rows])
    return Card(model.name, [size(model), *others(model)], [table] if rows else [], drawing(robot))


def drawing(robot: Any) -> str:
    """Return the drawing; empty for a robot that still holds symbols, or whose loops cannot be closed."""
    if robot.symbols:
        return ""
    try:
        return sketch(robot.model, bent(robot))
    except QddotError:
        return ""


def size(model: Model) -> str:
    gravity = ", ".join(map(few_digits, model.gravity))
    return f"{model.mechanism.nv} dof, {len(model.links)} links, gravity ({gravity})"


def others(model: Model) -> list[str]:
    """Return lines about joints that follow others, loops, symbols, and the reason if masses are not known."""
    found = [
        f"{name} follows {leader}: {few_digits(k)} q + {few_digits(offset)}" for name, (leader, k, offset) in model.leaders.items()
    ]
    found = found[:SHOWN]
    if model.constraints:
        found.append(f"constraints: {', '.join(c.name for c in model.constraints)}")
    if model.symbols:
        found.append(f"symbols: {', '.join(sorted(map(str, model.symbols)))}")
    if model.kinematics_only:
        found.append(f"kinematics only: {model.kinematics_only}")
    elif model.bodies and not any(map(has_inertia, model.bodies)):
        found.append("kinematics only: no link has a mass")
    return found


def has_inertia(body: Body) -> bool:
    """True if a body has a mass, a moment of inertia, or a rotor at its joint."""
    return any(x != 0 for x in (body.inertia.m, body.drive.armature, *(x for row in body.inertia.I for x in row)))


def between(model: Model, c: Coordinates) -> str:
    joint = next((joint for joint in model.joints if joint.name == c.name), None)
    return f"{joint.parent} -> {joint.child}" if joint else "behind an elastic gear"


def limits(c: Coordinates) -> str:
    low, high = c.limits.lower, c.limits.upper
    return f"[{low:.4g}, {high:.4g}]" if c.single and (np.isfinite(low) or np.isfinite(high)) else ""


def span(indices: range) -> str:
    return f"[{indices.start}]" if len(indices) == 1 else f"[{indices.start}:{indices.stop}]"
