"""A body's mass, centre of mass and tensor in our own schema: the table `inertia` (see `qddot.formats.text`)."""

from __future__ import annotations

from typing import Any

from qddot.errors import ModelError, near_matches
from qddot.formats.keys import ORIGIN, POSE, Keys
from qddot.formats.reach import Reach, Refused
from qddot.model.inertia import Inertia
from qddot.model.scalar import is_symbolic

SHAPES = {
    "point": (),
    "sphere": ("radius",),
    "box": ("size",),
    "rod": ("length", "axis"),
    "cylinder": ("radius", "length", "axis"),
    "solid_cylinder": ("radius", "length", "axis"),
    "hollow_cylinder": ("outer_radius", "inner_radius", "length", "axis"),
}
"""Shape -> its dimensions, m; `axis` is the axis of its length, z by default. A solid cylinder has two names."""

ALIAS = {"cylinder": "solid_cylinder"}


def read_inertia(parent: Keys, key: str) -> Inertia | None:
    if key not in parent:
        return None
    node, element = parent.get(key), f"{parent.element} > {key}"
    if isinstance(node.value, dict) and "mesh" in node.value:
        return _of_mesh(Keys(node, element, ("mesh", "density", "mass", "scale", *POSE), parent.scope))
    shape = node.value.get("shape") if isinstance(node.value, dict) else None
    if shape is not None and (not isinstance(shape.value, str) or shape.value not in SHAPES):
        raise parent.subject(shape).error("unknown shape", f"{key} shape", shape.shown, near_matches(shape.shown, SHAPES))
    sizes = SHAPES[shape.value] if shape else ("tensor",)
    keys = Keys(node, element, ("shape", "mass", "com", "rpy", "rpy_deg", *sizes), parent.scope)
    mass = keys.number("mass")
    if not is_symbolic(mass) and mass < 0:
        raise keys.error("a mass is not negative", "mass", "give its magnitude")
    if shape is None:
        inertia = keys.made(Inertia, mass, tensor=keys.array(keys.get("tensor"), "tensor") if "tensor" in keys else 0)
    else:
        inertia = keys.made(getattr(Inertia, ALIAS.get(shape.value, shape.value)), mass, *(_size(keys, size) for size in sizes))
    if "rpy" in keys or "rpy_deg" in keys:
        inertia = keys.made(inertia.rotated, keys.rotation())
    return keys.made(inertia.shifted, keys.vector("com", ORIGIN))


def _of_mesh(keys: Keys) -> Inertia:
    """Return the inertia of a mesh in the description's own folders, where `xyz` and `rpy` place it in the link's frame."""
    name, reach = keys.text("mesh"), keys.scope.reach or Reach(None)
    try:
        path = reach.mesh(name)
    except Refused as refused:
        subject = keys.subject(keys.get("mesh"))
        raise refused.kind(
            refused.rule, place=subject.place, element=keys.element, attribute="mesh", text=name, fix=refused.fix
        ) from None
    weight = {key: keys.real(key, 0.0) for key in ("density", "mass") if key in keys}
    try:
        inertia = Inertia.from_mesh(path, scale=keys.real("scale", 1.0), **weight)
    except ModelError as error:
        raise keys.error(error.rule, error.attribute if error.attribute in keys else "mesh", error.fix) from None
    return keys.made(inertia.moved, keys.placement())


def _size(keys: Keys, size: str) -> Any:
    if size == "axis":
        return keys.text("axis", "z")
    return keys.vector("size") if size == "size" else keys.length(size)
