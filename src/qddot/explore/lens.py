"""The closed forms that the page shows: each entry as terms that it can print (as MathML), evaluate (as a tree) and copy.

A tree is data, never code: a number, or a list that begins with its kind, such as `["*", 0.5, ["cos", ["q", 1]]]`.
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
"""Most terms of a quantity that the page writes out."""

SHORT = 100
"""Most terms of an entry of the mass matrix that is written out although the matrix is too long."""

LONG = 60
"""Most terms of an entry for which the page has Python and C; for longer ones there are `Form.python` and `Form.c`."""

COPIED = 1000
"""Most terms of a joint force that can be copied from the page."""

DEEPEST = 8
"""Most degrees of freedom in series for which closed forms are computed."""

WRITTEN_IN_LETTERS = 9
"""Most degrees of freedom for which the page also has those equations with letters for all numbers that are short."""

LETTERED = 3
"""Up to this many degrees of freedom the page also has the whole equations with letters for all numbers, and a derivation."""

SOME = 1_000
"""Most terms of a quantity with letters for all numbers that the page of a larger arm writes out."""

WIDE = 20
"""An entry with more letters than this is first shown with short names for combinations of parameters."""

QUANTITIES = ("mass_matrix", "coriolis_matrix", "coriolis_torque", "gravity_torque", "friction_torque", "spring_torque")
"""The quantities that the lens shows, each with the letter of the notation."""

SHOWN = (*QUANTITIES, "inverse_dynamics")


def lens(
    model: Model, letters: Model | None = None, values: Mapping[str, float] | None = None, *, massless: bool = False
) -> dict[str, Any]:
    """Return the closed forms with numbers, and also with letters if the robot is small or has symbols.

    Args:
        letters: the robot with its symbols; None: numbers become the usual letters.
        values: of the symbols in `model`.
        massless: True if there are no masses, and so nothing to show.
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
    """Return the largest number of degrees of freedom between the root and a link, without translations of free joints."""
    before: dict[int, int] = {WORLD: 0}
    for body in model.bodies:
        before[body.index] = before[body.parent] + (3 if isinstance(body.joint, Free) else len(body.columns))
    return max(before.values())


def empty_variant(reason: str) -> dict[str, Any]:
    """Return a variant without closed forms, with the reason why there are none."""
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
    """Return the letter of the joint variables, and of each quantity, in a notation."""
    book = NOTATIONS[name]
    return {"variable": GREEK.get(book.variable, book.variable), **{x: glyph(book.quantities[x]) for x in SHOWN}}


def glyph(letter: str) -> str:
    """Return a letter with Greek names as characters: `tau_f` becomes `τ_f`."""
    head, _, tail = letter.partition("_")
    return GREEK.get(head, head) + (f"_{tail}" if tail else "")


def variant(name: str, equations: Equations, most: int, own: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Return all quantities of the equations; `most`: terms of a quantity that is written out; `own`: values of a robot's
    symbols."""
    writer = EntryWriter(equations)
    forms: dict[str, Any] = {}
    for quantity in QUANTITIES:
        if quantity == "coriolis_matrix" and equations.nv > LETTERED + 1:
            continue
        forms[quantity] = quantity_data(writer, equations, quantity, most)
    number = Letters(equations, {}, {}, math, float)  # values may contain roots, such as sqrt(2) of a link turned by 45 degrees
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
    """Return the texts of joint forces for copying, row by row; an empty one if it is too long for the page."""
    if any("missing" in x for x in forms.values()):
        return [{} for _ in range(equations.nv)]
    rows = []
    for k, x in enumerate(equations.inverse_dynamics.entries.flat):
        form = Form(equations, np.array(x, dtype=object), f"inverse_dynamics_{k + 1}")
        rows.append(writer.copies(form, writer.presentation.entry(x)) if len(getattr(x, "num", x)) <= COPIED else {})
    return rows


def quantity_data(writer: EntryWriter, equations: Equations, quantity: str, most: int) -> dict[str, Any]:
    """Return the entries of a quantity, or the reason why there are none."""
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
    """Return the number of terms of each entry."""
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
        """Return one item per entry, row by row: the index of an earlier one if equal, None if it was not chosen."""
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
        """Return the terms and copies of an entry; also with short names for combinations of parameters if that is shorter."""
        data: dict[str, Any] = {"terms": self.terms(tree)} | self.copies(form, tree)
        short = self.short.entry(form.entries.item()) if self.short else tree
        if size(short) < size(tree):
            data["short"] = {"terms": self.terms(short), "latex": self.latex.expression(short), "isWide": size(tree) > WIDE}
        return data

    def names(self) -> dict[str, Any]:
        """Return the definitions of the short names, each as an entry with its own `name` as MathML."""
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
        """Return the terms of an entry: for each True if its sign is minus, its MathML, and the tree of its value."""
        terms = tree.terms if isinstance(tree, Sum) else (tree,)
        written = [self.mathml.signed(term) for term in terms]
        return [[minus, text, encoded(term, self.mathml)] for (minus, text), term in zip(written, terms)]

    def copies(self, form: Form, tree: Node) -> dict[str, str]:
        """Return the entry as text in each language; without code if it is long."""
        texts = {"latex": self.latex.expression(tree), "sympy": sympy_text(tree, self.mathml)}
        short = not isinstance(tree, Sum) or len(tree.terms) <= LONG
        return texts | ({"python": form.python(), "c": form.c()} if short else {})


class PageMathml(MathmlPrinter):
    """A MathML printer that marks joint variables, so that the page can write them in another notation.

    Attributes:
        waves: for each sine or cosine written like `c23`, its full MathML and the tree of its value.
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
    """Return a tree as plain data."""
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
    """Return a tree in SymPy's notation, exactly: `Rational(49, 400)*cos(q2)`, with `q1, qd1, qdd1` for the joints."""
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
