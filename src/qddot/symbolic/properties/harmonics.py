"""Polynomials in sines and cosines as sums of waves: `cos q1 cos q2 - sin q1 sin q2` is one wave, `cos(q1 + q2)`.

A wave is `a cos(k . angles) + b sin(k . angles)`, times powers of other letters (positions of sliders, parts of quaternions). Waves
are a canonical form too, with fewer and smaller coefficients than products of sines and cosines: bounds from them are closer.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from qddot.symbolic.exact.alphabet import Alphabet
from qddot.symbolic.printing.angles import spectrum
from qddot.symbolic.printing.coefficients import fraction

PARAMETER = ("parameter", "inverse", "atom")

Powers = tuple[tuple[int, int], ...]
"""A product of letters: (letter, exponent) each."""


class Wave(NamedTuple):
    """Powers of letters, and the sum of angles as (index in `Harmonics.angles`, whole multiple) each."""

    powers: Powers
    k: tuple[tuple[int, int], ...]


class Harmonics:
    """An array of polynomials as sums of waves.

    Attributes:
        terms: product of parameters -> {(entry, wave): [a, b]}, entries numbered as in a flat array. Coefficients are fractions
            in terms with parameters, floats (each sum rounded) in terms without.
        angles: the alphabet's angles.
        shape: the shape of the array.
        entries: the polynomials.
        held: letters that count as parameters, such as positions without limits.
    """

    def __init__(self, alphabet: Alphabet, entries: np.ndarray, held: Collection[int] = ()) -> None:
        self.alphabet, self.entries, self.shape, self.held = alphabet, entries, entries.shape, held
        self.angles = list(alphabet.angles)
        self.terms: dict[Powers, dict[tuple[int, Wave], list]] = {}
        generators, number = alphabet.ring.generators, {angle: n for n, angle in enumerate(self.angles)}
        expanded: dict[Any, list[tuple[Wave, Any, Any]]] = {}
        for e, p in enumerate(entries.flat):
            for powers, coefficient in p.terms():
                parameters, others, trig, amount = [], [], {}, coefficient
                for i, power in powers.items():
                    kind, of = generators[i].kind, generators[i].of
                    if kind in PARAMETER or i in held:
                        parameters.append((i, power))
                    elif kind in ("cos", "sin"):
                        trig.setdefault(number[of], [0, 0])[kind == "sin"] = power
                    elif kind == "root":
                        amount = float(amount) * of**0.5
                    else:
                        others.append((i, power))
                if not parameters:
                    amount = float(amount)
                key = tuple(others), tuple((n, *ab) for n, ab in sorted(trig.items()))
                if key not in expanded:
                    expanded[key] = waves_of(*key, exact=bool(parameters))
                into = self.terms.setdefault(tuple(parameters), {})
                for wave, a, b in expanded[key]:
                    pair = into.setdefault((e, wave), [0, 0])
                    pair[0] += amount * a
                    pair[1] += amount * b

    @property
    def is_numeric(self) -> bool:
        """True if it has no parameters."""
        return not any(self.terms)

    def coordinates(self) -> tuple[set[int], set[int]]:
        """Return the indices of the entries of q that occur in sines and cosines, and of those that occur by themselves."""
        generators = self.alphabet.ring.generators
        waves = {wave for terms in self.terms.values() for _, wave in terms}
        turning = {self.angles[n].coordinate for wave in waves for n, _ in wave.k}
        return {i for i in turning if i is not None}, {generators[i].of for wave in waves for i, _ in wave.powers}


def waves_of(powers: Powers, trig: tuple[tuple[int, int, int], ...], exact: bool) -> list[tuple[Wave, Any, Any]]:
    """Return `powers` times the product of `cos^a sin^b` of angle n, for (n, a, b) in `trig`: waves, each with its a and b.

    Coefficients are multiples of a power of 1/2, which floats hold exactly.
    """
    found = []
    for function, multiples, x in spectrum(tuple(e for _, a, b in trig for e in (a, b))):
        size = fraction(x) if exact else float(fraction(x))
        wave = Wave(powers, tuple((n, m) for (n, _, _), m in zip(trig, multiples) if m))
        found.append((wave, size, 0) if function == "cos" else (wave, 0, size))
    return found
