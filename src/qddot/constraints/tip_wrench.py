"""The wrench at one frame that acts on the joints as the multipliers of constraints do.

`J^T f = A^T lam` determines the components of f that the joints feel. The others, in the null space of `J^T`, are chosen such that
f is the smallest, if this has a meaning: forces alone can be compared, moments and forces only with a length.
"""

from __future__ import annotations

import numpy as np

from qddot.arguments import flag, positive_number
from qddot.batched import T, times
from qddot.compile.arrays import first_index
from qddot.constraints.factored import named
from qddot.errors import InputError

RANK = 1e-10
"""A singular value of J below this fraction of the largest is zero."""

COMPONENTS = ("mx", "my", "mz", "fx", "fy", "fz")


def tip_wrench(J: np.ndarray, wanted: np.ndarray, frame: str, moment: bool, scale: float | None) -> np.ndarray:
    """Return the f (..., 6) with `J^T f = wanted` and the least `|moment|^2 / scale^2 + |force|^2`.

    Args:
        J: (..., 6, n) at the frame's origin, angular rows first.
        wanted: joint forces (..., n).
        moment: False for pure forces.
        scale: m; None: refuse a wrench that depends on it.

    Raises:
        InputError: there is no such wrench, or it depends on the scale and none is given.
    """
    scale = None if scale is None else positive_number("scale", scale)
    if not flag("moment", moment):
        J = np.concatenate([np.zeros_like(J[..., :3, :]), J[..., 3:, :]], axis=-2)
    f = smallest(J, wanted, scale or 1.0)
    left = np.abs(times(T(J), f) - wanted).max(-1, initial=0)
    wrong = left > 1e-9 * np.abs(wanted).max(-1, initial=0)
    if wrong.any():
        what, where = "wrench" if moment else "pure force", named(first_index(wrong))
        raise InputError(
            f"no {what} at frame {frame!r} equals A^T lam{where}: {left.max():.3g} of {np.abs(wanted).max():.3g} is left; name the "
            "frame on which the constraint acts"
        )
    if moment and scale is None:
        refuse_choice(J, f, smallest(J, wanted, 2.0), frame)
    return f


def smallest(J: np.ndarray, wanted: np.ndarray, scale: float) -> np.ndarray:
    """Return the smallest wrench (..., 6) with `J^T f = wanted`, moments being divided by the scale."""
    size = np.array([scale] * 3 + [1.0] * 3)
    return size * times(np.linalg.pinv(T(J * size[:, None]), rcond=RANK), wanted)


def refuse_choice(J: np.ndarray, one: np.ndarray, other: np.ndarray, frame: str) -> None:
    """Refuse a wrench that depends on the scale."""
    depends = np.abs(one - other).max(-1) > 1e-9 * np.abs(one).max(-1)
    if not depends.any():
        return
    where = first_index(depends)
    _, s, Vt = np.linalg.svd(T(J)[where])
    unfelt = Vt[(s > RANK * s.max(initial=0)).sum() :]
    count, open_ = len(unfelt), [name for name, column in zip(COMPONENTS, unfelt.T) if np.abs(column).max() > 1e-9]
    raise InputError(
        f"the wrench at frame {frame!r} is not determined{named(where)}: the joints do not feel {count} of its 6 directions, in "
        f"which {', '.join(open_)} may change together. Give scale=, a length in m by which moments are divided, for the "
        "smallest; or moment=False for a contact that transmits forces only"
    )
