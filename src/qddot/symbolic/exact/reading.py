"""SymPy expressions of a description, read as polynomials.

Sums, products and powers of symbols, sines and cosines are read as such. The reciprocal of a symbol is a letter bound to it, and so
is a square root. Any other expression (an arc tangent, a quotient of sums) becomes a letter of its own, an atom: exact, but nothing
is known about it beyond its name.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from qddot.errors import InputError
from qddot.model.scalar import is_symbolic
from qddot.symbolic.exact.numbers import rational, surd

Leaf = Callable[[str, Any], Any]
"""(kind, expression) -> scalar; kinds `parameter`, `cos`, `sin` (of the expression), `root` (of a prime), `inverse`, `atom`."""

MAX_POWER = 64


def read(expression: Any, leaf: Leaf) -> Any:
    """Return the expression with its leaves replaced; only sums, products and powers remain. Raises InputError: a part is not a
    real number, whatever its symbols are."""
    if expression.is_Symbol:
        if expression.is_real is False:
            raise InputError(f"the symbol {expression} is declared not to be real")
        return leaf("parameter", expression)
    if expression.is_Rational:
        return Fraction(int(expression.p), int(expression.q))
    if expression.is_Float:
        return rational(float(expression))
    if expression.is_Add:
        return sum((read(x, leaf) for x in expression.args), 0)
    if expression.is_Mul:
        product: Any = 1
        for x in expression.args:
            product = product * read(x, leaf)
        return product
    if expression.is_Pow:
        return read_power(expression, leaf)
    if isinstance(expression, (sympy.cos, sympy.sin)):
        return leaf("cos" if isinstance(expression, sympy.cos) else "sin", expression.args[0])
    if isinstance(expression, sympy.tan):
        return leaf("sin", expression.args[0]) * leaf("inverse", sympy.cos(expression.args[0]))
    if expression.is_real is False or (expression.is_number and not expression.is_real):
        raise InputError(f"{expression} is not a finite real number")
    return leaf("atom", expression)


def read_power(expression: Any, leaf: Leaf) -> Any:
    """Read whole and half powers; any other power is an atom."""
    base, exponent = expression.as_base_exp()
    twice = 2 * exponent
    if not twice.is_Integer:
        return leaf("atom", expression)
    if abs(twice) > 2 * MAX_POWER:
        raise InputError(f"{expression}: exponents over {MAX_POWER} would be huge written out")
    odd = int(twice) % 2
    whole = (int(twice) - odd) // 2
    product = power(read(base, leaf), whole) if whole > 0 else power(read_inverse(base, leaf), -whole) if whole else Fraction(1)
    return product * read_root(base, leaf) if odd else product


def read_inverse(base: Any, leaf: Leaf) -> Any:
    return 1 / read(base, leaf) if base.is_Rational else leaf("inverse", base)


def read_root(base: Any, leaf: Leaf) -> Any:
    """Read the square root of a whole number as a product of roots of its primes; any other root is an atom."""
    if not base.is_Integer:
        return leaf("atom", sympy.sqrt(base))
    if base < 0:
        raise InputError(f"sqrt({base}) is not a real number")
    product: Any = Fraction(1)
    for prime, times in sympy.factorint(base).items():
        product = product * Fraction(int(prime)) ** (times // 2) * (leaf("root", int(prime)) if times % 2 else 1)
    return product


def power(x: Any, n: int) -> Any:
    """Return `x^n` for n from 1 on by repeated multiplication, for any scalar."""
    product = x
    for _ in range(n - 1):
        product = product * x
    return product


def squared(atom: Any) -> Any:
    """Return the square of an atom that is a square root or a magnitude; None for any other."""
    if atom.is_Pow and atom.exp == sympy.Rational(1, 2):
        return atom.base
    return atom.args[0] ** 2 if isinstance(atom, sympy.Abs) else None


def exactly(expression: Any) -> Any:
    """Return the expression with each float as the fraction that was meant."""
    return expression.xreplace({x: sympy.Rational(*rational(float(x)).as_integer_ratio()) for x in expression.atoms(sympy.Float)})


def with_surds(x: Any) -> Any:
    """Return an entry of a rotation with exact roots for its floats that are sines of multiples of 15 degrees."""
    if isinstance(x, float):
        return surd(x) or x
    if not is_symbolic(x):
        return x
    known = {number: surd(float(number)) for number in x.atoms(sympy.Float)}
    roots = [sympy.Integer(1), *map(sympy.sqrt, (2, 3, 6))]
    return x.xreplace({number: sum(a * r for a, r in zip(found, roots)) / 4 for number, found in known.items() if found})


def angle_parts(angle: Any) -> tuple[dict[Any, Fraction], float]:
    """Return an angle as (fraction of each monomial, number): the sum of monomials, each times its fraction, plus the number."""
    parts: dict[Any, Fraction] = {}
    number = 0.0
    for monomial, times in sympy.expand(angle).as_coefficients_dict().items():
        if monomial.is_number:
            number += float(monomial * times)
        else:
            parts[monomial] = rational(float(times)) if times.is_Float else Fraction(int(times.p), int(times.q))
    return parts, number
