"""The values of closed forms: in floats, or with as many digits as wanted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np
import sympy

from qddot.arguments import mapping, shape_of, whole_number
from qddot.compile.arrays import with_unit_quaternion
from qddot.errors import InputError, UnboundSymbolError, as_written, unknown_name
from qddot.symbolic.exact.letters import ARRAYS
from qddot.symbolic.exact.ring import Poly

if TYPE_CHECKING:
    from qddot.symbolic.form import Form
    from qddot.symbolic.robot_in_letters import RobotInLetters

MOST_DIGITS = 10_000
"""The most decimal digits of a result: with more, sines alone take minutes."""


def evaluate(form: Form, given_motion: Mapping[str, Any], parameters: Mapping[Any, Any] | None = None, digits: int | None = None):
    """See `Form.evaluate`."""
    equations = form.equations
    sizes = equations.alphabet.sizes
    for name in given_motion:
        if name not in sizes:
            raise unknown_name("array", name, sizes)
    motion = {name: python_numbers(name, given_motion.get(name), size) for name, size in sizes.items()}
    given = {str(name): value for name, value in mapping("parameters", parameters).items()}
    known = [g.name for g in equations.alphabet.ring.generators if g.kind == "parameter"]
    for name in given:
        if name not in known:
            raise unknown_name("parameter", name, known)
    if digits is None:
        return values_of(form, Letters(equations, motion, given, math, float))
    if whole_number("digits", digits) > MOST_DIGITS:
        raise InputError(f"digits={digits}: more than {MOST_DIGITS} take too long")
    with mpmath.workdps(digits + 10):
        return values_of(form, Letters(equations, motion, given, mpmath.mp, lambda x: mpmath.mpf(x.numerator) / x.denominator))


def values_of(form: Form, letters: Letters) -> Any:
    """Return the entries as numbers in the arithmetic of the letters. Raises InputError: a float is not finite."""
    check_quaternions(form.equations, [letters.real(x) for x in letters.motion["q"]])
    with np.errstate(all="ignore"):
        values = np.vectorize(lambda p: p.evaluate(letters, letters.number), otypes=[object])(form.entries)
    if letters.arithmetic is math:
        values = values.astype(float)
        if not np.isfinite(values).all():
            raise InputError(f"{form.name or 'the result'} is not finite here: numbers are too large, or the state is singular")
    return values.item() if values.shape == () else values


class Letters:
    """The value of each letter (by index) in one arithmetic: `arithmetic` has cos, sin and sqrt, `number` takes a fraction."""

    def __init__(
        self, equations: RobotInLetters, motion: Mapping[str, Sequence[Any]], given: Mapping[str, Any], arithmetic: Any, number: Any
    ) -> None:
        self.equations, self.motion, self.given, self.arithmetic, self.number = equations, motion, given, arithmetic, number
        self.known: dict[int, Any] = {}

    def __call__(self, i: int) -> Any:
        if i not in self.known:
            self.known[i] = self._value(i)
        return self.known[i]

    def _value(self, i: int) -> Any:
        generator = self.equations.alphabet.ring.generators[i]
        kind, of, fn = generator.kind, generator.of, self.arithmetic
        if kind == "quaternion":
            return self._unit(of)
        if kind in ARRAYS:
            return self.real(self.motion[ARRAYS[kind]][of])
        if kind == "sign":
            x = self.equations.alphabet.signs[i].evaluate(self, self.number)
            return (x > 0) - (x < 0)
        if kind == "soft":
            return 1 / fn.sqrt(fn.sqrt(self.equations.alphabet.softened[i].evaluate(self, self.number)))
        if kind == "root":
            return fn.sqrt(self.number(Fraction(of)))
        if kind in ("cos", "sin"):
            angle = self._angle(of)
            return fn.cos(angle) if kind == "cos" else fn.sin(angle)
        return self._parameter(generator)

    def _unit(self, i: int) -> Any:
        """Return one number of a quaternion that is scaled to length 1."""
        start = next(c.q.start for c in self.equations.exact_model.mechanism.coordinates if i in c.q)
        parts = [self.real(x) for x in self.motion["q"][start : start + 4]]
        return parts[i - start] / self.arithmetic.sqrt(sum(x * x for x in parts))

    def _angle(self, angle: Any) -> Any:
        if angle.coordinate is None:
            return self._expression(angle.multiple)
        multiple = self.number(angle.multiple) if isinstance(angle.multiple, Fraction) else self._expression(angle.multiple)
        return self.real(self.motion["q"][angle.coordinate]) * multiple

    def _parameter(self, generator: Any) -> Any:
        name = generator.name
        if generator.kind == "inverse":
            return 1 / self._expression(generator.of)
        if generator.kind == "atom":
            return self._expression(generator.of)
        if name in self.given:
            return self.real(self.given[name])
        value = self.equations.values.get(name)
        if value is None:
            raise UnboundSymbolError(f"{name} has no value: give one with parameters={{{name!r}: ...}}")
        return value.evaluate(self, self.number) if isinstance(value, Poly) else self.number(Fraction(value))

    def _expression(self, expression: Any) -> Any:
        """Return the value of a SymPy expression of parameters."""
        symbols = sorted(expression.free_symbols, key=str)
        values = [self(self.equations.letter(str(s))) for s in symbols]
        return sympy.lambdify(symbols, expression, "math" if self.arithmetic is math else "mpmath")(*values)

    def real(self, x: Any) -> Any:
        """Return a number that the caller gave, in this arithmetic. Raises InputError: it is not finite or not a number."""
        try:
            if self.arithmetic is math:
                found = float(x)
            elif isinstance(x, Fraction):
                found = self.number(x)
            else:
                found = self._expression(x) if hasattr(x, "free_symbols") else self.arithmetic.mpf(x)
            if math.isfinite(found):
                return found
        except (TypeError, ValueError, OverflowError):
            pass
        raise InputError(f"{as_written(x)} is not a finite number")


def check_quaternions(equations: RobotInLetters, q: Any) -> None:
    """Refuse quaternions in q (..., nq) that are not unit, as the compiled quantities do. Raises InputError: the length of one is
    not 1."""
    for joint in equations.model.mechanism.coordinates:
        if joint.parts[0].quaternion:
            with_unit_quaternion(np.asarray(q, dtype=float), joint.name, joint.q.start)


def python_numbers(name: str, x: Any, n: int) -> Sequence[Any]:
    """Return an array (n,) as Python's numbers; zeros where it was left out."""
    if x is None:
        return [0] * n
    shape = shape_of(name, x)
    if shape != (n,):
        raise InputError(f"{name} has shape {shape}, ({n},) is needed")
    return [v.item() if isinstance(v, np.generic) else v for v in x]
