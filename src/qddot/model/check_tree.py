"""Check that links and joints form one tree; if not, say which link has two parents, and which links form a loop."""

from __future__ import annotations

from collections.abc import Sequence

from qddot.errors import ModelLimitError, ModelReferenceError, ModelStructureError, near_matches
from qddot.model.description import Joint, Link
from qddot.model.faults import Faults
from qddot.place import place_of

MAX_LINKS = 10_000


def check_tree(links: Sequence[Link], joints: Sequence[Joint]) -> str:
    """Return the name of the root; refuse links and joints that do not form one tree."""
    if len(links) > MAX_LINKS:
        raise ModelLimitError(f"{len(links)} links are over the limit of {MAX_LINKS}", place=links[MAX_LINKS].place)
    if not links:
        raise ModelStructureError("there is no link", fix="add one")
    known = {link.name for link in links}
    above: dict[str, Joint] = {}
    faults = Faults()
    for joint in joints:
        with faults:
            check_ends(joint, known)
            if joint.child in above:
                _refuse_second_parent(joint, above)
            above[joint.child] = joint
    faults.tell()
    roots = [link for link in links if link.name not in above]
    if not roots:
        raise ModelStructureError(f"no root: every link is a child; {_loop(links[0].name, above)}", place=joints[0].place)
    if len(roots) > 1:
        names = ", ".join(repr(r.name) for r in roots[:6]) + (", ..." if len(roots) > 6 else "")
        raise ModelStructureError(
            f"{len(roots)} roots, one tree has one: {names}", place=roots[1].place, fix="connect them by joints"
        )
    _check_reach(roots[0].name, links, above)
    return roots[0].name


def check_ends(joint: Joint, known: set[str]) -> None:
    """Check that a joint connects two different links that exist."""
    element = f"joint {joint.name!r}"
    for role, name in (("parent", joint.parent), ("child", joint.child)):
        if name not in known:
            raise ModelReferenceError(
                f"its {role} link {name!r} does not exist",
                place=place_of(joint.place, role),
                element=element,
                fix=near_matches(name, known),
            )
    if joint.parent == joint.child:
        raise ModelStructureError(
            f"it connects link {joint.child!r} to itself", place=place_of(joint.place, "parent"), element=element
        )


def _refuse_second_parent(joint: Joint, above: dict[str, Joint]) -> None:
    """Refuse a second joint above a link, with the loop that it closes, if any."""
    first = above[joint.child]
    at, seen = joint.parent, {joint.child}
    while at not in seen and at in above:
        seen.add(at)
        at = above[at].parent
    loop = f": the loop {_loop_through(joint, above)}" if at == joint.child else ""
    raise ModelStructureError(
        f"link {joint.child!r} is already the child of joint {first.name!r} ({first.place or 'given before'}){loop}",
        place=joint.place,
        element=f"joint {joint.name!r}",
        fix="a description is a tree; close loops with a constraint",
    )


def _loop_through(joint: Joint, above: dict[str, Joint]) -> str:
    """Return the links of the loop that a joint closes, joined by hyphens."""
    names = [joint.child, joint.parent]
    while names[-1] != joint.child:
        names.append(above[names[-1]].parent)
    return "-".join(reversed(names))


def _loop(start: str, above: dict[str, Joint]) -> str:
    """Return words for the loop in which the path from a link towards the root ends."""
    seen: dict[str, None] = {}
    at = start
    while at not in seen:
        seen[at] = None
        at = above[at].parent
    path = list(seen)
    return "the loop " + "-".join([*reversed(path[path.index(at) :]), path[-1]])


def _check_reach(root: str, links: Sequence[Link], above: dict[str, Joint]) -> None:
    """Check that every link hangs on the root; with one joint above each link, those that do not form a loop."""
    reached = {root}
    for link in links:
        path, at = set(), link.name
        while at not in reached:
            path.add(at)
            at = above[at].parent
            if at in path:
                raise ModelStructureError(
                    f"{_loop(at, above)} is not connected to the root {root!r}", place=place_of(above[at].place, "parent")
                )
        reached.update(path)
