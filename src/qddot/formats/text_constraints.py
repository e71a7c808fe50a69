"""Closed loops and coupled joints in our own schema: the list `constraints`, a table for each.

    [[constraints]]
    connect = ["tip", "closure"]         # origins of two frames or links that coincide
    axes = "xy"                          # axes of the first link along which they coincide; "xyz" by default

    [[constraints]]
    weld = ["left", "right"]             # two frames that coincide
    pose = {xyz = [0, 0, 0.1]}           # or the pose of the second in the first

    [[constraints]]
    couple = ["joint2", "joint1"]        # q2 = 0.5 - 2 q1; without coefficients q2 = q1
    coefficients = [0.5, -2]

Each may also have a `name`, and `active = false`: then it is kept but not enforced.
"""

from __future__ import annotations

from typing import Any

from qddot.errors import ModelReferenceError, near_matches
from qddot.formats.document import Node
from qddot.formats.keys import Keys
from qddot.model.constraints import Connect, Constraint, Coupling, Weld
from qddot.model.model import Model
from qddot.model.spatial import Transform

KINDS = {"connect": ("axes",), "weld": ("pose",), "couple": ("coefficients",)}
COMMON = ("name", "active")


def read_constraints(top: Keys, model: Model) -> list[Constraint]:
    """Return the constraints of a file, between frames and joints of the model it describes."""
    return [_constraint(node, i, top, model) for i, node in enumerate(top.items("constraints"), 1)]


def _constraint(node: Node, i: int, top: Keys, model: Model) -> Constraint:
    element = f"constraint {i}"
    table = node.value if isinstance(node.value, dict) else {}
    kinds = [kind for kind in KINDS if kind in table]
    keys = Keys(node, element, (*COMMON, *(kinds or KINDS), *(key for kind in kinds for key in KINDS[kind])), top.scope)
    if len(kinds) != 1:
        raise keys.subject().error(f"one of {', '.join(KINDS)} is needed, there are {len(kinds)}", fix="name two frames or joints")
    first, second = _pair(keys, kinds[0])
    active = keys.flag("active") if "active" in keys else True
    given: dict[str, Any] = {"name": keys.text("name", f"constraint_{i}"), "active": active, "place": node.place}
    if kinds[0] == "couple":
        items = enumerate(keys.items("coefficients"))
        numbers = tuple(keys.scalar(item, f"coefficients[{k}]") for k, item in items)
        for name in (first, second):
            _known(keys, "couple", "joint", name, {joint.name: joint for joint in model.joints})
        return Coupling(joint=first, leader=second, coefficients=numbers or (0.0, 1.0), **given)
    frames = {link.name: (link.name, Transform()) for link in model.links}
    frames |= {frame.name: (frame.link, frame.pose) for frame in model.frames}
    (link1, pose1), (link2, pose2) = (_known(keys, kinds[0], "frame", name, frames) for name in (first, second))
    if kinds[0] == "weld":
        return Weld(link1=link1, link2=link2, pose1=pose1 @ (keys.pose("pose") or Transform()), pose2=pose2, **given)
    axes = keys.text("axes", "xyz")
    if not axes or set(axes) - set("xyz") or len(set(axes)) != len(axes):
        raise keys.error("axes are some of x, y and z, each once", "axes", 'write "xyz" or "xy"')
    return Connect(link1=link1, link2=link2, point1=pose1.p, point2=pose2.p, axes=axes, **given)


def _pair(keys: Keys, kind: str) -> tuple[str, str]:
    items = keys.items(kind)
    if len(items) != 2 or not all(isinstance(item.value, str) for item in items):
        raise keys.error("two names are needed", kind, f'write {kind} = ["first", "second"]')
    return items[0].value, items[1].value


def _known(keys: Keys, kind: str, what: str, name: str, found: dict[str, Any]) -> Any:
    if name not in found:
        place = keys.get(kind).place
        raise ModelReferenceError(
            f"there is no {what} {name!r}", place=place, element=keys.element, attribute=kind, fix=near_matches(name, found)
        )
    return found[name]
