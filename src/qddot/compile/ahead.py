"""A kernel that is called on arrays of its own: for one state at little cost, or for many steps of a motion in one call.

The loop over single states computes the states of a batch in order. In `Ahead` the batch is a motion: its arrays overlap, so that
each step reads the state that the step before has written. Hundreds of steps then need a single call from Python, and give the same
bits as a call for each step.
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
"""Type of a kernel's loop in C (see `Kernel.loop`)."""


class Loop:
    """The loop of a kernel over single states, on fixed arrays (rows, ...). A call computes the first rows."""

    def __init__(self, kernel: Kernel, arrays: Sequence[np.ndarray]) -> None:
        self.kernel, self.arrays, self.count = kernel, arrays, np.zeros(1, np.int64)  # kept alive: the loop has their addresses
        loop, self.task = kernel.one_by_one
        self.run, self.places = LOOP(loop), np.array([x.ctypes.data for x in arrays])
        self.strides = np.array([*(x.strides[0] for x in arrays), *(stride for x in arrays for stride in x.strides[1:])])
        self.where = [x.ctypes.data for x in (self.places, self.count, self.strides)]

    def __call__(self, rows: int) -> None:
        self.count[0] = rows
        self.run(*self.where, self.task)


class One:
    """A function that computes one state; it allocates little memory and checks only the result."""

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        self.inputs = {x.name: np.zeros((1, *x.shape)) for x in program.inputs}
        self.q = self.inputs["q"]
        ends = np.cumsum([0, *(x.size for x in program.outputs)])
        self.found, self.parts = np.zeros(ends[-1]), [slice(a, b) for a, b in pairwise(ends)]
        self.margins = self.found[self.parts.pop()] if kernel.has_margins else np.ones(1)
        self.loop = Loop(kernel, [*self.inputs.values(), *(self.found[None, a:b] for a, b in pairwise(ends))])

    def __call__(self, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...] | None:
        """Return the outputs without margins, or None if a margin is not positive, a result is not finite, or q is very large."""
        for name, x in self.inputs.items():
            x[0] = inputs[name]
        self.loop(1)
        if not (np.isfinite(self.found).all() and self.margins.min() > 0 and np.abs(self.q).max() < FAR):
            return None
        found = self.found.copy()
        return tuple([found[part] for part in self.parts])


class Ahead:
    """A function that computes many steps, each from the state after the one before.

    `kernel` computes one step: its first inputs are a state, and its outputs are the state after the step, in the same order, and
    margins.
    """

    def __init__(self, kernel: Kernel) -> None:
        program = kernel.program
        carried = len(program.outputs) - 1
        self.state = [np.zeros((MOST + 1, *x.shape)) for x in program.inputs[:carried]]
        self.rest = {x.name: np.zeros((MOST, *x.shape)) for x in program.inputs[carried:]}
        self.margins = np.zeros((MOST, program.outputs[-1].size))
        self.loop = Loop(kernel, [*(x[:-1] for x in self.state), *self.rest.values(), *(x[1:] for x in self.state), self.margins])

    def __call__(self, steps: int, state: Sequence[np.ndarray], rest: Mapping[str, Any]) -> tuple[list[np.ndarray], int]:
        """Return the state after each step, as arrays (steps, ...) that the next call overwrites, and the number of valid steps:
        those before the first one with a margin that is not positive.

        Args:
            state: the initial state.
            rest: the other inputs, either the same in every step, or with a row for each step.
        """
        for x, value in zip(self.state, state, strict=True):
            x[0] = value
        for name, x in self.rest.items():
            x[:steps] = rest[name]
        self.loop(steps)
        valid = (self.margins[:steps] > 0).all(-1)
        return [x[1 : steps + 1] for x in self.state], steps if valid.all() else int(valid.argmin())
