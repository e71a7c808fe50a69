"""Evaluation of a program node by node, over other scalars; over nodes of a trace, the program becomes part of that trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import add, mul, neg, sub, truediv
from typing import Any

from qddot.graph.expr import Expr
from qddot.graph.program import Program
from qddot.model.field import Field
from qddot.model.scalar import Scalar

Operations = Mapping[str, Callable[..., Any]]
"""For each operation of the graph, the function that carries it out."""

ARITHMETIC: Operations = {"+": add, "-": sub, "*": mul, "/": truediv, "neg": neg}


def replay(program: Program, field: Field, *inputs: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return the elements of each output of a program over a field, for the elements of its inputs."""
    operations = {
        **ARITHMETIC,
        "sin": lambda x: field.cos_sin(x)[1],
        "cos": lambda x: field.cos_sin(x)[0],
        "sqrt": field.sqrt,
        "sign": field.sign,
        "atan2": field.atan2,
        "select": field.where_positive,
    }
    return evaluated(program, operations, inputs)


def evaluated(
    program: Program, operations: Operations, inputs: Sequence[Any], constant: Callable[[float], Any] = lambda x: x
) -> list[list[Any]]:
    """Return the elements of each output of a program by these operations; `constant` converts the numbers in it."""
    value: dict[Expr, Any] = {}
    get = lambda x: value[x] if x.__class__ is Expr else constant(x)  # noqa: E731
    for node in program.nodes:
        if node.op == "var":
            source, element = node.args
            value[node] = inputs[source][element]
        else:
            value[node] = operations[node.op](*map(get, node.args))
    return [[get(x) for x in output.values] for output in program.outputs]
