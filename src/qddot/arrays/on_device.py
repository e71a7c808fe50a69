"""Arrays on a GPU: one interface for those of PyTorch and CuPy, and the kernels of an operation on each device."""

# pyright: reportMissingImports=false
from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from qddot.compile.gpu.device_kernel import DeviceKernel, Rows
from qddot.compile.gpu.driver import device
from qddot.compile.gpu.thread import Shape
from qddot.compile.kinds import library_of
from qddot.errors import InputError


class View(NamedTuple):
    """An array's memory: address, shape, strides in elements, type, and the number of its device."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: int


class TorchTensors:
    """The operations that are needed of PyTorch tensors on GPUs; `number` is the index of a device."""

    def view(self, x: Any) -> View:
        return View(x.data_ptr(), tuple(x.shape), x.stride(), str(x.dtype).rpartition(".")[2], x.get_device())

    def empty(self, shape: tuple[int, ...], dtype: str, number: int) -> Any:
        import torch

        return torch.empty(shape, dtype=getattr(torch, dtype), device=f"cuda:{number}")

    def zeros(self, shape: tuple[int, ...], dtype: str, number: int) -> Any:
        return self.empty(shape, dtype, number).zero_()

    def put(self, x: np.ndarray, number: int) -> Any:
        import torch

        return torch.from_numpy(x).to(f"cuda:{number}")

    def contiguous(self, x: Any) -> Any:
        return x.contiguous()

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(shape)

    def stream(self, number: int) -> int:
        """Return the current stream, on which the caller's work is ordered."""
        import torch

        return torch.cuda.current_stream(number).cuda_stream

    def on_host(self, x: Any) -> np.ndarray:
        return x.detach().cpu().numpy()


class CupyArrays:
    """The operations of `TorchTensors` for CuPy arrays."""

    def view(self, x: Any) -> View:
        return View(x.data.ptr, x.shape, tuple(s // x.itemsize for s in x.strides), str(x.dtype), x.device.id)

    def empty(self, shape: tuple[int, ...], dtype: str, number: int) -> Any:
        import cupy

        with cupy.cuda.Device(number):
            return cupy.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: str, number: int) -> Any:
        found = self.empty(shape, dtype, number)
        found.fill(0)
        return found

    def put(self, x: np.ndarray, number: int) -> Any:
        import cupy

        with cupy.cuda.Device(number):
            return cupy.asarray(x)

    def contiguous(self, x: Any) -> Any:
        import cupy

        return cupy.ascontiguousarray(x)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        import cupy

        return cupy.broadcast_to(x, shape)

    def stream(self, number: int) -> int:
        import cupy

        return cupy.cuda.get_current_stream().ptr

    def on_host(self, x: Any) -> np.ndarray:
        return x.get()


Handling = TorchTensors | CupyArrays


def handling(name: str, x: Any) -> Handling:
    """Return the handling for an array on a GPU. Raises InputError: an unknown library."""
    library = library_of(x)
    if library == "torch":
        return TorchTensors()
    if type(x).__module__.partition(".")[0] == "cupy":
        return CupyArrays()
    whose = f"{type(x).__module__}.{type(x).__name__}"
    raise InputError(f"{name} is a {whose} on a GPU: hand over a CuPy array, cupy.asarray({name}), or a PyTorch tensor")


def wants_gradient(arrays: Iterable[Any]) -> bool:
    """Return True if the gradient of a PyTorch tensor among the arrays is recorded."""
    if not any(getattr(x, "requires_grad", False) for x in arrays):
        return False
    import torch

    return torch.is_grad_enabled()


def rows(view: View, core: tuple[int, ...]) -> Rows | None:
    """Return address and step of the rows of an array (..., *core), or None if its strides are not those that a kernel can read."""
    leading = len(view.shape) - len(core)
    step = 1
    for n, stride in zip(reversed(view.shape[leading:]), reversed(view.strides[leading:])):
        if n != 1 and stride != step:
            return None
        step *= n
    parts = [(n, stride) for n, stride in zip(view.shape[:leading], view.strides[:leading]) if n != 1]
    if not parts:
        return Rows(view.pointer, 0)
    stride, reach = parts[-1][1], parts[-1][1]
    for n, distance in reversed(parts):
        if distance != reach:
            return None
        reach = distance * n
    return Rows(view.pointer, stride)


class Reading(NamedTuple):
    """An input as a kernel reads it, and its array, which must live until the kernel is started."""

    rows: Rows
    array: Any


def reading(handle: Handling, x: Any, core: tuple[int, ...]) -> Reading:
    """Return an array (..., *core) as a kernel reads it, or a contiguous copy of it."""
    found = rows(handle.view(x), core)
    if found is None:
        x = handle.contiguous(x)
        found = rows(handle.view(x), core)
        assert found is not None
    return Reading(found, x)


ROWS, STATES_LAST = "rows", "states last"


def layout(views: Sequence[View], cores: Sequence[tuple[int, ...]]) -> str | None:
    """Return the layout of outputs (..., *core) in memory: `ROWS`, state after state; `STATES_LAST`, element after element, with
    all states side by side; else None."""
    for name in (ROWS, STATES_LAST):
        if all(x.shape[d] == 1 or x.strides[d] == n for x, core in zip(views, cores) for d, n in steps(x.shape, len(core), name)):
            return name
    return None


def steps(shape: tuple[int, ...], rank: int, name: str) -> Iterator[tuple[int, int]]:
    """Yield each dimension and its stride in a layout."""
    dimensions = range(len(shape)) if name == ROWS else (*range(len(shape) - rank, len(shape)), *range(len(shape) - rank))
    step = 1
    for d in reversed(dimensions):
        yield d, step
        step *= shape[d]


class OnDevices:
    """The kernels of an operation, one for each device, each made when first needed.

    Attributes:
        kernels: kernels by the number of the device, with layout `ROWS`; `across`: with layout `STATES_LAST`.
    """

    def __init__(self, operation: Any) -> None:
        self.operation = operation
        self.kernels: dict[int, DeviceKernel] = {}
        self.across: dict[int, DeviceKernel] = {}
        self._lock = threading.Lock()

    def kernel(self, number: int, order: str = ROWS) -> DeviceKernel:
        if number < 0:
            raise RuntimeError(f"{self.operation.program.name} needs tensors on a GPU")
        made, shape = (self.kernels, Shape()) if order == ROWS else (self.across, Shape(element_major=True))
        found = made.get(number)
        if found is None:
            with self._lock:
                if number not in made:
                    made[number] = DeviceKernel(self.operation.program, self.operation.dtype, device(number), shape)
                found = made[number]
        return found

    def run(
        self,
        handle: Handling,
        arrays: Sequence[Any],
        lead: tuple[int, ...],
        outputs: Sequence[Any] | None = None,
        check: Any = None,
        order: str = ROWS,
    ) -> list[Any]:
        """Return the outputs (lead, ...), for arrays each of which has these leading dimensions, or none. `order`: layout of the
        given outputs."""
        program, number = self.operation.program, handle.view(arrays[0]).device
        kernel, states = self.kernel(number, order), math.prod(lead)
        read = [reading(handle, a, x.shape) for a, x in zip(arrays, program.inputs)]
        if outputs is None:
            outputs = [handle.empty((*lead, *x.shape), self.operation.dtype.name, number) for x in program.outputs]
        kernel.launch(states, [x.rows for x in read], [handle.view(x).pointer for x in outputs], handle.stream(number), check)
        return list(outputs)
