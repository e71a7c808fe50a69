"""A program on one GPU: compiled for it, and launched on arrays that live there."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from qddot.compile.gpu.driver import Device, Flag, Function
from qddot.compile.gpu.loop_kernel_ir import loop_source
from qddot.compile.gpu.ptx import ptx
from qddot.compile.gpu.thread import KERNEL, Shape, Source
from qddot.compile.gpu.thread_ir import source
from qddot.graph.program import Program

DEFAULT = Shape()
REALS = {8: "double", 4: "float"}
NUMBERS = {8: ctypes.c_double, 4: ctypes.c_float}


class Rows(NamedTuple):
    """An input in device memory.

    Attributes:
        pointer: the address of its first row.
        stride: how many numbers apart the rows of two states are; 0: one row for all.
        hop: how many numbers apart the rows of two steps are; 0: one row for all.
    """

    pointer: int
    stride: int
    hop: int = 0


class Launcher:
    """A function on a device.

    Attributes:
        worst: where the kernel leaves the number of a state that went wrong.
    """

    def __init__(self, program: Program, where: Device, code: Source) -> None:
        self.program, self.device, self.threads = program, where, code.threads
        self.function = Function(where, ptx(code.text, where.capability), KERNEL, code.shared)
        self.worst = Flag(where)

    def start(self, states: int, values: Sequence[ctypes._SimpleCData], stream: int) -> None:
        """One thread a state; `values` are the kernel's arguments."""
        arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(x) for x in values))
        with self.device:
            self.function.launch(-(-states // self.threads), self.threads, stream, arguments)


class DeviceKernel(Launcher):
    """The kernel of a program, for batches of any size."""

    def __init__(self, program: Program, dtype: np.dtype, where: Device, shape: Shape = DEFAULT) -> None:
        super().__init__(program, where, source(program, REALS[dtype.itemsize], shape))

    def launch(self, states: int, inputs: Sequence[Rows], outputs: Sequence[int], stream: int = 0) -> None:
        """Compute `states` states on a stream; `outputs` are addresses of contiguous rows."""
        rows = [number for x in inputs for number in x[:2]]
        if states:
            self.start(states, [*map(ctypes.c_uint64, (states, *rows, *outputs)), self.worst.pointer], stream)


class DeviceLoop(Launcher):
    """The kernel of a program that is repeated (see `loop_kernel_ir`)."""

    def __init__(self, program: Program, kept: tuple[int, ...], dtype: np.dtype, where: Device, shape: Shape = DEFAULT) -> None:
        super().__init__(program, where, loop_source(program, REALS[dtype.itemsize], kept, shape))
        self.number, self.states = NUMBERS[dtype.itemsize], len(program.outputs) - 1

    def launch(
        self, states: int, samples: int, every: int, dt: float, inputs: Sequence[Rows], outputs: Sequence[int], stream: int = 0
    ) -> None:
        """Every `every`-th of `samples * every` steps. `inputs` are those of the program but t and dt; `outputs` have samples + 1
        times so many rows as there are states."""
        rows = [number for k, x in enumerate(inputs) for number in (x[:2] if k < self.states else x)]
        counts = [ctypes.c_uint64(states), ctypes.c_uint32(samples), ctypes.c_uint32(every), self.number(dt)]
        if states:
            self.start(states, [*counts, *map(ctypes.c_uint64, (*rows, *outputs)), self.worst.pointer], stream)
