"""The order of long kernels: nothing before what it needs, and no place for two values at a time."""

from typing import Any

import numpy as np
import pytest

from qddot.compile import sequence
from qddot.graph.expr import Expr, Trace


@pytest.fixture
def nodes() -> list[Expr]:
    """Two computations that have nothing to do with each other, made in turn, and values that wait for long."""
    rng, trace = np.random.default_rng(0), Trace()
    halves: list[list[Any]] = [[trace.variable(0, k) for k in range(4)], [trace.variable(1, k) for k in range(4)]]
    for k in range(4000):
        half = halves[k % 2]
        i, j = rng.integers(len(half)), rng.integers(max(0, len(half) - 40), len(half))
        half.append(half[i] * half[j] + float(k))
    found = {id(x): x for half in halves for y in half for x in (y, *y.args) if isinstance(x, Expr) and x.op != "var"}
    return sorted(found.values(), key=lambda x: x.number)


def operands(node: Expr) -> list[Expr]:
    return [a for a in node.args if isinstance(a, Expr)]


def test_operands_come_first_whatever_the_order(nodes, monkeypatch):
    monkeypatch.setattr(sequence, "LATER", 100)
    by_component = sequence.by_component(nodes, operands)
    ordered = sequence.when_needed(by_component, operands)
    assert by_component != nodes
    assert ordered != by_component
    for order in (by_component, ordered):
        place = {node: k for k, node in enumerate(order)}
        assert place.keys() == set(nodes)
        assert all(place[a] < place[node] for node in order for a in operands(node) if a in place)


def test_components_follow_each_other(nodes):
    inputs: dict[Expr, int] = {}
    for node in sequence.by_component(nodes, operands):
        inputs[node] = next(a.args[0] if a.op == "var" else inputs[a] for a in operands(node))
    changes = sum(a != b for a, b in zip(list(inputs.values()), list(inputs.values())[1:]))
    assert changes == 1


def cut(nodes: list[Expr]) -> list[list[Expr]]:
    return [nodes[k : k + 300] for k in range(0, len(nodes), 300)]


def test_a_place_holds_its_value_until_the_last_part_that_reads_it(nodes):
    parts, results = cut(nodes), set(nodes[::50])
    departed = [[x for values in sequence.departures(part, operands, 20).values() for x in values] for part in parts]
    places, holds = sequence.shared_places(parts, operands, departed, results), {}
    home = {node: k for k, part in enumerate(parts) for node in part}
    assert not results & places.keys()
    for k, part in enumerate(parts):
        for node in part:
            read = [a for a in operands(node) if a in home and (home[a] != k or a in departed[k])]
            assert all(holds[places[a]] is a for a in read if a not in results)
            if node in places:
                holds[places[node]] = node
    assert max(places.values()) + 1 < len(places)


@pytest.mark.parametrize("registers", [5, 20])
def test_no_more_values_wait_in_registers_than_there_are(nodes, registers):
    """What has departed is loaded again where it is needed, and what is needed next does not depart."""
    for part in cut(nodes):
        departed, here = sequence.departures(part, operands, registers), set()
        last = {a: k for k, node in enumerate(part) for a in operands(node)}
        for k, node in enumerate(part):
            here |= {*operands(node), node}
            here = {a for a in here if last.get(a, -1) > k}
            leaving = departed.get(node, [])
            assert here.issuperset(leaving)
            here -= set(leaving)
            assert len(here) <= registers
            if leaving:
                following = part[k + 1 : k + 3]
                assert not {a for x in following for a in operands(x)} & set(leaving)


def test_nothing_departs_where_all_have_room(nodes):
    assert sequence.departures(nodes[:100], operands, 1000) == {}
