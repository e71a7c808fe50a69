"""Places in a description: file, line and column, for messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Place(NamedTuple):
    """The place of a part of a description.

    >>> from qddot.place import Place
    >>> place = Place("arm.urdf", 12, 5)
    >>> print(place)
    arm.urdf:12:5
    >>> place.of("limits") is place  # a place that knows nothing of its parts
    True
    """

    file: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        parts = [self.file or "<description>"]
        parts += [str(n) for n in (self.line, self.column) if n is not None]
        return ":".join(parts)

    def of(self, key: str) -> Place:
        """Return the place of a part, by its key; this place if that is not known."""
        return self


class TablePlace(Place):
    """The place of a table or element whose parts have places of their own.

    >>> joint = qddot.load("panda").model.joints[0].place
    >>> joint.of("limits").line > joint.line
    True
    """

    parts: Mapping[str, Place]

    def __new__(cls, file: str, line: int | None, column: int | None, parts: Mapping[str, Place]) -> TablePlace:
        place = super().__new__(cls, file, line, column)
        place.parts = parts
        return place

    def __getnewargs__(self) -> tuple:  # type: ignore[override]
        return *self, self.parts

    def of(self, key: str) -> Place:
        return self.parts.get(key, self)


def place_of(place: Place | None, key: str) -> Place | None:
    """Return the place of a part, by its key; the place itself if that is not known.

    >>> from qddot.place import place_of
    >>> place_of(None, "limits") is None  # a robot that comes from no file
    True
    """
    return place and place.of(key)
