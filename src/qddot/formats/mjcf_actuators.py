"""Effects of MuJoCo's actuators on joints: a limit of effort, and the inertia and damping of a rotor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

JOINT, JOINT_IN_PARENT = 0, 1  # of mjtTrn
FIXED_GAIN, NO_BIAS, NO_DYNAMICS = 0, 0, 0  # of mjtGain, mjtBias, mjtDyn


class Motors:
    """The actuators of a compiled model, by the joint they drive."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.on: dict[int, list[int]] = {}
        for a in range(actuator_count(model)):
            if model.actuator_trntype[a] in (JOINT, JOINT_IN_PARENT) and single(model, model.actuator_trnid[a, 0]):
                self.on.setdefault(int(model.actuator_trnid[a, 0]), []).append(a)

    def effort(self, joint: int) -> float:
        """Return the largest joint force, N m or N: that of all motors, within the joint's own limit; a missing limit is
        infinite."""
        own = np.abs(self.model.jnt_actfrcrange[joint]).max() if self.model.jnt_actfrclimited[joint] else math.inf
        motors = [self.strength(a) for a in self.on.get(joint, ())]
        return float(min(own, sum(motors))) if motors else float(own)

    def strength(self, a: int) -> float:
        """Return the largest force of one actuator at its joint."""
        model = self.model
        gear, strongest = abs(float(model.actuator_gear[a, 0])), math.inf
        if model.actuator_forcelimited[a]:
            strongest = float(np.abs(model.actuator_forcerange[a]).max())
        control = model.actuator_ctrladr[a] if hasattr(model, "actuator_ctrladr") else a
        if is_motor(model, a) and model.actuator_ctrllimited[control]:
            most = float(np.abs(model.actuator_ctrlrange[control]).max())
            strongest = min(strongest, abs(float(model.actuator_gainprm[a, 0])) * most)
        return gear * strongest

    def reflected(self, joint: int) -> tuple[float, float]:
        """Return the inertia (kg m^2) and damping (N m s/rad) of the rotors at the joint."""
        armature, damping = 0.0, 0.0
        for a in self.on.get(joint, ()):
            gear = float(self.model.actuator_gear[a, 0])
            armature += gear * gear * rotor(self.model, "armature", a)
            damping += gear * gear * rotor(self.model, "damping", a)
        return armature, damping


def actuator_count(model: Any) -> int:
    """Return the number of actuators; newer versions of MuJoCo count controls apart."""
    return int(getattr(model, "nactuator", model.nu))


def single(model: Any, joint: int) -> bool:
    """Return True for a hinge or a slider."""
    return model.jnt_type[joint] >= 2


def rotor(model: Any, name: str, a: int) -> float:
    """Return `actuator_armature` or `actuator_damping` of an actuator; 0 in older versions of MuJoCo, which have neither."""
    values = getattr(model, f"actuator_{name}", None)
    return 0.0 if values is None else float(values[a])


def is_motor(model: Any, a: int) -> bool:
    """Return True for an actuator whose force is its control times a constant."""
    kinds = (model.actuator_gaintype[a], model.actuator_biastype[a], model.actuator_dyntype[a])
    return kinds == (FIXED_GAIN, NO_BIAS, NO_DYNAMICS)
