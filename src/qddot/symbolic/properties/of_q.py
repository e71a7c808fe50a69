"""Bounds that depend on q, where a slider without limits leaves no constant bound; and the least eigenvalue of M in symbols.

A slider's position stays a letter, sines and cosines are bounded as usual: the result is a polynomial in the distances `|q_i|`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from qddot.symbolic.exact.minors import determinant
from qddot.symbolic.properties.harmonics import Harmonics
from qddot.symbolic.properties.ranges import Ranges, express, norm_sums

if TYPE_CHECKING:
    from qddot.symbolic.properties.bounds import Term
    from qddot.symbolic.properties.domain import Domain

SMALL = 4
"""The most joints for which the determinant of M is computed: for more it is too long."""


def most_of_q(term: Term, norm: float) -> Any:
    """Return an upper bound of the norm of a term, as a SymPy expression in the sliders' positions."""
    ranges = held_ranges(term.harmonics, term.domain, term.harmonics.entries)
    ring = term.harmonics.alphabet.ring
    return sympy.Max(*(express(ring, s) for s in norm_sums(ranges.magnitudes().reshape(term.shape), norm)))


def least_of_q(term: Term, norm: float, definite: bool) -> Any:
    """Return a lower bound of the norm of M (for the 2-norm, of its least eigenvalue) in q; None if none is known."""
    if norm == 2:
        return least_eigenvalue(term, definite)
    ranges, ring = held_ranges(term.harmonics, term.domain, term.harmonics.entries), term.harmonics.alphabet.ring
    return sympy.Max(*(express(ring, s) for s in ranges.least_column_sums()))


def least_eigenvalue(term: Term, definite: bool) -> Any:
    """Return `det M ((n - 1) / trace M)^(n - 1)`, a lower bound of the eigenvalues of a positive definite M, with a lower bound of
    the determinant and an upper bound of the trace from coefficients; None if that is not positive, and for large matrices.

    The other n - 1 eigenvalues have at most the trace as their sum, and so at most `(trace / (n - 1))^(n - 1)` as their product
    (inequality of means). Where the determinant is nowhere 0, no eigenvalue changes its sign: if M is positive definite somewhere,
    as `definite` says, it is so everywhere.
    """
    n, harmonics = term.shape[0], term.harmonics
    M = harmonics.entries.reshape(n, n)
    if n > SMALL or not definite:
        return None
    pair = np.array([determinant(M), sum(M.diagonal()[1:], M[0, 0])], dtype=object)
    ranges = held_ranges(harmonics, term.domain, pair)
    low = ranges.least_magnitude(0, True)
    if not low or min(low.values()) < 0 or max(low.values()) <= 0:
        return None
    ring = harmonics.alphabet.ring
    trace = express(ring, ranges.magnitudes()[1])
    return sympy.factor(express(ring, low)) * ((n - 1) / trace) ** (n - 1) if n > 1 else express(ring, low)


def held_ranges(harmonics: Harmonics, domain: Domain, entries: np.ndarray) -> Ranges:
    """Return ranges in which positions without limits are letters."""
    alphabet = harmonics.alphabet
    open_ = np.flatnonzero(~(np.isfinite(domain.lower) & np.isfinite(domain.upper)))
    held = {alphabet.index("position", int(i)) for i in open_ if ("position", int(i)) in alphabet}
    return Ranges(Harmonics(alphabet, entries, held), domain.lower, domain.upper)
