"""Robots with some joints locked, such as a closed gripper or a parked axis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qddot.algorithms.kinematics import frame_pose
from qddot.arguments import refuse_recorded
from qddot.errors import InputError, ModelValueError, unknown_name
from qddot.model.check import warn
from qddot.model.configuration import QUATERNION_TOLERANCE, neutral, normalized
from qddot.model.description import Joint
from qddot.model.field import Floats
from qddot.model.lower import Coordinates
from qddot.model.model import Model


def locked(model: Model, positions: Mapping[str, ArrayLike]) -> Model:
    """Return the model with joints fixed at these positions, together with those that follow them; links and frames stay.

    Raises InputError: joints without positions; UnknownNameError: no such joint with coordinates of its own; ModelValueError: not a
    position of the joint, or something else depends on it; UnboundSymbolError: the model still holds symbols, and the pose of a
    fixed joint needs numbers.
    """
    if not isinstance(positions, Mapping):
        raise InputError(f"{positions!r}: joints are locked at positions, {{name: position}}")
    own = {c.name: c for c in model.mechanism.coordinates if not c.name.endswith(".motor")}
    q = neutral(model.mechanism)
    for name, value in positions.items():
        if name not in own:
            raise unknown_name("joint with coordinates of its own", name, own)
        q[list(own[name].q)] = position(own[name], value)
    q = normalized(model.mechanism, q)
    still = {
        joint.name for joint in model.joints if joint.name in positions or model.leaders.get(joint.name, ("",))[0] in positions
    }
    refuse_dependents(model, still)
    lifted, at = model.over(Floats()), q.tolist()

    def fixed(joint: Joint) -> Joint:
        pose = frame_pose(lifted, at, joint.parent).inverse @ frame_pose(lifted, at, joint.child)
        return Joint(joint.name, "fixed", joint.parent, joint.child, origin=pose, place=joint.place)

    return model.copy(joints=[fixed(joint) if joint.name in still else joint for joint in model.joints])


def position(joint: Coordinates, value: ArrayLike) -> np.ndarray:
    """Return the coordinates of one joint, checked; positions beyond its limits are kept with a warning."""
    refuse_recorded(f"the position of joint {joint.name!r}", value)
    where: dict[str, Any] = {"element": f"joint {joint.name!r}", "text": str(value)}
    try:
        numbers = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError, OverflowError):
        raise ModelValueError("a position is made of numbers", **where) from None
    if numbers.shape != (len(joint.q),):
        raise ModelValueError(f"{len(joint.q)} numbers are needed", **where)
    if not np.isfinite(numbers).all():
        raise ModelValueError("a position is finite", **where)
    length = np.linalg.norm(numbers[:4])
    if joint.parts[0].quaternion and abs(length - 1) > QUATERNION_TOLERANCE:
        raise ModelValueError(f"its quaternion wxyz has length {length:.6g}, not 1", **where, fix="normalise it")
    low, high = joint.limits.lower, joint.limits.upper
    if joint.single and not low <= numbers[0] <= high:
        warn(f"locked beyond its limits [{low:g}, {high:g}]", **where)
    return numbers


def refuse_dependents(model: Model, still: set[str]) -> None:
    """Refuse to lock a joint whose rotor or transmission others need."""
    for joint in model.joints:
        if joint.name in still and joint.drive and joint.drive.rotor_axis is not None:
            raise ModelValueError(
                "its rotor is a gyroscope on the parent link, which would lose it", element=f"joint {joint.name!r}"
            )
    for transmission in model.transmissions:
        for name in still & set(transmission.joints):
            raise ModelValueError("a transmission drives it with other joints", element=f"joint {name!r}")
    for constraint in model.constraints:
        for name in still & {getattr(constraint, "joint", None), getattr(constraint, "leader", None)}:
            raise ModelValueError(f"the constraint {constraint.name!r} couples it", element=f"joint {name!r}")
