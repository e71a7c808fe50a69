"""Rollouts of PyTorch tensors: the whole rollout is one autograd function, whose backward is that of `adjoint`.

Under the transforms of `torch.func`, in forward mode and for second derivatives it is one operator a step, which supports them all.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from qddot.arrays.on_device import wants_gradient
from qddot.arrays.on_host import has_tangent
from qddot.arrays.torch_calls import NAMES as TYPES
from qddot.arrays.torch_calls import common_dtype, evenly, is_transformed
from qddot.arrays.torch_guest import called, is_followed, outer, recorded
from qddot.compile.kinds import is_on_gpu
from qddot.rollout.adjoint import STATE
from qddot.rollout.start import States
from qddot.rollout.step_by_step import stepping

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout

NAMES = ("q0", "qd0", "control", "parameters", "variables")


@torch.compiler.disable(
    reason="a rollout of qddot is machine code that torch.compile cannot enter: leave fullgraph=True out, and the rest is compiled"
)
def rollout(run: Rollout, given: Mapping[str, Any], variables: Any, steps: int | None, every: int, check: bool | str) -> States:
    """Return the states as tensors."""
    arrays = {**given, **(variables if isinstance(variables, Mapping) else {"variables": variables})}
    tangents, transformed = any(map(has_tangent, arrays.values())), is_transformed()
    if is_on_gpu(given["q0"]) and not (transformed or tangents or wants_gradient(arrays.values())):
        from qddot.rollout.on_device import on_device

        return on_device(run, dict(given), variables, steps, every, check)
    given = run.in_kind(given, variables)
    tensors = {name: x for name, x in given.items() if x is not None}
    common_dtype("rollout", tensors, {})
    if transformed:  # tensors have no values that could be checked
        return step_by_step(run, tensors, steps, every)
    if tangents:
        values = {name: x.detach() for name, x in tensors.items()}
        run(**values, steps=steps, every=every, check=check)  # raises the errors
        return step_by_step(run, tensors, steps, every)
    return States(*Through.apply(run, steps, every, check, *(given[name] for name in NAMES)))


def step_by_step(run: Rollout, tensors: Mapping[str, torch.Tensor], steps: int | None, every: int) -> States:
    """Return the states by one operator a step, differentiable to any order in both modes. Memory grows with the steps."""
    all_steps = stepping(run, tensors, steps, every, np.dtype(TYPES[tensors["q0"].dtype]))
    operation, control = all_steps.operation, all_steps.control
    way, along = outer(operation) if is_transformed() else recorded(operation), [all_steps.state]
    state: dict[str, Any] = all_steps.state
    for k in range(all_steps.count):
        inputs = all_steps.inputs(state, k, control[k] if all_steps.changes else None)
        state = dict(zip(STATE, called(operation, way, evenly(operation, inputs))))
        if (k + 1) % every == 0:
            along.append(state)
    return States(*(torch.stack([state[name] for state in along]) for name in STATE))


class Through(torch.autograd.Function):
    """The whole rollout as one function of PyTorch's autograd."""

    @staticmethod
    def forward(ctx, run, steps, every, check, *tensors):
        numbers = dict(zip(NAMES, (None if x is None else inside(x) for x in tensors)))
        dtype = None if tensors[0].is_cuda else numbers["q0"].dtype  # type: ignore[union-attr]
        if any(ctx.needs_input_grad):
            variables = numbers.pop("variables")
            ctx.save_for_backward(*tensors)  # `way` keeps their memory: PyTorch then notices if it is written to
            ctx.way, ctx.asked = run.way(numbers, variables, steps, every, dtype), (run, steps, every)
            states = ctx.way.states
        else:
            states = run(**numbers, steps=steps, every=every, dtype=dtype, check=check)
        return torch.as_tensor(states.q), torch.as_tensor(states.qd)

    @staticmethod
    def backward(ctx, q, qd):
        many = is_transformed() or any(map(torch._C._functorch.is_legacy_batchedtensor, (q, qd)))  # by vmap, is_grads_batched=True
        if is_followed() or many:
            found = slopes_again(ctx.asked, ctx.saved_tensors, ctx.needs_input_grad[4:], (q, qd))
            return None, None, None, None, *found
        _ = ctx.saved_tensors  # raises an error if one was written to since
        found = ctx.way(inside(q), inside(qd))
        slopes = [None if x is None else torch.as_tensor(x) for x in found]
        return None, None, None, None, *(x if needed else None for x, needed in zip(slopes, ctx.needs_input_grad[4:]))


def slopes_again(asked: tuple[Rollout, int | None, int], tensors: tuple, needed: tuple[bool, ...], weights: tuple) -> list[Any]:
    """Return slopes that can be differentiated again, None where not needed: the motion is run again, with all steps recorded."""
    create_graph = torch.is_grad_enabled()
    with torch.enable_grad():
        given = {name: x.view_as(x) for name, x in zip(NAMES, tensors) if x is not None}  # views: one tensor may be given twice
        wanted = [given[name] for name, wanted in zip(NAMES, needed) if wanted]
        run, steps, every = asked
        states = step_by_step(run, given, steps, every)
        found = iter(torch.autograd.grad(states, wanted, weights, create_graph=create_graph))
    return [next(found) if wanted else None for wanted in needed]


def inside(x: torch.Tensor) -> Any:
    """Return a tensor's values as a rollout takes them: an array on the CPU, the detached tensor on a GPU."""
    return x.detach() if x.is_cuda else x.detach().numpy()
