"""Printers of expressions in a programming language. Every name in them is an identifier made here, so no name that a robot gives
its symbols can become code."""

from __future__ import annotations

import keyword
import re
from collections.abc import Hashable, Sequence
from fractions import Fraction
from math import pi
from typing import TYPE_CHECKING

from qddot.errors import InputError
from qddot.symbolic.exact.letters import ARRAYS
from qddot.symbolic.printing.notation import Shown
from qddot.symbolic.printing.presentation import Style
from qddot.symbolic.printing.printer import ATOM, SUM, is_inverse
from qddot.symbolic.printing.text import TextPrinter
from qddot.symbolic.printing.tree import Node, Power, Symbol, Wave

if TYPE_CHECKING:
    from qddot.symbolic.robot_in_letters import RobotInLetters

RESERVED = {
    *keyword.kwlist, "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else", "enum", "extern",
    "float", "for", "goto", "if", "inline", "int", "long", "main", "register", "restrict", "return", "short", "signed", "sizeof",
    "static", "struct", "switch", "typedef", "union", "unsigned", "void", "volatile", "while",
    "np", "tau", "lam", "parameters", "out", "p", "q", "qd", "qdd", "pi", "cos", "sin", "tan", "acos", "asin", "atan", "atan2",
    "cosh", "sinh", "tanh", "exp", "log", "sqrt", "pow", "fabs", "y0", "y1", "yn", "j0", "j1", "jn", "gamma",
}  # fmt: skip
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

PYTHON = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2", "pow": "power"}
KNOWN = frozenset(
    ["sqrt", "cos", "sin", "tan", "asin", "acos", "atan", "atan2", "cosh", "sinh", "tanh", "exp", "log", "pow", "abs", "sign"]
)


class Identifiers:
    """Unique safe identifiers: the wished one where that is possible."""

    def __init__(self) -> None:
        self._names: dict[Hashable, str] = {}
        self._taken = set(RESERVED)

    def of(self, thing: Hashable, wish: str) -> str:
        if thing not in self._names:
            clean = re.sub(r"[^A-Za-z0-9]+", "_", wish).strip("_")
            base = wish if IDENTIFIER.fullmatch(wish) else f"x_{clean}"
            name, number = base if base not in self._taken else f"{base}_", 1
            while name in self._taken:
                number += 1
                name = f"{base}_{number}"
            self._names[thing] = name
            self._taken.add(name)
        return self._names[thing]


class PythonPrinter(TextPrinter):
    """Expressions over NumPy arrays."""

    def __init__(self, equations: RobotInLetters, identifiers: Identifiers) -> None:
        super().__init__(equations, Style())
        self.identifiers = identifiers

    def shown(self, number: Fraction) -> Shown:
        return Shown(self.literal(number))

    def literal(self, number: Fraction) -> str:
        return str(number) if number.denominator == 1 and number < 2**53 else repr(float(number))

    def symbol(self, x: Symbol) -> str:
        return self.identifiers.of(x, x.name)

    def wave(self, node: Wave) -> str:
        return self.identifiers.of(node, node.function[0] + "".join(self._joint(k, n) for k, n in node.of))

    def _joint(self, k: int, n: int) -> str:
        text = str(self.angles[k].coordinate + 1)
        return ("m" if n < 0 else "_" if self.separated else "") + text * abs(n) if abs(n) < 4 else f"_{n}x{text}".replace("-", "m")

    def call(self, function: str, arguments: Sequence[str]) -> str:
        if function == "pi":
            return "np.pi"
        if function not in KNOWN:
            raise InputError(f"the function {function} cannot be written as code")
        return f"np.{PYTHON.get(function, function)}({', '.join(arguments)})"

    def element(self, array: str, i: int) -> str:
        return f"{array}[..., {i}]"

    def value(self, leaf: Node) -> str:
        """Return the code that computes a joint variable or rate from its array, or a wave from joint variables."""
        if isinstance(leaf, Wave):
            return self.call(leaf.function, [self.expression(self.angle(leaf))])
        assert isinstance(leaf, Symbol)
        own = self.element(ARRAYS[leaf.kind], leaf.index)
        return own if leaf.kind != "quaternion" else f"{own}/{self.call('sqrt', [self._square(leaf.index)])}"

    def _square(self, i: int) -> str:
        """Return the squared length of the quaternion that q_i is part of."""
        start = next(c.q.start for c in self.equations.model.mechanism.coordinates if i in c.q)
        elements = [self.element("q", start + k) for k in range(4)]
        return " + ".join(f"{x}*{x}" for x in elements)


class CPrinter(PythonPrinter):
    """Expressions over doubles."""

    def literal(self, number: Fraction) -> str:
        return repr(float(number))

    def call(self, function: str, arguments: Sequence[str]) -> str:
        if function == "pi":
            return repr(pi)
        if function == "sign":
            return f"(({arguments[0]} > 0.0) - ({arguments[0]} < 0.0))"
        if function not in KNOWN:
            raise InputError(f"the function {function} cannot be written as code")
        return f"{'fabs' if function == 'abs' else function}({', '.join(arguments)})"

    def element(self, array: str, i: int) -> str:
        return f"{array}[{i}]"

    def expression(self, node: Node, within: int = SUM) -> str:
        if not isinstance(node, Power) or is_inverse(node):
            return super().expression(node, within)
        base = super().expression(node.base, ATOM)
        if node.exponent > 4 or not IDENTIFIER.fullmatch(base):
            return f"pow({base}, {float(node.exponent)})"
        text = "*".join([base] * node.exponent)
        return f"({text})" if within == ATOM else text
