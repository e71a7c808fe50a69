"""Programs compiled for one GPU, and launched on arrays there."""

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
"""Registers of a thread with which a third more, and twice as many, threads run at a time as with all 255."""

SPILLED = 80
"""Most bytes that a thread may spill to memory for fewer registers. Measured (H200, 7-joint arm, float64): forward dynamics 10.5
billion/s with 252 registers, 11.3 with 168 and 72 bytes spilled, 7.0 with 128 and 384."""


COLUMN = (1 << 32) - 1
"""Most bytes of one element of all states, if the states are last: kernels compute such offsets with 32 bits."""


class Rows(NamedTuple):
    """An input in device memory."""

    pointer: int  # the address of its first row
    stride: int  # distance of the rows of two states, in numbers; 0: one row for all
    hop: int = 0  # distance of the rows of two steps, in numbers; 0: one row for all


class Launcher:
    """A kernel on a device.

    Attributes:
        now, later: flags for the number of a state that failed, in calls with these checks; `unwatched`: in other calls.
        threads: number of threads of a block.
        rooms: buffers for arguments, as many as calls were made at the same time.
    """

    def __init__(self, program: Program, where: Device, source_of: Callable[[Shape], Source], shape: Shape) -> None:
        self.program, self.device = program, where
        code, self.function = fitted(where, source_of, shape) if shape.registers is None else compiled(where, source_of(shape))
        self.threads, (self.now, self.later, self.unwatched) = code.threads, flags(where, 3)
        self.rooms: list[tuple[ctypes.Array, ctypes.Array]] = []

    def watched(self, check: Any) -> Flag:
        """Return the flag for calls with that option."""
        return self.unwatched if not check else self.later if check == "later" else self.now

    def start(self, states: int, numbers: Sequence[int], stream: int) -> None:
        """Launch the kernel, one thread for each state. `numbers`: its arguments, 64 bits each, of which it may read 32."""
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
    """Return a module and its kernel, compiled for a device."""
    return code, Function(where, ptx(code.text, where.capability), KERNEL, code.shared)


def fitted(where: Device, source_of: Callable[[Shape], Source], shape: Shape) -> tuple[Source, Function]:
    """Return a kernel with fewer registers if that spills little; the choice is tried once, and kept on disk."""
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
    """The kernel of a program, for batches of any size. `shape`: if it has no number of registers, the best one is chosen."""

    def __init__(self, program: Program, dtype: np.dtype, where: Device, shape: Shape = IN_ROWS) -> None:
        super().__init__(program, where, lambda shape: source(program, REALS[dtype.itemsize], shape), shape)
        self.most = COLUMN // dtype.itemsize if shape.element_major else None

    def launch(self, states: int, inputs: Sequence[Rows], outputs: Sequence[int], stream: int = 0, check: Any = True) -> None:
        """Compute `states` states on a stream. `outputs`: addresses of contiguous rows, or of arrays with the states last. Raises
        DeviceError: more states than such an array can have."""
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
        """Run `samples * every` steps, and store every `every`-th. `inputs`: those of the program, without the kernel's own;
        `outputs`: addresses of arrays with samples + 1 rows for each state."""
        rows = [number for k, x in enumerate(inputs) for number in (x[:2] if k < self.states else x)]
        number, whole = self.format
        (bits,) = struct.unpack(whole, struct.pack(number, dt))
        self.start(states, (states, samples, every * self.rounds, bits, *rows, *outputs, self.watched(check).pointer), stream)
