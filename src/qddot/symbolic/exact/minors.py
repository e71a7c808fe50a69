"""Determinants of small matrices of polynomials, and inverses and ranks from them, without any division."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from qddot.errors import SingularityError

Minor = Callable[[Sequence[int], Sequence[int]], Any]


def determinant(X: np.ndarray) -> Any:
    """Return the determinant of a square matrix; 1 where there are no rows."""
    return minors(X)(range(len(X)), range(len(X)))


def minors(X: np.ndarray) -> Minor:
    """Return a function of rows and columns that computes their determinant by expansion along the first row, with a memory."""
    known: dict[tuple[tuple[int, ...], tuple[int, ...]], Any] = {}

    def minor(rows: Sequence[int], columns: Sequence[int]) -> Any:
        rows, columns = tuple(rows), tuple(columns)
        if not rows:
            return 1
        if (rows, columns) not in known:
            first, rest = rows[0], rows[1:]
            total = X[first, columns[0]] * 0
            for k, c in enumerate(columns):
                if X[first, c] != 0:
                    total = total + X[first, c] * minor(rest, columns[:k] + columns[k + 1 :]) * (-1) ** k
            known[rows, columns] = total
        return known[rows, columns]

    return minor


def independent_columns(X: np.ndarray) -> tuple[int, ...]:
    """Return the first set of columns, as many as the rank, that has a minor of that size which is not the polynomial 0."""
    minor = minors(X)
    for k in range(min(X.shape), 0, -1):
        for columns in combinations(range(X.shape[1]), k):
            if any(minor(rows, columns) != 0 for rows in combinations(range(len(X)), k)):
                return columns
    return ()


def adjugate(X: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return (B, d), adjugate and determinant: the inverse is B / d."""
    n, minor = len(X), minors(X)
    without = lambda i: [k for k in range(n) if k != i]  # noqa: E731
    B = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            B[i, j] = minor(without(j), without(i)) * (-1) ** (i + j)
    return B, minor(range(n), range(n))


def mass_matrix_inverse(M: np.ndarray, where: str = "at every q") -> tuple[np.ndarray, Any]:
    """Return (B, d) with `M^-1 = B / d`. Raises SingularityError: M is singular."""
    B, d = adjugate(M)
    refuse_singular(d, where)
    return B, d


def refuse_singular(d: Any, where: str = "at every q") -> None:
    """Refuse a mass matrix whose determinant is zero, or a product with it. Raises SingularityError."""
    if not d:
        raise SingularityError(f"the mass matrix is singular {where}: some motion of the joints moves no mass")


def bordered_inverse(M: np.ndarray, A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
    """Return (X, Y, Z, d): the inverse of `[M A^T; A 0]` is `[X Y; Y^T Z] / d`.

    So `X / d` is `M^-1 - M^-1 A^T (A M^-1 A^T)^-1 A M^-1`, `Y / d` is `M^-1 A^T (A M^-1 A^T)^-1` and `-Z / d` is
    `(A M^-1 A^T)^-1`. The sign of `d` is chosen so that it is positive where M is positive definite. Raises SingularityError: M is
    singular.
    """
    k, n = A.shape
    B, d = adjugate(np.block([[M, A.T], [A, np.zeros((k, k), dtype=int).astype(object)]]))
    B, d = B * (-1) ** k, d * (-1) ** k
    refuse_singular(d)
    return B[:n, :n], B[:n, n:], B[n:, n:], d
