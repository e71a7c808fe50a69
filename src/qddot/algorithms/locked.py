"""A robot some of whose joints no longer move: a closed gripper, a parked axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qddot.algorithms.kinematics import frame_pose
from qddot.errors import ModelValueError, unknown_name
from qddot.model.configuration import neutral
from qddot.model.description import Joint
from qddot.model.field import Floats
from qddot.model.model import Model
from qddot.model.scalar import Scalar


def locked(model: Model, positions: Mapping[str, Scalar | Sequence[Scalar]]) -> Model:
    """The model with joints fixed at these positions, and those that follow them with them; links and frames stay.

    Raises:
        UnknownNameError: no such joint with coordinates of its own.
        ModelValueError: as many numbers as the joint has coordinates are needed; or something else depends on the joint.
    """
    spans = {c.name: c.q for c in model.mechanism.coordinates if not c.name.endswith(".motor")}
    q = neutral(model.mechanism)
    for name, value in positions.items():
        if name not in spans:
            raise unknown_name("joint with coordinates of its own", name, spans)
        numbers = [float(x) for x in value] if isinstance(value, Sequence) else [float(value)]
        if len(numbers) != len(spans[name]):
            raise ModelValueError(f"{len(spans[name])} numbers are needed", element=f"joint {name!r}", text=str(value))
        q[list(spans[name])] = numbers
    still = {
        joint.name for joint in model.joints if joint.name in positions or model.leaders.get(joint.name, ("",))[0] in positions
    }
    refuse_dependents(model, still)
    lifted, at = model.over(Floats()), q.tolist()

    def fixed(joint: Joint) -> Joint:
        pose = frame_pose(lifted, at, joint.parent).inverse @ frame_pose(lifted, at, joint.child)
        return Joint(joint.name, "fixed", joint.parent, joint.child, origin=pose, place=joint.place)

    return model.copy(joints=[fixed(joint) if joint.name in still else joint for joint in model.joints])


def refuse_dependents(model: Model, still: set[str]) -> None:
    """What would go with the joint though others need it."""
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
