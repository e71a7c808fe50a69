"""PyTorch tensors on a GPU: an operator that starts the kernel on the current stream and does not wait for it.

The kernel for a device is made at its first call: then, and if a launch fails, the operator calls a Python function (`help`). An
error of the driver becomes a `DeviceError`, which the caller of the operator gets by `taken`.
"""

# pyright: reportMissingImports=false
from __future__ import annotations

import ctypes
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from qddot.arrays.on_device import OnDevices, TorchTensors
from qddot.arrays.operation import Operation
from qddot.arrays.torch_ir import asked, libtorch
from qddot.compile.gpu.driver import failure, starter
from qddot.compile.gpu.start_ir import arguments
from qddot.compile.phrases import at, constant

HANDLE = TorchTensors()

DEVICES = 64
"""Most GPUs of one machine."""

ROW = 5
"""Numbers in the table for each device: the kernel's function, context, threads, shared memory, and the address for its notes."""


class OnCuda:
    """The part of an operator that depends on the device, for GPUs (see `torch_ir.Target`).

    Attributes:
        table: `ROW` numbers for each device, zeros until its kernel is made.
    """

    key, place = "CUDA", "one NVIDIA GPU"

    def __init__(self, operation: Operation) -> None:
        self.operation, self.devices, self.device = operation, operation.once(OnDevices), libtorch().aoti_torch_device_type_cuda()
        self.table = (ctypes.c_uint64 * (ROW * DEVICES))()
        self.helper = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int)(self.help)
        self.failed: Exception | None = None

    def help(self, number: int, code: int) -> int:
        """Make the kernel for a device, or keep the error of a launch with this code; return 0 if the kernel is made, else 1."""
        try:
            if code:
                raise failure("cuLaunchKernel", code)
            kernel, at = self.devices.kernel(number), ROW * number
            context, function = kernel.device.context.value or 0, kernel.function
            self.table[at + 1 : at + ROW] = context, kernel.threads, function.shared_bytes, kernel.unwatched.pointer
            self.table[at] = function.handle_there.value or 0  # last, since other threads test it
        except Exception as error:
            self.failed = error
            return 1
        return 0

    def taken(self) -> Exception | None:
        """Return the error of the last call that failed, and forget it; None if there is none."""
        found, self.failed = self.failed, None
        return found

    def declarations(self) -> Iterable[str]:
        return ()

    def number(self) -> Iterable[str]:
        yield asked("%number", "device_index", "%first", "i32")

    def fits(self, i: int, after: str) -> Iterable[str]:
        """Yield IR that tests if an input is on the same device, with the elements of each state contiguous."""
        shape, item = self.operation.program.inputs[i].shape, self.operation.dtype.itemsize
        yield f"""fits{i}:
{asked(f"%number{i}", "device_index", f"%t{i}", "i32")}
%together{i} = icmp eq i32 %number{i}, %number
br i1 %together{i}, label %near{i}, label %wrong
near{i}:"""
        dense = "true"
        for d, size in enumerate(shape):
            if size != 1:
                yield f"""{at(f"%nearv{i}_{d}", f"%core{i}", d, "i64")}
%neare{i}_{d} = icmp eq i64 %nearv{i}_{d}, {item * math.prod(shape[d + 1 :])}
%nearb{i}_{d} = and i1 {dense}, %neare{i}_{d}"""
                dense = f"%nearb{i}_{d}"
        yield f"br i1 {dense}, label %{after}, label %copy{i}"

    def run(self) -> Iterable[str]:
        program, item = self.operation.program, self.operation.dtype.itemsize
        helper = constant(ctypes.cast(self.helper, ctypes.c_void_p).value)
        yield f"""%none = icmp eq i64 %count, 0
br i1 %none, label %done, label %known
known:
%far = icmp uge i32 %number, {DEVICES}
br i1 %far, label %failed, label %look_up
look_up:
%row_at = mul i32 %number, {ROW}
%row = getelementptr i64, ptr {constant(ctypes.addressof(self.table))}, i32 %row_at
%there = load ptr, ptr %row
%missing = icmp eq ptr %there, null
br i1 %missing, label %make, label %launch
make:
%made = call i32 {helper}(i32 %number, i32 0)
%not_made = icmp ne i32 %made, 0
br i1 %not_made, label %failed, label %launch
launch:
%function = load ptr, ptr %row"""
        for k, (name, kind) in enumerate((("context", "ptr"), ("threads", "i32"), ("shared", "i32"), ("flag", "i64")), 1):
            yield at(f"%{name}", "%row", k, kind)
        yield f"%es = call i32 {stream_getter()}(i32 %number, ptr %word)\n%stream = load ptr, ptr %word"
        values = ["i64 %count"]
        for i in range(len(program.inputs)):
            yield f"%from{i} = load i64, ptr %data{i}\n%bytes{i} = load i64, ptr %step{i}"
            yield f"%stride{i} = sdiv exact i64 %bytes{i}, {item}"
            values += [f"i64 %from{i}", f"i64 %stride{i}"]
        for k in range(len(program.outputs)):
            yield f"%to{k} = load i64, ptr %op{k}"
            values.append(f"i64 %to{k}")
        yield from arguments([*values, "i64 %flag"])
        yield """%wide = zext i32 %threads to i64
%before_last = sub i64 %count, 1
%full = udiv i64 %before_last, %wide
%blocks_wide = add i64 %full, 1
%blocks = trunc i64 %blocks_wide to i32"""
        given = "ptr %function, ptr %context, i32 %blocks, i32 %threads, i32 %shared, ptr %stream, ptr %arguments"
        yield f"""%code = call i32 {constant(start_address())}({given})
%bad = icmp ne i32 %code, 0
br i1 %bad, label %tell, label %done
tell:
%told = call i32 {helper}(i32 %number, i32 %code)
br label %failed"""


@cache
def stream_getter() -> str:
    """Return PyTorch's function for the current stream of a device, as a constant of IR."""
    import torch

    found = next(iter((Path(str(torch.__file__)).parent / "lib").glob("*torch_cuda.*")))
    return constant(ctypes.cast(ctypes.CDLL(str(found)).aoti_torch_get_current_cuda_stream, ctypes.c_void_p).value)


def start_address() -> int:
    """Return the address of the machine code that launches kernels."""
    return ctypes.cast(starter(), ctypes.c_void_p).value or 0  # type: ignore[arg-type]
