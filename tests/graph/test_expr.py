"""The graph folds what it can, and changes no value by it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qddot.graph.expr import Expr, Trace, schedule


@pytest.fixture
def xy():
    trace = Trace()
    return trace.variable(0, 0), trace.variable(0, 1)


def evaluate(value, inputs):
    """The value of a node, by the definition of each operation."""
    known = {}
    get = lambda x: known[x] if isinstance(x, Expr) else x  # noqa: E731
    rules = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sin": math.sin,
        "cos": math.cos,
        "sqrt": math.sqrt,
        "atan2": math.atan2,
        "sign": lambda a: (a > 0) - (a < 0),
        "select": lambda x, a, b: a if x > 0 else b,
    }
    for node in schedule([value]):
        known[node] = inputs[node.args[1]] if node.op == "var" else rules[node.op](*(get(a) for a in node.args))
    return get(value)


def test_equal_expressions_are_one_node(xy):
    x, y = xy
    assert x * y is y * x
    assert x + y is y + x
    assert (x + y) * (x - y) is (y + x) * (x - y)


@pytest.mark.parametrize(
    ("build", "folded"),
    [
        (lambda x, y: x * 0, 0.0),
        (lambda x, y: x - x, 0.0),
        (lambda x, y: 0 / x, 0.0),
        (lambda x, y: 0.0 * (x + y), 0.0),
    ],
)
def test_zero_is_folded_to_a_number(xy, build, folded):
    assert build(*xy) == folded


def test_identities_give_the_node_itself(xy):
    x, y = xy
    for same in (x + 0, x * 1, x - 0.0, 1.0 * x, (-x) * -1):
        assert same is x
    assert x - (-y) is x + y
    assert -(x - y) is y - x
    assert (x * 2.0) * 3.0 is x * 6.0


def test_folding_keeps_numbers_that_would_underflow_or_overflow(xy):
    x, _ = xy
    assert evaluate((x * 1e-200) * 1e-200, [1e200, 0]) == pytest.approx(1e-200)
    assert evaluate((x * 1e200) * 1e200, [1e-200, 0]) == pytest.approx(1e200)
    assert evaluate(x / 1e-320, [1e-320, 0]) == 1.0
    with pytest.raises(ZeroDivisionError):
        evaluate(x / 0.0, [1.0, 0])


numbers = st.floats(-4, 4).map(lambda v: round(v, 3))


@given(
    st.lists(st.tuples(st.sampled_from("+-*/nsc"), st.integers(0, 30), st.integers(0, 30), numbers), min_size=1, max_size=30),
    numbers,
    numbers,
)
def test_folded_expressions_have_the_value_of_the_plain_ones(steps, a, b):
    trace = Trace()
    nodes, plain = [trace.variable(0, 0), trace.variable(0, 1)], [a, b]
    for op, i, j, constant in steps:
        k, m = i % len(nodes), j % len(nodes)
        other = (nodes[m], plain[m]) if j % 3 else (constant, constant)
        if op == "n":
            new = -nodes[k], -plain[k]
        elif op in "sc":
            c, s = trace.cos_sin(nodes[k])
            new = (s, math.sin(plain[k])) if op == "s" else (c, math.cos(plain[k]))
        elif op == "/":
            if abs(other[1]) < 1e-3:
                continue
            new = nodes[k] / other[0], plain[k] / other[1]
        else:
            combine = {"+": lambda u, v: u + v, "-": lambda u, v: u - v, "*": lambda u, v: u * v}[op]
            new = combine(nodes[k], other[0]), combine(plain[k], other[1])
        if abs(new[1]) > 1e6:
            continue
        nodes.append(new[0])
        plain.append(new[1])
    for node, value in zip(nodes, plain):
        assert evaluate(node, [a, b]) == pytest.approx(value, rel=1e-9, abs=1e-6)
