"""Two processes write the same code, or the second one would never find in the cache what the first one left."""

from __future__ import annotations

import subprocess
import sys

import pytest

WRITE = """
import hashlib, sys
import numpy as np
import qddot
from qddot.compile.gpu.thread import Shape
from qddot.compile.gpu.thread_ir import source
from qddot.compile.javascript import javascript_function
from qddot.compile.lanes import Lanes
from qddot.compile.llvm import module_text

robot, quantities = qddot.load(sys.argv[1]), sys.argv[2:]
for quantity in quantities:
    program = robot.program(quantity)
    texts = {f"{width} lanes of {real}": module_text(program, Lanes(width, real, True, width))
             for width, real in ((1, "double"), (4, "double"), (8, "double"), (16, "float"))}
    texts["GPU"] = source(program, "double", Shape()).text
    texts["JavaScript"] = "".join(javascript_function(program, "f"))
    for name, text in texts.items():
        print(quantity, name, hashlib.sha256(text.encode()).hexdigest())
"""


@pytest.mark.parametrize(
    ("robot", "quantities"),
    [
        ("panda", ("inverse_dynamics", "forward_dynamics", "regressor", "forward_dynamics_derivatives")),
        ("quadruped", ("mass_matrix", "coriolis_matrix", "inverse_dynamics_derivatives")),
    ],
)
def test_code_is_the_same_in_every_process(robot, quantities):
    run = [sys.executable, "-c", WRITE, robot, *quantities]
    both = [subprocess.Popen(run, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (process.communicate()[0].splitlines() for process in both)
    assert len(first) == 6 * len(quantities)
    assert first == second
