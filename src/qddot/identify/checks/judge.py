"""The verdict on a fit: all checks in one call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from qddot.identify.checks.alternatives import FOR_A_WHILE, Alternatives
from qddot.identify.checks.check_motion import (
    blurred,
    coloured,
    excitation,
    impossible,
    misaligned,
    noise_of_steps,
    poor,
    rounded,
    unidentifiable,
)
from qddot.identify.checks.check_records import disagreeing, validated
from qddot.identify.checks.check_torques import clipped, copied, dead, driving, explained_otherwise, unexplained, units, upside_down
from qddot.identify.checks.verdict import Concern, Verdict
from qddot.identify.regression.base import Base
from qddot.identify.regression.estimators import Estimate
from qddot.identify.regression.motion_summary import MotionSummary
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.residuals import Errors
from qddot.logs.audit import Audit


@dataclass(frozen=True, eq=False)
class Unseen:
    """A log kept for validation: the residuals of the parameters on it, and its own factors."""

    left: Errors
    factors: Factors


def verdict(
    base: Base,
    estimate: Estimate,
    motion: MotionSummary | None = None,
    left: Errors | None = None,
    audit: Audit | None = None,
    factors: Factors | None = None,
    unseen: Unseen | None = None,
    others: Alternatives | None = None,
) -> Verdict:
    """Run all checks for which there is enough given; `others`: alternatives to the fit, if they were tried before.

    Serious concerns come first, in this order: faults seen in the samples themselves (positions in coarse steps only if these may
    leave as much), explanations of torques that the model does not explain, torques in another unit (before explanations that hold
    for a while), joints that never move, torques that nothing explains, other insufficient motion, and concerns that rest on
    parameters: friction that drives, recordings that disagree.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, least_squares, pieces, prepare, reduce, verdict
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> estimate = least_squares(reduce(base, pieces(signals)))
    >>> verdict(base, estimate).identified
    True
    """
    names = base.parameter_set.robot.joint_names
    found, silent = [*unidentifiable(base)], []
    moved = excitation(base, estimate, motion, left, factors)
    still = [one for one in moved if one.code == "joint still"]
    if audit is not None:
        found += [Concern(f.code if f.serious else "log", f.message, f.serious) for f in audit.warnings]
    if left is not None and motion is not None:
        silent = [*dead(names, motion.tau), *copied(names, left, motion)]
        found += silent + clipped(names, audit.recording if audit else None)
        fit = base, estimate.theta, motion.excerpt
        others = others if others is not None and others.are_of(*fit) else Alternatives(*fit)
        is_poor = poor(estimate, factors)
        told = [] if silent else explained_otherwise(others, estimate, left, motion.noise, is_poor)
        weighed = units(base, estimate, motion.excerpt)
        told = weighed + told if any(one.code in FOR_A_WHILE for one in told) else told + weighed  # which changes no unit
        resolution = audit.recording.continuity.resolution if audit else np.zeros(len(names))
        coarse = rounded(names, resolution, motion)
        by_steps = left.relative < noise_of_steps(resolution, motion).max()  # then noisy accelerations may leave it all
        found += [*coarse, *told] if by_steps else [*told, *coarse]
        found += misaligned(motion.excerpt)
        found += still + unexplained(names, left, motion, is_poor)  # what a joint that stands still holds is anybody's guess
    found += [one for one in moved if one not in found]
    if left is not None and motion is not None and others is not None:
        found += [] if silent else driving(estimate, others.trial, left)
        found += upside_down(base, estimate, motion.excerpt)
    if factors is not None and left is not None:
        found += disagreeing(estimate, factors, left.ends)
    if unseen is not None and left is not None and factors is not None:
        found += validated(names, estimate, factors, left, unseen.factors, unseen.left)
    found += [*coloured(base, estimate, left), *impossible(base, estimate, left), *blurred(base)]
    return Verdict(tuple(sorted(found, key=lambda concern: not concern.serious)))
