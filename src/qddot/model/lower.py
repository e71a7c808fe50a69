"""Lowering of links and joints to a mechanism: bodies in order, each frame on its joint with z along the axis, fixed joints lumped.

This happens once per model. Algorithms see only `Body`: a parent, a constant placement, a joint type with constant motion
subspace, an inertia, and the coordinates that move it.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from qddot.errors import unknown_name
from qddot.model.description import Joint, Limits
from qddot.model.directed import pair
from qddot.model.drive import Drive, JointSide
from qddot.model.field import Field
from qddot.model.friction import ShaftFriction
from qddot.model.joints import FAR, SINGLE, Free, Helical, JointType, Moving, Prismatic, Revolute, Rotor, Spherical, X, Y
from qddot.model.pose import snapped, z_onto
from qddot.model.scalar import Scalar, is_zero
from qddot.model.spatial import Motion, PseudoInertia, RigidInertia, Transform, Vec, diagonal, map_scalars

if TYPE_CHECKING:
    from qddot.model.model import Model

WORLD = -1


@dataclass(frozen=True, eq=False)
class Body:
    """One moving body.

    Attributes:
        name: of the link that its joint moves; a planar joint also makes two massless bodies, named after the joint.
        parent: index of the parent body, or `WORLD`.
        placement: pose of the joint in the parent's body frame.
        joint: its type; the body frame is the moved joint frame, z along the axis.
        inertia, moments: of everything fixed to the body, about the body frame's origin, as moments of inertia and of mass.
        link: pose of the link's own frame in the body frame.
        coordinates, columns: indices into q and qd.
        rate, offset: joint position = rate * q + offset; 1 and 0 unless it follows another joint, or its screw axis is not a unit
            vector.
        drive: of its joint, as felt at its coordinate; ignored unless `is_driven`.
        reach: how far a slider carries the body, m; 1 if there is no limit.
    """

    index: int
    name: str
    joint_name: str
    parent: int
    placement: Transform
    joint: Moving
    link: Transform
    is_link: bool = True
    inertia: RigidInertia = RigidInertia()
    moments: PseudoInertia = PseudoInertia()
    coordinates: tuple[int, ...] = ()
    columns: tuple[int, ...] = ()
    rate: Scalar = 1.0
    offset: Scalar = 0.0
    drive: JointSide = JointSide()
    is_driven: bool = False
    reach: float = 0.0

    @property
    def drive_name(self) -> str:
        """Name of the joint; `joint.x`, `joint.y` for the sliders of a planar joint."""
        return self.joint_name if self.is_link else self.name

    def over(self, field: Field, moments: PseudoInertia | None = None) -> LiftedBody:
        """Return the body with its constants converted to the scalars of `field`, and with other moments of mass, if given."""
        lift = lambda thing: map_scalars(field.constant, thing)  # noqa: E731
        rate = field.constant(self.rate)
        return LiftedBody(
            **{
                **self.__dict__,
                "placement": lift(self.placement),
                "link": lift(self.link),
                "inertia": lift(self.inertia if moments is None else moments.rigid),
                "moments": lift(self.moments if moments is None else moments),
                "rate": rate,
                "offset": field.constant(self.offset),
                "drive": self.drive.map(field.constant) if self.is_driven else self.drive,
            },
            subspace=tuple((c, lift(s) * rate) for c, s in zip(self.columns, self.joint.subspace, strict=True)),
        )


@dataclass(frozen=True, eq=False)
class LiftedBody(Body):
    """A body over some field of scalars; `subspace` pairs each column of qd that moves it with the motion that it causes."""

    subspace: tuple[tuple[int, Motion], ...] = ()

    def pose(self, field: Field, q) -> Transform:
        """Return the pose of the body in its parent at q."""
        values = [q[i] * self.rate + self.offset for i in self.coordinates]
        return self.placement @ self.joint.transform(field, values)

    def velocity(self, qd) -> Motion:
        """Return the motion `S qd` of the body relative to its parent."""
        return sum((s * qd[c] for c, s in self.subspace), Motion())


class Coordinates(NamedTuple):
    """One joint with coordinates of its own, and their places in q and qd."""

    name: str
    kind: str
    parts: tuple[JointType, ...]
    q: range
    v: range
    limits: Limits

    @property
    def single(self) -> bool:
        """True if the joint has one ordinary coordinate, to which the position limits apply."""
        return self.kind in SINGLE


class Mechanism(NamedTuple):
    """The moving bodies of a robot, its frames (name -> body and pose on it), and its coordinates."""

    bodies: tuple[Body, ...]
    frames: dict[str, tuple[int, Transform]]
    coordinates: tuple[Coordinates, ...]
    nq: int
    nv: int

    def parts(self) -> Iterator[tuple[JointType, slice, slice]]:
        """Yield each joint with coordinates of its own, a planar one as its three parts, with its places in q and in qd."""
        for joint in self.coordinates:
            i, k = joint.q.start, joint.v.start
            for part in joint.parts:
                yield part, slice(i, i + part.nq), slice(k, k + part.nv)
                i, k = i + part.nq, k + part.nv

    def named(self, names: Sequence[str]) -> list[Coordinates]:
        """Return the coordinates of joints by their names. Raises UnknownNameError: no such joint with coordinates of its own."""
        own = {c.name: c for c in self.coordinates}
        for name in names:
            if name not in own:
                raise unknown_name("joint", name, own)
        return [own[name] for name in names]


def lower(model: Model) -> Mechanism:
    """Lump fixed joints, order bodies, assign coordinates."""
    bodies: list[Body] = []
    frames: dict[str, tuple[int, Transform]] = {model.root: (WORLD, Transform())}
    for joint in in_order(model.joints, model.root):
        parent, pose = frames[joint.parent]
        at = snapped(pose @ joint.origin)
        if joint.kind == "fixed":
            frames[joint.child] = parent, snapped(at @ joint.tip)
            continue
        bodies += chain_of(joint, parent, at, len(bodies))
        frames[joint.child] = bodies[-1].index, bodies[-1].link
    coordinates = hand_out(model, bodies)
    weld(model, bodies, frames)
    coordinates = elastic_motors(model, coordinates)
    bodies += rotors(model, bodies, frames, coordinates)
    bodies += gears(model, bodies, coordinates)
    bodies += motors(model, bodies, coordinates)
    for frame in model.frames:
        body, pose = frames[frame.link]
        frames[frame.name] = body, snapped(pose @ frame.pose)
    nq, nv = sum(len(c.q) for c in coordinates), sum(len(c.v) for c in coordinates)
    return Mechanism(tuple(bodies), frames, coordinates, nq, nv)


def in_order(joints: tuple[Joint, ...], root: str) -> list[Joint]:
    """Sort joints: parents before children, otherwise as given. Fixed joints come as early as possible and never change the order
    of q."""
    below = defaultdict(list)
    for rank, joint in enumerate(joints):
        below[joint.parent].append((joint.kind != "fixed", rank, joint))
    ready, ordered = list(below[root]), []
    heapq.heapify(ready)
    while ready:
        *_, joint = heapq.heappop(ready)
        ordered.append(joint)
        for item in below[joint.child]:
            heapq.heappush(ready, item)
    return ordered


def chain_of(joint: Joint, parent: int, at: Transform, index: int) -> list[Body]:
    """Return the bodies that a joint moves: one, or three for a planar joint (two sliders and a hinge)."""
    if joint.kind in ("spherical", "free"):
        kind = Spherical() if joint.kind == "spherical" else Free()
        return [Body(index, joint.child, joint.name, parent, at, kind, joint.tip)]
    axis = z_onto(joint.axis)
    turned = Transform(axis, Vec())
    link = snapped(turned.inverse @ joint.tip)
    if joint.kind != "planar":
        hinge = Revolute()
        kind = {"revolute": hinge, "continuous": hinge, "prismatic": Prismatic(), "helical": Helical(joint.pitch)}[joint.kind]
        return [Body(index, joint.child, joint.name, parent, snapped(at @ turned), kind, link)]
    along_x, along_y = Transform(z_onto(X), Vec()), Transform(z_onto(Y), Vec())
    steps = [at @ turned @ along_x, along_x.inverse @ along_y, along_y.inverse]
    sliders = [
        Body(
            index + i,
            f"{joint.name}.{'xy'[i]}",
            joint.name,
            parent if i == 0 else index,
            snapped(steps[i]),
            Prismatic(),
            Transform(),
            False,
        )
        for i in range(2)
    ]
    return [*sliders, Body(index + 2, joint.child, joint.name, index + 1, snapped(steps[2]), Revolute(), link)]


def hand_out(model: Model, bodies: list[Body]) -> tuple[Coordinates, ...]:
    """Assign coordinates to every joint that has its own, in body order; followers then share those of their leader."""
    by_name = {joint.name: joint for joint in model.joints}
    chains = defaultdict(list)
    for body in bodies:
        chains[body.joint_name].append(body)
    owners: dict[str, Coordinates] = {}
    nq = nv = 0
    for name, chain in chains.items():
        if name in model.leaders:
            continue
        start = nq, nv
        for body in chain:
            take(bodies, body, by_name[name], range(nq, nq + body.joint.nq), range(nv, nv + body.joint.nv))
            nq, nv = nq + body.joint.nq, nv + body.joint.nv
        parts = tuple(body.joint for body in chain)
        owners[name] = Coordinates(name, by_name[name].kind, parts, range(start[0], nq), range(start[1], nv), by_name[name].limits)
    for name, (leader, multiplier, offset) in model.leaders.items():
        if name not in chains:
            continue
        joint, own = by_name[name], owners[leader]
        take(bodies, chains[name][0], joint, own.q, own.v, multiplier, offset)
    return tuple(owners.values())


def take(bodies: list[Body], body: Body, joint: Joint, q: range, v: range, multiplier: Scalar = 1.0, offset: Scalar = 0.0) -> None:
    """Replace a body by one that is moved by these places in q and qd, with the drive of its joint."""
    drive = joint.drive.at_joint if joint.drive else JointSide()
    if is_elastic(joint):
        drive = JointSide(stiffness=drive.stiffness, rest=drive.rest, harmonics=drive.harmonics)  # friction acts on the motor
    elif joint.drive and joint.drive.rotor_axis is not None:
        drive = replace(drive, armature=0.0)  # the rotor is a body of its own
    bodies[body.index] = replace(
        body,
        coordinates=tuple(q),
        columns=tuple(v),
        rate=multiplier * joint.rate,
        offset=offset * joint.rate,
        drive=drive.driven_by(multiplier, offset) if joint.mimic else drive,  # also refuses a ratio whose square overflows
        is_driven=joint.drive is not None,
        reach=reach_of(body.joint, joint.limits),
    )


def is_elastic(joint: Joint) -> bool:
    return joint.drive is not None and joint.drive.series_stiffness is not None


def elastic_motors(model: Model, coordinates: tuple[Coordinates, ...]) -> tuple[Coordinates, ...]:
    """Return the coordinates with one more for the motor of each elastic joint, after all others. The effort limit goes to the
    motor; the limits of position and speed stay with the link."""
    nq, nv = coordinates[-1].q.stop if coordinates else 0, coordinates[-1].v.stop if coordinates else 0
    joints = {joint.name: joint for joint in model.joints}
    links, motors = list(coordinates), []
    for k, c in enumerate(coordinates):
        if is_elastic(joints[c.name]):
            links[k] = c._replace(limits=replace(c.limits, effort=math.inf))
            at = len(motors)
            columns = range(nq + at, nq + at + 1), range(nv + at, nv + at + 1)
            motors.append(Coordinates(f"{c.name}.motor", "continuous", (Revolute(),), *columns, Limits(effort=c.limits.effort)))
    return (*links, *motors)


def rotors(
    model: Model, bodies: Sequence[Body], frames: Mapping[str, tuple[int, Transform]], coordinates: Sequence[Coordinates]
) -> list[Body]:
    """Return the rotors that are bodies of their own: those of elastic joints, and those with a `rotor_axis`."""
    moved = {body.joint_name: body for body in bodies}
    own = {c.name: c for c in coordinates}
    found: list[Body] = []
    for joint in model.joints:
        drive = joint.drive
        if not drive or joint.name not in moved or (drive.rotor_axis is None and not is_elastic(joint)):
            continue
        body, index = moved[joint.name], len(bodies) + len(found)
        columns, rate = (tuple(own[f"{joint.name}.motor"].v), 1) if is_elastic(joint) else (body.columns, body.rate)
        if drive.rotor_axis is not None:  # spins about its own axis, N times as fast as the joint
            parent, pose = frames[joint.parent]
            at = snapped(pose @ Transform(drive.rotor_turn, Vec()))
            turns, inertia = Rotor([drive.gear_ratio * rate]), axial_inertia(drive.rotor_inertia)
            found.append(shaft(index, f"{joint.name}.rotor", parent, at, turns, columns, inertia))
        if is_elastic(joint):  # friction, and a rotor without an axis, as felt at the joint, turn with the motor's coordinate
            index = len(bodies) + len(found)
            inertia = axial_inertia(drive.at_joint.armature if drive.rotor_axis is None else 0)
            side = replace(drive.at_joint, stiffness=0.0, rest=0.0, harmonics=())
            found.append(shaft(index, f"{joint.name}.motor", WORLD, Transform(), Rotor([1]), columns, inertia, side))
    return found


def gears(model: Model, bodies: Sequence[Body], coordinates: Sequence[Coordinates]) -> list[Body]:
    """Return the elastic gears: shafts without inertia, turned by the difference of joint and motor."""
    own = {c.name: c for c in coordinates}
    found: list[Body] = []
    for joint in model.joints:
        if joint.name in own and is_elastic(joint) and joint.drive:
            ends = own[joint.name], own[f"{joint.name}.motor"]
            damping = ShaftFriction(viscous=pair(joint.drive.series_damping))
            side = JointSide(stiffness=joint.drive.series_stiffness, friction=damping)
            index, columns = len(bodies) + len(found), tuple(c.v.start for c in ends)
            gear = shaft(index, f"{joint.name}.gear", WORLD, Transform(), Rotor([1, -1]), columns, RigidInertia(), side)
            found.append(replace(gear, coordinates=tuple(c.q.start for c in ends)))
    return found


def motors(model: Model, bodies: Sequence[Body], coordinates: Sequence[Coordinates]) -> list[Body]:
    """Return a body for each motor of coupled drives, which spins on the ground."""
    column = {c.name: c.v.start for c in coordinates}
    found: list[Body] = []
    for x in model.transmissions:
        for name, row, drive in zip(x.motors, x.matrix, x.drives):
            terms = [(column[joint], rate) for joint, rate in zip(x.joints, row) if not is_zero(rate)]
            drive = drive or Drive()
            turns, index = Rotor([rate for _, rate in terms]), len(bodies) + len(found)
            columns, inertia = tuple(c for c, _ in terms), axial_inertia(drive.rotor_inertia)
            found.append(shaft(index, name, WORLD, Transform(), turns, columns, inertia, drive.at_joint))
    return found


def shaft(
    index: int,
    name: str,
    parent: int,
    at: Transform,
    joint: Rotor,
    columns: tuple[int, ...],
    inertia: RigidInertia,
    side: JointSide | None = None,
) -> Body:
    """Return a body that spins on a link or on the ground, with the friction and springs of a drive, if given."""
    drive = replace(side, armature=0.0) if side else JointSide()  # the inertia is the body's own
    moments, driven = PseudoInertia.of(inertia), {"drive": drive, "is_driven": side is not None}
    return Body(index, name, name, parent, at, joint, Transform(), False, inertia, moments, (), columns, **driven)


def axial_inertia(moment: Scalar) -> RigidInertia:
    return RigidInertia(0, Vec(), diagonal(0, 0, moment))


def reach_of(joint: Moving, limits: Limits) -> float:
    """Return how far a joint carries its body, m: 0 for one that only turns, 1 if there is no limit."""
    if not any(s.v != (0, 0, 0) for s in joint.subspace):
        return 0.0
    return max((abs(x) for x in (limits.lower, limits.upper) if abs(x) < FAR), default=1.0)


def weld(model: Model, bodies: list[Body], frames: dict[str, tuple[int, Transform]]) -> None:
    """Add each link's inertia to the body that carries it; links fixed to the world never move and are left out."""
    for link in model.links:
        index, pose = frames[link.name]
        if link.inertia is not None and index != WORLD:
            body, own = bodies[index], link.inertia
            inertia, moments = body.inertia + pose.out_inertia(own.rigid), body.moments + pose.out_pseudo(own.moments)
            bodies[index] = replace(body, inertia=inertia, moments=moments)
