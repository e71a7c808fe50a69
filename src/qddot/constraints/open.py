"""Scalars that accept a user's decimals and SymPy expressions and read them exactly: 0.1 as 1/10, a symbol as a letter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from qddot.constraints.constraint import Constraint
from qddot.constraints.state import State
from qddot.errors import InputError
from qddot.model.field import Field
from qddot.model.model import LiftedModel
from qddot.model.scalar import Scalar, is_symbolic

Read = Callable[[Any], Scalar]


class Open:
    """A scalar of some field; `read` converts the other operand of a sum or product to this field."""

    __slots__ = ("read", "value")
    _op_priority = 100  # so that SymPy leaves `r * x` with a symbol on the left to this class

    def __init__(self, value: Scalar, read: Read) -> None:
        self.value, self.read = value, read

    def _other(self, o: Any) -> Scalar:
        return o.value if isinstance(o, Open) else self.read(o)

    def __add__(self, o: Any) -> Open:
        return Open(self.value + self._other(o), self.read)

    __radd__ = __add__

    def __sub__(self, o: Any) -> Open:
        return Open(self.value - self._other(o), self.read)

    def __rsub__(self, o: Any) -> Open:
        return Open(self._other(o) - self.value, self.read)

    def __mul__(self, o: Any) -> Open:
        return Open(self.value * self._other(o), self.read)

    __rmul__ = __mul__

    def __truediv__(self, o: Any) -> Open:
        return Open(self.value / self._other(o), self.read)

    def __rtruediv__(self, o: Any) -> Open:
        return Open(self._other(o) / self.value, self.read)

    def __neg__(self) -> Open:
        return Open(-self.value, self.read)

    def __pow__(self, n: int) -> Open:
        if not isinstance(n, int):
            raise InputError(f"an exponent is a whole number, not {n!r}")
        return Open(self.value**n if n >= 0 else 1 / self.value**-n, self.read)


class OpenField:
    """A field whose scalars are `Open`."""

    symbolic = True

    def __init__(self, field: Field, read: Read) -> None:
        self.field, self.read, self.rounding = field, read, field.rounding

    def constant(self, x: Any) -> Scalar:
        return x if x in (0, 1) and not isinstance(x, Open) else self.open(self.field.constant(x))

    def open(self, x: Scalar) -> Open:
        return x if isinstance(x, Open) else Open(x, self.read)

    def _plain(self, x: Any) -> Scalar:
        return x.value if isinstance(x, Open) else self.read(x)

    def cos_sin(self, angle: Any) -> tuple[Scalar, Scalar]:
        c, s = self.field.cos_sin(self._plain(angle))
        return self.open(c), self.open(s)

    def sqrt(self, x: Any) -> Scalar:
        return self.open(self.field.sqrt(self._plain(x)))

    def inverse_fourth_root(self, x: Any) -> Scalar:
        return self.open(self.field.inverse_fourth_root(self._plain(x)))

    def atan2(self, y: Any, x: Any) -> Scalar:
        return self.open(self.field.atan2(self._plain(y), self._plain(x)))

    def sign(self, x: Any) -> Scalar:
        return self.open(self.field.sign(self._plain(x)))

    def where_positive(self, x: Any, then: Any, otherwise: Any) -> Scalar:
        return self.open(self.field.where_positive(*map(self._plain, (x, then, otherwise))))


@dataclass(frozen=True)
class Valued:
    """A constraint with numbers for its SymPy symbols, so that it can be compiled."""

    constraint: Constraint
    values: tuple[tuple[str, float], ...]  # of symbols, by name

    @property
    def holonomic(self) -> bool:
        return self.constraint.holonomic

    def rows(self, state: State) -> list[Scalar]:
        known = dict(self.values)

        def read(x: Any) -> Scalar:
            return float(x.subs({s: known[str(s)] for s in x.free_symbols})) if is_symbolic(x) else x

        model = state._model
        field = OpenField(model.field, read)
        opened = State(
            LiftedModel(model.source, field), list(map(field.open, state.q)), state._qd and list(map(field.open, state._qd))
        )
        return [x.value if isinstance(x, Open) else read(x) for x in self.constraint.rows(opened)]

    def __str__(self) -> str:
        return str(self.constraint)
