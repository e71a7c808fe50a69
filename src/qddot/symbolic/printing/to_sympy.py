"""Forms as SymPy expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from qddot.symbolic.form import Form
    from qddot.symbolic.robot_in_letters import RobotInLetters


def to_sympy(form: Form) -> Any:
    """See `Form.sympy`."""
    letters = Letters(form.equations)
    entries = [expression(x, letters) for x in form.entries.flat]
    if form.shape == ():
        return entries[0]
    if form.ndim <= 2:
        return sympy.ImmutableDenseMatrix(*(form.shape if form.ndim == 2 else (form.shape[0], 1)), entries)
    return sympy.ImmutableDenseNDimArray(entries, form.shape)


class Letters(dict[int, Any]):
    """Letters as SymPy expressions: the robot's own symbols, real symbols for all others; sines and cosines of `q1`, `q2`, ..."""

    def __init__(self, equations: RobotInLetters) -> None:
        self.alphabet = equations.alphabet

    def __missing__(self, i: int) -> Any:
        self[i] = self._letter(i)
        return self[i]

    def _letter(self, i: int) -> Any:
        name, kind, of = self.alphabet.ring.generators[i]
        if kind == "root":
            return sympy.sqrt(of)
        if kind == "sign":
            return sympy.sign(expression(self.alphabet.signs[i], self))
        if kind == "soft":
            return expression(self.alphabet.softened[i], self) ** sympy.Rational(-1, 4)
        if kind in ("cos", "sin"):
            multiple = of.multiple if isinstance(of.multiple, sympy.Basic) else sympy.Rational(*of.multiple.as_integer_ratio())
            angle = multiple if of.coordinate is None else multiple * sympy.Symbol(f"q{of.coordinate + 1}", real=True)
            return sympy.cos(angle) if kind == "cos" else sympy.sin(angle)
        if kind == "inverse":
            return 1 / of
        return of if isinstance(of, sympy.Basic) else sympy.Symbol(name, real=True)


def expression(x: Any, letters: Letters) -> Any:
    if hasattr(x, "den"):
        return expression(x.num, letters) / expression(x.den, letters)
    for i in x.letters() & letters.alphabet.loads.keys():
        times, rest = letters.alphabet.by_magnitude(x, i)
        if times:
            load = expression(letters.alphabet.signs[i], letters)
            return expression(rest, letters) + expression(times, letters) * sympy.Abs(load)
    terms = []
    for powers, number in x.terms():
        factors = [letters[i] if e == 1 else letters[i] ** e for i, e in powers.items()]
        terms.append(sympy.Mul(sympy.Rational(number.numerator, number.denominator), *factors))
    return sympy.Add(*terms)
