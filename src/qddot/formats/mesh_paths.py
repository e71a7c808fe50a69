"""Check of the mesh names in a description. Dynamics does not need meshes, so a strange name only gives a warning.

Nothing is opened here; meshes are opened through `Reach.mesh`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from qddot.errors import ModelSecurityError
from qddot.formats.reach import PACKAGES, SCHEME, Reach, Refused
from qddot.formats.xml_tree import Element
from qddot.model.check import warn

DRIVE = re.compile(r"[A-Za-z]:")
MAX_CLIMB = 2  # ../../meshes is a usual layout; further up is outside the package
FIX = "name it relative to the description, or by package://"


def check_mesh_paths(elements: Iterable[Element], reach: Reach, strict: bool) -> None:
    """Report meshes of a URDF that are outside the description's own folders, or missing there or in their packages.

    Args:
        elements: elements with an attribute `filename`.
        reach: that of the description; files in it may be named by their full path, also `file://`.
        strict: refuse meshes outside.

    Raises:
        ModelSecurityError: strict, and see `report_foreign`.
    """
    named = [(element, "filename") for element in elements if "filename" in element.attributes]
    foreign = report_foreign(named, reach, strict)
    if reach.folder is not None:  # a text has no folder in which a file could be missing
        report_missing([(x, key) for x, key in named if x not in foreign and _is_missing(x.attributes[key], reach)], reach)


def report_foreign(named: Iterable[tuple[Element, str]], reach: Reach, strict: bool, climb: int = MAX_CLIMB) -> list[Element]:
    """Return the elements whose attribute names a file outside the description's folders, and report them. Raises
    ModelSecurityError: strict, and an absolute path, a network path, a URI other than `package://` and `model://`, or too many
    `..`."""
    reasons = [(x, key, forbidden(x.attributes[key], climb)) for x, key in named if not _within(x.attributes[key], reach)]
    foreign = [found for found in reasons if found[-1]]
    if foreign:
        element, key, reason = foreign[0]
        where = {**element.where, "text": element.attributes[key]}
        if strict:
            raise ModelSecurityError(reason, **where, attribute=key, fix=FIX)
        more = f", and {len(foreign) - 1} more like it" if len(foreign) > 1 else ""
        warn(f"{reason}{more}; the dynamics do not need the file, and it is not opened", **where, fix=FIX)
    return [element for element, _, _ in foreign]


def report_missing(named: list[tuple[Element, str]], reach: Reach | None = None) -> None:
    """Warn of files that do not exist; with `reach`, the fix says if the first one's package is not found."""
    if named:
        element, key = named[0]
        others = len({x.attributes[k] for x, k in named}) - 1
        more = f", and {others} more {'are' if others > 1 else 'is'} missing" if others else ""
        rule = f"the file does not exist{more}; the dynamics do not need it"
        fix = "put it there if you want to draw"
        if reach is not None and (package := _package(element.attributes[key])):
            try:
                reach.package(package)
            except Refused as lost:
                rule, fix = f"{lost.rule}{more}; the dynamics do not need the file", f"{lost.fix}, if you want to draw"
        warn(rule, **element.where, text=element.attributes[key], fix=fix)


def forbidden(name: str, climb: int = MAX_CLIMB) -> str:
    """Return why a name leads out of the description's folders; empty if it does not. `climb`: the most folders it may lead up."""
    path = unquote(name).strip().replace("\\", "/")
    if path.startswith("//"):
        return "a network path"
    if path.startswith(("/", "~")) or DRIVE.match(path):
        return "an absolute path"
    floor = -climb
    if scheme := SCHEME.match(path):
        if scheme[1].lower() not in PACKAGES:
            return f"a {scheme[1].lower()} URI"
        path, floor = path[scheme.end() :].lstrip("/"), 1  # the first part is the package, which `..` must not leave
    depth = 0
    for part in path.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if part == ".." and depth < floor:
            return "a path that climbs out of the description's folder"
    return ""


def _within(name: str, reach: Reach) -> bool:
    """Return True for a full path in one of the description's folders."""
    full = Path(name.removeprefix("file://"))
    return full.is_absolute() and ".." not in full.parts and any(full.is_relative_to(root) for root in reach.roots)


def _package(name: str) -> str:
    """Return `arm_description` for `package://arm_description/meshes/base.stl`; empty if no package is named."""
    scheme = SCHEME.match(name)
    return unquote(name[scheme.end() :]).lstrip("/").partition("/")[0] if scheme and scheme[1].lower() in PACKAGES else ""


def _is_missing(name: str, reach: Reach) -> bool:
    """Return True if a relative name, or one in a package, leads to no file."""
    assert reach.folder is not None
    if _package(name):
        try:
            return not _exists(reach.mesh(name))
        except Refused:
            return True
    return not SCHEME.match(name) and not Path(name).is_absolute() and not _exists(reach.folder / name)


def _exists(path: Path) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a name that no file system allows
        return False
