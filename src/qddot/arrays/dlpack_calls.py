"""Calls with arrays of any library that has DLPack, on the CPU: they become NumPy arrays without a copy, and results are converted
back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.compile.kinds import CPU, is_on_gpu, library_of, mixed
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.arrays.guests import Guests


def compute(guests: Guests, quantity: str, inputs: Mapping[str, Any], options: Mapping[str, Any], fixed: tuple) -> Any:
    """Return a quantity of DLPack arrays, as arrays of their library. Raises InputError: arrays of several libraries or types, on
    another device, or of a library without `from_dlpack`."""
    first, q = next((name, x) for name, x in inputs.items() if library_of(x))
    if is_on_gpu(q):
        from qddot.arrays.cuda_calls import compute as on_gpu

        return on_gpu(guests, quantity, inputs, options, fixed)
    arrays = {}
    for name, x in inputs.items():
        if type(x) is not type(q):
            raise mixed(name, x, first, q)
        if x.__dlpack_device__()[0] != CPU:
            raise InputError(f"{name} is neither in the CPU's memory nor in that of an NVIDIA GPU: copy it there")
        arrays[name] = seen(name, x)
    kinds = {a.dtype for a in arrays.values()}
    if len(kinds) > 1 or not kinds <= {np.dtype(np.float64), np.dtype(np.float32)}:
        shown = ", ".join(f"{name} {a.dtype}" for name, a in arrays.items())
        raise InputError(f"inputs must all be float64, or all float32: {shown}")
    if options.get("out") is not None:
        raise InputError(f"out= is not for arrays of {type(q).__module__.partition('.')[0]}: use the result")
    back = taker(first, q)
    found = guests.evaluate(quantity, arrays, {**options, "dtype": kinds.pop()}, **dict(fixed))  # type: ignore[typeddict-item]
    results = [back(np.asarray(x)) for x in (found if isinstance(found, tuple) else (found,))]  # a single number is no array yet
    return tuple(results) if isinstance(found, tuple) else results[0]


def seen(name: str, x: Any) -> np.ndarray:
    """Return an array as a NumPy array that shares its memory. Raises InputError: its library does not allow that."""
    try:
        return np.from_dlpack(x)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} cannot be seen as a NumPy array: {error}") from None


def taker(name: str, x: Any) -> Callable[[np.ndarray], Any]:
    """Return the `from_dlpack` of an array's library. Raises InputError: there is none."""
    namespace: Any = (
        x.__array_namespace__() if hasattr(x, "__array_namespace__") else sys.modules.get(type(x).__module__.partition(".")[0])
    )
    if not hasattr(namespace, "from_dlpack"):
        raise InputError(f"{name} is a {type(x).__name__}, whose library has no from_dlpack: hand over np.from_dlpack({name})")
    return namespace.from_dlpack
