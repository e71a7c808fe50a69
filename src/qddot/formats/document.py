"""TOML, JSON and YAML files as trees of values with their places."""

from __future__ import annotations

import json
import math
import re
import tomllib
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from qddot.errors import ModelLimitError, ModelSyntaxError
from qddot.files import DOCUMENT_BYTES
from qddot.formats.expression import NUMBER
from qddot.formats.positions import MAX_DEPTH, Spot, json_positions, toml_positions
from qddot.place import Place, TablePlace

MAX_VALUES = 1_000_000
PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")}
PLAIN_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
PLAIN_WORDS |= {".nan": math.nan, ".inf": math.inf, "-.inf": -math.inf}


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
        return _read_yaml(text, file, tags)
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


def _joined(value: Any, spot: Spot, text: str, file: str) -> Node:
    """Return values as nodes with their places."""
    lines = [0, *(m.end() for m in re.finditer("\n", text))]

    def join(value: Any, spot: Spot) -> Node:
        line = bisect_right(lines, spot.start)
        place = Place(file, line, spot.start - lines[line - 1] + 1)
        if isinstance(value, dict):
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


# YAML: built from parser events, so that no tag, alias or depth gets through unseen --------------------------------------------


def _read_yaml(text: str, file: str, tags: Collection[str] = ()) -> Node:
    try:
        return _Yaml(file, tags).document(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise ModelSyntaxError(f"not YAML: {error.problem or error.context}", place=place) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1 if isinstance(error.position, int) else None
        raise ModelSyntaxError(f"not YAML: {error.reason}", place=Place(file, line)) from None


class _Yaml:
    def __init__(self, file: str, tags: Collection[str] = ()) -> None:
        self.file = file
        self.tags = {None, "!", *PLAIN_TAGS, *tags}
        self.anchors: dict[str, Node | None] = {}

    def document(self, events: Iterator[yaml.Event]) -> Node:
        """Return the only document of a stream, without recursion: `stack` holds the collections that are still open."""
        stack: list[tuple[yaml.Event, list[Node]]] = []
        done: list[Node] = []
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and done:
                raise ModelSyntaxError("a second YAML document begins", place=self.place(event), fix="one robot a file")
            if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self.open(event, len(stack))
                stack.append((event, []))
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                node = self.close(*stack.pop())
                (stack[-1][1] if stack else done).append(node)
            elif isinstance(event, (yaml.ScalarEvent, yaml.AliasEvent)):
                node = self.scalar(event) if isinstance(event, yaml.ScalarEvent) else self.alias(event)
                (stack[-1][1] if stack else done).append(node)
        if not done:
            raise ModelSyntaxError("the file is empty", place=Place(self.file, 1, 1))
        return done[0]

    def place(self, event: yaml.Event) -> Place:
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def open(self, event: Any, depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise ModelLimitError(f"nesting depth is over the limit of {MAX_DEPTH}", place=self.place(event))
        self.check_tag(event)
        if event.anchor:
            self.anchors[event.anchor] = None  # not closed yet

    def close(self, start: Any, items: list[Node]) -> Node:
        value = self.mapping(items) if isinstance(start, yaml.MappingStartEvent) else items
        size = 1 + sum(item.size for item in items)
        node = table(value, self.place(start), size) if isinstance(value, dict) else Node(value, self.place(start), size=size)
        if node.size > MAX_VALUES:
            cause = "alias expansion: " if self.anchors else ""
            raise ModelLimitError(f"{cause}{node.size} values are over the limit of {MAX_VALUES}", place=node.place)
        return self.anchored(start.anchor, node)

    def mapping(self, items: list[Node]) -> dict[str, Node]:
        found: dict[str, Node] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if isinstance(key.value, (dict, list)):
                raise ModelSyntaxError("a key is a name, not a collection", place=key.place)
            if key.text in found:
                raise ModelSyntaxError("the key is given twice", place=key.place, attribute=key.text, fix="keep one")
            found[key.text] = value
        return found

    def scalar(self, event: Any) -> Node:
        self.check_tag(event)
        written = event.tag or ("plain" if event.implicit[0] else "quoted")
        is_text = written == "quoted" or written.endswith(("!", ":str"))
        if not is_text and re.fullmatch(r"[-+]?0\d+", event.value):
            decimal = str(int(event.value))
            rule = f"{decimal} in YAML 1.2, but a number of base eight in YAML 1.1"
            raise ModelSyntaxError(
                rule, place=self.place(event), text=event.value, fix=f'write {decimal}, or "{event.value}" if it is a word'
            )
        value = event.value if is_text else _plain(event.value)
        return self.anchored(event.anchor, Node(value, self.place(event), event.value))

    def alias(self, event: Any) -> Node:
        if event.anchor not in self.anchors:
            raise ModelSyntaxError(f"no anchor &{event.anchor} before this alias", place=self.place(event))
        node = self.anchors[event.anchor]
        if node is None:
            raise ModelLimitError(f"alias expansion: *{event.anchor} holds itself, without end", place=self.place(event))
        return node

    def anchored(self, anchor: str | None, node: Node) -> Node:
        if anchor:
            self.anchors[anchor] = node
        return node

    def check_tag(self, event: Any) -> None:
        if event.tag not in self.tags:
            rule = "YAML tags are not read: a description holds plain values"
            raise ModelSyntaxError(rule, place=self.place(event), text=event.tag, fix="remove the tag")


def _plain(text: str) -> Any:
    """Return the value of an unquoted YAML scalar by the core rules of YAML 1.2: `1e-3` is a number and `no` a word."""
    if text.lower() in PLAIN_WORDS:
        return PLAIN_WORDS[text.lower()]
    return float(text) if re.fullmatch(f"[-+]?{NUMBER}", text) else text
