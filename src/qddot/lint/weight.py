"""Rules on masses that look like grams: too dense links, and a weight that the joints cannot hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qddot.algorithms.inverse_dynamics import gravity_torque
from qddot.lint.finding import Finding, at
from qddot.lint.inertias import LEAST, lengths
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.robot import Robot

HEAVY, SMALL = 5000.0, 5.0  # kg of all links together, for a robot that reaches less than SMALL, m
DENSE = 2000.0  # kg/m^3, mass over the cube of the moving links' total length: robots have less than 50
BULKY = 100.0  # kg: lighter robots are not checked for density, since wheels and fingers are short
WEAK = 20.0  # largest ratio of the weight at a joint to its limit of effort; real robots have at most 5


def weight_findings(model: Model) -> Iterator[Finding]:
    moving = {link.name for link in model.links if model.mechanism.frames[link.name][0] >= 0}
    masses = {link.name: float(link.inertia.mass) for link in model.links if link.inertia is not None}
    mass, moved = sum(masses.values()), sum(m for name, m in masses.items() if name in moving)
    length = lengths(model)
    reach = sum(float(np.linalg.norm(np.array(joint.origin.p, float))) for joint in model.joints)
    moved_reach = sum(length[name] for name in moving)
    if mass > HEAVY and reach < SMALL:
        yield too_heavy("the links weigh", mass, reach)
    elif moved > max(BULKY, DENSE * np.power(max(moved_reach, LEAST), 3)):
        yield too_heavy("the moving links weigh", moved, moved_reach)
    if moved > 0 and not model.constraints:  # a closed loop carries weight, too
        yield from held(model)


def too_heavy(links: str, mass: float, reach: float) -> Finding:
    return Finding("QD202", f"{links} {mass:.4g} kg, within {reach:.2g} m", fix=f"give kilograms: {mass / 1000:.4g} in all?")


def held(model: Model) -> Iterator[Finding]:
    """Yield a finding about the joint whose limit of effort is exceeded most by the weight, at home and in random states."""
    robot, lifted = Robot(model), model.over(Floats())
    states = [robot.home(), *robot.random_configuration(seed=0, size=3)]
    asked = np.max([np.abs(np.array(gravity_torque(lifted, q.tolist()), float)) for q in states], axis=0)
    limit = np.where(robot.limits.effort > 0, robot.limits.effort, np.inf)  # a joint with a limit of 0 is passive
    most = int(np.argmax(asked / limit))
    if asked[most] > WEAK * limit[most]:
        name = next(c.name for c in model.mechanism.coordinates if most in c.v)
        joint = next(joint for joint in model.joints if joint.name == name)
        unit = "N" if joint.kind == "prismatic" else "N m"
        message = f"gravity asks joint {name!r} for {asked[most]:.4g} {unit}, and its limit of effort is {limit[most]:.4g} {unit}"
        fix = "give masses in kg, lengths in m, effort in N m or N"
        yield Finding("QD307", f"{message}: are masses in grams?", at(joint, "limits"), fix)
