"""Descriptions of robots: one file a format. `load_model` picks the reader by the file's suffix."""

from __future__ import annotations

import errno
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from qddot.errors import InputError, ModelFormatError, ModelWarning, Place, unknown_name
from qddot.model.model import Model
from qddot.model.scalar import Scalar, as_scalar

CATALOG = Path(__file__).with_name("catalog")
TEXT = (".toml", ".json", ".yaml", ".yml")
XML = (".urdf", ".xml", ".mjcf")


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
    arguments: Mapping[str, object] | None = None,
    packages: Mapping[str, str | os.PathLike[str]] | None = None,
) -> Model:
    """A robot from a file, or by name from the catalog.

    Args:
        source: path of a .urdf, .xacro, .xml (URDF or MJCF), .toml, .json, .yaml or .yml file, or one of `catalog_names()`.
        strict: refuse inertias no real body has (MJCF: forces the model cannot hold), instead of warning.
        floating: let the root move freely: adds a link `world` and a free joint `floating_base`, whose coordinates come first
            (`world_2` and the like where a name is taken).
        gravity: acceleration (3,) in the root's axes, m/s^2, instead of the file's.
        symbolic: leave the symbols open for which the file gives values (our own text format only).
        arguments: values of a xacro file's `<xacro:arg>`s, and of the environment variables it asks for.
        packages: folders of the ROS packages a xacro file names by `$(find ...)`, where they do not lie above or beside it.

    Raises:
        FileNotFoundError: no such file.
        UnknownNameError: no such robot in the catalog, or no such argument in the xacro file.
        InputError: arguments or packages for a file that is not xacro.
        ModelFormatError: not a format that is read.
        ModelError: see its subclasses: the file does not describe a robot.
    """
    if gravity is not None:
        gravity = _gravity(gravity)
    path = _path(source)
    with warnings.catch_warnings():
        if path.parent == CATALOG:  # published numbers that no real body has are explained in the file itself
            warnings.simplefilter("ignore", ModelWarning)
        if path.suffix.lower() == ".xacro":
            model = _read_xacro(path, strict, gravity, arguments, packages)
        elif arguments or packages:
            raise InputError(f"arguments and packages are for xacro files, and {path.name} is none")
        else:
            model = _read(path, strict, gravity, symbolic)
    return model.with_floating_base() if floating else model


def symbol_values(source: str | os.PathLike[str]) -> dict[str, float]:
    """The numbers that a description in our own text format gives for its symbols; none of any other."""
    path = _path(source)
    if path.suffix.lower() not in TEXT:
        return {}
    from qddot.formats.text import read_values

    return read_values(path)


def _path(source: str | os.PathLike[str]) -> Path:
    """The file that is meant."""
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith("<")):
        raise ModelFormatError(
            f"this is the text of a description, {source.strip()[:20]!r}..., and not the path of one",
            fix="write it to a file and give its path",
        )
    path = Path(source)
    if isinstance(source, str) and source in catalog_names():
        return CATALOG / f"{source}.toml"
    if path.is_dir() and source != "":
        raise ModelFormatError("it is a directory", place=Place(str(path)), fix="give the path of a file")
    if path.exists() and source != "":
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
            fix=f"known: {', '.join((*XML, '.xacro', *TEXT))}",
        )
    from qddot.formats.urdf import TOP, robot_of
    from qddot.formats.xml_tree import parse_xml, read_bytes

    root = parse_xml(read_bytes(path), str(path), TOP)
    if root.tag == "mujoco":
        from qddot.formats.mjcf import model_of

        return model_of(root, path, strict=strict, gravity=gravity)
    return robot_of(root, str(path), strict=strict, gravity=gravity)


def _read_xacro(
    path: Path,
    strict: bool,
    gravity: Sequence[Scalar] | None,
    arguments: Mapping[str, object] | None,
    packages: Mapping[str, str | os.PathLike[str]] | None,
) -> Model:
    from qddot.formats.urdf import robot_of
    from qddot.formats.xacro import expand

    root, files = expand(path, arguments, packages)
    return robot_of(root, str(path), strict=strict, gravity=gravity, roots=files.roots)


def _gravity(values: Sequence[Scalar]) -> tuple[Scalar, ...]:
    try:
        gravity = tuple(as_scalar(x) for x in values)
    except (TypeError, ValueError) as error:
        raise InputError(f"gravity: {error}") from None
    if len(gravity) != 3:
        raise InputError(f"gravity is an acceleration of 3 numbers, got {len(gravity)}")
    return gravity
