"""At which speed does a joint stand still? The width of the step that Coulomb friction takes when a joint turns back.

Drives differ in it by a factor of ten (play, grease, the low-pass behind a torque sensor), and a log with a few turns shows it.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.regression.base import base_parameters
from qddot.identify.regression.estimators import least_squares
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import pieces
from qddot.identify.regression.reduction import reduce
from qddot.identify.regression.residuals import residuals, rms
from qddot.identify.regression.rest import with_needed_rests
from qddot.identify.regression.signals import Signals
from qddot.model.friction import smooth_step
from qddot.robot import Robot
from qddot.thresholds import STANDSTILL, STANDSTILL_ROUNDS, STANDSTILL_TRIED


def standstill_speeds(robot: Robot, signals: Signals) -> dict[str, float]:
    """Joint -> smoothing velocity of its Coulomb friction, as the log shows it; for `ParameterSet.of(standstill=...)`.

    By turns, all parameters are fitted with these speeds, and each joint's speed is chosen that leaves least of its torque, its
    friction fitted anew: of the torque as measured, for a turn is over before a low-pass sees it. The speed lies between that which
    the joint gains from sample to sample, below which nothing would change, and half of its usual one, above which friction would
    be viscous. A joint that does not move keeps the usual value.

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
        parameter_set = with_needed_rests(ParameterSet.of(robot, standstill=speeds), [signals])
        base = base_parameters(parameter_set) if base is None else dataclasses.replace(base, parameter_set=parameter_set)
        estimate = least_squares(reduce(base, pieces(signals)))
        left, found = residuals(base, estimate.theta, signals), dict(zip(base.names, estimate.theta))
        for joint, j in moving.items():
            kept = left.moving[:, j]
            qd = signals.qd[kept, j]
            friction = left.raw[kept, j] + found[f"{joint}.coulomb"] * smooth_step(qd, speeds[joint])
            speeds[joint] = best_speed(qd, friction, least[j], most[j])
    return speeds


def best_speed(qd: np.ndarray, friction: np.ndarray, least: float, most: float) -> float:
    """The v between two speeds with which `a s(qd) + b qd + c`, s smoothed over v, comes closest to a friction (N,)."""
    X = np.column_stack([qd, qd, np.ones(len(qd))])

    def left(log_speed: float) -> float:
        X[:, 0] = smooth_step(qd, np.exp(log_speed))
        b = X.T @ friction
        return float(-b @ np.linalg.lstsq(X.T @ X, b, rcond=None)[0])

    tried = np.linspace(np.log(least), np.log(most), STANDSTILL_TRIED)
    k = int(np.argmin([left(x) for x in tried]))
    around = tried[max(k - 1, 0)], tried[min(k + 1, STANDSTILL_TRIED - 1)]
    return float(np.exp(fminbound(left, *around, xtol=1e-3)))
