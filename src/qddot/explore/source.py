"""How Python gets the robot of a page: the lines that "copy as Python" begins with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qddot import catalog
from qddot.errors import QddotError
from qddot.formats import load_model
from qddot.model.model import Model

UNKNOWN = "robot = ...  # it was made or changed in Python: put here what makes it"


def source(model: Model, letters: Model | None, values: Mapping[str, float] | None) -> str:
    """A line that defines `robot`, true for the file as it is now; it holds the file's name, not its folder, which is nobody's
    business.

    Args:
        letters, values: the robot with its symbols, and what they stand for, where it has some.
    """
    described = letters or model
    places = [x.place for x in (*described.links, *described.joints) if x.place is not None and x.place.file]
    if not places:
        return UNKNOWN
    file = Path(places[0].file)
    options: tuple[dict[str, Any], ...] = ({}, {"symbolic": True}, {"floating": True})
    for how in options:
        try:
            read = load_model(file, **how)
        except (QddotError, OSError, TypeError):  # gone, of a format without this option, or read with options nobody knows now
            continue
        if not alike(read, described):
            continue
        made = f"qddot.load({', '.join([repr(name_of(file)), *(f'{key}=True' for key in how)])})"
        made += f".subs({dict(values)!r})" if letters is not None and values else ""
        gravity = [float(x) for x in model.gravity]
        return f"robot = {made}{'' if read.gravity == described.gravity else f'.with_gravity({gravity})'}"
    return UNKNOWN


def alike(a: Model, b: Model) -> bool:
    parts = ("links", "joints", "frames", "constraints", "transmissions")
    return all(getattr(a, x) == getattr(b, x) for x in parts)


def name_of(file: Path) -> str:
    """Return what `qddot.load` is given: a name of the catalog, or the file's."""
    if file.parent == catalog.BUNDLED:
        return file.stem
    names = {path: name for name, path in catalog.installed().items()}
    return names.get(file, file.name)
