"""Arithmetic in the texts of a file: `pi/2`, `m1*l1**2/12`. A small grammar of our own; nothing is ever executed.

sum     = product (("+" | "-") product)*
product = sign (("*" | "/") sign)*
sign    = ("+" | "-") sign | power
power   = atom ("**" sign)?
atom    = number | name | function "(" sum ")" | "(" sum ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from qddot.errors import ModelLimitError, near_matches
from qddot.formats.reach import Reach
from qddot.model.scalar import Scalar, as_scalar
from qddot.place import Place

MAX_LENGTH = 500
MAX_DEPTH = 50
MAX_EXPONENT = 16
MAX_DEGREE = 64
FUNCTIONS = ("sin", "cos", "tan", "sqrt")
EVERY_FUNCTION = (*FUNCTIONS, "sign", "abs")
RESERVED = (*FUNCTIONS, "pi")
NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
TOKEN = re.compile(rf"\s*(?:(?P<number>{NUMBER})(?!\w)|(?P<name>[^\W\d]\w*)|(?P<sign>\*\*|[-+*/()]))")
NOT_NAMES = ("nan", "inf", "infinity")


class Scope:
    """Values of names: those that a file gives to symbols; every other name is a real SymPy symbol.

    Args:
        values: numbers for symbols.
        symbols: other names that are allowed; None allows any.
        functions: known functions, some of `EVERY_FUNCTION`; every other name is a symbol.
        reach: files that the description may open.

    Attributes:
        places: place at which each symbol without a value was first found, for messages.
    """

    def __init__(
        self,
        values: Mapping[str, float] | None = None,
        symbols: Collection[str] | None = None,
        functions: Sequence[str] = FUNCTIONS,
        reach: Reach | None = None,
    ) -> None:
        self.values = dict(values or {})
        self.symbols, self.functions, self.reach = symbols, functions, reach
        self.places: dict[str, Place] = {}

    def evaluate(self, text: str) -> Scalar:
        """Return a float, or an exact SymPy expression if the text has symbols. Raises ValueError: not an expression of this
        grammar, an unknown name, or a value that is not finite; ModelLimitError: powers of powers, which are huge when expanded."""
        tokens = _tokens(text)
        names = _names(tokens, self.functions)
        free = {name for name in names if name not in self.values}
        self._check_names(free)
        values = {name: self.values[name] for name in names - free}
        try:
            arithmetic = _exact(free, values, self.functions) if free else _floats(values, self.functions)
            value = _Parser(tokens, arithmetic).whole()
            return as_scalar(_finite(value) if free else value)
        except (OverflowError, ZeroDivisionError, TypeError):
            raise ValueError("its value is not a finite real number") from None

    def _check_names(self, names: Collection[str]) -> None:
        for name in sorted(names):
            if name.lower() in NOT_NAMES:
                raise ValueError("not a finite number")
            if self.symbols is not None and name not in self.symbols:
                raise ValueError(f"unknown symbol {name!r}, {near_matches(name, [*self.symbols, *self.values])}")


def names_in(text: str) -> set[str]:
    """Return the symbols in an expression. Raises ValueError: not made of numbers, names and signs."""
    return _names(_tokens(text))


def _finite(value: Scalar) -> Scalar:
    """Return the SymPy expression. Raises OverflowError: it divides by zero or is complex; ModelLimitError: its degree is so high
    that it would be huge when expanded."""
    import sympy

    if value.has(sympy.I, sympy.zoo, sympy.oo, sympy.nan):
        raise OverflowError
    if _degree(value) > MAX_DEGREE:
        raise ModelLimitError(f"powers multiply to a degree over the limit of {MAX_DEGREE}")
    return value


def _degree(value: Scalar) -> float:
    """Return the degree of a SymPy expression in its symbols; that of a function is the degree of its argument."""
    inner = [_degree(x) for x in value.args]
    if value.is_Pow:
        return inner[0] * abs(float(value.exp)) if value.exp.is_number else math.inf
    if value.is_Mul:
        return sum(inner)
    return max(inner, default=1 if value.is_Symbol else 0)


def _names(tokens: list[tuple[str, str]], functions: Sequence[str] = FUNCTIONS) -> set[str]:
    return {word for kind, word in tokens if kind == "name" and word != "pi" and word not in functions}


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{len(text)} characters are over the limit of {MAX_LENGTH} for an expression")
    tokens, at, text = [], 0, text.rstrip()
    while at < len(text):
        found = TOKEN.match(text, at)
        if not found:
            hint = "; a power is written **" if "^" in text[at:] else ""
            raise ValueError(f"neither a number nor an expression: unexpected {text[at:].strip()[:10]!r}{hint}")
        tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
        at = found.end()
    if not tokens:
        raise ValueError("neither a number nor an expression: it is empty")
    return tokens


class _Arithmetic(NamedTuple):
    """Numbers, names and functions of an expression, as floats or as exact SymPy expressions."""

    number: Callable
    names: Mapping[str, Scalar]
    functions: Mapping[str, Callable]
    power: Callable


def _floats(values: Mapping[str, float], functions: Sequence[str]) -> _Arithmetic:
    known = {"sign": lambda x: float((x > 0) - (x < 0)), "abs": abs, "sqrt": _root}
    return _Arithmetic(float, {"pi": math.pi, **values}, {name: known.get(name) or getattr(math, name) for name in functions}, pow)


def _root(x: float) -> float:
    if x < 0:
        raise OverflowError  # no real number
    return math.sqrt(x)


def _exact(free: Collection[str], values: Mapping[str, float], functions: Sequence[str]) -> _Arithmetic:
    import sympy

    def number(text: str) -> Scalar:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError("a number is too large")
        return sympy.Rational(text) if 1e-30 < value < 1e30 else sympy.Float(value) if value else sympy.Integer(0)

    def power(base: Scalar, exponent: Scalar) -> Scalar:
        if not exponent.is_number or abs(float(exponent)) > MAX_EXPONENT:
            raise ValueError(f"an exponent is a number of at most {MAX_EXPONENT}")
        if base.is_number and max(map(abs, sympy.fraction(base))) > 2**64:  # exact powers of powers would grow without end
            return sympy.Float(float(base) ** float(exponent))
        return base**exponent

    symbols = {name: sympy.Symbol(name, real=True) for name in free}
    names = {**symbols, "pi": sympy.pi, **{name: sympy.Float(x) for name, x in values.items()}}
    called = {name: sympy.Abs if name == "abs" else getattr(sympy, name) for name in functions}
    return _Arithmetic(number, names, called, power)


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]], arithmetic: _Arithmetic) -> None:
        self.tokens, self.arithmetic, self.at, self.depth = tokens, arithmetic, 0, 0

    def whole(self) -> Scalar:
        value = self.sum()
        if self.at < len(self.tokens):
            raise ValueError(f"neither a number nor an expression: unexpected {self.tokens[self.at][1]!r}")
        return value

    def taken(self, *signs: str) -> str:
        """Consume and return the next token if it is one of these signs, else return an empty text."""
        if self.at < len(self.tokens) and self.tokens[self.at] in [("sign", sign) for sign in signs]:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return ""

    def sum(self) -> Scalar:
        value = self.product()
        while sign := self.taken("+", "-"):
            value = value + self.product() if sign == "+" else value - self.product()
        return value

    def product(self) -> Scalar:
        value = self.sign()
        while sign := self.taken("*", "/"):
            value = value * self.sign() if sign == "*" else value / self.sign()
        return value

    def sign(self) -> Scalar:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ValueError("the expression is nested too deeply")
        sign = self.taken("+", "-")
        value = -self.sign() if sign == "-" else self.sign() if sign else self.power()
        self.depth -= 1
        return value

    def power(self) -> Scalar:
        base = self.atom()
        return self.arithmetic.power(base, self.sign()) if self.taken("**") else base

    def atom(self) -> Scalar:
        if self.taken("("):
            return self.closed()
        kind, word = self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")
        self.at += 1
        if kind == "number":
            return self.arithmetic.number(word)
        known = self.arithmetic.functions
        if kind == "name" and word in known:
            if not self.taken("("):
                raise ValueError(f"the function {word} needs parentheses")
            return known[word](self.closed())
        if kind == "name":
            if self.taken("("):
                raise ValueError(f"unknown function {word!r}; known: {', '.join(known)}")
            return self.arithmetic.names[word]
        raise ValueError("neither a number nor an expression: " + (f"unexpected {word!r}" if word else "it ends too early"))

    def closed(self) -> Scalar:
        value = self.sum()
        if not self.taken(")"):
            raise ValueError("neither a number nor an expression: a parenthesis is not closed")
        return value
