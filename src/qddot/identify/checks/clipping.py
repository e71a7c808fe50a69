"""Alternative of clipped torques: except for noise they stay at a level where the motion requires more.

A clipped torque falsifies every parameter, so the fit itself hardly shows the level. But parameters fitted to the samples below the
level are right. They predict what the motion requires (`asked`), and

    tau = min(max(asked, lowest), highest)

then leaves only noise, also in the samples that were left out. Constant friction is part of what is required, so it is not taken
for a level. (`logs/stops.py` counts torques that rest exactly, sample by sample.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from qddot.identify.checks.normal_equations import Left, fitted, least_noise, score
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.checks.verdict import listed
from qddot.identify.regression.residuals import rms
from qddot.thresholds import CLIPPED_SHARES, LEVELS_TRIED, MOST_OF_IT, STOP_PARTS, UNTOUCHED, WORTH_A_WORD


class Clipped(NamedTuple):
    """Levels at which torques are clipped, found with parameters of the samples below."""

    levels: np.ndarray  # lowest and highest torque of each joint (2, nv), N m; infinite where it is not clipped
    most: np.ndarray  # lowest and highest torque that the motion requires (2, nv), N m
    left: Left  # residuals with these levels


def clipping(trial: Trial) -> Iterator[Alternative]:
    """Torques of some joints that stay at a level where the motion requires more."""
    every, found = np.ones(trial.nv, bool), []
    for share in CLIPPED_SHARES:
        below = asked_for(trial, share, every)
        some = ~every if below is None else clipped_joints(trial, below)
        if some.any() and (closer := asked_for(trial, share, some)) is not None:
            found.append(closer)
    if not found:
        return
    best = min(found, key=lambda one: score(one.left))
    joints = np.flatnonzero(np.isfinite(best.levels).any(axis=0)).tolist()
    if joints:
        told = [
            f"that of {trial.names[j]} at {level:.4g} where the motion asks for up to {most:.4g}"
            for j in joints
            for level, most in zip(best.levels[:, j], best.most[:, j])
            if np.isfinite(level)
        ]
        text = f"torques stay at a level but for noise, {listed(told)}: the drive or the sensor could do no more"
        yield trial.told("at a level", text, best.left, *joints)


def clipped_joints(trial: Trial, found: Clipped) -> np.ndarray:
    """Mask of the joints (nv,) whose levels explain most of their residual."""
    return np.isfinite(found.levels).any(axis=0) & (found.left.noise**2 < (1 - MOST_OF_IT) * trial.noise**2)


def asked_for(trial: Trial, share: float, joints: np.ndarray) -> Clipped | None:
    """Fit without the samples in which the torque of one of these joints (nv,) is within its largest or smallest `share`, and find
    the levels that these joints do not exceed. None if kernels of those samples leave nothing."""
    tau = trial.motion.tau
    ends = np.quantile(tau, (share, 1 - share), axis=0)
    touched = trial.filtered(((tau < ends[0]) | (tau > ends[1])).astype(float))
    kept = (np.abs(touched) < UNTOUCHED) | ~joints
    if not kept.any():
        return None
    theta, left = fitted(trial.known.of_rows(kept), len(trial.given))
    asked = trial.regressor.torques(trial.whole, theta) + trial.known_torques
    errors = trial.filtered(tau - asked)
    levels = np.tile([[-np.inf], [np.inf]], trial.nv)
    for j in np.flatnonzero(joints).tolist():
        for k, s in enumerate((-1, 1)):
            beyond = s * tau[s * tau[:, j] > s * ends[k, j], j]
            level, lost = beyond_level(trial, j, s * errors[:, j], s * asked[:, j], beyond)
            levels[k, j], errors[:, j] = s * level, errors[:, j] - s * lost
    noise = np.maximum(rms(errors), least_noise(trial.known.G.sum(axis=0), len(errors)))
    return Clipped(levels, np.stack([asked.min(axis=0), asked.max(axis=0)]), left._replace(noise=noise))


def beyond_level(trial: Trial, j: int, errors: np.ndarray, asked: np.ndarray, largest: np.ndarray) -> tuple[float, np.ndarray]:
    """Find the level, among the `largest` torques, at which the required torque (N,) of joint j is clipped, in some tenths of the
    log or in all, with the smallest remaining errors (M,); and the torque lost by that, filtered (M,). Infinity and 0 if no level
    explains much."""
    if not len(largest):
        return np.inf, np.zeros_like(errors)
    levels = np.quantile(largest, np.linspace(0, 1, LEVELS_TRIED))
    lost = trial.filtered_of(j, np.minimum(levels - asked[:, None], 0.0))
    tenth = np.arange(len(errors)) * STOP_PARTS // len(errors)
    sums = [np.bincount(tenth, each) for each in (errors**2, *((errors[:, None] - lost) ** 2).T)]
    before, after = sums[0], np.minimum(sums[0], sums[1:])
    k = int(np.argmin(after.sum(axis=1)))
    if after[k].sum() > (1 - WORTH_A_WORD) * before.sum():
        return np.inf, np.zeros_like(errors)
    return float(levels[k]), np.where((after[k] < before)[tenth], lost[:, k], 0.0)
