"""Polynomials as plain text (a first, small printer: every term by itself)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qddot.symbolic.ring import Poly


def plain(p: Poly) -> str:
    names = [g.name for g in p.ring.generators]
    parts = []
    for powers, coefficient in p.terms():
        factors = [names[i] if e == 1 else f"{names[i]}**{e}" for i, e in powers.items()]
        if coefficient != 1 or not factors:
            factors.insert(0, str(coefficient))
        parts.append("*".join(factors))
    return " + ".join(parts) or "0"
