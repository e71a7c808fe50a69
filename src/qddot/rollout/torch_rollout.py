"""Rollouts of PyTorch tensors: the whole rollout is one function, whose gradient goes back through its steps (see `adjoint`)."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from qddot.arrays.on_device import wants_gradient
from qddot.arrays.on_host import has_tangent
from qddot.arrays.torch_calls import common_dtype, is_transformed
from qddot.compile.kinds import is_on_gpu
from qddot.errors import InputError
from qddot.rollout.start import States

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout

NAMES = ("q0", "qd0", "control", "parameters", "variables")


@torch.compiler.disable(
    reason="a rollout of qddot is machine code that torch.compile cannot enter: leave fullgraph=True out, and the rest is compiled"
)
def rollout(run: Rollout, given: Mapping[str, Any], variables: Any, steps: int | None, every: int, check: bool | str) -> States:
    """The states as tensors; gradients of first order.

    Raises:
        InputError: tensors without values, or other derivatives than those of `loss.backward()`.
    """
    if is_transformed():
        raise InputError(
            "a rollout runs outside of torch.compile and torch.func: hand over all motions at once, as leading dimensions, instead "
            "of vmap, and call loss.backward() or torch.autograd.grad instead of torch.func.grad"
        )
    arrays = {**given, **(variables if isinstance(variables, Mapping) else {"variables": variables})}
    for name, x in arrays.items():
        if has_tangent(x):
            raise InputError(
                f"{name} has a tangent of forward mode, which a rollout cannot follow: call loss.backward() on its states, or use "
                "JAX arrays, which have both modes"
            )
    if is_on_gpu(given["q0"]) and not wants_gradient(arrays.values()):
        from qddot.rollout.on_device import on_device

        return on_device(run, dict(given), variables, steps, every, check)
    given = run.in_kind(given, variables)
    common_dtype("rollout", {name: x for name, x in given.items() if x is not None}, {})
    return States(*Through.apply(run, steps, every, check, *(given[name] for name in NAMES)))


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, steps, every, check, *tensors):
        numbers = dict(zip(NAMES, (None if x is None else inside(x) for x in tensors)))
        dtype = None if tensors[0].is_cuda else numbers["q0"].dtype  # type: ignore[union-attr]
        if any(ctx.needs_input_grad):
            variables = numbers.pop("variables")
            ctx.save_for_backward(*tensors)  # of which `way` keeps the memory: PyTorch notes who writes it
            ctx.way = run.way(numbers, variables, steps, every, dtype)
            states = ctx.way.states
        else:
            states = run(**numbers, steps=steps, every=every, dtype=dtype, check=check)
        return torch.as_tensor(states.q), torch.as_tensor(states.qd)

    @staticmethod
    def backward(ctx, q, qd):
        if torch.is_grad_enabled():  # as by create_graph=True: what is returned would count as a constant
            raise InputError("gradients of a rollout are of first order in PyTorch: leave create_graph out, or use JAX arrays")
        _ = ctx.saved_tensors  # an error where one was written since
        found = ctx.way(inside(q), inside(qd))
        slopes = [None if x is None else torch.as_tensor(x) for x in found]
        return None, None, None, None, *(x if needed else None for x, needed in zip(slopes, ctx.needs_input_grad[4:]))


def inside(x: torch.Tensor) -> Any:
    """The numbers of a tensor, as a rollout takes them: an array on the CPU, the tensor itself on a GPU."""
    return x.detach() if x.is_cuda else x.detach().numpy()
