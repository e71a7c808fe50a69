"""Hinge frames on common normals, as Denavit and Hartenberg place them: these make the shortest equations.

A body's frame may slide along its hinge and turn about it. So it slides to the common normal with the hinge before it, and turns
its x axis along the common normal with the hinge after it. Then at most two of the three lengths between two frames remain, and one
of the three angles, which is mostly a right angle; in descriptions frames may be anywhere, with rounded angles. If several hinges
follow, the one that carries the most bodies decides. The position along the first hinge does not matter, so this frame slides to
the normal with the next one. Multiples of a right angle are left as they are: they cost nothing.
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
"""Sine of the angle between two axes below which their common normal is too far away to be of use."""

NOISE = 1e-15
"""A difference of lengths counts as zero if it is smaller than this, relative to the lengths."""

LARGE = 1e100
"""Limit of lengths, m: their products must not overflow."""


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
    """Pose of a hinge as three turns: `before` about z, then about x (cosine `cos`, sine `sin`), then `after` about its own axis.

    x after the first turn is along the common normal. `p` is the frame's origin after it has slid along the hinge by `slide`.
    """

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
    """Return the bodies with frames on common normals, moving as before, and the pose of each new frame in the old one."""
    carried = [1] * len(bodies)
    for body in reversed(bodies):
        if body.parent != WORLD:
            carried[body.parent] += carried[body.index]
    next_hinge: dict[int, Body] = {}
    for body in bodies:
        if is_hinge(body) and (body.parent not in next_hinge or carried[body.index] > carried[next_hinge[body.parent].index]):
            next_hinge[body.parent] = body
    moved, frames = [], []
    for body in bodies:
        before = Transform() if body.parent == WORLD else frames[body.parent]
        pose = body.placement if before == Transform() else before.inverse @ body.placement
        made, frame = (
            on_common_normal(body, pose, next_hinge.get(body.index))
            if is_hinge(body)
            else (replace(body, placement=pose), Transform())
        )
        moved.append(made)
        frames.append(frame)
    return moved, frames


def on_common_normal(body: Body, pose: Transform, child: Body | None) -> tuple[Body, Transform]:
    """Return a hinge body with its frame on common normals, and the pose of that frame in the old one."""
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
    """True for a hinge whose pose is given in numbers, small enough that their products do not overflow."""
    if type(body.joint) is not Revolute:
        return False
    return all(isinstance(x, (int, float)) and abs(x) < LARGE for row in (body.placement.p, *body.placement.R) for x in row)
