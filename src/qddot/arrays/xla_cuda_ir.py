"""Handlers of XLA on a GPU: each starts the kernel on XLA's stream and returns, so that CUDA graphs can record it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from qddot.arrays.operation import Operation
from qddot.arrays.xla_ir import FRAME
from qddot.compile.gpu.device_kernel import DeviceKernel
from qddot.compile.gpu.driver import driver
from qddot.compile.gpu.start_ir import arguments
from qddot.compile.phrases import constant, field, put

STREAM_GET = 80  # in the table of functions
CONTEXT = 24  # of the call, in its frame
STREAM = 24  # in the arguments of that function

CAPTURED = 1
"""The trait of a handler that may be recorded in a CUDA graph."""


def launch(operation: Operation, kernel: DeviceKernel) -> Iterable[str]:
    """Yield IR that launches the kernel on %count states at %at<i>; an input of a single state (%one<i>) has step 0."""
    n_in, n = len(operation.program.inputs), len(operation.program.inputs) + len(operation.program.outputs)
    sizes = [x.size for x in operation.program.inputs]
    yield f"""%none_at_all = icmp eq i64 %count, 0
br i1 %none_at_all, label %nothing, label %stream_asked
stream_asked:
{field("%table", "%frame", FRAME["api"])}
{field("%get", "%table", STREAM_GET)}
{field("%context", "%frame", CONTEXT)}"""
    yield "%request = alloca [4 x i64], align 8\nstore i64 32, ptr %request"
    for k, value in ((1, "ptr null"), (2, "ptr %context"), (3, "ptr null")):
        yield put(value, "%request", k, f"%request{k}")
    yield f"""%refused = call ptr %get(ptr %request)
%fails = icmp ne ptr %refused, null
br i1 %fails, label %no_stream, label %start
no_stream:
ret ptr %refused
start:
{field("%stream", "%request", STREAM)}"""
    values = ["i64 %count"]
    for i in range(n_in):
        yield f"%stride{i} = select i1 %one{i}, i64 0, i64 {sizes[i]}"
        values += [f"ptr %at{i}", f"i64 %stride{i}"]
    values += [*(f"ptr %at{i}" for i in range(n_in, n)), f"i64 {kernel.unwatched.pointer}"]
    yield from arguments(values)
    yield f"%more_blocks = add i64 %count, {kernel.threads - 1}\n%blocks_wide = udiv i64 %more_blocks, {kernel.threads}"
    yield "%blocks = trunc i64 %blocks_wide to i32"
    shape = f"i32 %blocks, i32 1, i32 1, i32 {kernel.threads}, i32 1, i32 1, i32 {kernel.function.shared_bytes}"
    given = f"ptr {constant(kernel.function.handle.value)}, {shape}, ptr %stream, ptr %arguments, ptr null"
    yield f"""%code = call i32 {constant(address())}({given})
%bad = icmp ne i32 %code, 0
br i1 %bad, label %wrong, label %started
started:"""


def address() -> int | None:
    """Return the address of the driver's function that starts kernels."""
    return ctypes.cast(driver().cuLaunchKernel, ctypes.c_void_p).value
