"""Computation of large batches on several cores.

If the states of every array are evenly spaced in memory, threads take tiles of the batch from a common counter, in machine code and
without Python's lock. A thread that starts late takes fewer tiles, and no other waits for one that never starts. The call returns
when all tiles are done, even if a thread has not yet returned to Python. Other arrays are cut into slices, one for each thread, on
which NumPy runs the gufunc.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

VARIABLE = "QDDOT_THREADS"
"""Environment variable for the number of threads."""

TILES = 16
"""Number of tiles per thread, so that none waits long for the others at the end."""

SMALLEST = 64
"""Smallest number of states in a tile."""

WORDS = ("loop", "task", "clear_flags", "get_flags", "arrays", "count", "tile", "next", "flags", "done")
"""Words of a job, which its arrays and steps follow."""

PATIENCE = 1 << 17
"""Number of times, about 50 us, that a thread checks if the others are done before it sleeps. Waking it takes as long."""

ARRAYS, STEPS = len(WORDS), len(WORDS) + 32
"""Indices in a job of its first array and of its first step."""


@cache
def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(asked: int | None) -> int:
    """Return the number of threads to use.

    It is `asked`, else the environment variable QDDOT_THREADS, else the number of cores that this process may use, which is also
    the maximum. Raises InputError: not a positive whole number.
    """
    if type(asked) is int and asked > 0:
        return min(asked, cores())
    source, value = ("threads", asked) if asked is not None else (VARIABLE, os.environ.get(VARIABLE) or None)
    if value is None:
        return cores()
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool) and str(value).isdecimal() and int(value) > 0:
        return min(int(value), cores())
    raise InputError(f"{source}={value!r} is not a positive whole number")


def is_one_by_default() -> bool:
    """Return True if a call without `threads=` uses one thread."""
    return cores() == 1 or os.environ.get(VARIABLE) == "1"


@cache
def pool() -> ThreadPoolExecutor:
    """Return the pool of threads of this process."""
    from concurrent.futures import ThreadPoolExecutor  # loaded when first needed

    return ThreadPoolExecutor(cores(), thread_name_prefix="qddot")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # a child process has no copies of the threads


def run_sliced(
    ufunc: np.ufunc,
    arrays: Sequence[np.ndarray],
    ranks: Sequence[int],
    out: tuple[np.ndarray, ...],
    out_ranks: Sequence[int],
    threads: int,
) -> None:
    """Fill `out` in threads, one slice each, along the longest axis of the batch.

    Args:
        ranks: number of dimensions, within a state, of each input.
        out: arrays for the outputs, whose leading dimensions are those of the batch.
        out_ranks: number of dimensions, within a state, of each output.
    """
    batch = out[0].shape[: out[0].ndim - out_ranks[0]]
    axis = int(np.argmax(batch))
    from_right = len(batch) - axis
    threads = min(threads, batch[axis])
    edges = np.linspace(0, batch[axis], threads + 1).astype(int)

    def part(a: np.ndarray, rank: int, start: int, stop: int) -> np.ndarray:
        at = a.ndim - rank - from_right
        return a if at < 0 or a.shape[at] == 1 else a[(slice(None),) * at + (slice(start, stop),)]

    flags = np.geterr()  # NumPy's settings, which a thread does not inherit

    def work(k: int) -> None:
        inputs = [part(a, rank, edges[k], edges[k + 1]) for a, rank in zip(arrays, ranks)]
        rooms = tuple(part(a, rank, edges[k], edges[k + 1]) for a, rank in zip(out, out_ranks))
        with np.errstate(**flags):
            ufunc(*inputs, out=rooms)

    try:
        futures = [pool().submit(work, k) for k in range(1, threads)]
    except RuntimeError:  # the interpreter is shutting down and starts no threads
        ufunc(*arrays, out=tuple(out))
        return
    try:
        work(0)  # in this thread too: if it only waited, it would keep its core from the others
    finally:
        for future in futures:
            future.exception()  # waits for all, so that none writes into the output after an error
    for future in futures:
        future.result()


# tiles ----------------------------------------------------------------------------------------------------------------------


def run_tiled(
    loop: int,
    task: int,
    arrays: Sequence[np.ndarray],
    ranks: Sequence[int],
    batch: tuple[int, ...],
    threads: int,
    together: int = SMALLEST,
) -> bool:
    """Run a loop over states on tiles of a batch, in threads; return False, without running it, if arrays are not evenly spaced.

    Args:
        loop: address of the loop.
        task: address of its task.
        arrays: inputs and outputs.
        ranks: number of dimensions of each array within a state.
        together: smallest number of states in a tile, if the batch has enough for two such tiles per thread.

    Raises:
        FloatingPointError: as NumPy does, for flags of the processor.
    """
    steps = [step_of(a, rank, batch) for a, rank in zip(arrays, ranks)]
    if None in steps or len(arrays) > STEPS - ARRAYS:
        return False
    from qddot.compile import layout

    count, api = math.prod(batch), layout.ufunc_api()
    least = together if 2 * together * threads <= count else SMALLEST
    tile = max(-(-count // (TILES * threads) // SMALLEST), -(-least // SMALLEST)) * SMALLEST
    words = [loop, task, api[layout.CLEAR_FLAGS], api[layout.GET_FLAGS], len(arrays), count, tile, 0, 0, 0]
    words += [a.__array_interface__["data"][0] for a in arrays] + [0] * (STEPS - ARRAYS - len(arrays))
    words += [*steps, *(stride for a, rank in zip(arrays, ranks) for stride in a.strides[a.ndim - rank :])]  # type: ignore[list-item]
    job = (ctypes.c_int64 * len(words))(*words)
    take, futures, done = tiles(), [], False

    def work(patience: int) -> bool:
        return take(ctypes.addressof(job), patience)  # this function keeps the job alive as long as a thread may take a tile

    try:
        for _ in range(1, threads):
            futures.append(pool().submit(work, 0))
    except RuntimeError:  # no further thread can be started: those that run do its work
        pass
    try:
        done = work(PATIENCE)  # in this thread too: if it only waited, it would keep its core from the others
    finally:
        for future in futures:
            if not (future.cancel() or done):  # it has begun and may still write into the output: wait for it
                future.exception()
    if flags := job[WORDS.index("flags")]:
        report(flags)
    return True


def step_of(a: np.ndarray, rank: int, batch: tuple[int, ...]) -> int | None:
    """Return the number of bytes from one state to the next; None if it is not the same for all states."""
    outer = a.ndim - rank
    if outer == 0:
        return 0
    if a.shape[:outer] != batch or not a.flags.aligned:
        return None
    step, reach = a.strides[outer - 1], a.strides[outer - 1]
    for stride, size in zip(reversed(a.strides[:outer]), reversed(a.shape[:outer])):
        if stride != reach:
            return None
        reach *= size
    return step


def report(flags: int) -> None:
    """Raise the errors, or give the warnings, that NumPy has for these flags of the processor."""
    zero, huge = np.zeros(1), np.full(1, 1e300)
    for flag, (a, b) in {1: (zero + 1, zero), 2: (huge, 1 / huge), 8: (zero, zero)}.items():
        if flags & flag:
            np.divide(a, b)


@cache
def tiles() -> Callable[[int, int], bool]:
    """Return the function `bool tiles(int64_t *job, int64_t patience)`, which runs without Python's lock.

    It computes tiles of a job until none are left, then checks up to `patience` times if those of the other threads are done, too,
    and returns True if they are.
    """
    from qddot.compile.llvm import load_module, this_computer

    code = load_module("\n".join(tiles_ir()) + "\n", "tiles", this_computer())
    function = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_int64)(code.loop)
    function.code = code  # type: ignore[attr-defined]  # kept alive with the function
    return function


def tiles_ir() -> Iterator[str]:
    """Define the function `tiles` in LLVM IR."""
    yield "define zeroext i1 @tiles(ptr %job, i64 %patience) nounwind {\nentry:"
    yield f"%here = alloca ptr, i64 {STEPS - ARRAYS}\n%dimensions = alloca i64"
    for k, name in enumerate(WORDS):
        yield f"%{name}_p = getelementptr i64, ptr %job, i64 {k}"
        if name not in ("next", "flags", "done"):
            yield f"%{name} = load {'i64' if name in ('arrays', 'count', 'tile') else 'ptr'}, ptr %{name}_p"
    yield f"%steps = getelementptr i64, ptr %job, i64 {STEPS}\nbr label %take"
    yield "take:\n%start = atomicrmw add ptr %next_p, i64 %tile monotonic\n%some = icmp slt i64 %start, %count"
    yield "br i1 %some, label %place, label %wait\nplace:\n%i = phi i64 [ 0, %take ], [ %i1, %place ]"
    yield f"%a_at = add i64 %i, {ARRAYS}\n%a_p = getelementptr i64, ptr %job, i64 %a_at\n%a = load ptr, ptr %a_p"
    yield "%s_p = getelementptr i64, ptr %steps, i64 %i\n%s = load i64, ptr %s_p\n%o = mul i64 %s, %start"
    yield "%b = getelementptr i8, ptr %a, i64 %o\n%b_p = getelementptr ptr, ptr %here, i64 %i\nstore ptr %b, ptr %b_p"
    yield "%i1 = add i64 %i, 1\n%more = icmp slt i64 %i1, %arrays\nbr i1 %more, label %place, label %run"
    yield "run:\n%left = sub i64 %count, %start\n%last = icmp slt i64 %left, %tile\n%n = select i1 %last, i64 %left, i64 %tile"
    yield "store i64 %n, ptr %dimensions\ncall void %clear_flags()"
    yield "call void %loop(ptr %here, ptr %dimensions, ptr %steps, ptr %task)\n%raised = call i32 %get_flags()"
    yield "%wide = zext i32 %raised to i64\n%before = atomicrmw or ptr %flags_p, i64 %wide monotonic"
    yield "%earlier = atomicrmw add ptr %done_p, i64 %n release\nbr label %take"
    yield "wait:\n%w = phi i64 [ 0, %take ], [ %w1, %again ]\n%so_far = load atomic i64, ptr %done_p acquire, align 8"
    yield "%all = icmp sge i64 %so_far, %count\n%enough = icmp sge i64 %w, %patience\n%stop = or i1 %all, %enough"
    yield "br i1 %stop, label %done, label %again\nagain:\n%w1 = add i64 %w, 1\nbr label %wait\ndone:\nret i1 %all\n}"
