"""Bounds from coefficients: the ranges of all waves in a box, added up for every product of parameters, which count as positive."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from qddot.symbolic.exact.ring import Ring
from qddot.symbolic.properties.harmonics import Harmonics, Powers

PAD = 1e-15  # more than the rounding of a sine
SAME = 1e-12  # rad, within which a limit counts as a multiple of 30 degrees
COSINES = {0: 1, 2: Fraction(1, 2), 3: 0, 4: Fraction(-1, 2), 6: -1}
"""The rational cosines of multiples of 30 degrees."""

Sum = dict["Powers", Any]
"""Product of parameters -> coefficient, a fraction or a float."""


class Ranges:
    """The ranges of the entries of an array, each `sum [low, high] * product of parameters`.

    Attributes:
        low, high: (entries,) arrays of sums.
    """

    def __init__(self, harmonics: Harmonics, lower: np.ndarray, upper: np.ndarray) -> None:
        self.shape, self.held = harmonics.shape, harmonics.held
        size = math.prod(self.shape)
        self.low: list[Sum] = [{} for _ in range(size)]
        self.high: list[Sum] = [{} for _ in range(size)]
        known: dict[Any, tuple[Any, Any]] = {}
        for parameters, terms in harmonics.terms.items():
            for (e, wave), (a, b) in terms.items():
                if wave not in known:
                    known[wave] = angle_range(harmonics, wave.k, lower, upper), power_range(harmonics, wave.powers, lower, upper)
                angle, power = known[wave]
                for side, x in zip((self.low, self.high), times(wave_range(a, b, angle), power)):
                    side[e][parameters] = side[e].get(parameters, 0) + x

    def magnitudes(self) -> np.ndarray:
        """Return upper bounds of the absolute values, in the shape of the array."""
        found = np.empty(len(self.low), dtype=object)
        for e, (low, high) in enumerate(zip(self.low, self.high)):
            found[e] = {m: max(abs(low[m]), abs(high[m])) for m in low}
        return found.reshape(self.shape)

    def least_magnitude(self, e: int, positive: bool) -> Sum:
        """Return a lower bound of the absolute value of an entry: 0 unless its sign is certain, or known to be positive. An odd
        power of a held position may have either sign, so it only lowers the bound."""
        low, high = self.low[e], self.high[e]
        if odd := [m for m in low if any(i in self.held and power % 2 for i, power in m)]:
            return {m: -max(abs(low[m]), abs(high[m])) if m in odd else low[m] for m in low} if positive else {}
        if positive or all(x >= 0 for x in low.values()):
            return low
        return {m: -x for m, x in high.items()} if all(x <= 0 for x in high.values()) else {}

    def least_column_sums(self) -> list[Sum]:
        """Return a lower bound of the sum of absolute values in each column of a square matrix with a positive diagonal."""
        n, _ = self.shape
        return [added(self.least_magnitude(i * n + j, i == j) for i in range(n)) for j in range(n)]


def angle_range(harmonics: Harmonics, k: Iterable[tuple[int, int]], lower: np.ndarray, upper: np.ndarray) -> tuple[float, float]:
    """Return the range of `k . angles`; infinite if an angle is not known."""
    low = high = 0.0
    for n, m in k:
        angle = harmonics.angles[n]
        if angle.coordinate is None or not isinstance(angle.multiple, Fraction):
            return -math.inf, math.inf
        ends = sorted(float(m * angle.multiple) * float(side[angle.coordinate]) for side in (lower, upper))
        low, high = low + ends[0], high + ends[1]
    return low, high


def power_range(harmonics: Harmonics, powers: Powers, lower: np.ndarray, upper: np.ndarray) -> tuple[Any, Any]:
    """Return the range of a product of powers of positions."""
    total: tuple[Any, Any] = (1, 1)
    for i, e in powers:
        at = harmonics.alphabet.ring.generators[i].of
        low, high = (Fraction(repr(x)) if math.isfinite(x) else x for x in (float(lower[at]), float(upper[at])))
        ends = sorted((low**e, high**e))
        total = times(total, (0 if low < 0 < high and e % 2 == 0 else ends[0], ends[1]))
    return total


def wave_range(a: Any, b: Any, angle: tuple[float, float]) -> tuple[Any, Any]:
    """Return the range of `a cos + b sin` of an angle in a range."""
    low, high = angle
    if b == 0:
        size, phase = a, 0.0
    elif a == 0:
        size, phase = b, math.pi / 2
    else:
        size, phase = math.hypot(a, b) * (1 + PAD), math.atan2(b, a)
    c, d = cos_range(low - phase, high - phase)
    return (size * c, size * d) if size > 0 else (size * d, size * c)


def cos_range(low: float, high: float) -> tuple[Any, Any]:
    """Return the range of the cosine of an angle in a range."""
    if not math.isfinite(high - low) or high - low >= 2 * math.pi - SAME:
        return -1, 1
    ends = [cos_at(x) for x in (low, high)]
    turns = lambda start: math.floor((high - start + SAME) / (2 * math.pi)) >= math.ceil((low - start - SAME) / (2 * math.pi))  # noqa: E731
    least = -1 if turns(math.pi) else min(x for x, _ in ends)
    most = 1 if turns(0.0) else max(x for _, x in ends)
    return least, most


def cos_at(x: float) -> tuple[Any, Any]:
    """Return (lower, upper) bounds of a cosine, both exact if it is a fraction."""
    k = round(x / (math.pi / 6))
    exact = COSINES.get(min(k % 12, -k % 12)) if abs(x - k * math.pi / 6) < SAME else None
    return (exact, exact) if exact is not None else (max(-1.0, math.cos(x) - PAD), min(1.0, math.cos(x) + PAD))


def times(x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
    """Return the product of two intervals."""
    ends = [0 if 0 in (a, b) else a * b for a in x for b in y]
    return min(ends), max(ends)


# sums of products of parameters -------------------------------------------------------------------------------------------


def added(sums: Iterable[Sum]) -> Sum:
    """Add up sums."""
    total: Sum = {}
    for s in sums:
        for m, x in s.items():
            total[m] = total.get(m, 0) + x
    return total


def largest(sums: Sequence[Sum]) -> list[Sum]:
    """Return the sums without those that another one exceeds whatever the parameters are."""
    kept: list[Sum] = []
    for s in sums:
        if any(below(s, other) for other in kept):
            continue
        kept = [other for other in kept if not below(other, s)] + [s]
    return kept


def norm_sums(sizes: np.ndarray, norm: float) -> list[Sum]:
    """Return sums, the largest of which is the norm of a matrix (columns, rows) of sums."""
    if norm == 2:
        return [combined(sizes, euclidean if 1 in sizes.shape else spectral)]
    return largest([added(line) for line in (sizes if norm == 1 else sizes.T)])


def below(s: Sum, t: Sum) -> bool:
    """Tell whether s is at most t for all positive parameters."""
    return all(s.get(m, 0) <= t.get(m, 0) for m in s.keys() | t.keys())


def combined(array: np.ndarray, norm: Any) -> Sum:
    """Return the norm of the coefficients of each product of parameters in an array of sums: their sum bounds its norm."""
    products = dict.fromkeys(m for s in array.flat for m in s)
    taken = np.vectorize(lambda s, m: s.get(m, 0), otypes=[object], excluded=[1])
    return {m: norm(taken(array, m)) for m in products}


def euclidean(coefficients: np.ndarray) -> Any:
    """Return the Euclidean norm, as an exact root if its square is a fraction."""
    square = sum(x * x for x in coefficients.flat)
    return sympy.sqrt(sympy.Rational(square)) if isinstance(square, (int, Fraction)) else math.sqrt(square) * (1 + PAD)


def spectral(coefficients: np.ndarray) -> Any:
    """Return the largest singular value: the exact root of a fraction with a small denominator if it is one, else rounded up."""
    size = float(np.linalg.norm(coefficients.astype(float), 2))
    if all(isinstance(x, (int, Fraction)) for x in coefficients.flat):
        square = Fraction(size * size).limit_denominator(1000)
        rows = sympy.Matrix(*coefficients.shape, [sympy.Rational(x) for x in coefficients.flat])
        gram = rows * rows.T if rows.rows < rows.cols else rows.T * rows
        exact = sympy.Rational(square.numerator, square.denominator)
        if abs(float(square) - size * size) <= 1e-12 * size * size and (gram - exact * sympy.eye(gram.rows)).det() == 0:
            return sympy.sqrt(exact)
    return size * (1 + 1e-12)


def express(ring: Ring, total: Sum) -> Any:
    """Return a sum as a SymPy expression; as a float if it has no parameters."""
    if all(m == () for m in total):
        return float(total.get((), 0))
    expression = sympy.S(0)
    for m, x in total.items():
        product = sympy.S(1)
        for i, e in m:
            generator = ring.generators[i]
            of = sympy.Symbol(generator.name) if generator.of is None else generator.of
            if generator.kind == "position":
                of = sympy.Abs(sympy.Symbol(generator.name, real=True))
            product *= (1 / of if generator.kind == "inverse" else of) ** e
        expression += (sympy.Rational(x.numerator, x.denominator) if isinstance(x, (int, Fraction)) else x) * product
    return expression
