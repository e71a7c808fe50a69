"""Kernels on arrays between pages that nobody may touch: one number read or written too far, and the process dies.

`python -m tests.compile.guarded` prints how many calls it survived. The code is that which runs everywhere, vectors of any width.
"""

from __future__ import annotations

import ctypes
import math
import mmap
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import numpy as np

import qddot
from qddot.compile.direct import Direct
from qddot.compile.kernel import Kernel
from qddot.compile.results import LARGE

QUANTITIES = ("inverse_dynamics", "forward_dynamics", "mass_matrix", "coriolis_matrix", "jacobian", "regressor")
SIZES = (1, 2, 3, 5, 8, 15, 16, 17, 23, 31, 32, 33, 40, 63, 65)
PAGE = mmap.PAGESIZE
FORBIDDEN = 0  # PROT_NONE


class Guards:
    """Memory that is given back at the end."""

    def __init__(self) -> None:
        self.maps: list[mmap.mmap] = []
        self.protect = ctypes.CDLL(None, use_errno=True).mprotect
        self.protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

    def array(self, shape: Sequence[int], dtype: np.dtype, *, last: bool) -> np.ndarray:
        """An array that ends where a forbidden page begins, or, with last=False, begins where one ends."""
        size = math.prod(shape) * dtype.itemsize
        room = -(-size // PAGE) * PAGE
        memory = mmap.mmap(-1, room + 2 * PAGE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        for page in (start, start + PAGE + room):
            if self.protect(page, PAGE, FORBIDDEN):
                raise OSError(ctypes.get_errno(), "mprotect")
        self.maps.append(memory)
        return np.frombuffer(memory, dtype, math.prod(shape), PAGE + (room - size if last else 0)).reshape(shape)

    def like(self, values: np.ndarray, *, last: bool) -> np.ndarray:
        copy = self.array(values.shape, values.dtype, last=last)
        copy[...] = values
        return copy


def try_batches(kernel: Kernel, inputs: list[np.ndarray], expected: list[np.ndarray]) -> int:
    """Batches at either end of a page, dense and with gaps between rows; the results are those of ordinary arrays."""
    calls = 0
    for last in (True, False):
        for gaps in (False, True):
            guards = Guards()
            placed = []
            for a in inputs:
                spread = guards.array((a.shape[0], a.shape[1] + gaps), a.dtype, last=last)
                spread[...] = 1.0
                placed.append(spread[:, gaps:] if last else spread[:, : a.shape[1]])
                placed[-1][...] = a
            rooms = tuple(guards.array(e.shape, e.dtype, last=last) for e in expected)
            kernel.run(placed, rooms if len(rooms) > 1 else rooms[0], 1)
            for room, e in zip(rooms, expected):
                np.testing.assert_array_equal(room, e)
            calls += 1
    return calls


def try_quantity(name: str, quantity: str, dtype: np.dtype, sizes: Sequence[int]) -> int:
    robot, calls = qddot.load(name), 0
    kernel = robot.kernel(quantity, dtype=dtype)
    rng = np.random.default_rng(0)
    for n in sizes:
        inputs = [rng.normal(size=(n, x.size)).astype(dtype) for x in kernel.program.inputs]
        expected = kernel.run([a.copy() for a in inputs], None, 1)
        calls += try_batches(kernel, inputs, [*expected] if isinstance(expected, tuple) else [expected])
    return calls


def try_direct(name: str, quantity: str) -> int:
    """The direct entry, for one state and for batches, and a bound quantity."""
    robot, guards = qddot.load(name), Guards()
    kernel, names = robot.kernel(quantity), [x.name for x in robot.kernel(quantity).shown]
    result = namedtuple("Results", names) if len(names) > 1 else None
    direct, rng = Direct.of(robot._evaluate.kernels, quantity, (), result), np.random.default_rng(0)
    if direct is None:
        return 0
    _ = kernel.watched
    direct.learn((), kernel)
    direct.generalise()
    entry = direct.entry(quantity, unexpected, "")
    for last in (True, False):
        inputs = [guards.like(rng.normal(size=x.shape), last=last) for x in kernel.program.inputs]
        outputs = [guards.array(x.shape, np.dtype(float), last=last) for x in kernel.program.outputs]
        bound = Direct.bound(kernel, [*inputs, *outputs], outputs[0], unexpected)
        assert bound
        np.testing.assert_array_equal(first(entry(*inputs)), bound())
        for n in (1, 3, 11, 20):
            many = [guards.like(np.broadcast_to(a, (n, *a.shape)), last=last) for a in inputs]
            np.testing.assert_array_equal(first(entry(*many)), np.broadcast_to(bound(), (n, *outputs[0].shape)))
    return 12


def first(result: Any) -> np.ndarray:
    return result[0] if isinstance(result, tuple) else result


def unexpected(*arguments: object) -> None:
    raise AssertionError("the direct way was not taken")


def main() -> None:
    calls = 0
    for name in ("two_link", "arm7"):
        for quantity in QUANTITIES:
            calls += sum(try_quantity(name, quantity, np.dtype(real), SIZES) for real in (np.float64, np.float32))
            calls += try_direct(name, quantity)
    size = qddot.load("arm7").kernel("regressor").program.outputs[0].size * 8
    calls += try_quantity("arm7", "regressor", np.dtype(float), (LARGE // size + 5,))  # which bypasses the caches
    print(calls)


if __name__ == "__main__":
    main()
