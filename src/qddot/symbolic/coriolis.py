"""Coriolis matrices in closed form, from derivatives of the mass matrix: with or without Christoffel symbols, and Craig's two."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.algorithms.coriolis import coriolis_matrix

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

FORMS = ("christoffel", "rate", "gradient")


def gradient(M: np.ndarray, derivative: Callable[[Any, int], Any]) -> np.ndarray:
    """Return dM_ij/dq_k (nv, nv, nv)."""
    n = len(M)
    G = np.empty((n, n, n), dtype=object)
    for i in range(n):
        for j in range(i + 1):
            for k in range(n):
                G[i, j, k] = G[j, i, k] = derivative(M[i, j], k)
    return G


def christoffel(G: np.ndarray) -> np.ndarray:
    """Return Gamma_ijk (nv, nv, nv), `(G_kji + G_kij - G_ijk) / 2`, from the gradient of M."""
    return (G.transpose(2, 1, 0) + G.transpose(1, 2, 0) - G) / 2


def matrix(equations: Equations, form: str) -> Any:
    """Return C(q, qd) (nv, nv) in one of the forms; where qd is not the rate of q, by the recursion over bodies."""
    if equations.nq != equations.nv:
        if form != "christoffel":
            equations._needs_coordinates(f"form={form!r}")
        return coriolis_matrix(equations.lifted, equations.alphabet.q, equations.alphabet.qd)
    rates = equations.qd.entries
    if form == "christoffel":
        return np.einsum("ijk,i->kj", equations.christoffel.entries, rates)
    U = np.einsum("jki,k->ij", equations.mass_matrix_gradient, rates)
    return equations.mass_matrix_rate.entries - U / 2 if form == "rate" else U.T - U / 2


def products(Gamma: np.ndarray) -> np.ndarray:
    """Return Craig's B (nv, nv (nv - 1) / 2), a column of factors for each product `qd_i qd_j`, i < j."""
    n = len(Gamma)
    columns = [[2 * x for x in Gamma[i, j]] for i, j in combinations(range(n), 2)]
    return np.array(columns, dtype=object).reshape(-1, n).T
