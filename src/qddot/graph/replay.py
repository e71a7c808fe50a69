"""Run a program over other scalars: so a program becomes part of a larger trace, as often as it is needed there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul, neg, sub, truediv

from qddot.graph.expr import Expr
from qddot.graph.program import Program
from qddot.model.field import Field
from qddot.model.scalar import Scalar


def replay(program: Program, field: Field, *inputs: Sequence[Scalar]) -> list[list[Scalar]]:
    """Return the elements of each output of a program, for the elements of its inputs."""
    operation: dict[str, Callable[..., Scalar]] = {
        "+": add,
        "-": sub,
        "*": mul,
        "/": truediv,
        "neg": neg,
        "sin": lambda x: field.cos_sin(x)[1],
        "cos": lambda x: field.cos_sin(x)[0],
        "sqrt": field.sqrt,
        "sign": field.sign,
        "atan2": field.atan2,
        "select": field.where_positive,
    }
    value: dict[Scalar, Scalar] = {}
    for node in program.nodes:
        if node.op == "var":
            source, element = node.args
            value[node] = inputs[source][element]
        else:
            value[node] = operation[node.op](*(value[x] if x.__class__ is Expr else x for x in node.args))
    return [[value[x] if x.__class__ is Expr else x for x in output.values] for output in program.outputs]
