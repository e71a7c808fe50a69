"""A derivation as one HTML page with MathML and its font, no script and nothing to fetch; it is well-formed XML too."""

from __future__ import annotations

import re
from html import escape

from qddot.assets import math_font_css, style_sheet
from qddot.symbolic.derivation.document import TREE, Display, Section, printable
from qddot.symbolic.derivation.figure_svg import svg
from qddot.symbolic.derivation.layout import Line
from qddot.symbolic.derivation.mathml import mathml
from qddot.symbolic.derivation.steps import Derivation, Math, Prose, Table

MATHML, XHTML = "http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xhtml"
STOPPED = re.compile(r"(<math (?:(?!</math>).)*</math>[.,;:])")
FOLDED = 40  # the most lines of a step that is open at first


def html_document(derivation: Derivation) -> str:
    document = derivation.document
    title = shown(document.title)
    links = "".join(f'<li><a href="#step-{x.number}">{shown(x.title)}</a></li>' for x in document.sections)
    notes = f'<div class="notes">{"".join(map(paragraph, document.notes))}</div>' if document.notes else ""
    figure = svg(document.figure, math) if document.figure else ""
    tree = f'<figure class="tree">{document.tree.svg()}<figcaption>{TREE}</figcaption></figure>' if document.tree else ""
    parts = [f"<h1>{title}</h1>", figure, tree, notes, f"<nav><ol>{links}</ol></nav>", *map(written, document.sections)]
    viewport = '<meta name="viewport" content="width=device-width"/>'
    style = f"<style>{math_font_css()}{style_sheet()}</style>"
    head = f'<meta charset="utf-8"/>{viewport}<title>{title}</title>{style}'
    body = "\n".join(part for part in parts if part)
    return f'<!DOCTYPE html>\n<html xmlns="{XHTML}" lang="en"><head>{head}</head><body class="qddot">\n{body}\n</body></html>\n'


def written(section: Section) -> str:
    """Return a step that folds."""
    parts = [*map(paragraph, section.prose), table_of(section.table) if section.table else ""]
    parts += [equation(f"{section.number}.{i}", display) for i, display in enumerate(section.displays, 1)]
    parts += map(paragraph, section.after)
    if section.abbreviations:
        parts += [paragraph(("With the abbreviations",)), f'<div class="equation">{lines(section.abbreviations)}</div>']
    parts += [f'<p class="check">✓ {text(check)}</p>' for check in section.checks]
    unfolded = ' open="open"' if sum(len(display.lines) for display in section.displays) <= FOLDED else ""
    head = f"<summary><h2>{section.number}. {shown(section.title)}</h2></summary>"
    return f'<details class="step" id="step-{section.number}"{unfolded}>{head}\n' + "\n".join(parts) + "\n</details>"


def equation(number: str, display: Display) -> str:
    """Return an equation with its number, by which it can be linked to."""
    name = f"eq-{number}"
    role = f" {display.role}" if display.role else ""
    return f'<div class="equation{role}" id="{name}">{lines(display.lines)}<a href="#{name}">({number})</a></div>'


def lines(rows: list[Line]) -> str:
    cells = "".join(f"<mtr><mtd>{mathml(x.left)}</mtd><mtd>{mathml(x.right)}</mtd></mtr>" for x in rows)
    table = f'<mtable class="lines" columnalign="right left" displaystyle="true">{cells}</mtable>'
    return f'<div class="math"><math xmlns="{MATHML}" display="block">{table}</math></div>'


def table_of(table: Table) -> str:
    head = "".join(f"<th>{text(cell)}</th>" for cell in table.head)
    rows = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def paragraph(prose: Prose) -> str:
    return f"<p>{text(prose)}</p>"


def text(prose: Prose) -> str:
    """Return words and formulas; a formula stays on one line with the comma or full stop after it."""
    written = "".join(math(part) if isinstance(part, Math) else shown(part) for part in prose)
    return STOPPED.sub(r'<span class="whole">\1</span>', written)


def math(latex: str) -> str:
    return f'<math xmlns="{MATHML}">{mathml(latex)}</math>'


def shown(words: str) -> str:
    """Return escaped words without characters that XML does not allow."""
    return escape(printable(words))
