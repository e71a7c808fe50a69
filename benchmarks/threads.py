"""Gain of two threads over one, for a batch and for pure arithmetic that takes as long, by the shortest of many wall times.

Run it on an idle machine:

    .venv/bin/python benchmarks/threads.py [--states 65536,1048576] [--seconds 10]

The arithmetic is divided into two halves beforehand, and its second half, too, begins when its thread has woken. `first begins` and
`second begins` are the times from the call until each thread takes its first tile of the batch, and `over` is the time from the end
of the last tile until the call returns (medians).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
import ours
import peak
import table

from qddot.compile import threads
from robots import Case, case


def measured(case: Case, states: int, seconds: float) -> tuple[str, ...]:
    """Return a row of the table, for a batch of so many states."""
    batch = {f"batch {n}": job.run for n, job in ours.threaded(case, states).items()}
    one = shortest({"one": batch["batch 1"]}, 0.2)["one"]
    spins = {f"arithmetic {n}": job.run for n, job in peak.two_threads(one).items()}
    best = shortest(batch | spins, seconds)
    gain, pure = (best[f"{kind} 1"] / best[f"{kind} 2"] for kind in ("batch", "arithmetic"))
    found = (table.duration(best["batch 1"]), f"{gain:.2f}", f"{pure:.2f}", f"{gain / pure:.2f}")
    return (str(states), *found, *moments(batch["batch 2"]))


def shortest(jobs: dict[str, Callable[[], object]], seconds: float) -> dict[str, float]:
    """Return the shortest wall time of each job, s; the jobs run in turn."""
    best, start = dict.fromkeys(jobs, np.inf), time.perf_counter()
    while time.perf_counter() - start < seconds:
        for name, job in jobs.items():
            before = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - before)
    return best


def moments(run: Callable[[], object]) -> tuple[str, str, str]:
    """Return median times: from the call to the first tile of each thread, and from the end of the last tile to the return."""
    take, seen, rows = threads.tiles(), [], []

    def watched(job: int, patience: int) -> bool:
        begin = time.perf_counter()
        done = take(job, patience)
        seen.append((patience > 0, begin, time.perf_counter()))
        return done

    threads.tiles = lambda: watched  # type: ignore[assignment]
    for _ in range(200):
        seen.clear()
        start = time.perf_counter()
        run()
        stop = time.perf_counter()
        time.sleep(1e-3)  # until the other thread has noted its times, too
        if len(seen) == 2:
            (_, second, _), (_, first, end) = sorted(seen)
            rows.append((first - start, second - start, stop - end))
    threads.tiles = lambda: take  # type: ignore[assignment]
    return tuple(table.duration(x) for x in np.median(rows, axis=0)) if rows else ("", "", "")  # type: ignore[return-value]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--states", default="65536,262144,1048576")
    parser.add_argument("--seconds", type=float, default=10.0)
    given = parser.parse_args()
    head = ("states", "one thread", "two gain", "arithmetic", "share", "first begins", "second begins", "over")
    print(table.plain(head, [measured(case("panda"), int(n), given.seconds) for n in given.states.split(",")]))


if __name__ == "__main__":
    main()
