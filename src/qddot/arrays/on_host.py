"""Methods that compute with NumPy and SciPy, for arrays of other libraries: these are converted without a copy, and results back.

Gradients cannot go through such methods, so an array whose gradient is recorded is refused. A result that is an object, such as a
trajectory, computes with NumPy; `InKind` around it converts its arrays.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from qddot.arrays.dlpack_calls import seen, taker
from qddot.compile.kinds import CPU, is_on_gpu, library_of, mixed
from qddot.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

INSTEAD = {"simulate": ", or take robot.rollout, which can"}
"""Method -> the alternative that has gradients, for errors."""


def on_host(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method for NumPy arrays, so that it takes all arrays with values in the CPU's memory."""
    return for_libraries(method, lambda _: True)


def on_host_without_programs(method: Callable[P, R]) -> Callable[P, R]:
    """Wrap a method that has its own code for PyTorch, JAX and arrays on a GPU, so that it takes all other arrays with DLPack."""
    return for_libraries(method, lambda x: library_of(x) == "dlpack" and not is_on_gpu(x))


def for_libraries(method: Callable[P, R], is_seen: Callable[[Any], bool]) -> Callable[P, R]:
    """Wrap a method so that arrays of other libraries for which `is_seen` is true are converted to NumPy's, and results back."""

    @wraps(method)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        if "variables" in options and {"variables", "options"}.isdisjoint(inspect.signature(method).parameters):
            name = method.__name__
            raise InputError(f"{name} takes no variables: robot.with_values({{...}}).{name}(...) is one robot with such numbers")
        if InKind in map(type, arguments):
            arguments = tuple(x._seen if type(x) is InKind else x for x in arguments)  # type: ignore[assignment]
        for x in found_in((*arguments, *options.values())):
            if library_of(x):
                return answered(method, arguments, options) if is_seen(x) else method(*arguments, **options)
        return method(*arguments, **options)

    return call


def found_in(values: tuple) -> list[Any]:
    """Return the arguments, with the values of a dictionary instead of it."""
    return [y for x in values for y in (x.values() if type(x) is dict else (x,))]


def answered(method: Callable, arguments: tuple, options: Mapping[str, Any]) -> Any:
    """Return the method's result with arrays of the arguments' library. Raises InputError: arrays of two libraries or types, on a
    device, without values, or with a gradient that would be lost."""
    names = [name for name, x in inspect.signature(method).parameters.items() if x.kind is not x.KEYWORD_ONLY]
    given = [*zip([*names, *[names[-1]] * len(arguments)], arguments), *options.items()]
    flat = [
        pair for name, x in given for pair in ([(f"{name}[{k!r}]", y) for k, y in x.items()] if type(x) is dict else [(name, x)])
    ]
    first, like = next((name, x) for name, x in flat if library_of(x))

    def read(name: str, x: Any) -> Any:
        if type(x) is dict:
            return {key: read(f"{name}[{key!r}]", y) for key, y in x.items()}
        return as_numpy(method.__name__, name, x, first, like)

    back, values = in_kind_of(first, like), [read(name, x) for name, x in given]
    return shown(method(*values[: len(arguments)], **dict(zip(options, values[len(arguments) :]))), back)


def as_numpy(method: str, name: str, x: Any, first: str, like: Any) -> Any:
    """Return an array as a NumPy array without a copy, anything else as it is. Raises InputError: as `answered`."""
    library = library_of(x)
    if library is None and not isinstance(x, np.ndarray):
        return x
    if library != library_of(like):
        raise mixed(name, x, first, like)
    if library == "torch":
        found = of_torch(method, name, x)
    elif library == "jax":
        found = of_jax(method, name, x)
    else:
        if x.__dlpack_device__()[0] != CPU:
            raise InputError(f"{name} is on a device, and {method} is computed with NumPy: copy it to the CPU's memory")
        found = seen(name, x)
    if found.dtype not in (np.float64, np.float32):
        raise InputError(f"{name} holds {found.dtype}, float64 or float32 is needed")
    if getattr(x, "dtype", None) != getattr(like, "dtype", None):
        raise InputError(f"{name} holds {x.dtype}, but {first} holds {like.dtype}: make them one type")
    return found


def of_torch(method: str, name: str, x: Any) -> np.ndarray:
    """Return a PyTorch tensor as a NumPy array. Raises InputError: as `answered`."""
    import torch

    instead = INSTEAD.get(method, "")
    if torch.compiler.is_compiling() or torch._C._functorch.peek_interpreter_stack() is not None:
        raise InputError(
            f"{name} has no values within torch.compile and torch.func, and {method} needs them: call it outside{instead}"
        )
    if has_tangent(x):
        raise InputError(f"{name} has a tangent of forward mode, and {method} cannot follow it: hand over {name}.detach(){instead}")
    if x.requires_grad and torch.is_grad_enabled():
        raise InputError(f"{name} has a gradient, and {method} cannot follow it: hand over {name}.detach(){instead}")
    if x.device.type != "cpu":
        raise InputError(f"{name} is on {x.device}, and {method} is computed on the CPU: hand over {name}.cpu()")
    if x.is_nested:
        raise InputError(f"{name} is a nested tensor: {name}.to_padded_tensor(0.0) makes one shape of it, or torch.stack its parts")
    if x.layout != torch.strided:
        raise InputError(f"{name} is sparse: {name}.to_dense()")
    if x.dtype.is_complex:
        raise InputError(f"{name} holds {x.dtype}: real numbers are needed, float64 or float32")
    if x.dtype not in (torch.float64, torch.float32):
        raise InputError(f"{name} holds {x.dtype}, float64 or float32 is needed: {name}.double()")
    return x.detach().numpy()


def of_jax(method: str, name: str, x: Any) -> np.ndarray:
    """Return a JAX array as a NumPy array. Raises InputError: as `answered`."""
    import jax

    if isinstance(x, jax.core.Tracer):
        raise InputError(
            f"{name} has no values within jit, grad and vmap, and {method} needs them: call it outside{INSTEAD.get(method, '')}"
        )
    if any(device.platform != "cpu" for device in x.devices()):
        raise InputError(
            f"{name} is on a device, and {method} is computed on the CPU: jax.device_put({name}, jax.devices('cpu')[0])"
        )
    return np.asarray(x)


def has_tangent(x: Any) -> bool:
    """Return True for a PyTorch tensor with a tangent of forward mode."""
    if library_of(x) != "torch":
        return False
    from torch.autograd import forward_ad

    return forward_ad._current_level >= 0 and forward_ad.unpack_dual(x).tangent is not None


def in_kind_of(name: str, like: Any) -> Callable[[np.ndarray], Any]:
    """Return the function, which can be pickled, from NumPy arrays to those of a library; floats get the type of `like`."""
    library = library_of(like)
    if library == "torch":
        return partial(to_torch, like.dtype)
    if library == "jax":
        return partial(to_jax, like.dtype)
    return partial(to_other, taker(name, like), seen(name, like).dtype == np.float32)


def to_torch(dtype: Any, x: np.ndarray) -> Any:
    import torch

    found = torch.from_numpy(x if x.flags.writeable and min(x.strides, default=0) >= 0 else x.copy())
    return found.to(dtype) if found.is_floating_point() else found


def to_jax(dtype: Any, x: np.ndarray) -> Any:
    import jax.numpy as jnp

    return jnp.asarray(x, dtype if x.dtype.kind == "f" else None)


def to_other(hand_over: Callable[[np.ndarray], Any], single: bool, x: np.ndarray) -> Any:
    return hand_over(x.astype(np.float32) if single and x.dtype.kind == "f" else np.array(x, copy=None))


def shown(result: Any, back: Callable[[np.ndarray], Any]) -> Any:
    """Return a result with its NumPy arrays converted to another library's."""
    if isinstance(result, (np.ndarray, np.generic)):
        return back(np.asarray(result))
    if isinstance(result, tuple):
        parts = [shown(x, back) for x in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if is_dataclass(result) and not isinstance(result, type):
        return InKind(result, back)
    return result


class InKind:
    """A proxy of an object that computes with NumPy: all arrays that it returns are those of another library."""

    def __init__(self, seen: Any, back: Callable[[np.ndarray], Any]) -> None:
        self._seen, self._back = seen, back

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return type(self._seen)

    def __reduce__(self) -> tuple:
        return InKind, (self._seen, self._back)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._seen, name)
        if inspect.ismethod(found):
            own = found.__func__
            return lambda *arguments, **options: shown(on_host(own)(self._seen, *arguments, **options), self._back)
        return shown(found, self._back)

    def __getitem__(self, key: Any) -> Any:
        return shown(self._seen[key], self._back)

    def __len__(self) -> int:
        return len(self._seen)

    def __iter__(self) -> Iterator[Any]:
        return (shown(x, self._back) for x in self._seen)

    def __repr__(self) -> str:
        return repr(self._seen)
