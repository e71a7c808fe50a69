"""A program on one GPU: compiled for it, and launched on arrays that live there."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from qddot.compile import cache
from qddot.compile.gpu.driver import LOCAL_BYTES, REGISTERS, Device, Flag, Function, flags
from qddot.compile.gpu.loop_kernel_ir import STAGES, loop_source
from qddot.compile.gpu.ptx import ptx
from qddot.compile.gpu.thread import KERNEL, Shape, Source
from qddot.compile.gpu.thread_ir import source
from qddot.errors import DeviceError
from qddot.graph.program import Program

IN_ROWS = Shape()

REALS = {8: "double", 4: "float"}

FEWER = (168, 128)
"""Registers a thread with which a third more, and twice as many, threads are at work as with all 255."""

SPILLED = 80
"""Bytes a thread that may go to memory for that. Measured (H200, 7-joint arm, float64): forward dynamics 10.5 billion/s with 252
registers, 11.3 with 168 and 72 bytes in memory, 7.0 with 128 and 384."""


COLUMN = (1 << 32) - 1
"""Bytes that an element of all states may take, where the states are last: kernels count them with 32 bits."""


class Rows(NamedTuple):
    """An input in device memory."""

    pointer: int  # the address of its first row
    stride: int  # how many numbers apart the rows of two states are; 0: one row for all
    hop: int = 0  # how many numbers apart the rows of two steps are; 0: one row for all


class Launcher:
    """A function on a device.

    Attributes:
        now, later: where kernels that are watched so leave the number of a state that went wrong; `unwatched`: the others.
        threads: of a block.
        rooms: for arguments, so many as calls were under way at the same time.
    """

    def __init__(self, program: Program, where: Device, source_of: Callable[[Shape], Source], shape: Shape) -> None:
        self.program, self.device = program, where
        code, self.function = fitted(where, source_of, shape) if shape.registers is None else compiled(where, source_of(shape))
        self.threads, (self.now, self.later, self.unwatched) = code.threads, flags(where, 3)
        self.rooms: list[tuple[ctypes.Array, ctypes.Array]] = []

    def watched(self, check: Any) -> Flag:
        """Where a call with that option leaves what went wrong."""
        return self.unwatched if not check else self.later if check == "later" else self.now

    def start(self, states: int, numbers: Sequence[int], stream: int) -> None:
        """One thread a state; `numbers` are the kernel's arguments, 64 bits each, of which it may read 32."""
        if not states:
            return
        try:
            room = self.rooms.pop()
        except IndexError:
            values = (ctypes.c_uint64 * len(numbers))()
            place = ctypes.addressof(values)
            room = values, (ctypes.c_void_p * len(numbers))(*range(place, place + 8 * len(numbers), 8))
        room[0][:] = numbers
        self.function.launch(-(-states // self.threads), self.threads, stream, room[1])
        self.rooms.append(room)


def compiled(where: Device, code: Source) -> tuple[Source, Function]:
    return code, Function(where, ptx(code.text, where.capability), KERNEL, code.shared)


def fitted(where: Device, source_of: Callable[[Shape], Source], shape: Shape) -> tuple[Source, Function]:
    """Compile with fewer registers where that costs next to nothing; tried once, and remembered on disk."""
    likes, made = source_of(shape), {}

    def choose() -> bytes:
        made[0] = compiled(where, likes)
        wanted = made[0][1].attribute(REGISTERS)
        for registers in FEWER:
            if wanted > registers:
                made[registers] = compiled(where, source_of(shape._replace(registers=registers)))
                return str(registers if made[registers][1].attribute(LOCAL_BYTES) <= SPILLED else 0).encode()
        return b"0"

    chosen = int(cache.recall((likes.text, where.name, "registers"), choose))
    return made.get(chosen) or compiled(where, source_of(shape._replace(registers=chosen or None)))


class DeviceKernel(Launcher):
    """The kernel of a program, for batches of any size. `shape`: without a number of registers, as many as do it good."""

    def __init__(self, program: Program, dtype: np.dtype, where: Device, shape: Shape = IN_ROWS) -> None:
        super().__init__(program, where, lambda shape: source(program, REALS[dtype.itemsize], shape), shape)
        self.most = COLUMN // dtype.itemsize if shape.element_major else None

    def launch(self, states: int, inputs: Sequence[Rows], outputs: Sequence[int], stream: int = 0, check: Any = True) -> None:
        """Compute `states` states on a stream; `outputs` are addresses of contiguous rows, or of arrays with the states last.
        Raises DeviceError: more states than such an array can have."""
        if self.most is not None and states > self.most:
            raise DeviceError(f"{states} states are too many side by side: split the batch into parts of {self.most}, or use rows")
        rows = [number for x in inputs for number in x[:2]]
        self.start(states, (states, *rows, *outputs, self.watched(check).pointer), stream)


class DeviceLoop(Launcher):
    """The kernel of a program that is repeated (see `loop_kernel_ir`)."""

    def __init__(self, program: Program, kept: tuple[int, ...], dtype: np.dtype, where: Device, shape: Shape = IN_ROWS) -> None:
        super().__init__(program, where, lambda shape: loop_source(program, REALS[dtype.itemsize], kept, shape), shape)
        self.format, self.states = ("<d", "<Q") if dtype.itemsize == 8 else ("<f", "<I"), len(program.outputs) - 1
        self.rounds = STAGES if any(x.name == "stage" for x in program.inputs) else 1

    def launch(
        self,
        states: int,
        samples: int,
        every: int,
        dt: float,
        inputs: Sequence[Rows],
        outputs: Sequence[int],
        stream: int = 0,
        check: Any = True,
    ) -> None:
        """Every `every`-th of `samples * every` steps. `inputs` are those of the program but for the kernel's own; `outputs` have
        samples + 1 times so many rows as there are states."""
        rows = [number for k, x in enumerate(inputs) for number in (x[:2] if k < self.states else x)]
        number, whole = self.format
        (bits,) = struct.unpack(whole, struct.pack(number, dt))
        self.start(states, (states, samples, every * self.rounds, bits, *rows, *outputs, self.watched(check).pointer), stream)
