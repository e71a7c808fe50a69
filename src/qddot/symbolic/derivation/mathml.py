"""Translation of LaTeX into presentation MathML, for the few commands that derivations and the printers use, and no others."""

from __future__ import annotations

import re
from html import escape

from qddot.errors import QddotError
from qddot.symbolic.printing.mathml import RAISED, TALL
from qddot.symbolic.printing.notation import GREEK

TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]|\d+(?:\.\d+)?|\s+|.", re.DOTALL)

OPERATORS = {
    "times": "×", "cdot": "⋅", "in": "∈", "le": "≤", "sum": "∑", "partial": "∂", "langle": "⟨", "rangle": "⟩", "cdots": "⋯",
    "dots": "…", "ldots": "…",
}  # fmt: skip
SPACES = {",": "0.17em", ";": "0.28em", ":": "0.22em", " ": "0.3em", "quad": "1em", "qquad": "2em", "!": "0em"}
ACCENTS = {"dot": "˙", "ddot": "¨", "hat": "^", "tilde": "~", "vec": "→", "bar": "¯"}
FUNCTIONS = ("sin", "cos", "tan", "exp")
STYLES = ("mathrm", "text", "operatorname", "mathsf", "mathcal", "mathbb")
SCRIPT = {"A": "𝒜", "F": "ℱ", "G": "𝒢", "I": "ℐ", "K": "𝒦", "L": "ℒ", "P": "𝒫", "T": "𝒯", "U": "𝒰", "V": "𝒱", "W": "𝒲"}
DOUBLE = {"R": "ℝ"}
ESCAPES = {"\\backslash": "\\", "\\wedge": "^", "\\sim": "~", "\\prime": "'", "\\ ": " "}


class UnknownCommandError(QddotError):
    """LaTeX with a command that is not translated."""


def mathml(latex: str) -> str:
    """Return the content of a `<math>` element."""
    return Reader(latex).row(())


class Reader:
    """Reads LaTeX token by token; each method returns the MathML of what it has read."""

    def __init__(self, latex: str) -> None:
        self.tokens = TOKEN.findall(latex)
        self.at = 0

    def peek(self) -> str:
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def row(self, ends: tuple[str, ...]) -> str:
        """Read everything up to one of the tokens, which is not taken."""
        parts = []
        while (token := self.peek()) and token not in ends:
            part = self.scripted()
            is_sign = part == "<mo>−</mo>" and (not parts or (parts[-1].startswith("<mo") and parts[-1][:6] != "<mover"))
            parts.append('<mo form="prefix">−</mo>' if is_sign else part)
        return f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self) -> str:
        """Read one item with its subscript and superscript."""
        base, scripts = self.one(), {}
        while self.peek() in ("_", "^", "'"):
            mark = self.next()
            if mark == "'":
                scripts["^"] = "<mo>′</mo>"
            else:
                scripts[mark] = self.one()
        if not scripts:
            return base
        if len(scripts) == 2:
            return f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>"
        ((mark, script),) = scripts.items()
        tag = "msub" if mark == "_" else "msup"
        return f"<{tag}>{base}{script}</{tag}>"

    def one(self) -> str:
        token = self.next()
        if token == "{":
            inside = self.row(("}",))
            self.next()
            return inside
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        shown = "−" if token == "-" else escape(token)
        return f'<mo stretchy="false">{shown}</mo>' if token in "()[]|" else f"<mo>{shown}</mo>"

    def command(self, name: str) -> str:
        if name in GREEK:
            return f"<mi>{GREEK[name]}</mi>"
        if name in OPERATORS:
            return f"<mo>{OPERATORS[name]}</mo>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in ACCENTS:
            how = ' class="vec"' if name == "vec" else f" {RAISED}"
            return f'<mover accent="true">{self.one()}<mo stretchy="false"{how}>{ACCENTS[name]}</mo></mover>'
        if name in STYLES:
            return self.styled(name)
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.one()}{self.one()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.one()}</msqrt>"
        if name in "{}":
            return f'<mo stretchy="false">{name}</mo>'
        if name == "left":
            return self.fenced()
        if name in ("bigl", "bigr"):
            return f'<mo stretchy="false">{escape(self.delimiter())}</mo>'
        if name == "begin":
            return self.environment()
        raise UnknownCommandError(f"\\{name} is not among the commands that become MathML")

    def words(self) -> str:
        """Read an argument that is text and return it without escapes."""
        parts, depth = [], 0
        while True:
            token = self.tokens[self.at]
            self.at += 1
            depth += (token == "{") - (token == "}")
            if token not in "{}":
                parts.append(ESCAPES.get(token, token[1:] if token[0] == "\\" else token))
            if depth == 0:
                return "".join(parts)

    def styled(self, name: str) -> str:
        self.peek()
        text = self.words()
        if name in ("mathcal", "mathbb"):
            return f"<mi>{(SCRIPT if name == 'mathcal' else DOUBLE)[text]}</mi>"
        tag = "mtext" if name == "text" else "mi"
        return f"<{tag}>{escape(text)}</{tag}>" if len(text) != 1 else f'<mi mathvariant="normal">{escape(text)}</mi>'

    def delimiter(self) -> str:
        token = self.next()
        return OPERATORS.get(token[1:], token[1:]) if token.startswith("\\") else token

    def fenced(self) -> str:
        left = self.delimiter()
        inside = self.row(("\\right",))
        self.next()
        right = self.delimiter()
        grows = "" if any(tag in inside for tag in TALL) else ' stretchy="false"'
        fences = [f"<mo{grows}>{escape(x)}</mo>" if x != "." else "" for x in (left, right)]
        return f"<mrow>{fences[0]}{inside}{fences[1]}</mrow>"

    def environment(self) -> str:
        name = self.words()
        rows = [[]]
        while True:
            rows[-1].append(self.row(("&", "\\\\", "\\end")))
            token = self.next()
            if token == "\\\\":
                rows.append([])
            elif token != "&":
                break
        self.words()
        cells = "".join("<mtr>" + "".join(f"<mtd>{x}</mtd>" for x in row) + "</mtr>" for row in rows)
        if name == "bmatrix":
            return f"<mrow><mo>[</mo><mtable>{cells}</mtable><mo>]</mo></mrow>"
        return f'<mtable columnalign="right left" displaystyle="true">{cells}</mtable>'
