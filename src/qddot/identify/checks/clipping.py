"""Torques that stay at a level but for noise, where the motion asks for more: the drive or the sensor could do no more.

A torque that is clipped pulls every parameter, so that what the fit predicts says little about where. Parameters of the samples
below the level are right, whatever else is left out with those above it: they say what the motion asked for, and

    tau = min(max(asked, lowest), highest)

then leaves nothing but noise, of samples that they have never seen. Friction that is the same all along is asked for, and is no
level. (`logs/stops.py` counts torques that rest exactly, sample by sample.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from qddot.identify.checks.normal_equations import Left, fitted, least_noise
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.checks.verdict import listed
from qddot.identify.regression.residuals import rms
from qddot.thresholds import CLIPPED_SHARES, LEVELS_TRIED, MOST_OF_IT, STOP_PARTS, UNTOUCHED, WORTH_A_WORD


class Clipped(NamedTuple):
    """Torques as parameters of the samples below have them."""

    levels: np.ndarray  # lowest and highest torque of each joint (2, nv), N m; infinite where it has none
    most: np.ndarray  # the lowest and the highest that the motion asks for (2, nv)
    left: Left  # what that leaves

    @property
    def score(self) -> float:
        return float(np.sum(np.log(self.left.noise)))


def clipping(trial: Trial) -> Iterator[Alternative]:
    """Torques of some joints that stay at a level where the motion asks for more."""
    every, found = np.ones(trial.nv, bool), []
    for share in CLIPPED_SHARES:
        some = clipped_joints(trial, asked_for(trial, share, every))
        if some.any():
            found.append(asked_for(trial, share, some))
    if not found:
        return
    best = min(found, key=lambda one: one.score)
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
    """Joints (nv,) whose levels explain most of what is unexplained of them."""
    return np.isfinite(found.levels).any(axis=0) & (found.left.noise**2 < (1 - MOST_OF_IT) * trial.noise**2)


def asked_for(trial: Trial, share: float, joints: np.ndarray) -> Clipped:
    """Parameters of all samples but those in which torques of some joints (nv,) are among the largest or smallest of them, and
    levels beyond which these joints do not go."""
    tau = trial.motion.tau
    ends = np.quantile(tau, (share, 1 - share), axis=0)
    touched = trial.filtered(((tau < ends[0]) | (tau > ends[1])).astype(float))
    kept = (np.abs(touched) < UNTOUCHED) | ~joints
    theta, left = fitted(trial.known.of_rows(kept), len(trial.given))
    asked = trial.with_parameters(trial.whole, theta) + trial.known_torques
    errors = trial.filtered(tau - asked) * trial.moving
    levels = np.tile([[-np.inf], [np.inf]], trial.nv)
    for j in np.flatnonzero(joints).tolist():
        for k, s in enumerate((-1, 1)):
            beyond = s * tau[s * tau[:, j] > s * ends[k, j], j]
            level, lost = beyond_level(trial, s * errors[:, j], s * asked[:, j], beyond)
            levels[k, j], errors[:, j] = s * level, errors[:, j] - s * lost * trial.moving[:, j]
    noise = np.maximum(rms(errors), least_noise(trial.known.G.sum(axis=0), len(errors)))
    return Clipped(levels, np.stack([asked.min(axis=0), asked.max(axis=0)]), left._replace(noise=noise))


def beyond_level(trial: Trial, errors: np.ndarray, asked: np.ndarray, largest: np.ndarray) -> tuple[float, np.ndarray]:
    """The level among the largest torques beyond which nothing comes of what is asked for (N,), in some tenths of the log or in
    all, as errors (M,) say; and what is lost by that, filtered (M,). Infinite, and nothing, where it explains next to nothing."""
    if not len(largest):
        return np.inf, np.zeros_like(errors)
    levels = np.quantile(largest, np.linspace(0, 1, LEVELS_TRIED))
    lost = trial.filtered(np.minimum(levels - asked[:, None], 0.0))
    tenth = np.arange(len(errors)) * STOP_PARTS // len(errors)
    sums = [np.bincount(tenth, each) for each in (errors**2, *((errors[:, None] - lost) ** 2).T)]
    before, after = sums[0], np.minimum(sums[0], sums[1:])
    k = int(np.argmin(after.sum(axis=1)))
    if after[k].sum() > (1 - WORTH_A_WORD) * before.sum():
        return np.inf, np.zeros_like(errors)
    return float(levels[k]), np.where((after[k] < before)[tenth], lost[:, k], 0.0)
