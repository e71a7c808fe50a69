"""Checks of the motion behind a fit: too little of it, parameters that cannot be told apart, intervals that are too narrow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.identify.checks.explain import explanations
from qddot.identify.checks.halves import unpredicted
from qddot.identify.checks.positive import never_negative
from qddot.identify.checks.verdict import Concern, listed, percent
from qddot.identify.regression.base import Base, random_motions
from qddot.identify.regression.estimators import Estimate, conditioned, equations
from qddot.identify.regression.motion_summary import MotionSummary
from qddot.identify.regression.reduction import Factors
from qddot.identify.regression.residuals import Errors, rms, structure
from qddot.identify.regression.signals import Signals
from qddot.identify.scaling import nonzero
from qddot.thresholds import (
    BEST_CONDITION,
    BLOCK_MEMORY,
    CHANCE_COLOUR,
    COLOUR,
    CONDITION,
    FEWEST_BLOCKS,
    MOST_OF_IT,
    MOVES,
    POSTURES,
    ROUNDED_MATTERS,
    SLIDES,
    TORQUE_ROUNDING,
    UNCERTAIN,
    WEAKEST_PART,
    WITHIN_A_CYCLE,
)


def unidentifiable(base: Base) -> list[Concern]:
    """Report parameters that the user singled out, by fixing or tying others, but that no motion shows by themselves."""
    parameter_set = base.parameter_set
    singled_out = len(parameter_set.T) - len(parameter_set.names) > len(parameter_set.dropped)
    if not singled_out or base.rank == len(parameter_set.names):
        return []
    return [Concern("not identifiable", reason) for reason in explanations(base).values()]


def misaligned(signals: Signals) -> list[Concern]:
    """Report torques that were logged with the positions of another cycle, though positions of their own time were taken."""
    samples = signals.delay * signals.rate * signals.thinned
    if abs(samples) < WITHIN_A_CYCLE:
        return []
    which = "later" if samples > 0 else "earlier"
    text = (
        f"torques came {abs(1e3 * signals.delay):.2g} ms {which} than positions, by {abs(samples):.2g} of a sample: positions of "
    )
    return [Concern("delay", f"{text}their own time were taken, but the logger pairs those of different cycles", serious=False)]


def excitation(
    base: Base, estimate: Estimate, motion: MotionSummary | None, left: Errors | None, factors: Factors | None
) -> list[Concern]:
    """Report motion that does not tell the base parameters apart."""
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
        each = unpredicted(estimate, factors, left.ends)
        off = float(np.linalg.norm(each) / np.linalg.norm(left.size))
        if off > max(UNCERTAIN, left.relative):  # a larger residual means that the model is at fault rather than the motion
            size = f"{off:.0%} of the torques" if off < 1 else "more than the torques themselves"
            worst = int(np.argmax(each))
            rests = f", which rests for {factors.left_out[worst]:.0%} of the log" if factors.left_out[worst] > MOST_OF_IT else ""
            where = f", worst at {factors.base.parameter_set.robot.joint_names[worst]}{rests}" if len(each) > 1 else ""
            text = f"with parameters of one half of the log, {size} of the other half would be missed (at most {UNCERTAIN:.0%}"
            text += (
                f"{where}), beyond the {left.relative:.1%} that remain of the whole: it is too short for so many parameters, or "
            )
            found.append(Concern("halves disagree", f"{text}its halves move too differently: {described(base, motion)}"))
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
        text = f"the condition number of the scaled regressor is {estimate.condition:.3g} (at most {CONDITION:g}): in this motion "
        found.append(Concern("ill-conditioned", f"{text}{alike(base, estimate)}{why}. {remedy(base)}"))
    return found


def poor(estimate: Estimate, factors: Factors | None) -> bool:
    """True if a log is so short, or its motion so poor, that parameters are open: what they leave then tells little."""
    if estimate.blocks < FEWEST_BLOCKS:
        return True
    return estimate.condition > CONDITION and (factors is None or equally_weighted(factors) > CONDITION)


def alike(base: Base, estimate: Estimate) -> str:
    """Name the columns that the motion does not tell apart, or does not show at all."""
    worst = np.argsort(-np.abs(estimate.weakest))[:4]
    names = [base.names[j] for j in worst if abs(estimate.weakest[j]) > WEAKEST_PART]
    if len(names) == 1:
        return f"{names[0]} does not show"
    return f"the columns of {listed(names)} are nearly dependent"


def equally_weighted(factors: Factors) -> float:
    """Condition number of the regressor with all joints' torques weighted alike."""
    return conditioned(equations(factors, np.ones(len(factors.columns)))[0], factors.base.shown)[0]


def uncertainty_elsewhere(base: Base, estimate: Estimate, motion: MotionSummary, noise: float) -> tuple[float, float, str]:
    """Relative standard deviation of torques predicted anywhere within the joint limits, at speeds and accelerations like those of
    the log: by blocks; with white noise alone, whose fraction of the residuals is `noise`; and the joint where it is largest."""
    parameter_set = base.parameter_set
    q, qd, qdd = random_motions(parameter_set, POSTURES)
    qd, qdd = (x / rms(x) * size for x, size in ((qd, motion.qd_rms), (qdd, motion.qdd_rms)))
    Y = parameter_set.matrix(q, qd, qdd)[..., list(base.independent)]
    size = np.sum((Y @ estimate.theta) ** 2, axis=0)
    variance, classical = (np.einsum("njr,rs,njs->j", Y, S, Y) for S in (estimate.sandwich, estimate.classical))
    worst = int(np.argmax(variance / nonzero(size)))
    doubt, by_noise = (float(np.sqrt(x.sum() / size.sum())) for x in (variance, classical * min(noise, 1.0) ** 2))
    return doubt, by_noise, parameter_set.robot.joint_names[worst]


def remedy(base: Base) -> str:
    """Advise a richer motion, or a prior where no motion would help."""
    condition = f"{base.condition:.3g}"
    if base.condition > BEST_CONDITION:
        return f"Random motions would not do better (condition number {condition}): fix one of them, or give it a prior"
    return f"A longer and richer motion separates them (robot.excitation): random ones have a condition number of {condition}"


def described(base: Base, motion: MotionSummary) -> str:
    """Describe the motion by the joints that moved and turned least."""
    reach, speed, turns, names = motion.q.reach, motion.speed, motion.turns, base.parameter_set.robot.joint_names
    j, fewest = int(np.argmin(reach)), int(np.argmin(turns))
    return (
        f"in {motion.seconds:.3g} s, {len(names)} joints for {base.rank} parameters, {names[j]} moved through {reach[j]:.2g} rad "
        f"at up to {speed[j]:.2g} rad/s and {names[fewest]} turned back {turns[fewest]} times"
    )


def coloured(base: Base, estimate: Estimate, left: Errors | None) -> list[Concern]:
    """Report residuals that are not white noise, so that the model lacks something. Intervals by blocks of time allow for that, as
    long as there are enough blocks and they are hardly correlated."""
    found = []
    if estimate.memory > BLOCK_MEMORY or estimate.blocks / estimate.memory < FEWEST_BLOCKS:
        text = f"the {estimate.blocks} blocks of time count for {estimate.blocks / estimate.memory:.2g} (at least {FEWEST_BLOCKS})"
        text += f", and neighbours that err alike raise variances by a factor of {estimate.memory:.2g} (at most {BLOCK_MEMORY:g}): "
        found.append(Concern("few blocks", f"{text}residuals drift, or the log is too short for intervals one can trust"))
    if left is None:
        return found
    chance = CHANCE_COLOUR / np.sqrt(left.samples)  # autocorrelation that white noise may have by chance
    correlated = (np.abs(left.colour) > max(COLOUR, chance)) & (left.rms > TORQUE_ROUNDING * left.size)
    names = [name for name, some in zip(base.parameter_set.robot.joint_names, correlated) if some]
    if names:
        ratio = float(np.median(estimate.std / nonzero(estimate.std_classical)))
        most = np.abs(left.colour).max()
        text = f"those of {listed(names)} are autocorrelated (up to {most:.2f} after a period of the cut-off): the model misses "
        text += f"something there. Intervals allow for it: standard deviations by blocks are {ratio:.2g} times the classical ones"
        found.append(Concern("remembered", text, serious=False, joints=tuple(names)))
    return found


def negative(base: Base, estimate: Estimate, left: Errors | None) -> list[str]:
    """Names of parameters that came out negative, by more than their uncertainty and rounding, though they cannot be."""
    rounding = 0.0 if left is None else TORQUE_ROUNDING * float(np.max(left.size, initial=0.0))
    bad = never_negative(base) & (estimate.intervals[:, 1] < -rounding)
    return [name for name, wrong in zip(base.names, bad) if wrong]


def impossible_rotors(base: Base, estimate: Estimate, left: Errors | None) -> list[str]:
    """Names of rotor inertias that came out negative: if a log hardly shows them, they absorb errors of the model."""
    return [name for name in negative(base, estimate, left) if name.endswith(".armature")]


def impossible(base: Base, estimate: Estimate, left: Errors | None) -> list[Concern]:
    """Report values that no arm can have, by more than their uncertainty and rounding: they absorb errors of the model."""
    names = negative(base, estimate, left)
    if not names:
        return []
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    text = f"{', '.join(names[:5])}{more} came out negative, which no arm can be, by more than the uncertainty: not identified"
    return [Concern("impossible values", text, serious=False)]


def noise_of_steps(resolution: np.ndarray, motion: MotionSummary) -> np.ndarray:
    """Fraction (n,) of each joint's accelerations that positions in steps of `resolution` (n,), rad or m, add as noise."""
    cutoff, rate = motion.excerpt.cutoff, motion.samples / motion.seconds
    noise = resolution / np.sqrt(12) * (2 * np.pi * cutoff) ** 2 * np.sqrt(2 * cutoff / (5 * rate))
    return noise / np.where(motion.qdd_rms > 0, motion.qdd_rms, np.inf)


def rounded(names: Sequence[str], resolution: np.ndarray, motion: MotionSummary) -> list[Concern]:
    """Report positions with so coarse a `resolution` (n,), rad or m, that accelerations are noisy."""
    share = noise_of_steps(resolution, motion)
    j = int(np.argmax(share))
    if share[j] < ROUNDED_MATTERS:
        return []
    text = f"positions of {names[j]} come in steps of {resolution[j]:.2g} rad (m): that makes {share[j]:.0%} of its accelerations "
    text += f"up to {motion.excerpt.cutoff:.2g} Hz, and pulls parameters to one side. Record them finer"
    return [Concern("rounded positions", text)]


def blurred(base: Base) -> list[Concern]:
    """Report joints that hardly moved, so that their torques at rest had to be used."""
    joints = base.parameter_set.at_rest
    if not joints:
        return []
    text = f"{listed(joints)} hardly moved, so torques at rest count too: static friction blurs what they say, by up to as much as "
    return [Concern("rest", f"{text}it holds, and intervals do not know that", serious=False, joints=joints)]
