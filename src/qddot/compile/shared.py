"""LLVM IR of the functions that all kernels of a process share: compiled and loaded once, and called by name.

They do not depend on the robot: sines and cosines of vectors, the loop over single states, and the function that raises the
processor's flag for an invalid operation. If each kernel had its own copy, LLVM would have to compile twice as much for a small
robot.
"""

from __future__ import annotations

from qddot.compile import peaks, sincos, singly
from qddot.compile.lanes import Lanes, library

FUNCTIONS = {"sincos": "ptr noalias, ptr noalias, i64", "singly": "ptr, ptr, ptr, ptr", "invalid": ""}
"""The functions that kernels call, and the types of their arguments."""


def declarations(lanes: Lanes) -> list[str]:
    """Return the declarations of the shared functions, for the module of a kernel."""
    return [f"declare void {lanes.function(name)}({arguments}) nounwind" for name, arguments in FUNCTIONS.items()]


def module(lanes: Lanes) -> str:
    """Return the LLVM module that defines the shared functions."""
    lines = [*library(lanes.real), '!0 = !{!"branch_weights", i32 1, i32 100000}']
    for each in dict.fromkeys((lanes, lanes.scalar)):
        lines += each.declarations()
    return "\n".join([*lines, *peaks.define(lanes), *sincos.define(lanes), *singly.define(lanes), ""])
