"""A kernel with arrays of its own: one state by a cheap call, and many steps of one motion by a single call.

The loop for single states takes the states of a batch in order. In `Ahead` the batch is a motion: its arrays overlap so that each
step reads what the step before has written. So hundreds of steps need one call from Python, and have the bits of single calls.
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
    """A kernel's loop, one state after the other, over fixed arrays (rows, ...)."""

    def __init__(self, kernel: Kernel, arrays: Sequence[np.ndarray]) -> None:
        self.kernel, self.arrays, self.count = kernel, arrays, np.zeros(1, np.int64)  # kept alive: the loop has their addresses
        loop, self.single = kernel.one_by_one
        self.run, self.places = LOOP(loop), np.array([x.ctypes.data for x in arrays])
        self.strides = np.array([*(x.strides[0] for x in arrays), *(stride for x in arrays for stride in x.strides[1:])])
        self.where = [x.ctypes.data for x in (self.places, self.count, self.strides)]

    def __call__(self, rows: int) -> None:
        self.count[0] = rows
        self.run(*self.where, self.single)


class One:
    """Computes one state by a call that allocates little and checks only its result."""

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        self.inputs = {x.name: np.zeros((1, *x.shape)) for x in program.inputs}
        self.q = self.inputs["q"]
        ends = np.cumsum([0, *(x.size for x in program.outputs)])
        self.found, self.parts = np.zeros(ends[-1]), [slice(a, b) for a, b in pairwise(ends)]
        self.margins = self.found[self.parts.pop()] if kernel.has_margins else np.ones(1)
        self.loop = Loop(kernel, [*self.inputs.values(), *(self.found[None, a:b] for a, b in pairwise(ends))])

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """Return the outputs without margins; None if a margin is not positive, a result is not finite, or q is very large."""
        for name, x in self.inputs.items():
            x[0] = inputs[name]
        self.loop(1)
        if not (np.isfinite(self.found).all() and self.margins.min() > 0 and np.abs(self.q).max() < FAR):
            return None
        found = self.found.copy()
        return tuple([found[part] for part in self.parts])


class Ahead:
    """Computes many steps, each from the end of the one before. `kernel`: one step, whose first inputs are a state, and whose
    outputs are the state after it, in the same order, and margins."""

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        carried = len(program.outputs) - 1
        self.state = [np.zeros((MOST + 1, *x.shape)) for x in program.inputs[:carried]]
        self.rest = {x.name: np.zeros((MOST, *x.shape)) for x in program.inputs[carried:]}
        self.margins = np.zeros((MOST, program.outputs[-1].size))
        self.loop = Loop(kernel, [*(x[:-1] for x in self.state), *self.rest.values(), *(x[1:] for x in self.state), self.margins])

    def __call__(self, steps: int, state: Sequence[np.ndarray], rest: Mapping[str, Any]) -> tuple[list[np.ndarray], int]:
        """Return the states after each step, arrays (steps, ...) that the next call overwrites, and the number of steps before the
        first with a margin that is not positive: only these are valid.

        Args:
            state: the initial state.
            rest: the other inputs, the same in every step, or one row for each.
        """
        for x, value in zip(self.state, state, strict=True):
            x[0] = value
        for name, x in self.rest.items():
            x[:steps] = rest[name]
        self.loop(steps)
        valid = (self.margins[:steps] > 0).all(-1)
        return [x[1 : steps + 1] for x in self.state], steps if valid.all() else int(valid.argmin())
