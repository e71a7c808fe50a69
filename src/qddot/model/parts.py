"""Parts of a robot (chains and subtrees), and additions to it (tools and loads)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qddot.errors import InputError, ModelValueError, unknown_name
from qddot.model.check import check_physics, warn
from qddot.model.constraints import Coupling
from qddot.model.description import Frame, Joint, Link
from qddot.model.inertia import Inertia
from qddot.model.model import Model, unused
from qddot.model.pose import snapped
from qddot.model.scalar import Scalar, is_zero
from qddot.model.spatial import Transform, Vec


def with_load(model: Model, load: Inertia, frame: str) -> Model:
    """Return the model with a body welded to a frame, in whose axes its inertia is given; the tip stays the same."""
    try:
        end = model.tip
    except InputError:  # there are several ends, before and after
        end = None
    return welded(model, unused("payload", frame_names(model)), load, Transform(), frame).copy(end=end)


def with_tool(model: Model, name: str, pose: Transform, inertia: Inertia | None, frame: str) -> Model:
    """Return the model with one more frame, at a pose in another one, and its inertia, if any; this frame becomes the tip."""
    if name in frame_names(model):
        raise ModelValueError(
            "there is a link or frame of that name", element="tool", attribute="name", text=name, fix="give another"
        )
    if inertia is not None:
        return welded(model, name, inertia, pose, frame).copy(end=name)
    link, at = carrier(model, frame)
    return model.copy(frames=(*model.frames, Frame(name, link, snapped(at @ pose))), end=name)


def welded(model: Model, name: str, inertia: Inertia, pose: Transform, frame: str) -> Model:
    """Return the model with one more link, fixed at a pose in a frame.

    Inertias are not added here: that would divide by the total mass and so leave the polynomials. Lowering adds moments of mass.
    """
    parent, at = carrier(model, frame)
    link = Link(name, inertia)
    joint = Joint(unused(f"{name}_joint", {x.name for x in model.joints}), "fixed", parent, name, snapped(at @ pose))
    return model.copy(
        links=(*model.links, link),
        joints=(*model.joints, joint),
        doubtful=(*model.doubtful, *check_physics([link], [], strict=False)),
    )


def frame_names(model: Model) -> set[str]:
    """Return the names of links and frames, which must all differ."""
    return {x.name for x in (*model.links, *model.frames)}


def carrier(model: Model, frame: str) -> tuple[str, Transform]:
    """Return the link that carries a frame, and the frame's pose on it."""
    for x in model.frames:
        if isinstance(frame, str) and x.name == frame:
            return x.link, x.pose
    known("frame", frame, frame_names(model))
    return frame, Transform()


def known(kind: str, name: str, names: Iterable[str]) -> None:
    """Refuse an unknown name. Raises InputError: it is not a text; UnknownNameError: it is not one of the names."""
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not the name of a {kind}: give a text")
    if name not in names:
        raise unknown_name(kind, name, names)


def subtree(model: Model, root: str, gravity: Sequence[Scalar] | None = None) -> Model:
    """Return the link `root`, which stands still, and everything beyond it."""
    below = children(model)
    known("link", root, below)
    return part(model, root, carried(below, [root]), gravity)


def chain(model: Model, base: str, tip: str, gravity: Sequence[Scalar] | None = None) -> Model:
    """Return the links from `base`, which stands still, out to the frame or link `tip`, and the links fixed to them; others that
    move on them are left out."""
    below, above = children(model), {joint.child: joint for joint in model.joints}
    end, _ = carrier(model, tip)
    known("link", base, below)
    path = [end]
    while path[-1] != base:
        if path[-1] not in above:
            raise InputError(f"{tip!r} does not hang on {base!r}: a chain goes outwards (the root is {model.root!r})")
        path.append(above[path[-1]].parent)
    found = part(model, base, carried(below, path, only_fixed=True), gravity)
    return found if tip in (base, found.end) else found.copy(end=tip)


def children(model: Model) -> dict[str, list[Joint]]:
    """Return, for each link, the joints that it carries."""
    below: dict[str, list[Joint]] = {link.name: [] for link in model.links}
    for joint in model.joints:
        below[joint.parent].append(joint)
    return below


def carried(below: dict[str, list[Joint]], links: list[str], *, only_fixed: bool = False) -> set[str]:
    """Return these links and all that they carry, or, `only_fixed`, those that are fixed to them."""
    found, stack = set(links), list(links)
    while stack:
        children = {joint.child for joint in below[stack.pop()] if joint.kind == "fixed" or not only_fixed} - found
        found |= children
        stack += children
    return found


def part(model: Model, root: str, kept: set[str], gravity: Sequence[Scalar] | None) -> Model:
    """Return the model of these links with all that belongs to them; gravity None: as seen in the root's axes."""
    joints = [joint for joint in model.joints if joint.parent in kept and joint.child in kept]
    names = {joint.name for joint in joints}
    for joint in joints:
        if joint.mimic and joint.mimic.joint not in names:
            rule = f"it follows {joint.mimic.joint!r}, which is not in this part of the robot"
            raise ModelValueError(rule, place=joint.place, element=f"joint {joint.name!r}", fix="lock it first, by with_locked")
    for x in model.transmissions:
        if names & set(x.joints) and not names >= set(x.joints):
            rule = f"its motors drive {', '.join(map(repr, x.joints))}, of which some are not in this part of the robot"
            raise ModelValueError(rule, place=x.place, element="transmission", fix="take a part with all of them, or none")
    constraints = []
    for x in model.constraints:
        things, where = ((x.joint, x.leader), names) if isinstance(x, Coupling) else ((x.link1, x.link2), kept)
        inside = [name in where for name in things if name is not None]
        if all(inside):
            constraints.append(x)
        elif any(inside):
            rule = "it leads out of this part of the robot and is left out"
            warn(rule, place=x.place, element=f"constraint {x.name!r}", fix="take a part with both its ends")
    frames = [frame for frame in model.frames if frame.link in kept]
    return model.copy(
        links=[link for link in model.links if link.name in kept],
        joints=joints,
        frames=frames,
        gravity=gravity_at(model, root) if gravity is None else gravity,
        constraints=constraints,
        transmissions=[x for x in model.transmissions if names >= set(x.joints)],
        doubtful=[link for link in model.doubtful if link.name in kept],
        end=model.end if model.end in kept | {frame.name for frame in frames} else None,
    )


def gravity_at(model: Model, link: str) -> Vec:
    """Return gravity in the axes of a link, with all joints at zero."""
    above, pose = {joint.child: joint for joint in model.joints}, Transform()
    while link in above:
        joint = above[link]
        if joint.mimic and not is_zero(joint.mimic.offset):
            raise InputError(f"joint {joint.name!r} is not at zero when its leader is: say what gravity is there (gravity=...)")
        pose, link = joint.origin @ joint.tip @ pose, joint.parent
    return snapped(pose.R.T @ model.gravity)
