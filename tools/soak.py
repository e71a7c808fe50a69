"""A soak: many calls from eight threads, through the direct entry, gufuncs and bound arrays, while memory stays flat.

    python tools/soak.py --calls 1000000000 --over 3600     # spread over an hour
    python tools/soak.py --calls 10000000                   # as fast as they go

Each call of a batch counts as many calls as it has states. Ends with 1 if a result was wrong or memory grew by more than a few per
cent after the first tenth.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
from pathlib import Path

import numpy as np

import qddot

THREADS = 8
GROWTH = 1.05


def resident() -> int:
    """Bytes of memory this process holds now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


class Soak:
    """Eight threads that each take their share of the calls and compare every result with the first."""

    def __init__(self, calls: int, batch: int, over: float) -> None:
        self.share, self.batch, self.over = calls // THREADS, batch, over
        self.robot = qddot.load("puma560")
        rng = np.random.default_rng(0)
        self.x = [rng.normal(size=(batch, 6)) for _ in range(3)]
        self.expected = self.robot.inverse_dynamics(*self.x)
        self.done, self.wrong = [0] * THREADS, [0] * THREADS

    def work(self, k: int) -> None:
        robot, x, out = self.robot, self.x, np.empty_like(self.expected)
        bound, i, start = robot.bind("inverse_dynamics"), 0, time.monotonic()
        while self.done[k] < self.share:
            i += 1
            robot.inverse_dynamics(*x, out=out, threads=1 + i % 2)
            one = i % self.batch
            single = robot.inverse_dynamics(*(a[one] for a in x))
            bound.q[:], bound.qd[:], bound.qdd[:] = (a[one] for a in x)
            same = np.array_equal(out, self.expected) and np.array_equal(single, self.expected[one])
            self.wrong[k] += not (same and np.array_equal(bound(), self.expected[one]))
            self.done[k] += self.batch + 2
            if i % 1000 == 0:  # robots come and go, with their kernels
                qddot.load("two_link", gravity=(0, 0, -float(i))).mass_matrix([0.1, 0.2])
            time.sleep(max(0.0, self.over * self.done[k] / self.share - (time.monotonic() - start)))

    def run(self) -> int:
        threads = [threading.Thread(target=self.work, args=(k,)) for k in range(THREADS)]
        start, first, total = time.monotonic(), 0, self.share * THREADS
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(max(1.0, self.over / 60))
            done, memory = sum(self.done), resident()
            if not first and done > total / 10:
                gc.collect()
                first = resident()
            print(
                f"{time.monotonic() - start:7.0f} s  {done:>14,} calls  {memory / 2**20:8.1f} MiB  {sum(self.wrong)} wrong",
                flush=True,
            )
        gc.collect()
        last = resident()
        grown = last / first if first else 1.0
        print(
            f"{sum(self.done):,} calls, {sum(self.wrong)} wrong, memory {last / 2**20:.1f} MiB, {grown:.3f} of that after a tenth"
        )
        return int(bool(sum(self.wrong)) or grown > GROWTH)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=10**7)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--over", type=float, default=0.0, help="seconds that the calls are spread over, with a line a sixtieth")
    given = parser.parse_args()
    return Soak(given.calls, given.batch, given.over).run()


if __name__ == "__main__":
    sys.exit(main())
