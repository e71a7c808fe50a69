"""Random trees of a wanted number of freedoms: every joint type, mimics of mimics, drives, tips, rates, frames, any order."""

from __future__ import annotations

import numpy as np

from qddot.model.description import Frame, Joint, Link, Mimic
from qddot.model.drive import Drive
from qddot.model.model import Model
from qddot.model.pose import unit
from qddot.model.spatial import Transform, Vec
from tests.robots import ONE_DOF, random_inertia, random_pose

FREEDOMS = {**dict.fromkeys(ONE_DOF, 1), "planar": 3, "spherical": 3, "free": 6, "fixed": 0}
LIKELY = {
    "revolute": 0.3,
    "continuous": 0.15,
    "prismatic": 0.12,
    "helical": 0.1,
    "planar": 0.08,
    "spherical": 0.1,
    "free": 0.05,
    "fixed": 0.1,
}
FRAME = "a frame"


def random_tree(rng: np.random.Generator, dof: int, *, drives: bool = True) -> Model:
    """A tree with exactly `dof` degrees of freedom."""
    links, joints, freedoms = [Link("base", random_inertia(rng))], [], 0
    while freedoms < dof:
        joint = random_joint(rng, joints, links, dof - freedoms, drives)
        joints.append(joint)
        links.append(Link(joint.child, random_inertia(rng) if joint.kind != "fixed" or rng.random() < 0.5 else None))
        freedoms += 0 if joint.mimic else FREEDOMS[joint.kind]
    frames = [Frame(FRAME, links[rng.integers(len(links))].name, random_pose(rng))]
    gravity = (0.0, 0.0, -9.81) if rng.random() < 0.5 else rng.normal(size=3) * 5
    return Model("tree", shuffled(rng, links), shuffled(rng, joints), frames, gravity)


def random_joint(rng: np.random.Generator, joints: list[Joint], links: list[Link], room: int, drives: bool) -> Joint:
    """The next joint, on the last link or on any, with a new child link."""
    i = len(joints)
    parent = links[-1] if rng.random() < 0.6 else links[rng.integers(len(links))]
    fitting = [kind for kind in LIKELY if FREEDOMS[kind] <= room]
    weights = np.array([LIKELY[kind] for kind in fitting])
    kind = str(rng.choice(fitting, p=weights / weights.sum()))
    leaders = [joint.name for joint in joints if joint.kind in ONE_DOF]
    mimic, rate, drive = None, 1.0, None
    if kind in ONE_DOF:
        if leaders and rng.random() < 0.12:
            mimic = Mimic(str(rng.choice(leaders)), float(rng.choice([-2.0, -0.5, 0.7, 1.0])), rng.normal())
        if drives and rng.random() < 0.3:
            drive = random_drive(rng)
        elif rng.random() < 0.1:
            rate = float(rng.choice([-1.5, 0.5, 2.0]))
    elif drives and kind != "fixed" and rng.random() < 0.3:
        drive = Drive(viscous=rng.uniform(0, 1), coulomb=(rng.uniform(0, 1), rng.uniform(0, 1)))
    return Joint(
        f"joint{i}",
        kind,
        parent.name,
        f"link{i}",
        origin=random_pose(rng),
        axis=random_axis(rng),
        tip=random_pose(rng) if rng.random() < 0.2 else Transform(),
        pitch=rng.normal() * 0.2 if kind == "helical" else 0.0,
        rate=rate,
        mimic=mimic,
        drive=drive,
    )


def random_axis(rng: np.random.Generator) -> Vec:
    """A coordinate axis, either way, or any direction."""
    if rng.random() < 0.5:
        return unit(Vec(*rng.normal(size=3)))[0]
    axis = [0.0, 0.0, 0.0]
    axis[rng.integers(3)] = float(rng.choice([-1.0, 1.0]))
    return Vec(*axis)


def random_drive(rng: np.random.Generator) -> Drive:
    viscous, positive, negative, stiffness, rest = rng.uniform(0, 1, size=5)
    ratio, rotor = rng.uniform(1, 10), rng.uniform(0, 0.01)
    side = str(rng.choice(["joint", "motor"]))
    return Drive(viscous, (positive, negative), 0.1, stiffness, rest, ratio, rotor, side)


def shuffled(rng: np.random.Generator, things: list) -> list:
    return [things[i] for i in rng.permutation(len(things))]
