"""How logs keep their arrays: channel by channel, and for good."""

from __future__ import annotations

import numpy as np


def kept(array: np.ndarray) -> np.ndarray:
    """An array as logs keep them: nobody writes to it, and channels, its columns, lie in one piece each, so that to go through one
    costs no more than its numbers."""
    array = np.asfortranarray(array)
    array.setflags(write=False)
    return array


def is_kept(value: object) -> bool:
    """Whether this is such an array already, or some rows of one: then it need not be copied."""
    if not isinstance(value, np.ndarray) or value.dtype != float or value.flags.writeable:
        return False
    whole = value if value.base is None else value.base
    return isinstance(whole, np.ndarray) and whole.flags.f_contiguous and not whole.flags.writeable
