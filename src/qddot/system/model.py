"""A system as a model: one coordinate a joint of a skeleton without mass, and a Lagrangian in the place of links."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import sympy

from qddot.algorithms.quantities import Quantity
from qddot.errors import InputError
from qddot.model.description import Joint, Limits, Link
from qddot.model.field import Field
from qddot.model.model import LiftedModel, Model, refuse_open_symbols
from qddot.model.scalar import Scalar
from qddot.model.spatial import Vec
from qddot.system.lagrangian import Lagrangian, is_zero, letters

WITHOUT_LINKS = "a System is given by its energies and has no links, frames or drives"


class SystemModel(Model):
    """To everything that computes, a model with coordinates, symbols and constraints; its quantities follow from the Lagrangian."""

    def __init__(
        self, name: str, lagrangian: Lagrangian, constraints: Sequence[Rows] = (), limits: Mapping[str, Limits] | None = None
    ) -> None:
        limits = limits or {}
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
        super().__init__(name, links, joints, gravity=Vec(0.0, 0.0, 0.0), doubtful=())
        self.lagrangian, self.limits = lagrangian, limits
        self.constraints: tuple[Any, ...] = tuple(constraints)

    @property
    def quantities(self) -> Mapping[str, Quantity]:
        """Return what can be computed, and how."""
        from qddot.system.quantities import QUANTITIES

        return QUANTITIES

    @cached_property
    def symbols(self) -> frozenset:
        return self.lagrangian.parameters.union(*(c.parameters for c in self.constraints))

    def copy(self, **changes: Any) -> Model:
        raise InputError(f"{self.name}: {WITHOUT_LINKS}, so these cannot be changed")

    def subs(self, values: dict) -> SystemModel:
        put = {s: sympy.sympify(x) for s, x in values.items()}
        rows = [c.subs(put) for c in self.constraints]
        changed = self.lagrangian.subs(put)
        changed.check()
        return SystemModel(self.name, changed, rows, self.limits)

    @property
    def tip(self) -> str:
        raise InputError(f"{self.name}: {WITHOUT_LINKS}")

    def over(self, field: Field, *, regrouped: bool = False) -> LiftedSystem:
        return LiftedSystem(self, field)

    def __reduce__(self) -> tuple:
        return SystemModel, (self.name, self.lagrangian, self.constraints, self.limits)


class LiftedSystem(LiftedModel):
    """The Lagrangian over one kind of scalar."""

    source: SystemModel

    def __init__(self, model: SystemModel, field: Field) -> None:
        refuse_open_symbols(model, field)
        self.source, self.field = model, field  # type: ignore[assignment]
        self.nq, self.nv = model.mechanism.nq, model.mechanism.nv

    @property
    def bodies(self) -> Any:
        """None: no algorithm over bodies may pass for one over energies."""
        raise InputError(f"{self.source.name}: {WITHOUT_LINKS}")

    def at(self, entries: Any, q: Sequence[Scalar], qd: Sequence[Scalar] = (), qdd: Sequence[Scalar] = ()) -> Any:
        """An expression, or nested lists of them, where the letters have these values."""
        lagrangian = self.source.lagrangian
        known = dict(zip([*lagrangian.q, *(lagrangian.qd if qd else ()), *(lagrangian.qdd if qdd else ())], [*q, *qd, *qdd]))
        return valued(entries, self.field, known)


@dataclass(frozen=True)
class Rows:
    """A constraint: rows that are zero, in q1, ... (holonomic), or linear in qd1, ... (of velocities)."""

    name: str
    expressions: tuple[Any, ...]
    n: int
    holonomic: bool  # type: ignore[assignment]
    active: bool = True

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
        return Rows(self.name, tuple(x.subs(values, simultaneous=True) for x in self.expressions), self.n, self.holonomic)

    def __str__(self) -> str:
        return f"constraint {self.name!r}"


def as_rows(number: int, x: sympy.Expr, n: int) -> Rows:
    """One constraint from its expression."""
    velocities = [v for v in letters("qd", n) if x.has(v)]
    if not velocities and not any(x.has(q) for q in letters("q", n)):
        raise InputError(f"constraint {number}, {x} = 0, has no coordinate of the system")
    if any(not is_zero(sympy.diff(x, v, w)) for v in velocities for w in velocities):
        raise InputError(f"constraint {number}, {x} = 0, is not linear in the velocities")
    if velocities and not is_zero(x.xreplace(dict.fromkeys(velocities, sympy.Integer(0)))):
        raise InputError(f"constraint {number}, {x} = 0, is not zero at rest: a constraint of velocities is A(q) qd = 0")
    return Rows(f"constraint {number}", (x,), n, not velocities)


def valued(x: Any, field: Any, known: dict[Any, Scalar]) -> Any:
    """An expression over a field; `known` has the values of its letters, and remembers those of its parts."""
    if isinstance(x, Iterable):
        return [valued(part, field, known) for part in x]
    x = sympy.sympify(x)
    if x not in known:
        known[x] = worked_out(x, field, lambda part: valued(part, field, known))
    return known[x]


def worked_out(x: Any, field: Any, of: Any) -> Any:
    """One operation, with `of` the values of its parts."""
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
        power = power_of(root, abs(twice) if twice % 2 else abs(twice) // 2)
        return power if twice > 0 else 1 / power
    inside = of(x.args[0])
    if isinstance(x, sympy.sign):
        return field.sign(inside)
    if isinstance(x, sympy.Abs):
        return inside * field.sign(inside)
    c, s = field.cos_sin(inside)
    return c if isinstance(x, sympy.cos) else s if isinstance(x, sympy.sin) else s / c


def power_of(x: Any, n: int) -> Any:
    product = x
    for _ in range(n - 1):
        product = product * x
    return product
