"""A program run again gives what its graph gives."""

from __future__ import annotations

import pytest

from qddot.graph.expr import Trace
from qddot.graph.program import Input, Output, Program
from qddot.graph.replay import replay
from qddot.model.field import Floats
from tests.graph.test_derivative import REAL, SMOOTH

CASES = SMOOTH | REAL


def program(*functions) -> Program:
    trace = Trace()
    x, y = trace.variable(0, 0), trace.variable(1, 0)
    values = tuple(f(trace, x, y) for f in functions)
    return Program(
        "test", (Input("x", (1,)), Input("y", (1,))), (Output("first", (len(values),), values), Output("two", (1,), (2.0,)))
    )


@pytest.mark.parametrize(("x", "y"), [(0.3, -1.2), (-0.7, 0.4)])
def test_over_numbers(x, y):
    wanted = [f(Floats(), x, y) for f in CASES.values()]
    found, two = replay(program(*CASES.values()), Floats(), [x], [y])
    assert found == pytest.approx(wanted, rel=1e-14)
    assert two == [2.0]


def test_over_the_nodes_of_another_trace():
    """What is replayed twice over the same nodes is there once; over others it is another."""
    once, trace = program(*CASES.values()), Trace()
    x, y = trace.variable(0, 0), trace.variable(1, 0)
    first, second, turned = replay(once, trace, [x], [y]), replay(once, trace, [x], [y]), replay(once, trace, [y], [x])
    assert all(a is b for a, b in zip(first[0], second[0]))
    assert first[0][list(CASES).index("product")] is x * y * x
    assert turned[0][list(CASES).index("product")] is y * x * y
