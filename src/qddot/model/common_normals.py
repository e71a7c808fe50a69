"""Frames of hinges where they make the shortest equations: on common normals, as Denavit and Hartenberg put them.

A body's frame may slide along its hinge and turn about it. So it slides to the common normal with the hinge before, and turns its x
along the one with the hinge after: of the three lengths between two frames at most two remain, and of three angles one, which is
mostly a right one. Descriptions have their frames anywhere, with angles that are rounded. Of several hinges after, the one that
carries most decides. What is before the first hinge does not matter, so it slides to the normal with the one after.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from qddot.model.joints import Revolute, TurnedRevolute
from qddot.model.lower import WORLD, Body
from qddot.model.pose import snapped
from qddot.model.spatial import Mat, Transform, Vec, rotation_z

PARALLEL = 0.1
"""Sine of an angle below which the common normal of two axes is too far away to be of use."""

NOISE = 1e-15
"""A length that is as small as this beside those it is a difference of is none."""


class Normal(NamedTuple):
    """A hinge seen from the frame before: `turn` about z brings x along the common normal of z and its axis, from where it is at
    `rest`, turned about x only, after it has been slid by `slide`."""

    turn: Mat
    rest: Transform
    slide: float

    @staticmethod
    def of(pose: Transform) -> Normal:
        (x, y, z), p = (row[2] for row in pose.R), pose.p
        sin, far = math.hypot(x, y), math.hypot(p.x, p.y)
        if sin > NOISE:
            turn = snapped(rotation_z(-y / sin, x / sin))
        else:  # parallel: across from one to the other
            turn = snapped(rotation_z(p.x / far, p.y / far)) if far > 0 else Mat()
        seen = p @ turn
        slide = seen.y / sin if sin > PARALLEL else -seen.z / z
        at, size = seen + Vec(0.0, -sin, z) * slide, math.hypot(*p) + abs(slide)
        cos, sin = snapped(Vec(z, sin, 0.0))[:2]
        about_x = Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, cos, -sin), Vec(0.0, sin, cos))
        rest = Transform(about_x, Vec(*(c if abs(c) > NOISE * size else 0.0 for c in at)))
        return Normal(Mat(), Transform(turn) @ rest, slide) if is_right(turn) else Normal(turn, rest, slide)


def on_common_normals(bodies: Sequence[Body]) -> tuple[list[Body], list[Transform]]:
    """Bodies that move as before, in other frames, and each new frame seen from the old one."""
    carried = [1] * len(bodies)
    for body in reversed(bodies):
        if body.parent != WORLD:
            carried[body.parent] += carried[body.index]
    after: dict[int, Body] = {}
    for body in bodies:
        if is_hinge(body) and (body.parent not in after or carried[body.index] > carried[after[body.parent].index]):
            after[body.parent] = body
    moved, frames = [], []
    for body in bodies:
        before = Transform() if body.parent == WORLD else frames[body.parent]
        pose = before.inverse @ body.placement
        if is_hinge(body):
            made, frame = on_common_normal(body, pose, after.get(body.index))
        else:
            made, frame = replace(body, placement=pose), Transform()
        moved.append(made)
        frames.append(frame)
    return moved, frames


def on_common_normal(body: Body, pose: Transform, after: Body | None) -> tuple[Body, Transform]:
    """A hinge at a pose in another frame of its own, and that frame seen from the old one."""
    own, next = Normal.of(pose), None if after is None else Normal.of(after.placement)
    left = snapped((own.turn @ own.rest.R).T @ pose.R)  # what is left of the pose: a rotation about z
    turn = next.turn if next else Mat() if is_right(left) else left.T
    placement, slide = Transform(own.turn) @ own.rest, own.slide
    if body.parent == WORLD and next:
        slide = next.rest.p.z
        placement = Transform(placement.R, pose.p + Vec(*(row[2] for row in pose.R)) * slide)
    total, joint = snapped(left @ turn), body.joint
    if is_right(total):
        placement = Transform(placement.R @ total, placement.p)
    else:
        joint = TurnedRevolute(total.a.x, total.b.x)
    frame = Transform(turn, Vec(0.0, 0.0, slide))
    moments = frame.inverse.out_pseudo(body.moments)
    made = replace(body, placement=placement, joint=joint, link=frame.inverse @ body.link, moments=moments, inertia=moments.rigid)
    return made, frame


def is_right(R: Mat) -> bool:
    """True for whole right angles: they only exchange axes."""
    return all(x in (0, 1, -1) for row in R for x in row)


def is_hinge(body: Body) -> bool:
    """True for a hinge whose place is known in numbers."""
    return type(body.joint) is Revolute and all(isinstance(x, (int, float)) for x in (*body.placement.p, *sum(body.placement.R, ())))

