"""Checks of a description: structure and names must be right; doubtful physics is kept and reported, or refused when strict."""

from __future__ import annotations

import math
import sys
import unicodedata
import warnings
from collections.abc import Sequence
from typing import NoReturn

from qddot.errors import (
    ModelLimitError,
    ModelReferenceError,
    ModelStructureError,
    ModelValueError,
    ModelWarning,
    describe,
    near_matches,
    stacklevel_outside,
)
from qddot.model.check_tree import check_ends
from qddot.model.description import Frame, Joint, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.faults import Faults
from qddot.model.inertia import Inertia
from qddot.model.joints import KINDS, SINGLE
from qddot.model.pose import ROTATION_TOLERANCE, rotation_error
from qddot.model.scalar import is_symbolic, is_zero
from qddot.place import Place, place_of

MAX_NAME = 1024
HUGE_MASS = 1e9
HUGE_BODY = 10.0  # m, radius of gyration or distance of the centre of mass: beyond it, millimetres may be read as metres
TURNS = 4 * math.pi  # rad: a limit beyond this may be in degrees ...
DEGREES = 1000.0  # ... and one beyond this means no limit
REDIRECTING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}  # classes of Unicode characters


def warn(rule: str, *, place: Place | None = None, element: str = "", text: str | None = None, fix: str = "") -> None:
    """Give a `ModelWarning` that points at the caller outside qddot."""
    warnings.warn(describe(rule, place, element, text=text, fix=fix), ModelWarning, stacklevel=stacklevel_outside())


def doubt(rule: str, strict: bool, *, place: Place | None = None, element: str = "", fix: str = "") -> None:
    """Warn of something doubtful that is kept. Raises ModelValueError: strict."""
    if strict:
        raise ModelValueError(rule, place=place, element=element, fix=fix)
    warn(rule, place=place, element=element, fix=f"kept; {fix}" if fix else "kept")


def check_parts(links: Sequence[Link], joints: Sequence[Joint], frames: Sequence[Frame]) -> None:
    """Check all names, and each joint on its own."""
    faults = Faults()
    check_names("link", links, faults)
    if not faults.found:  # links are frames, too, and joints may be named after them
        check_names("joint", joints, faults)
        check_names("frame", (*links, *frames), faults)
    for joint in joints:
        with faults:
            check_joint(joint)
    faults.tell()


def check_the_rest(joints: Sequence[Joint], links: set[str], faults: Faults) -> None:
    """Check the joints that were read, and the links they name, if other parts could not be read: then no robot will be built."""
    for joint in joints if faults.found else ():
        with faults:
            check_joint(joint)
        with faults:
            check_ends(joint, links)


def check_names(kind: str, things: Sequence[Link | Joint | Frame], faults: Faults) -> None:
    """Check that each name is there, printable, short enough and unique; look-alikes are reported."""
    seen: dict[str, Place | None] = {}
    folded: dict[str, str] = {}
    for thing in things:
        with faults:
            check_name(kind, thing, seen, folded)


def check_name(kind: str, thing: Link | Joint | Frame, seen: dict[str, Place | None], folded: dict[str, str]) -> None:
    """Check one name against those `seen` before, and against their look (`folded`); then add it to both."""
    name, place = thing.name, place_of(thing.place, "joint_name" if kind == "joint" else "name")
    if not name:
        raise ModelValueError("the name is empty", place=place, element=kind, attribute="name", text=name, fix="give it a name")
    if len(name) > MAX_NAME:
        rule = f"name length {len(name)} is over the limit of {MAX_NAME}"
        raise ModelLimitError(rule, place=place, element=kind, fix="give a shorter one")
    if fault := unprintable(name):
        raise ModelValueError(fault, place=place, element=kind, attribute="name", text=name, fix="remove it")
    if name in seen:
        raise ModelStructureError(
            f"two {kind}s have the name {name!r}: first at {seen[name] or 'an earlier place'}",
            place=place,
            element=f"{kind} {name!r}",
            fix="rename one",
        )
    if name != name.strip():
        warn("the name begins or ends with a space", place=place, element=kind, text=name, fix="remove it")
    if any(unicodedata.category(c) == "Cf" for c in name):
        warn("the name holds an invisible character", place=place, element=kind, text=name, fix="remove it")
    look = unicodedata.normalize("NFKC", "".join(c for c in name if unicodedata.category(c) != "Cf"))
    if folded.setdefault(look, name) != name:
        warn(f"confusable names: it looks like {folded[look]!r}", place=place, element=kind, text=name, fix="rename one")
    seen[name] = place


def unprintable(name: str) -> str:
    """Say why a name cannot be shown as it is, empty if it can: a line break would end a comment, a change of direction would hide
    what follows."""
    if any(unicodedata.category(c) == "Cc" for c in name):
        return "a name holds a control character"
    if any(unicodedata.bidirectional(c) in REDIRECTING for c in name):
        return "a name holds a character that changes the direction of writing"
    return ""


def check_frames(frames: Sequence[Frame], links: Sequence[Link]) -> None:
    """Check that every frame is on an existing link."""
    known, faults = {link.name for link in links}, Faults()
    for frame in frames:
        with faults:
            if frame.link not in known:
                raise ModelReferenceError(
                    f"its link {frame.link!r} does not exist",
                    place=place_of(frame.place, "link"),
                    element=f"frame {frame.name!r}",
                    fix=near_matches(frame.link, known),
                )
    faults.tell()


def check_joint(joint: Joint) -> None:
    """Check one joint on its own."""
    element, limits = f"joint {joint.name!r}", joint.limits

    def refuse(rule: str, part: str, fix: str, **written: str) -> NoReturn:
        raise ModelValueError(rule, place=place_of(joint.place, part), element=element, fix=fix, **written)

    if joint.kind not in KINDS:
        refuse("unknown joint type", "type", near_matches(str(joint.kind), KINDS), attribute="type", text=joint.kind)
    if limits.lower > limits.upper:
        refuse(f"the lower limit {limits.lower:g} is above the upper {limits.upper:g}", "limits", "swap them")
    turned = [x for x in (limits.lower, limits.upper) if TURNS < abs(x) <= DEGREES]
    if joint.kind in ("revolute", "helical") and turned:
        rule = f"limits are in radians, and this is {abs(turned[-1]) / (2 * math.pi):.3g} turns: are these degrees?"
        text = f"{limits.lower:g} {limits.upper:g}"
        warn(rule, place=place_of(joint.place, "limits"), element=f"{element} > limits", text=text, fix="give radians")
    for name, value in (("velocity", limits.velocity), ("effort", limits.effort)):
        if value < 0:
            refuse("a limit is not negative", "limits", "give its magnitude", attribute=name, text=f"{value:g}")
    if (joint.kind == "helical") != (not is_zero(joint.pitch)):
        rule = "a helical joint needs a pitch" if joint.kind == "helical" else f"a {joint.kind} joint has no pitch"
        part = "type" if is_zero(joint.pitch) else "pitch"
        refuse(rule, part, "give type and pitch that fit", attribute="pitch", text=str(joint.pitch))
    if joint.mimic and joint.kind not in SINGLE:
        raise ModelValueError(
            f"a {joint.kind} joint cannot follow another",
            place=place_of(joint.place, "mimic"),
            element=f"{element} > mimic",
            fix="remove its mimic",
        )
    if joint.drive:
        check_drive(joint, joint.drive)


def check_drive(joint: Joint, drive: Drive) -> None:
    """Refuse a drive that a joint of this kind, or one that follows another, cannot have."""

    def refuse(rule: str, fix: str) -> NoReturn:
        raise ModelValueError(rule, place=place_of(joint.place, "drive"), element=f"joint {joint.name!r} > drive", fix=fix)

    side, single, other = drive.at_joint, joint.kind in SINGLE, f"this one is {joint.kind}"
    if not single and (drive.rotor_axis or drive.torque_speed or drive.series_stiffness is not None):
        refuse(f"rotor_axis, torque_speed and series_stiffness need a joint with one coordinate, {other}", "remove them")
    if not single and not is_zero(drive.load_friction):
        refuse(f"load_friction needs a joint with one coordinate, {other}", "remove it")
    if drive.is_electric and (not single or joint.mimic):
        rule = "an electric motor (resistance, torque_constant) needs a joint with one coordinate of its own"
        refuse(rule, "give the motor to a joint that has one")
    if joint.mimic and drive.series_stiffness is not None:
        rule = "a joint that follows another has no motor of its own to be elastic against"
        refuse(rule, "give the elasticity to the leader")
    if joint.mimic and not is_zero(drive.load_friction):
        rule = "a joint that follows another shares its load with it: friction that grows with the load is not defined"
        refuse(rule, "give it to the leader")
    if drive.harmonics and (joint.mimic or joint.kind not in ("revolute", "continuous")):
        raise ModelValueError(
            "torques that come again in every turn need a hinge that follows no other",
            place=joint.place,
            element=f"joint {joint.name!r} > drive",
            attribute="harmonics",
            fix="remove them",
        )
    may_turn = single or joint.kind == "spherical"  # the inertia of a rotor that is alike about all axes is constant, too
    if (side.armature != 0 and not may_turn) or (side.stiffness != 0 and not single):
        rule = f"rotor and spring need a joint with one coordinate (a ball joint may have a rotor), {other}"
        refuse(rule, "remove them, or use joints of one coordinate")


def leaders(joints: Sequence[Joint]) -> dict[str, tuple[str, object, object]]:
    """Return, for each following joint, the joint with its own coordinate that it follows in the end, with multiplier and
    offset."""
    by_name = {joint.name: joint for joint in joints}
    found: dict[str, tuple[str, object, object]] = {}
    for joint in joints:
        path: dict[str, Mimic] = {}  # each follower on the way to the leader, up to one whose leader is known
        at = joint
        while at.mimic and at.name not in found:
            path[at.name] = at.mimic
            if at.mimic.joint not in by_name:
                raise ModelReferenceError(
                    f"there is no joint {at.mimic.joint!r}",
                    place=place_of(at.place, "mimic"),
                    element=f"joint {at.name!r} > mimic",
                    fix=near_matches(at.mimic.joint, by_name),
                )
            at = by_name[at.mimic.joint]
            if at.name in path:
                rule = f"joints follow each other in a cycle: {'-'.join([*path, at.name])}"
                raise ModelStructureError(rule, place=place_of(at.place, "mimic"), fix="remove the mimic of the one that leads")
        if path and at.kind not in SINGLE:
            raise ModelValueError(
                f"it follows {at.name!r}, which is {at.kind} and has no single coordinate",
                place=place_of(joint.place, "mimic"),
                element=f"joint {joint.name!r} > mimic",
                fix="name a revolute, continuous or prismatic joint",
            )
        leader, multiplier, offset = found.get(at.name, (at.name, 1, 0))
        for name, mimic in reversed(path.items()):
            multiplier, offset = mimic.multiplier * multiplier, mimic.multiplier * offset + mimic.offset
            found[name] = leader, multiplier, offset
    return found


def check_physics(links: Sequence[Link], joints: Sequence[Joint], strict: bool) -> list[Link]:
    """Warn of inertias no real body could have, and of moving links without any; strict: raise `ModelValueError`.

    Returns the links whose numbers no real body has.
    """
    doubtful, faults = [], Faults()

    def report(rule: str, link: Link, fix: str) -> None:
        with faults:
            doubt(rule, strict, place=link.place, element=f"link {link.name!r}{' > inertial' * strict}", fix=fix)

    for link in links:
        if link.inertia is None or link.inertia.is_symbolic:
            continue
        mass = link.inertia.mass
        if reason := link.inertia.inconsistency():
            doubtful.append(link)
            report(reason, link, "correct the numbers")
        if mass > HUGE_MASS or 0 < mass < sys.float_info.min:
            warn(f"a mass of {mass:g} kg is hardly meant", place=link.place, element=f"link {link.name!r}", fix="give it in kg")
        if mass > 0 and (size := extent(link.inertia)) > HUGE_BODY:
            rule = f"a body of {size:.3g} m (its radius of gyration, or how far its centre of mass is away): are these millimetres?"
            warn(rule, place=link.place, element=f"link {link.name!r}", fix="give metres and kg m^2")
    for joint in joints:
        damping = joint.drive.at_joint.friction.least_damping if joint.drive else 0.0
        if damping < 0:
            rule = f"a negative damping of {damping:g}: the joint gains energy by moving"
            with faults:
                doubt(rule, strict, place=joint.place, element=f"joint {joint.name!r}", fix="give its magnitude")
    tips = massless_tips(links, joints)
    if len(tips) > 1 and not any(map(_has_inertia, links)):
        report(f"no link has inertia: the robot's {len(tips)} joints move nothing, only kinematics exists", tips[0], "give it mass")
        tips = []
    for link in tips:
        report(
            "a massless moving leaf: nothing resists its joint, the mass matrix is singular", link, "give it mass, or fix the joint"
        )
    faults.tell()
    return doubtful


def extent(inertia: Inertia) -> float:
    """Size of a body by its numbers, m: its radius of gyration, or the distance of its centre of mass if that is larger."""
    moment = max(abs(inertia.tensor[i][i]) for i in range(3))
    return max(math.sqrt(moment / inertia.mass), math.hypot(*inertia.com))


def massless_tips(links: Sequence[Link], joints: Sequence[Joint]) -> list[Link]:
    """Links whose moving joint carries no inertia at all: neither their own, nor that of links further out, nor a rotor."""
    carries = {link.name: _has_inertia(link) for link in links}
    joint_above = {joint.child: joint for joint in joints}
    for link in links:  # every link between one with inertia and the root carries some
        at = link.name
        while carries[link.name] and at in joint_above and not carries[joint_above[at].parent]:
            at = joint_above[at].parent
            carries[at] = True
    by_name = {link.name: link for link in links}
    return [
        by_name[j.child]
        for j in joints
        if j.kind != "fixed" and not carries[j.child] and not (j.drive and j.drive.at_joint.armature != 0) and not j.mimic
    ]


def _has_inertia(link: Link) -> bool:
    """True if a link has a mass or a moment of inertia, or symbols for them."""
    if link.inertia is None:
        return False
    numbers = (link.inertia.mass, *(x for row in link.inertia.tensor for x in row))
    return any(is_symbolic(x) or x != 0 for x in numbers)


def check_rotations(joints: Sequence[Joint], frames: Sequence[Frame]) -> None:
    """Check, once symbols have values, that every pose is still a rigid motion."""
    poses = [(f"joint {j.name!r}", j.place, pose) for j in joints for pose in (j.origin, j.tip)]
    poses += [(f"frame {f.name!r}", f.place, f.pose) for f in frames]
    for element, place, pose in poses:
        if not any(is_symbolic(x) for row in pose.R for x in row):
            deviation = rotation_error(pose.R)
            if deviation > ROTATION_TOLERANCE:
                raise ModelValueError(f"not a rotation: |R^T R - 1| = {deviation:.3g}", place=place, element=element)
