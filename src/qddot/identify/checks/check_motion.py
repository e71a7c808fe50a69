"""Checks of the motion behind a fit: too little of it, parameters that nothing tells apart, intervals that say too much."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.identify.checks.explain import explanations
from qddot.identify.checks.halves import unpredicted
from qddot.identify.checks.positive import never_negative
from qddot.identify.checks.verdict import Concern, listed, percent
from qddot.identify.regression.base import Base, random_motions
from qddot.identify.regression.estimators import Estimate, conditioned, stacked
from qddot.identify.regression.motion_summary import MotionSummary
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.residuals import Errors, rms, structure
from qddot.thresholds import (
    BEST_CONDITION,
    BLOCK_MEMORY,
    CHANCE_COLOUR,
    COLOUR,
    CONDITION,
    FEWEST_BLOCKS,
    MOVES,
    POSTURES,
    ROUNDED_MATTERS,
    SLIDES,
    TORQUE_ROUNDING,
    UNCERTAIN,
    WEAKEST_PART,
)


def unidentifiable(base: Base) -> list[Concern]:
    """Parameters that the user singled out (others are fixed or tied) but that no motion shows by themselves."""
    parameter_set = base.parameter_set
    singled_out = len(parameter_set.T) - len(parameter_set.names) > len(parameter_set.dropped)
    if not singled_out or base.rank == len(parameter_set.names):
        return []
    return [Concern("not identifiable", reason) for reason in explanations(base).values()]


def excitation(
    base: Base, estimate: Estimate, motion: MotionSummary | None, left: Errors | None, factors: Factors | None
) -> list[Concern]:
    """The motion does not tell the base parameters apart."""
    found = []
    if motion is not None:
        slides = {joint.name for joint in base.parameter_set.robot.model.joints if joint.kind == "prismatic"}
        reaches = dict(zip(base.parameter_set.robot.joint_names, motion.q.reach))
        for least, unit, joints in ((MOVES, "rad", reaches.keys() - slides), (SLIDES, "m", reaches.keys() & slides)):
            still = [name for name, reach in reaches.items() if name in joints and reach < least]
            if still:
                found.append(Concern("joint still", f"{listed(still)} moved by less than {least} {unit}", joints=tuple(still)))
        share, missed = 1.0, 0.0
        if left is not None:
            share = float(np.max(motion.noise / np.where(left.rms > 0, left.rms, np.inf)))
            missed = float(np.linalg.norm(structure(left.rms, motion.noise)) / np.linalg.norm(left.size))
        doubt, by_noise, worst_joint = uncertainty_elsewhere(base, estimate, motion, share)
        off = float(np.hypot(doubt, missed))
        if off > UNCERTAIN:
            text = f"torques in postures all over the workspace, at the log's speeds, would be off by {percent(off)} (at most "
            text += f"{UNCERTAIN:.0%}): by {percent(doubt)} since parameters are uncertain (worst at {worst_joint}; with noise "
            text += f"alone it would be {percent(by_noise, 1)}), by {percent(missed)} since the model misses something: "
            found.append(Concern("unknown elsewhere", text + described(base, motion)))
    if motion is not None and left is not None and factors is not None:
        off = unpredicted(estimate, factors, left.ends) / float(np.linalg.norm(left.size))
        if off > max(UNCERTAIN, left.relative):  # where more remains, the model is at fault rather than the motion
            size = f"{off:.0%} of the torques" if off < 1 else "more than the torques themselves"
            text = f"with parameters of one half of the log, {size} of the other half would be missed (at most {UNCERTAIN:.0%}), "
            text += (
                f"beyond the {left.relative:.1%} that remain of the whole: it is too short for so many parameters, or its halves "
            )
            found.append(Concern("halves disagree", f"{text}move too differently: {described(base, motion)}"))
    if motion is not None and estimate.known.sum() < estimate.by_chance:
        text = f"only {estimate.known.sum()} of {base.rank} parameters are known to a factor of two, where chance alone would make "
        text += f"{estimate.by_chance} seem so if nothing were known: {described(base, motion)}"
        found.append(Concern("known by chance", text))
    if estimate.condition > CONDITION and factors is not None and left is not None and equally_weighted(factors) < CONDITION:
        text = f"residuals differ so much between joints ({left.rms.min():.1g} to {left.rms.max():.1g} N m) that those with small "
        text += "ones decide alone, and they do not tell parameters apart "
        text += f"(condition number {estimate.condition:.3g}): is this the right robot?"
        found.append(Concern("unequal joints", text))
    elif estimate.condition > CONDITION:
        why = f"; {described(base, motion)}" if motion is not None else ""
        found.append(
            Concern(
                "ill-conditioned",
                f"the condition number of the scaled regressor is {estimate.condition:.3g} (at most {CONDITION:g}): in this motion "
                f"{alike(base, estimate)}{why}. {remedy(base)}",
            )
        )
    return found


def alike(base: Base, estimate: Estimate) -> str:
    """Which columns the motion does not tell apart, or does not show at all."""
    worst = np.argsort(-np.abs(estimate.weakest))[:4]
    names = [base.names[j] for j in worst if abs(estimate.weakest[j]) > WEAKEST_PART]
    if len(names) == 1:
        return f"{names[0]} does not show"
    return f"the columns of {listed(names)} are nearly dependent"


def equally_weighted(factors: Factors) -> float:
    """Condition number of the regressor if all joints' torques were equally noisy."""
    X, _ = stacked(factors.base, factors.columns, factors.merged(range(len(factors.R))), np.ones(len(factors.columns)))
    return conditioned(X, factors.base.shown)[0]


def uncertainty_elsewhere(base: Base, estimate: Estimate, motion: MotionSummary, noise: float) -> tuple[float, float, str]:
    """Standard deviation of predicted torques relative to the torques: anywhere within the joint limits, with speeds and
    accelerations such as the log has. By blocks; if there were only white noise, which is this part of the residuals; and the joint
    where it is worst."""
    parameter_set = base.parameter_set
    q, qd, qdd = random_motions(parameter_set, POSTURES)
    qd, qdd = (x / rms(x) * size for x, size in ((qd, motion.qd_rms), (qdd, motion.qdd_rms)))
    Y = parameter_set.matrix(q, qd, qdd)[..., list(base.independent)]
    size = np.sum((Y @ estimate.theta) ** 2, axis=0)
    variance, classical = (np.einsum("njr,rs,njs->j", Y, S, Y) for S in (estimate.sandwich, estimate.classical))
    worst = int(np.argmax(variance / np.where(size > 0, size, 1.0)))
    doubt, by_noise = (float(np.sqrt(x.sum() / size.sum())) for x in (variance, classical * min(noise, 1.0) ** 2))
    return doubt, by_noise, parameter_set.robot.joint_names[worst]


def remedy(base: Base) -> str:
    if base.condition > BEST_CONDITION:
        return f"Random motions would not do better (condition number {base.condition:.3g}): fix one of them, or give it a prior"
    return (
        f"A longer and richer motion separates them (robot.excitation): random ones have a condition number of {base.condition:.3g}"
    )


def described(base: Base, motion: MotionSummary) -> str:
    """How little the arm moved, in words."""
    reach, speed, turns = motion.q.reach, motion.speed, motion.turns
    j = int(np.argmin(reach))
    names = base.parameter_set.robot.joint_names
    fewest = int(np.argmin(turns))
    return (
        f"in {motion.seconds:.3g} s, {len(names)} joints for {base.rank} parameters, {names[j]} moved through {reach[j]:.2g} rad "
        f"at up to {speed[j]:.2g} rad/s and {names[fewest]} turned back {turns[fewest]} times"
    )


def coloured(base: Base, estimate: Estimate, left: Errors | None) -> list[Concern]:
    """Residuals that are no noise: something is missing in the model. Intervals by blocks of time allow for that, as long as blocks
    know little of each other and there are enough of them."""
    found = []
    if estimate.memory > BLOCK_MEMORY or estimate.blocks / estimate.memory < FEWEST_BLOCKS:
        count = estimate.blocks / estimate.memory
        text = (
            f"the {estimate.blocks} blocks of time count for {count:.2g} (at least {FEWEST_BLOCKS}), and neighbours that err alike "
        )
        text += f"raise variances by a factor of {estimate.memory:.2g} (at most {BLOCK_MEMORY:g}): residuals "
        found.append(Concern("few blocks", f"{text}drift, or the log is too short for intervals one can trust"))
    if left is None:
        return found
    chance = CHANCE_COLOUR / np.sqrt(left.samples)  # what white noise may show in so few samples
    remembers = (np.abs(left.colour) > max(COLOUR, chance)) & (left.rms > TORQUE_ROUNDING * left.size)
    names = [name for name, some in zip(base.parameter_set.robot.joint_names, remembers) if some]
    if names:
        ratio = float(np.median(estimate.std / np.where(estimate.std_classical > 0, estimate.std_classical, 1.0)))
        most = np.abs(left.colour).max()
        text = f"those of {listed(names)} remember themselves (up to {most:.2f} after a period of the cut-off): the model misses "
        text += f"something there. Intervals allow for it: standard deviations by blocks are {ratio:.2g} times the classical ones"
        found.append(Concern("remembered", text, serious=False, joints=tuple(names)))
    return found


def negative(base: Base, estimate: Estimate, left: Errors | None) -> list[str]:
    """Names of parameters that cannot be negative and are, by more than their uncertainty and rounding."""
    rounding = 0.0 if left is None else TORQUE_ROUNDING * float(np.max(left.size, initial=0.0))
    bad = never_negative(base) & (estimate.intervals[:, 1] < -rounding)
    return [name for name, wrong in zip(base.names, bad) if wrong]


def impossible_rotors(base: Base, estimate: Estimate, left: Errors | None) -> list[str]:
    """Names of rotors that came out negative: where a log hardly shows them, they take in what the model lacks."""
    return [name for name in negative(base, estimate, left) if name.endswith(".armature")]


def impossible(base: Base, estimate: Estimate, left: Errors | None) -> list[Concern]:
    """Values that no arm can have, by more than their uncertainty and rounding: the model misses something, and they stand for
    that."""
    names = negative(base, estimate, left)
    if not names:
        return []
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    text = f"{', '.join(names[:5])}{more} came out negative, which no arm can be, by more than the uncertainty: not identified"
    return [Concern("impossible values", text, serious=False)]


def rounded(names: Sequence[str], resolution: np.ndarray, motion: MotionSummary) -> list[Concern]:
    """Positions that count in so large a unit (n,) that accelerations hold much of its noise."""
    cutoff, rate = motion.excerpt.cutoff, motion.samples / motion.seconds
    noise = resolution / np.sqrt(12) * (2 * np.pi * cutoff) ** 2 * np.sqrt(2 * cutoff / (5 * rate))
    share = noise / np.where(motion.qdd_rms > 0, motion.qdd_rms, np.inf)
    j = int(np.argmax(share))
    if share[j] < ROUNDED_MATTERS:
        return []
    text = (
        f"positions of {names[j]} come in steps of {resolution[j]:.2g} rad (m): that makes {share[j]:.0%} of its accelerations up "
    )
    return [Concern("rounded positions", f"{text}to {cutoff:.2g} Hz, and pulls parameters to one side. Record them finer")]


def blurred(base: Base) -> list[Concern]:
    """Joints that hardly did anything but rest."""
    joints = base.parameter_set.at_rest
    if not joints:
        return []
    text = f"{listed(joints)} hardly moved, so torques at rest count too: static friction blurs what they say, by up to as much as "
    return [Concern("rest", f"{text}it holds, and intervals do not know that", serious=False, joints=joints)]
