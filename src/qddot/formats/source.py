"""Source of a description: its bytes, its name in messages, its format, and its path.

The format of a file follows from its suffix, that of a text from its beginning.
"""

from __future__ import annotations

import errno
import io
import os
import re
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple

from qddot import catalog
from qddot.arguments import word
from qddot.errors import InputError, ModelFormatError, ModelLimitError, UnknownNameError, as_written, near_matches, unknown_name
from qddot.files import DESCRIPTION_BYTES
from qddot.formats.xml_tree import read_bytes
from qddot.place import Place

SUFFIXES = {".urdf": "xml", ".xml": "xml", ".mjcf": "xml", ".xacro": "xacro", ".toml": "toml", ".json": "json"}
SUFFIXES |= {".yaml": "yaml", ".yml": "yaml"}
FORMATS = ("urdf", "mjcf", "xacro", "toml", "json", "yaml")


class Description(NamedTuple):
    """A description to be read. `kind` is one of `FORMATS`, or `"xml"`: URDF or MJCF, depending on the root element."""

    data: bytes
    name: str
    kind: str
    path: Path | None = None

    @property
    def stem(self) -> str:
        """The file's name, for a robot without one."""
        return self.path.stem if self.path else "robot"


def from_file(source: str | PathLike[str]) -> Description:
    """Return the description in a file, or that of a robot of the catalog by its name."""
    path = _path(source)
    kind = SUFFIXES.get(path.suffix.lower())
    if kind is None:
        known = f"known: {', '.join(SUFFIXES)}"
        raise ModelFormatError("unknown kind of file", place=Place(str(path)), attribute="suffix", text=path.suffix, fix=known)
    return Description(read_bytes(path), str(path), kind, path)


def from_stream(stream: IO[Any], format: str | None = None) -> Description:
    """Read the rest of an open file. If it has the name of a file, meshes and includes are looked for in that file's folder."""
    name = getattr(stream, "name", None)
    path = Path(name) if isinstance(name, str) and Path(name).is_file() else None
    try:
        text = stream.read(DESCRIPTION_BYTES.value + 1)
    except (ValueError, OSError) as error:  # closed, open for writing only, or not in its encoding
        raise InputError(f"{stream!r:.120} cannot be read: {error} (open the description as a file, for reading)") from None
    if not isinstance(text, (str, bytes)):
        raise InputError(f"{stream!r} gives {type(text).__name__} when read, not text: open the description as a file")
    made = from_text(text, format or (SUFFIXES.get(path.suffix.lower()) if path else None), name=str(name) if path else "<stream>")
    return made._replace(path=path)


def from_text(text: str | bytes, format: str | None = None, name: str = "<text>") -> Description:
    """Return a description that is in memory."""
    if not isinstance(text, (str, bytes)):
        raise InputError(f"a description is text, and this is a {type(text).__name__} (load takes paths and open files)")
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if rule := DESCRIPTION_BYTES.over("size of the text", len(data)):
        raise ModelLimitError(rule, place=Place(name))
    if format is not None:
        word("format", format, (*FORMATS, "xml"))
    kind = format or sniffed(data, name)
    decoded = isinstance(text, str) and kind in ("urdf", "mjcf", "xacro", "xml")
    return Description(_declared_as_utf8(data) if decoded else data, name, kind)


def sniffed(data: bytes, name: str) -> str:
    """Return the format of a text by its beginning."""
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text:
        raise ModelFormatError("the text is empty", place=Place(name, 1, 1), fix="give the text of a description")
    if text.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return "xacro" if b"<xacro:" in text else "xml"
    if text.startswith(b"{"):
        return "json"
    where: dict[str, Any] = {"place": Place(name, 1, 1), "text": text[:20].decode("utf-8", "replace")}
    if text.startswith((b"data:", b"String value is:")) and b"<robot" in text:
        fix = "ros2 param get --hide-type /robot_state_publisher robot_description prints it alone"
        raise ModelFormatError("a description within what a command of ROS prints about it", **where, fix=fix)
    lines = (line.strip() for line in io.BytesIO(text) if line.strip() and not line.strip().startswith(b"#"))
    first = next(lines, b"")
    if first.startswith(b"[") or re.match(rb"[\w.\"'-]+\s*=", first):
        return "toml"
    if first.startswith((b"---", b"%YAML")) or re.match(rb"[\w.\"'-]+\s*:", first):
        return "yaml"
    rule = "this is no description that can be told by its beginning"
    raise ModelFormatError(rule, **where, fix=f"give its format: one of {', '.join(FORMATS)}")


def _declared_as_utf8(data: bytes) -> bytes:
    """Return decoded XML without its encoding declaration, which is no longer true."""
    return re.sub(rb"\A(\s*<\?xml[^>]*?)\s+encoding\s*=\s*(\"[^\"]*\"|'[^']*')", rb"\1", data, count=1)


def _path(source: str | PathLike[str]) -> Path:
    """Return the path of the file, or of the catalog's robot. Raises InputError, ModelFormatError, UnknownNameError,
    FileNotFoundError: there is no such description."""
    if not isinstance(source, (str, PathLike)):
        raise InputError(f"load needs the path of a description, an open file or a catalog robot's name, not {as_written(source)}")
    if isinstance(source, str) and ("\n" in source or source.lstrip().startswith(("<", "{"))):
        rule = f"this is the text of a description, {source.strip()[:20]!r}..., and not the path of one"
        raise ModelFormatError(rule, fix="qddot.load_string reads a text")
    path = Path(os.path.expanduser(source))
    try:
        os.stat(path)
    except (FileNotFoundError, ValueError):
        pass  # reported below
    except OSError as error:
        where = Place(str(path)[:80])
        raise ModelFormatError(f"it cannot be looked at: {error.strerror}", place=where, fix="look at its path") from None
    if isinstance(source, str) and (found := catalog.find(source)) is not None:
        return found
    if path.is_dir() and source != "":
        raise ModelFormatError("it is a directory", place=Place(str(path)), fix="give the path of a file")
    if path.exists() and source != "":
        return path
    if isinstance(source, str) and not path.suffix and path.name == source:
        more = "" if catalog.installed() else f"; {catalog.EXTRA}"
        if about := [entry.name for entry in catalog.containing(source) if source]:
            several = f"these have it in name or description: {', '.join(about[:12])}" + (", ..." if len(about) > 12 else "")
            said = several if len(about) > 1 else f"did you mean {about[0]!r}?"
            raise UnknownNameError(f"no file or catalog robot {source!r}: {said}{more}")
        raise UnknownNameError(f"{unknown_name('file or catalog robot', source, catalog.known_names())}{more}")
    near = f"the catalog has {path.stem!r}" if path.stem in catalog.known_names() else near_files(path)
    raise FileNotFoundError(errno.ENOENT, f"no such robot description{f': {near}' if near else ''}", str(path))


def near_files(path: Path) -> str:
    """Return `did you mean 'arm.toml'?` if the folder has a description with a similar name, else an empty text."""
    there = [x.name for x in path.parent.iterdir() if x.suffix.lower() in SUFFIXES] if path.parent.is_dir() else []
    said = near_matches(path.name, there)
    return said if said.startswith("did") else ""
