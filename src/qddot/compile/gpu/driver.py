"""The CUDA driver by ctypes: devices, modules, launches. It comes with every NVIDIA GPU, and nothing else is needed.

NVIDIA's own `cuda-bindings` would do the same with 30 MB more to install; these are a dozen functions of a C interface that has
been stable for fifteen years.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from functools import cache
from typing import Any

from qddot.errors import DeviceError

LIBRARY = {"win32": "nvcuda.dll"}.get(sys.platform, "libcuda.so.1")

# attributes of a device and of a function, as cuda.h numbers them
CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76
LOCAL_BYTES, REGISTERS, DYNAMIC_SHARED = 3, 4, 8
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
    """The driver, initialised.

    Raises:
        DeviceError: there is none, or no device.
    """
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        raise DeviceError(f"{LIBRARY} cannot be loaded: no NVIDIA driver is installed here") from None
    code = library.cuInit(0)
    if code:
        raise DeviceError(f"the NVIDIA driver does not start (error {code}): {FIXES.get(code, 'see nvidia-smi')}")
    return library


def call(name: str, *arguments: Any) -> None:
    """One call, whose error becomes ours."""
    library = driver()
    code = getattr(library, name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        library.cuGetErrorString(code, ctypes.byref(text))
        said = (text.value or b"unknown error").decode()
        fix = FIXES.get(code, "an earlier kernel of this process may have failed")
        raise DeviceError(f"{name}: {said} (CUDA error {code}): {fix}")


class Device:
    """One GPU, by its number; uses the context that PyTorch, JAX and CuPy use too.

    Attributes:
        number: as the driver counts.
        capability: such as (9, 0).
    """

    def __init__(self, number: int) -> None:
        handle, context = ctypes.c_int(), ctypes.c_void_p()
        call("cuDeviceGet", ctypes.byref(handle), number)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), handle)
        self.number, self._handle, self._context = number, handle, context
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
        call("cuCtxPushCurrent_v2", self._context)
        return self

    def __exit__(self, *_: object) -> None:
        call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


@cache
def device(number: int = 0) -> Device:
    """The device of that number."""
    with _lock:
        return Device(number)


class Function:
    """A kernel on a device, from PTX, which the driver compiles and keeps in a cache of its own."""

    def __init__(self, where: Device, ptx: str, name: str, shared_bytes: int) -> None:
        self.device, self.shared_bytes = where, shared_bytes
        self._module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        with where:
            call("cuModuleLoadData", ctypes.byref(self._module), ctypes.c_char_p(ptx.encode()))
            call("cuModuleGetFunction", ctypes.byref(self._function), self._module, name.encode())
            if shared_bytes:
                call("cuFuncSetAttribute", self._function, DYNAMIC_SHARED, shared_bytes)

    def attribute(self, which: int) -> int:
        value = ctypes.c_int()
        call("cuFuncGetAttribute", ctypes.byref(value), which, self._function)
        return value.value

    def launch(self, blocks: int, threads: int, stream: int, arguments: ctypes.Array) -> None:
        """Start it on a stream; `arguments` are pointers to its arguments."""
        shape = (blocks, 1, 1, threads, 1, 1, self.shared_bytes)
        call("cuLaunchKernel", self._function, *shape, ctypes.c_void_p(stream), arguments, None)


class Flag:
    """A number of 64 bits in the device's memory: all ones, until a kernel lowers it to the number of a state."""

    NONE = (1 << 64) - 1

    def __init__(self, where: Device) -> None:
        self.device, self.pointer = where, ctypes.c_uint64()
        with where:
            call("cuMemAlloc_v2", ctypes.byref(self.pointer), 8)
            call("cuMemsetD8_v2", self.pointer, 0xFF, 8)

    def read(self, stream: int) -> int | None:
        """The state that was found wrong since it was read last, or None; waits for the stream."""
        value = ctypes.c_uint64()
        with self.device:
            call("cuMemcpyDtoHAsync_v2", ctypes.byref(value), self.pointer, 8, ctypes.c_void_p(stream))
            call("cuStreamSynchronize", ctypes.c_void_p(stream))
            if value.value == self.NONE:
                return None
            call("cuMemsetD8Async", self.pointer, 0xFF, 8, ctypes.c_void_p(stream))
        return value.value
