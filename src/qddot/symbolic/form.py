"""A closed form: an array of polynomials (or a single one) that can be indexed, combined, differentiated, evaluated and printed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations


class Form:
    """Entries of one quantity of `Equations`.

    Indexing, slicing and `T` give other forms; `+ - * @` combine them. `==` is exact: True only if every entry is the same
    polynomial, whatever it was computed from.

    Attributes:
        entries: NumPy object array of `Poly` (or `Ratio`, where something was divided by).
        name: of the quantity, `mass_matrix` for example; empty where it is only a part or a combination.
    """

    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, equations: Equations, entries: Any, name: str = "") -> None:
        self.equations, self.name = equations, name
        lifted = np.vectorize(equations.lift, otypes=[object])
        array = np.array(entries, dtype=object)
        self.entries: np.ndarray = lifted(array) if array.size else array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.entries.shape

    @property
    def ndim(self) -> int:
        return self.entries.ndim

    @property
    def T(self) -> Form:
        return Form(self.equations, self.entries.T)

    @property
    def terms(self) -> int:
        """How many terms all entries have together, in canonical form."""
        return sum(len(x) for x in self.entries.flat)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Form]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Form:
        return Form(self.equations, self.entries[index])

    def __add__(self, o: Any) -> Form:
        return Form(self.equations, self.entries + self._other(o))

    __radd__ = __add__

    def __sub__(self, o: Any) -> Form:
        return Form(self.equations, self.entries - self._other(o))

    def __rsub__(self, o: Any) -> Form:
        return Form(self.equations, self._other(o) - self.entries)

    def __neg__(self) -> Form:
        return Form(self.equations, -self.entries)

    def __mul__(self, o: Any) -> Form:
        return Form(self.equations, self.entries * self._other(o))

    __rmul__ = __mul__

    def __truediv__(self, o: Any) -> Form:
        return Form(self.equations, self.entries / self._other(o))

    def __matmul__(self, o: Any) -> Form:
        return Form(self.equations, self.entries @ self._other(o))

    def __eq__(self, o: object) -> bool:
        try:
            other = np.broadcast_to(self._other(o), self.shape)
        except ValueError:
            return False
        return all(a == b for a, b in zip(self.entries.flat, other.flat))

    def __bool__(self) -> bool:
        """False where every entry is 0."""
        return any(bool(x) for x in self.entries.flat)

    def _other(self, o: Any) -> np.ndarray:
        if isinstance(o, Form):
            return o.entries
        return np.vectorize(self.equations.lift, otypes=[object])(np.array(o, dtype=object))

    # calculus and numbers -------------------------------------------------------------------------------------------------

    def diff(self, variable: str) -> Form:
        """The derivative with respect to a joint variable (`"q2"`), its rate (`"qd2"`, `"qdd2"`) or a parameter (`"m1"`)."""
        d = self.equations.derivative(variable)
        return self._map(d)

    def dt(self) -> Form:
        """The derivative with respect to time."""
        return self._map(self.equations.alphabet.time_derivative)

    def subs(self, values: Mapping[str, Any]) -> Form:
        """With letters (by name) replaced by numbers, expressions or other forms, all at once."""
        return self._map(self.equations.substitution(values))

    def evaluate(
        self,
        q: Sequence[Any] | np.ndarray,
        qd: Sequence[Any] | np.ndarray | None = None,
        qdd: Sequence[Any] | np.ndarray | None = None,
        parameters: Mapping[str, Any] | None = None,
        digits: int | None = None,
    ) -> Any:
        """Numbers: a float or an array of them, or `mpmath` numbers with as many digits as wanted.

        Args:
            q, qd, qdd: (nq,), (nv,), (nv,); rates left out are zero.
            parameters: name -> value; numbers that became symbols keep theirs if not given here.
            digits: decimal digits of the arithmetic; floats if None.
        """
        from qddot.symbolic.evaluate import evaluate

        return evaluate(self, q, qd, qdd, parameters, digits)

    def _map(self, f: Any) -> Form:
        return Form(self.equations, np.vectorize(f, otypes=[object])(self.entries)) if self.entries.size else self

    def __float__(self) -> float:
        return float(self._single().value)

    def _single(self) -> Any:
        if self.shape != ():
            raise InputError(f"one entry is needed, this has shape {self.shape}")
        return self.entries.item()

    @property
    def value(self) -> Fraction:
        """Of an entry without letters: the exact number."""
        return self._single().value
