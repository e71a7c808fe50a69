"""Files that a xacro description reads: XML and YAML in its reach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from qddot.formats.document import parse_document
from qddot.formats.reach import Reach
from qddot.formats.source import Description
from qddot.formats.xacro_expression import Value, evaluate
from qddot.formats.xacro_scope import Scope
from qddot.formats.xml_tree import Element, parse_xml, read_bytes

UNITS = {
    "!radians": 1.0,
    "!degrees": 3.141592653589793 / 180,
    "!meters": 1.0,
    "!millimeters": 0.001,
    "!foot": 0.3048,
    "!inches": 0.0254,
}


class Files(Reach):
    """The files in reach of a xacro description, parsed. `source`: the description; `packages`: folders of packages, by name,
    besides those above or beside the description."""

    def __init__(self, source: Description, packages: Mapping[str, Any] | None = None) -> None:
        super().__init__(source.path, packages)
        self.main = Path(source.name)
        self.trees = {self.main: parse_xml(source.data, source.name, text=True)}

    def folder_of(self, file: str) -> Path | None:
        """Return the folder of a file; None for a text."""
        return None if self.folder is None and Path(file) == self.main else Path(file).parent

    def tree(self, path: Path) -> Element:
        """Return the root element of a xacro file."""
        if path not in self.trees:
            self.trees[path] = parse_xml(read_bytes(path), str(path), text=True)
        return self.trees[path]

    def yaml(self, path: Path) -> Value:
        """Return the plain values in a YAML file; quantities may have units, such as `!degrees 90`."""
        data = read_bytes(path)
        parse_document(data, str(path), "yaml", UNITS)  # refuses what is not plain, and aliases without end
        return plain(yaml.load(data.decode("utf-8-sig"), Loader=_Loader))


class _Loader(yaml.SafeLoader):
    """YAML loader with the units of ROS."""


def _quantity(unit: float) -> Any:
    return lambda loader, node: float(evaluate(loader.construct_scalar(node), Scope(lambda *_: None))) * unit


for _tag, _unit in UNITS.items():
    _Loader.add_constructor(_tag, _quantity(_unit))


def plain(value: Any) -> Value:
    """Return numbers, texts, lists and dictionaries unchanged; other values of YAML (dates) as text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value if isinstance(value, (int, float, str, bool, type(None))) else str(value)
