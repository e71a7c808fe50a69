"""At which speed does a joint stand still? The width of the step that Coulomb friction takes when a joint turns back.

Drives differ in it by a factor of ten (play, grease, the low-pass behind a torque sensor), and a log with a few turns shows it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.regression.base import base_parameters
from qddot.identify.regression.drive_terms import Column, Motion, drive_columns
from qddot.identify.regression.estimators import weighted
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import pieces
from qddot.identify.regression.reduction import reduce
from qddot.identify.regression.residuals import residuals, rms
from qddot.identify.regression.rest import with_needed_rests
from qddot.identify.regression.signals import Signals
from qddot.model.friction import LOAD
from qddot.robot import Robot
from qddot.thresholds import STANDSTILL, STANDSTILL_ROUNDS, STANDSTILL_TRIED

NOTHING: Mapping[str, Any] = MappingProxyType({})


def standstill_speeds(robot: Robot, signals: Signals, laws: Mapping[str, Any] = NOTHING) -> dict[str, float]:
    """Joint -> smoothing velocity of its Coulomb friction, as the log shows it; for `ParameterSet.of(standstill=...)`.

    By turns, all parameters are fitted with these speeds, and each joint's speed is chosen that leaves least of its torque, its
    friction fitted anew: of the torque as measured, for a turn is over before a low-pass sees it. The speed lies between that which
    the joint gains from sample to sample, below which nothing would change, and half of its usual one, above which friction would
    be viscous. A joint that does not move keeps the usual value.

    Args:
        laws: options of `ParameterSet.of`, of friction that is known to be there.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> sorted(qddot.identify.standstill_speeds(robot, qddot.identify.prepare(log)))
    ['joint1', 'joint2']
    """
    usual = signals.paces[0] >= STANDSTILL  # without rests, which say nothing of the step
    least, most = rms(signals.qdd, usual) / signals.rate, rms(signals.qd, usual) / 2
    moving = {joint: j for j, joint in enumerate(robot.joint_names) if 0 < least[j] < most[j]}
    speeds, base = dict.fromkeys(robot.joint_names, STANDSTILL), None
    for _ in range(STANDSTILL_ROUNDS):
        parameter_set = with_needed_rests(ParameterSet.of(robot, standstill=speeds, **laws), [signals])
        base = base_parameters(parameter_set) if base is None else dataclasses.replace(base, parameter_set=parameter_set)
        theta, _ = weighted(reduce(base, pieces(signals, blocks=1)))
        left, found = residuals(base, theta, signals), dict(zip(base.names, theta))
        for joint, j in moving.items():
            kept = left.moving[:, j]
            motion = Motion(signals.q[kept], signals.qd[kept], signals.qdd[kept], np.zeros((0, robot.nv)))
            sliding = {f"{joint}.{name}": column for name, column in sliding_terms(parameter_set, j, speeds[joint])}
            friction = left.raw[kept, j] + sum(found.get(name, 0.0) * column(motion) for name, column in sliding.items())
            speeds[joint] = best_speed(parameter_set, j, motion, friction, (least[j], most[j]))
    return speeds


def sliding_terms(parameter_set: ParameterSet, j: int, speed: float) -> list[tuple[str, Column]]:
    """Name and column of what joint j's friction consists of, smoothed over a speed; but for friction by the load, which is another
    joint's, too."""
    joint = parameter_set.robot.joint_names[j]
    return [(name, column) for name, column in drive_columns(parameter_set.asked, joint, j, speed) if name != LOAD]


def best_speed(parameter_set: ParameterSet, j: int, motion: Motion, friction: np.ndarray, within: tuple[float, float]) -> float:
    """The speed between two others, smoothed over which the laws of joint j come closest to its friction (N,)."""

    def left(log_speed: float) -> float:
        X = np.column_stack([column(motion) for _, column in sliding_terms(parameter_set, j, float(np.exp(log_speed)))])
        b = X.T @ friction
        return float(-b @ np.linalg.lstsq(X.T @ X, b, rcond=None)[0])

    slow, fast = np.log(within)
    tried = np.linspace(slow, fast, STANDSTILL_TRIED)
    k = int(np.argmin([left(x) for x in tried]))
    around = tried[max(k - 1, 0)], tried[min(k + 1, STANDSTILL_TRIED - 1)]
    return float(np.exp(fminbound(left, *around, xtol=1e-3)))
