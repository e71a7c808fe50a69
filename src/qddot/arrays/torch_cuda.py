"""PyTorch tensors on a GPU: what the dispatcher calls for them."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from qddot.arrays.on_device import OnDevices, TorchTensors, rows
from qddot.arrays.operation import Operation

HANDLE = TorchTensors()

current_stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", None) or HANDLE.stream


class Call(NamedTuple):
    """Figures of one call, from the shape of its first tensor: shape, size and core of each input, shapes of outputs, and how many
    states. Most calls are like the one before."""

    first: torch.Size
    inputs: tuple[tuple[torch.Size, int, tuple[int, ...]], ...]
    outputs: tuple[torch.Size, ...]
    states: int


def cuda_kernel(operation: Operation) -> Callable[..., Any]:
    """The operation for tensors on a GPU; on the current stream, without waiting for it."""
    program, devices, dtype = operation.program, operation.once(OnDevices), getattr(torch, operation.dtype.name)
    cores = [x.shape for x in program.inputs]
    sizes = [x.size for x in program.inputs]
    outputs = [x.shape for x in program.outputs]
    first_rank, single, kernels = len(cores[0]), len(outputs) == 1, devices.kernels
    known = Call(torch.Size(), (), (), 0)

    def looked_at(shape: torch.Size) -> Call:
        lead = shape[: len(shape) - first_rank]
        shapes, results = ([torch.Size((*lead, *core)) for core in some] for some in (cores, outputs))
        return Call(shape, tuple(zip(shapes, sizes, cores)), tuple(results), math.prod(lead))

    def run(*tensors: torch.Tensor) -> Any:
        nonlocal known
        first = tensors[0]
        number, call = first.get_device(), known
        if first.shape != call.first or not call.inputs:
            known = call = looked_at(first.shape)
        kernel = kernels.get(number) or devices.kernel(number)
        numbers, kept = [call.states], []
        for t, (shape, size, core) in zip(tensors, call.inputs, strict=True):
            if t.dtype != dtype or t.get_device() != number or t.shape != shape:
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
        made = [first.new_empty(shape) for shape in call.outputs]
        numbers += [x.data_ptr() for x in made]
        numbers.append(kernel.unwatched.pointer)
        kernel.start(call.states, numbers, current_stream(number))
        return made[0] if single else tuple(made)

    return run
