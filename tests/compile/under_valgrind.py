"""Calls of every kind, for valgrind to watch: `python -m tests.compile.under_valgrind`.

Code is made for AVX2, since valgrind knows nothing wider, and taken from the cache if it is there: LLVM itself is slow to watch.
"""

from __future__ import annotations

import gc
import threading

import numpy as np

import qddot
from tests.compile.guarded import QUANTITIES
from tests.platforms.probe import use


def once(name: str) -> None:
    robot, rng = qddot.load(name), np.random.default_rng(0)
    for quantity in QUANTITIES:
        inputs = robot.kernel(quantity).program.inputs
        call, step = getattr(robot, quantity), robot.bind(quantity)
        for n in (1, 5, 16, 21):
            batch = [rng.normal(size=(n, x.size)) for x in inputs]
            values = call(*batch)
            np.testing.assert_array_equal(values[n - 1], call(*(a[n - 1].copy() for a in batch)))
        for x, a in zip(inputs, batch):
            step.inputs[x.name][:] = a[-1]
        np.testing.assert_array_equal(step(), values[-1])
        bad = [np.full(x.size, np.nan) for x in inputs]
        for wrong in (bad, [[]], [None] * len(inputs), [np.zeros(99)] * len(inputs)):
            try:
                call(*wrong)
            except (TypeError, ValueError):
                continue
            raise AssertionError("taken for good")


def main() -> None:
    use("avx2")
    once("two_link")
    threads = [threading.Thread(target=once, args=("arm7",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    print("done")


if __name__ == "__main__":
    main()
