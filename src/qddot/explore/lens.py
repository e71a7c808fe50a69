"""The closed forms the page shows: each entry as terms, which it can print (our MathML), evaluate (a tree) and copy.

A tree is data, never code: a number, or a list that begins with what it is, such as `["*", 0.5, ["cos", ["q", 1]]]`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from qddot.errors import QddotError
from qddot.explore.derived import derivation
from qddot.model.joints import Free
from qddot.model.lower import WORLD
from qddot.model.model import Model
from qddot.symbolic.equations import Equations
from qddot.symbolic.evaluate import Letters
from qddot.symbolic.form import Form
from qddot.symbolic.printing.abbreviations import Abbreviations
from qddot.symbolic.printing.mathml import DOTS, MathmlPrinter, dotted, subscripted
from qddot.symbolic.printing.notation import GREEK, NOTATIONS
from qddot.symbolic.printing.presentation import Presentation, Style
from qddot.symbolic.printing.printer import Printer, printer_for
from qddot.symbolic.printing.tree import Call, Inverse, Node, Number, Power, Product, Sum, Symbol, Wave, size

MANY = 12_000
"""Terms of a quantity: with more of them it is not written out in the page."""

SHORT = 100
"""Terms of an entry of the mass matrix that is written out even if the matrix is not."""

LONG = 60
"""Terms of an entry: with more of them, code is left to `Form.python` and `Form.c`."""

COPIED = 1000
"""Terms of a joint force that can still be copied from the page."""

DEEPEST = 8
"""Degrees of freedom one after the other: of longer chains the closed forms are not even computed."""

WRITTEN_IN_LETTERS = 9
"""Degrees of freedom of a robot whose equations are also there with letters for all numbers, as far as they are short."""

LETTERED = 3
"""Up to this many degrees of freedom the page also has the whole equations with letters for all numbers, and a derivation."""

SOME = 1_000
"""Terms of a quantity with letters for all numbers, of a larger arm: with more of them it is not written out in the page."""

WIDE = 20
"""Letters of an entry: where there are more of them, it is shown at first with short names for what parameters make together."""

QUANTITIES = ("mass_matrix", "coriolis_matrix", "coriolis_torque", "gravity_torque", "friction_torque", "spring_torque")
"""What the lens shows, each in the notation's own letter."""


def lens(
    model: Model, letters: Model | None = None, values: Mapping[str, float] | None = None, *, massless: bool = False
) -> dict[str, Any]:
    """The closed forms in numbers, and in letters where the robot is small or has letters of its own.

    Args:
        letters: the same robot with symbols; None: numbers become the usual letters.
        values: of the symbols, as `model` has them.
        massless: there is nothing to show.
    """
    books = {name: notation(name) for name in NOTATIONS}
    if massless:
        return {"variants": [empty_variant("There are no masses.")], "notations": books, "derivation": None}
    if longest_path(model) > DEEPEST:
        reason = (
            f"Closed forms of a chain with more than {DEEPEST} degrees of freedom fill books; the numbers are there all the same."
        )
        return {"variants": [empty_variant(reason)], "notations": books, "derivation": None}
    variants = [variant("numbers", Equations(model), MANY)]
    if letters is not None:
        variants.insert(0, variant("letters", Equations(letters), MANY, values))
    elif model.mechanism.nv <= WRITTEN_IN_LETTERS:
        variants.append(variant("letters", Equations(model, "all"), MANY if model.mechanism.nv <= LETTERED else SOME))
    steps = derivation(letters or model) if model.mechanism.nv <= LETTERED else None
    return {"variants": variants, "notations": books, "derivation": steps}


def longest_path(model: Model) -> int:
    """Degrees of freedom between the root and the link that has most of them before it, but those of a shift in space."""
    before: dict[int, int] = {WORLD: 0}
    for body in model.bodies:
        before[body.index] = before[body.parent] + (3 if isinstance(body.joint, Free) else len(body.columns))
    return max(before.values())


def empty_variant(reason: str) -> dict[str, Any]:
    quantities = {name: {"missing": reason} for name in QUANTITIES if name != "coriolis_matrix"}
    return {
        "name": "numbers",
        "isLettered": False,
        "notes": [],
        "values": {},
        "quantities": quantities,
        "copies": [],
        "waves": {},
        "names": {},
    }


def notation(name: str) -> dict[str, str]:
    """The letter of the joint variables, and of each quantity."""
    book = NOTATIONS[name]
    return {"variable": GREEK.get(book.variable, book.variable), **{x: glyph(book.quantities[x]) for x in SHOWN}}


SHOWN = (*QUANTITIES, "inverse_dynamics")


def glyph(letter: str) -> str:
    """`tau_f` as `τ` and its subscript, with an underscore between."""
    head, _, tail = letter.partition("_")
    return GREEK.get(head, head) + (f"_{tail}" if tail else "")


def variant(name: str, equations: Equations, most: int, own: Mapping[str, float] | None = None) -> dict[str, Any]:
    writer = EntryWriter(equations)
    forms: dict[str, Any] = {}
    for quantity in QUANTITIES:
        if quantity == "coriolis_matrix" and equations.nv > LETTERED + 1:
            continue
        forms[quantity] = quantity_data(writer, equations, quantity, most)
    number = Letters(equations, {}, {}, math, float)  # of a link that is turned by 45 degrees, sqrt(2) is in it
    values = {name: number(equations.letter(name)) for name in equations.values}
    values |= {name: float(x) for name, x in (own or {}).items()}
    return {
        "name": name,
        "isLettered": bool(equations.values),
        "notes": list(map(str, equations.notes)),
        "values": values,
        "quantities": forms,
        "copies": torque_copies(writer, equations, forms),
        "names": writer.names(),
        "waves": writer.mathml.waves,
    }


def torque_copies(writer: EntryWriter, equations: Equations, forms: Mapping[str, Any]) -> list[dict[str, str]]:
    """The joint forces to be copied, row by row; an empty one where it is too long for the page."""
    if any("missing" in x for x in forms.values()):
        return [{} for _ in range(equations.nv)]
    rows = []
    for k, x in enumerate(equations.inverse_dynamics.entries.flat):
        form = Form(equations, np.array(x, dtype=object), f"inverse_dynamics_{k + 1}")
        rows.append(writer.copies(form, writer.presentation.entry(x)) if len(getattr(x, "num", x)) <= COPIED else {})
    return rows


def quantity_data(writer: EntryWriter, equations: Equations, quantity: str, most: int) -> dict[str, Any]:
    """Its entries, or why there are none."""
    asked = "'all'" if equations.values else ""
    try:
        if quantity.startswith("coriolis") and (count := sum(lengths_of(equations.mass_matrix))) > most:
            more = f"M(q) has {count:,} terms in closed form, and this many times more"
            return {"missing": f"{more}: robot.equations({asked}).{quantity} writes them"}
        found = getattr(equations, quantity)
        form: Any = found() if callable(found) else found
    except QddotError as error:
        return {"missing": str(error)}
    lengths = lengths_of(form)
    if sum(lengths) <= most:
        return {"shape": list(form.shape), "entries": writer.entries(form)}
    missing = f"In closed form it has {sum(lengths):,} terms: robot.equations({asked}).{quantity} writes them"
    short = [n <= SHORT for n in lengths]
    if quantity != "mass_matrix" or not any(short):
        return {"missing": missing}
    return {"shape": list(form.shape), "entries": writer.entries(form, short), "missing": missing}


def lengths_of(form: Form) -> list[int]:
    """Terms of each entry."""
    return [len(getattr(x, "num", x)) for x in form.entries.flat]


class EntryWriter:
    """Writes polynomials as entries of the lens, equal ones once."""

    def __init__(self, equations: Equations) -> None:
        self.equations = equations
        self.presentation = Presentation(equations, Style())
        self.mathml = PageMathml(equations, Style())
        self.latex = printer_for("latex", equations, {})
        self.abbreviations = Abbreviations()
        self.short = Presentation(equations, Style(abbreviate=self.abbreviations)) if equations.parameters else None

    def entries(self, form: Form, chosen: Sequence[bool] | None = None) -> list[Any]:
        """One for each entry, row by row; the number of an earlier one where they are equal, None for one that was not chosen."""
        seen: dict[Node, int] = {}
        found: list[Any] = []
        for k, x in enumerate(form.entries.flat):
            if chosen and not chosen[k]:
                found.append(None)
                continue
            tree = self.presentation.entry(x)
            if tree in seen:
                found.append(seen[tree])
                continue
            seen[tree] = k
            place = "_".join(str(i + 1) for i in np.unravel_index(k, form.shape))
            found.append(self.entry(Form(self.equations, np.array(x, dtype=object), f"{form.name}_{place}"), tree))
        return found

    def entry(self, form: Form, tree: Node) -> dict[str, Any]:
        """Its terms and copies; where that is shorter, also with short names for what parameters make together."""
        data: dict[str, Any] = {"terms": self.terms(tree)} | self.copies(form, tree)
        short = self.short.entry(form.entries.item()) if self.short else tree
        if size(short) < size(tree):
            data["short"] = {"terms": self.terms(short), "latex": self.latex.expression(short), "isWide": size(tree) > WIDE}
        return data

    def names(self) -> dict[str, Any]:
        """Definitions of the short names, each as an entry with its own `name` as MathML."""
        symbols = {name: Symbol(name, "constant") for name in self.abbreviations.definitions}
        return {
            name: {
                "name": self.mathml.expression(symbols[name]),
                "terms": self.terms(tree),
                "latex": f"{self.latex.expression(symbols[name])} &= {self.latex.expression(tree)}",
            }
            for name, tree in self.abbreviations.definitions.items()
        }

    def terms(self, tree: Node) -> list[Any]:
        """The terms of an entry: whether a minus stands before each, its MathML, and the tree that gives its value."""
        terms = tree.terms if isinstance(tree, Sum) else (tree,)
        written = [self.mathml.signed(term) for term in terms]
        return [[minus, text, encoded(term, self.mathml)] for (minus, text), term in zip(written, terms)]

    def copies(self, form: Form, tree: Node) -> dict[str, str]:
        """The entry as text in each language; without code where it is long."""
        texts = {"latex": self.latex.expression(tree), "sympy": sympy_text(tree, self.mathml)}
        short = not isinstance(tree, Sum) or len(tree.terms) <= LONG
        return texts | ({"python": form.python(), "c": form.c()} if short else {})


class PageMathml(MathmlPrinter):
    """Joint variables can be told from other letters, so that the page can write them in another notation.

    Attributes:
        waves: what sines and cosines that were written as `c23` stand for: MathML by MathML, and the tree that gives the value.
    """

    def __init__(self, equations: Equations, style: Style) -> None:
        super().__init__(equations, style)
        self.waves: dict[str, tuple[str, Any]] = {}

    def wave(self, node: Wave) -> str:
        text = super().wave(node)
        if text not in self.waves and text.startswith("<msub>"):
            self.waves[text] = (self.call(node.function, [self.expression(self.angle(node))]), encoded(node, self))
        return text

    def symbol(self, x: Symbol) -> str:
        if x.kind in DOTS:
            return subscripted(dotted('<mi class="joint">q</mi>', DOTS[x.kind]), (str(x.index + 1),))
        return super().symbol(x)

    def fenced(self, x: str) -> str:
        return f'<mrow><mo stretchy="false">(</mo>{x}<mo stretchy="false">)</mo></mrow>'


def encoded(node: Node, printer: Printer) -> Any:
    """A tree as plain data."""
    inner = lambda x: encoded(x, printer)  # noqa: E731
    match node:
        case Number(value):
            return float(value)
        case Symbol(name, kind, index):
            places = {"position": "q", "velocity": "qd", "acceleration": "qdd", "quaternion": "q"}
            return [places[kind], index] if kind in places else ["letter", name]
        case Wave(function, _):
            return [function, inner(printer.angle(node))]
        case Call(function, of):
            return [function, *map(inner, of)]
        case Inverse(of):
            return ["/", inner(of)]
        case Power(base, exponent):
            return ["^", inner(base), exponent]
        case Product(factors):
            return ["*", *map(inner, factors)]
        case Sum(terms):
            return ["+", *map(inner, terms)]
    raise TypeError(f"{node!r} is no node of a tree")


def sympy_text(node: Node, printer: Printer) -> str:
    """SymPy's own notation, exact: `Rational(49, 400)*cos(q2)`, with `q1, qd1, qdd1` for the joints."""
    inner = lambda x: sympy_text(x, printer)  # noqa: E731
    match node:
        case Number(value):
            return rational(value)
        case Symbol(name, _, _):
            return name
        case Wave(function, _):
            return f"{function}({inner(printer.angle(node))})"
        case Call(function, of):
            if function == "fourth_root":
                return f"({inner(of[0])})**Rational(1, 4)"
            return f"{'Abs' if function == 'abs' else function}({', '.join(map(inner, of))})"
        case Inverse(of):
            return f"1/{grouped(of, inner)}"
        case Power(base, exponent):
            return f"{grouped(base, inner)}**{exponent}"
        case Product(factors):
            return "*".join(grouped(x, inner) if isinstance(x, (Sum, Inverse)) else inner(x) for x in factors)
        case Sum(terms):
            return " + ".join(map(inner, terms)).replace("+ -", "- ")
    raise TypeError(f"{node!r} is no node of a tree")


def grouped(node: Node, write: Callable[[Node], str]) -> str:
    return write(node) if isinstance(node, (Symbol, Wave, Call)) else f"({write(node)})"


def rational(x: Fraction) -> str:
    return str(x.numerator) if x.denominator == 1 else f"Rational({x.numerator}, {x.denominator})"
