"""The properties of one robot's equation of motion, each with its proof or disproof."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from sympy.printing.mathml import mathml
from sympy.printing.str import StrPrinter

from qddot.arguments import positive_number
from qddot.card import Card, Formula, Table
from qddot.errors import InputError, unknown_name
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.rounded_angles import rounded_angles
from qddot.symbolic.properties.bounds import NORMS, Bound, Bounds
from qddot.symbolic.properties.domain import Domain
from qddot.symbolic.properties.structure import Claim, definiteness, identities

if TYPE_CHECKING:
    from rich.console import Group

    from qddot.model.model import Model


class Properties:
    """Structural properties and bounds, as returned by `Robot.properties`. `print` shows tables, `markdown()` returns Markdown.

        properties.mu_2[1].rigorous       # |M(q)|_1 nowhere exceeds this
        properties.c_b[2].attained        # |c|_2 / |qd|_2^2 reaches this at .q, moving along .qd

    Attributes:
        claims: name -> `Claim`.
        mu_1, mu_2: norm (1, 2, inf) -> `Bound` of the norm of M from below and above; for the 2-norm `mu_1 1 <= M <= mu_2 1`.
        c_b: norm -> `Bound`: `|c(q, qd)| <= c_b |qd|^2`.
        g_b: norm -> `Bound`: `|g(q)| <= g_b`.
        lower, upper: (nq,), the configurations for which the bounds hold.
        notes: the assumptions that were made.

    >>> qddot.load("two_link").properties()["skew"].holds  # is dM/dt - 2 C skew?
    True
    """

    def __init__(self, model: Model, limits: Any = None, effort: float = 1.0) -> None:
        effort = positive_number("effort", effort)
        equations = Equations(model)
        if not equations.nv:
            raise InputError(f"{model.name!r} has no joint that moves, and so no M, c and g")
        domain = Domain(model, equations.alphabet, limits)
        self.name, self.lower, self.upper = model.name, domain.lower, domain.upper
        bounds = Bounds(rounded_angles(model), equations, domain, effort)
        claims = identities(equations)
        claims.insert(1, definiteness(equations, bounds))
        self.claims: dict[str, Claim] = {claim.name: claim for claim in claims}
        by_name = lambda name: {norm: bounds.found[name, norm] for norm in NORMS}  # noqa: E731
        self.mu_1: dict[float, Bound] = by_name("mu_1")
        self.mu_2: dict[float, Bound] = by_name("mu_2")
        self.c_b: dict[float, Bound] = by_name("c_b")
        self.g_b: dict[float, Bound] = by_name("g_b")
        self.notes = tuple(equations.notes)
        if equations.parameters:
            self.notes += (f"the parameters {', '.join(equations.parameters)} are taken to be positive",)

    def __getitem__(self, name: str) -> Claim:
        """Return the claim of that name, such as `"skew"`. Raises UnknownNameError: there is none."""
        if not isinstance(name, str) or name not in self.claims:
            raise unknown_name("property", name, self.claims)
        return self.claims[name]

    @property
    def bounds(self) -> list[Bound]:
        """The bounds of all kinds and norms."""
        return [group[norm] for group in (self.mu_1, self.mu_2, self.c_b, self.g_b) for norm in NORMS]

    def __repr__(self) -> str:
        return "\n".join(line for title, rows in self._tables() for line in (title, *aligned(rows), "")).rstrip()

    def markdown(self) -> str:
        """Return the tables in Markdown."""
        lines = []
        for title, rows in self._tables():
            head, *body = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
            lines += [f"**{title}**", "", f"| {head} |", "|" + " --- |" * len(rows[0]), *(f"| {row} |" for row in body), ""]
        return "\n".join(lines).rstrip() + "\n"

    def _card(self) -> Card:
        (title, structure), *rest = self._tables()
        fails = frozenset(k for k, claim in enumerate(self.claims.values()) if not claim.holds)
        tables = [Table(structure[0], structure[1:], doubtful=fails)]
        return Card(title, (), tables + [Table(rows[0], rows[1:], caption) for caption, rows in rest])

    def _repr_html_(self) -> str:
        return self._card().html()

    def __rich__(self) -> Group:
        return self._card().rich()

    def _tables(self) -> list[tuple[str, list[list[str]]]]:
        """Return the tables as (title, rows), the heading first."""
        structure = [["property", "holds", "how this is known"]]
        for claim in self.claims.values():
            where = "" if claim.q is None else f"; at q = {vector(claim.q)}"
            structure.append([typeset(claim.statement), {True: "yes", False: "no", None: "?"}[claim.holds], claim.how + where])
        numbers = [["bound", "norm", "rigorous", "attained", "tight", "attained at", "how the rigorous one is known"]]
        for bound in self.bounds:
            where = "" if bound.q is None else f"q = {vector(bound.q)}"
            where += "" if bound.qd is None else f", qd = {vector(bound.qd)}"
            tight = "" if bound.attained is None else "yes" if bound.is_tight else "?"
            known = [number(bound.rigorous if bound.of_q is None else bound.of_q), number(bound.attained), tight]
            numbers.append([letter(bound.name), f"{bound.norm:g}", *known, where, bound.how])
        loose = [["bound", "norm", "sum of absolute coefficients", "n^2 max |Gamma_ijk|"]]
        for bound in self.bounds:
            if bound.coefficients is not None:
                entries = "" if bound.entries is None else number(bound.entries)
                loose.append([letter(bound.name), f"{bound.norm:g}", number(bound.coefficients), entries])
        box = f"for {vector(self.lower)} <= q <= {vector(self.upper)}"
        tables = [(f"Properties of {self.name}", structure), (f"Bounds {box}", numbers)]
        if len(loose) > 1:
            tables.append(("The same, looser, as on paper", loose))
        if self.notes:
            tables.append(("Notes", [["note"], *([note] for note in self.notes)]))
        return tables


def aligned(rows: list[list[str]]) -> list[str]:
    """Return rows as lines, with columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def number(x: Any) -> str:
    """Return a number or an expression with six digits; a dash for None."""
    if x is None:
        return "-"
    if isinstance(x, float):
        return f"{x:.6g}"
    if not isinstance(x, sympy.Basic):
        return str(x)
    return Formula(expression(x), f"<math>{mathml(decimal(x), printer='presentation')}</math>") if x.free_symbols else expression(x)


def expression(x: sympy.Basic) -> str:
    """Return an expression as text, with decimals for numbers that were decimals: 9.81 rather than 981/100."""
    return Magnitudes({"full_prec": False}).doprint(decimal(x))


def decimal(x: sympy.Basic) -> sympy.Basic:
    """Return the expression with six digits for each number that was a decimal."""
    decimals = (r for r in x.atoms(sympy.Rational) if r.q > 12 or r.q % 5 == 0)
    return x.xreplace({r: sympy.Float(r, 6) for r in (*decimals, *x.atoms(sympy.Float))})


def letter(name: str) -> Formula:
    """Return `mu_1` with its subscript."""
    head, _, index = name.partition("_")
    return Formula(name, f"<math><msub><mi>{'μ' if head == 'mu' else head}</mi><mi>{index}</mi></msub></math>")


SIGNS = {"dM/dt": "Ṁ", "qdd": "q̈", "qd": "q̇", "^T": "ᵀ", "tau . ": "τ · ", " - ": " − "}


def typeset(statement: str) -> Formula:
    """Return a statement in text, and in HTML with dots over its letters."""
    html = escape(statement)
    for plain, sign in SIGNS.items():
        html = html.replace(plain, sign)
    return Formula(statement, html)


class Magnitudes(StrPrinter):
    """A printer that writes absolute values as `|q2|`, and `max` in small letters."""

    def _print_Abs(self, expr: Any) -> str:
        return f"|{self._print(expr.args[0])}|"

    def _print_Max(self, expr: Any) -> str:
        return f"max({', '.join(sorted(map(self._print, expr.args)))})"


def vector(x: np.ndarray) -> str:
    return "(" + ", ".join(f"{v + 0.0:.4g}" if abs(v) > 1e-6 else "0" for v in x) + ")"
