"""Forms as SymPy expressions, for whatever one wants to do there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations
    from qddot.symbolic.form import Form


def to_sympy(form: Form) -> Any:
    """See `Form.sympy`."""
    letters = [letter(form.equations, i) for i in range(len(form.equations.alphabet.ring.generators))]
    entries = [expression(x, letters) for x in form.entries.flat]
    if form.shape == ():
        return entries[0]
    if form.ndim <= 2:
        return sympy.ImmutableDenseMatrix(*(form.shape if form.ndim == 2 else (form.shape[0], 1)), entries)
    return sympy.ImmutableDenseNDimArray(entries, form.shape)


def expression(x: Any, letters: list[Any]) -> Any:
    if hasattr(x, "den"):
        return expression(x.num, letters) / expression(x.den, letters)
    terms = []
    for powers, number in x.terms():
        factors = [letters[i] if e == 1 else letters[i] ** e for i, e in powers.items()]
        terms.append(sympy.Mul(sympy.Rational(number.numerator, number.denominator), *factors))
    return sympy.Add(*terms)


def letter(equations: Equations, i: int) -> Any:
    """The robot's own symbols as they are, all others as real symbols of the same name; sines and cosines of `q1`, `q2`, ..."""
    generator = equations.alphabet.ring.generators[i]
    kind, of = generator.kind, generator.of
    if kind == "root":
        return sympy.sqrt(of)
    if kind == "sign":
        return sympy.sign(sympy.Symbol(f"qd{of + 1}", real=True))
    if kind in ("cos", "sin"):
        multiple = of.multiple if isinstance(of.multiple, sympy.Basic) else sympy.Rational(*of.multiple.as_integer_ratio())
        angle = multiple if of.coordinate is None else multiple * sympy.Symbol(f"q{of.coordinate + 1}", real=True)
        return sympy.cos(angle) if kind == "cos" else sympy.sin(angle)
    if kind == "inverse":
        return 1 / of
    return of if isinstance(of, sympy.Basic) else sympy.Symbol(generator.name, real=True)
