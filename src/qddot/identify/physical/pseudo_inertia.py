"""The pseudo-inertia of a link as a linear function of its ten inertial parameters: positive definite for a real body.

    J(pi) = [[Sigma, h], [h^T, m]],  Sigma = tr(I)/2 1 - I,  pi = (m, h, Ixx, Ixy, Ixz, Iyy, Iyz, Izz)

It is the second moment of mass in homogeneous coordinates, `J = integral of (r, 1) (r, 1)^T dm`: in another frame, in which the
link's own has the pose T, it is `T J T^T`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.algorithms.regressor import DRIVE, INERTIAL
from qddot.errors import InputError
from qddot.model.friction import ANY_SIGN

UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def _basis() -> np.ndarray:
    found = np.zeros((10, 4, 4))
    found[0, 3, 3] = 1.0
    for k in range(3):
        found[1 + k, k, 3] = found[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(UPPER, start=4):
        found[k, i, j] -= 1.0
        if i == j:
            found[k, :3, :3] += np.eye(3) / 2
        else:
            found[k, j, i] -= 1.0
    return found


BASIS = _basis()
"""(10, 4, 4): `J(pi) = sum_k pi_k BASIS[k]`."""


def pseudo_inertia(ten: np.ndarray) -> np.ndarray:
    """J (..., 4, 4) of ten inertial parameters (..., 10)."""
    return np.einsum("...k,kij->...ij", ten, BASIS)


def ten_vector(J: np.ndarray) -> np.ndarray:
    """Ten inertial parameters (..., 10) of J (..., 4, 4), the inverse of `pseudo_inertia`: `I = tr(Sigma) 1 - Sigma`."""
    sigma = J[..., :3, :3]
    trace = np.trace(sigma, axis1=-2, axis2=-1)
    moments = [(trace if i == j else 0.0) - sigma[..., i, j] for i, j in UPPER]
    return np.stack([J[..., 3, 3], J[..., 0, 3], J[..., 1, 3], J[..., 2, 3], *moments], axis=-1)


def congruence(T: np.ndarray) -> np.ndarray:
    """The matrix (10, 10) of the linear map `J -> T J T^T` on the ten inertial parameters, for T (4, 4)."""
    return ten_vector(T @ BASIS @ T.T).T


def link_columns(names: Sequence[str]) -> dict[str, np.ndarray]:
    """Link -> indices (10,) of its ten parameters among names such as `link2.Ixx`, in the order of `INERTIAL`. Raises InputError:
    only some of a link's ten are there."""
    place = {name: k for k, name in enumerate(names)}
    links = dict.fromkeys(name.rpartition(".")[0] for name in names if name.rpartition(".")[2] in INERTIAL)
    for link in links:
        missing = [x for x in INERTIAL if f"{link}.{x}" not in place]
        if missing:
            raise InputError(f"link {link!r} has no parameter {', '.join(missing)}: its inertia takes all of {', '.join(INERTIAL)}")
    return {link: np.array([place[f"{link}.{x}"] for x in INERTIAL]) for link in links}


def nonnegative_columns(names: Sequence[str]) -> np.ndarray:
    """Indices of drive constants that are never negative: friction, stiffness, rotor inertia; couplings (`a+b.viscous`) may be."""
    kinds = [name for name in DRIVE if name not in ANY_SIGN]
    return np.array([k for k, name in enumerate(names) if name.rpartition(".")[2] in kinds and "+" not in name], dtype=int)
