"""A derivation as a LaTeX document for pdflatex."""

from __future__ import annotations

from qddot.model.diagram import Diagram
from qddot.symbolic.derivation.document import TREE, Display, Section
from qddot.symbolic.derivation.figure_latex import picture
from qddot.symbolic.derivation.steps import Derivation, Math, Prose, Table
from qddot.symbolic.printing.notation import SIGNS

PREAMBLE = r"""\documentclass[a4paper,10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\usepackage[margin=18mm]{geometry}
\usepackage{amsmath,amssymb,longtable}
\IfFileExists{pict2e.sty}{\usepackage{pict2e}}{}
\IfFileExists{xcolor.sty}{\usepackage{xcolor}}{\newcommand{\color}[2][]{}}
\numberwithin{equation}{section}
\setcounter{MaxMatrixCols}{30}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{5pt}
\setlength{\jot}{6pt}
\renewcommand{\arraystretch}{1.4}
\emergencystretch=3em
\clubpenalty=10000
\widowpenalty=10000
% A heading takes the next page where less than this is left of this one.
\newcommand{\room}[1]{\par\vskip 0pt plus #1\penalty-100\vskip 0pt plus -#1\vskip #1\penalty9999\vskip -#1\vskip 0pt}
"""

HEADING = "10\\baselineskip"  # room for a heading and the first lines after it

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
    "²": r"\textsuperscript{2}",
} | {x: "\\" + x for x in "{}$&#_%"}


def latex_document(derivation: Derivation) -> str:
    document = derivation.document
    figure = [picture(document.figure, math)] if document.figure else []
    tree = [tree_of(document.tree)] if document.tree else []
    parts = [rf"\section*{{{escaped(document.title)}}}", *figure, *tree, *map(text, document.notes)]
    for section in document.sections:
        parts += written(section)
    return PREAMBLE + "\\begin{document}\n" + "\n\n".join(parts) + "\n\\end{document}\n"


def written(section: Section) -> list[str]:
    table = [table_of(section.table)] if section.table else []
    new = ["With the abbreviations\n" + align([Display(section.abbreviations)], "*")] if section.abbreviations else []
    checks = [rf"\textit{{{text(check)}}}" for check in section.checks]
    room = rf"\room{{{HEADING}}}" if section.displays else ""
    head = rf"{room}\section{{{escaped(section.title)}}}"
    *prose, last = ["", *map(text, section.prose)]
    equations = align(section.displays)
    # the last paragraph stays with the equations: a blank line between would allow a page break
    lead = [f"{last}\n{equations}".strip()] if not table else [last, *table, equations]
    return [head, *filter(None, [*prose, *lead]), *map(text, section.after), *new, *checks]


def tree_of(tree: Diagram) -> str:
    """Return one line a link, with branches on its left."""
    rows = []
    for row in str(tree).splitlines():
        words = row.lstrip("|`- ")
        rows.append(escaped(row.removesuffix(words)).replace(" ", "~") + escaped(words).replace("  ", "~~"))
    return "\\begin{flushleft}\\small\\ttfamily\n" + " \\\\\n".join(rows) + f"\n\\end{{flushleft}}\n{escaped(TREE)}."


def align(displays: list[Display], star: str = "") -> str:
    """Return aligned equations, each with a number on its last line."""
    if not displays:
        return ""
    rows = []
    for lines, _ in displays:
        *first, last = [f"{math(x.left)} &{math(x.right)}" for x in lines]
        rows += [row + ("" if star else r" \notag") for row in first] + [last]
    return f"\\begin{{align{star}}}\n" + " \\\\\n".join(rows) + f"\n\\end{{align{star}}}"


def table_of(table: Table) -> str:
    rows = [" & ".join(text(cell) for cell in row) + r" \\" for row in (table.head, *table.rows)]
    columns = "p{0.17\\linewidth}" * len(table.head)
    return f"\\begin{{longtable}}{{{columns}}}\n{rows[0]} \\hline\n" + "\n".join(rows[1:]) + "\n\\end{longtable}"


def text(prose: Prose) -> str:
    return "".join(f"${math(part)}$" if isinstance(part, Math) else escaped(part) for part in prose)


def math(latex: str) -> str:
    """Return LaTeX with signs that pdflatex knows."""
    return "".join(x if x.isascii() else sign(x) for x in latex)


def sign(x: str) -> str:
    return rf"{{\{SIGNS[x]}}}" if x in SIGNS else rf"\text{{{known(x)}}}"


def escaped(words: str) -> str:
    """Return words with every character shown as itself; letters that the fonts of pdflatex lack, as their numbers."""
    return "".join(SPECIAL.get(x, x if 32 <= ord(x) < 127 else known(x)) for x in words)


def known(x: str) -> str:
    if x.isspace():
        return " "
    return x if 0xC0 <= ord(x) <= 0xFF and x.isalpha() else rf"[U+{ord(x):04X}]"
