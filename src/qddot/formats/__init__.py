"""Readers and writers of robot descriptions, one file per format. `load_model` selects the reader by suffix or content."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import IO, Any

from qddot.catalog import BUNDLED, catalog_names
from qddot.errors import InputError, ModelWarning
from qddot.formats.reach import Reach
from qddot.formats.source import Description, from_file, from_stream, from_text
from qddot.model.model import Model
from qddot.model.scalar import Scalar, as_scalar

__all__ = ["catalog_names", "load_model", "load_text", "symbol_values"]

TEXTS = ("toml", "json", "yaml")


def load_model(source: str | PathLike[str] | IO[Any], *, format: str | None = None, **how: Any) -> Model:
    """Return a robot from a file, from an open file, or by name from the catalog; see `qddot.load`.

    Args:
        format: format of an open file, one of `qddot.formats.source.FORMATS`; None: by its name or its content.
        how: see `read_model`.
    """
    if hasattr(source, "read"):
        return read_model(from_stream(source, format), **how)  # type: ignore[arg-type]
    if format is not None:
        raise InputError("format is for texts and open files: the suffix of a file says it")
    return read_model(from_file(source), **how)  # type: ignore[arg-type]


def load_text(text: str | bytes, *, format: str | None = None, **how: Any) -> Model:
    """Return a robot from the text of a description; see `load_model`."""
    return read_model(from_text(text, format), **how)


def symbol_values(source: str | PathLike[str]) -> dict[str, float]:
    """Return the numbers that a description in our own text format gives for its symbols; other formats have none."""
    description = from_file(source)
    if description.kind not in TEXTS:
        return {}
    from qddot.formats.text import values_in

    return values_in(description)


def read_model(
    source: Description,
    *,
    strict: bool = False,
    floating: bool = False,
    gravity: Sequence[Scalar] | None = None,
    symbolic: bool = False,
    arguments: Mapping[str, object] | None = None,
    packages: Mapping[str, str | PathLike[str]] | None = None,
) -> Model:
    """Return the robot in a description, read with the options of `qddot.load`. Raises InputError: arguments, but no xacro file."""
    if gravity is not None:
        gravity = _gravity(gravity)
    if arguments and source.kind != "xacro":
        raise InputError(f"arguments are for xacro files, and {source.name} is none")
    with warnings.catch_warnings():
        if source.path and source.path.parent == BUNDLED:  # these files explain published numbers that no real body has
            warnings.simplefilter("ignore", ModelWarning)
        model = _read(source, strict, gravity, symbolic, arguments, packages)
    return model.with_floating_base() if floating else model


def _read(source: Description, strict: bool, gravity: Any, symbolic: bool, arguments: Any, packages: Any) -> Model:
    if source.kind == "xacro":
        from qddot.formats.urdf import robot_of
        from qddot.formats.xacro import expand

        root, files = expand(source, arguments, packages)
        return robot_of(root, source.stem, files, strict=strict, gravity=gravity)
    reach = Reach(source.path, packages)
    if source.kind in TEXTS:
        from qddot.formats.text import parse_text

        return parse_text(source, reach, strict=strict, gravity=gravity, symbolic=symbolic)[0]
    from qddot.formats.urdf import TOP, robot_of
    from qddot.formats.xml_tree import parse_xml

    root = parse_xml(source.data, source.name, TOP)
    if source.kind == "mjcf" or (source.kind == "xml" and root.tag == "mujoco"):
        from qddot.formats.mjcf import model_of

        return model_of(root, source, reach, strict=strict, gravity=gravity)
    return robot_of(root, source.stem, reach, strict=strict, gravity=gravity)


def _gravity(values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    try:
        gravity = tuple(as_scalar(x) for x in values)
    except (TypeError, ValueError) as error:
        raise InputError(f"gravity: {error}") from None
    if len(gravity) != 3:
        raise InputError(f"gravity is an acceleration of 3 numbers, got {len(gravity)}")
    return gravity
