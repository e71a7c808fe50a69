"""Expressions in the letters of some equations: reading them, and putting them in the place of letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy

from qddot.errors import InputError
from qddot.symbolic.reading import read
from qddot.symbolic.ring import NotPolynomialError, Poly

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations


def read_expression(equations: Equations, expression: Any) -> Poly:
    """See `Equations.read`."""
    if isinstance(expression, str):
        from qddot.formats.expression import Scope

        try:
            expression = Scope().evaluate(expression)
        except ValueError as error:
            raise InputError(f"{expression!r}: {error}") from None
    alphabet = equations.alphabet

    def leaf(kind: str, x: Any) -> Any:
        if kind == "parameter":
            return alphabet.ring.letters[equations.letter(str(x))]
        if kind in ("cos", "sin"):
            try:
                return alphabet._leaf(kind, x)
            except KeyError:
                return angle(kind, x)
        if (kind, x) in alphabet._at:
            return alphabet[kind, x]
        raise NotPolynomialError(f"{x} is not a polynomial in the letters of these equations")

    def angle(kind: str, x: Any) -> Any:
        c, s = alphabet.cos_sin(read(x, leaf))
        return c if kind == "cos" else s

    return alphabet.ring.constant(read(sympy.sympify(expression), leaf))


def substitution(equations: Equations, values: Mapping[str, Any]) -> Callable[[Any], Any]:
    """See `Equations.substitution`."""
    alphabet = equations.alphabet
    ring = alphabet.ring
    put: dict[int, Any] = {}
    for name, value in values.items():
        i = equations.letter(name)
        generator = ring.generators[i]
        new = equations.lift(value)
        put[i] = new
        if generator.kind == "position":
            for angle, (c, s) in alphabet.angles.items():
                if angle.coordinate == generator.of:
                    try:
                        cos, sin = alphabet.cos_sin(new * alphabet.exact(angle.multiple))
                    except NotPolynomialError as error:
                        raise InputError(f"{name} cannot become {value}: {error}") from None
                    put[next(iter(c.letters()))], put[next(iter(s.letters()))] = ring.constant(cos), ring.constant(sin)

    def replace(p: Any) -> Any:
        return p.evaluate(lambda i: put.get(i, ring.letters[i]), lambda x: x) if p.letters() & put.keys() else p

    return replace
