"""Machine code of the host that launches a kernel: one call, where Python would make two or four and convert a dozen arguments.

    int start(function, context, blocks, threads, shared, stream, arguments)     returns the driver's error code, or 0

If the device's context is not the current one, it is made current for the time of the launch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence

from qddot.compile.llvm import load_module, this_computer
from qddot.compile.phrases import constant, put

NEEDED = ("cuCtxGetCurrent", "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuLaunchKernel")
"""Functions of the driver that it calls."""

ARGUMENTS = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)


def arguments(values: Sequence[str]) -> Iterable[str]:
    """Yield IR for %arguments, pointers to these values, as a launch takes them."""
    yield f"%values = alloca [{len(values)} x i64]\n%arguments = alloca [{len(values)} x ptr]"
    for k, value in enumerate(values):
        yield f"%value{k} = getelementptr i64, ptr %values, i64 {k}\nstore {value}, ptr %value{k}"
        yield put(f"ptr %value{k}", "%arguments", k, f"%argument{k}")


def load_starter(*places: int) -> Callable[..., int]:
    """Return the function, given the addresses of the driver's functions `NEEDED`."""
    code = load_module("\n".join(start(*map(constant, places))), "start", this_computer(), kept=False)
    found = ctypes.CFUNCTYPE(ctypes.c_int, *ARGUMENTS)(code.loop)
    found.code = code  # type: ignore[attr-defined]  # keeps the code alive
    return found


def start(get: str, push: str, pop: str, launch: str) -> Iterable[str]:
    """Define the function."""
    shape = "i32 %blocks, i32 1, i32 1, i32 %threads, i32 1, i32 1, i32 %shared"
    launched = f"call i32 {launch}(ptr %function, {shape}, ptr %stream, ptr %arguments, ptr null)"
    given = "ptr %function, ptr %context, i32 %blocks, i32 %threads, i32 %shared, ptr %stream, ptr %arguments"
    yield f"define i32 @start({given}) nounwind {{\n%place = alloca ptr\nstore ptr null, ptr %place"
    yield f"%asked = call i32 {get}(ptr %place)\n%found = load ptr, ptr %place\n%current = icmp eq ptr %found, %context"
    yield f"br i1 %current, label %here, label %there\nhere:\n%code = {launched}\nret i32 %code"
    yield f"there:\n%pushed = call i32 {push}(ptr %context)\n%fails = icmp ne i32 %pushed, 0"
    yield "br i1 %fails, label %failed, label %go\nfailed:\nret i32 %pushed"
    yield f"go:\n%result = {launched}\n%popped = call i32 {pop}(ptr %place)\nret i32 %result\n}}"
