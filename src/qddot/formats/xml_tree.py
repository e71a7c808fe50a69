"""XML files as trees whose elements know their line, for error messages.

Expat does the parsing and refuses what is not well-formed. No reference out of the file is followed: a document type, and with it
every entity, is refused. Sizes are checked before anything is built, and nothing recurses.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from qddot.errors import (
    ModelError,
    ModelFormatError,
    ModelLimitError,
    ModelSecurityError,
    ModelSyntaxError,
    ModelValueError,
    near_matches,
)
from qddot.files import DESCRIPTION_BYTES, NotAFileError, TooLargeError, read_whole
from qddot.model.check import MAX_NAME, warn
from qddot.place import Place

MAX_DEPTH = 256
MAX_ELEMENTS = 1_000_000
MAX_ATTRIBUTES = 256
MAX_TEXT = 65_536
MAX_CONTENT = 100  # characters

TEXT = "#text"
LATE_DECLARATION = re.compile(rb"(\s+)(<\?xml\s[^>]*\?>)")
NAMES = ("name", "link", "joint", "type")
NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
WORD = re.compile(r"[^ \t\r\n]+")  # separated by the white space of XML, not that of Unicode


class Element:
    """One element: its attributes as text, its children, its place, its content (the beginning of the text directly in it)."""

    __slots__ = ("attributes", "children", "content", "parent", "place", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], place: Place, parent: Element | None) -> None:
        self.tag, self.attributes, self.place, self.parent = tag, attributes, place, parent
        self.children: list[Element] = []
        self.content = ""

    @property
    def path(self) -> str:
        """The element and those around it, without the root: `joint 'elbow' > limit`."""
        labels, at = [], self
        while at is not None and (at.parent is not None or not labels):
            name = at.attributes.get("name")
            labels.append(at.tag if name is None else f"{at.tag} {name!r}")
            at = at.parent
        return " > ".join(reversed(labels))

    @property
    def where(self) -> dict[str, Any]:
        """Place and path, as arguments of errors and warnings."""
        return {"place": self.place, "element": self.path}

    def walk(self) -> Iterator[Element]:
        """Yield this element and everything in it, in file order."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))

    def all(self, tag: str) -> list[Element]:
        """Return the children of that tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str, error: type[ModelError] = ModelValueError) -> Element | None:
        """Return the only child of that tag, None if there is none. Equal copies are reported by `report_copies`. Raises `error`:
        there are two that differ."""
        found = self.all(tag)
        for other in found[1:]:
            if not other.says_the_same(found[0]):
                rule = f"duplicate <{tag}>: the first is on line {found[0].place.line}"
                raise error(rule, **other.where, fix="keep one")
        return found[0] if found else None

    def says_the_same(self, other: Element) -> bool:
        """Return True if two elements have equal attributes, apart from white space, and both are empty."""
        mine, theirs = ({key: value.split() for key, value in x.attributes.items()} for x in (self, other))
        return mine == theirs and not self.children and not other.children

    def report_copies(self, tags: Collection[str]) -> None:
        """Warn of children of these tags that are given twice with the same attributes."""
        seen: dict[str, Element] = {}
        for child in (x for x in self.children if x.tag in tags):
            first = seen.setdefault(child.tag, child)
            if child is not first and child.says_the_same(first):
                rule = f"<{child.tag}> is given again, as on line {first.place.line}; the copy is ignored"
                warn(rule, **child.where, fix="keep one")

    def need(self, tag: str, error: type[ModelError] = ModelValueError) -> Element:
        """Return the only child of that tag. Raises `error`: there is none, or there are two."""
        found = self.one(tag, error)
        if found is None:
            raise error(f"<{tag}> is missing", **self.where, fix=f"add <{tag} .../>")
        return found

    def text(self, attribute: str) -> str:
        """Return an attribute's text. Raises ModelValueError: it is missing."""
        if attribute not in self.attributes:
            raise self.wrong(attribute, f"the attribute {attribute!r} is missing", fix="add it")
        return self.attributes[attribute]

    def number(self, attribute: str, default: float | None = None) -> float:
        """Return an attribute that is one finite decimal number. Raises ModelValueError: it is not, or it is missing and there is
        no default."""
        if default is not None and attribute not in self.attributes:
            return default
        return self.numbers(attribute, 1)[0]

    def numbers(self, attribute: str, *counts: int) -> list[float]:
        """Return an attribute that is a list of finite decimal numbers, as many as one of `counts`. Raises ModelValueError: it is
        missing, has another count, or a word is no such number."""
        text = self.text(attribute)
        words = WORD.findall(text)
        if len(words) not in counts:
            wanted = " or ".join(map(str, counts)) + (" number" if counts == (1,) else " numbers")
            raise self.wrong(attribute, f"{wanted} wanted, {len(words)} found", fix="separate numbers by spaces")
        for word in words:
            if not NUMBER.fullmatch(word):
                raise self.wrong(attribute, f"{word[:40]!r} is not a decimal number", fix="write it like 0.25 or -1e-3")
        values = [float(word) for word in words]
        for word, value in zip(words, values, strict=True):
            if abs(value) == float("inf"):
                raise self.wrong(attribute, f"{word[:40]!r} is not finite in double precision", fix="write a finite number")
        return values

    def wrong(self, attribute: str, rule: str, fix: str = "") -> ModelValueError:
        """Return the error for an attribute's value."""
        text = self.attributes.get(attribute)
        return ModelValueError(rule, **self.where, attribute=attribute, text=text, fix=fix)

    def report_unknown_attributes(self, known: tuple[str, ...]) -> None:
        """Warn of attributes that are not known and therefore ignored, such as misspelt ones."""
        for attribute in self.attributes:
            if attribute not in known and ":" not in attribute and attribute != "xmlns":
                rule = f"unknown attribute {attribute!r} is ignored"
                warn(rule, **self.where, fix=near_matches(attribute, known))

    def report_near_misses(self, known: tuple[str, ...]) -> None:
        """Warn of unknown attributes that resemble an absent known one only, since others put attributes of their own there."""
        absent = [name for name in known if name not in self.attributes]
        for attribute in self.attributes:
            close = difflib.get_close_matches(attribute.lower(), absent, n=1, cutoff=0.7) if attribute not in known else ()
            if close:
                rule = f"unknown attribute {attribute!r} is ignored"
                warn(rule, **self.where, fix=f"did you mean {close[0]!r}?")


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a description. Raises OSError: it cannot be read; ModelFormatError: not a regular file, but a FIFO or
    a device; ModelLimitError: larger than the limit."""
    try:
        return read_whole(path, DESCRIPTION_BYTES)
    except NotAFileError as error:
        raise ModelFormatError(str(error), place=Place(str(path)), fix="give the path of a file") from None
    except TooLargeError as error:
        raise ModelLimitError(str(error), place=Place(str(path))) from None


def parse_xml(data: bytes, file: str, limits: dict[str, int] | None = None, *, text: bool = False) -> Element:
    """Return the root element of an XML file.

    Args:
        data: the file's content, in any encoding expat reads.
        file: its name in error messages.
        limits: tag -> the most elements directly under the root; parsing stops at the first one too many.
        text: keep text between tags that has a `$`, as elements with the tag `TEXT` and an attribute `text`.

    Raises:
        ModelSyntaxError: not well-formed.
        ModelSecurityError: it declares a document type or entities.
        ModelLimitError: too large, too deeply nested, or too many elements.
    """
    if not data.strip():
        raise ModelSyntaxError("the file is empty", place=Place(file, 1, 1), fix="write a description into it")
    late = LATE_DECLARATION.match(data)
    if late:
        warn("white space stands before the XML declaration", place=Place(file, 1, 1), fix="remove it")
    builder = _Builder(file, limits or {}, text)
    parser = builder.parser
    try:
        parser.Parse(late[2] + late[1] + data[late.end() :] if late else data, True)  # the white space keeps line numbers right
    except expat.ExpatError as error:
        rule = f"not well-formed XML: {expat.ErrorString(error.code)}"
        raise ModelSyntaxError(rule, place=Place(file, error.lineno, error.offset + 1)) from None
    except ModelError:
        raise
    except (LookupError, ValueError) as error:  # an encoding that Python does not know, or that expat cannot use
        raise ModelSyntaxError(f"the encoding cannot be read: {error}", place=Place(file, 1, 1), fix="save it as UTF-8") from None
    assert builder.root is not None  # expat refuses a file without a root
    return builder.root


class _Builder:
    """Builder of the tree from expat's events, within the limits."""

    def __init__(self, file: str, limits: dict[str, int], text: bool = False) -> None:
        self.file, self.limits = file, limits
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.under_root = dict.fromkeys(limits, 0)
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = lambda tag: self.open.pop()
        self.parser.StartDoctypeDeclHandler = self.refuse_doctype
        self.parser.EntityDeclHandler = self.refuse_doctype
        self.parser.buffer_text = True
        self.parser.CharacterDataHandler = self.text if text else self.content

    @property
    def place(self) -> Place:
        return Place(self.file, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def refuse_doctype(self, name: str, *_: object) -> None:
        rule = f"it declares a document type or an entity ({name[:40]!r}), which may pull in files or grow without bound"
        place = Place(self.file, self.parser.CurrentLineNumber)
        raise ModelSecurityError(rule, place=place, fix="remove the <!DOCTYPE ...> declaration")

    def text(self, data: str) -> None:
        if "$" in data and self.open:
            self.start(TEXT, {"text": data})
            self.open.pop()
        else:
            self.content(data)

    def content(self, data: str) -> None:
        if self.open and not self.open[-1].content:
            self.open[-1].content = data.strip()[:MAX_CONTENT]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        place = self.place
        parent = self.open[-1] if self.open else None
        self.count += 1
        self._limit("number of elements", self.count, MAX_ELEMENTS, place)
        self._limit("nesting depth", len(self.open) + 1, MAX_DEPTH, place)
        self._limit("tag length", len(tag), MAX_NAME, place)
        self._limit("number of attributes", len(attributes), MAX_ATTRIBUTES, place, f"<{tag}>")
        for key, value in attributes.items():
            what, most = ("name length", MAX_NAME) if key in NAMES else ("attribute length", MAX_TEXT)
            self._limit(what, max(len(key), len(value)), most, place, f"<{tag}>")
        if len(self.open) == 1 and tag in self.limits:
            self.under_root[tag] += 1
            self._limit(f"number of {tag}s", self.under_root[tag], self.limits[tag], place)
        element = Element(tag, attributes, place, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
        self.open.append(element)

    def _limit(self, what: str, value: int, most: int, place: Place, element: str = "") -> None:
        if value > most:
            raise ModelLimitError(f"{what} {value} is over the limit of {most}", place=place, element=element)
