"""Inertial parameters of a robot's moving bodies, read from a robot and put back into one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np

from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.robot import Robot


def body_inertias(robot: Robot) -> dict[str, np.ndarray]:
    """Moving body -> (m, m c, I about its link's frame) (10,), links that are fixed to it included."""
    bodies = robot.body_names
    return dict(zip(bodies, robot.parameters()[: 10 * len(bodies)].reshape(-1, 10)))


def without_mass(robot: Robot) -> list[str]:
    """Moving bodies without a described mass."""
    return [body for body, ten in body_inertias(robot).items() if not ten[0] > 0]


@lru_cache(maxsize=8)
def without_drives(robot: Robot) -> Robot:
    """Return the robot without drives, from a cache, since its kernels are compiled at the first call."""
    joints = [replace(joint, drive=None) for joint in robot.model.joints]
    return Robot(robot.model.copy(joints=joints, transmissions=()))


@lru_cache(maxsize=8)
def coupled_motors(robot: Robot) -> Robot | None:
    """The robot with nothing but its motors that drive several joints at once: no mass, gravity or other drive. Its inverse
    dynamics are the torques that those motors take. None for a robot without such motors."""
    model = robot.model
    if not model.transmissions:
        return None
    links = [replace(link, inertia=None) for link in model.links]
    joints = [replace(joint, drive=None) for joint in model.joints]
    return Robot(model.copy(links=links, joints=joints, gravity=(0.0, 0.0, 0.0), doubtful=()))


def with_parameters(robot: Robot, inertias: Mapping[str, np.ndarray], drives: Mapping[str, Drive]) -> Robot:
    """Return the robot with other bodies and drives. A body's inertia goes to its own link; links fixed to it lose theirs, which it
    includes. `inertias`: body -> (m, m c, I about its link's frame) (10,); `drives`: joint -> drive."""
    model = robot.model
    carrier = {link.name: model.mechanism.frames[link.name][0] for link in model.links}
    changed = {body.index: body.name for body in model.bodies if body.name in inertias}
    links = []
    for link in model.links:
        body = carrier[link.name]
        if body in changed:
            own = link.name == changed[body]
            link = replace(link, inertia=Inertia.from_ten_vector([float(x) for x in inertias[link.name]]) if own else None)
        links.append(link)
    joints = [replace(joint, drive=drives[joint.name]) if joint.name in drives else joint for joint in model.joints]
    return Robot(model.copy(links=links, joints=joints, doubtful=()))
