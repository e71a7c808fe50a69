"""A derivation as one HTML page: MathML, no script, nothing to fetch; well-formed XML as well."""

from __future__ import annotations

from html import escape
from itertools import chain

from qddot.symbolic.derivation.layout import Line, Writer
from qddot.symbolic.derivation.mathml import mathml
from qddot.symbolic.derivation.steps import Derivation, Math, Prose, Step, Table

FOLDED = 40  # lines: a longer list opens on demand

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #1b1b1b; background: #fff }
h1 { font-size: 1.6em } h2 { font-size: 1.2em; margin-top: 2em; border-bottom: 1px solid #ccc }
math { font-size: 1.05em } .display { overflow-x: auto; padding: 0.3em 0 } .display math { width: fit-content; margin-left: 1em }
mtd { padding: 0.15em 0.5em } .lines > mtr > mtd { padding: 0.3em 0.15em; text-align: left }
.lines > mtr > mtd:first-child { text-align: right }
table { border-collapse: collapse } td, th { padding: 0.2em 0.8em; border-bottom: 1px solid #ddd; text-align: left }
.check { color: #256029; font-size: 0.9em; margin: 0.2em 0 } summary { cursor: pointer; color: #444 } nav { columns: 2 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #171717 } .check { color: #8fce94 } summary { color: #bbb } }
"""


def html_document(derivation: Derivation) -> str:
    writer = Writer(derivation)
    title = shown(derivation.title)
    links = "".join(f'<li><a href="#step{i}">{shown(step.title)}</a></li>' for i, step in enumerate(derivation.steps, 1))
    parts = [f"<h1>{title}</h1>", f"<nav><ol>{links}</ol></nav>", *(paragraph(note) for note in derivation.notes)]
    for number, step in enumerate(derivation.steps, 1):
        parts += section(writer, number, step)
    if definitions := writer.definitions():
        parts += ["<h2>Abbreviations</h2>", display(definitions)]
    head = f'<meta charset="utf-8"/><title>{title}</title><style>{STYLE}</style>'
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html xmlns="http://www.w3.org/1999/xhtml" lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'
    )


def section(writer: Writer, number: int, step: Step) -> list[str]:
    lines = list(chain.from_iterable(writer.lines(equation) for equation in step.equations))
    checks = [f'<p class="check">✓ {shown(str(check))}.</p>' for check in step.checks]
    table = [table_of(step.table)] if step.table else []
    equations = display(lines)
    if len(lines) > FOLDED:
        equations = f"<details><summary>{len(lines)} lines of equations</summary>{equations}</details>"
    return [f'<h2 id="step{number}">{number}. {shown(step.title)}</h2>', *map(paragraph, step.prose), *table, equations, *checks]


def display(lines: list[Line]) -> str:
    if not lines:
        return ""
    rows = "".join(f"<mtr><mtd>{mathml(x.left)}</mtd><mtd>{mathml(x.right)}</mtd></mtr>" for x in lines)
    table = f'<mtable class="lines" columnalign="right left" displaystyle="true">{rows}</mtable>'
    return f'<div class="display"><math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{table}</math></div>'


def table_of(table: Table) -> str:
    head = "".join(f"<th>{text(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f"<table><tr>{head}</tr>{rows}</table>"


def paragraph(prose: Prose) -> str:
    return f"<p>{text(prose)}</p>"


def text(prose: Prose) -> str:
    inline = '<math xmlns="http://www.w3.org/1998/Math/MathML">{}</math>'
    return "".join(inline.format(mathml(part)) if isinstance(part, Math) else shown(part) for part in prose)


def shown(words: str) -> str:
    """Escaped; what XML does not allow at all is left out."""
    return escape("".join(x if x.isprintable() else " " for x in words))
