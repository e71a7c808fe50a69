"""A program as a CasADi function: the graph, node by node, for people who optimise or differentiate there."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qddot.errors import missing_extra
from qddot.graph.expr import Expr
from qddot.graph.program import Program

if TYPE_CHECKING:
    import casadi


def to_casadi(program: Program) -> casadi.Function:
    """Return the function over `casadi.SX`; a matrix output keeps its shape, a vector is a column. Margins are left out."""
    try:
        import casadi as ca
    except ImportError:
        raise missing_extra("casadi", "casadi", "a CasADi function") from None

    rows = [(x.shape[0] if x.shape else 1, x.shape[1] if len(x.shape) > 1 else 1) for x in program.inputs]
    symbols = [ca.SX.sym(x.name, *shape) for x, shape in zip(program.inputs, rows)]
    flat = [ca.vertsplit(ca.vec(s.T)) for s in symbols]  # row-major, like the program
    operation = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "atan2": ca.atan2,
        "neg": lambda a: -a,
        "sin": ca.sin,
        "cos": ca.cos,
        "sqrt": ca.sqrt,
        "sign": ca.sign,
        "select": lambda x, a, b: ca.if_else(x > 0, a, b),
    }
    value: dict[Expr, object] = {}
    get = lambda x: value[x] if x.__class__ is Expr else ca.SX(float(x))  # noqa: E731
    for node in program.nodes:
        if node.op == "var":
            source, element = node.args
            value[node] = flat[source][element]
        else:
            value[node] = operation[node.op](*(get(a) for a in node.args))
    outputs = [shaped(ca, [get(v) for v in x.values], x.shape) for x in program.shown]
    return ca.Function(program.name, symbols, outputs, [x.name for x in program.inputs], [x.name for x in program.shown])


def shaped(ca, values: list, shape: tuple[int, ...]):
    """A column, a matrix, or for more dimensions the matrix with the leading ones flattened."""
    if 0 in shape:
        return ca.SX(math.prod(shape[:-1]), shape[-1])
    column = ca.vertcat(*values)
    if len(shape) < 2:
        return column
    return ca.reshape(column, shape[-1], -1).T
