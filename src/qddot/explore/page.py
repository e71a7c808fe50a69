"""The page: one self-contained HTML file, whose security policy permits its own scripts only."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.assets import asset, math_font_css
from qddot.errors import InputError, UnboundSymbolError, as_written
from qddot.explore.fragment import checked
from qddot.explore.lengths import lengths
from qddot.explore.lens import lens
from qddot.explore.programs import functions, page_programs, signatures, spheres
from qddot.explore.scene import scene
from qddot.explore.source import script
from qddot.model.joints import Free
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.spatial import Transform, Vec
from qddot.pictures.view import bent

if TYPE_CHECKING:
    from qddot.contact.shapes import Contacts
    from qddot.explore.recording import Recording
    from qddot.robot import Robot

TIPS = 8
"""Most ends of a robot that the page offers to choose from."""

PACKED = 50_000
"""Closed forms with more characters than this are compressed, which takes the browser a moment to undo."""

SPEED = 1.5
"""rad/s or m/s: initial velocity of the first coordinate, if nothing else would move the robot."""

BENT = 0.25
"""Initial bend of legs, as a fraction of the way from zero to the middle of their limits."""

STILL = 1e-6
"""A tip counts as immobile below this fraction of the fastest frame's speed."""

ABOVE = 0.02
"""m: initial gap between shapes that may touch."""


def page(
    robot: Robot,
    *,
    letters: Model | None = None,
    values: Mapping[str, float] | None = None,
    q: Any = None,
    view: str = "",
    contacts: Contacts | None = None,
    recording: Recording | None = None,
) -> str:
    """Return the explorer of a robot as one HTML document.

    Args:
        letters: the robot with its symbols, for the equations.
        values: the values of these symbols.
        q: configuration (nq,) to start with; a bent one within the limits if None.
        view: what to show first, in the form of the part behind the `#` of a page's address.
        contacts: what the robot may touch.
        recording: a motion to be played.

    Raises:
        NoAssetError: this installation lacks the page's script.
        UnboundSymbolError: the robot still holds symbols.
        InputError: a q of another shape, a robot without joints, an invalid view, contacts of another robot or of one with closed
            loops.
    """
    bundle, style = asset("explorer.js").decode(), math_font_css() + asset("explorer.css").decode()
    if robot.symbols:
        names = sorted(map(str, robot.symbols))
        given = ", ".join(f"{name!r}: ..." for name in names)
        raise UnboundSymbolError(f"{robot.name} still holds the symbols {', '.join(names)}: robot.explore(values={{{given}}})")
    if not robot.nv:
        raise InputError(f"{robot.name} has no joints: there is nothing to explore")
    view = checked(view, robot)
    if unknown := robot.model.kinematics_only:
        robot = type(robot)(robot.model.copy(kinematics_only=""))  # with zeros for the unknown masses
    model = robot.model
    start = bent(robot) if q is None else robot._evaluate.configuration("q", q)
    tips = moving(robot, start, ends(model))
    programs = page_programs(model, tips)
    if contacts is not None:
        refuse_contacts(robot, contacts, closed="loops" in programs)
        programs["spheres"] = spheres(model, [(x.frame, x.center) for x in contacts.spheres])
        start = start if q is not None else lifted(contacts, on_its_feet(robot, start))
    massless = unknown or ("" if robot.mass_matrix(start).any() else "no link has a mass")
    notes = [f"Kinematics only, no dynamics: {massless}."] if massless else []
    speed = [0.0] * robot.nv
    if recording is None and contacts is None and not massless and is_dead(robot, start):
        speed[0] = SPEED
        notes.append("As it is described, neither gravity nor a spring moves its joints from here: it starts with a velocity.")
    shown = scene(model)
    data = {
        "name": robot.name,
        "script": script(model, letters, values, contacts),
        "drive": "hold" if contacts is not None and is_floating(model) else "free",
        "view": view,
        "nq": robot.nq,
        "nv": robot.nv,
        "start": {"q": start.tolist(), "qd": speed},
        "gravity": [float(x) for x in model.gravity],
        "parameters": robot.parameters()[: 10 * len(robot.body_names)].tolist(),
        "hasFriction": any(body.drive.friction.laws or body.drive.friction.is_dry for body in model.bodies),
        "hasSprings": any(bool(body.drive.stiffness or body.drive.harmonics) for body in model.bodies),
        "freedom": freedom(robot, start),
        "isFloating": is_floating(model),
        "isClosed": "loops" in programs,
        "isMassless": bool(massless),
        "tips": [tip_data(model, name) for name in tips],
        "sizes": signatures(programs),
        "motion": None if recording is None else recording.data(),
        "contacts": None if contacts is None else contact_data(contacts),
        "lengths": [] if letters is None else lengths(model, letters),
        **shown,
        "notes": notes + shown["notes"],
    }
    run = f"explorer.start({functions(programs)});"
    equations = closed_forms(plain_json(lens(model, letters, values, massless=bool(massless))))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {digest(bundle)} {digest(run)}",
            f"style-src {digest(style)}",
            "font-src data:",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return TEMPLATE.format(
        policy=policy,
        title=escape(robot.name),
        style=style,
        robot=plain_json(data).replace("<", "\\u003c"),
        equations=equations,
        bundle=bundle,
        run=run,
    )


TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="app"><noscript>This page computes everything itself, and needs JavaScript for it.</noscript></div>
<div id="said" role="status" aria-live="polite"></div>
<script type="application/json" id="robot">{robot}</script>
{equations}
<script>{bundle}</script>
<script>{run}</script>
</body>
</html>
"""


def closed_forms(text: str) -> str:
    """Return the script element with the closed forms, compressed if they are long."""
    if len(text) < PACKED:
        escaped = text.replace("<", "\\u003c")
        return f'<script type="application/json" id="equations">{escaped}</script>'
    packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="equations">{packed}</script>'


def plain_json(data: Any) -> str:
    """Return data as JSON; a number that is not finite raises ValueError here instead of breaking the page."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def is_dead(robot: Robot, q: np.ndarray) -> bool:
    """True if the robot, released at rest, would stay at rest."""
    return not (robot.gravity_torque(q).any() or robot.spring_torque(q).any())


def freedom(robot: Robot, q: np.ndarray) -> int:
    """Return the degrees of freedom that closed loops leave."""
    if not any(c.active for c in robot.model.constraints):
        return robot.nv
    return robot.nv - int(np.linalg.matrix_rank(robot.constraint_jacobian(q), tol=1e-9))


# contacts ---------------------------------------------------------------------------------------------------------------------


def refuse_contacts(robot: Robot, contacts: Contacts, closed: bool) -> None:
    """Refuse contacts of another robot, or of one with closed loops. Raises InputError."""
    if not hasattr(contacts, "spheres"):
        raise InputError(f"contacts={as_written(contacts)}: give a qddot.contact.Contacts of this robot, or None")
    if contacts.robot.model is not robot.model:
        raise InputError(f"contacts belong to another robot, {contacts.robot.name!r}: make them with this one")
    if closed:
        raise InputError(f"{robot.name} has closed loops: contacts are simulated without")


def is_floating(model: Model) -> bool:
    return any(body.parent == WORLD and isinstance(body.joint, Free) for body in model.bodies)


def on_its_feet(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Return a floating robot's start: near zero, where legs carry it, and a little bent; q itself for other robots."""
    return robot.neutral() + BENT * (q - robot.neutral()) if is_floating(robot.model) else q


def lifted(contacts: Contacts, q: np.ndarray) -> np.ndarray:
    """Return a start without penetration: a free base is moved along the normals of planes."""
    for c in contacts.robot.model.mechanism.coordinates:
        if c.single or not isinstance(c.parts[0], Free):
            continue
        q = q.copy()
        for normal in contacts.normals:
            at = contacts.touching(q)
            gaps = [gap for gap, n, other in zip(at.gap, at.normal, at.second) if other == WORLD and np.array_equal(n, normal)]
            q[c.q.start + 4 : c.q.start + 7] += max(ABOVE - min(gaps), 0.0) * normal
    return q


def contact_data(contacts: Contacts) -> dict[str, Any]:
    """Return radii and places of spheres, planes, pairs of spheres, and the coefficients as plain data."""
    model = contacts.robot.model
    places = []
    for x in contacts.spheres:
        body, pose = model.mechanism.frames[x.frame]
        center = (pose @ Transform(p=Vec(*map(float, x.center)))).p
        places.append({"body": body, "center": [float(v) for v in center]})
    planes = [{"point": p.tolist(), "normal": n.tolist()} for p, n in zip(contacts.points, contacts.normals)]
    return {
        "spheres": contacts.radii.tolist(),
        "places": places,
        "planes": planes,
        "pairs": contacts.pairs.tolist(),
        "friction": contacts.friction,
        "restitution": contacts.restitution,
    }


def ends(model: Model) -> list[str]:
    """Return the frames at the ends of moving chains: the tip of a robot that has one, otherwise at most `TIPS` of them."""
    try:
        return [model.tip] if model.mechanism.frames[model.tip][0] != WORLD else []
    except InputError:
        inner = {joint.parent for joint in model.joints} | {frame.link for frame in model.frames}
        moving = [name for name, (body, _) in model.mechanism.frames.items() if name not in inner and body != WORLD]
        return moving[:TIPS]


def moving(robot: Robot, q: np.ndarray, tips: list[str]) -> list[str]:
    """Return the tips that can move in spite of closed loops; if none can, the frame that moves fastest."""
    if not tips or not any(c.active for c in robot.model.constraints):
        return tips
    A = robot.constraint_jacobian(q)
    free = np.eye(robot.nv) - np.linalg.pinv(A, rcond=1e-9) @ A
    speed = {x: float(np.linalg.norm(robot.jacobian(q, x, reference="world_aligned")[3:] @ free)) for x in robot.frame_names}
    most = max(speed, key=lambda x: speed[x])
    return [x for x in tips if speed[x] > STILL * speed[most]] or ([most] if speed[most] else [])


def tip_data(model: Model, name: str) -> dict[str, Any]:
    """Return the place of a frame, and the inertial parameters that a point mass of 1 kg there adds to its link."""
    index, pose = model.mechanism.frames[name]
    links = [body.index for body in model.bodies if body.is_link]
    x, y, z = (float(v) for v in (model.bodies[index].link.inverse @ Transform(pose.R, pose.p)).p)
    values = [1.0, x, y, z, y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y]
    payload = {"at": 10 * links.index(index), "values": values} if index in links else None
    return {"name": name, "frame": list(model.mechanism.frames).index(name), "body": index, "payload": payload}
