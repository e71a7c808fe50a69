"""Rollouts of PyTorch tensors: the whole rollout is one function, whose gradient goes back through its steps (see `adjoint`)."""

# pyright: reportMissingImports=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import once_differentiable

from qddot.arrays.torch_calls import common_dtype, is_transformed
from qddot.errors import InputError
from qddot.rollout.rollout import States

if TYPE_CHECKING:
    from qddot.rollout.rollout import Rollout

NAMES = ("q0", "qd0", "control", "parameters", "variables")


def rollout(run: Rollout, given: Mapping[str, Any], steps: int | None, every: int) -> States:
    """The states as tensors; gradients of first order."""
    tensors = {name: x for name, x in given.items() if x is not None}
    common_dtype("rollout", tensors, {})
    if is_transformed():
        raise InputError("a rollout runs outside of torch.compile and torch.func: call it on tensors, and loss.backward() after")
    return States(*Through.apply(run, steps, every, *(given[name] for name in NAMES)))


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, run, steps, every, *tensors):
        arrays = [None if x is None else x.detach().numpy() for x in tensors]
        numbers = dict(zip(NAMES, arrays))
        dtype = numbers["q0"].dtype  # type: ignore[union-attr]
        options = {"steps": steps, "every": every, "dtype": dtype}
        if any(ctx.needs_input_grad):
            ctx.way = run.differentiable(**numbers, **options)
            states = ctx.way.states
        else:
            states = run(**numbers, **options)
        return torch.from_numpy(states.q), torch.from_numpy(states.qd)

    @staticmethod
    @once_differentiable
    def backward(ctx, q, qd):
        found = ctx.way(q.detach().numpy(), qd.detach().numpy())
        slopes = [None if x is None else torch.from_numpy(x) for x in found]
        return None, None, None, *(x if needed else None for x, needed in zip(slopes, ctx.needs_input_grad[3:]))
