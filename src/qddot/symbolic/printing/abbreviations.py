"""Short names for combinations of parameters: `k1 = m2*L1*L2`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from qddot.errors import InputError
from qddot.symbolic.printing.coefficients import Coefficients, Monomial, Term, fraction
from qddot.symbolic.printing.tree import Node, Symbol

if TYPE_CHECKING:
    from qddot.symbolic.robot_in_letters import RobotInLetters

LETTERS = ("k", "p", "h", "w", "e", "y", "z", "kappa", "beta", "gamma", "zeta", "xi", "abbreviation")


class Abbreviations:
    """Collects definitions `k1, k2, ...` in order of appearance while forms are printed with `abbreviate=` this object.

    Several forms of the same equations may share one. Where the robot has a parameter `k1` of its own, the constants are called
    `p1, p2, ...`. Combinations that differ only by a number share a definition.

    Args:
        avoided: letters that mean something else already.

    Attributes:
        definitions: name -> its definition, as a tree.
    """

    def __init__(self, avoided: Collection[str] = ()) -> None:
        self.definitions: dict[str, Node] = {}
        self._names: dict[frozenset, tuple[Symbol, Fraction]] = {}  # with the first coefficient of the definition
        self._equations: RobotInLetters | None = None
        self._letters = [x for x in LETTERS if x not in avoided and f"\\{x}" not in avoided]
        self._letter = self._letters[0]

    def bind(self, equations: RobotInLetters) -> None:
        """Bind to the equations whose forms are printed. Raises InputError: it already belongs to others."""
        if self._equations is None:
            self._equations = equations
            taken = set(equations.parameters)
            self._letter = next(
                x for x in self._letters if not any(name.startswith(x) and name[len(x) :].isdigit() for name in taken)
            )
        elif self._equations is not equations:
            raise InputError("these abbreviations belong to other equations: make a new Abbreviations() for these")

    def term(self, coefficients: Coefficients, p: Mapping[Monomial, Any]) -> Term:
        """Return the polynomial as a number times one short name, unless it is as short itself."""
        term = coefficients.term(p)
        if len(term.factors) < 2 and len(p) == 1:
            return term
        first = min(p, key=coefficients.order)
        key = frozenset((m, x / p[first]) for m, x in p.items())
        if key not in self._names:
            symbol = Symbol(f"{self._letter}{len(self._names) + 1}", "constant")
            self._names[key] = symbol, fraction(p[first]) / term.number
            self.definitions[symbol.name] = Term(Fraction(1), term.factors).node
        symbol, lead = self._names[key]
        return Term(fraction(p[first]) / lead, ((symbol, 1),))

    def __len__(self) -> int:
        return len(self.definitions)

    def __repr__(self) -> str:
        return self.text()

    def text(self, **style: Any) -> str:
        """Return one definition a line, as `k1 = m2*L1*L2`."""
        return "\n".join(f"{name} = {body}" for name, body in self._printed("text", style))

    def latex(self, **style: Any) -> str:
        """Return an `aligned` environment, one definition a line."""
        lines = [f"{name} &= {body}" for name, body in self._printed("latex", style)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def mathml(self, **style: Any) -> str:
        """Return a table, one definition a row."""
        from qddot.symbolic.printing.mathml import document

        rows = (
            f"<mtr><mtd>{name}</mtd><mtd><mo>=</mo></mtd><mtd>{body}</mtd></mtr>" for name, body in self._printed("mathml", style)
        )
        return document(f"<mtable columnalign='right center left'>{''.join(rows)}</mtable>")

    def python(self) -> str:
        """Return assignments in Python; parameters that are no identifiers are spelt as by `Form.python`."""
        from qddot.symbolic.printing.code_printers import Identifiers, PythonPrinter

        if self._equations is None:
            return ""
        printer = PythonPrinter(self._equations, Identifiers())
        return "".join(f"{name} = {printer.expression(body)}\n" for name, body in self.definitions.items())

    def _printed(self, target: str, style: Mapping[str, Any]) -> list[tuple[str, str]]:
        from qddot.symbolic.printing.printer import printer_for

        if self._equations is None:
            return []
        printer = printer_for(target, self._equations, style)
        return [(printer.expression(Symbol(name, "constant")), printer.expression(body)) for name, body in self.definitions.items()]
