"""A robot with identified parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from qddot.identify.physical.pseudo_inertia import pseudo_inertia, ten_vector
from qddot.identify.regression.bodies import body_inertias, with_parameters
from qddot.identify.regression.drive_terms import PULLS, is_harmonic, stribeck_of
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.model.directed import pair
from qddot.model.drive import Drive, Harmonic
from qddot.model.friction import FRICTION, LAWS, LOAD, OTHER_WAY
from qddot.model.transmission import Transmission
from qddot.robot import Robot
from qddot.thresholds import SMALLEST_MOMENT

HINGES = ("revolute", "continuous")


def sound_prior(parameter_set: ParameterSet, free: np.ndarray | None = None) -> np.ndarray:
    """All parameters (P,) from the free ones (f,), by default those described, with each link made physically consistent."""
    values = parameter_set.full(parameter_set.described if free is None else free)
    for k in range(len(body_inertias(parameter_set.robot))):
        part = slice(10 * k, 10 * k + 10)
        values[part] = sound_body(values[part])
    return values


def sound_body(ten: np.ndarray) -> np.ndarray:
    """Make ten inertial parameters (10,) physically consistent: second moments about the centre of mass that are not positive, as
    in many published descriptions, are raised to a hundredth of the largest; a body without mass gets a kilogram."""
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
    """Return the robot with these values of all parameters (P,), and the names of those that a robot cannot have: harmonics of
    sliders, friction by the load with a factor of 1 or more, which no torque overcomes, pulls, and constants of a motor of two
    joints that are negative or beyond the joints' own."""
    robot, values = parameter_set.robot, dict(zip(parameter_set.full_names, parameters.tolist()))
    inertias = {body: parameters[10 * k : 10 * k + 10] for k, body in enumerate(body_inertias(robot))}
    owned: dict[str, dict[str, float]] = {}
    for term in parameter_set.terms:
        owner, _, kind = term.name.rpartition(".")
        owned.setdefault(owner, {})[kind] = values[term.name]
    left: list[str] = []
    motors = [coupled_motor(parameter_set, pair, owned, left) for pair in parameter_set.asked["coupled"]]
    drives, hinges = {}, {joint.name for joint in robot.model.joints if joint.kind in HINGES}
    for joint, width in zip(robot.joint_names, parameter_set.widths):
        found = owned.get(joint)
        if not found:
            continue
        if found.get(LOAD, 0.0) >= 1:
            left.append(f"{joint}.{LOAD}")
            del found[LOAD]
        left += [f"{joint}.{kind}" for kind in PULLS if kind in found]
        waves = harmonics_of(found)
        if joint not in hinges:
            left += [f"{joint}.{wave}{k}" for k, *_ in waves for wave in ("cos", "sin")]
            waves = []
        given = robot.drives.get(joint, Drive())
        spring = given.at_joint  # together with the one found, which is relaxed at 0
        stiffness = spring.stiffness + max(found.get("stiffness", 0.0), 0.0)
        drives[joint] = replace(  # friction and rotor are replaced, springs and harmonics added; the rest of the drive stays
            given,
            **friction_keys(found, width, stribeck_of(parameter_set.asked, joint) or 0.0),
            stiffness=stiffness,
            rest=spring.stiffness * spring.rest / stiffness if stiffness else 0.0,
            harmonics=added_harmonics(given.harmonics, waves),
            rotor_inertia=max(found.get("armature", 0.0), 0.0) / given.gear_ratio**2,
            side="joint",
            damping=0.0,
            rotor_axis=None,
        )
    robot = with_parameters(robot, inertias, drives)
    for motor in motors:
        robot = robot.with_transmission(motor)
    return robot, tuple(left)


def coupled_motor(
    parameter_set: ParameterSet, joints: tuple[str, str], owned: dict[str, dict[str, float]], left: list[str]
) -> Transmission:
    """Return the motor that turns with the sum of two joints. Its rotor and viscous friction are subtracted from the joints' own in
    `owned`, which so far include them; names of constants that no motor has go into `left`."""
    name, robot = "+".join(joints), parameter_set.robot
    own = [owned[joint] for joint in joints]
    shared = {}
    for kind in ("armature", "viscous"):
        either = [kind, kind + OTHER_WAY]
        most = min((each[one] for each in own for one in either if one in each), default=0.0)
        shared[kind] = min(max(owned[name][kind], 0.0), max(most, 0.0))
        for each in own:
            each.update({one: each[one] - shared[kind] for one in either if one in each})
    coulomb = max(owned[name]["coulomb"], 0.0)
    left += [f"{name}.{kind}" for kind, value in {**shared, "coulomb": coulomb}.items() if value != owned[name][kind]]
    width = max(parameter_set.widths[robot.joint_names.index(joint)] for joint in joints) if coulomb else 0.0
    drive = Drive(shared["viscous"], coulomb, smoothing_velocity=width, rotor_inertia=shared["armature"])
    return Transmission(joints, ((1.0, 1.0),), (drive,), (name,))


def harmonics_of(found: Mapping[str, float]) -> list[Harmonic]:
    """(order, cosine, sine) among the parameters of a joint."""
    orders = [int(name[3:]) for name in found if is_harmonic(name) and name.startswith("cos")]
    return [(k, found[f"cos{k}"], found[f"sin{k}"]) for k in orders]


def added_harmonics(given: Iterable[Harmonic], more: Iterable[Harmonic]) -> tuple[Harmonic, ...]:
    """The sum of harmonics, order by order."""
    total: dict[int, tuple[Any, Any]] = {}
    for k, c, s in (*given, *more):
        before = total.get(k, (0.0, 0.0))
        total[k] = before[0] + c, before[1] + s
    return tuple((k, c, s) for k, (c, s) in sorted(total.items()))


def friction_keys(found: Mapping[str, float], width: float, stribeck_velocity: float) -> dict[str, Any]:
    """Keys of a `Drive` for a joint's friction. Constants that cannot be negative are raised to 0, where rounding made them so."""

    def either_way(name: str) -> Any:
        one = max(found.get(name, 0.0), 0.0)
        return (one, max(found[name + OTHER_WAY], 0.0)) if name + OTHER_WAY in found else one

    coulomb, rise = either_way("coulomb"), either_way("stribeck")
    static = tuple(a + b for a, b in zip(pair(coulomb), pair(rise))) if rise else 0.0
    dry = any(map(any, (pair(coulomb), pair(rise)))) or found.get(LOAD, 0.0) > 0
    return dict.fromkeys(FRICTION, 0.0) | {  # a law that the fit does not have is 0: other columns explain its torque
        **{law.name: either_way(law.name) for law in LAWS if law.name in FRICTION},
        "static": static,
        "stribeck_velocity": stribeck_velocity,
        "load_friction": either_way(LOAD),
        "smoothing_velocity": width if dry else 0.0,
        "offset": found.get("offset", 0.0),
    }
