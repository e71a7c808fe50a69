"""The linear equations of a load on an arm: its ten columns, those of all that may differ in the arm, and their torques.

    tau_with - tau_without = Y_load pi_load + Y_arm x

x are errors of the arm's own parameters, as far as they are not known, and friction: gears warm between two logs, and a load
changes their friction, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.identify.alignment import alignable, common_delay, told_delays, told_fault
from qddot.identify.fit import Fit
from qddot.identify.physical.pseudo_inertia import congruence
from qddot.identify.regression.base import base_parameters
from qddot.identify.regression.motions import Moved, Recorded, moved
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.record import whole
from qddot.identify.regression.rows import Samples
from qddot.identify.regression.signals import prepare
from qddot.identify.regression.standstill import standstill_speeds
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import STANDSTILL


class Equations(NamedTuple):
    """Equations of a load, as many for each joint; those of a log without the load come first."""

    run: Moved  # the motion with the load
    load: np.ndarray  # (N, nv, 10)
    arm: np.ndarray  # (N, nv, d): columns of what may differ in the arm, those of friction last
    friction: int  # how many those are
    told: np.ndarray  # (k, d): what an earlier fit tells about them, in rows of unit variance
    tau: np.ndarray  # (N, nv)
    findings: tuple[Finding, ...]  # what was done to the logs


def equations(robot: Robot | Fit, recorded: Recorded, unloaded: Recorded | None, frame: str, cutoff: float | None) -> Equations:
    """Return the equations of a load; see `payload` for the arguments."""
    given: Robot = robot.parameter_set.robot if isinstance(robot, Fit) else robot
    run, faults = aligned(robot, recorded, cutoff)
    runs: list[Moved] = [run]
    asked: dict[str, Any] = friction_of(robot)
    if unloaded is not None:
        alone, more = aligned(given, unloaded, cutoff)
        runs, faults = [alone, run], (*more, *faults)
        if alone.signals is not None and given.nq == given.nv:
            asked = {"standstill": standstill_speeds(given, alone.signals)}
    load = run.filtered(load_regressor(given, *run.motion, frame))
    friction = run.filtered(free_friction(given, run, asked))
    friction = friction[..., np.any(friction != 0, axis=(0, 1))]  # poses at rest show none
    if isinstance(robot, Fit):  # the error of its parameters is estimated together with the load
        own, tau = run.filtered(robot.base.matrix(*run.motion)), run.filtered(run.samples.tau - robot.predict(*run.motion))
        told = np.linalg.inv(np.linalg.cholesky(robot.estimate.classical))
    elif unloaded is None:
        own, tau = friction[..., :0], run.filtered(run.samples.tau - given.inverse_dynamics(*run.motion))
        told = np.zeros((0, 0))
    else:
        base = base_parameters(ParameterSet.of(given, **asked))
        own = np.concatenate([one.filtered(base.matrix(*one.motion)) for one in runs])
        tau = np.concatenate([one.filtered(one.samples.tau) for one in runs])
        load, friction = (np.concatenate([np.zeros((len(own) - len(x), *x.shape[1:])), x]) for x in (load, friction))
        told = np.zeros((0, base.rank))
    told = np.pad(told, ((0, 0), (0, friction.shape[-1])))
    findings = (*told_delays(*(one.signals for one in runs if one.signals is not None)), *faults)
    return Equations(run, load, np.concatenate([own, friction], axis=-1), friction.shape[-1], told, tau, findings)


def aligned(arm: Robot | Fit, recorded: Recorded, cutoff: float | None) -> tuple[Moved, tuple[Finding, ...]]:
    """Return a recorded motion of an arm, with whatever load, with positions of the time of its torques, and a finding if these
    came too late for that; samples as they are."""
    robot: Robot = arm.parameter_set.robot if isinstance(arm, Fit) else arm
    if isinstance(recorded, Samples):
        return moved(robot, recorded), ()
    log, base = whole(robot, recorded), arm.base if isinstance(arm, Fit) else base_parameters(ParameterSet.of(robot))
    delay, rate = common_delay(base, prepare(log, cutoff)), log.rate
    return moved(robot, log, cutoff, alignable(delay, rate)), told_fault(delay, rate)


def friction_of(arm: Robot | Fit) -> dict[str, Any]:
    """Return options of `ParameterSet.of` for the step that friction of an arm is known to take."""
    if isinstance(arm, Fit):
        return {name: arm.parameter_set.asked[name] for name in ("coulomb", "standstill")}
    widths = {name: drive.at_joint.friction.width for name, drive in arm.drives.items()}
    return {"standstill": {name: float(width) or STANDSTILL for name, width in widths.items()}}


def free_friction(robot: Robot, run: Moved, asked: Mapping[str, Any]) -> np.ndarray:
    """Return the columns (N, nv, d) of viscous and Coulomb friction of each joint, whose step is `asked` for; none of spherical and
    free joints."""
    if robot.nq != robot.nv:
        return np.zeros((*run.samples.tau.shape, 0))
    friction = ParameterSet.of(robot, armature=False, offset=False, **asked)
    return friction.matrix(*run.motion)[..., len(friction.names) - len(friction.terms) :]


def load_regressor(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, frame: str) -> np.ndarray:
    """Return the regressor Y_load (N, nv, 10) of a body fixed to a frame."""
    place, seen = carrier(robot, frame)
    return robot.regressor(q, qd, qdd)[..., 10 * place : 10 * place + 10] @ seen


def carrier(robot: Robot, frame: str) -> tuple[int, np.ndarray]:
    """Return the index of the moving link that carries a frame, and the matrix (10, 10) that transforms ten inertial parameters
    from the frame's axes to the link's. Raises UnknownNameError: no such frame; InputError: it does not move."""
    at = robot.neutral()
    robot.transform(at, frame)  # raises the error for an unknown name
    index, _ = robot.model.mechanism.frames[frame]
    carriers = {body.index: k for k, body in enumerate(b for b in robot.model.bodies if b.is_link)}
    if index not in carriers:
        raise InputError(f"frame {frame!r} does not move: nothing fixed to it shows in the torques (name a frame behind a joint)")
    place = carriers[index]
    link = robot.transform(at, robot.body_names[place])
    return place, congruence(np.linalg.solve(link, robot.transform(at, frame)))
