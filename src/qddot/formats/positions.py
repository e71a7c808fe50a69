"""Places of the values in a well-formed JSON or TOML text.

The standard parsers give values without places. This scanner knows just enough of both syntaxes to find the places, and relies on
the parser having refused any other text before.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from qddot.errors import ModelLimitError, ModelSyntaxError
from qddot.place import Place

MAX_DEPTH = 256
BLANK = re.compile(r"(?:\s|#[^\n]*)*")
STRING = re.compile(r'"""(?:\\.|[^\\])*?""""{0,2}|\'\'\'.*?\'\'\'\'{0,2}|"(?:\\.|[^"\\])*"|\'[^\']*\'', re.DOTALL)
SCALAR = re.compile(r"[^,\]}\n#]*")
BARE = re.compile(r"[A-Za-z0-9_-]+")


@dataclass
class Spot:
    """Range of a value in the text, from `start` to `end`, with the spots of its items."""

    start: int
    end: int
    items: dict[str, Spot] | list[Spot] | None = None

    def get(self, key: str | int) -> Spot:
        """Return the spot of an item, or this one if the scanner has not found the item."""
        if isinstance(self.items, dict):
            return self.items.get(key, self)  # type: ignore[arg-type]
        if isinstance(self.items, list) and isinstance(key, int) and key < len(self.items):
            return self.items[key]
        return self


def json_positions(text: str, file: str) -> Spot:
    return _Scanner(text, ":", file).value(0)


def toml_positions(text: str, file: str) -> Spot:
    """Return the spot of the root table; tables under headers begin at their header."""
    scan = _Scanner(text, "=", file)
    root = current = Spot(0, len(text), {})
    at = scan.blank(0)
    while at < len(text):
        start = at
        if text[at] == "[":
            double = text.startswith("[[", at)
            keys, at = scan.keys(at + (2 if double else 1))
            current = _table(root, keys, start, double)
            at += 2 if double else 1
        else:
            at = scan.pair(at, current)
        at = scan.blank(at)
    return root


class _Scanner:
    def __init__(self, text: str, separator: str, file: str) -> None:
        self.text, self.separator, self.file = text, separator, file

    def blank(self, at: int) -> int:
        return BLANK.match(self.text, at).end()  # type: ignore[union-attr]

    def value(self, at: int, depth: int = 1) -> Spot:
        """Return the spot of the value that begins at or after `at`."""
        at = self.blank(at)
        if depth > MAX_DEPTH:
            line = self.text.count("\n", 0, at) + 1
            raise ModelLimitError(f"nesting depth is over the limit of {MAX_DEPTH}", place=Place(self.file, line))
        opening = self.text[at : at + 1]
        if opening in ("[", "{"):
            return self.collection(at, depth)
        if found := STRING.match(self.text, at):
            return Spot(at, found.end())
        end = SCALAR.match(self.text, at).end()  # type: ignore[union-attr]
        return Spot(at, at + len(self.text[at:end].rstrip()))

    def collection(self, start: int, depth: int) -> Spot:
        closing = "]" if self.text[start] == "[" else "}"
        spot = Spot(start, start, [] if closing == "]" else {})
        at = self.blank(start + 1)
        while self.text[at] != closing:
            if isinstance(spot.items, list):
                spot.items.append(self.value(at, depth + 1))
                at = spot.items[-1].end
            else:
                at = self.pair(at, spot, depth)
            at = self.blank(at)
            if self.text[at] == ",":
                at = self.blank(at + 1)
        spot.end = at + 1
        return spot

    def pair(self, at: int, table: Spot, depth: int = 1) -> int:
        """Add one `key = value` to `table`; return the position of its end."""
        keys, end = self.keys(at)
        value = self.value(end + 1, depth + 1)
        items: Any = _table(table, keys[:-1], value.start, False).items
        if keys[-1] in items:  # in JSON; in TOML the parser has refused it already
            place = Place(self.file, self.text.count("\n", 0, at) + 1)
            raise ModelSyntaxError("the key is given twice", place=place, attribute=keys[-1], fix="keep one")
        items[keys[-1]] = value
        return value.end

    def keys(self, at: int) -> tuple[list[str], int]:
        """Return the parts of a dotted key, and the position of its separator."""
        keys = []
        while True:
            at = self.blank(at)
            found = STRING.match(self.text, at) or BARE.match(self.text, at)
            keys.append(self.key(found[0]))  # type: ignore[index]
            at = self.blank(found.end())  # type: ignore[union-attr]
            if self.text[at] != ".":
                return keys, at
            at += 1

    def key(self, text: str) -> str:
        if text[0] not in "\"'":
            return text
        if self.separator == ":":
            import json

            return json.loads(text)
        return tomllib.loads(f"key = {text}")["key"]


def _table(table: Spot, keys: list[str], start: int, new: bool) -> Spot:
    """Return the table of a dotted key; with `new`, after adding one to the array of tables of that name."""
    for i, key in enumerate(keys):
        items = table.items
        if new and i == len(keys) - 1:
            table = items.setdefault(key, Spot(start, start, []))  # type: ignore[union-attr]
            table.items.append(Spot(start, start, {}))  # type: ignore[union-attr]
        else:
            table = items.setdefault(key, Spot(start, start, {}))  # type: ignore[union-attr]
        if isinstance(table.items, list):
            table = table.items[-1]
    return table
