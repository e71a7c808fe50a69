"""A kernel on arrays of its own: one state by a call without ceremony, and many steps of one motion by one call.

The loop over the states of a batch takes one after the other where its code is that for single states. In `Ahead` the batch is a
motion: its arrays overlap such that what a step writes is what the next one reads. So Python is asked once in hundreds of steps,
each of which gives the bits that it would give alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from qddot.compile.kernel import Kernel
from qddot.compile.peaks import FAR
from qddot.compile.repeated import MOST

LOOP = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)


class Loop:
    """The loop of a kernel, one state after the other, over arrays (rows, ...) that stay where they are."""

    def __init__(self, kernel: Kernel, arrays: Sequence[np.ndarray]) -> None:
        self.kernel, self.arrays, self.count = kernel, arrays, np.zeros(1, np.int64)  # which must live as long
        loop, self.task = kernel.one_by_one
        self.run, self.places = LOOP(loop), np.array([x.ctypes.data for x in arrays])
        self.strides = np.array([*(x.strides[0] for x in arrays), *(stride for x in arrays for stride in x.strides[1:])])
        self.where = [x.ctypes.data for x in (self.places, self.count, self.strides)]

    def __call__(self, rows: int) -> None:
        self.count[0] = rows
        self.run(*self.where, self.task)


class One:
    """One state by a call that allocates little and checks nothing but its result."""

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        self.inputs = {x.name: np.zeros((1, *x.shape)) for x in program.inputs}
        self.q = self.inputs["q"]
        ends = np.cumsum([0, *(x.size for x in program.outputs)])
        self.found, self.parts = np.zeros(ends[-1]), [slice(a, b) for a, b in pairwise(ends)]
        self.margins = self.found[self.parts.pop()] if kernel.has_margins else np.ones(1)
        self.loop = Loop(kernel, [*self.inputs.values(), *(self.found[None, a:b] for a, b in pairwise(ends))])

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """The outputs but for margins; None where one of these is not positive, something is not finite, or q is suspicious."""
        for name, room in self.inputs.items():
            room[0] = inputs[name]
        self.loop(1)
        if not (np.isfinite(self.found).all() and self.margins.min() > 0 and np.abs(self.q).max() < FAR):
            return None
        found = self.found.copy()
        return tuple([found[part] for part in self.parts])


class Ahead:
    """A step that goes on from its own end. `kernel`: of a step: its first inputs are a state, its outputs that after it, in the
    same order, and margins."""

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        carried = len(program.outputs) - 1
        self.state = [np.zeros((MOST + 1, *x.shape)) for x in program.inputs[:carried]]
        self.rest = {x.name: np.zeros((MOST, *x.shape)) for x in program.inputs[carried:]}
        self.margins = np.zeros((MOST, program.outputs[-1].size))
        self.loop = Loop(kernel, [*(x[:-1] for x in self.state), *self.rest.values(), *(x[1:] for x in self.state), self.margins])

    def __call__(self, steps: int, state: Sequence[np.ndarray], rest: Mapping[str, Any]) -> tuple[list[np.ndarray], int]:
        """The states after each of so many steps, arrays (steps, ...) that the next call writes into; and how many steps come
        before the first with a margin that is not positive, from which on they mean nothing. `state`: at first; `rest`: the other
        inputs, the same in every step, or one row for each."""
        for room, value in zip(self.state, state, strict=True):
            room[0] = value
        for name, room in self.rest.items():
            room[:steps] = rest[name]
        self.loop(steps)
        sure = (self.margins[:steps] > 0).all(-1)
        return [x[1 : steps + 1] for x in self.state], steps if sure.all() else int(sure.argmin())
