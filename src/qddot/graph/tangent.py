"""Derivatives of programs, as programs: along a motion of the inputs, and back from the outputs to the inputs.

Both are programs again, so they are compiled like any other and may be differentiated again. What comes out is a Jacobian times a
vector, at the cost of two to three evaluations and without the Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence

from qddot.graph.derivative import along, gradient
from qddot.graph.expr import Expr, make
from qddot.graph.program import Input, Output, Program


def tangent(program: Program, inputs: Sequence[int]) -> Program:
    """How fast the outputs change while the chosen inputs change at rates, which are further inputs (forward mode). `inputs`:
    places of the chosen ones; the others stand still."""
    rates = [Input(f"d{program.inputs[k].name}", program.inputs[k].shape) for k in inputs]
    table, first = table_of(program), len(program.inputs)
    moving = {}
    for place, k in enumerate(inputs, first):
        for i in range(program.inputs[k].size if table is not None else 0):
            moving[make(table, "var", k, i)] = make(table, "var", place, i)  # type: ignore[arg-type]
    outputs = [Output(f"d{x.name}", x.shape, tuple(along(x.values, moving))) for x in program.outputs]
    return Program(f"{program.name}_tangent", (*program.inputs, *rates), tuple(outputs))


def cotangent(program: Program, inputs: Sequence[int]) -> Program:
    """The gradient with respect to the chosen inputs of `sum(weight * output)`, the weights being further inputs (reverse mode)."""
    weights = [Input(f"c{x.name}", x.shape) for x in program.outputs]
    table, first = table_of(program), len(program.inputs)
    outputs = []
    if table is None:  # the outputs are constants
        zeros = [Output(f"c{program.inputs[k].name}", program.inputs[k].shape, (0.0,) * program.inputs[k].size) for k in inputs]
        return Program(f"{program.name}_cotangent", (*program.inputs, *weights), tuple(zeros))
    total = 0.0
    for place, x in enumerate(program.outputs, first):
        for i, value in enumerate(x.values):
            total = total + value * make(table, "var", place, i)
    variables = [[make(table, "var", k, i) for i in range(program.inputs[k].size)] for k in inputs]
    slopes = iter(gradient(total, [v for row in variables for v in row]))
    for k, row in zip(inputs, variables):
        outputs.append(Output(f"c{program.inputs[k].name}", program.inputs[k].shape, tuple(next(slopes) for _ in row)))
    return Program(f"{program.name}_cotangent", (*program.inputs, *weights), tuple(outputs))


def jacobian(program: Program, chosen: int) -> Program:
    """The derivatives of each output with respect to each element of one input, which are its last dimensions."""
    x, table = program.inputs[chosen], table_of(program)
    outputs = []
    for y in program.outputs:
        if table is None:
            columns = [[0.0] * y.size for _ in range(x.size)]
        else:
            columns = [along(y.values, {make(table, "var", chosen, i): 1.0}) for i in range(x.size)]
        values = tuple(column[k] for k in range(y.size) for column in columns)
        outputs.append(Output(f"d{y.name}_d{x.name}", (*y.shape, *x.shape), values))
    return Program(f"{program.name}_jacobian", program.inputs, tuple(outputs))


def table_of(program: Program) -> dict | None:
    """The nodes of the trace that made a program; None if its outputs are constants."""
    return next((x.table for output in program.outputs for x in output.values if x.__class__ is Expr), None)
