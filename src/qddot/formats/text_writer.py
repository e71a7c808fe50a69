"""Writer of TOML files of our own schema (`qddot.formats.text`) that read back to the same robot, symbols and coupled motors
included. Rotations are written as roll, pitch and yaw (error about 1e-15); other numbers read back bit for bit."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from qddot.arguments import file_path
from qddot.errors import ModelValueError
from qddot.files import write_whole
from qddot.model.constraints import Connect, Constraint, Coupling
from qddot.model.description import Frame, Joint, Limits
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.lower import in_order
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import to_rpy
from qddot.model.scalar import is_symbolic
from qddot.model.spatial import Mat, Transform, Vec, upper
from qddot.model.transmission import Transmission


def write_text(model: Model, path: str | Path) -> None:
    """Write a model as TOML; the file appears whole or not at all.

    A link whose frame is not its joint's frame (`Joint.tip`, as in standard DH) becomes two: `<name>__body`, which moves and has
    the inertia, and a massless link of the original name fixed to it.

    Raises:
        ModelValueError: something that bodies cannot express: a screw whose length is not 1, a rotated frame with symbols, a joint
            that a constraint holds at a constant.
        OSError: the file cannot be written; it names the path given.
    """
    write_whole(file_path("path", path), to_toml(model).encode())


def to_toml(model: Model) -> str:
    """Return the text of that file."""
    inertias = {link.name: link.inertia for link in model.links}
    top: dict[str, Any] = {"name": model.name, "base": model.root}
    top |= {"gravity": list(model.gravity)} if model.gravity != GRAVITY else {}
    top |= {"tip": model.end} if model.end is not None else {}
    top |= {"about": {"kinematics_only": model.kinematics_only}} if model.kinematics_only else {}
    base = inertias[model.root]
    top |= {"base_inertia": _inertia(base)} if base else {}
    bodies = [body for joint in in_order(model.joints, model.root) for body in _bodies(joint, inertias[joint.child])]
    frames = list(model.frames)
    constraints = [_constraint(c, frames) for c in model.constraints]
    tables = {
        "bodies": bodies,
        "frames": [{"name": x.name, "link": x.link, **_pose(x.pose, f"frame {x.name!r}")} for x in frames],
        "transmissions": [_transmission(x) for x in model.transmissions],
        "constraints": constraints,
    }
    top |= {"bodies": []} if not bodies else {}
    lines = [f"{key} = {_written(value)}" for key, value in top.items()]
    for name, rows in tables.items():
        for row in rows:
            lines += ["", f"[[{name}]]", *(f"{key} = {_written(value)}" for key, value in row.items())]
    return "\n".join(lines) + "\n"


def _bodies(joint: Joint, inertia: Inertia | None) -> list[dict[str, Any]]:
    """Return the table of a joint and its link, or two tables if the link's frame is not its joint's."""
    element = f"joint {joint.name!r}"
    if joint.rate != 1:
        raise ModelValueError("a screw with a length of its own: such a robot can be written as URDF", element=element)
    if joint.kind == "fixed":
        pose = _pose(joint.origin @ joint.tip, element)
        return [{"name": joint.child, "joint_name": joint.name, "parent": joint.parent, "type": "fixed", **pose, **_own(inertia)}]
    is_split = joint.tip != Transform()
    body = {"name": f"{joint.child}__body" if is_split else joint.child, "joint_name": joint.name, "parent": joint.parent}
    body |= {"type": joint.kind, "axis": list(joint.axis), **_pose(joint.origin, element)}
    body |= {"pitch": joint.pitch} if joint.kind == "helical" else {}
    body |= _own(inertia.moved(joint.tip) if inertia and is_split else inertia)
    limits = _changed(joint.limits, Limits())
    body |= {"limits": limits} if limits else {}
    if joint.mimic:
        body["mimic"] = {"joint": joint.mimic.joint, "multiplier": joint.mimic.multiplier, "offset": joint.mimic.offset}
    if joint.drive:
        body["drive"] = _changed(joint.drive, Drive())
    if not is_split:
        return [body]
    link = {"name": joint.child, "joint_name": f"{joint.name}__tip", "parent": body["name"], "type": "fixed"}
    return [body, link | _pose(joint.tip, element)]


def _own(inertia: Inertia | None) -> dict[str, Any]:
    return {"inertia": _inertia(inertia)} if inertia else {}


def _inertia(inertia: Inertia) -> dict[str, Any]:
    return {"mass": inertia.mass, "com": list(inertia.com), "tensor": list(upper(inertia.tensor))}


def _pose(pose: Transform, element: str) -> dict[str, Any]:
    if Mat() == pose.R:
        return {"xyz": list(pose.p)}
    if any(is_symbolic(x) for row in pose.R for x in row):
        raise ModelValueError("its orientation still holds symbols, and is written as numbers", element=element, fix="give values")
    return {"xyz": list(pose.p), "rpy": list(to_rpy(pose.R))}


def _transmission(x: Transmission) -> dict[str, Any]:
    drives = [_changed(drive or Drive(), Drive()) for drive in x.drives]
    return {"joints": list(x.joints), "matrix": [list(row) for row in x.matrix], "motors": list(x.motors), "drives": drives}


def _constraint(c: Constraint, frames: list[Frame]) -> dict[str, Any]:
    """Return the table of a constraint; points without a name are added to `frames`."""
    given = {"name": c.name, **({} if c.active else {"active": False})}
    if isinstance(c, Coupling):
        if c.leader is None:
            raise ModelValueError("it holds a joint at a constant: lock the joint instead", element=f"constraint {c.name!r}")
        return {"couple": [c.joint, c.leader], "coefficients": list(c.coefficients), **given}
    poses = (Transform(p=c.point1), Transform(p=c.point2)) if isinstance(c, Connect) else (c.pose1, c.pose2)
    names = [_frame(frames, link, pose, f"{c.name}.{k}") for k, (link, pose) in enumerate(zip((c.link1, c.link2), poses), 1)]
    return {"connect": names, "axes": c.axes, **given} if isinstance(c, Connect) else {"weld": names, **given}


def _frame(frames: list[Frame], link: str, pose: Transform, name: str) -> str:
    """Return the name of a pose on a link; without one, a new frame is added."""
    if pose == Transform():
        return link
    for frame in frames:
        if (frame.link, frame.pose) == (link, pose):
            return frame.name
    frames.append(Frame(name, link, pose))
    return name


def _changed(thing: Any, default: Any) -> dict[str, Any]:
    """Return the fields that differ from the default."""
    return {f.name: x for f in fields(thing) if (x := getattr(thing, f.name)) != getattr(default, f.name)}


def _written(x: Any) -> str:
    """Return a value in TOML, on one line."""
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, str):
        return json.dumps(x, ensure_ascii=False)
    if is_symbolic(x):
        return json.dumps(str(x))
    if isinstance(x, Mapping):
        return f"{{{', '.join(f'{key} = {_written(value)}' for key, value in x.items())}}}"
    if isinstance(x, (Vec, Sequence)):
        return f"[{', '.join(map(_written, x))}]"
    value = float(x)
    return ("inf" if value > 0 else "-inf") if math.isinf(value) else repr(value + 0.0)  # + 0.0: no -0.0
