"""Shortcomings of a model: for each joint the speeds, positions and times with larger residuals than elsewhere."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from qddot.identify.fit import Fit
from qddot.identify.regression.residuals import relative, residuals
from qddot.thresholds import FAILS_THERE, FAILURE_PARTS, FAILURE_SAMPLES, FAST_PART, MATTERS, SLOW_TIMES


class Shortcoming(NamedTuple):
    """Shortcoming of the model at one joint: its residual beyond noise, as a fraction of its torque, and where that is largest, in
    words."""

    joint: str
    share: float
    places: tuple[str, ...]

    def __str__(self) -> str:
        head = f"{self.joint}: {self.share:.1%} of its torque remains beyond noise"
        return f"{head}; {'; '.join(self.places)}" if self.places else f"{head}, everywhere alike"


def shortcomings(fit: Fit) -> list[Shortcoming]:
    """Joints with a residual beyond noise above a hundredth of the torque, in the log for validation if there is one."""
    log, robot = fit.judged, fit.parameter_set.robot
    left = residuals(fit.base, fit.estimate.theta, log)
    t, q, qd = (log.decimated(x) for x in (log.elapsed, log.q, log.qd))
    noise, found = log.noise, []
    for j, joint in enumerate(robot.joint_names):
        moving = left.filtered_moving[:, j]
        if not moving.any():
            continue
        error, torque = left.filtered[moving, j], left.filtered_measured[moving, j]
        size = float(np.sqrt(np.mean(torque**2)))
        beyond = np.sqrt(max(float(np.mean(error**2)) - noise[j] ** 2, 0.0))
        if beyond < MATTERS * size:
            continue
        places, speed = [], np.abs(qd[moving, j])
        slow, fast = SLOW_TIMES * max(float(fit.parameter_set.step_speeds[j]), 1e-3), FAST_PART * float(speed.max())
        if (ratio := rms_ratio(error, speed < slow)) > FAILS_THERE:
            places.append(f"{ratio:.1f} times as much below {slow:.2g} rad/s (m/s): friction about rest that the model lacks")
        elif (ratio := rms_ratio(error, speed > fast)) > FAILS_THERE:
            places.append(f"{ratio:.1f} times as much above {fast:.2g} rad/s (m/s): friction at speed, or a delay")
        if (worst := worst_part(error, q[moving, j])) is not None:
            ratio, a, b = worst
            places.append(f"{ratio:.1f} times as much from q = {a:.2f} to {b:.2f}: a force that depends on the position")
        if (worst := worst_part(error, t[moving])) is not None:
            ratio, a, b = worst
            places.append(f"{ratio:.1f} times as much from t = {a:.4g} to {b:.4g} s: something that happened then")
        found.append(Shortcoming(joint, relative(np.array([beyond]), np.array([size])), tuple(places)))
    return found


def rms_ratio(error: np.ndarray, here: np.ndarray) -> float:
    """Rms of the errors `here` over that of all; 0 if these are all, or fewer than a twentieth."""
    if here.mean() < FAILURE_SAMPLES or here.all():
        return 0.0
    return float(np.sqrt(np.mean(error[here] ** 2) / np.mean(error**2)))


def worst_part(error: np.ndarray, x: np.ndarray) -> tuple[float, float, float] | None:
    """(ratio, from, to) of the part of x's range with the largest errors; None if no part stands out."""
    edges = np.quantile(x, np.linspace(0, 1, FAILURE_PARTS + 1))
    found = [(rms_ratio(error, (x >= a) & (x <= b)), float(a), float(b)) for a, b in itertools.pairwise(edges)]
    worst = max(found)
    return worst if worst[0] > FAILS_THERE else None
