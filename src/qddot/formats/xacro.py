"""Expansion of xacro without running code: properties, macros, conditions, includes and expressions of a small language.

The language is that of the ROS tool (http://wiki.ros.org/xacro), with three exceptions: expressions are not Python but the subset
in `qddot.formats.xacro_expression`; files come only from the description's own packages (`qddot.formats.xacro_files`); and the
environment is not read: `$(env NAME)` is the argument of that name. Every element of the result keeps the place at which it was
written, for error messages.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qddot.errors import (
    InputError,
    ModelError,
    ModelLimitError,
    ModelReferenceError,
    ModelStructureError,
    ModelValueError,
    first_few,
    near_matches,
    unknown_name,
)
from qddot.formats.reach import Refused
from qddot.formats.source import Description
from qddot.formats.xacro_expression import Value
from qddot.formats.xacro_files import Files
from qddot.formats.xacro_scope import TRUTH, Lazy, Macro, Parameter, Scope
from qddot.formats.xacro_text import Texts
from qddot.formats.xml_tree import MAX_CONTENT, TEXT, Element

MAX_ELEMENTS = 200_000
MAX_CALLS = 100
PREFIX = "xacro:"
DEFAULT = r"""\$\{.*?\}|\$\(.*?\)|(?:'.*?'|".*?"|[^\s'"]+)+|"""
PARAMETER = re.compile(rf"\s*([^\s:=]+?)\s*:?=\s*(\^\|?)?({DEFAULT})(?:\s+|$)|\s*(\S+)")


def expand(
    source: Description, arguments: Mapping[str, Any] | None = None, packages: Mapping[str, Any] | None = None
) -> tuple[Element, Files]:
    """Return the expanded document, and the files in its reach. Raises UnknownNameError: an argument the file does not have."""
    given = {}
    for name, value in (arguments or {}).items():
        if not isinstance(name, str) or not isinstance(value, (str, int, float)):
            raise InputError(f"arguments: {name!r}: {value!r} is not a name and a text, number or truth value")
        given[name] = str(value)
    files = Files(source, packages)
    expander = _Expander(files, given)
    try:
        root = expander.document()
    except RecursionError:
        raise ModelLimitError("macros, blocks or includes are nested too deeply", place=files.tree(files.main).place) from None
    for name in given:
        if name not in expander.texts.known:
            raise unknown_name("xacro argument", name, sorted(expander.texts.known))
    return root, files


class _Expander:
    """Expansion of one description."""

    def __init__(self, files: Files, given: dict[str, str]) -> None:
        self.files, self.texts = files, Texts(files, given)
        self.calls: list[Element] = []
        self.count = 0
        self.handlers: dict[str, Callable[[Element, Scope], list[Element]]] = {
            "property": self.on_property, "macro": self.on_macro, "arg": self.on_arg, "include": self.on_include,
            "if": self.on_condition, "unless": self.on_condition, "insert_block": self.on_insert_block,
            "element": self.on_element, "attribute": self.on_attribute, "call": self.on_call,
        }  # fmt: skip

    def document(self) -> Element:
        """Expand the main file. The root's attributes come last: real files name the robot by an argument declared inside."""
        tree, scope = self.opened(self.files.main), Scope(self.lazily)
        return self.copied(tree, scope, parts=self.inside(tree, scope))

    def opened(self, path: Path) -> Element:
        """Return the root element of a file, and note the names of its arguments."""
        tree = self.files.tree(path)
        for key, value in tree.attributes.items():
            if key.startswith("xmlns:") and value.rstrip("/").endswith("xacro") and key != "xmlns:xacro":
                raise self.error(
                    tree, "the namespace of xacro needs the prefix 'xacro'", key, fix="write xmlns:xacro and <xacro:...>"
                )
        self.texts.known |= {x.attributes.get("name", "") for x in tree.walk() if x.tag == f"{PREFIX}arg"}
        return tree

    # elements ---------------------------------------------------------------------------------------------------------

    def expanded(self, element: Element, scope: Scope) -> list[Element]:
        """Expand an element: macros, conditions, includes and blocks become plain elements."""
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.error(element, f"the expansion is over the limit of {MAX_ELEMENTS} elements", kind=ModelLimitError)
        if element.tag == TEXT:
            return [Element(TEXT, {"text": self.written(element, "text", scope)}, element.place, None)]
        if not element.tag.startswith(PREFIX):
            return [self.copied(element, scope)]
        name = element.tag.removeprefix(PREFIX)
        return self.handlers.get(name, self.on_macro_call)(element, scope)

    def inside(self, element: Element, scope: Scope) -> list[Element]:
        """Expand the children of an element."""
        return [part for child in element.children for part in self.expanded(child, scope)]

    def copied(self, element: Element, scope: Scope, tag: str | None = None, parts: list[Element] | None = None) -> Element:
        """Return an element with its attributes and content expanded; `parts` are its expanded children, if known already."""
        own = (key for key in element.attributes if not key.startswith(PREFIX) and key != "xmlns:xacro")
        attributes = {key: self.written(element, key, scope) for key in own}
        copy = Element(tag or element.tag, attributes, element.place, None)
        copy.content = element.content
        for child in self.inside(element, scope) if parts is None else parts:
            if child.tag == f"{PREFIX}attribute":
                copy.attributes[child.attributes["name"]] = child.attributes["value"]
                continue
            if child.tag == TEXT:
                copy.content = copy.content or child.attributes["text"].strip()[:MAX_CONTENT]
                continue
            child.parent = copy
            copy.children.append(child)
        return copy

    def on_element(self, element: Element, scope: Scope) -> list[Element]:
        name = self.written(element, "xacro:name", scope)
        if not name:
            raise self.error(element, "an element needs a name", "xacro:name", fix="give it a name")
        return [self.copied(element, scope, name)]

    def on_attribute(self, element: Element, scope: Scope) -> list[Element]:
        """Return an attribute for the element around it as an element, which `copied` turns into that attribute."""
        pair = {key: self.written(element, key, scope) for key in ("name", "value")}
        return [Element(element.tag, pair, element.place, None)]

    def on_condition(self, element: Element, scope: Scope) -> list[Element]:
        kept = self.truth(element, "value", scope) != (element.tag == f"{PREFIX}unless")
        return self.inside(element, scope) if kept else []

    def on_include(self, element: Element, scope: Scope) -> list[Element]:
        name = self.written(element, "filename", scope)
        try:
            path = self.files.within(name, self.files.folder_of(element.place.file))
        except Refused as refused:
            if refused.kind is ModelReferenceError and self.truth(element, "optional", scope, False):
                return []
            raise self.error(element, refused.rule, "filename", refused.kind, refused.fix) from None
        if "ns" in element.attributes:
            space = self.written(element, "ns", scope)
            inner = Scope(self.lazily, scope, namespace=True)
            scope.properties[space] = inner
            scope = inner
        with self.deeper(element, "includes"):
            return self.inside(self.opened(path), scope)

    def on_arg(self, element: Element, scope: Scope) -> list[Element]:
        name = self.need(element, "name")
        if name not in self.texts.arguments and "default" in element.attributes:
            self.texts.arguments[name] = self.written(element, "default", scope)
        return []

    # properties and blocks --------------------------------------------------------------------------------------------

    def on_property(self, element: Element, scope: Scope) -> list[Element]:
        name = self.written(element, "name", scope)
        if not name.isidentifier() or name.startswith("__"):
            raise self.error(element, "a property's name is made of letters, digits and _", "name", fix="rename it")
        given = [key for key in ("value", "default") if key in element.attributes]
        if self.truth(element, "remove", scope, False):
            scope.remove(name)
            return []
        if len(given) > 1:
            raise self.error(element, "value and default exclude each other", "default", fix="keep one")
        if given == ["default"] and name in scope:
            return []
        target = {"global": scope.top, "parent": scope.caller}.get(element.attributes.get("scope", ""), scope)
        if not given:
            target.properties[f"**{name}"] = element
        elif target is scope and self.truth(element, "lazy_eval", scope, True):
            target.set(name, element.attributes[given[0]], element)
        else:
            target.set(name, self.text(element, given[0], scope))
        return []

    def on_insert_block(self, element: Element, scope: Scope) -> list[Element]:
        name = self.written(element, "name", scope)
        with self.deeper(element, "blocks"):
            if f"**{name}" in scope:
                return self.inside(scope.lookup(f"**{name}"), scope)
            if f"*{name}" in scope:
                return self.expanded(scope.lookup(f"*{name}"), scope)
        raise self.error(element, f"there is no block {name!r}", "name", ModelReferenceError)

    # macros -----------------------------------------------------------------------------------------------------------

    def on_macro(self, element: Element, scope: Scope) -> list[Element]:
        name = self.need(element, "name").removeprefix(PREFIX)
        if name == "call" or "." in name:
            raise self.error(element, "a macro is not named 'call' and has no dot in its name", "name", fix="rename it")
        found = PARAMETER.finditer(element.attributes.get("params", ""))
        parameters = [Parameter(m[1], m[3] or None, bool(m[2])) if m[1] is not None else Parameter(m[4]) for m in found]
        scope.macros[name] = Macro(name, element, tuple(parameters))
        return []

    def on_call(self, element: Element, scope: Scope) -> list[Element]:
        """Call a macro whose name is computed."""
        name = self.written(element, "macro", scope)
        rest = {key: text for key, text in element.attributes.items() if key != "macro"}
        call = Element(PREFIX + name, rest, element.place, element.parent)
        call.children = element.children
        return self.on_macro_call(call, scope)

    def on_macro_call(self, element: Element, scope: Scope) -> list[Element]:
        name = element.tag.removeprefix(PREFIX)
        try:
            macro, home = scope.macro(name)
        except KeyError:
            fix = near_matches(name, [*scope.macro_names(), *self.handlers])
            raise self.error(element, f"there is no macro {name!r}", kind=ModelReferenceError, fix=fix) from None
        with self.deeper(element, "macros"):
            inner = self.bound(element, macro, Scope(self.lazily, home), scope)
            return self.inside(macro.body, inner)

    def bound(self, call: Element, macro: Macro, inner: Scope, outer: Scope) -> Scope:
        """Return the scope of a macro's body: its parameters with the values of a call."""
        known = {p.name for p in macro.parameters if not p.is_block}
        for key in call.attributes:
            if key not in known:
                rule = f"the macro {macro.name!r} has no parameter {key!r}"
                raise self.error(call, rule, key, ModelReferenceError, near_matches(key, sorted(known)))
            inner.set(key, self.text(call, key, outer))
        blocks = [block for block in self.inside(call, outer) if block.tag != TEXT]
        for parameter in macro.parameters:
            if parameter.is_block:
                if not blocks:
                    rule = f"the macro {macro.name!r} needs a block for {parameter.name!r}"
                    raise self.error(call, rule, kind=ModelStructureError, fix="put an element into the call")
                inner.properties[parameter.name] = blocks.pop(0)
            elif parameter.name not in call.attributes:
                inner.set(parameter.name, self.default(call, macro, parameter, outer))
        if blocks:
            rule = f"the macro {macro.name!r} takes no block for <{blocks[0].tag}>"
            raise self.error(call, rule, kind=ModelStructureError, fix="remove it")
        return inner

    def default(self, call: Element, macro: Macro, parameter: Parameter, outer: Scope) -> Value:
        if parameter.forwarded and parameter.name in outer:
            with self.placed(call, ""):
                return outer.lookup(parameter.name)
        if parameter.default is None:
            rule = f"the macro {macro.name!r} needs a value for {parameter.name!r}"
            raise self.error(call, rule, kind=ModelReferenceError, fix=f'add {parameter.name}="..."')
        return self.evaluated(parameter.default, outer, macro.body, "params")

    # attributes -------------------------------------------------------------------------------------------------------

    def need(self, element: Element, attribute: str) -> str:
        if attribute not in element.attributes:
            raise self.error(element, f"the attribute {attribute!r} is missing", attribute, fix="add it")
        return element.attributes[attribute]

    def text(self, element: Element, attribute: str, scope: Scope) -> Value:
        """Return an attribute's value, which has any type if the text is a single expression."""
        return self.evaluated(self.need(element, attribute), scope, element, attribute)

    def written(self, element: Element, attribute: str, scope: Scope) -> str:
        return str(self.text(element, attribute, scope))

    def truth(self, element: Element, attribute: str, scope: Scope, default: bool | None = None) -> bool:
        if default is not None and attribute not in element.attributes:
            return default
        value = self.text(element, attribute, scope)
        if isinstance(value, str):
            try:
                return TRUTH[value] if value in TRUTH else bool(int(value))
            except ValueError:
                fix = "write true or false, or ${...}"
                raise self.error(element, f"{value[:40]!r} is neither true nor false", attribute, fix=fix) from None
        return bool(value)

    def lazily(self, lazy: Lazy, scope: Scope) -> Value:
        key = "value" if "value" in lazy.element.attributes else "default"
        return self.evaluated(lazy.text, scope, lazy.element, key)

    def evaluated(self, text: str, scope: Scope, element: Element, attribute: str) -> Value:
        """Return a text with its `${...}` and `$(...)` replaced."""
        if "$" not in text:
            return text
        with self.placed(element, attribute):
            return self.texts.replaced(text, scope, element)

    # errors -----------------------------------------------------------------------------------------------------------

    @contextmanager
    def placed(self, element: Element, attribute: str) -> Iterator[None]:
        """Raise refusals again as errors with a place."""
        try:
            yield
        except Refused as refused:
            raise self.error(element, refused.rule, attribute, refused.kind, refused.fix) from None

    @contextmanager
    def deeper(self, element: Element, what: str) -> Iterator[None]:
        if len(self.calls) >= MAX_CALLS:
            raise self.error(element, f"{what} are nested over the limit of {MAX_CALLS}", kind=ModelLimitError)
        self.calls.append(element)
        yield
        self.calls.pop()

    def error(
        self, element: Element, rule: str, attribute: str = "", kind: type[ModelError] = ModelValueError, fix: str = ""
    ) -> ModelError:
        """Return an error at an element, with the calls and includes that lead to it."""
        ways = [f"<{call.tag}> at {call.place}" for call in reversed(self.calls) if call is not element]
        if ways:
            rule += "; reached by " + first_few(ways, 3)
        text = element.attributes.get(attribute) if attribute else None
        shown = "" if element.tag == TEXT else attribute
        return kind(rule, **element.where, attribute=shown, text=text, fix=fix)
