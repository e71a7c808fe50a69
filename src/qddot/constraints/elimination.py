"""ConstrainedRobot motion by elimination, without a branch and over any scalar: for states in which nothing has to be decided.

Whatever moves, an acceleration, a velocity or a small displacement v, is made to satisfy `A v = -c` by the least change, as kinetic
energy measures it: `v - M^-1 A^T lam`, where `A M^-1 A^T lam = A v + c`. Which rows follow from others cannot be asked here;
margins say where it must be, and `qddot.constraints.factored` answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from qddot.algorithms.factor import Factor, factor
from qddot.algorithms.kinematics import Scalars
from qddot.model.field import Field
from qddot.model.scalar import Scalar

Matrix = list[list[Scalar]]

INDEPENDENT = 1e-5
"""A pivot of `A M^-1 A^T` is what the rows eliminated before leave of a row. The error of accelerations is a few roundings over the
smallest pivot, as a part of its diagonal: at this one ten digits are left, and rows that follow from others stay far below."""

NOTHING = 1e-13
"""A row of A below this part of all rows (or of 1) is not told apart from rounding."""


class Eliminated(NamedTuple):
    """`A` (k, n), `Y = A M^-1`, `G = A M^-1 A^T` factored, and margins that are positive where its rows are independent."""

    A: Matrix
    Y: Matrix
    G: Factor
    margins: list[Scalar]

    def within(self, v: Scalars, c: Scalars) -> tuple[list[Scalar], list[Scalar]]:
        """v (n) after the least change to `A v = -c`, and lam (k)."""
        lam = self.G.solve([dot(row, v) + x for row, x in zip(self.A, c, strict=True)])
        return [x - sum((y[i] * l for y, l in zip(self.Y, lam)), 0.0) for i, x in enumerate(v)], lam


def eliminated(M: Factor, A: Matrix) -> Eliminated:
    """Elimination gives the same whatever the units of the rows, so pivots are compared with the diagonal as it is."""
    k = len(A)
    Y = [M.solve(row) for row in A]
    lower = [[dot(A[i], Y[j]) if j <= i else 0.0 for j in range(k)] for i in range(k)]
    G = factor(lower)
    squares = [dot(row, row) for row in A]
    noise = NOTHING**2 * (1.0 + sum(squares, 0.0))
    left = [pivot - INDEPENDENT * row[i] for i, (pivot, row) in enumerate(zip(G.pivots, lower))]
    return Eliminated(A, Y, G, [*left, *(square - noise for square in squares)])


def all_positive(field: Field, margins: Scalars) -> Scalar:
    """1 where every margin is positive, else 0, also where one is not a number."""
    verdict: Scalar = 1.0
    for margin in margins:
        verdict = field.where_positive(margin, verdict, 0.0)
    return verdict


def dot(a: Sequence[Scalar], b: Sequence[Scalar]) -> Scalar:
    return sum((x * y for x, y in zip(a, b, strict=True)), 0.0)
