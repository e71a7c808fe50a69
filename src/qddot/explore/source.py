"""Python code that makes the robot of a page and opens the page again: the beginning and end of "copy as Python"."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qddot import catalog
from qddot.errors import ModelWarning, QddotError
from qddot.formats import load_model, load_text
from qddot.formats.text_writer import to_toml
from qddot.model.model import Model

if TYPE_CHECKING:
    from qddot.contact.shapes import Contacts

UNKNOWN = "robot = ...  # it was made or changed in Python, and no text can say it: put here the lines that make it"


def script(
    model: Model, letters: Model | None = None, values: Mapping[str, float] | None = None, contacts: Contacts | None = None
) -> dict[str, str]:
    """Return two parts of code: `begin` defines `robot`, `end` opens its page, up to the argument `view`. `letters`, `values`: the
    robot with its symbols, if any, and their values; `contacts`: what it may touch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # they were given already when the robot was made
        begin = [source(model, letters)]
    given = ""
    if letters is not None:
        begin = [begin[0].replace("robot", "letters", 1), f"values = {dict(values or {})!r}", "robot = letters.subs(values)"]
        given = "values=values, "
    if contacts is not None:
        how = f"friction={contacts.friction}, restitution={contacts.restitution}, among={bool(len(contacts.pairs))}"
        begin = ["from qddot.contact import Contacts, Plane, Sphere", "", *begin]
        begin.append(f"contacts = Contacts(robot, {list(contacts.spheres)}, {list(contacts.planes)}, {how})")
        given += "contacts=contacts, "
    return {"begin": "\n".join(begin), "end": f"{'robot' if letters is None else 'letters'}.explore({given}view="}


def source(model: Model, letters: Model | None = None) -> str:
    """Return a line that defines `robot`, with its symbols if it has some, valid for the file as it is now. It contains the file's
    name, but not its folder, which is private."""
    described = letters or model
    places = [x.place for x in (*described.links, *described.joints) if x.place is not None and x.place.file]
    if not places:
        return written(described)
    file = Path(places[0].file)
    options: tuple[dict[str, Any], ...] = ({}, {"symbolic": True}, {"floating": True})
    for how in options:
        try:
            read = load_model(file, **how)
        except (QddotError, OSError, TypeError):  # the file is gone, has no such option, or was read with options not known here
            continue
        if not alike(read, described):
            continue
        made = f"qddot.load({', '.join([repr(name_of(file)), *(f'{key}=True' for key in how)])})"
        gravity = [float(x) for x in model.gravity]
        return f"robot = {made}{'' if read.gravity == described.gravity else f'.with_gravity({gravity})'}"
    return written(described)


def written(model: Model) -> str:
    """Return a line with the robot as TOML, for one that was made or changed in Python; shapes for drawing are not included."""
    try:
        text = to_toml(model)
        load_text(text, format="toml")
    except QddotError:  # the robot has a joint that the schema cannot express
        return UNKNOWN
    quoted = text.replace("\\", "\\\\").replace('"""', r"\"\"\"")
    return f'robot = qddot.load_string("""\n{quoted}""", format="toml")  # it was made or changed in Python'


def alike(a: Model, b: Model) -> bool:
    parts = ("links", "joints", "frames", "constraints", "transmissions")
    return all(getattr(a, x) == getattr(b, x) for x in parts)


def name_of(file: Path) -> str:
    """Return the argument for `qddot.load`: a name of the catalog, or else the file's name."""
    if file.parent == catalog.BUNDLED:
        return file.stem
    names = {path: name for name, path in catalog.installed().items()}
    return names.get(file, file.name)
