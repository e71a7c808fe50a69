"""Storage of a log's arrays: read-only, and in Fortran order."""

from __future__ import annotations

import numpy as np


def kept(array: np.ndarray) -> np.ndarray:
    """Return an array as logs keep them: read-only, and each channel, a column, contiguous in memory, since most code goes
    through one channel at a time."""
    array = np.asfortranarray(array)
    array.setflags(write=False)
    return array


def is_kept(value: object) -> bool:
    """Return True for such an array, or some rows of one: it need not be copied."""
    if not isinstance(value, np.ndarray) or value.dtype != float or value.flags.writeable:
        return False
    whole = value if value.base is None else value.base
    return isinstance(whole, np.ndarray) and whole.flags.f_contiguous and not whole.flags.writeable
