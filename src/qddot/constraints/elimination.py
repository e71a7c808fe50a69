"""ConstrainedRobot motion by elimination, without a branch and over any scalar: for states in which nothing has to be decided.

Whatever moves, an acceleration, a velocity or a small displacement v, is made to satisfy `A v = -c` by the least change, as kinetic
energy measures it: `v - M^-1 A^T lam`, where `A M^-1 A^T lam = A v + c`. Which rows follow from others cannot be asked here: it is
told, and margins say where it is otherwise, and `qddot.constraints.factored` must answer.
"""

from __future__ import annotations

from typing import NamedTuple

from qddot.algorithms.factor import Factor, dot, factor
from qddot.algorithms.kinematics import Scalars
from qddot.model.field import Field
from qddot.model.scalar import Scalar

Matrix = list[list[Scalar]]

INDEPENDENT = 1e-5
"""A pivot of `A M^-1 A^T` is what the rows eliminated before leave of a row. The error of accelerations is a few roundings over the
smallest pivot, as a part of its diagonal: at this one ten digits are left, and rows that follow from others stay far below."""

NOTHING = 1e-13
"""A row of A below this part of all rows (or of 1) is not told apart from rounding."""


FOLLOWS = 1e-8
"""A row that others leave this part of is one that follows from them; rounding leaves less, at the smallest pivot."""

CONSISTENT = 1e-6
"""Accelerations that rows ask for which follow from others must follow, too, to this part of those involved."""

ROUNDINGS = 1e3
"""So many of the arithmetic's roundings are never told apart from nothing: in float32 they are more than the numbers above."""


class Eliminated(NamedTuple):
    """A set of rows, some of which follow from the others."""

    # A, Y, G: the others (k, n), `Y = A M^-1`, and `G = A M^-1 A^T` factored
    A: Matrix
    Y: Matrix
    G: Factor
    follow: Matrix  # those that follow (d, n)
    share: Matrix  # (d, k), `follow = share A`
    margins: list[Scalar]  # positive where the others are independent, and those that follow do
    rounding: float  # relative error of one operation

    def within(self, v: Scalars, c: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """v (n) after the least change to `A v = -c`, and lam (k)."""
        lam = self.G.solve([dot(row, v) + x for row, x in zip(self.A, c, strict=True)])
        return [x - sum((y[i] * l for y, l in zip(self.Y, lam)), 0.0) for i, x in enumerate(v)], lam

    def agree(self, v: Scalars, c: Scalars, c_follow: Scalars) -> list[Scalar]:
        """Margins (d), positive where rows that follow ask for what follows from the others; v gives what is little."""
        found = []
        for row, share, wanted in zip(self.follow, self.share, c_follow, strict=True):
            parts = [s * x for s, x in zip(share, c)]
            left = wanted - sum(parts, 0.0)
            scale = wanted * wanted + dot(parts, parts) + dot(row, row) * (dot(v, v) + max(NOTHING, self.rounding))
            found.append(max(CONSISTENT, ROUNDINGS * self.rounding) ** 2 * scale - left * left)
        return found

    def smallest(self, lam: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """The smallest of all multipliers that act as lam (k) does, of the others and of those that follow."""
        if not self.follow:
            return list(lam), []
        S, d = self.share, range(len(self.follow))
        both = factor([[dot(S[i], S[j]) + (1.0 if i == j else 0.0) for j in d] for i in d])
        less = both.solve([dot(row, lam) for row in S])
        return [x - sum((row[i] * l for row, l in zip(S, less)), 0.0) for i, x in enumerate(lam)], less


def eliminated(M: Factor, A: Matrix, follow: Matrix, rounding: float) -> Eliminated:
    """Elimination gives the same whatever the units of the rows, so pivots are compared with the diagonal as it is."""
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
    """1 where every margin is positive, else 0, also where one is not a number."""
    verdict: Scalar = 1.0
    for margin in margins:
        verdict = field.where_positive(margin, verdict, 0.0)
    return verdict
