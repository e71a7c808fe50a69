"""A compiled quantity of one robot: a program, and the NumPy gufunc that runs it."""

from __future__ import annotations

import numpy as np

from qddot.compile.gufunc import make_gufunc
from qddot.compile.llvm import compile_loop
from qddot.graph.program import Program


class Kernel:
    """Arrays with any leading shape in, arrays out.

    Attributes:
        program: what was traced.
        dtype: of the computation and the result.
        ufunc: the NumPy gufunc; None where some input or output is empty, which NumPy's signatures cannot say.
    """

    def __init__(self, program: Program, dtype: np.dtype) -> None:
        self.program, self.dtype = program, dtype
        self.ufunc: np.ufunc | None = None
        if all(0 not in x.shape for x in (*program.inputs, *program.outputs)):
            address, engine = compile_loop(program, dtype)
            self.ufunc = make_gufunc(program, address, dtype, engine)

    def __call__(self, *arrays: np.ndarray, out=None):
        """Evaluate; `out` is an array, or a tuple of arrays for several outputs."""
        if self.ufunc is not None:
            return self.ufunc(*arrays) if out is None else self.ufunc(*arrays, out=out)
        results = self._empty(arrays)
        if out is None:
            return results[0] if len(results) == 1 else results
        for room, values in zip(out if isinstance(out, tuple) else (out,), results):
            if room is not None:
                room[...] = values
        return out

    def _empty(self, arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        """A robot without joints: what does not depend on q is constant, the rest is empty."""
        cores = zip(arrays, self.program.inputs)
        batch = np.broadcast_shapes(*(a.shape[: a.ndim - len(x.shape)] for a, x in cores))
        results = []
        for output in self.program.outputs:
            constant = np.array([float(v) for v in output.values], self.dtype).reshape(output.shape)
            results.append(np.broadcast_to(constant, (*batch, *output.shape)).copy())
        return tuple(results)
