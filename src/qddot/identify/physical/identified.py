"""Parameters put back into a robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qddot.identify.physical.pseudo_inertia import pseudo_inertia, ten_vector
from qddot.identify.regression.bodies import body_inertias, with_parameters
from qddot.identify.regression.parameter_set import Columns
from qddot.model.drive import Drive
from qddot.robot import Robot

HELD = ("armature", "viscous", "coulomb", "offset", "coulomb_negative")


SMALLEST = 1e-2  # second moment about the centre of mass, of the largest, that a body with volume has at least


def sound_prior(columns: Columns) -> np.ndarray:
    """All parameters (P,) as described, with each link made a body that can exist: where second moments about the centre of mass
    are not positive, as in many published descriptions, they are raised to a hundredth of the largest."""
    values = columns.full(columns.described)
    for k in range(len(body_inertias(columns.robot))):
        part = slice(10 * k, 10 * k + 10)
        ten = values[part]
        mass = ten[0] if ten[0] > 0 else 1.0
        c = ten[1:4] / mass
        J = pseudo_inertia(np.concatenate([[mass], mass * c, ten[4:]]))
        about = J[:3, :3] - mass * np.outer(c, c)
        moments, axes = np.linalg.eigh(about)
        least = SMALLEST * max(moments[-1], 1e-4 * mass)
        if ten[0] <= 0 or moments[0] < least:
            J[:3, :3] = (axes * np.maximum(moments, least)) @ axes.T + mass * np.outer(c, c)
            values[part] = ten_vector(J)
    return values


def identified_robot(columns: Columns, parameters: np.ndarray) -> tuple[Robot, tuple[str, ...]]:
    """The robot with these values of all parameters (P,), and the names of those it cannot hold.

    An offset becomes a Coulomb friction that differs between the directions, where both stay positive.
    """
    robot, values = columns.robot, dict(zip(columns.full_names, parameters.tolist()))
    bodies = list(body_inertias(robot))
    inertias = {body: parameters[10 * k : 10 * k + 10] for k, body in enumerate(bodies)}
    left = [term.name for term in columns.terms if term.name.rpartition(".")[2] not in HELD or "+" in term.name]
    drives = {}
    for joint in robot.joint_names:
        get = lambda kind, joint=joint: values.get(f"{joint}.{kind}", 0.0)  # noqa: E731
        if not any(name.rpartition(".")[0] == joint for name in values):
            continue
        given = robot.drives.get(joint, Drive())
        if f"{joint}.coulomb_negative" in values:
            forward, backward = get("coulomb"), get("coulomb_negative")
            left.append(f"{joint}.viscous_negative")
        else:
            forward, backward = get("coulomb") + get("offset"), get("coulomb") - get("offset")
        if min(forward, backward) < 0:
            forward = backward = max(get("coulomb"), 0.0)
            left.append(f"{joint}.offset")
        drives[joint] = replace(  # what was found stands for all friction and for the rotor; the rest of the drive stays
            given,
            viscous=max(get("viscous"), 0.0),
            coulomb=(forward, backward),
            stiffness=given.at_joint.stiffness,
            rotor_inertia=max(get("armature"), 0.0) / given.gear_ratio**2,
            side="joint",
            damping=0.0,
            static=0.0,
            stribeck_velocity=0.0,
            load_friction=0.0,
            rotor_axis=None,
        )
    return with_parameters(robot, inertias, drives), tuple(left)
