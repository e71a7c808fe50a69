"""The CUDA driver by ctypes: devices, modules, launches. It is part of every NVIDIA installation, and nothing else is needed.

NVIDIA's own `cuda-bindings` would do the same but are 30 MB to install; here a dozen functions are used, of a C interface that has
been stable for fifteen years.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from qddot.compile.gpu.start_ir import NEEDED, load_starter
from qddot.errors import DeviceError

LIBRARY = {"win32": "nvcuda.dll"}.get(sys.platform, "libcuda.so.1")

# numbers of cuda.h: attributes of a device and of a function, flags of host memory, error codes
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
LOCAL_BYTES, REGISTERS, DYNAMIC_SHARED = 3, 4, 8
PORTABLE_AND_MAPPED = 3
OUT_OF_MEMORY, NO_DEVICE, INVALID_PTX, UNSUPPORTED_PTX = 2, 100, 218, 222

FIXES = {
    OUT_OF_MEMORY: "split the batch, or free memory of the device",
    NO_DEVICE: "no NVIDIA GPU is visible (nvidia-smi; CUDA_VISIBLE_DEVICES)",
    INVALID_PTX: "please report this with the robot",
    UNSUPPORTED_PTX: "the driver is older than 525: update it",
}

_lock = threading.Lock()


@cache
def driver() -> ctypes.CDLL:
    """Return the driver, initialised. Raises DeviceError: there is none, or no device."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        raise DeviceError(
            f"{LIBRARY} cannot be loaded: no NVIDIA driver is installed here; install it, or stay with arrays of the CPU"
        ) from None
    code = library.cuInit(0)
    if code:
        raise DeviceError(f"the NVIDIA driver does not start (error {code}): {FIXES.get(code, 'see nvidia-smi')}")
    return library


def call(name: str, *arguments: Any) -> None:
    """Call a function of the driver. Raises DeviceError: it fails."""
    code = getattr(driver(), name)(*arguments)
    if code:
        raise failure(name, code)


def failure(name: str, code: int) -> DeviceError:
    """Return the error for a status code, with the driver's own message and a suggestion."""
    text = ctypes.c_char_p()
    driver().cuGetErrorString(code, ctypes.byref(text))
    said = (text.value or b"unknown error").decode()
    fix = FIXES.get(code, "an earlier kernel of this process may have failed, of whatever library: start it anew")
    return DeviceError(f"{name}: {said} (CUDA error {code}): {fix}")


class Device:
    """One GPU, with the context that PyTorch, JAX and CuPy use too.

    Attributes:
        number: the driver's index.
        context: the driver's handle.
        capability: compute capability, such as (9, 0).
    """

    def __init__(self, number: int) -> None:
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(handle), number)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self.number, self._handle, self.context = number, handle, context
        self.capability = self.attribute(CAPABILITY_MAJOR), self.attribute(CAPABILITY_MINOR)

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        call("cuDeviceGetAttribute", ctypes.byref(value), which, self._handle)
        return value.value

    @property
    def name(self) -> str:
        text = ctypes.create_string_buffer(100)
        call("cuDeviceGetName", text, 100, self._handle)
        return text.value.decode()

    def __enter__(self) -> Device:
        call("cuCtxPushCurrent_v2", self.context)
        return self

    def __exit__(self, *_: object) -> None:
        call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


@cache
def device(number: int = 0) -> Device:
    """Return the device of that number."""
    with _lock:
        return Device(number)


class Function:
    """A kernel on a device, from PTX, which the driver compiles and keeps in its own cache.

    Attributes:
        handle: the driver's handle for any context; `handle_there`: that for the device's context.
    """

    def __init__(self, where: Device, ptx: str, name: str, shared_bytes: int) -> None:
        self.device, self.shared_bytes = where, shared_bytes
        self._library, self.handle, self.handle_there = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        with where:
            call("cuLibraryLoadData", ctypes.byref(self._library), ptx.encode(), None, None, 0, None, None, 0)
            call("cuLibraryGetKernel", ctypes.byref(self.handle), self._library, name.encode())
            call("cuKernelGetFunction", ctypes.byref(self.handle_there), self.handle)
            if shared_bytes:
                call("cuFuncSetAttribute", self.handle_there, DYNAMIC_SHARED, shared_bytes)

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        call("cuFuncGetAttribute", ctypes.byref(value), which, self.handle_there)
        return value.value

    def launch(self, blocks: int, threads: int, stream: int, arguments: ctypes.Array) -> None:
        """Launch it on a stream; `arguments`: pointers to its arguments. Raises DeviceError: the launch fails."""
        code = starter()(self.handle_there, self.device.context, blocks, threads, self.shared_bytes, stream, arguments)
        if code:
            raise failure("cuLaunchKernel", code)


@cache
def starter() -> Callable[..., int]:
    """Return the machine code that launches kernels (see `start_ir`); it lives as long as the process."""
    return load_starter(*(ctypes.cast(getattr(driver(), name), ctypes.c_void_p).value or 0 for name in NEEDED))


class Flag:
    """A 64-bit number that kernels write and this process reads without waiting for them: all ones, or the number of a state.

    It is in host memory that devices can access. States that fail are rare, so the slow writes do not matter.
    """

    NONE = (1 << 64) - 1

    def __init__(self, place: int) -> None:
        self.pointer, self._value = place, ctypes.c_uint64.from_address(place)
        self._value.value = self.NONE

    def take(self) -> int | None:
        """Return the number of a state that failed since the last call, and reset it; None if none did in kernels that have
        ended."""
        found = self._value.value
        if found == self.NONE:
            return None
        self._value.value = self.NONE
        return found


def flags(where: Device, count: int) -> list[Flag]:
    """Return several flags, side by side; they live as long as the process."""
    place = ctypes.c_void_p()
    with where:
        call("cuMemHostAlloc", ctypes.byref(place), ctypes.c_size_t(8 * count), PORTABLE_AND_MAPPED)
    assert place.value is not None
    return [Flag(place.value + 8 * k) for k in range(count)]


def wait(where: Device, stream: int) -> None:
    """Wait until all work on a stream has ended. Raises DeviceError: it failed."""
    with where:
        call("cuStreamSynchronize", ctypes.c_void_p(stream))
