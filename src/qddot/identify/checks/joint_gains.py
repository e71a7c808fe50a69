"""Gain of further columns in the rows of a single joint, for many sets of columns at once; all other parameters are fitted anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from qddot.identify.checks.normal_equations import balanced
from qddot.identify.checks.trial import Trial


def gains_of_joint(
    trial: Trial, j: int, columns: np.ndarray, sets: np.ndarray, instead_of: Callable[[str], bool] = lambda kind: False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fraction of joint j's squared residuals that each set of columns explains: (sets,) in the whole log, and in fifths
    that are predicted by the others.

    Args:
        columns: all columns to try (N, d).
        sets: indices of the columns in each set (sets, k).
        instead_of: returns True for the kinds of the joint's parameters that the columns replace.
    """
    Z = trial.filtered_of(j, columns)
    owner = f"{trial.names[j]}."
    others = np.array([not (name.startswith(owner) and instead_of(name.removeprefix(owner))) for name in trial.base.names])
    G = trial.known.G.sum(axis=0)[:, np.append(others, True)][..., np.append(others, True)]
    theta, noise = balanced(G, len(Z))
    A = np.zeros((len(Z), len(others)))
    A[:, trial.regressor.columns[j]] = trial.each(trial.given)[j][:, :-1]
    A = A[:, others]
    whole = np.tensordot((noise[j] / noise) ** 2, G[:, :-1, :-1], axes=1)
    scale = np.sqrt(np.maximum(np.diagonal(whole), 1e-300))
    instead = np.linalg.lstsq(whole / np.outer(scale, scale), (A.T @ Z) / scale[:, None], rcond=1e-12)[0] / scale[:, None]
    left = trial.measured[:, j] - A @ theta
    Z = Z - A @ instead  # the part that the other parameters do not absorb
    parts = [(Z[part].T @ Z[part], Z[part].T @ left[part]) for part in trial.in_fifths.parts]
    all_ZZ, all_Zy = (np.sum([part[k] for part in parts], axis=0) for k in (0, 1))
    unseen = np.sum([gain_with(ZZ, Zy, sizes(all_ZZ - ZZ, all_Zy - Zy, sets), sets) for ZZ, Zy in parts], axis=0)
    seen, power = gain_with(all_ZZ, all_Zy, sizes(all_ZZ, all_Zy, sets), sets), max(float(left @ left), 1e-300)
    return seen / power, unseen / power


def sizes(ZZ: np.ndarray, Zy: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Return the least-squares coefficients of each set of columns (sets, k), from the products Z^T Z and Z^T y."""
    inverse = np.linalg.pinv(ZZ[sets[:, :, None], sets[:, None, :]], 1e-9, hermitian=True)
    return np.einsum("sij,sj->si", inverse, Zy[sets])


def gain_with(ZZ: np.ndarray, Zy: np.ndarray, size: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Return the reduction of the squared residuals (sets,) by each set of columns with these coefficients."""
    return np.einsum("si,si->s", size, 2 * Zy[sets] - np.einsum("sij,sj->si", ZZ[sets[:, :, None], sets[:, None, :]], size))
