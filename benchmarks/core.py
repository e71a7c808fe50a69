"""What a user waits for: import, load, and the first call of every method on Panda, compilation included.

    .venv/bin/python benchmarks/core.py            prints a table, writes benchmarks/core.json

Times are of this machine; the peer beside them (NumPy's own import, Pinocchio's reader and calls) ran on it too.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin

import qddot
from qddot.algorithms.quantities import QUANTITIES

ROBOTS = next(p for p in (Path(s) / "cmeel.prefix/share/example-robot-data/robots" for s in sys.path) if p.exists())
PANDA = ROBOTS / "panda_description/urdf/panda.urdf"


def seconds(f: Callable[[], object], repeat: int = 5) -> float:
    """Median wall time of a call."""

    def once() -> float:
        start = time.perf_counter()
        f()
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(repeat))


def import_times() -> tuple[float, float]:
    """NumPy's import, and what qddot's adds, each in fresh interpreters."""
    code = (
        "import time; t = time.perf_counter(); import numpy; u = time.perf_counter(); import qddot; "
        "print(u - t, time.perf_counter() - u)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() for _ in range(7)
    ]
    return tuple(statistics.median(float(r[k]) for r in runs) for k in (0, 1))  # type: ignore[return-value]


def chain(n: int, folder: Path) -> Path:
    """A URDF with n links in a row."""
    inertia = '<inertial><mass value="1"/><inertia ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial>'
    link = '<link name="l{0}">' + inertia + "</link>"
    joint = '<joint name="j{0}" type="continuous"><parent link="l{1}"/><child link="l{0}"/><origin xyz="0 0 .1"/></joint>'
    body = "".join(link.format(i) + (joint.format(i, i - 1) if i else "") for i in range(n))
    path = folder / "chain.urdf"
    path.write_text(f'<robot name="chain">{body}</robot>')
    return path


def first_calls() -> dict[str, float]:
    """Trace and compile each quantity for a fresh Panda, then evaluate once. LLVM itself is loaded before."""
    qddot.load("two_link").mass_matrix([0, 0])
    frame, found = {"frame": "panda_hand"}, {}
    for quantity, entry in QUANTITIES.items():
        robot, options = qddot.load(PANDA), (frame if "frame" in entry.options else {})
        arrays = [robot.neutral() if x == "q" else np.ones(robot.nv) for x in entry.inputs]
        found[quantity] = seconds(lambda: getattr(robot, quantity)(*arrays, **options), repeat=1)  # noqa: B023
    return found


def main() -> None:
    warnings.simplefilter("ignore")
    numpy_import, qddot_import = import_times()
    with tempfile.TemporaryDirectory() as folder:
        path = chain(2000, Path(folder))
        long_load = seconds(lambda: qddot.load(path).nv, repeat=3)
    results = {
        "import numpy [s]": numpy_import,
        "import qddot beyond numpy [s]": qddot_import,
        "load Panda [s]": seconds(lambda: qddot.load(PANDA).nv),
        "Pinocchio loads Panda [s]": seconds(lambda: pin.buildModelFromUrdf(str(PANDA))),
        "load a chain of 2000 links [s]": long_load,
        **{f"first call of {k} on Panda [s]": v for k, v in first_calls().items()},
    }
    for name, value in results.items():
        print(f"{name:<62}{value:8.3f}")
    worst = max(v for k, v in results.items() if k.startswith("first"))
    print(f"\nslowest first call {worst:.3f} s (target 0.5); import {qddot_import * 1e3:.0f} ms beyond NumPy (target 60)")
    Path(__file__).with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
