"""What a step of a simulation costs: dry friction in a batch, and one motion of a closed loop, also one whose rows are said twice.

    .venv/bin/python benchmarks/steps.py

Times are of the processor, the shortest of several runs. A loop of 500 steps is timed as a whole, with what comes before the first
step (is the state on its constraints, how far are dead centres?), and by what further steps add.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import table

import qddot

STEP, BATCH = 1e-3, 1000
LOOPS = {"four_bar": (0.4, 1.8, 1.7), "five_bar": None, "delta": None}


def best(run: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the processor."""
    found = []
    for _ in range(rounds + 1):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found[1:])


def friction() -> list[tuple[str, ...]]:
    robot, rng, rows = qddot.load("puma560"), np.random.default_rng(0), []
    q, qd = 0.3 * rng.uniform(-1, 1, (BATCH, robot.nq)), rng.normal(size=(BATCH, robot.nv))
    for stops in (False, True):
        run = partial(robot.simulate, q, qd, 200 * STEP, step=STEP, every=200, stops=stops, threads=1)
        words = f"Puma 560 with dry friction{' and stops' if stops else ''}, {BATCH} motions"
        rows.append((words, f"{best(run) / 200 / BATCH * 1e6:.2f}", ""))
    return rows


def loops() -> list[tuple[str, ...]]:
    rows = []
    for name, near in LOOPS.items():
        robot = qddot.load(name)
        q = robot.project(robot.neutral() + 0.1 if near is None else near)
        qd = robot.project_velocity(q, 0.3 * np.linspace(1, 2, robot.nv))
        once = list(robot.model.constraints)
        for words, constraints in ((name, once), (f"{name}, closed twice", [*once, *once])):
            run = partial(robot.simulate, q, qd, step=STEP, stops=False, constraints=constraints)
            few, many = (best(partial(run, t=n * STEP)) for n in (250, 500))
            rows.append((words, f"{many / 500 * 1e6:.2f}", f"{(many - few) / 250 * 1e6:.2f}"))
    return rows


def main() -> None:
    warnings.simplefilter("ignore")
    print(table.plain(("motion", "a step [us]", "a further step [us]"), [*friction(), *loops()]))


if __name__ == "__main__":
    main()
