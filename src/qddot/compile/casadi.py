"""Convert a program to a CasADi function, node by node, for optimisation or differentiation with CasADi."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from qddot.errors import missing_extra
from qddot.graph.program import Program
from qddot.graph.replay import ARITHMETIC, evaluated

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
    operations = {
        **ARITHMETIC,
        "atan2": ca.atan2,
        "sin": ca.sin,
        "cos": ca.cos,
        "sqrt": ca.sqrt,
        "sign": ca.sign,
        "select": lambda x, a, b: ca.if_else(x > 0, a, b),
    }
    found = evaluated(program, operations, flat, lambda x: ca.SX(float(x)))  # the margins come last
    outputs = [shaped(ca, values, x.shape) for values, x in zip(found, program.shown)]
    return ca.Function(program.name, symbols, outputs, [x.name for x in program.inputs], [x.name for x in program.shown])


def shaped(ca, values: list, shape: tuple[int, ...]):
    """Return the values as a column or matrix; with more than two dimensions, the leading ones are flattened to rows."""
    if 0 in shape:
        return ca.SX(math.prod(shape[:-1]), shape[-1])
    column = ca.vertcat(*values)
    if len(shape) < 2:
        return column
    return ca.reshape(column, shape[-1], -1).T
