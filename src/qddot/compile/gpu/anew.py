"""Rematerialisation: values that a thread computes twice, instead of keeping them in registers.

A program is cut in two halves. Of the values of the first that the second needs, some are kept, and the others are computed again
from these and from the inputs, which are read again. A minimum cut decides: a kept value costs a register, one computed again costs
its operations. The program is cut where fewest values are then alive. In derivatives of forward dynamics, for example, the first
half computes the accelerations, the second the derivatives; both need poses and inertias, and little more than the factors of the
mass matrix is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from qddot.graph.expr import Expr

TURN = 13
"""Number of operations of a sine or cosine."""

Operands = Mapping[Expr, Sequence[Expr]]


class Halves(NamedTuple):
    """The two halves, each in its order; between them only the values `kept` stay in registers. `waiting`: most values alive."""

    first: list[Expr]
    second: list[Expr]
    kept: Set[Expr]
    waiting: int


def halves(nodes: Sequence[Expr], operands: Operands, wanted: Set[Expr], cuts: int, worth: int) -> Halves:
    """Return the best of `cuts` cuts, with fewest values alive; a register is worth `worth` operations."""
    places = [len(nodes) * k // (cuts + 1) for k in range(1, cuts + 1)]
    return min((cut(nodes[:k], nodes[k:], operands, wanted, worth) for k in places), key=lambda found: found.waiting)


def cut(before: Sequence[Expr], after: Sequence[Expr], operands: Operands, wanted: Set[Expr], worth: int) -> Halves:
    """Return the halves for a cut of the nodes, in the order of their making, into those before and after."""
    early = set(before)
    needed = {a for node in after for a in operands[node] if a in early}
    again = made_again(before, operands, needed, worth)
    kept = (needed | {a for node in again for a in operands[node]}) - again
    first = on_demand([node for node in before if node in kept or node in wanted], operands, set())
    second = on_demand(after, operands, set(kept))
    return Halves(first, second, kept, max(waiting(first, operands, kept), waiting(second, operands, frozenset(), kept)))


def made_again(before: Sequence[Expr], operands: Operands, needed: Set[Expr], worth: int) -> set[Expr]:
    """Return the values that are cheaper to compute again than to keep: one side of a minimum cut.

    Each value has two vertices, "needed" and "computed again". Needed but not computed again, it costs a register's `worth`;
    computed again, it costs its operations, and its operands are needed.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    place = {node: 2 * k for k, node in enumerate(before)}
    source, sink, endless = 2 * len(before), 2 * len(before) + 1, 1 << 20
    edges = [(source, place[node], endless) for node in needed]
    for node in before:
        edges.append((place[node], place[node] + 1, worth))
        edges.append((place[node] + 1, sink, TURN if node.op in ("sin", "cos") else 1))
        edges += [(place[node] + 1, place[a], endless) for a in operands[node]]
    rows, columns, sizes = np.array(edges, np.int32).T
    graph = csr_array((sizes, (rows, columns)), (sink + 1, sink + 1), dtype=np.int32)
    rest = graph - maximum_flow(graph, source, sink).flow
    rest.data[rest.data < 0] = 0
    rest.eliminate_zeros()
    reached = set(breadth_first_order(rest, source, return_predecessors=False).tolist())
    return {node for node in before if place[node] + 1 in reached}


def on_demand(wanted: Sequence[Expr], operands: Operands, there: set[Expr]) -> list[Expr]:
    """Return the wanted nodes in their order, each after those operands that are not yet in `there`."""
    order: list[Expr] = []
    for node in wanted:
        stack = [(node, False)]
        while stack:
            x, ready = stack.pop()
            if ready:
                order.append(x)
            elif x not in there:
                there.add(x)
                stack.append((x, True))
                stack += [(a, False) for a in reversed(operands[x])]
    return order


def waiting(order: Sequence[Expr], operands: Operands, to_the_end: Set[Expr], from_the_start: Set[Expr] = frozenset()) -> int:
    """Return the largest number of values that are alive at the same time."""
    last = {a: k for k, node in enumerate(order) for a in operands[node]} | dict.fromkeys(to_the_end, len(order))
    alive = most = len(from_the_start)
    for k, node in enumerate(order):
        alive += 1
        most = max(most, alive)
        alive -= sum(last[a] == k for a in operands[node]) + (node not in last)
    return most
