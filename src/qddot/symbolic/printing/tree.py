"""The tree that all printers print: sums, products and powers of numbers, symbols and waves."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple


class Number(NamedTuple):
    value: Fraction


class Symbol(NamedTuple):
    """A letter with a name."""

    name: str
    kind: str = "parameter"  # that of a `Generator`, or `"constant"` for an abbreviation
    index: int = 0  # coordinate or column of a joint variable or rate


class Wave(NamedTuple):
    """The sine or cosine of a sum of joint angles: `of` pairs the index of an angle with its multiple, `((0, 1), (1, 1))`."""

    function: str
    of: tuple[tuple[int, int], ...]


class Call(NamedTuple):
    """A function of other nodes: the square root of a number, the cosine of a constant angle, the sign of a rate."""

    function: str
    of: tuple[Node, ...]


class Inverse(NamedTuple):
    of: Node


class Power(NamedTuple):
    base: Node
    exponent: int


class Product(NamedTuple):
    factors: tuple[Node, ...]


class Sum(NamedTuple):
    terms: tuple[Node, ...]


Node = Number | Symbol | Wave | Call | Inverse | Power | Product | Sum

ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))


def power(base: Node, exponent: int) -> Node:
    return base if exponent == 1 else Power(base, exponent)


def product(factors: list[Node]) -> Node:
    """Return the product of factors, those that are 1 left out."""
    kept = [x for x in factors if not isinstance(x, Number) or x.value != 1]
    return Product(tuple(kept)) if len(kept) > 1 else kept[0] if kept else ONE


def total(terms: list[Node]) -> Node:
    return Sum(tuple(terms)) if len(terms) > 1 else terms[0] if terms else ZERO


def size(node: Node) -> int:
    """Return the length of a node in letters: a power counts its base several times, a pair of parentheses is one letter."""
    if isinstance(node, Sum):
        return 1 + sum(map(size, node.terms))
    if isinstance(node, Product):
        return sum(map(size, node.factors))
    if isinstance(node, Power):
        return node.exponent * size(node.base)
    if isinstance(node, Inverse):
        return size(node.of)
    return 0 if isinstance(node, Number) and abs(node.value) == 1 else 1


def leaves(node: Node) -> Iterator[Node]:
    """Yield the symbols, waves and numbers in a node, from left to right."""
    if isinstance(node, (Sum, Product, Call)):
        for part in node[-1]:
            yield from leaves(part)
    elif isinstance(node, Power):
        yield from leaves(node.base)
    elif isinstance(node, Inverse):
        yield from leaves(node.of)
    else:
        yield node
