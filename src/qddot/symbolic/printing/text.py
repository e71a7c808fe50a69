"""The printer of plain text: `2*m2*L1*L2*c2 + m1*L1**2`, ASCII if the names of the symbols are. A name that is no identifier stands
between backquotes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qddot.symbolic.printing.notation import Shown, rate
from qddot.symbolic.printing.presentation import Presentation, Style
from qddot.symbolic.printing.printer import Printer
from qddot.symbolic.printing.tree import Symbol, Wave

if TYPE_CHECKING:
    from qddot.symbolic.exact.ring import Poly
    from qddot.symbolic.form import Form

DOTS = {"position": "", "velocity": "d", "acceleration": "dd"}
BRIEF = 60
"""The most terms of an entry that a `repr` writes; those of longer ones are counted."""


class TextPrinter(Printer):
    inline = True

    def number(self, x: Shown) -> str:
        return x.digits + ("..." if x.cut else "") + (f"e{x.exponent}" if x.exponent else "")

    def symbol(self, x: Symbol) -> str:
        if x.kind in DOTS:
            named = self.equations.coordinates
            return rate(named[x.index] if named else f"{self.notation.variable}{x.index + 1}", DOTS[x.kind])
        name = "".join(c if c.isprintable() else "?" for c in x.name)
        return name if name.isidentifier() else f"`{name}`"

    def wave(self, node: Wave) -> str:
        """Write `c12`, but differences of angles in full."""
        if any(n < 0 for _, n in node.of):
            return self.call(node.function, [self.expression(self.angle(node))])
        return super().wave(node)

    def short_wave(self, function: str, subscript: str) -> str:
        return function + subscript.replace(",", "_")

    def call(self, function: str, arguments: Sequence[str]) -> str:
        return f"{function}({', '.join(arguments)})" if arguments else function

    def power(self, base: str, exponent: int) -> str:
        return f"{base}**{exponent}"

    def times(self, factors: Sequence[str]) -> str:
        return "*".join(factors)

    def over(self, top: str, bottom: str) -> str:
        return f"{top}/{bottom}"

    def fenced(self, x: str) -> str:
        return f"({x})"

    def array(self, form: Form, texts: Sequence[str]) -> str:
        body = texts[0] if form.shape == () else nested(np.array(texts, dtype=object).reshape(form.shape))
        return self.equal(self.name(form), body) if self.style.lhs else body

    def quantity(self, name: str, bare: bool = False) -> str:
        letter, arguments = self.letter(name)
        variable = self.notation.variable
        given = ", ".join([variable, f"{variable}d"][:arguments])
        shown = letter.replace("qdd", f"{variable}dd")
        return f"{shown}({given})" if given else shown  # `bare` or not: here an array of three indices has a single name


def nested(array: np.ndarray, indent: int = 0) -> str:
    """Return an array of texts as NumPy writes it."""
    if array.ndim == 1:
        return "[" + ", ".join(array) + "]"
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(nested(x, indent + 1) for x in array) + "]"


def brief(form: Form) -> str:
    """Return the text of a form with long entries only counted: `<258 terms>`."""
    printer, presentation = TextPrinter(form.equations, Style()), Presentation(form.equations, Style())
    long = BRIEF if form.shape == () else max(4, BRIEF // max(1, form.entries.size))
    texts = [printer.expression(presentation.entry(x)) if len(x) <= long else f"<{len(x)} terms>" for x in form.entries.flat]
    return printer.array(form, texts)


def plain(p: Poly) -> str:
    """Return a polynomial as it is in the ring, term by term."""
    names = [g.name for g in p.ring.generators]
    parts = []
    for powers, coefficient in p.terms():
        factors = [names[i] if e == 1 else f"{names[i]}**{e}" for i, e in powers.items()]
        if abs(coefficient) != 1 or not factors:
            factors.insert(0, str(abs(coefficient)))
        parts.append((" - " if coefficient < 0 else " + ") + "*".join(factors))
    text = "".join(parts)
    return text.removeprefix(" + ").replace(" - ", "-", 1 if text.startswith(" - ") else 0) or "0"
