"""Derivatives of programs, as programs: forward from rates of the inputs, backward from weights of the outputs, and Jacobians.

They are compiled like any other program and may be differentiated again. A tangent is a Jacobian times a vector, a cotangent a
vector times a Jacobian: each costs two to three evaluations and never forms the Jacobian.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, repeat

from qddot.graph.derivative import along, gradient
from qddot.graph.expr import Expr, make
from qddot.graph.program import Input, Output, Program
from qddot.model.scalar import Scalar


def tangent(program: Program, inputs: Sequence[int]) -> Program:
    """Return a program for the rates of the outputs, with the rates of the chosen inputs as further inputs (forward mode).
    `inputs`: positions of the chosen ones; the others are constant."""
    rates = [Input(f"d{program.inputs[k].name}", program.inputs[k].shape) for k in inputs]
    table, first = table_of(program), len(program.inputs)
    moving = {}
    for place, k in enumerate(inputs, first):
        for i in range(program.inputs[k].size if table is not None else 0):
            moving[make(table, "var", k, i)] = make(table, "var", place, i)  # type: ignore[arg-type]
    outputs = [Output(f"d{x.name}", x.shape, tuple(along(x.values, moving))) for x in program.outputs]
    return Program(f"{program.name}_tangent", (*program.inputs, *rates), tuple(outputs))


def cotangent(program: Program, inputs: Sequence[int]) -> Program:
    """Return a program for the gradient of `sum(weight * output)` with respect to the chosen inputs, the weights being further
    inputs (reverse mode)."""
    weights = [Input(f"c{x.name}", x.shape) for x in program.outputs]
    chosen = [program.inputs[k] for k in inputs]
    slopes: Iterator[Scalar] = repeat(0.0)  # unless the outputs depend on something
    if (table := table_of(program)) is not None:
        total = 0.0
        for place, x in enumerate(program.outputs, len(program.inputs)):
            for i, value in enumerate(x.values):
                total = total + value * make(table, "var", place, i)
        slopes = iter(gradient(total, [make(table, "var", k, i) for k in inputs for i in range(program.inputs[k].size)]))
    outputs = tuple(Output(f"c{x.name}", x.shape, tuple(islice(slopes, x.size))) for x in chosen)
    return Program(f"{program.name}_cotangent", (*program.inputs, *weights), outputs)


def jacobian(program: Program, chosen: int) -> Program:
    """Return a program for the derivatives of each output with respect to one input, whose dimensions come last."""
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
    """Return the table of nodes of a program's trace; None if its outputs are constants."""
    return next((x.table for output in program.outputs for x in output.values if x.__class__ is Expr), None)
