"""Joints at rest, whose torque is undetermined since Coulomb friction holds them: left out, unless a log has nothing else."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.signals import Signals
from qddot.logs.table import Finding
from qddot.thresholds import REST_WORTH


def with_needed_rests(parameter_set: ParameterSet, parts: Iterable[Signals]) -> ParameterSet:
    """Use samples at rest for joints that move in fewer samples than they have parameters, as in a log of poses. Parts of a long
    log are read only until every joint has moved enough."""
    unknown = np.array([np.any(parameter_set.T[used], axis=0).sum() for used in parameter_set.evaluator().used])
    moving = np.zeros_like(unknown)
    for signals in parts:
        moving += np.sum(signals.centre_paces >= parameter_set.rest_speeds, axis=0)
        if np.all(moving >= unknown):
            return parameter_set
    return parameter_set.counting_rests([name for name, few in zip(parameter_set.robot.joint_names, moving < unknown) if few])


def left_out(factors: Factors) -> list[Finding]:
    """Report the joints that rested, and for how much of the log."""
    names = factors.base.parameter_set.robot.joint_names
    rested = [f"{name} {part:.0%}" for name, part in zip(names, factors.left_out) if part > REST_WORTH]
    if not rested:
        return []
    message = f"torques of a joint at rest, which friction may hold with any part of its own, are left out: {', '.join(rested)}"
    return [Finding("found", "rest", message)]
