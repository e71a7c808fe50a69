"""Writer of URDF files that read back to the same robot: dynamics, joint order, limits, mimics, frames, drives, gravity.

Numbers read back bit for bit; only rotations are written as roll, pitch and yaw (error about 1e-15). What URDF cannot express goes
into elements that other readers skip: `qddot_drive`, `qddot_screw` and `qddot_gravity`. A hinge without limits of position is
written as `continuous`; any other infinite limit as a large number, and `qddot_unlimited` beside it names it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from xml.etree.ElementTree import Element, ElementTree, SubElement, indent

from qddot.arguments import file_path
from qddot.errors import ModelValueError
from qddot.files import write_whole
from qddot.formats.urdf import BOUNDED, DRIVE_LISTS, DRIVE_NUMBERS, KINDS, LIMITS, MOMENTS
from qddot.model.check import warn
from qddot.model.description import Joint, Limits, Link
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model, refuse_symbols
from qddot.model.pose import to_rpy
from qddot.model.scalar import Scalar
from qddot.model.spatial import Transform, upper

TYPES = {kind: name for name, kind in KINDS.items()} | {"helical": "helical"}
ONLY_OURS = ("helical", "spherical")
OPEN = (-math.inf, math.inf)
STAND_IN = 1e9  # written for an infinite limit: other readers fail on infinity and on the largest double
NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_urdf(model: Model, path: str | Path, comment: str = "") -> None:
    """Write a model as URDF; the file appears whole or not at all. The comment is written above the robot.

    A link whose frame is not its joint's frame (`Joint.tip`, as in standard DH) becomes two: `<name>__body`, which moves and has
    the inertia, and a massless link of the original name fixed to it. A frame becomes a massless link of its name.

    Raises:
        UnboundSymbolError: the model still holds symbols.
        ModelValueError: a name holds a character XML cannot.
        OSError: the file cannot be written; it names the path given.
    """
    tree = ElementTree(to_element(model))
    indent(tree)
    content = BytesIO()
    tree.write(content, encoding="utf-8", xml_declaration=True)
    declaration, _, robot = content.getvalue().partition(b"\n")
    above = f"<!-- {comment.replace('--', '- -')} -->\n".encode() if comment else b""  # two dashes would end the comment
    write_whole(file_path("path", path), declaration + b"\n" + above + robot + b"\n")


def to_element(model: Model) -> Element:
    """Return the `<robot>` element. Raises UnboundSymbolError, ModelValueError: as `write_urdf`."""
    _check_writable(model)
    robot = Element("robot", name=model.name)
    if model.gravity != GRAVITY:
        SubElement(robot, "qddot_gravity", xyz=_numbers(*model.gravity))
    links, joints = {link.name for link in model.links} | {f.name for f in model.frames}, {joint.name for joint in model.joints}
    tips = {j.child: j for j in model.joints if j.kind != "fixed" and j.tip != Transform()}
    bodies = {name: _fresh(f"{name}__body", links) for name in tips}
    for link in model.links:
        _add_link(robot, link, tips.get(link.name), bodies.get(link.name, ""))
    for joint in model.joints:
        _add_driven_joint(robot, joint, bodies.get(joint.child, joint.child))
        if joint.child in bodies:  # right after its joint, which keeps the order of the joints further out
            _add_joint(robot, _fresh(f"{joint.child}__tip", joints), "fixed", bodies[joint.child], joint.child, joint.tip)
    for frame in model.frames:
        SubElement(robot, "link", name=frame.name)
        _add_joint(robot, _fresh(f"{frame.name}__frame", joints), "fixed", frame.link, frame.name, frame.pose)
    return robot


def _check_writable(model: Model) -> None:
    refuse_symbols(model)
    for name in (model.name, *(thing.name for thing in (*model.links, *model.joints, *model.frames))):
        if NOT_XML.search(name):
            raise ModelValueError("a name holds a character XML cannot", attribute="name", text=name, fix="rename it")
    ours = [j.name for j in model.joints if j.kind in ONLY_OURS or j.rate != 1]
    if ours:
        warn(f"only qddot reads the joints {', '.join(map(repr, ours))}: URDF has no screws, scaled coordinates or ball joints")
    lost = [j.name for j in model.joints if j.kind in ("planar", "spherical", "free") and (j.limits.lower, j.limits.upper) != OPEN]
    if lost:
        warn(f"position limits of the joints {', '.join(map(repr, lost))} are not written: URDF has none for their types")
    if model.transmissions:
        names = ", ".join(repr(name) for x in model.transmissions for name in x.motors)
        warn(f"the coupled motors {names} are not written: URDF has none")
    if model.constraints:
        names = ", ".join(repr(c.name) for c in model.constraints)
        warn(f"the constraints {names} are not written: URDF describes trees only")


def _fresh(name: str, taken: set[str]) -> str:
    """Return the name, with underscores added until no other thing has it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


# parts ----------------------------------------------------------------------------------------------------------------


def _add_link(robot: Element, link: Link, above: Joint | None, body: str) -> None:
    if above is None:
        _add_inertia(SubElement(robot, "link", name=link.name), link.inertia)
        return
    _add_inertia(SubElement(robot, "link", name=body), link.inertia and link.inertia.moved(above.tip))
    SubElement(robot, "link", name=link.name)


def _add_inertia(link: Element, inertia: Inertia | None) -> None:
    if inertia is None:
        return
    inertial = SubElement(link, "inertial")
    SubElement(inertial, "origin", xyz=_numbers(*inertia.com), rpy="0 0 0")
    SubElement(inertial, "mass", value=_numbers(inertia.mass))
    SubElement(inertial, "inertia", {key: _numbers(x) for key, x in zip(MOMENTS, upper(inertia.tensor), strict=True)})


def _add_driven_joint(robot: Element, joint: Joint, child: str) -> None:
    if joint.kind == "fixed":
        _add_joint(robot, joint.name, "fixed", joint.parent, child, joint.origin @ joint.tip)
        return
    bounded = (joint.limits.lower, joint.limits.upper) != OPEN
    kind = joint.kind
    if kind in ("revolute", "continuous"):  # in URDF a hinge with or without limits of position
        kind = "revolute" if bounded else "continuous"
    element = _add_joint(robot, joint.name, TYPES[kind], joint.parent, child, joint.origin)
    if kind not in ("free", "spherical"):
        SubElement(element, "axis", xyz=_numbers(*joint.axis))
    _add_limits(element, joint.limits, kind)
    if joint.mimic:
        multiplier, offset = _numbers(joint.mimic.multiplier), _numbers(joint.mimic.offset)
        SubElement(element, "mimic", joint=joint.mimic.joint, multiplier=multiplier, offset=offset)
    if kind == "helical" or joint.rate != 1:
        SubElement(element, "qddot_screw", pitch=_numbers(joint.pitch), rate=_numbers(joint.rate))
    if joint.drive and joint.drive != Drive():
        _add_drive(element, joint.drive)


def _add_joint(robot: Element, name: str, kind: str, parent: str, child: str, pose: Transform) -> Element:
    joint = SubElement(robot, "joint", name=name, type=kind)
    SubElement(joint, "parent", link=parent)
    SubElement(joint, "child", link=child)
    SubElement(joint, "origin", xyz=_numbers(*pose.p), rpy=_numbers(*to_rpy(pose.R)))
    return joint


def _add_limits(joint: Element, limits: Limits, kind: str) -> None:
    """Write limits: the specification requires speed and effort in every `<limit>`, and positions for bounded types."""
    keys: Collection[str] = LIMITS if kind in BOUNDED else ("velocity", "effort")
    values = {key: getattr(limits, key) for key in keys}
    if kind in BOUNDED or any(map(math.isfinite, values.values())):
        finite = {key: x if math.isfinite(x) else math.copysign(STAND_IN, x) for key, x in values.items()}
        limit = SubElement(joint, "limit", {key: _numbers(x) for key, x in finite.items()})
        if finite != values:
            limit.set("qddot_unlimited", " ".join(key for key, x in values.items() if math.isinf(x)))


def _add_drive(joint: Element, drive: Drive) -> None:
    """Write a drive as others read it, and in our own element if that is not all of it."""
    side = drive.at_joint.friction
    damping, friction = sum(side.viscous) / 2, sum(side.coulomb) / 2
    SubElement(joint, "dynamics", damping=_numbers(damping), friction=_numbers(friction))
    if drive == Drive(viscous=damping, coulomb=friction):
        return
    changed = {f.name: getattr(drive, f.name) for f in fields(drive) if getattr(drive, f.name) != f.default}
    own = SubElement(joint, "qddot_drive", {key: _numbers(changed[key]) for key in DRIVE_NUMBERS if key in changed})
    for key in DRIVE_LISTS:
        if key in changed:
            own.set(key, _numbers(*changed[key]) if isinstance(changed[key], tuple) else _numbers(changed[key]))
    if drive.harmonics:
        own.set("harmonics", _numbers(*(x for wave in drive.harmonics for x in wave)))
    own.set("side", drive.side)


def _numbers(*values: Scalar) -> str:
    """Return the shortest text that reads back to the same doubles."""
    return " ".join(repr(float(x) + 0.0) for x in values)  # + 0.0: no -0.0
