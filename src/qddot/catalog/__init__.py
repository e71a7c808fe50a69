"""Robots by name: those that come with qddot, in the files beside this one, and those of wheels that are installed.

Each of our own files says in its table `about` what the robot is, where its numbers are from and under which terms; numbers are
facts, and the files are our own. The wheel `example-robot-data` (extra `robots`) has some eighty URDFs more.
"""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

BUNDLED = Path(__file__).parent
WHEEL = "example-robot-data"
INSIDE = Path("cmeel.prefix/share/example-robot-data/robots")
EXTRA = f"pip install 'qddot[robots]' brings some 80 more ({WHEEL})"


class Entry(NamedTuple):
    """A robot that can be loaded by name.

    Attributes:
        title: what it is.
        source: where its numbers are from.
        licence: of the file.
    """

    name: str
    path: Path
    title: str
    source: str
    licence: str


def catalog_names() -> list[str]:
    """The robots that come with qddot.

    >>> import qddot
    >>> "panda" in qddot.catalog_names()
    True
    """
    return sorted(file.stem for file in BUNDLED.glob("*.toml"))


def known_names() -> list[str]:
    """Every name that can be loaded here: our own robots, and those of installed wheels."""
    return [*catalog_names(), *installed()]


def find(name: str) -> Path | None:
    """The file of a robot by its name; None if there is none."""
    own = BUNDLED / f"{name}.toml"
    return own if name in catalog_names() else installed().get(name)


@cache
def installed() -> dict[str, Path]:
    """URDFs of the wheel `example-robot-data` by name; one that has the name of ours, or of another, with its folder before it."""
    root = next((p for p in (Path(entry) / INSIDE for entry in sys.path) if p.is_dir()), None)
    files = sorted(root.rglob("*.urdf")) if root else []
    own, stems = set(catalog_names()), [path.stem for path in files]
    found = {}
    for path in files:
        unique = path.stem not in own and stems.count(path.stem) == 1
        found[path.stem if unique else f"{folder_of(path).name.removesuffix('_description')}/{path.stem}"] = path
    return found


def folder_of(path: Path) -> Path:
    """The folder of a robot within the wheel."""
    return path.parents[len(path.parts) - path.parts.index("robots") - 3]


def entries() -> list[Entry]:
    """All of them, ours first."""
    return [*map(own_entry, catalog_names()), *(wheel_entry(name, path) for name, path in installed().items())]


def own_entry(name: str) -> Entry:
    path = BUNDLED / f"{name}.toml"
    about = tomllib.loads(path.read_text(encoding="utf-8"))["about"]
    return Entry(name, path, about["title"], about["source"], about.get("licence", "MIT (qddot)"))


def wheel_entry(name: str, path: Path) -> Entry:
    folder = folder_of(path)
    said = re.search(r"licen[sc]e:[ \t]*(\S.*)", text_of(folder / "README.md"), re.IGNORECASE)
    first = next((line.strip() for line in text_of(folder / "LICENSE").splitlines() if line.strip()), "")
    licence = said[1].strip() if said and said[1].strip() != "NA" else first or "not stated"
    title = folder.name.removesuffix("_description").replace("_", " ")
    return Entry(name, path, f"{title}, {path.name}", WHEEL, licence)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
