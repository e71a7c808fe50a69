"""What a user waits for and pays in memory: import, compilation with and without a cache on disk; each in fresh processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

IMPORT = """
import json, time
t0 = time.perf_counter(); import numpy; t1 = time.perf_counter(); import qddot; t2 = time.perf_counter()
print(json.dumps({"import numpy": t1 - t0, "import qddot beyond numpy": t2 - t1}))
"""

COMPILE = """
import json, resource, sys, time, warnings
import numpy as np
import qddot

def memory():  # Linux hands ru_maxrss of the parent on to the child, so its own figure is read there
    try:
        lines = open("/proc/self/status").read().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def wait(states):
    start = time.perf_counter()
    method(*(np.zeros((*states, robot.nv)) for _ in range(3)))
    return time.perf_counter() - start

warnings.simplefilter("ignore")
found = {"memory after import [MB]": memory()}
qddot.load("two_link").mass_matrix([0, 0])  # LLVM itself
robot = qddot.load(sys.argv[1])
method = getattr(robot, sys.argv[2])
found["first call, one state"] = wait(())
found["first call, batch"] = wait((64,))
found["memory after both [MB]"] = memory()
print(json.dumps(found))
"""


def imports(repeat: int = 7) -> dict[str, float]:
    """Medians, in s."""
    runs = [process(IMPORT) for _ in range(repeat)]
    return {name: float(np.median([run[name] for run in runs])) for name in runs[0]}


def compilation(urdf: Path, quantity: str, repeat: int = 3) -> dict[str, float]:
    """Cold; and again where the first process left files in the folder for caches. In s; memory in MB."""
    found = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            first = process(COMPILE, str(urdf), quantity, cache=folder)
            left = any(path.is_file() for path in Path(folder).rglob("*"))
            second = process(COMPILE, str(urdf), quantity, cache=folder) if left else {}
            cached = {f"{name}, cached": second[name] for name in second if name.startswith("first")}
            found.append({**first, **cached})
    return {name: float(np.median([run[name] for run in found])) for name in found[0]}


def process(code: str, *arguments: str, cache: str | None = None) -> dict[str, float]:
    """What a fresh interpreter prints."""
    folders = {} if cache is None else {"XDG_CACHE_HOME": cache, "QDDOT_CACHE_DIR": cache}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **folders})
    return json.loads(done.stdout)
