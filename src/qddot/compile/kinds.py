"""The library that an array belongs to, found without importing any; and the errors for arrays of different libraries."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from qddot.errors import InputError, as_written

CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA

LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax"}
"""Root module of a type -> the library, for libraries whose arrays are answered with their own arrays."""

_known: dict[type, str | None] = {np.ndarray: None, list: None, tuple: None, float: None, int: None, type(None): None}


def library_of(value: Any) -> str | None:
    """Return `"torch"`, `"jax"`, or `"dlpack"` for any other array with that protocol; None for NumPy arrays and numbers."""
    return library_of_type(type(value))


def is_on_gpu(x: Any) -> bool:
    """Return True for another library's array in the memory of an NVIDIA GPU."""
    if library_of(x) == "torch":  # tensors under PyTorch's transforms, or without memory, have no DLPack
        import torch

        return x.is_cuda and torch.version.hip is None
    return library_of(x) is not None and hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) == CUDA


def library_of_type(kind: type) -> str | None:
    """Return `library_of` for arrays of this type."""
    if kind not in _known:
        _known[kind] = found_library(kind)
    return _known[kind]


library_of_type._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compile calls it while it traces


def found_library(kind: type) -> str | None:
    if issubclass(kind, (np.ndarray, np.generic)):
        return None
    for base in kind.__mro__:
        library = LIBRARIES.get(base.__module__.partition(".")[0])
        if library:
            return library
    return "dlpack" if hasattr(kind, "__dlpack__") else None


def guest(values: Iterable[Any]) -> str | None:
    """Return the library of the first array that is not NumPy's; None if there is none."""
    return next(filter(None, map(library_of, values)), None)


def described(value: Any) -> str:
    """Return a description of an argument's kind, for a message."""
    library = library_of(value)
    if library == "dlpack":
        return f"{type(value).__module__.partition('.')[0]}'s array"
    if library:
        return {"torch": "a PyTorch tensor", "jax": "a JAX array"}[library]
    return "a NumPy array" if isinstance(value, np.ndarray) else f"{type(value).__name__!r}"


def refuse_mixed(arrays: Mapping[str, Any]) -> None:
    """Refuse arguments of several libraries, given that one is not NumPy's; None counts as not given."""
    first, like = next((name, x) for name, x in arrays.items() if library_of(x))
    for name, x in arrays.items():
        if x is not None and library_of(x) != library_of(like):
            raise mixed(name, x, first, like)


FIX = {"torch": "torch.as_tensor({0}, dtype={1}.dtype, device={1}.device)", "jax": "jnp.asarray({0}, dtype={1}.dtype)"}


def mixed(name: str, value: Any, other: str, first: Any) -> InputError:
    """Return the error for two arguments of different libraries."""
    if value is None or isinstance(value, (str, bytes, Mapping)):
        return InputError(f"{name}={as_written(value)} is no array: {described(first)} is needed, as {other} is")
    library = library_of(first) or "dlpack"
    fix = FIX.get(library, "hand over arrays of one library").format(name, other)
    return InputError(
        f"{name} is {described(value)}, but {other} is {described(first)}: nothing is copied from one to the other; {fix}"
    )


def guest_refused(name: str, value: Any) -> InputError:
    """Return the error for an array of another library where NumPy computes: it is not copied silently."""
    copy = {"torch": f"{name}.detach().cpu().numpy()", "jax": f"np.asarray({name})"}.get(
        library_of(value) or "", f"np.from_dlpack({name})"
    )
    return InputError(
        f"{name} is {described(value)}, and this is computed with NumPy: hand over {copy}, outside of jit and compile"
    )


def list_refused(name: str, first: Any) -> InputError:
    """Return the error for a list of another library's arrays, which NumPy would convert silently."""
    stack = {"torch": "torch", "jax": "jnp"}[library_of(first) or ""]
    return InputError(f"{name} is a list, of which the first is {described(first)}: {stack}.stack({name}) makes one of it")
