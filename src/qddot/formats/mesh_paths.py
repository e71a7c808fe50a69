"""May a description name this file? Meshes are never opened here, but whoever draws the robot will open them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from qddot.errors import ModelSecurityError
from qddot.formats.xml_tree import Element
from qddot.model.check import warn

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # two letters at least: one is a drive
DRIVE = re.compile(r"[A-Za-z]:")
RESOLVED_LATER = ("package", "model")
MAX_CLIMB = 2  # ../../meshes is a usual layout; more leaves the package


def check_mesh_paths(elements: Iterable[Element], file: str) -> None:
    """Refuse file names that lead out of the description's own folder tree; report relative ones that do not exist.

    Args:
        elements: those with an attribute `filename`.
        file: the description itself; relative names start from its folder.

    Raises:
        ModelSecurityError: an absolute path, a network path, a URI other than `package://` or `model://`, too many `..`.
    """
    missing = []
    for element in elements:
        name = element.attributes.get("filename")
        if name is None:
            continue
        if reason := forbidden(name):
            raise ModelSecurityError(
                reason,
                place=element.place,
                element=element.path,
                attribute="filename",
                text=name,
                fix="name it relative to the description, or by package://",
            )
        if not SCHEME.match(name) and not _exists(Path(file).parent / name):
            missing.append(element)
    if missing:
        first = missing[0]
        more = f", and {len(missing) - 1} more are missing" if len(missing) > 1 else ""
        rule = f"the file does not exist{more}; the dynamics do not need it"
        warn(rule, place=first.place, element=first.path, text=first.attributes["filename"])


def forbidden(name: str, climb: int = MAX_CLIMB) -> str:
    """Why a description may not name this file; empty if it may. `climb` is how many folders up it may lead."""
    path = unquote(name).strip().replace("\\", "/")
    if path.startswith("//"):
        return "a network path"
    if path.startswith(("/", "~")) or DRIVE.match(path):
        return "an absolute path"
    floor = -climb
    if scheme := SCHEME.match(path):
        if scheme[1].lower() not in RESOLVED_LATER:
            return f"a {scheme[1].lower()} URI"
        path, floor = path[scheme.end() :].lstrip("/"), 1  # the first part is the package, which `..` must not leave
    depth = 0
    for part in path.split("/"):
        depth += {"..": -1, ".": 0, "": 0}.get(part, 1)
        if part == ".." and depth < floor:
            return "a path that climbs out of the description's folder"
    return ""


def _exists(path: Path) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a name no file system can hold
        return False
