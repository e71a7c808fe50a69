"""Gains of control laws: one number for all rows, or one for each."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from qddot.arguments import finite_array, refuse_recorded
from qddot.errors import InputError, as_written

LARGEST = 1e100  # its product with any joint error is still finite


def gains(name: str, value: ArrayLike, n: int = 1) -> np.ndarray:
    """Return gains (n,), from one number for all or one for each. Raises InputError: another shape; a value that is negative, not
    finite or not a number; or an array with a gradient, which would be lost."""
    refuse_recorded(name, value)
    many = f", or one for each of {n}" if n > 1 else ""
    refusal = InputError(f"{name}={as_written(value)}: one number{many}, finite, none of them negative, and at most {LARGEST:g}")
    try:
        array = finite_array(name, value)
    except InputError:
        raise refusal from None
    if array.shape not in ((), (1,), (n,)) or not ((array >= 0) & (array <= LARGEST)).all():
        raise refusal
    return np.broadcast_to(array, (n,))
