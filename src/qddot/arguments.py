"""Checks of function arguments: numbers, flags, words and paths. An invalid one raises an `InputError` that names the argument."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from qddot.errors import InputError, as_written, near_matches


def is_recorded(value: Any) -> bool:
    """True for a PyTorch tensor whose derivative is being recorded, by any of PyTorch's mechanisms."""
    if not hasattr(value, "requires_grad"):
        return False
    import torch  # pyright: ignore[reportMissingImports]
    from torch.autograd import forward_ad  # pyright: ignore[reportMissingImports]

    if torch._C._functorch.is_functorch_wrapped_tensor(value):
        return True
    moving = forward_ad._current_level >= 0 and forward_ad.unpack_dual(value).tangent is not None
    return moving or (value.requires_grad and torch.is_grad_enabled())


def gradients_shown() -> AbstractContextManager[Any]:
    """Return a context in which tensors computed from those with a gradient have one, too, so that `refuse_recorded` finds them.

    It is used while a user's function is traced: within PyTorch's own functions gradients may be switched off."""
    torch: Any = sys.modules.get("torch")
    return torch.enable_grad() if torch else nullcontext()


def refuse_recorded(name: str, value: Any) -> None:
    """Refuse a tensor with a gradient, or a list with one, where it would become a constant and its gradient be lost.

    It is refused even if gradients are not recorded at present: compiled code is kept, and may be used when they are.

    Raises:
        InputError: there is one.
    """
    for x in value if isinstance(value, (list, tuple)) else (value,):
        if is_recorded(x) or getattr(x, "requires_grad", False):
            raise InputError(
                f"{name} has a gradient, which would be lost: here it is a constant. Make it a part of the control of a rollout, "
                "or a variable of the robot (robot.with_variable), or hand over its .detach()"
            )


def real_array(name: str, value: object) -> np.ndarray:
    """Return real numbers, finite or not, as a new array of float64; masked ones are NaN. Raises InputError: not real numbers, or a
    tensor with a gradient."""
    refuse_recorded(name, value)
    try:
        array = np.asarray(np.ma.filled(np.ma.asarray(value, dtype=None), np.nan) if np.ma.isMaskedArray(value) else value)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is not an array of numbers: {error} (give rows of one length)") from None
    if array.dtype.kind not in "fiu":
        raise InputError(f"{name}={as_written(value)}: real numbers are needed")
    return array.astype(float)


def shape_of(name: str, value: Any) -> tuple[int, ...]:
    """Return the shape of an array, or of lists that would make one. Raises InputError: rows of different lengths."""
    try:
        return np.shape(value)
    except ValueError as error:
        raise InputError(f"{name} is not an array of numbers: {error} (give rows of one length)") from None


def finite_array(name: str, value: object, *, infinite: bool = False) -> np.ndarray:
    """Return real, finite numbers as an array of float64. `infinite`: permit infinities. Raises InputError: anything else."""
    array = real_array(name, value)
    if not (~np.isnan(array) if infinite else np.isfinite(array)).all():
        raise InputError(f"{name}={as_written(value)} has a value that is not {'a number' if infinite else 'finite'}: give numbers")
    return array


def finite_number(name: str, value: object) -> float:
    """Return a real number. Raises InputError: not a real number, or not finite."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    try:
        found = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:  # a whole number of hundreds of digits
        found = math.inf
    if not math.isfinite(found):
        raise InputError(f"{name}={as_written(value)}: a finite number is needed")
    return found


def positive_number(name: str, value: object) -> float:
    """Return a real number above zero. Raises InputError: not a real number, or not positive and finite."""
    try:
        found = finite_number(name, value)
    except InputError:
        found = 0.0
    if not found > 0:
        raise InputError(f"{name}={as_written(value)} is not a positive number: a finite one above zero is needed")
    return found


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number, at least `least`. Raises InputError: anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{name}={as_written(value)} is not a whole number from {least} on")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """Return True or False. Raises InputError: anything else."""
    if value is True or value is False:
        return value
    if not isinstance(value, int | np.bool_) or value not in (0, 1):
        raise InputError(f"{name}={as_written(value)} is neither True nor False")
    return bool(value)


def word(name: str, value: object, choices: Collection[str]) -> str:
    """Return one of some words. Raises InputError: anything else."""
    if not isinstance(value, str) or value not in choices:
        hint = near_matches(value, choices) if isinstance(value, str) else "give one of them"
        raise InputError(f"{name}={as_written(value)} is not one of {', '.join(map(repr, choices))}: {hint}")
    return value


def mapping(name: str, value: Any) -> Mapping[Any, Any]:
    """Return a dictionary, an empty one for None. Raises InputError: anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name}={as_written(value)} is not a dictionary: give {{name: value, ...}}")
    return value


def names(name: str, value: Any) -> tuple[str, ...]:
    """Return one name, or several, as a tuple. Raises InputError: anything else."""
    several = (value,) if isinstance(value, str) else value
    if not isinstance(several, Sequence) or not all(isinstance(one, str) for one in several):
        raise InputError(f"{name}={as_written(value)} is not a list of names")
    return tuple(several)


def random_numbers(seed: Any) -> np.random.Generator:
    """Return a generator of random numbers, given as such or by a seed. Raises InputError: neither."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise InputError(f"seed={as_written(seed)}: {error} (give a whole number from 0 on, or a generator)") from None


def file_path(name: str, value: object) -> Path:
    """Return a valid path, with `~` expanded. Raises InputError: not a path, or one with a NUL character."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str) or "\0" in os.fspath(value):
        raise InputError(f"{name}={as_written(value)} is not a path: give the name of a file as text")
    return Path(os.path.expanduser(value))
