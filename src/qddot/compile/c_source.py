"""A program as a C99 function: `void name(const double q[7], ..., double tau[7])`.

One operation after the other, each value in a constant of its own; sums and products that are used once are written where they are
used. Parentheses stand only where C would otherwise compute something else, so without contraction C rounds as the graph says.
Results are written after the last input is read: an output may be the same array as an input.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.graph.expr import Expr
from qddot.graph.program import Input, Output, Program

LINE = 96
"""Characters of an expression that is still written inside another one."""

PART = 2_000
"""Statements in one function: a compiler's effort grows faster than a function's length, so long functions are cut."""

SUM, PRODUCT, SIGNED, ATOM = range(4)
"""How tightly an expression binds."""

BINARY = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}
FUNCTIONS = ("sin", "cos", "sqrt", "atan2")


class Precision(NamedTuple):
    """The arithmetic of the C code: the type, and what is appended to literals and to the functions of math.h."""

    real: str
    suffix: str
    dtype: np.dtype

    def literal(self, x: float) -> str:
        """A constant that reads back to the same number.

        Raises:
            InputError: the number is not finite in this precision.
        """
        with np.errstate(over="ignore"):
            value = self.dtype.type(x)
        if not math.isfinite(value):
            raise InputError(f"the constant {float(x):.6g} in this robot's equations is too large for C in {self.real} precision")
        return f"{value!s}{self.suffix}"


PRECISIONS = {"double": Precision("double", "", np.dtype(np.float64)), "float": Precision("float", "f", np.dtype(np.float32))}


class Text(NamedTuple):
    """A piece of C, and how tightly it binds."""

    code: str
    binding: int = ATOM

    def within(self, binding: int) -> str:
        """As an operand of something that binds this tightly."""
        return self.code if self.binding >= binding else f"({self.code})"


def shown(program: Program) -> list[Output]:
    """The outputs a caller sees."""
    return [x for x in program.outputs if x.name != "margins"]


def has_margins(program: Program) -> bool:
    return program.outputs[-1].name == "margins"


def prototype(program: Program, name: str, precision: Precision) -> str:
    """The function's head, without a semicolon."""
    inputs = [f"const {precision.real} {x.name}[{x.size}]" for x in program.inputs]
    outputs = [f"{precision.real} {x.name}[{x.size}]" if x.shape else f"{precision.real} *{x.name}" for x in shown(program)]
    return f"{'int' if has_margins(program) else 'void'} {name}({', '.join(inputs + outputs)})"


class Printer:
    """Statements for nodes.

    Attributes:
        text: for each node seen so far how it is written.
        often: how often each node is used as an operand.
        kept: nodes that need a name: outputs, and what stands twice in one expression.
    """

    def __init__(self, program: Program, precision: Precision) -> None:
        self.program, self.precision = program, precision
        self.text: dict[Expr, Text] = {}
        self.often = Counter(a for node in program.nodes for a in node.args if a.__class__ is Expr)
        self.kept = {x for output in program.outputs for x in output.values if x.__class__ is Expr}
        self.kept.update(a for node in program.nodes if node.op == "sign" for a in node.args)
        self.named = 0

    def statements(self) -> Iterator[str]:
        for node in self.program.nodes:
            text = self.expression(node)
            if self.stays(node, text):
                self.named += 1
                yield f"const {self.precision.real} t{self.named} = {text.code};"
                text = Text(f"t{self.named}")
            self.text[node] = text

    def stays(self, node: Expr, text: Text) -> bool:
        """True for a value with a name of its own."""
        if node in self.kept:
            return True
        if node.op == "var":
            return False
        return self.often[node] > 1 or (node.op not in BINARY and node.op != "neg") or len(text.code) > LINE

    def operand(self, x) -> Text:
        if x.__class__ is Expr:
            return self.text[x]
        code = self.precision.literal(x)
        return Text(code, SIGNED if code.startswith("-") else ATOM)

    def expression(self, node: Expr) -> Text:
        if node.op == "var":
            source, element = node.args
            return Text(f"{self.program.inputs[source].name}[{element}]")
        a, *rest = (self.operand(x) for x in node.args)
        if node.op in BINARY:
            return binary(node.op, a, rest[0])
        if node.op == "neg":
            return Text(f"-{a.within(ATOM)}", SIGNED)
        if node.op in FUNCTIONS:
            return Text(f"{node.op}{self.precision.suffix}({', '.join(x.code for x in (a, *rest))})")
        zero = self.precision.literal(0.0)
        if node.op == "sign":
            return Text(f"({self.precision.real})(({a.code} > {zero}) - ({a.code} < {zero}))", SIGNED)
        if node.op == "select":
            return Text(f"{a.within(SUM)} > {zero} ? {rest[0].code} : {rest[1].code}", SUM - 1)
        raise ValueError(f"no C for {node.op!r}")


def binary(op: str, a: Text, b: Text) -> Text:
    """`a op b`. C groups from the left, so only the right operand needs parentheses where it binds no tighter."""
    binding = BINARY[op]
    if op == "+" and b.binding == SIGNED:
        op, b = "-", Text(b.code[1:])
    return Text(f"{a.within(binding)} {op} {b.within(ATOM if op == '-' and b.binding == SIGNED else binding + 1)}", binding)
