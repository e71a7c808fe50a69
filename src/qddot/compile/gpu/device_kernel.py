"""A program on one GPU: compiled for it, and launched on arrays that live there."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qddot.compile.gpu.driver import Device, Flag, Function
from qddot.compile.gpu.ptx import ptx
from qddot.compile.gpu.thread_ir import KERNEL, Shape, source
from qddot.graph.program import Program

DEFAULT = Shape()
REALS = {8: "double", 4: "float"}


class Rows(NamedTuple):
    """An input in device memory: the address of its first row, and how many numbers apart rows are (0: one row for all states)."""

    pointer: int
    stride: int


class DeviceKernel:
    """The kernel of a program, for batches of any size.

    Attributes:
        worst: where the kernel leaves the number of a state that went wrong.
    """

    def __init__(self, program: Program, dtype: np.dtype, where: Device, shape: Shape = DEFAULT) -> None:
        code = source(program, REALS[dtype.itemsize], shape)
        self.program, self.device, self.threads = program, where, code.threads
        self.function = Function(where, ptx(code.text, where.capability), KERNEL, code.shared)
        self.worst = Flag(where)

    def launch(self, states: int, inputs: Sequence[Rows], outputs: Sequence[int], stream: int = 0) -> None:
        """Compute `states` states on a stream; `outputs` are addresses of contiguous rows."""
        if not states:
            return
        values = [ctypes.c_uint64(states)]
        for rows in inputs:
            values += [ctypes.c_uint64(rows.pointer), ctypes.c_uint64(rows.stride)]
        values += [*(ctypes.c_uint64(pointer) for pointer in outputs), self.worst.pointer]
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
        with self.device:
            self.function.launch(-(-states // self.threads), self.threads, stream, arguments)
