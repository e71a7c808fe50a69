"""The expression graph: its nodes are scalars, and arithmetic with them makes new nodes.

Nodes are interned, so a sub-expression computed twice is one node; arithmetic of numbers, and with exact 0 and 1, is done at once.
A node cannot be used as a truth value: an algorithm that branches on a scalar cannot be traced, and raises TypeError.

An operand is another node or a plain float. Operations: `+ - * /` (binary), `neg sin cos sqrt sign` (unary), `atan2`, and
`select` (x, a, b: a where x > 0, else b); `var` is a leaf with (input, element).
"""

from __future__ import annotations

import gc
import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from qddot.arguments import refuse_recorded
from qddot.errors import as_written
from qddot.model.field import cos_sin
from qddot.model.scalar import Scalar


class Expr:
    """One node. `number` counts the nodes of a trace; `table` has all nodes of the trace, and lives as long as it."""

    __slots__ = ("args", "number", "op", "table")

    op: str
    args: tuple
    number: int
    table: dict

    is_open = True  # as a number of a model, it has no value yet
    free_symbols = frozenset()

    def __bool__(self) -> bool:
        raise TypeError("a traced scalar has no truth value: algorithms must not branch on it")

    def __repr__(self) -> str:
        inner = ", ".join(f"#{a.number}" if a.__class__ is Expr else repr(a) for a in self.args)
        return f"#{self.number} = {self.op}({inner})"

    def __add__(self, b):
        if b.__class__ is not Expr:
            b = number(b)
            return self if b == 0 else make(self.table, "+", self, b)
        if b.op == "neg":
            return self - b.args[0]
        if self.op == "neg":
            return b - self.args[0]
        if self is b:
            return self * 2.0
        return make(self.table, "+", self, b) if self.number < b.number else make(self.table, "+", b, self)

    __radd__ = __add__

    def __sub__(self, b):
        if b.__class__ is not Expr:
            b = number(b)
            return self if b == 0 else make(self.table, "+", self, -b)
        if self is b:
            return 0.0
        if b.op == "neg":
            return self + b.args[0]
        if self.op == "neg":
            return -(self.args[0] + b)
        return make(self.table, "-", self, b)

    def __rsub__(self, a):
        a = number(a)
        return -self if a == 0 else make(self.table, "-", a, self)

    def __neg__(self):
        if self.op == "neg":
            return self.args[0]
        if self.op == "-" and self.args[0].__class__ is Expr:
            return make(self.table, "-", self.args[1], self.args[0])
        if self.op == "*" and self.args[1].__class__ is not Expr:
            return self.args[0] * -self.args[1]
        return make(self.table, "neg", self)

    def __mul__(self, b):
        if b.__class__ is not Expr:
            b = number(b)
            if b == 0:
                return 0.0
            if b == 1:
                return self
            if b == -1:
                return -self
            if self.op == "neg":
                return self.args[0] * -b
            if self.op == "*" and self.args[1].__class__ is not Expr and is_normal(self.args[1] * b):
                return self.args[0] * (self.args[1] * b)
            return make(self.table, "*", self, b)
        if self.op == "neg":
            return -(self.args[0] * b)
        if b.op == "neg":
            return -(self * b.args[0])
        return make(self.table, "*", self, b) if self.number <= b.number else make(self.table, "*", b, self)

    __rmul__ = __mul__

    def __truediv__(self, b):
        if b.__class__ is not Expr:
            b = number(b)
            return self * (1.0 / b) if is_normal(b) and is_normal(1.0 / b) else make(self.table, "/", self, b)
        if self.op == "neg":
            return -(self.args[0] / b)
        return make(self.table, "/", self, b)

    def __rtruediv__(self, a):
        a = number(a)
        return 0.0 if a == 0 else make(self.table, "/", a, self)

    def __abs__(self):
        return self * make(self.table, "sign", self)

    def __pow__(self, n):
        """Return a whole power."""
        if n.__class__ is not int:
            raise TypeError(f"{n!r} is not a whole number: a traced scalar has whole powers and square roots only")
        return math.prod([self] * n, start=1.0) if n >= 0 else 1.0 / self**-n


def number(x: Any) -> float:
    """Return a constant of a graph, as a float. Raises InputError: a tensor whose gradient would be lost."""
    if x.__class__ is float:
        return x
    if hasattr(x, "requires_grad"):
        refuse_recorded(as_written(x), x)
    return float(x)


def is_normal(x: float) -> bool:
    """Return True unless a number is zero, or so small or large that folding it into another number would lose digits."""
    return 1e-300 < abs(x) < 1e300


def make(table: dict, op: str, *args: Any) -> Expr:
    """Return the node for an operation: the one already in the table, or a new one."""
    key = (op, *args)
    node = table.get(key)
    if node is None:
        node = object.__new__(Expr)
        node.op, node.args, node.number, node.table = op, args, len(table), table
        table[key] = node
    return node


class Trace:
    """One trace: makes its variables, and is the field (see `qddot.model.field`) whose scalars are nodes."""

    def __init__(self, rounding: float = sys.float_info.epsilon) -> None:
        self.table: dict = {}
        self.rounding = rounding

    def variable(self, source: int, element: int) -> Expr:
        """Return the node for element `element` of input `source`."""
        return make(self.table, "var", source, element)

    def constant(self, x: Scalar) -> Scalar:
        return plain(x)

    def cos_sin(self, angle: Scalar) -> tuple[Scalar, Scalar]:
        if angle.__class__ is not Expr:
            return cos_sin(number(angle))
        if angle.op == "neg":
            c, s = self.cos_sin(angle.args[0])
            return c, -s
        return make(self.table, "cos", angle), make(self.table, "sin", angle)

    def sign(self, x: Scalar) -> Scalar:
        return make(self.table, "sign", x) if x.__class__ is Expr else (number(x) > 0) - (x < 0)

    def sqrt(self, x: Scalar) -> Scalar:
        return make(self.table, "sqrt", x) if x.__class__ is Expr else math.sqrt(number(x))

    def inverse_fourth_root(self, x: Scalar) -> Scalar:
        return 1 / self.sqrt(self.sqrt(x))

    def atan2(self, y: Scalar, x: Scalar) -> Scalar:
        if y.__class__ is not Expr and x.__class__ is not Expr:
            return math.atan2(number(y), number(x))
        return make(self.table, "atan2", plain(y), plain(x))

    def where_positive(self, x: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        if x.__class__ is not Expr:
            return then if number(x) > 0 else otherwise
        return make(self.table, "select", x, plain(then), plain(otherwise))


@contextmanager
def without_collection() -> Iterator[None]:
    """Stop the garbage collector for a while: no node of a trace is garbage, and searching them takes longer than making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def plain(x: Scalar) -> Scalar:
    """Return an operand: a node as it is, anything else as a float."""
    return x if x.__class__ is Expr else number(x)


def is_zero(x: Scalar) -> bool:
    """Return True for the number zero, False for every node."""
    return x.__class__ is not Expr and x == 0


def schedule(outputs: Iterable[Scalar]) -> list[Expr]:
    """Return the nodes that the outputs need, operands first, each close to its first use."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack = [(o, False) for o in reversed(list(outputs)) if o.__class__ is Expr]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
        elif node.number not in seen:
            seen.add(node.number)
            stack.append((node, True))
            stack.extend((a, False) for a in node.args if a.__class__ is Expr and a.number not in seen)
    return order
