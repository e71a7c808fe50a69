"""Large batches on several cores: the same gufunc on slices of the batch, which NumPy runs without Python's lock."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

VARIABLE = "QDDOT_THREADS"


@cache
def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(asked: int | None) -> int:
    """What was asked for, else the environment variable QDDOT_THREADS, else every core this process may use; never more than that.

    Raises:
        InputError: not a positive whole number.
    """
    if type(asked) is int and asked > 0:
        return min(asked, cores())
    source, value = ("threads", asked) if asked is not None else (VARIABLE, os.environ.get(VARIABLE) or None)
    if value is None:
        return cores()
    if isinstance(value, (str, int, np.integer)) and not isinstance(value, bool) and str(value).isdecimal() and int(value) > 0:
        return min(int(value), cores())
    raise InputError(f"{source}={value!r} is not a positive whole number")


@cache
def pool() -> ThreadPoolExecutor:
    from concurrent.futures import ThreadPoolExecutor  # loaded when first needed

    return ThreadPoolExecutor(cores(), thread_name_prefix="qddot")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)  # the threads stay behind


def run_sliced(
    ufunc: np.ufunc,
    arrays: Sequence[np.ndarray],
    ranks: Sequence[int],
    out: tuple[np.ndarray, ...],
    out_ranks: Sequence[int],
    threads: int,
) -> None:
    """Fill `out`, whose arrays have the whole batch shape, slice by slice along its longest axis.

    Args:
        ranks, out_ranks: core dimensions of each array.
    """
    batch = out[0].shape[: out[0].ndim - out_ranks[0]]
    axis = int(np.argmax(batch))
    from_right = len(batch) - axis
    threads = min(threads, batch[axis])
    edges = np.linspace(0, batch[axis], threads + 1).astype(int)

    def part(a: np.ndarray, rank: int, start: int, stop: int) -> np.ndarray:
        at = a.ndim - rank - from_right
        return a if at < 0 or a.shape[at] == 1 else a[(slice(None),) * at + (slice(start, stop),)]

    flags = np.geterr()  # a thread does not inherit them

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
        work(0)  # here: a thread that only waits would keep its core from the others
    finally:
        for future in futures:
            future.exception()  # all of them, so that nobody writes into the output after an error
    for future in futures:
        future.result()
