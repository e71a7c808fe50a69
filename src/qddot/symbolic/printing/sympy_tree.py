"""SymPy expressions of parameters (an atom of the ring, a constant angle) as trees that can be printed."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from qddot.symbolic.exact.numbers import rational
from qddot.symbolic.printing.tree import Call, Inverse, Node, Number, Symbol, power, product, total


def tree_of(expression: Any) -> Node:
    """Return a number or SymPy expression as a tree."""
    if isinstance(expression, (int, Fraction)):
        return Number(Fraction(expression))
    if expression.is_Symbol:
        return Symbol(str(expression))
    if expression.is_Rational:
        return Number(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Float:
        return Number(rational(float(expression)))
    if expression.is_NumberSymbol:
        return Call(str(expression), ())
    if expression.is_Add:
        return total([tree_of(x) for x in expression.as_ordered_terms()])
    if expression.is_Mul:
        return product([tree_of(x) for x in expression.as_ordered_factors()])
    if expression.is_Pow:
        base, exponent = expression.as_base_exp()
        if exponent.is_Integer:
            return power(tree_of(base), int(exponent)) if exponent > 0 else Inverse(power(tree_of(base), -int(exponent)))
        if (2 * exponent).is_Integer:
            root = power(Call("sqrt", (tree_of(base),)), abs(int(2 * exponent)))
            return root if exponent > 0 else Inverse(root)
        return Call("pow", (tree_of(base), tree_of(exponent)))
    return Call(type(expression).__name__.lower(), tuple(map(tree_of, expression.args)))
