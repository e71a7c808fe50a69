"""Calls with JAX arrays: their checks and errors, and the way to the primitives."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from qddot.arrays.jax_guest import value_p
from qddot.arrays.late import check_values
from qddot.arrays.operation import Operation, leads, misfit
from qddot.compile.kinds import library_of, mixed
from qddot.errors import InputError

if TYPE_CHECKING:
    from qddot.arrays.guests import Guests


def compute(guests: Guests, quantity: str, inputs: Mapping[str, Any], options: Mapping[str, Any], fixed: tuple) -> Any:
    """Return a quantity of JAX arrays, or of tracers, as arrays of the same type."""
    dtype = common_dtype(inputs, options)
    operation = guests.operation(quantity, dtype, "wrench" in inputs, fixed)
    found = operation.once(compiled)(*(inputs[x.name] for x in operation.program.inputs))
    if not options and not fixed and "variables" not in inputs and not any(isinstance(x, jax.core.Tracer) for x in inputs.values()):
        keep_direct(guests, quantity, operation, found[0])
    if options.get("check"):
        if any(isinstance(x, jax.core.Tracer) for x in (*inputs.values(), *found)):
            raise InputError("check=True needs values, and within jit, grad or vmap there are none: check outside")
        arrays = {name: np.asarray(x) for name, x in inputs.items()}
        check_values(guests, quantity, operation, arrays, fixed, all(bool(jnp.isfinite(x).all()) for x in found))
    return found[0] if len(found) == 1 else tuple(found)


def keep_direct(guests: Guests, quantity: str, operation: Operation, like: jax.Array) -> None:
    """Let calls with arrays of this type go to the compiled function directly; shapes are checked when it is traced."""
    kind, dtype, call, single = type(like), operation.dtype, operation.once(compiled), len(operation.program.outputs) == 1
    if kind in guests.direct.get(quantity, ()):
        return

    def direct(*arrays: Any) -> Any:
        for a in arrays:
            if type(a) is not kind or a.dtype != dtype:
                return None
        if len(arrays) != len(operation.program.inputs):
            return None
        found = call(*arrays)
        return found[0] if single else found

    guests.keep(quantity, kind, direct, direct)


def common_dtype(inputs: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the name of the type of all inputs. Raises InputError: arrays of other libraries, several types or unsupported ones,
    or an option that is not for JAX."""
    first, q = next((name, x) for name, x in inputs.items() if library_of(x))
    for name, x in inputs.items():
        if not isinstance(x, jax.Array):
            raise mixed(name, x, first, q)
        if np.issubdtype(x.dtype, np.complexfloating):
            raise InputError(f"{name} holds {x.dtype}: real numbers are needed, float64 or float32")
        if x.dtype not in (np.float64, np.float32):
            raise InputError(f"{name} holds {x.dtype}, float64 or float32 is needed: {name}.astype(jnp.float32)")
        if x.dtype != q.dtype:
            raise InputError(
                f"{name} holds {x.dtype}, but {first} holds {q.dtype}: {name}.astype({first}.dtype) makes them one type"
            )
    if options.get("out") is not None:
        raise InputError("out= is not for JAX arrays, which cannot be written: use the result")
    if options.get("threads") is not None:
        raise InputError("threads belongs to NumPy arrays: JAX has its own")
    asked = options.get("dtype")
    if asked is not None and np.dtype(asked) != q.dtype:
        raise InputError(
            f"dtype={np.dtype(asked)}, but {first} holds {q.dtype}: convert the arrays, {first}.astype(...), and leave dtype out"
        )
    return str(q.dtype)


def compiled(operation: Operation) -> Callable:
    """Return the operation as a function of arrays, which broadcasts leading dimensions; shapes are checked while JAX traces it."""

    def of(*arrays: Any) -> tuple:
        even = evenly(operation, arrays)
        if operation.is_empty:
            return constants(operation, even)
        return tuple(value_p.bind(*even, operation=operation))

    return jax.jit(of, inline=True)


def evenly(operation: Operation, arrays: Sequence[Any]) -> list[Any]:
    """Return the inputs with equal leading dimensions, except inputs of a single state, which keep none."""
    program = operation.program
    found = [a.reshape(1) if a.ndim == 0 and x.shape == (1,) else a for a, x in zip(arrays, program.inputs)]
    given = leads(program, found)
    try:
        lead = jnp.broadcast_shapes(*given)
    except ValueError:
        raise misfit(program, found) from None
    return [a if own in ((), lead) else jnp.broadcast_to(a, (*lead, *x.shape)) for a, own, x in zip(found, given, program.inputs)]


def constants(operation: Operation, arrays: Sequence[Any]) -> tuple:
    """Return the results for a robot without joints: constants if a quantity does not depend on q, else empty arrays."""
    lead = max((a.shape[: a.ndim - len(x.shape)] for a, x in zip(arrays, operation.program.inputs)), key=len)
    values = [np.array([float(v) for v in x.values], operation.dtype).reshape(x.shape) for x in operation.program.outputs]
    return tuple(jnp.broadcast_to(v, (*lead, *v.shape)) for v in values)
