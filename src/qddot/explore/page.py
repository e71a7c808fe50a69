"""The page: one HTML file with everything in it, which allows itself its own scripts and nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qddot.assets import asset, math_font_css
from qddot.catalog import BUNDLED
from qddot.errors import InputError
from qddot.explore.lengths import lengths
from qddot.explore.lens import lens
from qddot.explore.programs import page_programs, script, signatures
from qddot.explore.scene import scene
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.model.spatial import Transform
from qddot.pictures.view import bent

if TYPE_CHECKING:
    from qddot.explore.recording import Recording
    from qddot.robot import Robot

TIPS = 8
"""Ends that can be chosen; a robot with more has them, and no further ones."""

PACKED = 100_000
"""Characters of closed forms: with more of them they are compressed, which takes the browser a moment to undo."""


def page(
    robot: Robot,
    *,
    letters: Model | None = None,
    values: Mapping[str, float] | None = None,
    q: Any = None,
    recording: Recording | None = None,
) -> str:
    """The explorer of a robot as one HTML document.

    Args:
        letters: the same robot with its symbols open, for the equations; `values` are what the symbols stand for.
        q: configuration (nq,) to start with; a bent one within the limits if None.
        recording: a motion to be played.

    Raises:
        NoAssetError: this installation lacks the page's script.
        UnboundSymbolError: the robot still holds symbols.
        InputError: a q of another shape, or a robot without joints.
    """
    bundle, style = asset("explorer.js").decode(), math_font_css() + asset("explorer.css").decode()
    model = robot.model
    if not robot.nv:
        raise InputError(f"{robot.name} has no joints: there is nothing to explore")
    tips = ends(model)
    programs = page_programs(model, tips)
    data = {
        "name": robot.name,
        "source": source(robot),
        "nq": robot.nq,
        "nv": robot.nv,
        "start": {"q": (bent(robot) if q is None else robot._evaluate.configuration("q", q)).tolist(), "qd": [0.0] * robot.nv},
        "gravity": [float(x) for x in model.gravity],
        "parameters": robot.parameters()[: 10 * len(robot.body_names)].tolist(),
        "hasFriction": any(drive_acts(body.drive) for body in model.bodies),
        "isClosed": "loops" in programs,
        "tips": [tip_data(model, name) for name in tips],
        "sizes": signatures(programs),
        "motion": None if recording is None else recording.data(),
        "lengths": [] if letters is None else lengths(model, letters),
        **scene(model),
    }
    run = f"explorer.start({script(programs)});"
    equations = closed_forms(plain_json(lens(model, letters, values)))
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
    """The script element that holds them: as they are, or packed where they are long."""
    if len(text) < PACKED:
        escaped = text.replace("<", "\\u003c")
        return f'<script type="application/json" id="equations">{escaped}</script>'
    packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="equations">{packed}</script>'


def plain_json(data: Any) -> str:
    """Finite numbers only: what is not is an error here, and not a hole in the page."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def source(robot: Robot) -> str:
    """What `qddot.load` would be given: the name of the description's file, without its folder, which is nobody's business; or
    else the robot's name."""
    places = [x.place for x in (*robot.model.links, *robot.model.joints) if x.place is not None and x.place.file]
    file = Path(places[0].file) if places else Path(robot.name)
    return file.stem if file.parent == BUNDLED else file.name


def drive_acts(side: Any) -> bool:
    return bool(side.friction.laws or side.friction.is_dry or side.stiffness)


def ends(model: Model) -> list[str]:
    """The frames at the ends of chains that move, the one that is meant by default first."""
    try:
        return [model.tip] if model.mechanism.frames[model.tip][0] != WORLD else []
    except InputError:
        inner = {joint.parent for joint in model.joints} | {frame.link for frame in model.frames}
        moving = [name for name, (body, _) in model.mechanism.frames.items() if name not in inner and body != WORLD]
        return moving[:TIPS]


def tip_data(model: Model, name: str) -> dict[str, Any]:
    """Where the frame is, and what a point mass of 1 kg there adds to the inertial parameters of its link."""
    index, pose = model.mechanism.frames[name]
    links = [body.index for body in model.bodies if body.is_link]
    x, y, z = (float(v) for v in (model.bodies[index].link.inverse @ Transform(pose.R, pose.p)).p)
    values = [1.0, x, y, z, y * y + z * z, -x * y, -x * z, x * x + z * z, -y * z, x * x + y * y]
    payload = {"at": 10 * links.index(index), "values": values} if index in links else None
    return {"name": name, "frame": list(model.mechanism.frames).index(name), "body": index, "payload": payload}
