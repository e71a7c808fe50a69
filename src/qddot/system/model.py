"""A system as a model: one joint per coordinate, between links without mass, and a Lagrangian instead of inertias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy

from qddot.algorithms.quantities import Quantity
from qddot.errors import InputError, unknown_name
from qddot.model.description import Joint, Limits, Link
from qddot.model.field import Field
from qddot.model.model import LiftedModel, Model, refuse_open_symbols
from qddot.model.scalar import Scalar
from qddot.model.spatial import Vec
from qddot.model.variables import Variable
from qddot.symbolic.exact.reading import power
from qddot.system.lagrangian import Lagrangian, is_zero, letters

WITHOUT_LINKS = "a System is given by its energies and has no links, frames or drives"


class SystemModel(Model):
    """A model whose quantities follow from a Lagrangian; it has the coordinates, symbols and constraints of any other model.

    Args:
        written: the Lagrangian as the user wrote it.
        values: numbers for some of its symbols.
        variables: names of those symbols that are given a number in each call; `values` has their defaults.
        bound: scalars for these symbols in the present trace.
    """

    def __init__(
        self,
        name: str,
        written: Lagrangian,
        constraints: Sequence[Rows] = (),
        limits: Mapping[str, Limits] | None = None,
        values: Mapping[Any, Any] | None = None,
        variables: Sequence[str] = (),
        bound: Mapping[Any, Scalar] | None = None,
    ) -> None:
        self.written, self.values, limits = written, dict(values or {}), limits or {}
        numbers = {s: x for s, x in self.values.items() if s.name not in variables}
        lagrangian = written.subs(numbers) if numbers else written
        kinds = ["continuous" if i in lagrangian.angles else "prismatic" for i in range(lagrangian.n)]
        joints = [
            Joint(
                x,
                "revolute" if kind == "continuous" and x in limits else kind,
                "base",
                f"body of {x}",
                limits=limits.get(x, Limits()),
            )
            for x, kind in zip(lagrangian.names, kinds)
        ]
        links = [Link("base"), *(Link(f"body of {x}") for x in lagrangian.names)]
        super().__init__(name, links, joints, gravity=Vec(0.0, 0.0, 0.0), doubtful=(), variables=variables)
        self.lagrangian, self.limits = lagrangian, limits
        self.constraints: tuple[Any, ...] = tuple(constraints)
        self.bound = {s: x for s, x in self.values.items() if s.name in variables} if bound is None else dict(bound)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """The quantities that can be computed, by name."""
        from qddot.system.quantities import QUANTITIES

        return QUANTITIES

    @cached_property
    def symbols(self) -> frozenset:
        return self.lagrangian.parameters.union(*(c.parameters for c in self.constraints)) - self.bound.keys()

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The symbols that are given a number in each call. Raises UnknownNameError: no such symbol; InputError: one without a
        value, or one that occurs in a constraint."""
        known = {s.name: x for s, x in self.values.items()}
        for name in self.open:
            if name not in known and name in map(str, self.symbols):
                raise InputError(
                    f"{name} has no value yet: give it one, values={{{name!r}: ...}}, which with_variable then lets vary"
                )
            if name not in known:
                raise unknown_name("variable", str(name), known)
            if any(name in c.fixed for c in self.constraints):
                raise InputError(f"{name} stands in a constraint, which is compiled with its number: it cannot vary")
        return tuple(Variable(name, (float(known[name]),)) for name in self.open)

    def copy(self, **changes: Any) -> Model:
        if changes.keys() != {"variables"}:
            raise InputError(f"{self.name}: {WITHOUT_LINKS}, so these cannot be changed")
        return SystemModel(self.name, self.written, self.constraints, self.limits, self.values, **changes)

    def opened(self, values: Sequence[Scalar]) -> SystemModel:
        named = {s.name: s for s in self.values}
        bound = {named[name]: x for name, x in zip(self.open, values, strict=True)}
        if all(isinstance(x, (int, float)) for x in values):
            return SystemModel(self.name, self.written, self.constraints, self.limits, {**self.values, **bound})
        return SystemModel(self.name, self.written, self.constraints, self.limits, self.values, self.open, bound)

    def subs(self, values: dict) -> SystemModel:
        put = {s: sympy.sympify(x) for s, x in values.items()}
        numbers = {s: x for s, x in put.items() if x.is_number}
        written = self.written.subs({s: x for s, x in put.items() if s not in numbers})
        rows = [c.subs(put) for c in self.constraints]
        changed = SystemModel(self.name, written, rows, self.limits, {**self.values, **numbers}, self.open)
        changed.lagrangian.check()
        return changed

    @property
    def tip(self) -> str:
        raise InputError(f"{self.name}: {WITHOUT_LINKS}")

    def over(self, field: Field, *, regrouped: bool = False) -> LiftedSystem:
        return LiftedSystem(self, field)

    def __reduce__(self) -> tuple:
        return SystemModel, (self.name, self.written, self.constraints, self.limits, self.values, self.open)


class LiftedSystem(LiftedModel):
    """The Lagrangian over one kind of scalar."""

    source: SystemModel

    def __init__(self, model: SystemModel, field: Field) -> None:
        refuse_open_symbols(model, field)
        self.source, self.field = model, field  # type: ignore[assignment]
        self.nq, self.nv = model.mechanism.nq, model.mechanism.nv

    @property
    def bodies(self) -> Any:
        """Refused, so that no algorithm over bodies is applied to a system."""
        raise InputError(f"{self.source.name}: {WITHOUT_LINKS}")

    def at(self, entries: Any, q: Sequence[Scalar], qd: Sequence[Scalar] = (), qdd: Sequence[Scalar] = ()) -> Any:
        """Evaluate an expression, or nested lists of them, at these values of the letters."""
        lagrangian, constant = self.source.lagrangian, self.field.constant
        known = {s: constant(x) if isinstance(x, (int, float, sympy.Number)) else x for s, x in self.source.bound.items()}
        known |= dict(zip([*lagrangian.q, *(lagrangian.qd if qd else ()), *(lagrangian.qdd if qdd else ())], [*q, *qd, *qdd]))
        return valued(entries, self.field, known)


@dataclass(frozen=True)
class Rows:
    """A constraint: rows that must be zero, in q1, ... (holonomic), or linear in qd1, ... (of velocities). `fixed` are the symbols
    that were replaced by numbers."""

    name: str
    expressions: tuple[Any, ...]
    n: int
    holonomic: bool  # type: ignore[assignment]
    active: bool = True
    fixed: frozenset[str] = frozenset()

    def rows(self, state: Any) -> list[Scalar]:
        known = dict(zip(letters("q", self.n), state.q))
        if not self.holonomic:
            known |= dict(zip(letters("qd", self.n), state.qd))
        return [valued(x, state._model.field, dict(known)) for x in self.expressions]

    @property
    def parameters(self) -> frozenset[Any]:
        used = frozenset().union(*(x.free_symbols for x in self.expressions))
        return used - {*letters("q", self.n), *letters("qd", self.n)}

    def subs(self, values: Mapping[Any, Any]) -> Rows:
        fixed = self.fixed | {s.name for s in self.parameters if s in values}
        return replace(self, expressions=tuple(x.subs(values, simultaneous=True) for x in self.expressions), fixed=fixed)

    def __str__(self) -> str:
        return f"constraint {self.name!r}"


def as_rows(number: int, x: sympy.Expr, n: int) -> Rows:
    """Return a constraint from its expression. Raises InputError: without coordinates, or not linear in velocities."""
    velocities = [v for v in letters("qd", n) if x.has(v)]
    if not velocities and not any(x.has(q) for q in letters("q", n)):
        raise InputError(f"constraint {number}, {x} = 0, has no coordinate of the system")
    if any(not is_zero(sympy.diff(x, v, w)) for v in velocities for w in velocities):
        raise InputError(f"constraint {number}, {x} = 0, is not linear in the velocities")
    if velocities and not is_zero(x.xreplace(dict.fromkeys(velocities, sympy.Integer(0)))):
        raise InputError(f"constraint {number}, {x} = 0, is not zero at rest: a constraint of velocities is A(q) qd = 0")
    return Rows(f"constraint {number}", (x,), n, not velocities)


def valued(x: Any, field: Any, known: dict[Any, Scalar]) -> Any:
    """Evaluate an expression over a field; `known` has the values of its letters, and keeps those of its parts."""
    if isinstance(x, Iterable):
        return [valued(part, field, known) for part in x]
    x = sympy.sympify(x)
    if x not in known:
        known[x] = worked_out(x, field, lambda part: valued(part, field, known))
    return known[x]


def worked_out(x: Any, field: Any, of: Any) -> Any:
    """Evaluate one operation; `of` returns the values of its operands."""
    if x.is_Integer:
        return int(x)
    if x.is_Rational:
        return (
            field.constant(Fraction(int(x.p), int(x.q)))
            if getattr(field, "symbolic", False)
            else field.constant(int(x.p)) / int(x.q)
        )
    if x.is_Symbol or (x.is_number and not x.is_Add and not x.is_Mul and not x.is_Pow):
        return field.constant(x if getattr(field, "symbolic", False) else float(x))
    if x.is_Add:
        return sum((of(part) for part in x.args[1:]), of(x.args[0]))
    if x.is_Mul:
        product = of(x.args[0])
        for part in x.args[1:]:
            product = product * of(part)
        return product
    if x.is_Pow:
        base, twice = of(x.base), int(2 * x.exp)
        root = field.sqrt(base) if twice % 2 else base
        raised = power(root, abs(twice) if twice % 2 else abs(twice) // 2)
        return raised if twice > 0 else 1 / raised
    inside = of(x.args[0])
    if isinstance(x, sympy.sign):
        return field.sign(inside)
    if isinstance(x, sympy.Abs):
        return inside * field.sign(inside)
    c, s = field.cos_sin(inside)
    return c if isinstance(x, sympy.cos) else s if isinstance(x, sympy.sin) else s / c


def needs_links(name: str) -> Any:
    """Return a method that refuses, for quantities of links, which a system does not have."""

    def refuse(self: Any, *arguments: Any, **options: Any) -> Any:
        raise InputError(f"{name}: {WITHOUT_LINKS}")

    refuse.__name__, refuse.__doc__ = name, f"Not of a System: {WITHOUT_LINKS}."
    return refuse
