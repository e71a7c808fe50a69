"""A derivation as a LaTeX document for pdflatex."""

from __future__ import annotations

from itertools import chain

from qddot.symbolic.derivation.layout import Line, Writer
from qddot.symbolic.derivation.steps import Derivation, Math, Prose, Step, Table
from qddot.symbolic.notation import SIGNS

PREAMBLE = r"""\documentclass[a4paper,10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=18mm]{geometry}
\usepackage{amsmath,amssymb,longtable}
\setcounter{MaxMatrixCols}{30}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{5pt}
\emergencystretch=3em
"""

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "-": "{-}",  # no dashes out of two
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
} | {x: "\\" + x for x in "{}$&#_%"}


def latex_document(derivation: Derivation) -> str:
    writer = Writer(derivation)
    parts = [rf"\section*{{{escaped(derivation.title)}}}", *(text(note) for note in derivation.notes)]
    for step in derivation.steps:
        parts += section(writer, step)
    if definitions := writer.definitions():
        parts += [r"\section*{Abbreviations}", display(definitions)]
    return PREAMBLE + "\\begin{document}\n" + "\n\n".join(parts) + "\n\\end{document}\n"


def section(writer: Writer, step: Step) -> list[str]:
    lines = list(chain.from_iterable(writer.lines(equation) for equation in step.equations))
    checks = [rf"\textit{{{escaped(str(check))}.}}" for check in step.checks]
    table = [table_of(step.table)] if step.table else []
    return [rf"\section{{{escaped(step.title)}}}", *map(text, step.prose), *table, display(lines), *checks]


def display(lines: list[Line]) -> str:
    if not lines:
        return ""
    return "\\begin{align*}\n" + " \\\\\n".join(f"{math(x.left)} &{math(x.right)}" for x in lines) + "\n\\end{align*}"


def table_of(table: Table) -> str:
    rows = [" & ".join(text(cell) for cell in row) + r" \\" for row in (table.head, *table.rows)]
    columns = "p{0.17\\linewidth}" * len(table.head)
    return f"\\begin{{longtable}}{{{columns}}}\n{rows[0]} \\hline\n" + "\n".join(rows[1:]) + "\n\\end{longtable}"


def text(prose: Prose) -> str:
    return "".join(f"${math(part)}$" if isinstance(part, Math) else escaped(part) for part in prose)


def math(latex: str) -> str:
    """With signs that pdflatex knows."""
    return latex if latex.isascii() else "".join(x if x.isascii() else sign(x) for x in latex)


def sign(x: str) -> str:
    return rf"{{\{SIGNS[x]}}}" if x in SIGNS else rf"\text{{{known(x)}}}"


def escaped(words: str) -> str:
    """Whatever words contain, shown as themselves; letters that the fonts of pdflatex lack, as their numbers."""
    return "".join(SPECIAL.get(x, x if 32 <= ord(x) < 127 else known(x)) for x in words)


def known(x: str) -> str:
    if x.isspace():
        return " "
    return x if 0xC0 <= ord(x) <= 0xFF and x.isalpha() else rf"[U+{ord(x):04X}]"
