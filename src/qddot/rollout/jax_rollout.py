"""Rollouts of JAX arrays: `lax.scan` over the compiled step, so that they support every transform of JAX."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from qddot.arrays.jax_calls import common_dtype, compiled
from qddot.errors import InputError
from qddot.rollout.adjoint import STATE
from qddot.rollout.start import States, step_count
from qddot.rollout.step_by_step import stepping

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout


def rollout(run: Rollout, given: Mapping[str, Any], variables: Any, steps: int | None, every: int) -> States:
    """Return the states as JAX arrays; from a step without a result on they are NaN."""
    arrays = {name: x for name, x in run.in_kind(given, variables).items() if x is not None}
    if run.engine == "dask":
        raise InputError('engine="dask" is for NumPy arrays: JAX has jax.distributed; leave the engine out, or use np.asarray')
    dtype = np.dtype(common_dtype(arrays, {}))
    start = [arrays.get(name) for name in ("q0", "qd0", "variables")]
    if not any(isinstance(x, jax.core.Tracer) for x in start):  # tracers have no values to check
        q, qd, variables = (None if x is None else np.asarray(x) for x in start)
        run.refuse_start(q, qd, variables)  # type: ignore[arg-type]
    step_count(steps, every, arrays.get("control"))  # raises InputError unless they are whole numbers, as the key needs
    make = lambda: jax.jit(lambda arrays: scanned(run, arrays, steps, every, dtype))  # noqa: E731
    return run.once(("jax", steps, every, dtype.char), make)(arrays)  # without jit, a scan is compiled in every call


def scanned(run: Rollout, arrays: Mapping[str, Any], steps: int | None, every: int, dtype: np.dtype) -> States:
    """Return the states of all steps, as JAX traces them."""
    all_steps = stepping(run, arrays, steps, every, dtype)
    kernel, names = all_steps.operation.once(compiled), [x.name for x in all_steps.operation.program.inputs]

    def one(state, x):
        inputs = all_steps.inputs(state, *x)
        return dict(zip(STATE, kernel(*(inputs[name] for name in names)))), None

    def sample(state, x):
        state, _ = jax.lax.scan(one, state, x)
        return state, state

    times, control = jnp.arange(all_steps.count, dtype=dtype).reshape(-1, every), all_steps.control
    changing = control.reshape(-1, every, *control.shape[1:]) if all_steps.changes else None
    _, along = jax.lax.scan(sample, all_steps.state, (times, changing))
    return States(*(jnp.concatenate([all_steps.state[name][None], along[name]]) for name in STATE))
