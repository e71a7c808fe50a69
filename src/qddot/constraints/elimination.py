"""Constrained motion by elimination, without branches and over any scalar.

A motion v (an acceleration, a velocity or a small displacement) is changed to satisfy `A v = -c` by the least change, measured by
kinetic energy: to `v - M^-1 A^T lam`, where `A M^-1 A^T lam = A v + c`. Dependent rows cannot be found here; they must be given.
Margins say where they are others, and `qddot.constraints.factored` must solve the problem instead.
"""

from __future__ import annotations

from typing import NamedTuple

from qddot.algorithms.factor import Factor, dot, factor
from qddot.algorithms.kinematics import Scalars
from qddot.model.field import Field
from qddot.model.scalar import Scalar

Matrix = list[list[Scalar]]

INDEPENDENT = 1e-5
"""Smallest pivot of `A M^-1 A^T`, relative to its diagonal, of an independent row. A pivot is what remains of a row after the rows
before it are eliminated. The error of accelerations is a few roundings divided by the smallest relative pivot: at this value ten
digits are left, and pivots of dependent rows are far smaller."""

NOTHING = 1e-13
"""A row of A below this fraction of all rows (or of 1) cannot be told from rounding."""

FOLLOWS = 1e-8
"""A row of which less than this fraction remains after elimination depends on the others; rounding leaves less, at the smallest
pivot."""

CONSISTENT = 1e-6
"""Accelerations that dependent rows demand must agree with the others to this fraction of the accelerations involved."""

ROUNDINGS = 1e3
"""Errors below this many roundings of the arithmetic are never significant; in float32 this exceeds the tolerances above."""


class Eliminated(NamedTuple):
    """A set of rows, some of which depend on the others."""

    # A, Y, G: the independent rows (k, n), `Y = A M^-1`, and `G = A M^-1 A^T` factored
    A: Matrix
    Y: Matrix
    G: Factor
    follow: Matrix  # the dependent rows (d, n)
    share: Matrix  # (d, k), `follow = share A`
    margins: list[Scalar]  # positive where the rows are independent and dependent as assumed
    rounding: float  # relative error of one operation

    def within(self, v: Scalars, c: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return v (n) after the least change to `A v = -c`, and lam (k)."""
        lam = self.G.solve([dot(row, v) + x for row, x in zip(self.A, c, strict=True)])
        return [x - sum((y[i] * l for y, l in zip(self.Y, lam)), 0.0) for i, x in enumerate(v)], lam

    def agree(self, v: Scalars, c: Scalars, c_follow: Scalars) -> list[Scalar]:
        """Return margins (d), positive where the demands of dependent rows agree with the others; v gives the scale."""
        found = []
        for row, share, wanted in zip(self.follow, self.share, c_follow, strict=True):
            parts = [s * x for s, x in zip(share, c)]
            left = wanted - sum(parts, 0.0)
            scale = wanted * wanted + dot(parts, parts) + dot(row, row) * (dot(v, v) + max(NOTHING, self.rounding))
            found.append(max(CONSISTENT, ROUNDINGS * self.rounding) ** 2 * scale - left * left)
        return found

    def smallest(self, lam: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """Return the smallest multipliers, of independent and of dependent rows, that act as lam (k) does."""
        if not self.follow:
            return list(lam), []
        S, d = self.share, range(len(self.follow))
        both = factor([[dot(S[i], S[j]) + (1.0 if i == j else 0.0) for j in d] for i in d])
        less = both.solve([dot(row, lam) for row in S])
        return [x - sum((row[i] * l for row, l in zip(S, less)), 0.0) for i, x in enumerate(lam)], less


def eliminated(M: Factor, A: Matrix, follow: Matrix, rounding: float) -> Eliminated:
    """Eliminate rows over the factored mass matrix M. The units of rows do not matter: pivots are compared with the diagonal."""
    k, nothing, follows = len(A), max(NOTHING, rounding), max(FOLLOWS, ROUNDINGS * rounding)
    Y = [M.solve(row) for row in A]
    lower = [[dot(A[i], Y[j]) if j <= i else 0.0 for j in range(k)] for i in range(k)]
    G = factor(lower)
    squares = [dot(row, row) for row in A]
    noise = nothing**2 * (1.0 + sum(squares, 0.0))
    margins = [pivot - INDEPENDENT * row[i] for i, (pivot, row) in enumerate(zip(G.pivots, lower))]
    margins += [square - noise for square in squares]
    share = [G.solve([dot(row, y) for y in Y]) for row in follow]
    for row, parts in zip(follow, share):
        left = [x - sum((p * a[i] for p, a in zip(parts, A)), 0.0) for i, x in enumerate(row)]
        margins.append(follows**2 * (dot(row, row) + noise) - dot(left, left))
    return Eliminated(A, Y, G, follow, share, margins, rounding)


def all_positive(field: Field, margins: Scalars) -> Scalar:
    """Return 1 where every margin is positive, else 0, also where one is NaN."""
    verdict: Scalar = 1.0
    for margin in margins:
        verdict = field.where_positive(margin, verdict, 0.0)
    return verdict
