"""An MJCF file with its includes as one text, one element per line: so a line in MuJoCo's error messages leads to the element.

Anything that would make MuJoCo's compiler read outside the description's folders, or run without end, is refused before it starts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from qddot.errors import ModelFormatError, ModelReferenceError, ModelSecurityError, ModelStructureError
from qddot.formats.mesh_paths import forbidden, report_foreign
from qddot.formats.mjcf_limits import check_limits
from qddot.formats.reach import Reach, Refused
from qddot.formats.xml_tree import MAX_DEPTH, Element, parse_xml, read_bytes

FOLDERS = ("meshdir", "texturedir", "assetdir")
NUMBERS = {  # attributes whose numbers must be finite
    "pos", "quat", "axis", "euler", "axisangle", "xyaxes", "zaxis", "mass", "diaginertia", "fullinertia", "size", "fromto",
    "density", "viscosity", "wind", "gravity", "armature", "damping", "stiffness", "springref", "ref", "frictionloss", "gear",
    "polycoef", "anchor", "relpose", "coef", "gravcomp", "timestep",
}  # fmt: skip
DIRECTIONS = ("quat", "axis", "axisangle", "xyaxes", "zaxis")
"""Attributes that MuJoCo normalises as vectors."""

NORMAL = 1e100  # above it, or below its inverse, squares of a direction overflow or underflow
REFUSED = {
    "composite": "a composite body is many bodies with forces between them",
    "flexcomp": "a flexible body is not made of rigid links",
    "flex": "a flexible body is not made of rigid links",
    "plugin": "a plugin may add forces that only its code knows",
}


@dataclass(frozen=True)
class Source:
    """A description with its includes."""

    file: str  # name of the main file, as given
    text: str  # one element per line, includes in place
    lines: list[Element]  # element on each line of `text`

    def line(self, number: int) -> Element | None:
        """Return the element on a line of `text`, from 1."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else None


def read_source(root: Element, file: str, reach: Reach, strict: bool) -> Source:
    """Return the description whose main file is `file`, with the root element `root`.

    Args:
        strict: refuse meshes and textures out of reach, instead of warning that they are not opened.

    Raises:
        ModelReferenceError: an included file does not exist.
        ModelSecurityError: a file name leads out of the description's folders.
        ModelLimitError: memory or replication over a limit.
        ModelFormatError: bodies that are not rigid links.
    """
    merge(root, file, reach)
    check(root, reach, strict)
    lines = list(root.walk())
    return Source(file, written(root), lines)


def merge(root: Element, file: str, reach: Reach) -> None:
    """Replace every `<include>` by the content of its file, as MuJoCo does; each file at most once."""
    seen = {Path(file).resolve()}
    for element in root.walk():
        while any(child.tag == "include" for child in element.children):
            element.children = [part for child in element.children for part in included(child, file, reach, seen)]
            for child in element.children:
                child.parent = element


def included(element: Element, main: str, reach: Reach, seen: set[Path]) -> list[Element]:
    """Return the elements in the file of an `<include>`; any other element itself."""
    if element.tag != "include":
        return [element]
    path = found(element, main, reach)
    if path.resolve() in seen:
        rule, where = "the file is included twice", {"attribute": "file", "text": element.text("file")}
        raise ModelStructureError(rule, place=element.place, element="<include>", **where, fix="include it once")
    seen.add(path.resolve())
    return parse_xml(read_bytes(path), str(path)).children


def found(element: Element, main: str, reach: Reach) -> Path:
    """Return the file that an element names, relative to the main file or to its own, in the folders of the description."""
    check_path(element, "file")
    name, files = element.text("file"), [main, element.place.file]
    where = {"place": element.place, "element": f"<{element.tag}>", "attribute": "file", "text": name}
    for file in files if reach.folder else [file for file in files if file != main]:  # a text has no folder
        if (Path(file).parent / name).is_file():
            try:
                return reach.within(name, Path(file).parent)
            except Refused as refused:
                raise refused.kind(refused.rule, **where, fix=refused.fix) from None
    fix = f"it is looked for from {reach.folder}" if reach.folder else "load the description from a file: a text has no folder"
    raise ModelReferenceError("the file does not exist", **where, fix=fix)


def check(root: Element, reach: Reach, strict: bool) -> None:
    """Refuse elements and attributes that the compiler cannot be given; report meshes and textures that are out of reach."""
    elements = list(root.walk())
    assets = [x for x in elements if x.tag not in ("include", "model")]
    files = [(x, key) for x in assets for key in x.attributes if key.startswith("file") or (x.tag == "compiler" and key in FOLDERS)]
    report_foreign(files, reach, strict, climb=MAX_DEPTH)
    for element in elements:
        if element.tag in REFUSED:
            rule = f"{REFUSED[element.tag]}: <{element.tag}> is not read"
            kind = ModelSecurityError if element.tag == "plugin" else ModelFormatError  # code from elsewhere
            raise kind(rule, **element.where, fix="model it by rigid bodies and joints")
        for attribute in element.attributes:
            if attribute in NUMBERS:
                check_finite(element, attribute)
            if attribute == "file" and element.tag in ("include", "model"):
                check_path(element, attribute)
        if element.tag == "option" and "timestep" in element.attributes and not element.number("timestep") > 0:
            raise element.wrong("timestep", "a time step is positive", fix="the default is 0.002")
    check_limits(elements)


def check_finite(element: Element, attribute: str) -> None:
    """Refuse numbers that are not finite and directions whose length overflows: MuJoCo accepts them and only prints a message."""
    largest = 0.0
    for word in element.attributes[attribute].split():
        try:
            number = float(word)
        except ValueError:
            continue  # MuJoCo reports it
        if not math.isfinite(number):
            raise element.wrong(attribute, f"{word[:40]!r} is not finite in double precision", fix="write a finite number")
        largest = max(largest, abs(number))
    if attribute in DIRECTIONS and largest and not 1 / NORMAL < largest < NORMAL:
        raise element.wrong(attribute, "its length cannot be made 1 in double precision", fix="give a vector of length 1")


def check_path(element: Element, attribute: str) -> None:
    """Refuse a file name that leads out of the description's folders."""
    name = element.text(attribute)
    if reason := forbidden(name):
        raise ModelSecurityError(reason, **element.where, attribute=attribute, text=name, fix="name it relative to the description")


def written(root: Element) -> str:
    """Return the text of an element: one start tag per line, end tags after the last start tag in them."""
    lines: list[str] = []
    for element, starts in events(root):
        if starts:
            attributes = "".join(f" {key}={quoteattr(value)}" for key, value in element.attributes.items())
            lines.append(f"<{element.tag}{attributes}>")
        else:
            lines[-1] += f"</{element.tag}>"
    return "\n".join(lines) + "\n"


def events(root: Element) -> Iterator[tuple[Element, bool]]:
    """Yield each element at its start (True) and at its end (False)."""
    stack = [(root, True)]
    while stack:
        element, starts = stack.pop()
        yield element, starts
        if starts:
            stack.append((element, False))
            stack.extend((child, True) for child in reversed(element.children))
