"""In which order a long kernel computes, and which values wait where: so that few of them wait at a time, in the nearest cache.

What the algorithm made first is not always needed first: of a robot with legs and arms all motions, before the forces of the first
limb. And of more values than there are registers those should wait in memory that are needed last, which a compiler, whose
registers are for branches and loops too, does not see: it writes a quarter more. None of this changes an operation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

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


def departures(part: Sequence[Expr], operands: Operands, registers: int) -> dict[Expr, list[Expr]]:
    """For some nodes the values that leave the registers after them, though this part needs them again: those it needs last."""
    uses: dict[Expr, list[int]] = defaultdict(list)  # the next one at the end
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
    """Values that are read from memory, by a later part or after they have departed, each with its place: another's, once the last
    part that reads it is done. Those that are `elsewhere` in memory anyway need none."""
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
