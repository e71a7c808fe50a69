"""Exact derivatives of traced expressions: forward, along rates of the variables; reverse, with respect to each variable.

A derivative is made of nodes of the same trace, so it shares all sub-expressions with its function, and may be differentiated
again. `sign` and the condition of `select` have slope zero: at a kink the derivative is that of one side. Both branches of a
`select` are differentiated, so both must be smooth wherever one of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from qddot.graph.expr import Expr, is_zero, make, plain, schedule
from qddot.model.scalar import Scalar


def along(expressions: Sequence[Scalar], rates: Mapping[Expr, Scalar]) -> list[Scalar]:
    """Return the rate of each expression while the variables change at `rates` (variables not listed: at zero). Forward mode.

    `along([x * y], {x: 1.0})` is `[y]`; with the rates of all coordinates it is the derivative with respect to time.
    """
    dot: dict[Scalar, Scalar] = {}
    for node in schedule(expressions):
        if node.op == "var":
            dot[node] = rates.get(node, 0.0)
        else:
            moving = [(passed, dot[arg]) for arg, passed in PASSED[node.op](node) if not is_zero(dot.get(arg, 0.0))]
            dot[node] = sum((passed(rate) for passed, rate in moving), 0.0)
    return [dot.get(x, 0.0) for x in expressions]


def gradient(expression: Scalar, variables: Sequence[Expr]) -> list[Scalar]:
    """Return the derivative of one expression with respect to each of the variables. Reverse mode."""
    order, reached = schedule([expression]), set(variables)
    for node in order:
        if any(arg in reached for arg in node.args if arg.__class__ is Expr):
            reached.add(node)
    bar: dict[Scalar, Scalar] = {expression: 1.0}
    for node in reversed(order):
        if node.op != "var" and node in bar:
            for arg, passed in PASSED[node.op](node):
                if arg.__class__ is Expr and arg in reached:
                    bar[arg] = bar.get(arg, 0.0) + passed(bar[node])
    return [bar.get(x, 0.0) for x in variables]


def variables_of(expressions: Sequence[Scalar]) -> set[Expr]:
    """Return the variables that expressions depend on."""
    return {node for node in schedule(expressions) if node.op == "var"}


Passed = list[tuple[Scalar, Callable[[Scalar], Scalar]]]
"""For each operand, the product with the node's slope: from the operand's rate to its part of the node's rate (forward), and from
the node's bar, the derivative of the result with respect to it, to the operand's part of its bar (reverse)."""


def product(node: Expr) -> Passed:
    a, b = node.args
    return [(a, lambda rate: b * rate), (b, lambda rate: a * rate)]


def quotient(node: Expr) -> Passed:
    a, b = node.args
    return [(a, lambda rate: rate / b), (b, lambda rate: -(node * rate / b))]


def root(node: Expr) -> Passed:
    return [(node.args[0], lambda rate: rate * 0.5 / node)]


def sine(node: Expr) -> Passed:
    angle = node.args[0]
    return [(angle, lambda rate: make(node.table, "cos", angle) * rate)]


def cosine(node: Expr) -> Passed:
    angle = node.args[0]
    return [(angle, lambda rate: -(make(node.table, "sin", angle) * rate))]


def angle_of(node: Expr) -> Passed:
    y, x = node.args
    return [(y, lambda rate: x * rate / (x * x + y * y)), (x, lambda rate: -(y * rate / (x * x + y * y)))]


def choice(node: Expr) -> Passed:
    x, then, otherwise = node.args
    return [
        (then, lambda rate: make(node.table, "select", x, plain(rate), 0.0)),
        (otherwise, lambda rate: make(node.table, "select", x, 0.0, plain(rate))),
    ]


PASSED: dict[str, Callable[[Expr], Passed]] = {  # for each operation
    "+": lambda node: [(node.args[0], lambda rate: rate), (node.args[1], lambda rate: rate)],
    "-": lambda node: [(node.args[0], lambda rate: rate), (node.args[1], lambda rate: -rate)],
    "*": product,
    "/": quotient,
    "neg": lambda node: [(node.args[0], lambda rate: -rate)],
    "sqrt": root,
    "sin": sine,
    "cos": cosine,
    "atan2": angle_of,
    "select": choice,
    "sign": lambda node: [],
}
