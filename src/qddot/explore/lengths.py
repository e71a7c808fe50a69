"""Letters of symbolic lengths, shown on the links: for each distance, between joints or to a frame at an end, that is one
letter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sympy

from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.pictures.shapes import moved_by, point
from qddot.symbolic.printing.mathml import identifier, subscripted
from qddot.symbolic.printing.notation import split


def lengths(model: Model, letters: Model) -> list[dict[str, Any]]:
    """Return body (-1: the world), end of the distance in its frame, and the letter as MathML, once for each letter on a body.
    `letters`: the robot with its symbols."""
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for (body, symbolic), (_, numeric) in zip(distances(letters), distances(model)):
        along = [x for x in symbolic.p if x != 0]
        letter = along[0] if len(along) == 1 else None
        letter = -letter if isinstance(letter, sympy.Mul) else letter
        if isinstance(letter, sympy.Symbol):
            name = split(letter.name)
            text = subscripted(identifier(name.head), name.subscripts)
            found.setdefault((body, letter.name), {"body": body, "end": point(numeric), "text": text})
    return list(found.values())


def distances(model: Model) -> Iterator[tuple[int, Any]]:
    """Yield the distances from each body's origin to the joints that it carries, or, for a last body, to its frames."""
    for index in (WORLD, *(body.index for body in model.bodies)):
        carried = moved_by(model, index)
        yield from ((index, child.placement) for child in carried)
        if index != WORLD and not carried:
            yield from ((index, pose) for body, pose in model.mechanism.frames.values() if body == index)
