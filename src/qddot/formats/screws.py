"""Serial arms from their screw axes (product of exponentials), with inertias as 6 x 6 matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from qddot.arguments import finite_array
from qddot.errors import InputError, ModelStructureError, ModelValueError
from qddot.formats.serial import Matrix, Parts, check_lists, serial_joint, serial_model
from qddot.formats.subject import UNIT_TOLERANCE, Subject
from qddot.model.check import warn
from qddot.model.description import Frame, Joint, Limits, Link, Mimic, symbols_in
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.model import GRAVITY, Model
from qddot.model.pose import snapped
from qddot.model.scalar import Scalar, is_symbolic, is_zero, sqrt
from qddot.model.spatial import Motion, Transform, Vec
from qddot.place import Place

NO_TURN = 1e-9  # |w| below this fraction of |v| is rounding noise of a prismatic joint
NO_PITCH = 1e-12  # likewise for the pitch of a hinge


@dataclass(frozen=True)
class Screw:
    """A joint's screw axis `[w; v]`, angular part first, as six numbers."""

    axis: Sequence[Scalar]
    place: Place | None = None


def screws_model(
    screws: Sequence[Sequence[Scalar] | Screw],
    home_poses: Sequence[Matrix] | None = None,
    *,
    tool: Matrix | None = None,
    relative: bool = False,
    body_screws: bool = False,
    name: str = "robot",
    inertias: Sequence[Inertia | None] | None = None,
    drives: Sequence[Drive | None] | None = None,
    limits: Sequence[Limits | Sequence[float] | np.ndarray | None] | np.ndarray | None = None,
    mimics: Sequence[Mimic | str | tuple[str, Scalar, Scalar] | None] | None = None,
    link_names: Sequence[str] | None = None,
    joint_names: Sequence[str] | None = None,
    frames: Sequence[Frame] = (),
    base: str = "base",
    base_inertia: Inertia | None = None,
    gravity: Sequence[Scalar] = GRAVITY,
    strict: bool = False,
    places: Sequence[Place | None] | None = None,
) -> Model:
    """Return a serial arm from its screw axes: the pose of link i is `exp(S_1 q_1) ... exp(S_i q_i) M_i`.

    Args:
        screws: `[w; v]` of each joint at q = 0, angular part first, in base axes about the base's origin. A length other than 1
            is kept, with a warning (the joint moves by that length per unit of its coordinate); a pitch makes a helical joint.
        home_poses: 4 x 4 poses `M_i` of the link frames in the base at q = 0; without them each link frame is on its axis.
        tool: 4 x 4 pose of a frame named `tool` on the last link, in the base at q = 0.
        relative: each pose is given in the frame before it, the tool's in that of the last link; the tool may then be the last
            of `home_poses` (Modern Robotics' `Mlist`).
        body_screws: the screws are given in the tool's frame (`Blist`).
        inertias: inertia of each link in its frame.
        limits, mimics, base_inertia, places: as in `dh_model`.

    Raises:
        ModelValueError: a number that is not finite, a screw without direction, a pose not in SE(3), a wrong type.
        ModelStructureError: no screws, or a list whose length is not that of the table.

    >>> tool = np.eye(4)
    >>> tool[0, 3] = 1.0
    >>> arm = qddot.from_screws([[0, 0, 1, 0, 0, 0], [0, 0, 1, 0, -0.5, 0]], tool=tool)  # two hinges about z, 0.5 m apart
    >>> arm.transform([0, np.pi / 2])[:3, 3].round(3)
    array([0.5, 0.5, 0. ])
    """
    check_lists(screws=screws, home_poses=() if home_poses is None else home_poses, frames=frames)
    homes, tool_pose = _homes(home_poses, tool, len(screws), relative)
    axes = [_twist(screw, Subject(f"screw {i}")) for i, screw in enumerate(screws, 1)]
    if body_screws:
        if tool_pose is None:
            raise ModelValueError(
                "body screws are given in the tool's frame", element="tool", fix="give the pose of the tool at q = 0"
            )
        axes = [(tool_pose.out(twist), subject) for twist, subject in axes]
    parts = Parts(inertias, drives, limits, mimics, link_names, joint_names, places)
    parts.check(len(screws))
    steps, before = [], Transform()
    for i, (twist, subject) in enumerate(axes):
        step, before = _screw_step(twist, subject, before, homes[i] if homes else None)
        steps.append(step)
    if tool_pose is not None and steps:
        last = parts.get("link_names", -1, f"link{len(steps)}")
        frames = [*frames, Frame("tool", last, snapped(before.inverse @ tool_pose))]
    kinematic = not any(inertias or ()) and base_inertia is None  # bare screws make no claim about mass, so none can be wrong
    return serial_model(name, steps, parts, frames, Link(base, base_inertia), gravity, strict and not kinematic)


def inertia_from_spatial_matrix(G: Sequence[Sequence[float]] | Sequence[float] | np.ndarray) -> Inertia:
    """Return the inertia in a 6 x 6 spatial matrix `[[I, m[c]], [m[c]^T, m 1]]` about the frame's origin, or in its diagonal (6,).

    Raises:
        ModelValueError: not the matrix of a rigid body.

    >>> qddot.inertia_from_spatial_matrix([0.1, 0.2, 0.3, 2.0, 2.0, 2.0]).mass
    2.0
    """
    subject = Subject("spatial inertia")
    try:
        G = finite_array("G", G)
    except InputError as error:
        raise subject.error(str(error), fix="give 6 x 6 numbers, or the 6 of a diagonal") from None
    G = np.diag(G) if G.shape == (6,) else G
    if G.shape != (6, 6):
        raise subject.error(f"6 x 6 numbers are needed, the shape is {G.shape}", fix="give the whole matrix, or its diagonal (6,)")
    I, H, mass = G[:3, :3], G[:3, 3:], G[5, 5]
    tolerance = 1e-9 * max(abs(G).max(), 1e-300)
    rigid = np.block([[I, H], [-H, mass * np.eye(3)]])
    if abs(G - G.T).max() > tolerance or abs(G - rigid).max() > tolerance:
        raise subject.error("no rigid body has this matrix", fix="angular part first: [[I, m[c]], [m[c]^T, m 1]]")
    h = (H[2, 1], H[0, 2], H[1, 0])
    return Inertia.from_ten_vector([mass, *h, *I[np.triu_indices(3)]])


def _homes(
    poses: Sequence[Matrix] | None, tool: Matrix | None, count: int, relative: bool
) -> tuple[list[Transform], Transform | None]:
    """Return the poses of the link frames and of the tool in the base at q = 0."""
    homes = [Subject(f"home pose {i}").pose("", pose) for i, pose in enumerate(() if poses is None else poses, 1)]
    end = None if tool is None else Subject("tool").pose("", tool)
    if relative and end is None and len(homes) == count + 1:
        end = homes.pop()
    if homes and len(homes) != count:
        raise ModelStructureError(
            f"{len(homes)} home poses for {count} screws", element="home poses", fix="give one for each screw"
        )
    if relative:
        at, absolute = Transform(), []
        for home in homes:
            at = at @ home
            absolute.append(snapped(at))
        homes, end = absolute, end and at @ end
    return homes, end


def _twist(screw: Any, subject: Subject) -> tuple[Motion, Subject]:
    if isinstance(screw, Screw):
        subject, screw = subject.at(screw.place), screw.axis
    numbers = subject.vector("screw", screw, 6)
    return Motion(Vec(*numbers[:3]), Vec(*numbers[3:])), subject


def _screw_step(twist: Motion, subject: Subject, before: Transform, home: Transform | None) -> tuple[Joint, Transform]:
    """Return the joint of one screw, from the link frame `before` it to its own, both at q = 0; and the latter."""
    w, v = twist
    turning, sliding = _length(w), _length(v)
    if turning is None or (sliding is None and turning == 0):
        raise subject.error("the direction of a screw needs plain numbers", value=twist.components(), fix="give its symbols values")
    if turning == 0 and sliding == 0:
        raise subject.error(
            "the screw is zero: it has no direction", value=twist.components(), fix="give (w, v) with w or v of length 1"
        )
    hinge = turning > NO_TURN * (sliding or 0.0)
    rate = turning if hinge or sliding is None else sliding
    if abs(rate - 1) > UNIT_TOLERANCE:
        rule = f"the screw has length {rate:.6g}, not 1: its joint moves {rate:.6g} per unit of its coordinate"
        warn(rule, place=subject.place, element=subject.element, text=str(twist.components()))
    else:
        rate = 1.0
    if hinge:
        point, pitch = w.cross(v) * (1 / turning**2), _pitch(w, v, turning, sliding)
        kind, axis = ("revolute" if is_zero(pitch) else "helical"), w * (1 / turning)
    else:  # any parallel line will do: the one through the link's own origin
        point, pitch, kind, axis = (home or before).p, 0.0, "prismatic", v * (1 / rate)
    joint = Transform(Transform().R, snapped(point))
    home = joint if home is None else home
    origin, tip = snapped(before.inverse @ joint), snapped(joint.inverse @ home)
    return serial_joint(kind, origin, tip, axis=snapped(axis), pitch=pitch, rate=rate, place=subject.place), home


def _length(v: Vec) -> float | None:
    return None if any(map(is_symbolic, v)) else sqrt(v.dot(v))


def _pitch(w: Vec, v: Vec, turning: float, sliding: float | None) -> Scalar:
    """Return the pitch, m/rad; one that is rounding noise beside the lever arm is 0."""
    along = w.dot(v)
    if is_symbolic(along):
        return 0.0 if _vanishes([x * y for x, y in zip(w, v)]) else along / turning**2
    return 0.0 if abs(along) <= NO_PITCH * turning * (sliding or 1.0) else along / turning**2


def _vanishes(terms: list[Scalar]) -> bool:
    """Return True if the terms cancel for all values of their symbols; tested at a few points, since expanding may take forever."""
    import random  # only now

    rng, symbols = random.Random(0), sorted(symbols_in(Vec(*terms)), key=str)
    for _ in range(3):
        point = {symbol: rng.uniform(0.5, 1.5) for symbol in symbols}
        values = [complex(x.evalf(30, subs=point)) if is_symbolic(x) else x for x in terms]
        if not abs(sum(values)) <= NO_PITCH * max(map(abs, values)):
            return False
    return True
