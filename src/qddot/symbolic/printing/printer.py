"""Base of all printers: signs, fractions, parentheses, shapes of arrays. A subclass writes the single pieces."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError
from qddot.model.transmission import electric_motors
from qddot.symbolic.printing.notation import ARGUMENTS, NOTATIONS, Name, Shown, shown, split
from qddot.symbolic.printing.presentation import Presentation, Style, style_of
from qddot.symbolic.printing.sympy_tree import tree_of
from qddot.symbolic.printing.tree import Call, Inverse, Node, Number, Power, Product, Sum, Symbol, Wave, product, total

if TYPE_CHECKING:
    from qddot.symbolic.form import Form
    from qddot.symbolic.robot_in_letters import RobotInLetters

RATES = ("position", "velocity", "acceleration")
"""The kinds of joint variables, which have no, one and two dots."""

SUM, PRODUCT, ATOM = range(3)
"""The binding strengths of pieces, loosest first."""

PARTS = range(2, 13)
"""The whole numbers by which gravity's strength may be divided in print, as 9.81/2."""

REPEATED = 4
"""The most joints in a subscript, as in `c_{223}`, the cosine of 2 q2 + q3; with more, the sum of angles is written out."""


class Printer:
    """Writes trees as strings. Subclasses write the single pieces.

    Attributes:
        inline: True if fractions are written `a/b` on one line.
        current_rates: name of the rate of a motor's current -> number of the motor.
    """

    inline = False

    def __init__(self, equations: RobotInLetters, style: Style) -> None:
        self.equations, self.style = equations, style
        self.notation = NOTATIONS[style.notation]
        self.angles: list[Any] = list(equations.alphabet.angles)
        self.fractions = bool(equations.parameters)
        self.separated = equations.nq > 9
        self.current_rates = {f"id{k}": str(k) for k, _ in enumerate(electric_motors(equations.model), 1)}
        self._leaves: dict[Node, str] = {}
        self.gravities = {abs(x) for x in equations.exact_model.gravity if isinstance(x, Fraction)}
        self.short = not equations.coordinates and not any(re.match(r"[cs]_?\d", name) for name in equations.parameters)

    # pieces, which subclasses write -------------------------------------------------------------------------------------------

    def number(self, x: Shown) -> str:
        raise NotImplementedError

    def symbol(self, x: Symbol) -> str:
        raise NotImplementedError

    def short_wave(self, function: str, subscript: str) -> str:
        raise NotImplementedError

    def call(self, function: str, arguments: Sequence[str]) -> str:
        raise NotImplementedError

    def fourth_root(self, of: str) -> str:
        return self.call("sqrt", [self.call("sqrt", [of])])

    def power(self, base: str, exponent: int) -> str:
        raise NotImplementedError

    def times(self, factors: Sequence[str]) -> str:
        raise NotImplementedError

    def over(self, top: str, bottom: str) -> str:
        raise NotImplementedError

    def plus(self, terms: Sequence[tuple[bool, str]]) -> str:
        """Return the sum of terms, each (is negative, text)."""
        first, *rest = terms
        return ("-" if first[0] else "") + first[1] + "".join((" - " if minus else " + ") + text for minus, text in rest)

    def fenced(self, x: str) -> str:
        raise NotImplementedError

    def coordinate(self, i: int) -> Name:
        """Return the name of a joint variable: `q1`, or the name that a system gave it."""
        named = self.equations.coordinates
        return split(named[i]) if named else Name(self.notation.variable, (str(i + 1),))

    # trees --------------------------------------------------------------------------------------------------------------------

    def expression(self, node: Node, within: int = SUM) -> str:
        """Return the node as text, in parentheses if it binds less tightly than the piece it stands in."""
        if isinstance(node, Sum):
            text = self.plus([self.signed(term) for term in node.terms])
            return text if within == SUM else self.fenced(text)
        if isinstance(node, (Product, Number)) or is_inverse(node):
            negative, text = self.signed(node)
            if negative:
                text = self.plus([(True, text)])
                return text if within == SUM else self.fenced(text)
            loose = within == ATOM and not (isinstance(node, Number) and node.value.denominator == 1)
            return self.fenced(text) if loose else text
        if isinstance(node, Power):
            return self.power(self.expression(node.base, ATOM), node.exponent)
        return self.leaf(node)

    def leaf(self, node: Node) -> str:
        if node not in self._leaves:
            if isinstance(node, Symbol):
                self._leaves[node] = self.symbol(node)
            elif isinstance(node, Wave):
                self._leaves[node] = self.wave(node)
            else:
                assert isinstance(node, Call)
                arguments = [self.expression(x) for x in node.of]
                root = node.function == "fourth_root"
                self._leaves[node] = self.fourth_root(*arguments) if root else self.call(node.function, arguments)
        return self._leaves[node]

    def signed(self, node: Node) -> tuple[bool, str]:
        """Return (is negative, text of the absolute value)."""
        number, *factors = node.factors if isinstance(node, Product) else [node]
        if isinstance(number, Number):
            number = number.value
        else:
            number, factors = Fraction(1), [number, *factors]
        if len(factors) == 1 and abs(number) == 1 and not is_inverse(factors[0]):
            return number < 0, self.expression(factors[0], SUM if number > 0 and not isinstance(node, Product) else PRODUCT)
        return number < 0, self.product(abs(number), factors)

    def product(self, number: Fraction, factors: Sequence[Node]) -> str:
        """Return a positive number times some factors, reciprocals below a line: `1/2 a/b`."""
        top = [x for x in factors if not is_inverse(x)]
        below = [inverted(x) for x in factors if is_inverse(x)]
        bottom = [x for node in below for x in (node.factors if isinstance(node, Product) else [node])]
        written = self.shown(number)
        first = [self.number(written._replace(bottom=""))]
        last = [self.number(Shown(written.bottom))] if written.bottom else []
        if top and (number.numerator if last else number) == 1 and (self.inline or not last):
            first = []
        if self.inline:
            upper = self.times([*first, *(self.expression(x, PRODUCT) for x in top)])
            lower = [*last, *(self.expression(x, ATOM) for x in bottom)]
            return self.over(upper, self.fenced(self.times(lower)) if len(lower) > 1 else lower[0]) if lower else upper
        front = [self.over(first[0], last[0])] if last else []
        inner = [] if last else first
        if not bottom:
            return self.times([*front, *inner, *(self.expression(x, PRODUCT) for x in top)])
        inner = [*inner, *(self.expression(x, PRODUCT if len(top) + len(inner) > 1 else SUM) for x in top)]
        lower = [self.expression(x, PRODUCT if len(bottom) > 1 else SUM) for x in bottom]
        return self.times([*front, self.over(self.times(inner or [self.number(Shown("1"))]), self.times(lower))])

    def shown(self, number: Fraction) -> Shown:
        if self.fractions and number and (g := next((g for g in self.gravities if g / number in PARTS), None)):  # 9.81/2, not 4.905
            return self.shown(g)._replace(bottom=str(g / number))
        return shown(number, self.fractions, self.style.digits, self.style.rounded, self.style.exact)

    def wave(self, node: Wave) -> str:
        """Return `c12`, or `cos(q1 + q2)` where the short form could be misread."""
        plain = all(self.angles[k].multiple == 1 for k, _ in node.of)
        if self.short and plain and sum(abs(n) for _, n in node.of) <= REPEATED:
            return self.short_wave(node.function[0], self.subscript(node))
        return self.call(node.function, [self.expression(self.angle(node))])

    def subscript(self, node: Wave) -> str:
        """Return the joint numbers: 12, or 1,12 for ten joints and more; `1-2` for a difference."""
        text = ""
        minus = any(n < 0 for _, n in node.of)
        for k, n in node.of:
            for _ in range(abs(n)):
                joint = str(self.angles[k].coordinate + 1)
                sign = "-" if n < 0 else "+" if minus and text else "," if self.separated and text else ""
                text += sign + joint
        return text

    def angle(self, node: Wave) -> Node:
        """Return the argument of a wave, a sum of joint angles."""
        terms: list[Node] = []
        for k, n in node.of:
            angle = self.angles[k]
            whole = isinstance(angle.multiple, Fraction)
            factors = [Number(angle.multiple * n)] if whole else [Number(Fraction(n)), tree_of(angle.multiple)]
            terms.append(product([*factors, Symbol(f"q{angle.coordinate + 1}", "position", angle.coordinate)]))
        return total(terms)

    # forms --------------------------------------------------------------------------------------------------------------------

    def form(self, form: Form) -> str:
        presentation = Presentation(self.equations, self.style)
        trees = [presentation.entry(x) for x in form.entries.flat]
        texts = [self.expression(tree) for tree in trees]
        return self.array(form, texts)

    def array(self, form: Form, texts: Sequence[str]) -> str:
        raise NotImplementedError

    def blocks(self, form: Form, texts: Sequence[str]) -> list[Sequence[str]]:
        """Return the matrices of an array of three indices, row by row: one for each first index; for Christoffel symbols one for
        each last, so that `c_k = qd . Gamma_k qd`."""
        array = np.array(texts, dtype=object).reshape(-1, *form.shape[-2:])
        return [list(x.flat) for x in (np.moveaxis(array, -1, 0) if form.name == "christoffel" else array)]

    def name(self, form: Form) -> str:
        """Return the left-hand side of a form: `M(q)`. Raises InputError: the form is a part or a combination and has no name."""
        if not form.name:
            raise InputError("this form is a part or a combination of quantities and has no name: lhs=True needs one")
        return self.quantity(form.name, bare=form.ndim > 2)

    def quantity(self, name: str, bare: bool = False) -> str:
        """Return the letter of a quantity with its arguments, or without if `bare`."""
        raise NotImplementedError

    def letter(self, name: str) -> tuple[str, int]:
        """Return the letter of a quantity, and how many of q, qd are its arguments."""
        return self.notation.quantities.get(name, name), ARGUMENTS.get(name, 0)

    def equal(self, left: str, right: str) -> str:
        """Return an equation."""
        return f"{left} = {right}"

    def law(self, summands: Sequence[Form]) -> str:
        """Return the equation of motion, `tau = M(q)*qdd + c(q, qd) + g(q)`, of its summands, the first of which is M."""
        inertial, *rest = [self.name(form) for form in summands]
        terms = [self.times([inertial, self.quantity("forward_dynamics")]), *rest]
        return self.equal(self.quantity("inverse_dynamics"), self.plus([(False, term) for term in terms]))


class TypesetPrinter(Printer):
    """Printer of formulas: letters with dots and subscripts, and matrices. Subclasses write these pieces."""

    def named(self, name: Name, kind: str = "position") -> str:
        """Return a letter with its subscripts, and with the dots of a `"velocity"` or an `"acceleration"`."""
        raise NotImplementedError

    def matrix(self, texts: Sequence[str], columns: int) -> str:
        raise NotImplementedError

    def whole(self, text: str) -> str:
        """Return a formula as it stands by itself."""
        return text

    def several(self, name: str, matrices: Sequence[str]) -> str:
        """Return matrices beside each other, numbered if they have a name."""
        raise NotImplementedError

    def symbol(self, x: Symbol) -> str:
        if x.kind in RATES:
            return self.named(self.coordinate(x.index), x.kind)
        if x.name in self.current_rates:
            return self.named(Name("i", (self.current_rates[x.name],)), "velocity")
        return self.named(split(x.name))

    def quantity_letter(self, letter: str) -> str:
        """Return the letter of a quantity: `Mdot` is M with a dot, `qdd` the joint variable with two."""
        if letter == "qdd":
            return self.named(Name(self.notation.variable), "acceleration")
        return self.named(Name(letter.removesuffix("dot")), "velocity") if letter.endswith("dot") else self.named(split(letter))

    def array(self, form: Form, texts: Sequence[str]) -> str:
        name, shape = self.name(form) if self.style.lhs else "", form.shape
        if len(shape) <= 2:
            body = texts[0] if shape == () else self.matrix(texts, shape[1] if len(shape) == 2 else 1)
            return self.equal(name, body) if name else self.whole(body)
        blocks = self.blocks(form, texts) if texts else [[]]
        return self.several(name, [self.matrix(block, shape[-1]) for block in blocks])


def is_inverse(x: Node) -> bool:
    """Tell whether a node is a reciprocal or a power of one."""
    return isinstance(x, Inverse) or (isinstance(x, Power) and isinstance(x.base, Inverse))


def inverted(x: Node) -> Node:
    """Return the denominator of a reciprocal, or of a power of one."""
    if isinstance(x, Power):
        assert isinstance(x.base, Inverse)
        return Power(x.base.of, x.exponent)
    assert isinstance(x, Inverse)
    return x.of


def printer_for(target: str, equations: RobotInLetters, options: Mapping[str, Any]) -> Printer:
    """Return the printer for `"latex"`, `"text"` or `"mathml"`. Raises InputError: there is no such printer."""
    from qddot.symbolic.printing.latex import LatexPrinter
    from qddot.symbolic.printing.mathml import MathmlPrinter
    from qddot.symbolic.printing.text import TextPrinter

    printers = {"text": TextPrinter, "latex": LatexPrinter, "mathml": MathmlPrinter}
    if not isinstance(target, str) or target not in printers:
        raise InputError(f"target={target!r} is not one of {', '.join(map(repr, printers))}")
    return printers[target](equations, style_of(options))


def printed(target: str, form: Form, options: Mapping[str, Any]) -> str:
    return printer_for(target, form.equations, options).form(form)
