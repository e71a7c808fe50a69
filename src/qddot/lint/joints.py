"""Rules on limits, axes and angles."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from qddot.lint.finding import Finding, at
from qddot.model.description import Joint
from qddot.model.joints import SINGLE
from qddot.model.model import Model

ALMOST = 0.035  # rad, two degrees: an axis nearer than this to a coordinate axis is probably meant to be on it
ROUNDED = 1e-7  # rad: an angle nearer than this was rounded to eight digits, which is fine
PARALLEL = 1e-9
BEYOND = 1e-3  # rad or m: limits are written rounded
HINGES = ("revolute", "continuous")


def joint_findings(model: Model) -> Iterator[Finding]:
    above = {joint.child: joint for joint in model.joints}
    for joint in model.joints:
        yield from limits(joint)
        yield from axis(joint)
        before = above.get(joint.parent)
        if before is not None and before.kind in HINGES and joint.kind in HINGES and same_line(before, joint):
            message = f"joints {before.name!r} and {joint.name!r} turn about the same line"
            yield Finding("QD403", message, at(joint), "look at the axis and the origin of the second")
    yield from followers(model)


def followers(model: Model) -> Iterator[Finding]:
    """Yield findings about joints that follow another one beyond their own limits."""
    joints = {joint.name: joint for joint in model.joints}
    for name, (leader, multiplier, offset) in model.leaders.items():
        own, led, factor = joints[name].limits, joints[leader].limits, float(multiplier)  # type: ignore[arg-type]
        if factor == 0:
            continue
        low, high = sorted(factor * x + float(offset) for x in (led.lower, led.upper))  # type: ignore[arg-type]
        if low < own.lower - BEYOND or high > own.upper + BEYOND:
            reach = f"over [{low:.4g}, {high:.4g}] beyond its limits [{own.lower:g}, {own.upper:g}]"
            fix = f"widen them, or narrow those of {leader!r}: a follower's own are not enforced"
            yield Finding("QD306", f"joint {name!r} follows {leader!r} {reach}", at(joints[name], "limits"), fix)


def limits(joint: Joint) -> Iterator[Finding]:
    if joint.kind not in SINGLE or joint.mimic:
        return
    low, high, name, where = joint.limits.lower, joint.limits.upper, f"joint {joint.name!r}", at(joint, "limits")
    if low == high:
        yield Finding("QD301", f"{name} has the limits [{low:g}, {high:g}]", where, "give a range, or make it fixed")
    elif low > 0 or high < 0:
        yield Finding("QD304", f"{name} cannot stand at 0: its limits are [{low:g}, {high:g}]", where, "start from robot.home()")
    elif joint.kind == "revolute" and math.isinf(low) and math.isinf(high):
        yield Finding("QD305", f"{name} has no limits of position", where, "give limits, or type continuous")
    if joint.limits.velocity == 0:
        yield Finding("QD302", f"{name} may not move: its limit of speed is 0", where, "give rad/s or m/s")
    if joint.limits.effort == 0:
        yield Finding("QD303", f"{name} has a limit of effort of 0", where, "give N m or N, unless it is passive")


def axis(joint: Joint) -> Iterator[Finding]:
    if joint.kind in ("fixed", "free", "spherical"):
        return
    direction = np.abs(np.array(joint.axis, float))
    off = float(np.hypot.reduce(np.sort(direction)[:2]))
    if ROUNDED < off < ALMOST:
        message = f"the axis of joint {joint.name!r} is {math.degrees(off):.2g} degrees off {'xyz'[int(np.argmax(direction))]}"
        yield Finding("QD401", message, at(joint, "axis"), "write the axis itself, if it is meant")
    turn = np.array(joint.origin.R, float)
    slant = float(np.abs(turn - np.round(turn)).max())
    if ROUNDED < slant < ALMOST:
        message = f"the frame of joint {joint.name!r} is turned {math.degrees(slant):.2g} degrees off a multiple of 90"
        yield Finding("QD402", message, at(joint, "rpy"), "write pi/2 with more digits: 1.5707963267948966")


def same_line(first: Joint, second: Joint) -> bool:
    """Return True if the axis of the second hinge is on that of the first, whatever their angles are."""
    into = first.tip @ second.origin  # the second joint, in the moved frame of the first
    line, other = np.array(first.axis, float), np.array(into.R, float) @ np.array(second.axis, float)
    offset = np.cross(np.array(into.p, float), line)
    return bool(np.linalg.norm(np.cross(line, other)) < PARALLEL and np.linalg.norm(offset) < PARALLEL)
