"""What the oracle tests share: errors relative to the size of the reference, states, and the algorithms over plain floats."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from qddot.algorithms import coriolis, drives, forward_dynamics, inverse_dynamics, jacobian, mass_matrix
from qddot.algorithms.derivatives import accelerations
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.robot import Robot

EPS = np.finfo(float).eps


def error(ours, reference, floor: float = 1e-9) -> float:
    """The largest deviation over the largest magnitude of the reference (at least `floor`)."""
    ours, reference = np.asarray(ours, float), np.asarray(reference, float)
    assert ours.shape == reference.shape
    if reference.size == 0:
        return 0.0
    return float(np.abs(ours - reference).max() / max(np.abs(reference).max(), floor))


def assert_close(ours, reference, tolerance: float = 1e-12, *, what: str = "", floor: float = 1e-9) -> None:
    found = error(ours, reference, floor)
    assert found <= tolerance, f"{what}: relative error {found:.2e} is above {tolerance:.1e}"
