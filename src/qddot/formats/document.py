"""TOML, JSON and YAML files as trees of values with their places."""

from __future__ import annotations

import json
import math
import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from qddot.errors import ModelLimitError, ModelSyntaxError
from qddot.files import DOCUMENT_BYTES
from qddot.formats.positions import MAX_DEPTH, Spot, json_positions, toml_positions
from qddot.place import Place, TablePlace

MAX_VALUES = 1_000_000

HALF_CHARACTER = re.compile("[\\ud800-\\udfff]")


@dataclass(frozen=True)
class Node:
    """A value: a dict or list of nodes, a text, a number, a bool or None; with its place, and for scalars its text in the file."""

    value: Any
    place: Place
    text: str = ""
    size: int = 1  # number of values in it, aliases expanded

    @property
    def shown(self) -> str:
        """The value as a short text, for an error message."""
        if isinstance(self.value, dict):
            return "{" + ", ".join(f"{key}: ..." for key in self.value) + "}"
        return "[" + ", ".join(node.shown for node in self.value) + "]" if isinstance(self.value, list) else self.text


def table(value: dict[str, Node], place: Place, size: int = 1) -> Node:
    """Return a node for a table; its place includes those of its keys."""
    return Node(value, TablePlace(*place, {key: node.place for key, node in value.items()}), size=size)


def parse_document(data: bytes, file: str, kind: str, tags: Collection[str] = ()) -> Node:
    """Return the tree of values in a file.

    Args:
        data: the file's content, in UTF-8.
        file: its name in messages.
        kind: `"toml"`, `"json"` or `"yaml"`.
        tags: YAML tags that are allowed besides the plain ones; they change no value here.

    Raises:
        ModelSyntaxError: not UTF-8, not well-formed, a key given twice, a YAML tag.
        ModelLimitError: over the limits on size, depth or YAML alias expansion.
    """
    if rule := DOCUMENT_BYTES.over("file size", len(data)):
        raise ModelLimitError(rule, place=Place(file))
    text = _decoded(data, file)
    if not text.strip():
        raise ModelSyntaxError("the file is empty", place=Place(file, 1, 1))
    try:
        if kind in ("json", "toml"):
            return _read_json(text, file) if kind == "json" else _read_toml(text, file)
        from qddot.formats.yaml_tree import read_yaml  # PyYAML: loaded when first needed

        return read_yaml(text, file, tags)
    except RecursionError:
        raise ModelLimitError(f"nesting depth is over the limit of {MAX_DEPTH}", place=Place(file)) from None


def _decoded(data: bytes, file: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise ModelSyntaxError(
            f"not UTF-8: {error.reason}", place=Place(file, line, column), fix="save the file as UTF-8"
        ) from None
    if "\0" in text:
        raise ModelSyntaxError("the file holds a NUL character", place=Place(file, text.count("\n", 0, text.index("\0")) + 1))
    return text.replace("\r\n", "\n")


# JSON and TOML: values from the standard parsers, places from our scanner ------------------------------------------------------


def _read_json(text: str, file: str) -> Node:
    try:
        values = json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise ModelSyntaxError(f"not JSON: {error.msg}", place=Place(file, error.lineno, error.colno)) from None
    return _joined(values, json_positions(text, file), text, file)


def _read_toml(text: str, file: str) -> Node:
    refuse_long_keys(text, file)
    try:
        values = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or a number too long to convert
        at = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)", str(error))
        line, column = (int(at[1]), int(at[2])) if at and at[1] else (text.count("\n") + 1, None)
        message = str(error)[: at.start()] if at else str(error)
        raise ModelSyntaxError(f"not TOML: {message}", place=Place(file, line, column), fix=_quoted(text, line, column)) from None
    return _joined(values, toml_positions(text, file), text, file)


def _quoted(text: str, line: int, column: int | None) -> str:
    """Return the fix for a word or an expression without quotes at a place in TOML; empty for any other text there."""
    written = text.split("\n")[line - 1]
    found = [x for x in re.finditer(r"(?<=[=\[,])\s*([^\s=\[\]{},\"'#][^=\[\]{},\"'#]*)", written) if x.end() >= (column or 0)]
    word = found[0][1].strip() if found and found[0].start(1) < (column or 0) else ""
    if word.lower() in ("true", "false"):
        return f"write {word.lower()}"
    return f'put words and arithmetic in quotes: "{word}"' if re.search(r"[^\W\d]|[-+*/(]", word) else ""


def refuse_long_keys(text: str, file: str) -> None:
    """Refuse dotted keys with too many parts: the parser makes a table of each before they can be counted."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DEPTH:
            words = re.split(r"[,=\[\]{}]", line.replace(" ", "").replace("\t", ""))
            if any(word.count(".") > MAX_DEPTH for word in words):
                raise ModelLimitError(f"a dotted key has more than {MAX_DEPTH} parts", place=Place(file, number))


def _refuse_half_characters(text: str, place: Place) -> None:
    r"""Refuse a text with one half of a surrogate pair, as JSON's "\ud800" gives: it could be neither printed nor saved."""
    if HALF_CHARACTER.search(text):
        fix = "write the character itself, or both halves of its escape"
        raise ModelSyntaxError(f"{text!r} has half a character in it", place=place, fix=fix)


def _joined(value: Any, spot: Spot, text: str, file: str) -> Node:
    """Return values as nodes with their places."""
    lines = [0, *(m.end() for m in re.finditer("\n", text))]

    def join(value: Any, spot: Spot) -> Node:
        line = bisect_right(lines, spot.start)
        place = Place(file, line, spot.start - lines[line - 1] + 1)
        if isinstance(value, str):
            _refuse_half_characters(value, place)
        if isinstance(value, dict):
            for key in value:
                _refuse_half_characters(key, place)
            return table({key: join(item, spot.get(key)) for key, item in value.items()}, place)
        if isinstance(value, list):
            return Node([join(item, spot.get(i)) for i, item in enumerate(value)], place)
        written = value if isinstance(value, str) else text[spot.start : spot.end]
        return Node(_as_float(value) if type(value) is int else value, place, written)

    return join(value, spot)


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
