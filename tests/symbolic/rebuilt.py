"""What a printed tree stands for: the polynomial again, by the ring's own arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qddot.symbolic.exact.ring import Poly
from qddot.symbolic.printing.presentation import Presentation
from qddot.symbolic.printing.tree import Call, Inverse, Node, Number, Power, Product, Sum, Symbol, Wave


def rebuilt(presentation: Presentation, node: Node) -> Any:
    """The polynomial (or fraction) that a tree of this presentation stands for."""
    ring, alphabet = presentation.ring, presentation.equations.alphabet
    known: dict[Node, Any] = {shown: ring.letters[i] for i, shown in presentation.nodes.items()}
    for i in alphabet.loads.keys() & alphabet.signs.keys():
        known[Call("abs", (presentation._load(i),))] = ring.letters[i] * ring.adopted(alphabet.signs[i])
    names = presentation.style.abbreviate.definitions if presentation.style.abbreviate else {}

    def leaf(x: Node) -> Any:
        if isinstance(x, Number):
            return ring.constant(x.value)
        if isinstance(x, Wave):
            if x not in known:
                known[x] = wave_of(presentation, x)
            return known[x]
        if isinstance(x, Symbol) and x.kind == "constant":
            return computed(names[x.name], leaf)
        return known.get(x)

    return computed(node, leaf)


def wave_of(presentation: Presentation, wave: Wave) -> Poly:
    ring = presentation.ring
    cos, sin = ring.constant(1), ring.constant(0)
    for k, times in wave.of:
        c, s = presentation.equations.alphabet.angles[presentation.angles[k]]
        for _ in range(abs(times)):
            cos, sin = (cos * c - sin * s, sin * c + cos * s) if times > 0 else (cos * c + sin * s, sin * c - cos * s)
    return ring.constant(cos if wave.function == "cos" else sin)


def computed(node: Node, leaf: Callable[[Node], Any]) -> Any:
    """Its value in any arithmetic. `leaf` gives the value of what it knows, and None where the parts should be computed first."""
    value = leaf(node)
    if value is not None:
        return value
    if isinstance(node, Power):
        return computed(node.base, leaf) ** node.exponent
    if isinstance(node, Inverse):
        return 1 / computed(node.of, leaf)
    if isinstance(node, Product):
        value = computed(node.factors[0], leaf)
        for factor in node.factors[1:]:
            value = value * computed(factor, leaf)
        return value
    if isinstance(node, Sum):
        return sum((computed(term, leaf) for term in node.terms[1:]), computed(node.terms[0], leaf))
    raise TypeError(f"{node} has no value")
