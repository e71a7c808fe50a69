"""A derivation as Markdown with LaTeX between dollars."""

from __future__ import annotations

import re
from itertools import chain

from qddot.symbolic.derivation.layout import Line, Writer
from qddot.symbolic.derivation.steps import Derivation, Math, Prose, Step, Table

PAGE = 30  # lines in one display


def markdown(derivation: Derivation) -> str:
    writer = Writer(derivation)
    parts = [f"# {escaped(derivation.title)}", *(text(note) for note in derivation.notes)]
    for number, step in enumerate(derivation.steps, 1):
        parts += section(writer, number, step)
    if definitions := writer.definitions():
        parts += ["## Abbreviations", *displays(definitions)]
    return "\n\n".join(parts) + "\n"


def section(writer: Writer, number: int, step: Step) -> list[str]:
    lines = list(chain.from_iterable(writer.lines(equation) for equation in step.equations))
    checks = [f"*{escaped(str(check))}.*" for check in step.checks]
    table = [table_of(step.table)] if step.table else []
    return [f"## {number}. {escaped(step.title)}", *map(text, step.prose), *table, *displays(lines), *checks]


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
    """Whatever words contain, shown as themselves on one line."""
    one_line = " ".join("".join(x if x.isprintable() else " " for x in words).split(" "))
    plain = one_line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_{}\[\]#|!$~])", r"\\\1", plain)
