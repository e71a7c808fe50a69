"""Warnings of parts of a URDF that other tools read differently: their physics in `<gazebo>` and `<transmission>`, and versions.

Materials, plugins and sensors do not change the motion, nor does a gear's reduction alone change the force at a joint: they are
not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from qddot.errors import first_few
from qddot.formats.xml_tree import Element
from qddot.model.check import warn

VERSIONS = ("1", "1.0", "1.1", "1.2")


def report_elsewhere(root: Element) -> None:
    """Warn, once for each tag, of parts that are not read here and would change the motion in other tools."""
    for tag, (matters, fix) in PHYSICS.items():
        found = [(element, name) for element, name in _foreign(root) if element.tag == tag and matters(element.content)]
        if found:
            element = found[0][0]
            owner = next(part.tag for part in _upward(element) if part.tag in ("gazebo", "transmission"))
            rule = f"{owner}: {tag} of {first_few(repr(name) for _, name in found)} is not read"
            warn(rule, **element.where, text=element.content, fix=fix)
    version = root.attributes.get("version", "1.0").strip()
    if version not in VERSIONS:
        rule = f"version {version[:40]!r} is not known; the file is read as version {VERSIONS[-1]}"
        warn(rule, place=root.place, element="robot", fix='write version="1.0", or none')
    if version in ("1", "1.0"):
        turned = [x for part in root.children if part.tag in ("link", "joint") for x in part.walk() if "quat_xyzw" in x.attributes]
        if turned:
            rule = "quat_xyzw is read, but other readers ignore it below version 1.1, and take no rotation"
            warn(rule, **turned[0].where, fix='write <robot version="1.1">')


def _foreign(root: Element) -> Iterator[tuple[Element, str]]:
    """Yield each part of the blocks of other tools, with the name of the link or joint it belongs to."""
    for block in root.all("gazebo"):
        yield from ((part, block.attributes.get("reference", "the robot")) for part in block.children)
    for block in root.all("transmission"):
        joint = next((x.attributes.get("name", "") for x in block.walk() if x.tag == "joint"), block.attributes.get("name", ""))
        yield from ((part, joint) for part in block.walk())


def _upward(element: Element | None) -> Iterator[Element]:
    while element is not None:
        yield element
        element = element.parent


def _is_not_zero(text: str) -> bool:
    """Return False for a zero and for an empty text."""
    try:
        return float(text) != 0
    except ValueError:
        return bool(text)


PHYSICS: dict[str, tuple[Callable[[str], bool], str]] = {  # tag -> (does its text change the motion?, fix)
    "springStiffness": (_is_not_zero, '<qddot_drive stiffness="..." rest="..."/> in its joint says it'),
    "dampingFactor": (_is_not_zero, 'give the joint <dynamics damping="..."/>'),
    "gravity": (lambda text: text.lower() in ("false", "0"), "add the weight by f_ext, if it is not to fall"),
    "turnGravityOff": (lambda text: text.lower() in ("true", "1"), "add the weight by f_ext, if it is not to fall"),
    "motorInertia": (_is_not_zero, '<qddot_drive rotor_inertia="..." gear_ratio="..."/> in its joint says it'),
}
