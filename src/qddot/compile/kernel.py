"""A compiled program, and the NumPy gufuncs that run it."""

from __future__ import annotations

import ctypes
import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from qddot.compile import singly
from qddot.compile.gufunc import make_gufunc
from qddot.compile.llvm import Code, compile_program, single_lanes, this_computer, wide_lanes
from qddot.compile.results import LARGE
from qddot.compile.threads import SMALLEST, run_sliced, run_tiled, thread_count
from qddot.graph.program import Output, Program

BATCH = 16
"""Number of states from which on code for several states at a time is worth compiling."""

WORTH_THREADS = 5_000_000
"""Number of operations from which on a batch is shared between threads: about 0.2 ms on one core."""

WIDE = 1 << 10
"""Bytes of results of a state from which on it pays to bypass the caches: it saves a fifth of the time of a large matrix."""


class Kernel:
    """A compiled program: a function of arrays with any leading dimensions.

    Code for one state is compiled at once, code for W states at a time for the first batch. Both give the same bits.

    Attributes:
        program: the traced program.
        dtype: type of the computation and the result.
        shown: the outputs without margins.
    """

    def __init__(self, program: Program, dtype: np.dtype) -> None:
        self.program, self.dtype = program, dtype
        self.has_margins = program.outputs[-1].name == "margins"
        self.shown = program.shown
        self.length = len(program.nodes)
        shapes = {x.shape for x in program.inputs}
        self.size = math.prod(shapes.pop()) if len(shapes) == 1 else 0  # the size of every input, if all have one shape
        self.is_empty = any(0 in x.shape for x in (*program.inputs, *program.outputs))  # a gufunc's signature has no size 0
        self._lock = threading.Lock()
        self._wide: dict[bool, tuple[Code, ctypes.Array]] = {}  # code for many states and its task, by whether margins are watched
        if not self.is_empty:
            self._computer = this_computer()
            lanes = single_lanes(dtype, self._computer)
            self._single: Code = compile_program(program, lanes, self._computer)
            self._task = singly.task(program, self._single.kernel, lanes)
            self.single = make_gufunc(program, self._single.loop, self._task, dtype, self._single)

    def __reduce__(self) -> tuple:
        """Pickle the program only, to be compiled again."""
        return Kernel, (self.program, self.dtype)

    @cached_property
    def ufunc(self) -> np.ufunc:
        """The NumPy gufunc for batches of any size; inputs that are not finite raise only NumPy's flag for invalid values."""
        return self._for_many("ufunc", self.program, watched=False)

    @cached_property
    def watched(self) -> np.ufunc:
        """The gufunc without margins as outputs: one that is not positive raises NumPy's flag for invalid values instead."""
        return (
            self._for_many("watched", replace(self.program, outputs=self.shown), watched=True) if self.has_margins else self.ufunc
        )

    def _for_many(self, name: str, shown: Program, *, watched: bool) -> np.ufunc:
        """Return a gufunc of code for W states at a time, compiled by the first of several threads."""
        with self._lock:
            if name not in self.__dict__:
                lanes = wide_lanes(self.dtype, self._computer)
                code = compile_program(self.program, lanes, self._computer, watched=watched)
                task = singly.task(self.program, self._single.kernel, lanes, watched=watched)
                self._wide[watched] = code, task
                self.__dict__[name] = make_gufunc(shown, code.loop, task, self.dtype, (code, self._single))
            return self.__dict__[name]

    def loop(self) -> tuple[int, int]:
        """Return the addresses of the loop over many states and of the task that is its last argument.

        The loop is `void loop(char **args, intptr_t *dimensions, intptr_t *steps, int64_t *task)`, as in NumPy's gufuncs. The
        addresses are valid as long as the kernel lives.
        """
        _ = self.ufunc
        code, task = self._wide[False]
        return code.loop, ctypes.addressof(task)

    @property
    def one_by_one(self) -> tuple[int, int]:
        """Addresses of the loop that computes the states one after the other, in order, and of its task (see `loop`)."""
        return self._single.loop, ctypes.addressof(self._task)

    @property
    def single_address(self) -> int:
        """Address of the code for one state, `void kernel(input, ..., output, ...)`."""
        return self._single.kernel

    @property
    def watched_loop(self) -> tuple[int, int]:
        """Addresses of the loop that checks margins instead of writing them, 0 if not yet compiled, and of its task (see
        `loop`)."""
        if self.has_margins not in self._wide:
            return 0, 0
        code, task = self._wide[self.has_margins]
        return code.loop, ctypes.addressof(task)

    def __call__(self, *arrays: np.ndarray, out=None, threads: int | None = 1):
        """Return the outputs; `out` is an array, or a tuple of arrays for several. Large batches are shared between threads."""
        return self.run(arrays, out, threads)

    def run(self, arrays: Sequence[np.ndarray], out: Any, threads: int | None, *, watch: bool = False):
        """Compute a batch and return the outputs.

        Args:
            out: arrays for the outputs, or None for new ones.
            threads: largest number of threads; None for the usual number.
            watch: for large batches margins are not returned; one that is not positive raises NumPy's flag for invalid values.
        """
        if self.is_empty:
            return self._empty(arrays, out)
        states = self.states(arrays)
        if states < BATCH:
            return self.single(*arrays) if out is None else self.single(*arrays, out=out)
        ufunc, outputs = (self.watched, self.shown) if watch else (self.ufunc, self.program.outputs)
        out = out[: len(outputs)] if isinstance(out, tuple) else out
        if states * self.length >= WORTH_THREADS and (count := thread_count(threads)) > 1:
            return self._threaded(ufunc, outputs, arrays, out, min(count, 2 * states * self.length // WORTH_THREADS))
        return ufunc(*arrays) if out is None else ufunc(*arrays, out=out)

    def states(self, arrays: Sequence[np.ndarray]) -> int:
        """Return the number of states in a batch."""
        if self.size and len({a.shape for a in arrays}) == 1:  # the usual case
            return arrays[0].size // self.size
        return math.prod(self.batch_shape(arrays))

    def batch_shape(self, arrays: Sequence[np.ndarray]) -> tuple[int, ...]:
        """Return the leading dimensions of the results. Raises ValueError: those of the arrays are not compatible."""
        shapes = {a.shape[: a.ndim - len(x.shape)] for a, x in zip(arrays, self.program.inputs)}
        return shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)

    def _threaded(self, ufunc: np.ufunc, outputs: Sequence[Output], arrays: Sequence[np.ndarray], out, threads: int):
        """Compute a batch in threads, each of which fills a part of the outputs; NumPy handles overlapping or unusual arrays."""
        batch = self.batch_shape(arrays)
        given = [None] * len(outputs) if out is None else list(out) if isinstance(out, tuple) else [out]
        if len(given) != len(outputs) or any(not isinstance(a, np.ndarray | None) for a in given):
            return ufunc(*arrays, out=out)  # raises the error
        results = [np.empty((*batch, *x.shape), self.dtype) if a is None else a for a, x in zip(given, outputs)]
        fits = all(a.shape == (*batch, *x.shape) and a.dtype == self.dtype for a, x in zip(results, outputs))
        if not fits or any(np.may_share_memory(a, b) for a in given if a is not None for b in arrays):
            return ufunc(*arrays, out=tuple(given))
        ranks, out_ranks = ([len(x.shape) for x in part] for part in (self.program.inputs, outputs))
        loop, task = self.loop() if ufunc is self.__dict__.get("ufunc") else self.watched_loop
        size = sum(x.size for x in outputs) * self.dtype.itemsize
        together = SMALLEST + (LARGE // size if size >= WIDE else 0)  # so many states that results bypass the caches
        if not run_tiled(loop, task, (*arrays, *results), (*ranks, *out_ranks), batch, threads, together):
            run_sliced(ufunc, arrays, ranks, tuple(results), out_ranks, threads)
        return results[0] if len(results) == 1 else tuple(results)

    def _empty(self, arrays: Sequence[np.ndarray], out):
        """Return the results for a robot without joints: constants, and empty arrays."""
        batch, results = self.batch_shape(arrays), []
        for output in self.program.outputs:
            constant = np.array([float(v) for v in output.values], self.dtype).reshape(output.shape)
            results.append(np.broadcast_to(constant, (*batch, *output.shape)).copy())
        if out is None:
            return results[0] if len(results) == 1 else tuple(results)
        for a, values in zip(out if isinstance(out, tuple) else (out,), results):
            if a is not None:
                a[...] = values
        return out
