"""Frames of hinges where they make the shortest equations: on common normals, as Denavit and Hartenberg put them.

A body's frame may slide along its hinge and turn about it. So it slides to the common normal with the hinge before, and turns its x
along the one with the hinge after: of the three lengths between two frames at most two remain, and of three angles one, which is
mostly a right one. Descriptions have their frames anywhere, with angles that are rounded. Of several hinges after, the one that
carries most decides. What is before the first hinge does not matter, so it slides to the normal with the one after. Whole right
angles are left as they are: they cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from qddot.model.joints import Revolute, TurnedRevolute
from qddot.model.lower import WORLD, Body
from qddot.model.scalar import snap
from qddot.model.spatial import Mat, Transform, Vec, rotation_z

PARALLEL = 0.1
"""Sine of an angle below which the common normal of two axes is too far away to be of use."""

NOISE = 1e-15
"""A length that is as small as this beside those it is a difference of is none."""


LARGE = 1e100
"""No robot's length, m."""


class Turn(NamedTuple):
    """An angle about z, by cosine and sine."""

    cos: float = 1.0
    sin: float = 0.0

    def __add__(self, o: Turn) -> Turn:  # type: ignore[override]
        return Turn(snap(self.cos * o.cos - self.sin * o.sin), snap(self.sin * o.cos + self.cos * o.sin))

    def __neg__(self) -> Turn:
        return Turn(self.cos, -self.sin)

    @property
    def is_right(self) -> bool:
        """True for whole right angles, which only exchange axes."""
        return self.cos == 0 or self.sin == 0

    @property
    def R(self) -> Mat:
        return rotation_z(self.cos, self.sin)


class Hinge(NamedTuple):
    """A hinge at a pose: turned about z by `before`, about x by the angle with cosine and sine `cos` and `sin`, and about its own
    axis by `after`. At `p`, from where its frame has been slid by `slide`, x of the first turn being the common normal."""

    before: Turn
    cos: float
    sin: float
    after: Turn
    p: Vec
    slide: float

    @staticmethod
    def at(pose: Transform) -> Hinge:
        (ax, bx, cx), (x, y, z) = ([row[k] for row in pose.R] for k in (0, 2))
        sin, far = math.hypot(x, y), math.hypot(pose.p.x, pose.p.y)
        if sin > NOISE:
            turn = Turn(snap(-y / sin), snap(x / sin))
        else:  # parallel axes: across from one to the other
            turn = Turn(snap(pose.p.x / far), snap(pose.p.y / far)) if far > 0 else Turn()
        c, s = turn
        across = c * pose.p.y - s * pose.p.x
        slide = across / sin if sin > PARALLEL else -pose.p.z / z
        size = math.hypot(far, pose.p.z) + abs(slide)
        p = Vec(
            *(
                u if abs(u) > NOISE * size else 0.0
                for u in (c * pose.p.x + s * pose.p.y, across - slide * sin, pose.p.z + slide * z)
            )
        )
        after = Turn(snap(c * ax + s * bx), snap(z * (c * bx - s * ax) + sin * cx))
        return Hinge(turn, snap(z), snap(sin), after, p, slide)

    @property
    def R(self) -> Mat:
        """The first two turns."""
        return self.before.R @ Mat(Vec(1.0, 0.0, 0.0), Vec(0.0, self.cos, -self.sin), Vec(0.0, self.sin, self.cos))


def on_common_normals(bodies: Sequence[Body]) -> tuple[list[Body], list[Transform]]:
    """Bodies that move as before, in other frames, and each new frame seen from the old one."""
    carried = [1] * len(bodies)
    for body in reversed(bodies):
        if body.parent != WORLD:
            carried[body.parent] += carried[body.index]
    found: dict[int, Body] = {}
    for body in bodies:
        if is_hinge(body) and (body.parent not in found or carried[body.index] > carried[found[body.parent].index]):
            found[body.parent] = body
    moved, frames = [], []
    for body in bodies:
        before = Transform() if body.parent == WORLD else frames[body.parent]
        pose = body.placement if before == Transform() else before.inverse @ body.placement
        made, frame = (
            on_common_normal(body, pose, found.get(body.index)) if is_hinge(body) else (replace(body, placement=pose), Transform())
        )
        moved.append(made)
        frames.append(frame)
    return moved, frames


def on_common_normal(body: Body, pose: Transform, child: Body | None) -> tuple[Body, Transform]:
    """A hinge at a pose in another frame of its own, and that frame seen from the old one."""
    own, beyond = Hinge.at(pose), None if child is None else Hinge.at(child.placement)
    slide, p = own.slide, own.before.R @ own.p
    if body.parent == WORLD and beyond:
        slide = beyond.p.z
        p = pose.p + Vec(*(row[2] for row in pose.R)) * slide
    turn = -own.after if beyond is None else beyond.before
    if turn.is_right:
        turn = Turn()
    R, joint, total = pose.R, body.joint, own.after + turn
    if not total.is_right:
        R, joint = own.R, TurnedRevolute(*total)
    elif not (own.after.is_right and own.before.is_right):
        R = own.R @ total.R
    frame = Transform(turn.R, Vec(0.0, 0.0, slide))
    if frame == Transform():
        return replace(body, placement=Transform(R, p), joint=joint), frame
    back = frame.inverse
    moments = back.out_pseudo(body.moments)
    made = replace(body, placement=Transform(R, p), joint=joint, link=back @ body.link, moments=moments, inertia=moments.rigid)
    return made, frame


def is_hinge(body: Body) -> bool:
    """True for a hinge whose place is known in numbers, of which products do not overflow."""
    if type(body.joint) is not Revolute:
        return False
    return all(isinstance(x, (int, float)) and abs(x) < LARGE for row in (body.placement.p, *body.placement.R) for x in row)
