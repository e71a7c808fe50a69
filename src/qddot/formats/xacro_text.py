"""Substitution of `${expressions}` and `$(commands)` in the texts of a xacro file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from qddot.errors import ModelLimitError, ModelReferenceError, ModelSecurityError
from qddot.formats.reach import Refused
from qddot.formats.xacro_expression import MAX_SIZE, Value, evaluate
from qddot.formats.xacro_files import Files
from qddot.formats.xacro_scope import Lazy, Scope
from qddot.formats.xml_tree import Element
from qddot.model.check import warn

PIECES = re.compile(r"(?P<escape>\$\$+[{(])|\$\{(?P<expression>[^}]*)\}|\$\((?P<command>[^)]*)\)|(?P<text>[^$]+|\$(?![{($])|\$$)")


class Texts:
    """Substitution in texts. `files`: those in reach of the description; `given`: values of arguments, from the caller."""

    def __init__(self, files: Files, given: dict[str, str]) -> None:
        self.files, self.given = files, given
        self.arguments = dict(given)  # defaults are added while the file is read
        self.known: set[str] = set()  # names of arguments that the file uses

    def replaced(self, text: str, scope: Scope, element: Element) -> Value:
        """Return a text with its substitutions; the value itself, of any type, if the text is a single one. Raises Refused."""
        values: list[Value] = []
        end = 0
        for piece in PIECES.finditer(text):
            if piece.start() != end:
                break
            end = piece.end()
            if piece["expression"] is not None:
                inner = str(self.replaced(piece["expression"], scope, element))
                values.append(evaluate(inner, scope, self.functions(element)))
            elif piece["command"] is not None:
                values.append(self.command(str(self.replaced(piece["command"], scope, element)), scope, element))
            else:
                values.append(piece["escape"][1:] if piece["escape"] else piece["text"])
        if end != len(text):
            raise Refused(f"{text[end : end + 40]!r} is not closed", fix="a ${ ends with }, a $( with )")
        if len(values) == 1:
            return values[0]
        joined = "".join(map(str, values))
        if len(joined) > MAX_SIZE:
            raise Refused(f"a text of length {len(joined)} is over the limit of {MAX_SIZE}", ModelLimitError)
        return joined

    def command(self, text: str, scope: Scope, element: Element) -> Value:
        """Return the value of a command such as `arg name`."""
        verb, *words = text.split() or [""]
        name = words[0] if words else ""
        if verb == "arg" and len(words) == 1:
            return self.argument(name)
        if verb == "find" and len(words) == 1:
            return str(self.files.package(name))
        if verb == "dirname" and not words:
            folder = self.files.folder_of(element.place.file)
            if folder is None:
                raise Refused("a text has no folder", ModelReferenceError, "load the description from a file")
            return str(folder.resolve())
        if verb == "env" and len(words) == 1:
            self.known.add(name)
            if name in self.given:
                return self.given[name]
            fix = f"give it: arguments={{{name!r}: ...}}"
            raise Refused(f"the environment is not read, so {name!r} has no value", ModelSecurityError, fix)
        if verb == "optenv" and words:
            self.known.add(name)
            return self.given.get(name, " ".join(words[1:]))
        if verb == "eval":
            own = Scope(scope.read, scope, properties={k: Lazy(v, element) for k, v in self.arguments.items() if k not in scope})
            return evaluate(text[4:], own, {**self.functions(element), "arg": self.argument})
        raise Refused(f"unknown substitution {text[:40]!r}", fix="known: arg, find, dirname, env, optenv, eval")

    def argument(self, name: str) -> str:
        if name not in self.arguments:
            fix = f"give it: arguments={{{name!r}: ...}}"
            raise Refused(f"the argument {name!r} has no value and no default", ModelReferenceError, fix)
        self.known.add(name)
        return self.arguments[name]

    def functions(self, element: Element) -> dict[str, Callable[..., Value]]:
        """Return the functions that depend on the place of their call."""

        def load_yaml(name: str) -> Value:
            return self.files.yaml(self.files.within(name, self.files.folder_of(element.place.file)))

        def say(*words: Value) -> str:
            warn(" ".join(map(str, words)), **element.where)
            return ""

        def fatal(*words: Value) -> str:
            raise Refused(" ".join(map(str, words)))

        own = {"load_yaml": load_yaml, "arg": self.argument, "warning": say, "error": say, "fatal": fatal}
        own["message"] = lambda *words: ""
        own["abs_filename"] = lambda name: str(Path(element.place.file).resolve().parent / name)
        return {**{f"xacro.{name}": f for name, f in own.items()}, "load_yaml": load_yaml}
