"""Rules on lengths, centres of mass and gravity."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qddot.lint.finding import Finding, at
from qddot.model.description import Joint
from qddot.model.model import Model

FAR = 10.0  # m, the largest distance between two joints
BEHIND = -0.5  # fraction of the way to the next joint; negative: on the other side of the joint
SHORT = 0.05  # m: in shorter links the side of the centre of mass tells nothing
OFF = 3.0  # lengths of a link, the largest distance of the centre of mass from it
PLANETS = (1.0, 30.0)  # m/s^2, Moon to Jupiter


def gravity_findings(model: Model) -> Iterator[Finding]:
    g = np.array(model.gravity, float)
    strength, along = float(np.linalg.norm(g)), int(np.argmax(np.abs(g)))
    shown = f"gravity is [{', '.join(f'{x:g}' for x in g)}] m/s^2"
    if strength > 0 and not PLANETS[0] <= strength <= PLANETS[1]:
        yield Finding("QD502", f"{shown}, {strength:.4g} in all", fix="give m/s^2: 9.81 on Earth")
    if along > 0 and g[along] > 0:
        yield Finding("QD501", f"{shown}, along +{'xyz'[along]}", fix=f"give {-g[along]:g}, unless {'xyz'[along]} points down")


def geometry_findings(model: Model) -> Iterator[Finding]:
    yield from gravity_findings(model)
    below: dict[str, list[Joint]] = {}
    for joint in model.joints:
        below.setdefault(joint.parent, []).append(joint)
        before, behind = (float(np.linalg.norm(np.array(pose.p, float))) for pose in (joint.origin, joint.tip))
        length = max(before, behind)
        if length > FAR:
            far = f"{length:.4g} m"
            stands = f"stands {far} from its parent's frame" if before >= behind else f"has the frame of its link {far} away"
            yield Finding("QD201", f"joint {joint.name!r} {stands}", at(joint, "xyz"), f"give metres: {length / 1000:.4g}?")
    links = {link.name: link for link in model.links}
    for joint in model.joints:
        link, next_ones = links[joint.child], [x for x in below.get(joint.child, []) if x.kind != "fixed"]
        inertia = link.inertia
        if inertia is None or inertia.mass == 0 or len(next_ones) != 1:
            continue
        here = np.array(joint.tip.inverse.p, float)  # the joint, in the link's frame
        way, com = np.array(next_ones[0].origin.p, float) - here, np.array(inertia.com, float) - here
        length = float(np.linalg.norm(way))
        if length < SHORT:
            continue
        along, name = float(com @ way) / length**2, f"link {joint.child!r}"
        if along < BEHIND:
            place = f"{-along * length:.3g} m behind joint {joint.name!r}, away from {next_ones[0].name!r}"
            fix = "look at its sign and at the frame it is given in"
            yield Finding("QD207", f"the centre of mass of {name} lies {place}", at(link), fix)
        elif np.linalg.norm(com - np.clip(along, 0, 1) * way) > OFF * length:
            place = f"{np.linalg.norm(com):.3g} m from its joint; the link is {length:.3g} m long"
            yield Finding("QD208", f"the centre of mass of {name} is {place}", at(link), "give metres, in the link's frame")
