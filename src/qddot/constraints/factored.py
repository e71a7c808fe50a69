"""The linear algebra of constrained motion: `M qdd + A^T lam = f`, `A qdd = -b`, for batches, without inverting anything.

With `M = L L^T` and `z = L^T qdd` this is an orthogonal projection: `z + X lam = L^-1 f`, `X^T z = -b`, where `X = L^-1 A^T`. The
columns of X are scaled to length 1, so that units do not matter. Its singular values give the rank; its singular vectors give the
projections, the accelerations, and the smallest multipliers. The condition number of X is the square root of that of `A M^-1 A^T`.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from qddot.batched import T, solve, times
from qddot.compile.arrays import first_index
from qddot.errors import RankWarning, SingularityError, stacklevel_outside

RANK = 1e-10
"""A singular value of the scaled constraints below this fraction of the largest is zero."""

NOTHING = 1e-14
"""A row of A below this fraction of the largest entry (or of 1) is only rounding."""

PIVOT = 2000 * np.finfo(float).eps
"""A pivot of M below this fraction of its diagonal is only rounding."""

CONSISTENT = 1e-6
"""Dependent rows must agree with the others to this fraction of the accelerations involved."""


@dataclass(frozen=True)
class Factored:
    """M and A of a batch of states, factored."""

    # M, A: (..., n, n) and (..., k, n); rows of A that are only rounding are set to zero
    M: np.ndarray
    A: np.ndarray
    L: np.ndarray  # (..., n, n), lower triangular: `M = L L^T`
    d: np.ndarray  # (..., k), lengths of the columns of X
    # U, s, V: (..., n, p), (..., p), (..., k, p) with `X / d = U diag(s) V^T`; U and V are zero, and s is 1, beyond the rank
    U: np.ndarray
    s: np.ndarray
    V: np.ndarray
    N: np.ndarray  # (..., k, k), columns that span the multipliers without effect, `A^T N = 0`, and columns of zeros
    rank: np.ndarray  # (...)

    def accelerations(self, f: np.ndarray, b: np.ndarray, *, refined: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return qdd (..., n) and the smallest lam (..., k) with `M qdd + A^T lam = f` and `A qdd = -b`. `refined`: solve once more
        for the residual. Raises SingularityError: no acceleration satisfies all constraints."""
        self.refuse_contradiction(solve(self.L, f), b / self.d)
        qdd, lam = self.solution(f, b)
        if not refined:
            return qdd, lam
        left = self.solution(f - times(self.M, qdd) - times(T(self.A), lam), b + times(self.A, qdd))  # removes errors of rounding
        return qdd + left[0], lam + left[1]

    def solution(self, f: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the solution without refinement."""
        y, b = solve(self.L, f), b / self.d
        stopped = times(T(self.U), y) + times(T(self.V), b) / self.s
        z = y - times(self.U, stopped)
        lam = times(self.V, stopped / self.s) / self.d
        if (self.rank < self.d.shape[-1]).any():
            lam = lam - times(self.N @ np.linalg.pinv(self.N), lam)
        return solve(T(self.L), z), lam

    @property
    def condition(self) -> np.ndarray:
        """Condition number (...) of `A M^-1 A^T` with scaled rows, within its rank."""
        kept = np.arange(self.s.shape[-1]) < self.rank[..., None]
        return (self.s.max(-1, initial=0, where=kept) / self.s.min(-1, initial=np.inf, where=kept)) ** 2

    def projection(self) -> np.ndarray:
        """Return P (..., n, n): `I - A^T (A M^-1 A^T)^-1 A M^-1 = I - L U U^T L^-1`."""
        n = self.L.shape[-1]
        return np.eye(n) - self.L @ self.U @ T(np.linalg.solve(T(self.L), self.U))

    def refuse_contradiction(self, y: np.ndarray, b: np.ndarray) -> None:
        """Refuse dependent rows that demand accelerations which contradict the others."""
        left = np.abs(b - times(self.V, times(T(self.V), b))).max(-1, initial=0)
        scale = np.abs(b).max(-1, initial=0) + np.linalg.norm(y, axis=-1)
        wrong = (left > CONSISTENT * scale) & (self.rank < self.d.shape[-1])
        if wrong.any():
            where, rank = first_index(wrong), np.broadcast_to(self.rank, wrong.shape)
            raise SingularityError(
                f"the constraints contradict each other{named(where)}: rank {rank[where]} of {self.d.shape[-1]} rows (of condition "
                f"number {np.broadcast_to(self.condition, wrong.shape)[where]:.3g}), and no acceleration satisfies the others; "
                "remove some, or leave this singular configuration"
            )

    def warn_of_redundant_rows(self) -> None:
        k, fewer = self.d.shape[-1], self.rank < self.d.shape[-1]
        if fewer.any():
            where = first_index(fewer)
            text = f"only {self.rank[where]} of {k} constraint rows are independent{named(where)}: lam is the smallest of many"
            warnings.warn(text, RankWarning, stacklevel=stacklevel_outside())


@np.errstate(under="ignore")
def factored(M: np.ndarray, A: np.ndarray, name: str) -> Factored:
    """Factor M (..., n, n) and A (..., k, n). Raises SingularityError: M is not positive definite; `name` is the robot's."""
    L = cholesky(M, name)
    sizes = np.abs(A).max(-1, keepdims=True, initial=0)
    A = np.where(sizes <= NOTHING * sizes.max(-2, keepdims=True, initial=1), 0.0, A)
    X = np.linalg.solve(L, T(A))
    d = np.linalg.norm(X, axis=-2)
    d[d == 0] = 1.0
    U, s, Vt = np.linalg.svd(X / d[..., None, :])
    p, V = s.shape[-1], T(Vt)
    kept = s > RANK * s.max(-1, keepdims=True, initial=np.finfo(float).tiny)
    mask, rank = kept[..., None, :], kept.sum(-1)
    idle = np.arange(d.shape[-1]) >= rank[..., None]
    N = np.where(idle[..., None, :], V / d[..., None], 0)
    U, V, s = np.where(mask, U[..., :p], 0), np.where(mask, V[..., :p], 0), np.where(kept, s, 1)
    return Factored(M, A, L, d, U, s, V, N, rank)


def cholesky(M: np.ndarray, name: str) -> np.ndarray:
    """Return the lower Cholesky factors L of a batch of mass matrices. Raises SingularityError: one is not positive definite."""
    try:
        L = np.linalg.cholesky(M)
    except np.linalg.LinAlgError:
        L = np.zeros_like(M)
    square = np.einsum("...ii->...i", M)
    singular = (np.einsum("...ii->...i", L) ** 2 <= PIVOT * square).any(-1)
    if singular.any():
        scale = np.sqrt(np.where(square > 0, square, 1.0))
        values = np.abs(np.linalg.eigvalsh(M / (scale[..., None] * scale[..., None, :])))
        where = first_index(values.min(-1) == values.min())
        largest, smallest = values[where].max(), values[where].min()
        raise SingularityError(
            f"the mass matrix of {name} is not positive definite{named(where)}: rank {(values[where] > PIVOT * largest).sum()} of "
            f"{M.shape[-1]}, condition number {largest / smallest if smallest else np.inf:.3g}. Give every moving link mass, or "
            "its drive a rotor inertia."
        )
    return L


def named(where: tuple[int, ...]) -> str:
    return f" in state {list(where)}" if where else ""
