"""The printer of LaTeX for math mode (amsmath)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from qddot.symbolic.printing.notation import ENERGIES, GREEK, Shown, split
from qddot.symbolic.printing.printer import Printer
from qddot.symbolic.printing.tree import Symbol

if TYPE_CHECKING:
    from qddot.symbolic.form import Form

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


class LatexPrinter(Printer):
    def number(self, x: Shown) -> str:
        text = x.digits + (r"\ldots" if x.cut else "")
        return text + (rf" \cdot 10^{{{x.exponent}}}" if x.exponent else "")

    def symbol(self, x: Symbol) -> str:
        if x.kind in DOTS:
            name = self.coordinate(x.index)
            return subscripted(dotted(head(name.head), DOTS[x.kind]), [head(part) for part in name.subscripts])
        if x.name in self.current_rates:
            return subscripted(dotted("i", r"\dot"), [self.current_rates[x.name]])
        name = split(x.name)
        return subscripted(head(name.head), [head(part) for part in name.subscripts])

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

    def array(self, form: Form, texts: Sequence[str]) -> str:
        name = self.name(form) if self.style.lhs else ""
        shape = form.shape
        if len(shape) <= 2:
            body = texts[0] if shape == () else matrix(rows(texts, shape[1] if len(shape) == 2 else 1))
            return self.equal(name, body) if name else body
        bodies = [matrix(rows(block, shape[-1])) for block in self.blocks(form, texts)] if texts else [matrix([])]
        return ",\\quad\n".join(f"{name}_{{{k}}} = {body}" if name else body for k, body in enumerate(bodies, 1))

    def quantity(self, name: str, bare: bool = False) -> str:
        letter, arguments = self.letter(name)
        variable = head(self.notation.variable)
        script = name in ENERGIES and letter in self.notation.script
        shown = rf"\mathcal{{{letter}}}" if script else dotted_name(letter, variable)
        given = [variable, dotted(variable, r"\dot")][:arguments]
        return shown + (f"({', '.join(given)})" if given and not bare else "")


def dotted_name(letter: str, variable: str) -> str:
    """Return the letter of a quantity in LaTeX: `Mdot` is M with a dot, `qdd` the joint variable with two."""
    if letter == "qdd":
        return dotted(variable, r"\ddot")
    if letter.endswith("dot"):
        return dotted(letter.removesuffix("dot"), r"\dot")
    name = split(letter)
    return subscripted(head(name.head), [head(part) for part in name.subscripts])


def dotted(letter: str, dots: str) -> str:
    return f"{dots}{{{letter}}}" if dots else letter


def subscripted(letter: str, subscripts: Iterable[str]) -> str:
    inside = ",".join(subscripts)
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


def rows(texts: Sequence[str], columns: int) -> list[Sequence[str]]:
    return [texts[i : i + columns] for i in range(0, len(texts), columns)] if columns else []


def matrix(lines: Sequence[Sequence[str]]) -> str:
    return "\\begin{bmatrix}\n" + " \\\\\n".join(" & ".join(line) for line in lines) + "\n\\end{bmatrix}"
