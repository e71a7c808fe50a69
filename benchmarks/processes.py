"""Processor time of whole processes that import qddot, load a robot and compute: the shortest of many, in turn, ms.

    .venv/bin/python benchmarks/processes.py [SOURCE ...] [--repeat 20]

Each SOURCE is the `src` folder of a version. Rows that end in `cold` begin with an empty cache, all others find their code in it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import table

HERE = Path(__file__).parents[1] / "src"
CALL = "import numpy as np, qddot; r = qddot.load('panda'); r.inverse_dynamics(*np.full({}, 0.3))"
COMPUTE = "compute panda inverse_dynamics --q 0.1,0.2,0.3,0.4,0.5,0.6,0.7"
JOBS = {
    "import numpy": ("-c", "import numpy"),
    "and qddot": ("-c", "import numpy, qddot"),
    "and load('panda')": ("-c", "import numpy, qddot; qddot.load('panda')"),
    "and inverse dynamics": ("-c", CALL.format("(3, 7)")),
    "the same, 64 states": ("-c", CALL.format("(3, 64, 7)")),
    "qddot info panda": ("-m", "qddot", "info", "panda"),
    "qddot compute": ("-m", "qddot", *COMPUTE.split()),
    "and inverse dynamics, cold": ("-c", CALL.format("(3, 7)")),
    "the same, 64 states, cold": ("-c", CALL.format("(3, 64, 7)")),
}


def processor_time(arguments: Sequence[str], source: Path, cache: str) -> float:
    """Return the processor time of a Python process, with all that it writes thrown away, s."""
    environment = {**os.environ, "PYTHONPATH": str(source), "QDDOT_CACHE": cache, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.executable, [sys.executable, *arguments], environment, file_actions=silent)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"{' '.join(arguments)} failed")
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", type=Path, default=[HERE])
    parser.add_argument("--repeat", type=int, default=20)
    given = parser.parse_args()
    found: dict[str, list[list[float]]] = {name: [[] for _ in given.sources] for name in JOBS}
    with tempfile.TemporaryDirectory() as folder:
        for k in range(given.repeat + 1):
            for name, arguments in JOBS.items():
                for source, times in zip(given.sources, found[name]):
                    cold = name.endswith("cold")
                    cache = tempfile.mkdtemp(dir=folder) if cold else f"{folder}/{given.sources.index(source)}"
                    taken = processor_time(arguments, source, cache)
                    times += [taken] if k else []  # the first round fills caches
    rows = [(name, *(f"{1e3 * min(times):.0f}" for times in each)) for name, each in found.items()]
    print(table.plain(("", *map(str, given.sources)), rows))


if __name__ == "__main__":
    main()
