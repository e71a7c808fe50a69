"""Checks of the arrays for a kernel: real, finite numbers of the right shape. Anything else is an `InputError` with its place."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from qddot.compile.kinds import guest_refused, library_of, list_refused
from qddot.compile.peaks import FAR
from qddot.errors import InputError, InputWarning, stacklevel_outside
from qddot.model.configuration import QUATERNION_TOLERANCE
from qddot.model.lower import Mechanism

DOUBLE = np.dtype(np.float64)

PLAIN = {float, int, np.float64}
"""Types of numbers in lists that are converted without further checks."""

FEW = 4096
"""Number of elements of an array from which on a copy takes as long as the checks of the ordinary method."""


def as_array(name: str, value: object, shape: tuple[int, ...], dtype: np.dtype = DOUBLE, *, check: bool = True) -> np.ndarray:
    """Return an array (..., *shape) of the wanted type. Raises InputError: not real numbers, masked, the wrong shape, or (if
    `check`) not finite."""
    if type(value) is np.ndarray and value.dtype is dtype and value.shape[value.ndim - len(shape) :] == shape:
        array = value  # the usual case
    else:
        array = converted(name, value, shape, dtype)
    if check and array.size and not extent(array) < np.inf:
        index = first_index(~np.isfinite(array))
        raise InputError(f"{name}{list(index) if index else ''} is {array[index]}: inputs must be finite")
    return array


def converted(name: str, value: object, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return anything that holds real numbers as an array (..., *shape) of the wanted type. Raises InputError: as `as_array`."""
    wanted = f"(..., {', '.join(map(str, shape))})"
    if value is None:
        raise InputError(f"{name} is None: an array {wanted} is needed")
    if library_of(value) not in (None, "dlpack"):
        raise guest_refused(name, value)
    if isinstance(value, (list, tuple)) and value and library_of(value[0]) not in (None, "dlpack"):
        raise list_refused(name, value[0])
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise InputError(f"{name} has masked elements, first at {first_index(np.ma.getmaskarray(value))}: fill them")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise InputError(f"{name} is not an array {wanted}: {error}") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name} holds {array.dtype} elements, real numbers are needed")
    if array.dtype.itemsize > 8 and array.dtype.kind == "f":
        warnings.warn(f"{name} is {array.dtype}: computed in {dtype}", InputWarning, stacklevel=stacklevel_outside())
    if array.ndim == 0 and shape == (1,):
        array = array[None]
    if array.ndim < len(shape) or array.shape[array.ndim - len(shape) :] != shape:
        raise InputError(f"{name} has shape {array.shape}, expected {wanted}")
    with np.errstate(all="ignore"):  # a number too large for float32 is reported as infinite
        return array.astype(dtype, copy=False)


def densely(arguments: Sequence[object]) -> list[object] | None:
    """Return the arguments of a call with its lists of numbers, and its small arrays of other types or strides, as dense float64
    arrays, which direct entries take. None if there are no such arguments, or others that only the ordinary method knows."""
    found: list[object] = []
    changed = False
    for x in arguments:
        if type(x) is list and PLAIN.issuperset(map(type, x)):
            x = np.array(x)
            changed = True
        if type(x) is np.ndarray:
            if x.dtype.kind not in "fiu" or x.itemsize > 8 or not 0 < x.size < FEW or x.ndim == 0:
                return None
            if x.dtype is not DOUBLE or x.strides[-1] != 8:
                if x.dtype.kind == "f" and x.itemsize < 8 and not np.isfinite(x).all():
                    return None
                x, given = np.empty(x.shape), x  # `np.array` would keep a dtype that is equal to DOUBLE, but another object
                x[...] = given
                changed = True
        elif not isinstance(x, str | None):
            return None
        found.append(x)
    return found if changed else None


def extent(array: np.ndarray) -> float:
    """Return the largest magnitude, or nan if an element is nan; without a copy of the array."""
    low, high = array.min(), array.max()
    return float(-low if -low > high else high)


def first_index(mask: np.ndarray) -> tuple[int, ...]:
    """Return the index of the first true element."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def check_configuration(q: np.ndarray, mechanism: Mechanism) -> np.ndarray:
    """Return q with its quaternions normalised. Raises InputError: the length of a quaternion is not 1 to 1e-6."""
    if q.size and extent(q) > FAR:
        warn_far(q, mechanism)
    for joint in mechanism.coordinates if mechanism.nq != mechanism.nv else ():
        if joint.parts[0].quaternion:
            q = with_unit_quaternion(q, joint.name, joint.q.start)
    return q


def warn_far(q: np.ndarray, mechanism: Mechanism) -> None:
    """Warn of joints with a very large angle (for a planar joint, the last coordinate)."""
    far = [c.name for c in mechanism.coordinates if c.parts[-1].angle and np.abs(q[..., c.q.stop - 1]).max() > FAR]
    if far:
        text = f"q of joint {', '.join(map(repr, far))} exceeds {FAR:g} rad: precision is lost; are these degrees or counts?"
        warnings.warn(text, InputWarning, stacklevel=stacklevel_outside())


def with_unit_quaternion(q: np.ndarray, name: str, start: int) -> np.ndarray:
    """Return a copy of q with the quaternion at `start` normalised. Raises InputError: its length is not 1."""
    part = q[..., start : start + 4]
    with np.errstate(all="ignore"):
        w, x, y, z = (part[..., k : k + 1] for k in range(4))
        length = np.sqrt(w * w + x * x + y * y + z * z)  # the direct entry sums in the same order
    wrong = np.abs(length - 1) > QUATERNION_TOLERANCE
    if wrong.any():
        index = first_index(wrong[..., 0])
        where = "".join(f"{i}, " for i in index) + f"{start}:{start + 4}"
        raise InputError(f"q[{where}] of joint {name!r} is a quaternion wxyz of length {length[index][0]:.6g}, not 1: normalise it")
    q = q.copy()
    q[..., start : start + 4] = part / length
    return q
