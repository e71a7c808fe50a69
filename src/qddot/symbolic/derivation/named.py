"""Letters for what has been written down already, so that a long expression becomes a short one in them."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, TypeVar

import numpy as np

from qddot.model.spatial import Force, Motion, Vec, map_scalars
from qddot.symbolic.derivation.steps import DerivationError
from qddot.symbolic.equations import Equations
from qddot.symbolic.exact.ratio import Ratio
from qddot.symbolic.exact.ring import Generator, Poly
from qddot.symbolic.form import Form

NAMED = "named"
"""The kind of such a letter: whatever it is called, it is not a parameter of the robot that has the same name."""


class Named:
    """The ring of some equations with further letters, each of which stands for one of its polynomials.

    Args:
        equations: whose ring it is.
        meanings: name -> polynomial (or number).

    Attributes:
        letters: name -> the letter; where the meaning is a number, the number itself.
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
        """A polynomial of the equations, or anything made of such, in this ring."""
        if isinstance(x, Poly):
            return Poly(self.ring, self._raw(x.p), x.marks)
        if isinstance(x, Ratio):
            return self(x.num) / self(x.den)
        return map_scalars(self, x) if isinstance(x, tuple) else x

    def form(self, entries: Any, means: Any) -> Form:
        """Entries of this ring as a form, which with every letter replaced by its meaning must be `means`. Raises DerivationError:
        it is not."""
        form = Form(self.home, entries)
        target = Form(self.equations, means)
        expanded = np.vectorize(self._expanded, otypes=[object])(form.entries)
        if not target == Form(self.equations, expanded):
            raise DerivationError("an expression in abbreviations does not expand to what it abbreviates")
        return form

    def _expanded(self, p: Poly) -> Any:
        return p.evaluate(lambda i: self.meanings[i], lambda x: x)


Six = TypeVar("Six", Motion, Force)

LETTERS = {"V": ("omega", "v"), "A": ("alpha", "a"), "F": ("n", "f")}
"""Of the two halves of a twist, an acceleration and a wrench."""


def components(kind: str, i: int, vector: Motion | Force) -> dict[str, Any]:
    """Names for the six components of a vector of body i, such as `omega_x3`, and their values."""
    return dict(zip([f"{letter}_{axis}{i}" for letter in LETTERS[kind] for axis in "xyz"], vector.components()))


def letters_of(named: Named, kind: str, i: int, vector: Six) -> Six:
    """Vector made of these letters."""
    values = [named.letters[name] for name in components(kind, i, vector)]
    return type(vector)(Vec(*values[:3]), Vec(*values[3:]))
