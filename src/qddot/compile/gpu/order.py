"""Order of computation in a thread: the algorithm's own, unless more values are then alive than there are registers."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence

from qddot.graph.expr import Expr

Operands = Mapping[Expr, Sequence[Expr]]
"""For each node, its operands that are computed in the kernel, each once."""


def most_waiting(nodes: Sequence[Expr], operands: Operands) -> int:
    """Return the largest number of values that are alive at the same time."""
    last = {a: k for k, node in enumerate(nodes) for a in operands[node]}
    alive, most = 0, 0
    for k, node in enumerate(nodes):
        alive += 1
        most = max(most, alive)
        alive -= sum(last[a] == k for a in operands[node]) + (node not in last)
    return most


def fewest_waiting(nodes: Sequence[Expr], operands: Operands) -> list[Expr]:
    """Return the nodes in a greedy order: always next the one after which fewest values are alive, of several the first made."""
    users: dict[Expr, list[Expr]] = {}
    for node in nodes:
        for a in operands[node]:
            users.setdefault(a, []).append(node)
    missing = {node: len(operands[node]) for node in nodes}
    left = Counter({a: len(some) for a, some in users.items()})
    frees = Counter({node: sum(left[a] == 1 for a in operands[node]) for node in nodes})
    heap = [(cost(node, users, frees), node.number, node) for node in nodes if not missing[node]]
    heapq.heapify(heap)
    done: set[Expr] = set()
    order: list[Expr] = []
    while heap:
        _, _, node = heapq.heappop(heap)
        if node in done:  # it was in the heap twice, with a lower cost as well
            continue
        done.add(node)
        order.append(node)
        for a in operands[node]:
            left[a] -= 1
            if left[a] == 1:
                (last,) = (u for u in users[a] if u not in done)
                frees[last] += 1
                if not missing[last]:
                    heapq.heappush(heap, (cost(last, users, frees), last.number, last))
        for user in users.get(node, ()):
            missing[user] -= 1
            if not missing[user]:
                heapq.heappush(heap, (cost(user, users, frees), user.number, user))
    return order


def cost(node: Expr, users: Mapping[Expr, Sequence[Expr]], frees: Mapping[Expr, int]) -> int:
    """Return the change of the number of live values by computing a node."""
    return (node in users) - frees[node]
