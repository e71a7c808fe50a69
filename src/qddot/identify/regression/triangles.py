"""Triangular factors: the R of tall matrices, and how those of strips are merged, always in the same order.

Rows wait until there are a few times as many as columns, and become an R then: one factorisation for many strips, and the same R.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from scipy.linalg import lapack

from qddot.errors import InputError

CHUNK = 1024  # rows that become part of an R at a time
TALL = 4  # rows a column, beyond which a matrix is factored: a third more work than to factor all at once

Triangles = list[np.ndarray]
"""One a joint."""
Matrices = list[np.ndarray]
"""One matrix a joint that has the R of all rows so far: those, or an R and some."""


def triangle(A: np.ndarray) -> np.ndarray:
    """R (n, n) of A (N, n), in chunks: `[R; next rows] = Q R'`. The diagonal is not negative, so R is unique."""
    n = A.shape[1]
    R = np.zeros((0, n))
    for start in range(0, len(A), CHUNK):
        R = factored(R, A[start : start + CHUNK])
    return R if len(R) == n else np.vstack([R, np.zeros((n - len(R), n))])


def factored(*parts: np.ndarray) -> np.ndarray:
    """R of matrices on top of each other that fit the cache."""
    stack = np.empty((sum(map(len, parts)), parts[0].shape[1]), order="F")
    np.concatenate(parts, out=stack)
    qr, _, _, info = lapack.dgeqrf(stack, overwrite_a=1)  # type: ignore[attr-defined]
    if info:
        raise InputError(f"LAPACK refused a block of the regressor: argument {-info} of dgeqrf")
    R = np.triu(qr[: stack.shape[1]])
    return R * np.where(np.diagonal(R) < 0, -1.0, 1.0)[: len(R), None]


def condensed(*parts: np.ndarray) -> np.ndarray:
    """Rows (M, n) that stand for matrices on top of each other: all of them, or their R where they are many."""
    many = sum(map(len, parts)) > TALL * parts[0].shape[1]
    return triangle(np.concatenate(parts)) if many else np.concatenate(parts)


def merge(one: Matrices, other: Matrices) -> Matrices:
    """Rows that stand for both, joint by joint."""
    return [condensed(*pair) for pair in zip(one, other)]


class Addable(Protocol):
    """A thing that can stand on top of another of its kind."""

    def __add__(self, other: Any, /) -> Any: ...


T = TypeVar("T", bound=Addable)


class Tree(Generic[T]):
    """Adds up what comes, like a binary counter: equal numbers of parts with each other, the earlier on top."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, T]] = []

    def add(self, part: T) -> None:
        level = 0
        while self._waiting and self._waiting[-1][0] == level:
            part = self._waiting.pop()[1] + part
            level += 1
        self._waiting.append((level, part))

    def result(self) -> T:
        part = self._waiting.pop()[1]
        while self._waiting:
            part = self._waiting.pop()[1] + part
        return part


def tree(all_triangles: Sequence[Matrices]) -> Triangles:
    """R of all of them, joint by joint; merged pairwise, neighbours first."""
    while len(all_triangles) > 1:
        pairs = [merge(a, b) for a, b in zip(all_triangles[::2], all_triangles[1::2])]
        all_triangles = [*pairs, *all_triangles[2 * len(pairs) :]]
    return [triangle(rows) for rows in all_triangles[0]]
