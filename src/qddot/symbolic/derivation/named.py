"""Letters for expressions that earlier equations define, in which a long expression becomes short."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, TypeVar

from qddot.model.spatial import Force, Motion, Vec, map_scalars
from qddot.symbolic.derivation.steps import DerivationError
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import Generator, Poly
from qddot.symbolic.form import Form, each

NAMED = "named"
"""The kind of such a letter, which tells it from a parameter of the robot with the same name."""


class Named:
    """The ring of some equations with further letters, each of which stands for one of its polynomials.

    Args:
        equations: the equations whose ring is extended.
        meanings: name -> polynomial (or number).

    Attributes:
        letters: name -> letter, or the number itself if the meaning is a number.
    """

    def __init__(self, equations: Equations, meanings: Mapping[str, Any]) -> None:
        self.equations, old = equations, equations.alphabet
        ring = old.ring
        lifted = {name: ring.constant(x) for name, x in meanings.items()}
        opens = {name: x for name, x in lifted.items() if x.is_open}
        self.ring = new = ring.extended([Generator(name, NAMED, name) for name in opens])
        self.meanings = [*ring.letters, *opens.values()]
        extra = dict(zip(opens, new.letters[len(ring.letters) :]))
        self.letters: dict[str, Any] = {name: extra.get(name, x.value if not x.is_open else 0) for name, x in lifted.items()}
        self.qd, self.qdd = [self(x) for x in old.qd], [self(x) for x in old.qdd]
        self.home = copy(equations)
        self.home.alphabet = alphabet = copy(old)
        alphabet.ring, alphabet.q, alphabet.qd, alphabet.qdd = new, [self(x) for x in old.q], self.qd, self.qdd
        alphabet.angles = {angle: (self(c), self(s)) for angle, (c, s) in old.angles.items()}
        alphabet.parameters = {name: self(x) for name, x in old.parameters.items()}

    def _raw(self, p: Any) -> Any:
        further = (0,) * (len(self.ring.generators) - len(self.equations.alphabet.ring.generators))
        return self.ring.context.from_dict({(*powers, *further): c for powers, c in p.terms()})

    def __call__(self, x: Any) -> Any:
        """Return a polynomial of the equations, or a tuple type of such, in this ring."""
        if isinstance(x, Poly):
            return Poly(self.ring, self._raw(x.p), x.marks)
        if isinstance(x, Ratio):
            return self(x.num) / self(x.den)
        return map_scalars(self, x) if isinstance(x, tuple) else x

    def form(self, entries: Any, means: Any) -> Form:
        """Return entries of this ring as a form. Raises DerivationError: it is not `means` once every letter is replaced by its
        meaning."""
        form = Form(self.home, entries)
        expanded = each(lambda p: p.evaluate(lambda i: self.meanings[i], lambda x: x), form.entries)
        if Form(self.equations, means) != Form(self.equations, expanded):
            raise DerivationError("an expression in abbreviations does not expand to what it abbreviates")
        return form


Six = TypeVar("Six", Motion, Force)

LETTERS = {"V": ("omega", "v"), "A": ("alpha", "a"), "F": ("n", "f")}
"""The letters of the two halves of a twist, an acceleration and a wrench."""


def components(kind: str, i: int, vector: Motion | Force) -> dict[str, Any]:
    """Return the six components of a vector of body i by their names, such as `omega_x3`."""
    return dict(zip([f"{letter}_{axis}{i}" for letter in LETTERS[kind] for axis in "xyz"], vector.components()))


def letters_of(named: Named, kind: str, i: int, vector: Six) -> Six:
    """Return the vector with the letters of these components."""
    values = [named.letters[name] for name in components(kind, i, vector)]
    return type(vector)(Vec(*values[:3]), Vec(*values[3:]))
