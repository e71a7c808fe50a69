"""Triangular factors: the R of tall matrices, and how those of strips are merged, always in the same order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.linalg import lapack

from qddot.errors import InputError

CHUNK = 1024  # rows that become part of an R at a time

Triangles = list[np.ndarray]
"""One a joint."""


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


class Tree:
    """Merges triangles as they come, like a binary counter: equal numbers of strips with each other, the earlier on top."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Triangles]] = []

    def add(self, triangles: Triangles) -> None:
        level = 0
        while self._waiting and self._waiting[-1][0] == level:
            triangles = merge(self._waiting.pop()[1], triangles)
            level += 1
        self._waiting.append((level, triangles))

    def result(self) -> Triangles:
        triangles = self._waiting.pop()[1]
        while self._waiting:
            triangles = merge(self._waiting.pop()[1], triangles)
        return triangles


def merge(one: Triangles, other: Triangles) -> Triangles:
    """R of both, joint by joint."""
    return [factored(*pair) for pair in zip(one, other)]


def tree(all_triangles: Iterable[Triangles]) -> Triangles:
    found = Tree()
    for triangles in all_triangles:
        found.add(triangles)
    return found.result()
