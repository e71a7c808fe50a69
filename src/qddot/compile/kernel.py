"""A compiled quantity of one robot: a program, and the NumPy gufuncs that run it."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np

from qddot.compile.gufunc import make_gufunc
from qddot.compile.llvm import Code, compile_program, single_lanes, this_computer, wide_lanes
from qddot.graph.program import Program

BATCH = 16
"""From this many states on, the code for many at a time is worth compiling."""


class Kernel:
    """Arrays with any leading shape in, arrays out.

    Code for one state is compiled at once, code for W states at a time when a batch first asks for it. Both give the same bits.

    Attributes:
        program: what was traced.
        dtype: of the computation and the result.
    """

    def __init__(self, program: Program, dtype: np.dtype) -> None:
        self.program, self.dtype = program, dtype
        self.is_empty = any(0 in x.shape for x in (*program.inputs, *program.outputs))  # NumPy's signatures cannot say that
        self._lock = threading.Lock()
        if not self.is_empty:
            self._computer = this_computer()
            self._single: Code = compile_program(program, single_lanes(dtype, self._computer), self._computer)
            self.single = make_gufunc(program, self._single.loop, self._single.kernel, dtype, self._single)

    @cached_property
    def ufunc(self) -> np.ufunc:
        """The NumPy gufunc for batches of any size, without any checks."""
        with self._lock:
            if "ufunc" not in self.__dict__:
                code = compile_program(self.program, wide_lanes(self.dtype, self._computer), self._computer)
                self.__dict__["ufunc"] = make_gufunc(self.program, code.loop, self._single.kernel, self.dtype, (code, self._single))
            return self.__dict__["ufunc"]

    def __call__(self, *arrays: np.ndarray, out=None):
        """Evaluate; `out` is an array, or a tuple of arrays for several outputs."""
        if self.is_empty:
            return self._empty(arrays, out)
        states = max(a.size // x.size for a, x in zip(arrays, self.program.inputs))
        ufunc = self.ufunc if states >= BATCH else self.single
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)

    def _empty(self, arrays: tuple[np.ndarray, ...], out):
        """A robot without joints: what does not depend on q is constant, the rest is empty."""
        cores = zip(arrays, self.program.inputs)
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(x.shape)] for a, x in cores))
        results = []
        for output in self.program.outputs:
            constant = np.array([float(v) for v in output.values], self.dtype).reshape(output.shape)
            results.append(np.broadcast_to(constant, (*batch, *output.shape)).copy())
        if out is None:
            return results[0] if len(results) == 1 else tuple(results)
        for room, values in zip(out if isinstance(out, tuple) else (out,), results):
            if room is not None:
                room[...] = values
        return out
