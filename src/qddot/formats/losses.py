"""Losses of a conversion: parts of a robot that a format cannot express."""

from __future__ import annotations

from collections.abc import Iterator

from qddot.errors import first_few
from qddot.model.drive import Drive
from qddot.model.model import GRAVITY, Model
from qddot.model.spatial import Transform


def losses(model: Model, is_urdf: bool) -> Iterator[str]:
    """Yield a sentence for each part that is not written, or that only qddot reads; the writers' own warnings are not repeated."""
    if shapes := sum(max(link.shapes, len(link.visuals)) for link in model.links):
        yield f"{shapes} shapes and meshes, to be drawn or for collisions, are not written"
    if split := [joint.child for joint in model.joints if joint.kind != "fixed" and joint.tip != Transform()]:
        yield f"links whose frame is not their joint's are two, {split[0]}__body with the mass first: {first_few(split)}"
    if is_urdf:
        yield from only_ours(model)


def only_ours(model: Model) -> Iterator[str]:
    """Yield a sentence for each part that a URDF holds in elements that only qddot reads."""
    if model.gravity != GRAVITY:
        yield "gravity stands in <qddot_gravity>, which only qddot reads"
    if driven := [joint.name for joint in model.joints if joint.drive and is_more(joint.drive)]:
        yield f"gears, rotors, springs and further friction stand in <qddot_drive>, which only qddot reads: {first_few(driven)}"
    if model.frames:
        yield f"frames are links without mass: {first_few([x.name for x in model.frames])}"
    if model.kinematics_only:
        yield "that the masses are unknown cannot be said: there are none"


def is_more(drive: Drive) -> bool:
    """Return True if a drive has more than URDF's damping and friction."""
    return drive != Drive(viscous=drive.viscous, coulomb=drive.coulomb) or not is_one(drive.viscous) or not is_one(drive.coulomb)


def is_one(x: object) -> bool:
    """Return True if a constant is the same in both directions."""
    return not isinstance(x, tuple) or x[0] == x[1]
