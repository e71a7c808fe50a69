"""Solving with a symmetric matrix without square roots or branches: `A = L^T D L` from the last row up (section 6.5).

Eliminating leaves before their parents keeps the zeros of a branched mass matrix: no fill-in.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from qddot.algorithms.kinematics import Scalars
from qddot.model.scalar import Scalar

Matrix = list[list[Scalar]]


class Factor(NamedTuple):
    """Factors of a matrix: `rows` holds L below its unit diagonal, `pivots` is D, `inverse` has the reciprocals of D."""

    rows: Matrix
    pivots: list[Scalar]
    inverse: list[Scalar]

    def solve(self, b: Scalars) -> list[Scalar]:
        """Return x with A x = b. A shorter b stands for one that ends in zeros: as many elements of x are returned."""
        return self.solve_lower([value * scale for value, scale in zip(self.solve_upper(b), self.inverse)])

    def solve_upper(self, b: Scalars) -> list[Scalar]:
        """Return `L^-T b`."""
        x = list(b)
        for i in reversed(range(len(x))):
            for j in range(i):
                x[j] = x[j] - self.rows[i][j] * x[i]
        return x

    def solve_lower(self, b: Scalars) -> list[Scalar]:
        """Return `L^-1 b`."""
        x = list(b)
        for i in range(len(x)):
            for j in range(i):
                x[i] = x[i] - self.rows[i][j] * x[j]
        return x

    def inverted(self) -> Matrix:
        """Return the inverse of A, of which only one half is computed: it is symmetric."""
        half = [self.solve([*[0] * j, 1]) for j in range(len(self.rows))]
        return [[half[max(i, j)][min(i, j)] for j in range(len(half))] for i in range(len(half))]


def factor(A: Matrix) -> Factor:
    """Factor a symmetric positive-definite matrix."""
    n = len(A)
    rows = [list(row) for row in A]
    inverse: list[Scalar] = [0] * n
    for k in reversed(range(n)):
        inverse[k] = reciprocal(rows[k][k])
        for i in reversed(range(k)):
            ratio = rows[k][i] * inverse[k]
            for j in range(i + 1):
                rows[i][j] = rows[i][j] - ratio * rows[k][j]
            rows[k][i] = ratio
    return Factor(rows, [rows[k][k] for k in range(n)], inverse)


def reciprocal(x: Scalar) -> Scalar:
    """Return 1/x: infinity for an exact zero, the pivot of a joint that moves nothing, and NaN (not zero) for an overflow."""
    if isinstance(x, (int, float)) and (x == 0 or not math.isfinite(x)):
        return math.inf if x == 0 else math.nan
    return 1 / x


def held(M: Matrix, moving: Scalars) -> Factor:
    """Factor M with rows and columns of held coordinates (`moving` 0, else 1) replaced by those of the identity."""
    n = range(len(M))
    return factor([[M[i][j] * moving[i] * moving[j] + (1 - moving[i] if i == j else 0) for j in n] for i in n])


def dot(a: Scalars, b: Scalars) -> Scalar:
    return sum((x * y for x, y in zip(a, b)), 0)


def times(matrix: Matrix, x: Scalars) -> list[Scalar]:
    return [dot(row, x) for row in matrix]


def transposed(matrix: Matrix) -> Matrix:
    return [list(column) for column in zip(*matrix)]
