"""Reader of URDF: links, inertias, joints, limits, friction, mimics. No other file is opened.

The file is read by the specification (http://wiki.ros.org/urdf/XML); where real files deviate from it, the reader is tolerant and
warns. Elements that dynamics does not need (transmissions, plugins) are skipped. Elements and an attribute of our own, which other
readers skip, express what URDF cannot: `qddot_drive`, `qddot_screw`, `qddot_gravity`, and `qddot_unlimited` of `<limit>`, which
names the limits that are infinite.
"""

from __future__ import annotations

import difflib
import math
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from qddot.errors import ModelFormatError, ModelSecurityError, ModelStructureError, ModelWarning, near_matches
from qddot.formats.mesh_paths import check_mesh_paths
from qddot.formats.reach import Reach, Refused
from qddot.formats.subject import Subject
from qddot.formats.urdf_elsewhere import report_elsewhere
from qddot.formats.urdf_visuals import colors_of, visuals_of
from qddot.formats.xml_tree import Element
from qddot.model.check import check_the_rest, doubt, unprintable, warn
from qddot.model.check_tree import MAX_LINKS
from qddot.model.description import Joint, Limits, Link, Mimic, Visual
from qddot.model.drive import NUMBERS, Drive
from qddot.model.faults import Faults
from qddot.model.friction import DIRECTED
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import from_quaternion, from_rpy, snapped, unit
from qddot.model.scalar import Scalar
from qddot.model.spatial import Mat, Transform, Vec
from qddot.place import TablePlace

KINDS = {
    "revolute": "revolute",
    "continuous": "continuous",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
    "spherical": "spherical",
}
"""Type in URDF -> kind of joint."""
BOUNDED = ("revolute", "prismatic", "helical")  # continuous joints have no bounds, the others no single position
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
MOST_HARMONICS = 100
"""The most harmonics of a joint in `qddot_drive`."""
DRIVE_NUMBERS = tuple(name for name in NUMBERS if name not in DIRECTED)
# attribute -> possible counts of its numbers
DRIVE_LISTS = {**dict.fromkeys(DIRECTED, (1, 2)), "rotor_axis": (3,), "torque_speed": (2,), "series_stiffness": (1,)}
BELONG = {  # tag -> tags of its children; a child with one of these tags in another element is reported, since it is ignored
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}
LIMITS = ("lower", "upper", "velocity", "effort")
TOP = {"link": MAX_LINKS, "joint": MAX_LINKS}  # the most elements of a tag under the root
UNLIMITED = sys.float_info.max  # stands for infinity, which the format does not have
ROUNDING = 4 * sys.float_info.epsilon
TINY_AXIS = 1e-9
HUGE_LENGTH = 1e9


def robot_of(root: Element, stem: str, reach: Reach, *, strict: bool = False, gravity: Sequence[Scalar] | None = None) -> Model:
    """Return the robot in the root element of a URDF file; `stem` is the name of a robot without one."""
    _refuse_xacro(root)
    if root.tag != "robot":
        rule = f"the root is <{root.tag}>, expected <robot>"
        raise ModelFormatError(rule, place=root.place, fix="this reads URDF; qddot.load also reads MJCF, whose root is <mujoco>")
    faults = Faults()
    with faults:
        _check_places(root)
    links, joints = _links(root, strict, faults), []
    for joint in root.all("joint"):
        with faults:
            joints.append(_joint(joint, strict))
    check_the_rest(joints, {link.attributes.get("name", "") for link in root.all("link")}, faults)
    faults.tell()
    name = _robot_name(root, stem)
    report_elsewhere(root)
    _report_unlimited([joint for joint in root.all("joint") if _lacks_limits(joint)], strict)
    looks = (e for part in root.children if part.tag in ("link", "material") for e in part.walk())
    check_mesh_paths((e for e in looks if e.tag in ("mesh", "texture")), reach, strict)
    links = [replace(link, visuals=drawn) for link, drawn in zip(links, _visuals(root, reach))]
    return Model(name, links, joints, gravity=_gravity(root) if gravity is None else gravity, strict=strict)


# the file as a whole --------------------------------------------------------------------------------------------------


def _refuse_xacro(root: Element) -> None:
    """Raise ModelSecurityError: the file is xacro, a program that writes a URDF; it has its own reader."""
    prefixes: set[str] = set()
    for element in root.walk():
        for key, value in element.attributes.items():
            if key.startswith("xmlns:") and value.rstrip("/").endswith("xacro"):
                prefixes.add(key.removeprefix("xmlns:"))
        code = next((v for v in element.attributes.values() if "${" in v or "$(" in v), None) if prefixes else None
        if element.tag.startswith("xacro:") or element.tag.rpartition(":")[0] in prefixes or code is not None:
            rule = "this is xacro, which includes files and evaluates expressions: a URDF does not"
            fix = "give the file the suffix .xacro"
            raise ModelSecurityError(rule, place=element.place, element=f"<{element.tag}>", text=code, fix=fix)


def _check_places(root: Element) -> None:
    """Check that links and joints are under the root and their parts in them: misplaced or misspelt ones would be ignored."""
    structural = {tag for tags in BELONG.values() for tag in tags} | {"robot"}
    for parent in (root, *(e for e in root.children if e.tag in BELONG), *(i for e in root.all("link") for i in e.all("inertial"))):
        if parent is not root:
            parent.report_copies(BELONG[parent.tag])
        for child in parent.children:
            if child.tag in BELONG[parent.tag]:
                continue
            if child.tag in ("robot", "link", "joint"):
                rule = f"a <{child.tag}> stands inside <{parent.tag}>"
                raise ModelStructureError(rule, **child.where, fix="move it under <robot>")
            if ":" in child.tag:
                rule = f"<{child.tag}> is of another namespace and is ignored"
                warn(rule, **child.where, fix=f"write <{child.tag.partition(':')[2]}> if URDF is meant")
            elif child.tag in structural:
                warn(f"<{child.tag}> has no meaning in <{parent.tag}> and is ignored", **child.where)
            elif close := difflib.get_close_matches(child.tag.lower(), BELONG[parent.tag], n=1, cutoff=0.6):
                warn(f"unknown element <{child.tag}> is ignored", **child.where, fix=f"did you mean <{close[0]}>?")


def _robot_name(root: Element, stem: str) -> str:
    name = root.attributes.get("name", "")
    if not name:
        name = stem
        warn(f"the robot has no name; it is called {name!r}", place=root.place, element="robot", fix="give <robot> a name")
    if fault := unprintable(name):
        raise root.wrong("name", fault, fix="remove it")
    return name


def _gravity(root: Element) -> Sequence[float]:
    element = root.one("qddot_gravity")
    return element.numbers("xyz", 3) if element else GRAVITY


# links ----------------------------------------------------------------------------------------------------------------


def _links(root: Element, strict: bool, faults: Faults) -> list[Link]:
    """Return the links. Most errors of a link are about its inertia, so that is its place; for its name it is the link's tag."""
    elements = root.all("link")
    links = []
    with faults:
        if not elements:
            raise ModelStructureError("there is no <link>", **root.where, fix="add one")
    for link in elements:
        with faults:
            name, inertial = link.text("name"), link.one("inertial")
            place = TablePlace(*(inertial or link).place, {"name": link.place})
            shapes = len(link.all("visual")) + len(link.all("collision"))
            links.append(Link(name, inertial and _inertia(inertial, strict), place, shapes=shapes))
    return links


def _visuals(root: Element, reach: Reach) -> list[tuple[Visual, ...]]:
    """Return the visuals of each link; meshes out of reach have been reported before."""

    def find(name: str) -> Path | None:
        try:
            return reach.mesh(name)
        except Refused:
            return None

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # dynamics does not need visuals
        colors = colors_of(root)
        return [visuals_of(link, lambda element: _origin(element, False), colors, find) for link in root.all("link")]


def _inertia(inertial: Element, strict: bool) -> Inertia:
    """Return the inertia in the link's axes about the centre of mass; the inertial frame may be rotated."""
    mass, inertia = inertial.need("mass"), inertial.one("inertia")
    mass.report_unknown_attributes(("value",))
    value = mass.number("value")
    if value < 0:
        raise mass.wrong("value", "a mass is not negative", fix="give its magnitude")
    if inertia is None:
        rule = "<inertia> is missing: the mass is taken as a point"
        warn(rule, **inertial.where, fix="add <inertia ixx=... />")
        body = Inertia.point(value)
    else:
        inertia.report_unknown_attributes(MOMENTS)
        body = Inertia(value, tensor=[inertia.number(key) for key in MOMENTS])
    return Subject(inertial.path, inertial.place).made(body.moved, _origin(inertial, strict))  # numbers may overflow


def _origin(element: Element, strict: bool) -> Transform:
    """Return the pose in `<origin>`, the identity without one. The first of several counts, as in urdfdom."""
    given = element.all("origin")
    if not given:
        return Transform(Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, 1.0, 0.0), Vec(0.0, 0.0, 1.0)), Vec(0.0, 0.0, 0.0))
    origin = given[0]
    for other in given[1:]:
        if not other.says_the_same(origin):
            rule = f"a second <origin> that differs: the first, on line {origin.place.line}, counts"
            doubt(rule, strict, **other.where, fix="keep one")
    origin.report_unknown_attributes(("xyz", "rpy", "quat_xyzw"))
    position = origin.numbers("xyz", 3) if "xyz" in origin.attributes else (0.0, 0.0, 0.0)
    if max(map(abs, position)) > HUGE_LENGTH:
        warn("a distance this large is hardly meant", **origin.where, text=origin.attributes["xyz"])
    return Transform(_rotation(origin), Vec(*position))


def _rotation(origin: Element) -> Mat:
    if "quat_xyzw" in origin.attributes:
        if "rpy" in origin.attributes:
            raise origin.wrong("quat_xyzw", "rpy and quat_xyzw both give the orientation", fix="keep one")
        x, y, z, w = origin.numbers("quat_xyzw", 4)
        length = math.hypot(x, y, z, w)
        if abs(length - 1) > 1e-3:
            raise origin.wrong("quat_xyzw", f"a rotation is a unit quaternion, its length is {length:g}", fix="normalise it")
        return Mat(*snapped(from_quaternion(w / length, x / length, y / length, z / length)))
    angles = origin.numbers("rpy", 3) if "rpy" in origin.attributes else (0.0, 0.0, 0.0)
    return from_rpy(*Subject(origin.path, origin.place).angles("rpy", angles))


# joints ---------------------------------------------------------------------------------------------------------------


def _joint(element: Element, strict: bool) -> Joint:
    name, kind = element.text("name"), _kind(element)
    parent, child = (element.need(role, ModelStructureError).text("link") for role in ("parent", "child"))
    parts = {{"limit": "limits"}.get(part.tag, part.tag): part.place for part in element.children}
    joint = Joint(name, kind, parent, child, _origin(element, strict), place=TablePlace(*element.place, parts))
    if kind == "fixed":
        return joint  # its axis, limits and friction are leftovers, which real files have
    if kind not in ("free", "spherical"):
        joint = replace(joint, axis=_axis(element))
    if screw := element.one("qddot_screw"):
        joint = replace(joint, pitch=screw.number("pitch") if kind == "helical" else 0.0, rate=screw.number("rate", 1.0))
    faults, said = Faults(), {}
    for part, read in {"limits": partial(_limits, kind=kind), "mimic": _mimic, "drive": _drive}.items():
        with faults:
            said[part] = read(element)
    faults.tell()
    return replace(joint, **said)


def _kind(element: Element) -> str:
    text = element.text("type")
    if text == "helical" and element.one("qddot_screw"):
        return "helical"
    if text not in KINDS:
        close = near_matches(text.lower(), KINDS)  # a list of all kinds, if none is near; the rule has that already
        fix = close if close.startswith("did") else ""
        raise element.wrong("type", f"unknown joint type; known: {', '.join(KINDS)}", fix=fix)
    return KINDS[text]


def _axis(element: Element) -> Vec:
    """Return the axis as a unit vector; x by default, as specified."""
    axis = element.one("axis")
    if axis is None:
        return Vec(1.0, 0.0, 0.0)
    axis.report_unknown_attributes(("xyz",))
    given = Vec(*axis.numbers("xyz", 3))
    direction, length = unit(given)
    if length < TINY_AXIS:
        raise axis.wrong("xyz", f"the axis has length {length:g}, so no direction", fix="give a unit vector such as 0 0 1")
    if abs(length - 1) > 1e-6:
        warn(f"the axis has length {length:g}; it is normalised", **axis.where, text=axis.text("xyz"))
    return given if abs(length - 1) <= ROUNDING else direction  # so that a written unit vector reads back to the same bits


def _limits(element: Element, kind: str) -> Limits:
    """Return the limits of position, speed and effort; a missing one is infinite."""
    limit = element.one("limit")
    if limit is None:
        return Limits()
    limit.report_near_misses((*LIMITS, "qddot_unlimited"))
    bounds = {key: _bound(limit, key) for key in LIMITS}
    for key in ("velocity", "effort"):
        if (bounds[key] or 0) < 0:
            raise limit.wrong(key, "a limit is not negative", fix="give its magnitude")
    lower, upper = bounds.pop("lower"), bounds.pop("upper")
    if kind in BOUNDED and (lower, upper) != (None, None):
        lower, upper = lower or 0.0, upper or 0.0  # the specification's default for one that is missing
        if lower > upper:
            raise limit.wrong("lower", f"the lower limit {lower:g} is above the upper {upper:g}", fix="swap them")
        bounds |= {"lower": lower, "upper": upper}
    return Limits(**{key: value for key, value in bounds.items() if value is not None})


def _bound(limit: Element, key: str) -> float | None:
    if key not in limit.attributes:
        return None
    value = limit.number(key)
    unlimited = key in limit.attributes.get("qddot_unlimited", "").split()
    return math.copysign(math.inf, value) if unlimited or abs(value) >= UNLIMITED else value


def _lacks_limits(joint: Element) -> bool:
    """Return True for a joint that has no limits of position although the specification requires them."""
    limit = joint.one("limit")
    return _kind(joint) in BOUNDED and not (limit and {"lower", "upper"} & limit.attributes.keys())


def _report_unlimited(joints: list[Element], strict: bool) -> None:
    if joints:
        more = f", nor have {len(joints) - 1} more" if len(joints) > 1 else ""
        rule = f"it has no limits of position{more}; they are taken as infinite"
        doubt(rule, strict, **joints[0].where, fix="add <limit lower= upper= />, or type continuous")


def _mimic(element: Element) -> Mimic | None:
    mimic = element.one("mimic")
    if mimic is None:
        return None
    mimic.report_near_misses(("joint", "multiplier", "offset"))
    return Mimic(mimic.text("joint"), mimic.number("multiplier", 1.0), mimic.number("offset", 0.0))


def _drive(element: Element) -> Drive | None:
    """Return the drive in `<dynamics>`, or that in our own element, which then holds all of it."""
    own = element.one("qddot_drive")
    if own is None:
        dynamics = element.one("dynamics")
        return dynamics and _friction(dynamics)
    own.report_unknown_attributes((*DRIVE_NUMBERS, *DRIVE_LISTS, "harmonics", "side"))
    values: dict[str, Any] = {key: own.number(key) for key in DRIVE_NUMBERS if key in own.attributes}
    for key, counts in DRIVE_LISTS.items():
        if key in own.attributes:
            numbers = own.numbers(key, *counts)
            values[key] = numbers[0] if len(numbers) == 1 else tuple(numbers)
    if "harmonics" in own.attributes:
        flat = own.numbers("harmonics", *range(3, 3 * MOST_HARMONICS + 1, 3))
        values["harmonics"] = list(zip(flat[::3], flat[1::3], flat[2::3]))
    return Subject(own.path, own.place).made(Drive, **values, side=own.attributes.get("side", "joint"))


def _friction(dynamics: Element) -> Drive | None:
    dynamics.report_near_misses(("damping", "friction"))
    damping, friction = (dynamics.number(key, 0.0) for key in ("damping", "friction"))
    if friction < 0:
        raise dynamics.wrong("friction", "friction is not negative", fix="give its magnitude")
    if damping < 0:  # kept and reported: see `check_physics`
        return Drive(damping=damping, coulomb=friction)
    return Drive(viscous=damping, coulomb=friction) if damping or friction else None
