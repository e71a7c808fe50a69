"""Which library an array belongs to, found without importing any; and the errors for arrays that do not go together."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from qddot.errors import InputError, as_written

CPU, CUDA = 1, 2  # kDLCPU, kDLCUDA

LIBRARIES = {"torch": "torch", "jax": "jax", "jaxlib": "jax"}
"""Root module of a type -> the library whose arrays we answer in kind."""

_known: dict[type, str | None] = {np.ndarray: None, list: None, tuple: None, float: None, int: None, type(None): None}


def library_of(value: Any) -> str | None:
    """`"torch"`, `"jax"`, or `"dlpack"` for anything else that speaks it; None for NumPy's arrays and plain numbers."""
    return library_of_type(type(value))


def is_on_gpu(x: Any) -> bool:
    """True of another library's array in the memory of an NVIDIA GPU."""
    if library_of(x) == "torch":  # under its transforms, and without memory, tensors have no DLPack
        import torch

        return x.is_cuda and torch.version.hip is None
    return library_of(x) is not None and hasattr(x, "__dlpack_device__") and int(x.__dlpack_device__()[0]) == CUDA


def library_of_type(kind: type) -> str | None:
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
    """The library of the first array that is none of NumPy's."""
    for value in values:
        if library := library_of(value):
            return library
    return None


def described(value: Any) -> str:
    """Name of the kind of an argument, for a message."""
    library = library_of(value)
    if library == "dlpack":
        return f"{type(value).__module__.partition('.')[0]}'s array"
    if library:
        return {"torch": "a PyTorch tensor", "jax": "a JAX array"}[library]
    return "a NumPy array" if isinstance(value, np.ndarray) else f"{type(value).__name__!r}"


def refuse_mixed(arrays: Mapping[str, Any]) -> None:
    """Refuse arguments of several libraries, of which one is not NumPy; None counts as not given."""
    first, like = next((name, x) for name, x in arrays.items() if library_of(x))
    for name, x in arrays.items():
        if x is not None and library_of(x) != library_of(like):
            raise mixed(name, x, first, like)


FIX = {"torch": "torch.as_tensor({0}, dtype={1}.dtype, device={1}.device)", "jax": "jnp.asarray({0}, dtype={1}.dtype)"}


def mixed(name: str, value: Any, other: str, first: Any) -> InputError:
    """The error for two arguments of different libraries."""
    if value is None or isinstance(value, (str, bytes, Mapping)):
        return InputError(f"{name}={as_written(value)} is no array: {described(first)} is needed, as {other} is")
    library = library_of(first) or "dlpack"
    fix = FIX.get(library, "hand over arrays of one library").format(name, other)
    return InputError(
        f"{name} is {described(value)}, but {other} is {described(first)}: nothing is copied from one to the other; {fix}"
    )


def guest_refused(name: str, value: Any) -> InputError:
    """The error where something is computed with NumPy and SciPy: no array is copied silently."""
    copy = {"torch": f"{name}.detach().cpu().numpy()", "jax": f"np.asarray({name})"}.get(
        library_of(value) or "", f"np.from_dlpack({name})"
    )
    return InputError(
        f"{name} is {described(value)}, and this is computed with NumPy: hand over {copy}, outside of jit and compile"
    )


def list_refused(name: str, first: Any) -> InputError:
    """The error for a list of arrays of another library, of which NumPy would make one of its own."""
    stack = {"torch": "torch", "jax": "jnp"}[library_of(first) or ""]
    return InputError(f"{name} is a list, of which the first is {described(first)}: {stack}.stack({name}) makes one of it")
