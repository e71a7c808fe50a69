"""PyTorch tensors on a GPU: what the dispatcher calls for them."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from qddot.arrays.on_device import OnDevices, TorchTensors, rows
from qddot.arrays.operation import Operation

HANDLE = TorchTensors()

current_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", None) or HANDLE.stream


def cuda_kernel(operation: Operation) -> Callable[..., Any]:
    """The operation for tensors on a GPU; on the current stream, without waiting for it."""
    program, devices, dtype = operation.program, operation.once(OnDevices), getattr(torch, operation.dtype.name)
    cores = [x.shape for x in program.inputs]
    sizes = [x.size for x in program.inputs]
    outputs = [x.shape for x in program.outputs]
    first_rank, single, kernels = len(cores[0]), len(outputs) == 1, devices.kernels

    def run(*tensors: torch.Tensor) -> Any:
        first = tensors[0]
        number, lead = first.get_device(), first.shape[: first.ndim - first_rank]
        kernel = kernels.get(number) or devices.kernel(number)
        states = math.prod(lead)
        numbers, kept = [states], []
        for t, core, size in zip(tensors, cores, sizes, strict=True):
            if t.dtype != dtype or t.get_device() != number or t.shape != (*lead, *core):
                raise RuntimeError(f"{program.name} needs {dtype} tensors of one device and leading shape")
            if t.is_contiguous():
                numbers += (t.data_ptr(), size)
            else:
                found = rows(HANDLE.view(t), core)
                if found is None:
                    kept.append(t := t.contiguous())
                    numbers += (t.data_ptr(), size)
                else:
                    numbers += found[:2]
        made = [first.new_empty((*lead, *shape)) for shape in outputs]
        numbers += [x.data_ptr() for x in made]
        numbers.append(kernel.unwatched.pointer)
        kernel.start(states, numbers, current_stream(number))
        return made[0] if single else tuple(made)

    return run
