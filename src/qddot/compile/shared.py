"""LLVM IR of the functions that all kernels of a process share: compiled and loaded once, and called by name.

They do not depend on the robot: sines and cosines of vectors, the loop over single states, and the function that raises the
processor's flag for an invalid operation. If each kernel had its own copy, LLVM would have to compile twice as much for a small
robot.
"""

from __future__ import annotations

from qddot.compile import peaks, sincos, singly
from qddot.compile.lanes import Lanes, library


def lanes_of(lanes: Lanes) -> Lanes:
    """Return the lanes of the shared functions that a kernel over these lanes calls: whole vectors for single states."""
    return sincos.Rooms(1, lanes).loop_lanes


def names(lanes: Lanes) -> list[str]:
    """Return the names of the shared functions that kernels call."""
    return [sincos.name(lanes), singly.name(lanes), peaks.invalid(lanes)]


def declarations(lanes: Lanes) -> list[str]:
    """Return the declarations of the shared functions, for the module of a kernel."""
    kinds = ("ptr noalias, ptr noalias, i64", "ptr, ptr, ptr, ptr", "")
    return [f"declare void {name}({kind}) nounwind" for name, kind in zip(names(lanes), kinds, strict=True)]


def module(lanes: Lanes) -> str:
    """Return the LLVM module that defines the shared functions."""
    lines = [*library(lanes.real), '!0 = !{!"branch_weights", i32 1, i32 100000}']
    for each in dict.fromkeys((lanes, lanes.scalar)):
        lines += each.declarations()
    return "\n".join([*lines, *peaks.define(lanes), *sincos.define(lanes), *singly.define(lanes), ""])
