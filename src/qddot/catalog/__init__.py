"""Robots by name: those that come with qddot, in the files beside this one, and those of installed wheels.

The table `about` of each of our own files has the robot's title, the source of its numbers and the licence. The wheel
`example-robot-data` (extra `robots`) has some eighty URDFs more, and the package `robot_descriptions` downloads others by name.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from qddot.catalog import downloads, wheel
from qddot.room import not_to_be_called

BUNDLED = Path(__file__).parent
WHEEL = "example-robot-data"
INSIDE = Path("cmeel.prefix/share/example-robot-data/robots")
EXTRA = f"pip install 'qddot[robots]' brings some 80 more ({WHEEL})"


class Entry(NamedTuple):
    """A robot that can be loaded by name."""

    name: str
    path: Path | None  # its file; None if it is still to be downloaded
    title: str  # a short description
    source: str  # source of its numbers
    licence: str  # licence of the file
    dof: int | None = None  # degrees of freedom, if known without reading the file


def catalog_names() -> list[str]:
    """Return the names of the robots that come with qddot.

    >>> import qddot
    >>> "panda" in qddot.catalog_names()
    True
    """
    return sorted(file.stem for file in BUNDLED.glob("*.toml"))


def known_names() -> list[str]:
    """Return all names that can be loaded: our own robots, and those of installed packages."""
    return [*catalog_names(), *installed(), *downloads.known()]


def find(name: str) -> Path | None:
    """Return the file of a robot by its name, downloaded if necessary; None if there is no such robot."""
    if name in catalog_names():
        return BUNDLED / f"{name}.toml"
    if name in installed():
        return installed()[name]
    return downloads.fetch(name) if name.endswith("_description") and name in downloads.known() else None


@cache
def installed() -> dict[str, Path]:
    """Return the URDFs of the wheel `example-robot-data` by name; a name that is not unique has its folder before it."""
    root = next((p for p in (Path(entry) / INSIDE for entry in sys.path) if p.is_dir()), None)
    files = sorted(root.rglob("*.urdf")) if root else []
    own, stems = set(catalog_names()), [path.stem for path in files]
    found = {}
    for path in files:
        unique = path.stem not in own and stems.count(path.stem) == 1
        found[path.stem if unique else f"{folder_of(path).name.removesuffix('_description')}/{path.stem}"] = path
    return found


def folder_of(path: Path) -> Path:
    """Return the folder of a robot within the wheel."""
    return path.parents[len(path.parts) - path.parts.index("robots") - 3]


def entries() -> list[Entry]:
    """Return the entries of all robots that can be loaded by name, our own first."""
    ours, others = map(own_entry, catalog_names()), (wheel_entry(name, path) for name, path in installed().items())
    return [*ours, *others, *(download_entry(name, about) for name, about in downloads.known().items())]


def containing(text: str) -> list[Entry]:
    """Return entries with a text in their name, or at the start of a word of their title; first those whose name begins with it."""
    wanted = text.lower()
    word = re.compile(rf"\b{re.escape(text)}", re.IGNORECASE)
    found = [entry for entry in entries() if wanted in entry.name.lower() or word.search(entry.title)]
    return sorted(found, key=lambda entry: (not entry.name.lower().startswith(wanted), wanted not in entry.name.lower()))


def own_entry(name: str) -> Entry:
    path = BUNDLED / f"{name}.toml"
    import tomllib  # here, since its import takes milliseconds

    about = tomllib.loads(path.read_text(encoding="utf-8"))["about"]
    return Entry(name, path, about["title"], about["source"], about.get("licence", "MIT (qddot)"))


def wheel_entry(name: str, path: Path) -> Entry:
    folder = folder_of(path)
    said = re.search(r"licen[sc]e:[ \t]*(\S.*)", text_of(folder / "README.md"), re.IGNORECASE)
    first = next((line.strip() for line in text_of(folder / "LICENSE").splitlines() if line.strip()), "")
    licence = said[1].strip() if said and said[1].strip() != "NA" else first or "not stated"
    return Entry(name, path, wheel.title(folder.name.removesuffix("_description"), path.stem), WHEEL, licence)


def download_entry(name: str, about: Any) -> Entry:
    """Return the entry of a robot that is to be downloaded, from the attributes that its package has; versions differ."""
    said = {key: getattr(about, key, None) for key in ("maker", "robot", "license_spdx", "dof")}
    title = " ".join(str(x) for x in (said["maker"], said["robot"]) if x) or name.replace("_", " ")
    return Entry(name, None, title, downloads.PACKAGE, str(said["license_spdx"] or "not stated"), said["dof"])


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


not_to_be_called(__name__, "qddot.catalog_names()")
