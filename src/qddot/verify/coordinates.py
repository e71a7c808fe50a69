"""Coordinates that drive the joints of another library: names, mimic joints, and the order of coordinates."""

from __future__ import annotations

from typing import NamedTuple

from qddot.model.joints import SINGLE
from qddot.model.lower import Coordinates
from qddot.model.model import Model


class Untranslated(Exception):
    """Error for a joint whose coordinates are not translated."""


class Driven(NamedTuple):
    """A joint of the other library: its name, and our coordinates that drive it; a single one by `multiplier * q + offset`."""

    name: str
    by: Coordinates
    multiplier: float
    offset: float


def driven_joints(model: Model) -> list[Driven]:
    """Return all joints but fixed ones. Raises Untranslated: planar, spherical and helical joints, or a joint whose rate is not
    1."""
    owners = {c.name: c for c in model.mechanism.coordinates}
    found = []
    for joint in model.joints:
        if joint.kind == "fixed":
            continue
        if joint.kind not in (*SINGLE, "free") or joint.kind == "helical" or joint.rate != 1:
            raise Untranslated(f"joint {joint.name!r} is {joint.kind}, whose coordinates differ from library to library")
        leader, multiplier, offset = model.leaders.get(joint.name, (joint.name, 1.0, 0.0))
        found.append(Driven(joint.name, owners[leader], float(multiplier), float(offset)))  # type: ignore[arg-type]
    return found
