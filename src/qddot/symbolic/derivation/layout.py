"""Equations as lines of LaTeX: matrices where they fit, otherwise entry by entry; long sums broken between terms."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from qddot.symbolic.abbreviations import Abbreviations
from qddot.symbolic.derivation.steps import Derivation, Equation
from qddot.symbolic.equations import Equations
from qddot.symbolic.form import Form
from qddot.symbolic.presentation import Presentation
from qddot.symbolic.printing import printer_for
from qddot.symbolic.ratio import Ratio

WIDTH = 75  # of a line, in letters
LONGEST = 150  # terms: what is longer is not written out


class Line(NamedTuple):
    """`left` and `right` meet at the sign of equality; a line without `left` continues the one before."""

    left: str
    right: str


class Writer:
    """Writes the equations of one derivation; what is long gets its parameters abbreviated, the same way throughout."""

    def __init__(self, derivation: Derivation) -> None:
        self.equations = derivation.equations
        self.abbreviations = Abbreviations() if derivation.is_abbreviated else None
        self._known: dict[int, tuple[Equations, Any, Any]] = {}

    def entry(self, form: Form, p: Any) -> str:
        """One polynomial of a form."""
        length = form.equations.alphabet.length
        terms = length(p.num) + length(p.den) if isinstance(p, Ratio) else length(p)
        if terms > LONGEST:
            return rf"\langle \text{{{terms:,} terms}} \rangle".replace(",", "{,}")
        key = id(form.equations)
        if key not in self._known:
            options = {"abbreviate": self.abbreviations} if form.equations is self.equations else {}
            printer = printer_for("latex", form.equations, options)
            self._known[key] = form.equations, printer, Presentation(form.equations, printer.style)
        _, printer, presentation = self._known[key]
        return printer.expression(presentation.entry(p))

    def definitions(self) -> list[Line]:
        """Of the abbreviations used so far."""
        if not self.abbreviations:
            return []
        rows = self.abbreviations.latex().split("\n")[1:-1]
        pairs = [row.removesuffix(r" \\").split(" &= ", 1) for row in rows]
        return [line for name, body in pairs for line in broken(name, "", body)]

    def lines(self, equation: Equation) -> list[Line]:
        form = equation.form
        if form is None:
            return [Line(equation.left, f"= {equation.formula}" if equation.formula else "")]
        if not form.entries.size:
            return []
        if form.shape == ():
            text = self.entry(form, form.entries.item())
            return broken(equation.left, equation.formula, text) if text != equation.left else []
        return self.array(equation, form)

    def array(self, equation: Equation, form: Form) -> list[Line]:
        rows = form.entries if form.ndim == 2 else form.entries[:, None]
        texts = [[self.entry(form, p) for p in row] for row in rows]
        widths = [max(width(row[j]) for row in texts) for j in range(len(texts[0]))]
        head = f"= {equation.formula} " if equation.formula else ""
        if sum(widths) + 2 * len(widths) + width(equation.left) <= WIDTH:
            matrix = r"\begin{bmatrix} " + r" \\ ".join(" & ".join(row) for row in texts) + r" \end{bmatrix}"
            if head and sum(widths) + 2 * len(widths) + width(head + equation.left) > WIDTH:
                return [Line(equation.left, head), Line("", f"= {matrix}")]
            return [Line(equation.left, f"{head}= {matrix}")]
        found = [Line(equation.left, head)] if head else []
        name = equation.entry or f"({equation.left})_{{@}}"
        mirrored = rows.shape[0] == rows.shape[1] and all(rows[i, j] == rows[j, i] for i in range(len(rows)) for j in range(i))
        zeros = False
        for i, row in enumerate(texts):
            for j, text in enumerate(row):
                if mirrored and j < i:
                    continue
                if text == "0":
                    zeros = True
                    continue
                index = str(i + 1) if form.ndim == 1 else f"{i + 1}{j + 1}" if max(rows.shape) < 10 else f"{i + 1},{j + 1}"
                other = f" = {name}".replace("@", index[::-1]) if mirrored and i != j and "," not in index else ""
                found += broken(name.replace("@", index) + other, "", text)
        if zeros:
            found.append(Line(r"\text{all other entries}", "= 0"))
        return found


def broken(left: str, formula: str, text: str) -> list[Line]:
    """`left = formula = text` in as many lines as needed; those that only continue a sum are set in."""
    head = f"= {formula} " if formula else ""
    if width(left + head + text) <= WIDTH:
        return [Line(left, f"{head}= {text}")]
    rows = [""]
    for term in summands(text):
        if rows[-1] and width(rows[-1]) + width(term) > WIDTH - 6:
            rows.append("")
        rows[-1] += f" {term}" if rows[-1] else term
    start = [Line(left, head), Line("", f"= {rows[0]}")] if head else [Line(left, f"= {rows[0]}")]
    return start + [Line("", rf"\quad {{}} {row}") for row in rows[1:]]


def summands(text: str) -> list[str]:
    """Cut before each + or - that stands outside of all parentheses; inside of them too, where one term is too long for a line."""
    return [piece for part in cut(text) for piece in (opened(part) if width(part) > WIDTH - 12 else [part])]


def cut(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for match in re.finditer(r"[{}()\[\]]| [+-] ", text):
        token = match.group()
        if token in "{([":
            depth += 1
        elif token in "})]":
            depth -= 1
        elif depth == 0:
            parts.append(text[start : match.start()])
            start = match.start() + 1
    return [*parts, text[start:]]


def opened(text: str) -> list[str]:
    """A product, cut inside its longest factor in parentheses, which may then end on another line."""
    groups, starts, depth = [], [], 0
    for match in re.finditer(r"\\left\(|\\right\)|[{}]", text):
        token = match.group()
        if token in "{}":
            depth += 1 if token == "{" else -1
        elif token == r"\left(":
            starts.append((match, depth))
        else:
            left, outside = starts.pop()
            if not starts and outside == 0:
                groups.append((left, match))
    if not groups:
        return [text]
    left, right = max(groups, key=lambda pair: pair[1].start() - pair[0].end())
    first, *rest = cut(text[left.end() : right.start()])
    parts = [f"{text[: left.start()]}\\bigl({first}", *rest]
    parts[-1] += f"\\bigr){text[right.end() :]}"
    return parts


def width(latex: str) -> int:
    """About how many letters wide it is."""
    text = re.sub(r"\\(?:begin|end|text|bigl|bigr|mathrm|operatorname|mathsf|left|right|dot|ddot|hat|quad)\b", "", latex)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda m: max(m.groups(), key=len), text)
    text = re.sub(r"\\[A-Za-z]+", "x", text)
    small = sum(len(x) for x in re.findall(r"[_^]\{([^{}]*)\}", text))
    return len(re.sub(r"[{}\\_^ ]", "", text)) - small // 4
