"""Descriptions of robots: one file a format. `load_model` picks the reader by the file's suffix."""

from __future__ import annotations

import errno
import os
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from qddot.errors import InputError, ModelFormatError, ModelStructureError, ModelWarning, Place, unknown_name
from qddot.model.description import Joint, Link
from qddot.model.model import Model
from qddot.model.scalar import Scalar, as_scalar

CATALOG = Path(__file__).with_name("catalog")
TEXT = (".toml", ".json", ".yaml", ".yml")
XML = (".urdf", ".xml", ".xacro")
SNIFFED = 1 << 16  # bytes in which the root of an XML file must begin


def catalog_names() -> list[str]:
    """The robots that come with qddot."""
    return sorted(file.stem for file in CATALOG.glob("*.toml"))


def load_model(
    source: str | os.PathLike[str],
    *,
    strict: bool = False,
    floating: bool = False,
    gravity: Sequence[Scalar] | None = None,
    symbolic: bool = False,
) -> Model:
    """A robot from a file, or by name from the catalog.

    Args:
        source: path of a .urdf, .xml, .toml, .json, .yaml or .yml file, or one of `catalog_names()`.
        strict: refuse inertias no real body has, instead of warning.
        floating: let the root move freely: adds a link `world` and a free joint `floating_base`, whose coordinates come first.
        gravity: acceleration (3,) in the root's axes, m/s^2, instead of the file's.
        symbolic: leave the symbols open for which the file gives values (our own text format only).

    Raises:
        FileNotFoundError: no such file.
        UnknownNameError: no such robot in the catalog.
        ModelFormatError: not a format that is read.
        ModelError: see its subclasses: the file does not describe a robot.
    """
    if gravity is not None:
        gravity = _gravity(gravity)
    path = _path(source)
    with warnings.catch_warnings():
        if path.parent == CATALOG:  # published numbers that no real body has are explained in the file itself
            warnings.simplefilter("ignore", ModelWarning)
        model = _read(path, strict, gravity, symbolic)
    return _floating(model) if floating else model


def _path(source: str | os.PathLike[str]) -> Path:
    """The file that is meant."""
    path = Path(source)
    if isinstance(source, str) and source in catalog_names():
        return CATALOG / f"{source}.toml"
    if path.exists():
        return path
    if isinstance(source, str) and not path.suffix and path.name == source:
        raise unknown_name("file or catalog robot", source, catalog_names())
    raise FileNotFoundError(errno.ENOENT, "no such robot description", str(path))


def _read(path: Path, strict: bool, gravity: Sequence[Scalar] | None, symbolic: bool) -> Model:
    suffix = path.suffix.lower()
    if suffix in TEXT:
        from qddot.formats.text import read_text

        return read_text(path, strict=strict, gravity=gravity, symbolic=symbolic)
    if suffix not in XML:
        raise ModelFormatError(
            "unknown kind of file",
            place=Place(str(path)),
            attribute="suffix",
            text=suffix,
            fix=f"known: {', '.join((*XML, *TEXT))}",
        )
    if suffix == ".xml" and _xml_root(path) == "mujoco":
        raise ModelFormatError("MJCF is not read yet", place=Place(str(path)), element="<mujoco>", fix="convert it to URDF")
    from qddot.formats.urdf import read_urdf

    return read_urdf(path, strict=strict, gravity=gravity)


def _xml_root(path: Path) -> str:
    """Name of the root element, as far as a glance tells; the reader itself judges the rest."""
    with path.open("rb") as file:
        head = re.sub(rb"<!--.*?-->", b"", file.read(SNIFFED), flags=re.DOTALL)
    found = re.search(rb"<([A-Za-z_][\w.:-]*)", head)
    return found[1].decode() if found else ""


def _gravity(values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    try:
        gravity = tuple(as_scalar(x) for x in values)
    except (TypeError, ValueError) as error:
        raise InputError(f"gravity: {error}") from None
    if len(gravity) != 3:
        raise InputError(f"gravity is an acceleration of 3 numbers, got {len(gravity)}")
    return gravity


def _floating(model: Model) -> Model:
    """The same robot on a free joint."""
    for name, taken in (("world", model.links), ("floating_base", model.joints)):
        for thing in taken:
            if thing.name == name:
                raise ModelStructureError(
                    f"the name {name!r} is taken, the free joint of a floating base needs it",
                    place=thing.place,
                    element=model.name,
                    fix="rename it, or load with floating=False",
                )
    joint = Joint("floating_base", "free", "world", model.root)
    return Model(model.name, [Link("world"), *model.links], [joint, *model.joints], model.frames, model.gravity, checked=True)
