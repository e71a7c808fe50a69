"""Compilation of MJCF by MuJoCo, which resolves defaults, angles, orientations and inertias of geoms.

Parts that no equation of motion needs (textures, sensors, meshes of bodies whose inertia is given) are removed first, so that a
description without its assets still loads.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from qddot.errors import ModelError, ModelReferenceError, ModelStructureError, ModelValueError, missing_extra, near_matches
from qddot.formats.mesh_paths import forbidden, report_missing
from qddot.formats.mjcf_text import Source, found, read_source
from qddot.formats.mjcf_visuals import mesh_file, named_meshes
from qddot.formats.reach import Reach, Refused
from qddot.formats.xml_tree import MAX_DEPTH, Element, parse_xml, read_bytes
from qddot.model.check import warn
from qddot.model.description import Visual
from qddot.model.inertia import Inertia
from qddot.model.model import unused
from qddot.model.pose import from_quaternion, snapped
from qddot.model.spatial import Mat, Transform, Vec, diagonal, symmetric
from qddot.place import Place

UNNEEDED = ("textures", "materials", "skins", "sensors", "pairs", "excludes")
STRUCTURE = ("repeated name", "top level")
UNKNOWN = re.compile(r"unknown (?:transmission target|element|default class name) '([^']*)'|'([^']*)' not found")
ADVICE = {  # part of MuJoCo's message -> fix
    "mass and inertia of moving bodies": "give it a <geom>, or an <inertial> with mass",
    "opening file": "give the body an <inertial>: then its meshes are not needed",
    "unrecognized": "see MuJoCo's XML reference",
    "zero quaternion": "give four numbers that are not all zero, or leave quat out",
    "invalid qpos size": "give as many numbers as expected",
    "invalid qvel size": "give as many numbers as expected",
    "should be smaller than": "write the smaller number first",
    "invalid range": "write the smaller number first",
    "must be positive": "give a number above zero",
    "repeated name": "rename one of them",
    "bad format": "write plain numbers, apart by blanks",
    "problem reading attribute": "write as many plain numbers as it needs, apart by blanks",
    "too small": "give a number above 1e-15, or none",
    "invalid": "see MuJoCo's XML reference for what it may be",
}


@dataclass(frozen=True)
class Compiled:
    """MuJoCo's model of a description."""

    file: str  # name of the description
    model: Any  # its `MjModel`; every body, joint and equality has a name
    elements: dict[tuple[str, str], Element]  # elements of bodies, joints, sites, actuators and equalities, by kind and name
    doubtful: dict[str, Inertia]  # name of a body -> inertia in its frame that no real body has, and that MuJoCo would refuse
    meshes: dict[str, Visual]  # name of a geom that is a mesh -> what is drawn

    def place(self, kind: str, name: str) -> Place:
        """Return the place of an element; the file, if the element is unknown."""
        element = self.elements.get((kind, name))
        return element.place if element else Place(self.file)

    def is_off(self, *terms: str) -> bool:
        """Return True if the file disables one of these terms; MuJoCo's versions have different ones."""
        flags = _mujoco().mjtDisableBit
        return any(self.model.opt.disableflags & int(getattr(flags, f"mjDSBL_{term}", 0)) for term in terms)


def compile_source(source: Source, reach: Reach) -> Compiled:
    """Return the compiled model. Raises MissingExtraError: MuJoCo is not installed; ModelError: MuJoCo refuses the description;
    with its reason and the place in the file."""
    mujoco = _mujoco()
    spec = _asked(source, mujoco.MjSpec.from_string, _with_absolute_models(source, reach))
    spec.modelfiledir = str(reach.folder or "")
    spec.compiler.fusestatic = False  # it would drop names
    spec.compiler.LRopt.mode = mujoco.mjtLRMode.mjLRMODE_NONE  # it would simulate muscles
    elements = _named(spec, source)
    meshes = named_meshes(mujoco, spec, reach, lambda geom: _weighs(spec, geom))
    _drop_unneeded(mujoco, spec, source, reach)
    claims = _take_impossible_inertias(spec, elements)
    model = _asked(source, spec.compile)
    doubtful = {
        name: Inertia(mass, tensor=tensor).moved(pose_of(model.body(name).ipos, model.body(name).iquat))
        for name, (mass, tensor) in claims.items()
    }
    return Compiled(source.file, model, elements, doubtful, meshes)


def _mujoco() -> Any:
    """Import the package, which is optional. Raises MissingExtraError: it is not installed."""
    try:
        return import_module("mujoco")
    except ImportError:
        raise missing_extra("mujoco", "mjcf", "reading MJCF") from None


def pose_of(position: np.ndarray, quaternion: np.ndarray) -> Transform:
    """Return a pose from MuJoCo's arrays, with exact zeros and ones."""
    w, x, y, z = (float(x) for x in quaternion / np.linalg.norm(quaternion))
    return Transform(snapped(Mat(*from_quaternion(w, x, y, z))), vec_of(position))


def vec_of(values: np.ndarray) -> Vec:
    return Vec(*(float(x) + 0.0 for x in values))


# MuJoCo's answers -----------------------------------------------------------------------------------------------------


def _asked(source: Source, call: Callable, *arguments: Any) -> Any:
    """Call MuJoCo; its warnings and errors are raised as ours, errors with their place."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer = call(*arguments)
        except Exception as error:  # usually ValueError; any error is about the description
            raise _refusal(str(error), source) from None
    for warning in caught:
        warn(f"MuJoCo warns: {' '.join(str(warning.message).split())}", place=Place(source.file))
    return answer


def _refusal(message: str, source: Source) -> ModelError:
    """Return our error for MuJoCo's error message."""
    at = re.search(r"\n?Element (?:name )?'[^']*'(?:, id \d+)?(?:, line (\d+))?\s*$", message)
    rule = " ".join(re.sub(r"^(XML )?(Error: )+", "", message[: at.start()] if at else message).split())
    element = source.line(int(at[1])) if at and at[1] else None
    opened, wrong = re.search(r"opening file '([^']*)'", rule), re.search(r"unrecognized attribute: '([^']*)'", rule)
    if opened:
        element = next((x for x in source.lines if Path(x.attributes.get("file", "")).name == Path(opened[1]).name), None)
    attribute = wrong[1] if wrong else "file" if opened and element else ""
    kind = ModelStructureError if any(part in rule for part in STRUCTURE) else ModelReferenceError if opened else ModelValueError
    fix = next((advice for part, advice in ADVICE.items() if part in rule), "")
    if (unknown := UNKNOWN.search(rule)) and element is not None:
        name = unknown[1] or unknown[2] or ""
        attribute = next((key for key, value in element.attributes.items() if value == name), "")
        kind, fix = ModelReferenceError, near_matches(name, _named_in(source, attribute.rstrip("12")))
    return kind(
        rule,
        place=element.place if element else Place(source.file, 1),
        element=element.path if element else "",
        attribute=attribute,
        text=element.attributes.get(attribute) if element else None,
        fix=fix,
    )


def _named_in(source: Source, attribute: str) -> list[str]:
    """Return the names that an attribute such as `joint` or `class` may refer to."""
    if "class" in attribute:
        return [x.attributes["class"] for x in source.lines if x.tag == "default" and "class" in x.attributes]
    return [x.attributes["name"] for x in source.lines if x.tag == attribute and "name" in x.attributes]


# before it compiles ---------------------------------------------------------------------------------------------------


def _with_absolute_models(source: Source, reach: Reach) -> str:
    """Return the text with the files of attached models by their full paths, since MuJoCo gets a text, which has no folder."""
    lines = source.text.split("\n")
    for i, element in enumerate(source.lines):
        if element.tag == "model" and "file" in element.attributes:
            path = found(element, source.file, reach).resolve()
            read_source(parse_xml(read_bytes(path), str(path)), str(path), reach.at(path), strict=True)  # only to check it
            lines[i] = lines[i].replace(quoteattr(element.text("file")), quoteattr(str(path)))
    return "\n".join(lines)


def _named(spec: Any, source: Source) -> dict[tuple[str, str], Element]:
    """Give every body, joint and equality a name, and return their elements by kind and name."""
    taken = {kind: {x.name for x in things} for kind, things in _kinds(spec).items()}
    elements = {(x.tag, x.attributes.get("name", "")): x for x in source.lines if x.tag in ("option", "key")}
    for kind, things in _kinds(spec).items():
        for thing in things:
            if not thing.name and kind != "site":
                wanted = f"{thing.parent.name}_joint" if kind == "joint" else f"{kind}{len(taken[kind])}"
                thing.name = unused(wanted, taken[kind])
                taken[kind].add(thing.name)
            line = re.search(r"line (\d+)", thing.info)
            element = source.line(int(line[1])) if line else None
            if element is not None and element.attributes.get("name", "") in thing.name and _is_a(kind, element):
                elements[kind, thing.name] = element  # otherwise it is a line of an attached file
    return elements


def _is_a(kind: str, element: Element) -> bool:
    tags = {"body": ("body", "worldbody"), "joint": ("joint", "freejoint"), "site": ("site",)}
    return element.tag in tags.get(kind, (element.tag,))


def _kinds(spec: Any) -> dict[str, list]:
    return {
        "body": spec.bodies,
        "joint": spec.joints,
        "site": spec.sites,
        "equality": spec.equalities,
        "actuator": spec.actuators,
        "tendon": spec.tendons,
    }


def _drop_unneeded(mujoco: Any, spec: Any, source: Source, reach: Reach) -> None:
    """Remove what the equations of motion do not need and what might need files, and check the files of the rest."""
    for thing in [*spec.geoms, *spec.sites, *spec.tendons]:
        thing.material = ""
    for kind in UNNEEDED:
        for thing in list(getattr(spec, kind)):
            spec.delete(thing)
    for geom in list(spec.geoms):
        if (geom.meshname or geom.hfieldname) and not _weighs(spec, geom):
            spec.delete(geom)
    for site in spec.sites:
        if getattr(site, "meshname", ""):
            site.meshname, site.type = "", mujoco.mjtGeom.mjGEOM_SPHERE
    used = {geom.meshname for geom in spec.geoms} | {geom.hfieldname for geom in spec.geoms}
    files, missing = {x.attributes["file"]: x for x in source.lines if "file" in x.attributes}, []
    for asset in [*spec.meshes, *spec.hfields]:
        name = asset.file
        if asset.name in used:
            if name:
                _check_opened(spec, name, source, reach)
            continue
        spec.delete(asset)
        if name in files and not forbidden(name, MAX_DEPTH) and not (Path(spec.modelfiledir) / spec.meshdir / name).is_file():
            missing.append((files[name], "file"))
    report_missing(missing)


def _check_opened(spec: Any, name: str, source: Source, reach: Reach) -> None:
    """Check that a mesh that MuJoCo opens for its volume is in the folders of the description."""
    try:
        mesh_file(spec, name, reach)
    except Refused as refused:
        element = next((x for x in source.lines if x.attributes.get("file") == name), None)
        where: dict[str, Any] = element.where if element else {"place": Place(source.file)}
        fix = f"{refused.fix}; or give the body an <inertial>: then its meshes are not needed"
        raise refused.kind(refused.rule, **where, attribute="file", text=name, fix=fix) from None


def _weighs(spec: Any, geom: Any) -> bool:
    """Return True if a geom may contribute to its body's inertia."""
    first, last = spec.compiler.inertiagrouprange
    light = geom.mass == 0 or (np.isnan(geom.mass) and geom.density == 0)
    return not (light or _is_given(spec, geom.parent) or geom.parent.name == "world") and first <= geom.group <= last


def _is_given(spec: Any, body: Any) -> bool:
    """Return True if a body's inertia is that of its `<inertial>`."""
    return bool(body.explicitinertial) and int(spec.compiler.inertiafromgeom) != 1


def _take_impossible_inertias(spec: Any, elements: dict[tuple[str, str], Element]) -> dict[str, tuple[float, Mat]]:
    """Return mass and tensor (in the inertial frame) of the bodies whose inertia MuJoCo would refuse; put a unit one in its place.

    None are taken if the compiler is asked to repair such inertias.
    """
    options = spec.compiler
    if options.balanceinertia or options.settotalmass > 0 or options.boundmass > 0 or options.boundinertia > 0:
        return {}
    claims = {}
    for body in spec.bodies:
        if not _is_given(spec, body):
            continue
        full = not np.isnan(body.fullinertia[0])
        xx, yy, zz, xy, xz, yz = (float(x) for x in (body.fullinertia if full else [*body.inertia, 0, 0, 0]))
        mass, tensor = float(body.mass), symmetric(xx, xy, xz, yy, yz, zz) if full else diagonal(xx, yy, zz)
        if mass < 0:
            element = elements.get(("body", body.name))
            where: dict[str, Any] = element.where if element else {"element": f"body {body.name!r}"}
            raise ModelValueError("a mass is not negative", **where, attribute="mass", text=f"{mass:g}", fix="give its magnitude")
        if Inertia(mass, tensor=tensor).inconsistency():
            claims[body.name] = mass, tensor
            body.mass, body.inertia, body.fullinertia = 1.0, [1.0, 1.0, 1.0], [np.nan, 0, 0, 0, 0, 0]
    return claims
