"""The printer of presentation MathML (MathML Core), which browsers render by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from qddot.symbolic.printing.notation import GREEK, Name, Shown
from qddot.symbolic.printing.printer import TypesetPrinter

DOTS = {"position": "", "velocity": "\u02d9", "acceleration": "\u00a8"}
TALL = ("<mfrac", "<mtable", "<msqrt")
"""Elements around which parentheses grow. Others do not need it, and browsers leave too much room for parentheses that may grow."""
RAISED = 'class="dot"'
"""The class of dots over letters, which browsers set too close: a style sheet gives them `padding-bottom: 0.1em`."""
TIMES, APPLY = "<mo>&#x2062;</mo>", "<mo>&#x2061;</mo>"


class MathmlPrinter(TypesetPrinter):
    def number(self, x: Shown) -> str:
        text = f"<mn>{x.digits}{'…' if x.cut else ''}</mn>"
        return f"<mrow>{text}<mo>⋅</mo><msup><mn>10</mn><mn>{x.exponent}</mn></msup></mrow>" if x.exponent else text

    def named(self, name: Name, kind: str = "position") -> str:
        return subscripted(dotted(identifier(name.head), DOTS[kind]), name.subscripts)

    def short_wave(self, function: str, subscript: str) -> str:
        return f"<msub><mi>{function}</mi><mn>{subscript.replace('-', '−')}</mn></msub>"

    def call(self, function: str, arguments: Sequence[str]) -> str:
        if function == "sqrt":
            return f"<msqrt>{arguments[0]}</msqrt>"
        if function == "abs":
            return f"<mrow><mo>|</mo>{arguments[0]}<mo>|</mo></mrow>"
        if not arguments:
            return identifier(function)
        return f"<mrow><mi>{escape(function)}</mi>{APPLY}{self.fenced('<mo>,</mo>'.join(arguments))}</mrow>"

    def power(self, base: str, exponent: int) -> str:
        return f"<msup>{base}<mn>{exponent}</mn></msup>"

    def fourth_root(self, of: str) -> str:
        return f"<mroot><mrow>{of}</mrow><mn>4</mn></mroot>"

    def times(self, factors: Sequence[str]) -> str:
        return factors[0] if len(factors) == 1 else f"<mrow>{TIMES.join(factors)}</mrow>"

    def over(self, top: str, bottom: str) -> str:
        return f"<mfrac>{top}{bottom}</mfrac>"

    def plus(self, terms: Sequence[tuple[bool, str]]) -> str:
        first, *rest = terms
        start = ("<mo>−</mo>" if first[0] else "") + first[1]
        return f"<mrow>{start}{''.join(('<mo>−</mo>' if minus else '<mo>+</mo>') + text for minus, text in rest)}</mrow>"

    def fenced(self, x: str) -> str:
        grows = "" if any(tag in x for tag in TALL) else ' stretchy="false"'
        return f"<mrow><mo{grows}>(</mo>{x}<mo{grows}>)</mo></mrow>"

    def matrix(self, texts: Sequence[str], columns: int) -> str:
        lines = [texts[i : i + columns] for i in range(0, len(texts), columns)] if columns else []
        table = "".join(f"<mtr>{''.join(f'<mtd>{x}</mtd>' for x in line)}</mtr>" for line in lines)
        return f"<mrow><mo>[</mo><mtable>{table}</mtable><mo>]</mo></mrow>"

    def whole(self, text: str) -> str:
        return document(text)

    def several(self, name: str, matrices: Sequence[str]) -> str:
        named = (f"<msub>{name}<mn>{k}</mn></msub><mo>=</mo>{body}" if name else body for k, body in enumerate(matrices, 1))
        return document(f"<mrow>{'<mo>,</mo>'.join(named)}</mrow>")

    def equal(self, left: str, right: str) -> str:
        return document(f"<mrow>{left}<mo>=</mo>{right}</mrow>")

    def quantity(self, name: str, bare: bool = False) -> str:
        letter, arguments = self.letter(name)
        shown, variable = self.quantity_letter(letter), identifier(self.notation.variable)
        given = [variable, dotted(variable, DOTS["velocity"])][:arguments]
        if bare or not given:
            return shown
        return f"<mrow>{shown}{self.fenced('<mo>,</mo>'.join(given))}</mrow>"


def document(body: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">{body}</math>'


def identifier(word: str) -> str:
    if word in GREEK:
        return f"<mi>&#x{ord(GREEK[word]):x};</mi>"
    kind = "mn" if word.isdigit() else "mi"
    return f"<{kind}>{escape(''.join(x if x.isprintable() else '?' for x in word))}</{kind}>"


def dotted(letter: str, dots: str) -> str:
    return f'<mover accent="true">{letter}<mo stretchy="false" {RAISED}>{dots}</mo></mover>' if dots else letter


def subscripted(letter: str, subscripts: Sequence[str]) -> str:
    if not subscripts:
        return letter
    inside = "<mo>,</mo>".join(identifier(x) for x in subscripts)
    return f"<msub>{letter}<mrow>{inside}</mrow></msub>"
