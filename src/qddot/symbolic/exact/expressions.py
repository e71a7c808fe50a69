"""Expressions in the letters of some equations: how they are read, and substituted for letters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import sympy

from qddot.arguments import mapping
from qddot.errors import InputError
from qddot.formats.expression import EVERY_FUNCTION, Scope
from qddot.symbolic.exact.reading import exactly, read
from qddot.symbolic.exact.ring import Generator, NotPolynomialError, Poly
from qddot.symbolic.printing.to_sympy import Letters, expression_of

if TYPE_CHECKING:
    from qddot.symbolic.robot_in_letters import RobotInLetters


def read_expression(equations: RobotInLetters, expression: Any) -> Poly:
    """See `Equations.read`."""
    if isinstance(expression, str):
        expression = parsed(expression)
    alphabet = equations.alphabet

    def leaf(kind: str, x: Any) -> Any:
        if kind == "parameter":
            return alphabet.ring.letters[equations.letter(str(x))]
        if kind in ("cos", "sin"):
            return alphabet.cos_sin_of(x, leaf)[kind == "sin"]
        known = next((key for key in ((kind, x), (kind, by_name(x))) if key in alphabet), None)
        if known is None and isinstance(x, (sympy.sign, sympy.Abs)):
            inside = read(x.args[0], leaf)
            return alphabet.sign(inside) * (1 if isinstance(x, sympy.sign) else inside)
        if known is None and kind == "atom" and x.is_Pow and (power := -4 * x.exp).is_Integer and power > 0:
            return alphabet.inverse_fourth_root(read(x.base, leaf)) ** int(power)
        if known is None:
            raise NotPolynomialError(
                f"{'1/' if kind == 'inverse' else ''}{x} is not a polynomial in the letters of these equations"
            )
        return alphabet[known]

    def by_name(x: Any) -> Any:
        """Return the expression in the robot's own symbols, which may have other assumptions than those of the same names in it."""
        own = {g.name: g.of for g in alphabet.ring.generators if g.kind == "parameter" and isinstance(g.of, sympy.Symbol)}
        return x.xreplace({s: own.get(str(s), s) for s in x.free_symbols}) if isinstance(x, sympy.Basic) else x

    expression = sympy.sympify(expression)
    if not isinstance(expression, sympy.Expr):
        raise InputError(f"{expression!r} is not an expression")
    return alphabet.ring.constant(read(exactly(expression), leaf))


def parsed(text: str) -> Any:
    """Return a text as a SymPy expression, in which `sqrt(2)` and `1/3` are not rounded."""
    scope = Scope(functions=EVERY_FUNCTION)
    try:
        value = scope.evaluate(text)
        if isinstance(value, float):  # numbers alone are evaluated in floats, beside a symbol they stay exact
            return scope.evaluate(f"({text})*one").subs(sympy.Symbol("one", real=True), 1) if value else sympy.Integer(0)
    except ValueError as error:
        raise InputError(f"{text!r}: {error}") from None
    return value


def substitution(equations: RobotInLetters, values: Mapping[Any, Any]) -> Callable[[Any], Any]:
    """See `Equations.substitution`."""
    alphabet = equations.alphabet
    ring = alphabet.ring
    put: dict[int, Any] = {}
    refused: dict[int, str] = {}
    for name, value in mapping("values", values).items():
        i = equations.letter(name)
        generator = ring.generators[i]
        put[i] = new = as_entry(equations, name, value)
        if generator.kind in ("quaternion", "sign", "soft", "sin", "cos", "root", "inverse"):
            raise InputError(f"{name} is bound to other letters and cannot be replaced by itself: replace what it is made of")
        if generator.kind == "position":
            for angle, (c, s) in alphabet.angles.items():
                if angle.coordinate == generator.of:
                    here = *c.letters(), *s.letters()
                    try:
                        put.update(zip(here, map(ring.constant, alphabet.cos_sin(new * alphabet.exact(angle.multiple)))))
                    except NotPolynomialError as error:
                        refused.update(dict.fromkeys(here, f"{name} cannot become {value}: {error}"))
    changed = {ring.generators[i].of: as_sympy(equations, new) for i, new in put.items() if alphabet.dependents(i)}
    for k in dict.fromkeys(k for i in list(put) for k in alphabet.dependents(i)):
        put[k] = rewritten(equations, ring.generators[k], changed)
    inside = alphabet.signs | alphabet.softened
    turned = {i for i, x in inside.items() if x.letters() & (put.keys() | refused.keys())}
    lost: set[int] = set()

    def replace(p: Any) -> Any:
        for i in p.letters() & refused.keys():
            raise InputError(refused[i])
        for i in (p.letters() & turned) - put.keys():
            put[i] = made_of(replace(inside[i]), i)
        new = p.evaluate(lambda i: put.get(i, ring.letters[i]), lambda x: x) if p.letters() & put.keys() else p
        for i in lost & (new.letters() if hasattr(new, "letters") else set()):
            raise InputError(
                f"friction depends on {ring.generators[i].name}, and these equations have no letter for what it would become; "
                "parameters can be replaced in the robot instead (Robot.subs)"
            )
        return new

    def made_of(new: Any, i: int) -> Any:
        """Return the letter for a sign or smoothed rate, letter i, whose argument is now `new`. If there is none, return letter i
        and note that it is lost: it may yet be multiplied by 0."""
        try:
            return alphabet.sign(new) if i in alphabet.signs else alphabet.inverse_fourth_root(new)
        except NotPolynomialError:
            lost.add(i)
            return ring.letters[i]

    return replace


def as_entry(equations: RobotInLetters, name: Any, value: Any) -> Poly:
    """Return the polynomial that replaces a letter, from a number, an expression or its text, or a form of one entry."""
    new = equations.read(value) if isinstance(value, str) else equations.lift(value)
    if not isinstance(new, Poly):
        raise InputError(f"{name} cannot become {value!r}: a number, an expression or a form of one entry is needed")
    return new


def rewritten(equations: RobotInLetters, generator: Generator, changed: Mapping[Any, Any]) -> Any:
    """Return a letter made of parameters (a sine, a reciprocal, an atom) with some of these replaced."""
    missing = [str(symbol) for symbol, value in changed.items() if value is None]
    if missing:
        raise InputError(
            f"{generator.name} is made of {', '.join(missing)}, which can become a number or parameters, but nothing that moves"
        )
    of, kind = generator.of, generator.kind
    if kind in ("cos", "sin"):
        multiple = of.multiple.subs(changed, simultaneous=True)
        angle = multiple if of.coordinate is None else multiple * sympy.Symbol(f"q{of.coordinate + 1}")
        expression = sympy.cos(angle) if kind == "cos" else sympy.sin(angle)
    else:
        expression = (1 / of if kind == "inverse" else of).subs(changed, simultaneous=True)
    try:
        return equations.read(expression)
    except NotPolynomialError as error:
        raise InputError(f"{generator.name} cannot become {expression}: {error}") from None


def as_sympy(equations: RobotInLetters, p: Poly) -> Any:
    """Return a polynomial in parameters as a SymPy expression; None if it has other letters."""
    kinds = {equations.alphabet.ring.generators[i].kind for i in p.letters()}
    return expression_of(p, Letters(equations)) if kinds <= {"parameter", "root", "inverse", "atom"} else None
