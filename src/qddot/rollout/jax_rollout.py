"""Rollouts of JAX arrays: `lax.scan` over the compiled step, so that every transform of JAX goes through them."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from qddot.arrays.jax_calls import common_dtype, compiled
from qddot.arrays.operation import for_guests, operation
from qddot.errors import InputError
from qddot.rollout.start import States, step_count
from qddot.rollout.step import STATES

if TYPE_CHECKING:
    from qddot.arrays.operation import Operation
    from qddot.rollout.rollout import Rollout


def rollout(run: Rollout, given: Mapping[str, Any], steps: int | None, every: int) -> States:
    """The states as JAX arrays; where a step has no result they are NaN."""
    arrays = {name: x for name, x in given.items() if x is not None}
    dtype = np.dtype(common_dtype(arrays, {}))
    control = arrays.get("control")
    count, changes = step_count(steps, every, control)
    if not any(isinstance(arrays[name], jax.core.Tracer) for name in ("q0", "qd0")):  # else there are no values to look at
        run.refuse_start(np.asarray(arrays["q0"]), np.asarray(arrays["qd0"]))
    step = step_operation(run, 0 if control is None else control.shape[-1], "parameters" in arrays, dtype)
    kernel, names = step.once(compiled), [x.name for x in step.program.inputs]
    rest = {name: arrays[name] for name in ("parameters", "variables") if name in arrays}
    leads = [x.shape[:-1] for x in (arrays["q0"], arrays["qd0"], *rest.values())]
    if control is not None:
        leads.append(control.shape[1 if changes else 0 : -1])
    try:
        lead = jnp.broadcast_shapes(*leads)
    except ValueError:
        raise InputError(
            f"leading dimensions of q0, qd0, control and parameters do not fit: {', '.join(map(str, leads))}"
        ) from None
    state = {name: jnp.broadcast_to(arrays[f"{name}0"], (*lead, arrays[f"{name}0"].shape[-1])) for name in ("q", "qd")}
    h = jnp.array([run.dt], dtype)

    def one(state, x):
        k, changing = x
        inputs = {**state, **rest, "t": k * h, "dt": h}
        if control is not None:
            inputs["control"] = changing if changes else control
        return dict(zip(STATES[run.method], kernel(*(inputs[name] for name in names)))), None

    def sample(state, x):
        state, _ = jax.lax.scan(one, state, x)
        return state, state

    times = jnp.arange(count, dtype=dtype).reshape(-1, every)
    changing = None if control is None or not changes else control.reshape(count // every, every, *control.shape[1:])
    _, along = jax.lax.scan(sample, state, (times, changing))
    return States(*(jnp.concatenate([state[name][None], along[name]]) for name in ("q", "qd")))


def step_operation(run: Rollout, controls: int, runtime: bool, dtype: np.dtype) -> Operation:
    key = (controls, runtime, dtype.char)
    if key not in run.operations:
        program = for_guests(run.step(controls, runtime).program(dtype), run.robot.model.mechanism, float(np.finfo(dtype).eps))
        run.operations[key] = operation(program, dtype)
    return run.operations[key]
