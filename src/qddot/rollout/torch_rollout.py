"""Rollouts of PyTorch tensors: the whole rollout is one function, whose gradient goes back through its steps (see `adjoint`)."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from qddot.arrays.torch_calls import common_dtype, is_transformed
from qddot.errors import InputError
from qddot.rollout.start import States

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout

NAMES = ("q0", "qd0", "control", "parameters", "variables")


def rollout(run: Rollout, given: Mapping[str, Any], steps: int | None, every: int, check: bool | str) -> States:
    """The states as tensors; gradients of first order."""
    tensors = {name: x for name, x in given.items() if x is not None}
    common_dtype("rollout", tensors, {})
    if is_transformed():
        raise InputError("a rollout runs outside of torch.compile and torch.func: call it on tensors, and loss.backward() after")
    return States(*Through.apply(run, steps, every, check, *(given[name] for name in NAMES)))


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, steps, every, check, *tensors):
        numbers = dict(zip(NAMES, (None if x is None else inside(x) for x in tensors)))
        dtype = None if tensors[0].is_cuda else numbers["q0"].dtype  # type: ignore[union-attr]
        options = {"steps": steps, "every": every, "dtype": dtype}
        if any(ctx.needs_input_grad):
            ctx.way = run.differentiable(**numbers, **options)
            states = ctx.way.states
        else:
            states = run(**numbers, **options, check=check)
        return torch.as_tensor(states.q), torch.as_tensor(states.qd)

    @staticmethod
    def backward(ctx, q, qd):
        if torch.is_grad_enabled():  # as by create_graph=True: what is returned would count as a constant
            raise InputError("gradients of a rollout are of first order in PyTorch: leave create_graph out, or use JAX arrays")
        found = ctx.way(inside(q), inside(qd))
        slopes = [None if x is None else torch.as_tensor(x) for x in found]
        return None, None, None, None, *(x if needed else None for x, needed in zip(slopes, ctx.needs_input_grad[4:]))


def inside(x: torch.Tensor) -> Any:
    """The numbers of a tensor, as a rollout takes them: an array on the CPU, the tensor itself on a GPU."""
    return x.detach() if x.is_cuda else x.detach().numpy()
