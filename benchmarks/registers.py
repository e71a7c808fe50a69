"""Registers and spills of every quantity of ten robots on a GPU, as the assembler of CUDA counts them; no GPU is needed.

    python benchmarks/registers.py [sm_90]      needs `ptxas` on the PATH

Writes benchmarks/results/gpu_registers.txt.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import numpy as np

import qddot
from qddot.algorithms.quantities import QUANTITIES
from qddot.compile.gpu.ptx import ptx
from qddot.compile.gpu.thread import Shape
from qddot.compile.gpu.thread_ir import source
from qddot.compile.trace import complete, trace
from qddot.errors import QddotError

ROBOTS = ("acrobot", "cart_pole", "five_bar", "four_bar", "point_mass_2r", "rp_arm", "two_link", "puma560", "arm7", "delta")

RESULT = Path(__file__).parent / "results" / "gpu_registers.txt"


def assembled(text: str, architecture: str) -> tuple[int, int]:
    """Registers, and bytes a thread that go to memory instead."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text)
        command = ["ptxas", f"-arch={architecture}", "-v", str(path), "-o", str(path.with_suffix(".cubin"))]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = [re.search(pattern, said) for pattern in (r"Used (\d+) registers", r"(\d+) bytes spill stores")]
    return int(found[0][1] if found[0] else 0), int(found[1][1] if found[1] else 0)


def row(name: str, quantity: str, architecture: str) -> str:
    robot, found = one(name), []
    for dtype, real in ((np.float32, "float"), (np.float64, "double")):
        try:
            program = trace(robot.model, [complete(quantity, {}, lambda: robot.frame_names[-1])], dtype)
            if any(0 in x.shape for x in (*program.inputs, *program.outputs)):
                return ""
            registers, spilled = assembled(ptx(source(program, real, Shape()).text, (9, 0)), architecture)
            found.append(f"{registers:4d} {spilled:6d}")
        except QddotError as error:
            found.append(f"{type(error).__name__:>11s}")
    return f"{robot.name:16s} {quantity:32s} " + "   ".join(found)


@cache
def one(name: str) -> qddot.Robot:
    """A robot of numbers."""
    robot = qddot.load(name)
    values = dict.fromkeys(robot.symbols, 1.0)
    return robot.subs(values) if values else robot


def main() -> None:
    architecture = sys.argv[1] if len(sys.argv) > 1 else "sm_90"
    head = f"registers and bytes spilled a thread, {architecture}, rows; float32, then float64"
    with ProcessPoolExecutor() as pool:
        rows = pool.map(row, *zip(*((name, quantity, architecture) for name in ROBOTS for quantity in QUANTITIES)))
        RESULT.write_text("\n".join([head, *filter(None, rows)]) + "\n")


if __name__ == "__main__":
    main()
