"""Polynomials in sines and cosines as sums of waves: `cos q1 cos q2 - sin q1 sin q2` is one wave, `cos(q1 + q2)`.

A wave is `a cos(k . angles) + b sin(k . angles)`, times powers of other letters (positions of sliders, parts of quaternions). Waves
are a canonical form too, with fewer and smaller coefficients than products of sines and cosines: bounds from them are closer.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from qddot.symbolic.exact.alphabet import Alphabet

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

    Args:
        held: letters that count as parameters, such as positions without limits.
    """

    def __init__(self, alphabet: Alphabet, entries: np.ndarray, held: Collection[int] = ()) -> None:
        self.alphabet, self.entries, self.shape = alphabet, entries, entries.shape
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
    """Return `powers` times the product of `cos^a sin^b` of angle n, for (n, a, b) in `trig`: waves, each with its a and b."""
    total: dict[tuple[tuple[int, int], ...], complex] = {(): 1 + 0j}
    for n, a, b in trig:
        total = {((*k, (n, m)) if m else k): z * u for k, z in total.items() for m, u in exponentials(a, b)}
    found: dict[Wave, complex] = {}
    for k, z in total.items():  # z exp(i k . angles), whose conjugate is there too
        flip = bool(k) and k[0][1] < 0
        wave = Wave(powers, tuple((n, -m) for n, m in k) if flip else k)
        found[wave] = found.get(wave, 0) + (z if flip else z.conjugate())
    kind = Fraction if exact else float
    return [(wave, kind(z.real), kind(z.imag)) for wave, z in found.items() if z]


@cache
def exponentials(a: int, b: int) -> tuple[tuple[int, complex], ...]:
    """Return `cos^a sin^b` as a sum of `z exp(i m angle)`: pairs (m, z), z a multiple of a power of 1/2, so exact in floats."""
    total = {0: 1 + 0j}
    for up, down in [(0.5, 0.5)] * a + [(-0.5j, 0.5j)] * b:
        new: dict[int, complex] = {}
        for m, z in total.items():
            new[m + 1] = new.get(m + 1, 0) + z * up
            new[m - 1] = new.get(m - 1, 0) + z * down
        total = new
    return tuple((m, z) for m, z in total.items() if z)
