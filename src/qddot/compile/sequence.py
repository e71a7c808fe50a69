"""In which order a long kernel computes, and where values wait: so that few of them wait at a time, in the nearest cache.

What the algorithm made first is not always needed first: of a robot with legs and arms all motions, before the forces of the first
limb. None of this changes an operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from qddot.graph.expr import Expr

LATER = 2_000
"""What is not needed for so many instructions is not computed before."""

Operands = Callable[[Expr], Sequence[Expr]]


def by_component(nodes: Sequence[Expr], operands: Operands) -> list[Expr]:
    """Nodes in their order, but first all that are connected with the first one, as of one leg, then with the next that is left."""
    leader = {node: node for node in nodes}

    def find(node: Expr) -> Expr:
        while leader[node] is not node:
            leader[node] = node = leader[leader[node]]
        return node

    for node in nodes:
        for a in operands(node):
            if a in leader:
                leader[find(a)] = find(node)
    found: dict[Expr, list[Expr]] = defaultdict(list)
    for node in nodes:
        found[find(node)].append(node)
    return [node for part in found.values() for node in part]


def when_needed(nodes: Sequence[Expr], operands: Operands) -> list[Expr]:
    """Nodes in their order, but those that would wait for long just before their first use: of two arms, one after the other."""
    first: dict[Expr, int] = {}  # where a node is used first
    place: dict[Expr, int] = {}
    for k in reversed(range(len(nodes))):
        node = nodes[k]
        use = first.get(node, k)
        place[node] = use if use - k > LATER else k
        for a in operands(node):
            first[a] = min(first.get(a, len(nodes)), place[node])
    return sorted(nodes, key=lambda node: place[node])  # of equal places as before: operands first


def shared_places(parts: Sequence[Sequence[Expr]], operands: Operands) -> dict[Expr, int]:
    """Values that a later part needs, each with its place in memory: another's, once the last part that reads it is done."""
    home = {node: k for k, part in enumerate(parts) for node in part}
    last = {a: k for k, part in enumerate(parts) for node in part for a in operands(node) if home.get(a, k) != k}
    ending: dict[int, list[Expr]] = defaultdict(list)
    for node, k in last.items():
        ending[k].append(node)
    places: dict[Expr, int] = {}
    free: list[int] = []
    used = 0
    for k, part in enumerate(parts):
        for node in part:
            if node in last:
                if not free:
                    free.append(used)
                    used += 1
                places[node] = free.pop()
        free += [places[node] for node in ending[k]]
    return places
