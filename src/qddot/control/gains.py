"""Gains of control laws: one number for all rows, or one for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qddot.errors import InputError


def gains(name: str, value: ArrayLike, n: int = 1) -> np.ndarray:
    """(n,).

    Raises:
        InputError: another shape, or a value that is negative, not finite or no number at all.
    """
    many = f", or one for each of {n}" if n > 1 else ""
    refusal = InputError(f"{name}={value!r}: one number{many}, finite and none of them negative")
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise refusal from None
    if array.shape not in ((), (1,), (n,)) or not (np.isfinite(array) & (array >= 0)).all():
        raise refusal
    return np.broadcast_to(array, (n,))
