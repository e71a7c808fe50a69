"""Products that are computed in one rounding with the sum they belong to, as `a b + c`, by every kernel of every target."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from qddot.graph.expr import Expr


def fused_products(nodes: Sequence[Expr], outputs: Mapping[Expr, list], shared: Collection[Expr] = ()) -> set[Expr]:
    """Return the products used once, in a sum or difference, at most one of each sum; `shared` ones count as used twice."""
    once: set[Expr] = set()
    again: set[Expr] = set()
    for node in nodes:
        for a in node.args:
            if a.__class__ is Expr:
                (again if a in once else once).add(a)
    found: set[Expr] = set()
    for node in nodes:
        if node.op in "+-":
            for a in node.args:
                if a.__class__ is Expr and a.op == "*" and a not in again and a not in outputs and a not in shared:
                    found.add(a)
                    break
    return found
