"""Triangular factors: the R of tall matrices, and the merging of those of strips in a fixed order.

Rows are kept until there are a few times as many as columns, and are factored then: one factorisation for many strips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import numpy as np
from scipy.linalg import lapack

from qddot.errors import InputError

CHUNK = 1024  # rows that are factored at a time
TALL = 4  # ratio of rows to columns beyond which a matrix is factored: a third more work than to factor all at once

Triangles = list[np.ndarray]
"""A triangular factor for each joint."""
Matrices = list[np.ndarray]
"""A matrix for each joint with the same R as all rows so far: the rows themselves, or an R and further rows."""


def triangle(A: np.ndarray) -> np.ndarray:
    """R (n, n) of A (N, n), in chunks: `[R; next rows] = Q R'`. Its diagonal is nonnegative, so R is unique."""
    n = A.shape[1]
    R = np.zeros((0, n))
    for start in range(0, len(A), CHUNK):
        R = factored(R, A[start : start + CHUNK])
    return R if len(R) == n else np.vstack([R, np.zeros((n - len(R), n))])


def factored(*parts: np.ndarray) -> np.ndarray:
    """R of matrices on top of each other, which should fit into the cache."""
    stack = np.empty((sum(map(len, parts)), parts[0].shape[1]), order="F")
    np.concatenate(parts, out=stack)
    qr, _, _, info = lapack.dgeqrf(stack, overwrite_a=1)  # type: ignore[attr-defined]
    if info:
        raise InputError(f"LAPACK refused a block of the regressor: argument {-info} of dgeqrf")
    R = np.triu(qr[: stack.shape[1]])
    return R * np.where(np.diagonal(R) < 0, -1.0, 1.0)[: len(R), None]


def condensed(*parts: np.ndarray) -> np.ndarray:
    """Rows (M, n) with the same R as matrices on top of each other: all rows, or their R if there are many."""
    many = sum(map(len, parts)) > TALL * parts[0].shape[1]
    return triangle(np.concatenate(parts)) if many else np.concatenate(parts)


def merge(one: Matrices, other: Matrices) -> Matrices:
    """Merge matrices with the same R as both together, joint by joint."""
    return [condensed(*pair) for pair in zip(one, other)]


T = TypeVar("T")


class Tree(Generic[T]):
    """Merges a stream of parts pairwise, like a binary counter: equally many parts with each other, the earlier on top."""

    def __init__(self, merge: Callable[[T, T], T]) -> None:
        self._merge = merge
        self._waiting: list[tuple[int, T]] = []

    def add(self, part: T) -> None:
        level = 0
        while self._waiting and self._waiting[-1][0] == level:
            part = self._merge(self._waiting.pop()[1], part)
            level += 1
        self._waiting.append((level, part))

    def result(self) -> T:
        part = self._waiting.pop()[1]
        while self._waiting:
            part = self._merge(self._waiting.pop()[1], part)
        return part


def tree(all_triangles: Iterable[Matrices]) -> Triangles:
    """R of all matrices together, joint by joint."""
    together = Tree(merge)
    for one in all_triangles:
        together.add(one)
    return [triangle(rows) for rows in together.result()]
