"""Order of computation in a long kernel, and the values kept in memory: few at a time, so that they fit in the nearest cache.

The algorithms' own order keeps many values for long: for a robot with legs and arms, the motions of all limbs come before the
forces of the first. And if there are more values than registers, those that are needed last should go to memory; a compiler, which
allocates registers for code with branches and loops, stores a quarter more. None of this changes an operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from qddot.graph.expr import Expr

LATER = 2_000
"""A value that is first needed more instructions later than this is moved to just before its first use."""

Operands = Callable[[Expr], Sequence[Expr]]


def by_component(nodes: Sequence[Expr], operands: Operands) -> list[Expr]:
    """Return the nodes component by component of their graph (one leg after the other), each component in the nodes' order."""
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
    """Return the nodes in their order, except that those needed only much later come just before their first use."""
    first: dict[Expr, int] = {}  # the place where a node is first used
    place: dict[Expr, int] = {}
    for k in reversed(range(len(nodes))):
        node = nodes[k]
        use = first.get(node, k)
        place[node] = use if use - k > LATER else k
        for a in operands(node):
            first[a] = min(first.get(a, len(nodes)), place[node])
    return sorted(nodes, key=lambda node: place[node])  # stable, so operands still come first


def departures(part: Sequence[Expr], operands: Operands, registers: int) -> dict[Expr, list[Expr]]:
    """Return, for some nodes, the values that leave the registers after them and are needed again: those needed last."""
    uses: dict[Expr, list[int]] = defaultdict(list)  # the next use is the last element
    for k in reversed(range(len(part))):
        for a in operands(part[k]):
            uses[a].append(k)
    found: dict[Expr, list[Expr]] = {}
    here: set[Expr] = set()
    for k, node in enumerate(part):
        read = operands(node)
        for a in read:
            while uses[a] and uses[a][-1] == k:
                uses[a].pop()
        here.update(a for a in (*read, node) if uses[a])
        here.difference_update([a for a in read if not uses[a]])
        while len(here) > registers:
            farthest = max(here, key=lambda a: (uses[a][-1], a.number))
            here.remove(farthest)
            found.setdefault(node, []).append(farthest)
    return found


def shared_places(
    parts: Sequence[Sequence[Expr]], operands: Operands, departed: Sequence[Sequence[Expr]], elsewhere: Collection[Expr]
) -> dict[Expr, int]:
    """Return a place in memory for each value that is read by a later part, or after it has left the registers. A place is used
    again after the last part that reads its value. Values in `elsewhere` are in memory anyway and need none."""
    home = {node: k for k, part in enumerate(parts) for node in part if node not in elsewhere}
    last = {a: k for k, part in enumerate(parts) for node in part for a in operands(node) if home.get(a, k) != k}
    for k, values in enumerate(departed):
        last |= {node: max(k, last.get(node, k)) for node in values if node in home}
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
