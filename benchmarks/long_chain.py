"""How long a chain of general joints takes to become ready, and how fast it is then.

python benchmarks/long_chain.py 100 --batch
"""

from __future__ import annotations

import argparse
import os
import resource
import time

import numpy as np

os.environ["QDDOT_CACHE"] = "off"

import qddot
from qddot.robot import Robot

QUANTITIES = {"inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "coriolis_matrix": 2}


def chain(n: int) -> Robot:
    """Axes, offsets and inertias in no special direction."""
    rng = np.random.default_rng(0)
    inertias = []
    for _ in range(n):
        points = rng.normal(size=(6, 3)) * 0.1
        arms = points - points.mean(0)
        tensor = sum(r @ r * np.eye(3) - np.outer(r, r) for r in arms)
        inertias.append(qddot.Inertia(6.0, points.mean(0), tensor))
    return qddot.from_dh(rng.uniform(-0.5, 0.5, (n, 4)).tolist(), convention="modified", inertias=inertias, name="chain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("joints", type=int, nargs="?", default=100)
    parser.add_argument("--batch", action="store_true", help="batches of 64 states besides")
    given = parser.parse_args()
    robot, x = chain(given.joints), np.random.default_rng(1).normal(size=(3, 64, given.joints))
    for name, count in QUANTITIES.items():
        print(f"{name:18}", end="")
        for what, arrays, states in (("one state", x[:count, 0], 1), ("a batch", x[:count], 64))[: 1 + given.batch]:
            start = time.process_time()
            getattr(robot, name)(*arrays, threads=1)
            ready, later = time.process_time() - start, []
            for _ in range(20):
                start = time.perf_counter()
                getattr(robot, name)(*arrays, threads=1)
                later.append((time.perf_counter() - start) / states)
            print(f"  {what}: ready after {ready:5.2f} s, then {min(later) * 1e6:6.1f} us", end="")
        print(f"  {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB", flush=True)


if __name__ == "__main__":
    main()
