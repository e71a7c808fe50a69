"""The printer of LaTeX for math mode (amsmath)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qddot.symbolic.printing.notation import ENERGIES, GREEK, Name, Shown
from qddot.symbolic.printing.printer import TypesetPrinter

ESCAPES = {
    "\\": r"\backslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "^": r"\wedge{}",
    "~": r"\sim{}",
    " ": r"\ ",
    "'": r"\prime{}",
    **{x: "\\" + x for x in "$#%&"},
}
"""Replacements that make every character of a name appear as itself in math mode."""

FUNCTIONS = frozenset(("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "arcsin", "arccos", "arctan"))
DOTS = {"position": "", "velocity": r"\dot", "acceleration": r"\ddot"}


class LatexPrinter(TypesetPrinter):
    def number(self, x: Shown) -> str:
        text = x.digits + (r"\ldots" if x.cut else "")
        return text + (rf" \cdot 10^{{{x.exponent}}}" if x.exponent else "")

    def named(self, name: Name, kind: str = "position") -> str:
        return subscripted(dotted(head(name.head), DOTS[kind]), name.subscripts)

    def short_wave(self, function: str, subscript: str) -> str:
        return f"{function}_{{{subscript}}}"

    def call(self, function: str, arguments: Sequence[str]) -> str:
        if function == "sqrt":
            return rf"\sqrt{{{arguments[0]}}}"
        if function == "abs":
            return rf"\left|{arguments[0]}\right|"
        if not arguments:
            return head(function)
        name = f"\\{function}" if function in FUNCTIONS else rf"\operatorname{{{escaped(function)}}}"
        return rf"{name}\left({', '.join(arguments)}\right)"

    def fourth_root(self, of: str) -> str:
        return rf"\sqrt[4]{{{of}}}"

    def power(self, base: str, exponent: int) -> str:
        return f"{base}^{{{exponent}}}"

    def times(self, factors: Sequence[str]) -> str:
        return " ".join(factors)

    def over(self, top: str, bottom: str) -> str:
        small = top.isdigit() and bottom.isdigit()
        return rf"\tfrac{{{top}}}{{{bottom}}}" if small else rf"\frac{{{top}}}{{{bottom}}}"

    def fenced(self, x: str) -> str:
        return rf"\left({x}\right)"

    def matrix(self, texts: Sequence[str], columns: int) -> str:
        lines = [texts[i : i + columns] for i in range(0, len(texts), columns)] if columns else []
        return "\\begin{bmatrix}\n" + " \\\\\n".join(" & ".join(line) for line in lines) + "\n\\end{bmatrix}"

    def several(self, name: str, matrices: Sequence[str]) -> str:
        return ",\\quad\n".join(f"{name}_{{{k}}} = {body}" if name else body for k, body in enumerate(matrices, 1))

    def quantity(self, name: str, bare: bool = False) -> str:
        letter, arguments = self.letter(name)
        variable = head(self.notation.variable)
        script = name in ENERGIES and letter in self.notation.script
        shown = rf"\mathcal{{{letter}}}" if script else self.quantity_letter(letter)
        given = [variable, dotted(variable, r"\dot")][:arguments]
        return shown + (f"({', '.join(given)})" if given and not bare else "")


def dotted(letter: str, dots: str) -> str:
    return f"{dots}{{{letter}}}" if dots else letter


def subscripted(letter: str, subscripts: Iterable[str]) -> str:
    inside = ",".join(map(head, subscripts))
    return f"{letter}_{{{inside}}}" if inside else letter


def head(word: str) -> str:
    """Return a letter, a Greek letter, a number or two letters as they are, and a word in upright type."""
    if word in GREEK:
        return f"\\{word}"
    if word.isascii() and (word.isdigit() or (len(word) <= 2 and word.isalnum() and word[0].isalpha())):
        return word
    return rf"\mathrm{{{escaped(word)}}}"


def escaped(text: str) -> str:
    return "".join(ESCAPES.get(x, x if x.isprintable() else "?") for x in text)
