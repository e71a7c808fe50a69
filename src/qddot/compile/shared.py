"""Code that all kernels of a process share: made and loaded once, and called by name.

It does not depend on the robot: sines and cosines of vectors, the loop over single states, and the way to raise a flag. In each
kernel it would be half of what LLVM has to compile for a small robot.
"""

from __future__ import annotations

from qddot.compile import peaks, sincos, singly
from qddot.compile.lanes import Lanes, library


def lanes_of(lanes: Lanes) -> Lanes:
    """The lanes of the code that kernels over these call: of single states, whole vectors."""
    return sincos.Rooms(1, lanes).loop_lanes


def names(lanes: Lanes) -> list[str]:
    """Functions by which kernels may call it."""
    return [sincos.name(lanes), singly.name(lanes), peaks.invalid(lanes)]


def declarations(lanes: Lanes) -> list[str]:
    """Declarations of these functions, for the module of a kernel."""
    kinds = ("ptr noalias, ptr noalias, i64", "ptr, ptr, ptr, ptr", "")
    return [f"declare void {name}({kind}) nounwind" for name, kind in zip(names(lanes), kinds, strict=True)]


def module(lanes: Lanes) -> str:
    lines = [*library(lanes.real), '!0 = !{!"branch_weights", i32 1, i32 100000}']
    for each in dict.fromkeys((lanes, lanes.scalar)):
        lines += each.declarations()
    return "\n".join([*lines, *peaks.define(lanes), *sincos.define(lanes), *singly.define(lanes), ""])
