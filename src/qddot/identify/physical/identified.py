"""Parameters put back into a robot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from qddot.algorithms.regressor import DRIVE
from qddot.identify.physical.pseudo_inertia import pseudo_inertia, ten_vector
from qddot.identify.regression.bodies import body_inertias, with_parameters
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.model.directed import pair
from qddot.model.drive import Drive, JointSide
from qddot.model.friction import LOAD, OTHER_WAY
from qddot.robot import Robot
from qddot.thresholds import SMALLEST_MOMENT


def sound_prior(parameter_set: ParameterSet, free: np.ndarray | None = None) -> np.ndarray:
    """All parameters (P,) of free ones (f,), by default as described, with each link made a body that can exist."""
    values = parameter_set.full(parameter_set.described if free is None else free)
    for k in range(len(body_inertias(parameter_set.robot))):
        part = slice(10 * k, 10 * k + 10)
        values[part] = sound_body(values[part])
    return values


def sound_body(ten: np.ndarray) -> np.ndarray:
    """Ten numbers of a body that can exist: where second moments about the centre of mass are not positive, as in many published
    descriptions, they are raised to a hundredth of the largest; a body without mass weighs a kilogram."""
    mass = ten[0] if ten[0] > 0 else 1.0
    c = ten[1:4] / mass
    J = pseudo_inertia(np.concatenate([[mass], mass * c, ten[4:]]))
    about = J[:3, :3] - mass * np.outer(c, c)
    moments, axes = np.linalg.eigh(about)
    least = SMALLEST_MOMENT * max(moments[-1], 1e-4 * mass)
    if ten[0] > 0 and moments[0] >= least:
        return ten
    J[:3, :3] = (axes * np.maximum(moments, least)) @ axes.T + mass * np.outer(c, c)
    return ten_vector(J)


def identified_robot(parameter_set: ParameterSet, parameters: np.ndarray) -> tuple[Robot, tuple[str, ...]]:
    """The robot with these values of all parameters (P,), and the names of those it cannot hold: harmonics of q, coupled joints."""
    robot, values = parameter_set.robot, dict(zip(parameter_set.full_names, parameters.tolist()))
    bodies = list(body_inertias(robot))
    inertias = {body: parameters[10 * k : 10 * k + 10] for k, body in enumerate(bodies)}
    left, drives = [t.name for t in parameter_set.terms if t.name.rpartition(".")[2] not in DRIVE or "+" in t.name], {}
    for joint in robot.joint_names:
        found = {name.rpartition(".")[2]: x for name, x in values.items() if name.rpartition(".")[0] == joint}
        if not found:
            continue
        if found.get(LOAD, 0.0) >= 1:
            left.append(f"{joint}.{LOAD}")
            del found[LOAD]
        given = robot.drives.get(joint, Drive())
        drives[joint] = replace(  # what was found stands for all friction and for the rotor; the rest of the drive stays
            given,
            **friction_keys(found, parameter_set.widths[robot.joint_names.index(joint)], parameter_set.asked["stribeck"] or 0.0),
            **spring_keys(given.at_joint, max(found.get("stiffness", 0.0), 0.0)),
            rotor_inertia=max(found.get("armature", 0.0), 0.0) / given.gear_ratio**2,
            side="joint",
            damping=0.0,
            rotor_axis=None,
        )
    return with_parameters(robot, inertias, drives), tuple(left)


def spring_keys(given: JointSide, stiffness: float) -> dict[str, Any]:
    """The spring of a joint with another one that is relaxed at 0."""
    both = given.stiffness + stiffness
    return {"stiffness": both, "rest": given.stiffness * given.rest / both if both else 0.0}


def friction_keys(found: Mapping[str, float], width: float, stribeck_velocity: float) -> dict[str, Any]:
    """The constants of a joint's friction as a `Drive` says them. What cannot be negative is negative by rounding only."""

    def either_way(name: str) -> Any:
        one = max(found.get(name, 0.0), 0.0)
        return (one, max(found[name + OTHER_WAY], 0.0)) if name + OTHER_WAY in found else one

    coulomb, rise = either_way("coulomb"), either_way("stribeck")
    static = tuple(a + b for a, b in zip(pair(coulomb), pair(rise))) if rise else 0.0
    dry = any(map(any, (pair(coulomb), pair(rise)))) or found.get(LOAD, 0.0) > 0
    return {
        "viscous": either_way("viscous"),
        "viscous_quadratic": either_way("viscous_quadratic"),
        "viscous_cubic": either_way("viscous_cubic"),
        "coulomb": coulomb,
        "static": static,
        "stribeck_velocity": stribeck_velocity,
        "load_friction": either_way(LOAD),
        "smoothing_velocity": width if dry else 0.0,
        "offset": found.get("offset", 0.0),
    }
