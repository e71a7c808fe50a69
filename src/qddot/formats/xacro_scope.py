"""Scopes of names in a xacro file: properties, which are evaluated when first used, and macros."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from qddot.formats.reach import Refused
from qddot.formats.xacro_expression import Value
from qddot.formats.xml_tree import Element

TRUTH = {"true": True, "True": True, "false": False, "False": False}


@dataclass(frozen=True)
class Lazy:
    """A property that is not evaluated yet: its text, and the element that defines it."""

    text: str
    element: Element


@dataclass(frozen=True)
class Parameter:
    """Parameter of a macro: `name`, `name:=default`, `name:=^` (the caller's value), `*block`, `**blocks`."""

    name: str
    default: str | None = None
    forwarded: bool = False

    @property
    def is_block(self) -> bool:
        return self.name.startswith("*")


@dataclass(frozen=True)
class Macro:
    """A piece of XML with parameters."""

    name: str
    body: Element
    parameters: tuple[Parameter, ...]


@dataclass(eq=False)
class Scope:
    """Properties, blocks (named `*name` or `**name`) and macros; other names are looked up in the parent scope.

    A namespace, which `<xacro:include ns="...">` makes, hides the macros of its parent but not its properties.
    """

    read: Callable[[Lazy, Scope], Value]
    parent: Scope | None = None
    namespace: bool = False
    properties: dict[str, Any] = field(default_factory=dict)
    macros: dict[str, Macro] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)

    def lookup(self, name: str) -> Value:
        """Return the value of a property. Raises KeyError: there is none; Refused: it is defined by itself."""
        if name not in self.properties:
            if self.parent is None:
                raise KeyError(name)
            return self.parent.lookup(name)
        value = self.properties[name]
        if isinstance(value, Lazy):
            if name in self.open:
                raise Refused(f"the property is defined by itself: {' -> '.join([*self.open, name])}")
            self.open.append(name)
            try:
                value = self.properties[name] = literal(self.read(value, self))
            finally:
                self.open.remove(name)
        return value

    def __contains__(self, name: str) -> bool:
        return name in self.properties or (self.parent is not None and name in self.parent)

    def names(self) -> list[str]:
        """Return the names of visible properties, for error messages."""
        own = [name for name in self.properties if not name.startswith("*")]
        return own + (self.parent.names() if self.parent else [])

    def set(self, name: str, value: Value, element: Element | None = None) -> None:
        """Give a property its value; a text is evaluated later, if its element is given."""
        value = literal(value)
        self.properties[name] = Lazy(value, element) if isinstance(value, str) and element is not None else value

    def remove(self, name: str) -> None:
        scope: Scope | None = self
        while scope:
            scope.properties.pop(name, None)
            scope = scope.parent

    @property
    def top(self) -> Scope:
        scope = self
        while scope.parent:
            scope = scope.parent
        return scope

    @property
    def caller(self) -> Scope:
        """The scope meant by `scope="parent"`."""
        scope = self.parent or self
        while scope.namespace and not self.namespace and scope.parent:
            scope = scope.parent
        return scope

    def macro(self, name: str) -> tuple[Macro, Scope]:
        """Return a macro by its name, possibly in namespaces (`arms.left`), and the parent scope of its body. Raises KeyError:
        there is none."""
        if found := self._macro(name):
            return found, self
        spaces, _, last = name.rpartition(".")
        scope: Scope = self
        for space in spaces.split(".") if spaces else ():
            inner = scope.lookup(space)
            if not isinstance(inner, Scope):
                raise KeyError(name)
            scope = inner
        if spaces and (found := scope._macro(last)):
            return found, scope
        raise KeyError(name)

    def _macro(self, name: str) -> Macro | None:
        scope: Scope | None = self
        while scope:
            if name in scope.macros:
                return scope.macros[name]
            scope = None if scope.namespace else scope.parent
        return None

    def macro_names(self) -> list[str]:
        return list(self.macros) + (self.parent.macro_names() if self.parent and not self.namespace else [])


def literal(value: Value) -> Value:
    """Return the number or truth value that a text stands for; any other text without quotes around it."""
    if not isinstance(value, str):
        return value
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1]
    if "_" in value:  # a name, although Python would read 1_000 as a number
        return value
    for kind in (int, float):
        with suppress(ValueError):
            return kind(value)
    return TRUTH.get(value, value)
