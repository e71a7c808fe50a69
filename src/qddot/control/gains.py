"""Gains of control laws: one number for all rows, or one for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qddot.errors import InputError


def gains(name: str, value: ArrayLike, n: int) -> np.ndarray:
    """(n,).

    Raises:
        InputError: another shape, a negative value or none at all.
    """
    array = np.asarray(value, float)
    if array.shape not in ((), (1,), (n,)) or not (array >= 0).all():
        raise InputError(f"{name}={value!r}: one number, or one for each of {n}, none of them negative")
    return np.broadcast_to(array, (n,))
