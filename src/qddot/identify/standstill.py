"""At which speed does a joint stand still? The width of the step that Coulomb friction takes when a joint turns back.

Drives differ in it by a factor of ten (play, grease, the low-pass behind a torque sensor), and a log with a few turns shows it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from qddot.identify.base import base_parameters
from qddot.identify.columns import STANDSTILL, Columns
from qddot.identify.estimators import least_squares
from qddot.identify.pieces import pieces
from qddot.identify.reduction import reduce
from qddot.identify.residuals import residuals, rms
from qddot.identify.signals import Signals
from qddot.robot import Robot

ROUNDS = 2  # of parameters and speeds in turn: a third would change speeds by a few per cent
TRIED = 13  # speeds of a joint, in equal ratios


def standstill_speeds(robot: Robot, signals: Signals) -> dict[str, float]:
    """Joint -> speed at which its friction reaches tanh(1) of its value, as the log shows it; for `Columns.of(standstill=...)`.

    By turns, all parameters are fitted with these speeds, and each joint's speed is chosen that leaves least of its torque, its
    friction fitted anew. The speed lies between that which the joint gains from sample to sample, below which nothing would change,
    and half of its usual one, above which friction would be viscous. A joint that does not move keeps the usual value.
    """
    least, most = rms(signals.qdd) / signals.rate, rms(signals.qd) / 2
    moving = {joint: j for j, joint in enumerate(robot.joint_names) if 0 < least[j] < most[j]}
    tried = {joint: np.geomspace(least[j], most[j], TRIED) for joint, j in moving.items()}
    steps = {joint: signals.decimated(np.tanh(signals.qd[:, j, None] / tried[joint])) for joint, j in moving.items()}
    speeds, base = dict.fromkeys(robot.joint_names, STANDSTILL), None
    for _ in range(ROUNDS):
        columns = Columns.of(robot, standstill=speeds)
        base = base_parameters(columns) if base is None else dataclasses.replace(base, columns=columns)
        estimate = least_squares(reduce(base, pieces(signals)))
        left, found = residuals(base, estimate.theta, signals).filtered, dict(zip(base.names, estimate.theta))
        for joint, j in moving.items():
            smooth = signals.decimated(np.stack([signals.qd[:, j], np.tanh(signals.qd[:, j] / speeds[joint])], axis=1))
            friction = left[:, j] + found[f"{joint}.coulomb"] * smooth[:, 1]
            others = np.column_stack([smooth[:, 0], np.ones(len(smooth))])
            speeds[joint] = best_of(tried[joint], [unexplained(friction, step, others) for step in steps[joint].T])
    return speeds


def unexplained(y: np.ndarray, column: np.ndarray, others: np.ndarray) -> float:
    """Squares of what a column and others leave of y."""
    X = np.column_stack([column, others])
    return float(np.sum((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2))


def best_of(tried: np.ndarray, cost: list[float]) -> float:
    """Where a parabola through the least cost and its neighbours, over the logarithm, is least."""
    k = int(np.argmin(cost))
    if k in (0, len(tried) - 1):
        return float(tried[k])
    before, here, after = cost[k - 1 : k + 2]
    ratio, bend = tried[k + 1] / tried[k], before - 2 * here + after
    return float(tried[k] * ratio ** (0.5 * (before - after) / bend)) if bend > 0 else float(tried[k])
