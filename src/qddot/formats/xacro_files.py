"""Which files a xacro description may read: those of its own folder or package, and of packages that are found or given.

Nothing is read by a fixed path or through a link that leads out of these folders, and the environment is not consulted.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from qddot.errors import ModelReferenceError, ModelSecurityError
from qddot.formats.document import read_document
from qddot.formats.xacro_expression import Refused, Value, evaluate
from qddot.formats.xacro_scope import Scope
from qddot.formats.xml_tree import Element, parse_xml, read_bytes

MANIFEST = "package.xml"
NEAR = 3  # so many folders above the description one counts as a package by its name alone
UNITS = {
    "!radians": 1.0,
    "!degrees": 3.141592653589793 / 180,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}


class Files:
    """The files in reach of a description.

    Args:
        path: of the description.
        packages: folders of packages, by name, besides those that are found above or beside the description.
    """

    def __init__(self, path: Path, packages: Mapping[str, Path]) -> None:
        self.path, self.folder = path, path.resolve().parent
        self.packages = {name: Path(folder).resolve() for name, folder in packages.items()}
        self.roots = [self.own, *self.packages.values()]
        self.trees: dict[Path, Element] = {}

    @cached_property
    def own(self) -> Path:
        """The package the description stands in; its folder, where it stands in none."""
        for folder in (self.folder, *self.folder.parents):
            if (folder / MANIFEST).is_file():
                return folder
        return self.folder

    def package(self, name: str) -> Path:
        """The folder of a package: one that was given, one above the description, or one with a manifest beside one of those.

        Raises:
            Refused: it is not found.
        """
        if name in self.packages:
            return self.packages[name]
        if name and not set(name) & set("/\\") and name not in (".", ".."):
            for up, folder in enumerate((self.folder, *self.folder.parents)):
                is_package = (folder / MANIFEST).is_file()
                if folder.name == name and (is_package or up <= NEAR):
                    return self.opened(name, folder)
                if (folder / name / MANIFEST).is_file():
                    return self.opened(name, (folder / name).resolve())
        fix = f"give its folder: packages={{{name!r}: ...}}"
        raise Refused(f"the package {name!r} is not found above or beside {self.folder}", ModelReferenceError, fix)

    def opened(self, name: str, folder: Path) -> Path:
        self.packages[name] = folder
        self.roots.append(folder)
        return folder

    def within(self, name: str, beside: str) -> Path:
        """The file of that name, relative to the folder of the file `beside`.

        Raises:
            Refused: it lies outside, or does not exist.
        """
        path = Path(beside).parent / name
        try:
            real = path.resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise Refused(f"the file name {name[:80]!r} cannot be used: {error}") from None
        if not any(real.is_relative_to(root) for root in self.roots):
            raise Refused(
                f"the file {name!r} lies outside the folders of this description ({', '.join(map(str, self.roots))})",
                ModelSecurityError,
                "move it there, or give its package: packages={...}",
            )
        if not real.is_file():
            raise Refused(f"the file {name!r} does not exist", ModelReferenceError, f"it is looked for as {path}")
        return path

    def tree(self, path: Path) -> Element:
        """The root element of a xacro file."""
        if path not in self.trees:
            self.trees[path] = parse_xml(read_bytes(path), str(path), text=True)
        return self.trees[path]

    def yaml(self, path: Path) -> Value:
        """The plain values in a YAML file; quantities may have units, such as `!degrees 90`."""
        read_document(path, UNITS)  # refuses what is not plain, and aliases without end
        return plain(yaml.load(path.read_text("utf-8-sig"), Loader=_Loader))


class _Loader(yaml.SafeLoader):
    """YAML as ROS reads it, with units."""


def _quantity(unit: float) -> Any:
    return lambda loader, node: float(evaluate(loader.construct_scalar(node), Scope(lambda *_: None))) * unit


for _tag, _unit in UNITS.items():
    _Loader.add_constructor(_tag, _quantity(_unit))


def plain(value: Any) -> Value:
    """Numbers, texts, lists and dictionaries; whatever else YAML knows (dates) as text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
