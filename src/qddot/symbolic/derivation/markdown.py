"""A derivation in Markdown, with LaTeX between dollars."""

from __future__ import annotations

import re
from itertools import chain

from qddot.symbolic.derivation.document import Section, printable
from qddot.symbolic.derivation.layout import Line
from qddot.symbolic.derivation.steps import Derivation, Math, Prose, Table

PAGE = 30  # the most lines in one display


def markdown(derivation: Derivation) -> str:
    document = derivation.document
    tree = ["\n".join(["```text", *map(printable, str(document.tree).splitlines()), "```"])] if document.tree else []
    parts = [f"# {escaped(document.title)}", *tree, *map(text, document.notes)]
    for section in document.sections:
        parts += written(section)
    return "\n\n".join(parts) + "\n"


def written(section: Section) -> list[str]:
    lines = list(chain.from_iterable(display.lines for display in section.displays))
    table = [table_of(section.table)] if section.table else []
    new = ["With the abbreviations", *displays(section.abbreviations)] if section.abbreviations else []
    checks = [f"*{text(check)}*" for check in section.checks]
    head = f"## {section.number}. {escaped(section.title)}"
    return [head, *map(text, section.prose), *table, *displays(lines), *map(text, section.after), *new, *checks]


def displays(lines: list[Line]) -> list[str]:
    found = []
    for start in range(0, len(lines), PAGE):
        rows = " \\\\\n".join(f"{line.left} &{line.right}" for line in lines[start : start + PAGE])
        found.append("$$\n\\begin{aligned}\n" + rows + "\n\\end{aligned}\n$$")
    return found


def table_of(table: Table) -> str:
    rows = [table.head, *table.rows]
    cells = ["| " + " | ".join(text(cell) for cell in row) + " |" for row in rows]
    return "\n".join([cells[0], "|" + "---|" * len(table.head), *cells[1:]])


def text(prose: Prose) -> str:
    return "".join(f"${part}$" if isinstance(part, Math) else escaped(part) for part in prose)


def escaped(words: str) -> str:
    """Return words on one line, with every character shown as itself."""
    plain = printable(words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|!$~])", r"\\\1", plain)
