"""Reader of YAML files as trees of values. It works on parser events, so that every tag, alias and depth is checked."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any

import yaml

from qddot.errors import ModelLimitError, ModelSyntaxError
from qddot.formats.document import MAX_VALUES, Node, table
from qddot.formats.expression import NUMBER
from qddot.formats.positions import MAX_DEPTH
from qddot.place import Place

PLAIN_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "str", "int", "float", "bool", "null")}
PLAIN_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
PLAIN_WORDS |= {".nan": math.nan, ".inf": math.inf, "-.inf": -math.inf}


def read_yaml(text: str, file: str, tags: Collection[str] = ()) -> Node:
    """Return the tree of a YAML text. Raises ModelSyntaxError, ModelLimitError: see `parse_document`."""
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
    """Builder of the tree of one YAML file. `tags`: tags that are accepted besides those of plain values."""

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
        """Return the line and column at which an event starts."""
        return Place(self.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def open(self, event: Any, depth: int) -> None:
        """Check the depth and tag at the start of a collection. Raises ModelLimitError, ModelSyntaxError."""
        if depth >= MAX_DEPTH:
            raise ModelLimitError(f"nesting depth is over the limit of {MAX_DEPTH}", place=self.place(event))
        self.check_tag(event)
        if event.anchor:
            self.anchors[event.anchor] = None  # not closed yet

    def close(self, start: Any, items: list[Node]) -> Node:
        """Return the node of a complete collection. Raises ModelLimitError: it has too many values."""
        value = self.mapping(items) if isinstance(start, yaml.MappingStartEvent) else items
        size = 1 + sum(item.size for item in items)
        node = table(value, self.place(start), size) if isinstance(value, dict) else Node(value, self.place(start), size=size)
        if node.size > MAX_VALUES:
            cause = "alias expansion: " if self.anchors else ""
            raise ModelLimitError(f"{cause}{node.size} values are over the limit of {MAX_VALUES}", place=node.place)
        return self.anchored(start.anchor, node)

    def mapping(self, items: list[Node]) -> dict[str, Node]:
        """Return a mapping from its keys and values, which alternate. Raises ModelSyntaxError: a bad or second key."""
        found: dict[str, Node] = {}
        for key, value in zip(items[::2], items[1::2], strict=True):
            if isinstance(key.value, (dict, list)):
                raise ModelSyntaxError("a key is a name, not a collection", place=key.place)
            if key.text in found:
                raise ModelSyntaxError("the key is given twice", place=key.place, attribute=key.text, fix="keep one")
            found[key.text] = value
        return found

    def scalar(self, event: Any) -> Node:
        """Return the node of a text, number or other single value. Raises ModelSyntaxError: a number such as `010`, or a tag."""
        self.check_tag(event)
        written = event.tag or ("plain" if event.implicit[0] else "quoted")
        is_text = written == "quoted" or written.endswith(("!", ":str"))
        if not is_text and re.fullmatch(r"[-+]?0\d+", event.value):
            decimal = str(int(event.value))
            rule = f"{decimal} in YAML 1.2, but a number of base eight in YAML 1.1"
            raise ModelSyntaxError(
                rule, place=self.place(event), text=event.value, fix=f'write {decimal}, or "{event.value}" if it is a word'
            )
        value = event.value if is_text else plain(event.value)
        return self.anchored(event.anchor, Node(value, self.place(event), event.value))

    def alias(self, event: Any) -> Node:
        """Return the node that an alias refers to. Raises ModelSyntaxError: no such anchor; ModelLimitError: it contains itself."""
        if event.anchor not in self.anchors:
            raise ModelSyntaxError(f"no anchor &{event.anchor} before this alias", place=self.place(event))
        node = self.anchors[event.anchor]
        if node is None:
            raise ModelLimitError(f"alias expansion: *{event.anchor} holds itself, without end", place=self.place(event))
        return node

    def anchored(self, anchor: str | None, node: Node) -> Node:
        """Return a node, after storing it under its anchor if it has one."""
        if anchor:
            self.anchors[anchor] = node
        return node

    def check_tag(self, event: Any) -> None:
        """Raise ModelSyntaxError if the tag of an event is not accepted."""
        if event.tag not in self.tags:
            rule = "YAML tags are not read: a description holds plain values"
            raise ModelSyntaxError(rule, place=self.place(event), text=event.tag, fix="remove the tag")


def plain(text: str) -> Any:
    """Return the value of an unquoted YAML scalar by the core rules of YAML 1.2: `1e-3` is a number and `no` a word."""
    if text.lower() in PLAIN_WORDS:
        return PLAIN_WORDS[text.lower()]
    return float(text) if re.fullmatch(f"[-+]?{NUMBER}", text) else text
