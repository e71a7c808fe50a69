"""Reader of the visuals of a URDF: shapes and meshes on links. Dynamics does not need them: unreadable ones are left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from qddot.errors import ModelError
from qddot.formats.xml_tree import Element
from qddot.model.description import Visual
from qddot.model.spatial import Transform

Color = tuple[float, float, float]


def colors_of(root: Element) -> dict[str, Color]:
    """Return the colours of the robot's materials, by name."""
    found = {}
    for material in root.all("material"):
        with suppress(ModelError):
            color = _rgb(material)
            if color is not None:
                found[material.text("name")] = color
    return found


def visuals_of(
    link: Element, origin: Callable[[Element], Transform], colors: Mapping[str, Color], find: Callable[[str], Path | None]
) -> tuple[Visual, ...]:
    """Return the shapes of one link.

    Args:
        origin: returns an element's pose.
        colors: the robot's materials, which visuals refer to by name.
        find: returns the file of a mesh by its name in the description; None if it may not be opened or does not exist.
    """
    found = []
    for visual in link.all("visual"):
        with suppress(ModelError):
            shape = _shape(visual, find)
            if shape is not None:
                found.append(replace(shape, pose=origin(visual), color=_color(visual, colors)))
    return tuple(found)


def _shape(visual: Element, find: Callable[[str], Path | None]) -> Visual | None:
    """Return the geometry of a visual; None if there is none that can be drawn."""
    geometry = visual.one("geometry")
    for form in geometry.children if geometry else ():
        if form.tag == "box":
            return Visual("box", tuple(form.numbers("size", 3)))
        if form.tag in ("cylinder", "capsule"):
            return Visual(form.tag, (form.number("radius"), form.number("length")))
        if form.tag == "sphere":
            return Visual("sphere", (form.number("radius"),))
        if form.tag == "mesh":
            file = find(form.text("filename"))
            scale = tuple(form.numbers("scale", 3)) if "scale" in form.attributes else (1.0, 1.0, 1.0)
            return Visual("mesh", scale, file=file) if file else None
    return None


def _color(visual: Element, colors: Mapping[str, Color]) -> Color | None:
    material = visual.one("material")
    if material is None:
        return None
    return _rgb(material) or colors.get(material.attributes.get("name", ""))


def _rgb(material: Element) -> Color | None:
    color = material.one("color")
    if color is None:
        return None
    red, green, blue, _ = color.numbers("rgba", 4)
    return red, green, blue
