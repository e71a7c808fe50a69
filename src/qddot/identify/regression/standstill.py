"""Standstill speeds: the width, in speed, of the step that Coulomb friction takes when a joint turns back.

It differs by a factor of ten between drives (play, grease, the low-pass behind a torque sensor); a log with a few turns shows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.regression.base import base_parameters
from qddot.identify.regression.drive_terms import Column, Motion, drive_columns
from qddot.identify.regression.estimators import weighted
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import strips
from qddot.identify.regression.reduction import reduce
from qddot.identify.regression.residuals import residuals, rms
from qddot.identify.regression.rest import with_needed_rests
from qddot.identify.regression.signals import Signals
from qddot.identify.regression.triangles import CHUNK
from qddot.model.friction import LOAD
from qddot.robot import Robot
from qddot.thresholds import NARROWEST, SLOW_STEP, STANDSTILL, STANDSTILL_ROUNDS, STANDSTILL_TRIED, STRIBECK_ROUNDS, WIDEST

NOTHING: Mapping[str, Any] = MappingProxyType({})


def standstill_speeds(robot: Robot, signals: Signals, laws: Mapping[str, Any] = NOTHING) -> dict[str, float]:
    """Find joint -> smoothing velocity of its Coulomb friction in a log; for `ParameterSet.of(standstill=...)`.

    By turns, all parameters are fitted with the speeds found so far, and for each joint the speed is chosen at which its friction,
    fitted anew, leaves the smallest residual: of unfiltered torques, since a turn is shorter than the low-pass. The speed lies
    between a twentieth of the change of the joint's speed from sample to sample, below which only creeping joints show a step, and
    half of its rms speed, above which the step would look like viscous friction; the whole of it for a joint so slow that it is
    hardly faster than such a step is wide. A joint that does not move keeps the default.

    Args:
        laws: options of `ParameterSet.of` for friction that is known to be there.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> sorted(qddot.identify.standstill_speeds(robot, qddot.identify.prepare(log)))
    ['joint1', 'joint2']
    """
    return dry_speeds(robot, signals, laws).standstill


class Seen(NamedTuple):
    """The samples in which a joint moves, and the part of its torque (N,) that is friction."""

    joint: str
    j: int
    motion: Motion
    friction: np.ndarray


class DrySpeeds(NamedTuple):
    """Each joint's smoothing velocity, and the speed at which Stribeck's curve has halved, or joint -> speed; None without that
    law."""

    standstill: dict[str, float]
    stribeck: float | dict[str, float] | None


def dry_speeds(robot: Robot, signals: Signals, laws: Mapping[str, Any] = NOTHING) -> DrySpeeds:
    """See `standstill_speeds`. Stribeck's speed, the same for all joints or one for each, is chosen along with them, since an error
    of one would be compensated by the other. Friction by the load takes the same step, with the load of the parameters found
    before."""
    usual = signals.paces >= STANDSTILL  # rests tell nothing about the step
    speed = rms(signals.qd, usual)
    least, most = NARROWEST * rms(signals.qdd, usual) / signals.rate, np.maximum(WIDEST * speed, np.minimum(speed, SLOW_STEP))
    moving = {joint: j for j, joint in enumerate(robot.joint_names) if 0 < least[j] < most[j]}
    speeds, laws, base, carried = dict.fromkeys(robot.joint_names, STANDSTILL), dict(laws), None, None
    for _ in range(STRIBECK_ROUNDS if laws.keys() & {"stribeck", LOAD} else STANDSTILL_ROUNDS):
        parameter_set = with_needed_rests(ParameterSet.of(robot, standstill=speeds, **laws).carrying(carried), [signals])
        known = None if base is None or parameter_set.is_loaded else dataclasses.replace(base, parameter_set=parameter_set)
        base = known or base_parameters(parameter_set)
        theta, _ = weighted(reduce(base, strips(signals, blocks=1)))
        left, found = residuals(base, theta, signals), dict(zip(base.names, theta))
        load, carried = loads(parameter_set, signals), base.completed(theta)
        seen = []
        for joint, j in moving.items():
            kept = left.moving[:, j]
            kept = slice(None) if kept.all() else kept  # which copies nothing
            motion = Motion(signals.q[kept], signals.qd[kept], signals.qdd[kept], load[kept] if len(load) else load)
            sliding = {f"{joint}.{name}": column for name, column in sliding_terms(parameter_set, j, speeds[joint])}
            friction = left.raw[kept, j] + sum(found.get(name, 0.0) * column(motion) for name, column in sliding.items())
            here = Seen(joint, j, motion, friction)
            speeds[joint] = best_speed(parameter_set, here, (least[j], most[j]))
            if "stribeck" in laws:  # else it is let go of: a joint's is as large as the log, where some of it rests
                seen.append(here)
        if seen:
            laws["stribeck"] = refined_stribeck(parameter_set, speeds, laws["stribeck"], seen)
    return DrySpeeds(speeds, laws.get("stribeck"))


def refined_stribeck(
    parameter_set: ParameterSet, speeds: Mapping[str, float], given: float | Mapping[str, float], seen: Sequence[Seen]
) -> float | dict[str, float]:
    """The best speed near the one given for all joints; or joint -> speed, each near its own, where these are given."""
    if not isinstance(given, Mapping):
        return best_stribeck(parameter_set, speeds, given, seen)
    own = {one.joint: best_stribeck(parameter_set, speeds, given[one.joint], [one]) for one in seen if one.joint in given}
    return {**given, **own}


def best_stribeck(parameter_set: ParameterSet, speeds: Mapping[str, float], speed: float, seen: Sequence[Seen]) -> float:
    """The speed at which Stribeck's curve has halved, within a factor of two of `speed`, with the smallest residual of all joints'
    friction."""

    def left(log_speed: float) -> float:
        asked = {**parameter_set.asked, "stribeck": float(np.exp(log_speed))}
        return sum(float(np.log(unexplained(one, sliding_terms(parameter_set, one.j, speeds[one.joint], asked)))) for one in seen)

    return float(np.exp(fminbound(left, np.log(speed) - 0.7, np.log(speed) + 0.7, xtol=1e-3)))


def unexplained(seen: Seen, terms: Sequence[tuple[str, Column]]) -> float:
    """Sum of squares of a joint's friction that a fit of these terms leaves."""
    X = np.column_stack([column(seen.motion) for _, column in terms])
    b = X.T @ seen.friction
    return float(seen.friction @ seen.friction - b @ np.linalg.lstsq(X.T @ X, b, rcond=None)[0])


def sliding_terms(
    parameter_set: ParameterSet, j: int, speed: float, asked: Mapping[str, Any] | None = None
) -> list[tuple[str, Column]]:
    """Names and columns of joint j's friction, its step smoothed over `speed`; `asked`: options instead of the parameter set's."""
    return list(drive_columns(asked or parameter_set.asked, parameter_set.robot.joint_names[j], j, speed))


def loads(parameter_set: ParameterSet, signals: Signals) -> np.ndarray:
    """The load of each joint (N, nv), with which friction grows; (0, nv) for a set without such friction."""
    evaluator = parameter_set.evaluator()
    parts = [slice(start, start + CHUNK) for start in range(0, len(signals.q), CHUNK)] if parameter_set.is_loaded else []
    found = [evaluator.at(signals.q[part], signals.qd[part], signals.qdd[part]).motion.load for part in parts]
    return np.concatenate([np.zeros((0, parameter_set.robot.nv)), *found])


def best_speed(parameter_set: ParameterSet, seen: Seen, within: tuple[float, float]) -> float:
    """The smoothing velocity within these bounds at which a joint's friction leaves the smallest residual."""

    def left(log_speed: float) -> float:
        return unexplained(seen, sliding_terms(parameter_set, seen.j, float(np.exp(log_speed))))

    slow, fast = np.log(within)
    tried = np.linspace(slow, fast, STANDSTILL_TRIED)
    k = int(np.argmin([left(x) for x in tried]))
    around = tried[max(k - 1, 0)], tried[min(k + 1, STANDSTILL_TRIED - 1)]
    return float(np.exp(fminbound(left, *around, xtol=1e-3)))
