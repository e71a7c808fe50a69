"""Test for base parameters that cannot be negative, whatever masses and inertias the links have.

A base parameter is a linear combination of the inertial parameters of links, `k . pi = <P, J(pi)>`, and of parameters of drives. A
link's pseudo-inertia J is positive semidefinite. So the base parameter is not negative if each link's P is positive semidefinite,
too, and the other terms are rotors, springs and friction with positive factors.
"""

from __future__ import annotations

import numpy as np

from qddot.algorithms.regressor import INERTIAL
from qddot.identify.physical.pseudo_inertia import ten_vector
from qddot.identify.regression.base import Base
from qddot.model.friction import ANY_SIGN, NAMES

POSITIVE = {"armature", "stiffness", "m", "Ixx_c", "Iyy_c", "Izz_c"} | {name for name in NAMES if name not in ANY_SIGN}


def never_negative(base: Base) -> np.ndarray:
    """Return a mask (r,) of the base parameters that cannot be negative.

    A spring in addition to one that the robot has may be negative.
    """
    drives = base.parameter_set.robot.drives
    beside = [f"{joint}.stiffness" for joint, drive in drives.items() if drive.at_joint.stiffness != 0]
    return np.array([positive(base.parameter_set.names, row) for row in base.K], dtype=bool) & ~np.isin(base.names, beside)


def positive(names: tuple[str, ...], row: np.ndarray) -> bool:
    """Return True if a combination of parameters is not negative for any physically consistent robot."""
    links: dict[str, np.ndarray] = {}
    for name, k in zip(names, row):
        owner, _, kind = name.rpartition(".")
        if k == 0:
            continue
        if kind in INERTIAL:
            links.setdefault(owner, np.zeros(10))[INERTIAL.index(kind)] = k
        elif kind not in POSITIVE or k < 0 or "+" in owner:
            return False
    return all(np.linalg.eigvalsh(dual(k))[0] > -1e-9 * np.abs(k).max() for k in links.values())


def dual(k: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix P (4, 4) with `k . pi = sum of P * J(pi)`."""
    units = np.eye(16).reshape(4, 4, 4, 4)
    return ten_vector((units + units.swapaxes(2, 3)) / 2) @ k
