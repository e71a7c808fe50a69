"""Common checks of all control laws: of the state that they are given, and of their results."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from qddot.compile.arrays import as_array
from qddot.errors import InputError


def checked(law: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Decorate a law's method of (t, q, qd): states may be anything array-like, and results are finite. Raises InputError: not a
    state of the robot, or one whose numbers are too large."""

    @wraps(law)
    def checked_law(self: Any, t: float, q: Any, qd: Any) -> np.ndarray:
        robot = (self.task if hasattr(self, "task") else self).robot
        if not (is_plain(q, robot.nq) and is_plain(qd, robot.nv)):  # the robot's own methods check plain arrays
            q, qd = robot._evaluate.configuration("q", q), as_array("qd", qd, (robot.nv,))
        with np.errstate(all="ignore"):
            return finite(type(self).__name__, law(self, t, q, qd))

    return checked_law


def is_plain(x: Any, n: int) -> bool:
    """True for a NumPy array of n float64 numbers."""
    return type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (n,)


def finite(name: str, values: np.ndarray) -> np.ndarray:
    """Return the values. Raises InputError: they are not finite."""
    if not math.isfinite(values.sum()) and not np.isfinite(values).all():
        raise InputError(f"{name} gives no finite numbers in this state: it, or the gains, are too large")
    return values
