"""Coriolis matrices in closed form, by derivatives of the mass matrix: with Christoffel symbols or without, and in the two parts of
Craig."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.arguments import word

if TYPE_CHECKING:
    from qddot.symbolic.equations import Equations

FORMS = ("christoffel", "rate", "gradient")


def gradient(M: np.ndarray, derivative: Callable[[Any, int], Any]) -> np.ndarray:
    """dM_ij/dq_k (nv, nv, nv)."""
    n = len(M)
    G = np.empty((n, n, n), dtype=object)
    for i in range(n):
        for j in range(i + 1):
            for k in range(n):
                G[i, j, k] = G[j, i, k] = derivative(M[i, j], k)
    return G


def christoffel(G: np.ndarray) -> np.ndarray:
    """Gamma_ijk (nv, nv, nv) from the gradient of M."""
    n = len(G)
    Gamma = np.empty((n, n, n), dtype=object)
    for i in range(n):
        for j in range(i + 1):
            for k in range(n):
                Gamma[i, j, k] = Gamma[j, i, k] = (G[k, j, i] + G[k, i, j] - G[i, j, k]) / 2
    return Gamma


def matrix(equations: Equations, form: str) -> Any:
    """C(q, qd) (nv, nv) in one of the forms; where qd is not the rate of q, by the recursion over bodies."""
    word("form", form, FORMS)
    if equations.nq != equations.nv:
        if form != "christoffel":
            equations._needs_coordinates(f"form={form!r}")
        from qddot.algorithms.coriolis import coriolis_matrix

        return coriolis_matrix(equations.lifted, equations.alphabet.q, equations.alphabet.qd)
    rates = equations.qd.entries
    if form == "christoffel":
        return np.einsum("ijk,i->kj", equations.christoffel.entries, rates)
    U = np.einsum("jki,k->ij", equations.mass_matrix_gradient, rates)
    return equations.mass_matrix_rate.entries - U / 2 if form == "rate" else U.T - U / 2


def products(Gamma: np.ndarray) -> np.ndarray:
    """Craig's B (nv, nv (nv - 1) / 2): what multiplies `qd_i qd_j`, i < j."""
    n = len(Gamma)
    columns = [[2 * x for x in Gamma[i, j]] for i, j in combinations(range(n), 2)]
    return np.array(columns, dtype=object).reshape(-1, n).T
