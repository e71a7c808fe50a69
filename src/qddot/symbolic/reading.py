"""SymPy expressions of a description as polynomials.

What is polynomial in symbols and in sines and cosines is read as such; the reciprocal of a symbol is a letter bound to it.
Whatever else there may be (the root of a sum, an arc tangent, a quotient of sums) becomes a letter of its own, an atom: exact, but
nothing is known of it beyond its name.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from qddot.symbolic.exact import rational

Leaf = Callable[[str, Any], Any]
"""(kind, expression) -> scalar; kinds `parameter`, `cos`, `sin` (of the expression), `root` (of 2, 3), `inverse`, `atom`."""


def read(expression: Any, leaf: Leaf) -> Any:
    """The expression with its leaves replaced; only sums, products and powers remain."""
    if expression.is_Symbol:
        return leaf("parameter", expression)
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if expression.is_Float:
        return rational(float(expression))
    if expression.is_Add:
        return sum((read(x, leaf) for x in expression.args), Fraction(0))
    if expression.is_Mul:
        product: Any = Fraction(1)
        for x in expression.args:
            product = product * read(x, leaf)
        return product
    if expression.is_Pow:
        return read_power(expression, leaf)
    if isinstance(expression, (sympy.cos, sympy.sin)):
        angle = expression.args[0]
        plain = sympy.expand_trig(expression)
        if plain != expression and len(angle.free_symbols) > 1:
            return read(plain, leaf)
        return leaf("cos" if isinstance(expression, sympy.cos) else "sin", angle)
    return leaf("atom", expression)


def read_power(expression: Any, leaf: Leaf) -> Any:
    base, exponent = expression.as_base_exp()
    if exponent.is_Integer:
        inner = read(base, leaf) if exponent > 0 else leaf("inverse", base)
        product: Any = Fraction(1)
        for _ in range(abs(int(exponent))):
            product = product * inner
        return product
    if base in (2, 3, 6) and (2 * exponent).is_Integer:
        twice = int(2 * exponent)
        whole = Fraction(int(base)) ** ((twice - 1) // 2)
        roots = [leaf("root", p) for p in (2, 3) if base % p == 0]
        return roots[0] * roots[-1] * whole if len(roots) > 1 else roots[0] * whole
    return leaf("atom", expression)
