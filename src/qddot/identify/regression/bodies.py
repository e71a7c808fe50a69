"""The moving bodies of a robot and their ten numbers: read, and put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.robot import Robot


def body_inertias(robot: Robot) -> dict[str, np.ndarray]:
    """Moving body -> (m, m c, I about its link's frame) (10,), with what is fixed to it."""
    bodies = robot.body_names
    return dict(zip(bodies, robot.parameters()[: 10 * len(bodies)].reshape(-1, 10)))


@lru_cache(maxsize=8)
def without_drives(robot: Robot) -> Robot:
    """Return the robot without drives. It is kept, since its kernels are compiled at the first call."""
    joints = [replace(joint, drive=None) for joint in robot.model.joints]
    return Robot(robot.model.copy(joints=joints, transmissions=()))


@lru_cache(maxsize=8)
def coupled_motors(robot: Robot) -> Robot | None:
    """The motors of the robot that drive several joints at once, and nothing else: no mass, no gravity, no other drive. None where
    there are no such motors. Its inverse dynamics are what they take of the torques."""
    model = robot.model
    if not model.transmissions:
        return None
    links = [replace(link, inertia=None) for link in model.links]
    joints = [replace(joint, drive=None) for joint in model.joints]
    return Robot(model.copy(links=links, joints=joints, gravity=(0.0, 0.0, 0.0), doubtful=()))


def with_parameters(robot: Robot, inertias: Mapping[str, np.ndarray], drives: Mapping[str, Drive]) -> Robot:
    """The robot with other bodies and drives. A body's inertia goes to its own link; links fixed to it lose theirs, which is in it.
    `inertias`: body -> (m, m c, I about its link's frame) (10,); `drives`: joint -> drive."""
    model = robot.model
    carrier = {link.name: model.mechanism.frames[link.name][0] for link in model.links}
    changed = {body.index: body.name for body in model.bodies if body.name in inertias}
    links = []
    for link in model.links:
        body = carrier[link.name]
        if body not in changed:
            links.append(link)
        elif link.name == changed[body]:
            links.append(replace(link, inertia=Inertia.from_ten_vector([float(x) for x in inertias[link.name]])))
        else:
            links.append(replace(link, inertia=None))
    joints = [replace(joint, drive=drives[joint.name]) if joint.name in drives else joint for joint in model.joints]
    return Robot(model.copy(links=links, joints=joints, doubtful=()))
