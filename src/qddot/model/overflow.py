"""The error for a quantity that overflows: it names the number of the description that is too large or too small."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from qddot.errors import ModelValueError
from qddot.model.scalar import is_symbolic
from qddot.model.spatial import upper
from qddot.place import Place

if TYPE_CHECKING:
    from qddot.model.model import Model

Number = tuple[str, Place | None, str, float]
"""Element, place, attribute, value."""

LARGE = 10
"""Numbers within this many powers of ten of 1 overflow in no quantity."""


def overflow(model: Model, quantity: str, kind: str = "float64") -> ModelValueError:
    """Return the error for a quantity whose constants overflow a kind of number; it names the number farthest from 1."""
    element, place, attribute, value = max(numbers_of(model), key=lambda x: abs(math.log10(abs(x[-1]))))
    if abs(math.log10(abs(value))) < LARGE:
        return ModelValueError(
            f"{quantity} divides by zero: by the mass of what moves, where nothing that moves has one",
            element=f"robot {model.name!r}",
            fix="give a moving link a mass",
        )
    return ModelValueError(
        f"{quantity} overflows {kind}: a number of this size cannot be computed with",
        place=place,
        element=element,
        attribute=attribute,
        text=f"{value:g}",
        fix="give it in SI units" if kind == "float64" else "give it in SI units, or compute in float64",
    )


def numbers_of(model: Model) -> Iterator[Number]:
    """Yield every nonzero number of a model that can be of any size."""
    parts: list[tuple[str, Place | None, str, Any]] = [(f"robot {model.name!r}", None, "gravity", model.gravity)]
    for link in model.links:
        if link.inertia:
            element = f"link {link.name!r} > inertial"
            values = {"mass": link.inertia.mass, "com": link.inertia.com, "inertia": upper(link.inertia.tensor)}
            parts += [(element, link.place, name, value) for name, value in values.items()]
    for joint in model.joints:
        values = {"origin": joint.origin.p, "tip": joint.tip.p, "pitch": joint.pitch, "rate": joint.rate}
        if joint.mimic:
            values |= {"mimic multiplier": joint.mimic.multiplier, "mimic offset": joint.mimic.offset}
        if joint.drive:
            values |= {f"drive {name}": value for name, value in vars(joint.drive).items()}
        parts += [(f"joint {joint.name!r}", joint.place, name, value) for name, value in values.items()]
    parts += [(f"frame {frame.name!r}", frame.place, "pose", frame.pose.p) for frame in model.frames]
    for x in model.transmissions:
        drives = [value for drive in x.drives if drive for value in vars(drive).values()]
        parts += [("transmission", x.place, "matrix", x.matrix), ("transmission", x.place, "drives", drives)]
    parts += [(f"constraint {x.name!r}", None, "", tuple(vars(x).values())) for x in model.constraints]
    for element, place, attribute, value in parts:
        for x in flat(value):
            if x and not is_symbolic(x):
                yield element, place, attribute, float(x)
    yield f"robot {model.name!r}", None, "", 1.0


def flat(value: Any) -> Iterator[Any]:
    """Yield the numbers and expressions in nested tuples and lists, and nothing else."""
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from flat(part)
    elif (isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)) or is_symbolic(value):
        yield value
