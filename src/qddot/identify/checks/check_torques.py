"""Checks of the torques behind a fit: channels that are dead or clipped, torques that the model does not explain, and
what would.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qddot.identify.checks.alternatives import FOR_A_WHILE, Alternatives
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.checks.verdict import Concern, listed, percent
from qddot.identify.regression.base import Base
from qddot.identify.regression.drive_terms import is_friction
from qddot.identify.regression.estimators import Estimate
from qddot.identify.regression.excerpt import few
from qddot.identify.regression.motion_summary import MotionSummary
from qddot.identify.regression.residuals import Errors, rms, structure
from qddot.identify.regression.signals import Signals
from qddot.logs.log_summary import LogSummary, Range
from qddot.thresholds import (
    CLIPPED,
    MATTERS,
    MISSED,
    MOST_OF_IT,
    NEARLY_ALL,
    NO_WEIGHT,
    SMALL_FAULT,
    TRACE,
    UNEXPLAINED,
    WEIGHT_FACTOR,
    WEIGHT_OF_NO_ARM,
    WEIGHT_VARIES,
    WORTH_A_WORD,
)


def dead(names: Sequence[str], tau: Range) -> list[Concern]:
    """Torques that never change."""
    still = [name for name, reach in zip(names, tau.reach) if reach == 0]
    text = f"the torque of {listed(still)} is the same throughout" if still else ""
    return [Concern("dead channel", text, joints=tuple(still))] if still else []


def clipped(names: Sequence[str], recording: LogSummary | None) -> list[Concern]:
    """Torques that rest at the largest value: what the arm needed beyond is not in the log. Shares are of one end of one joint that
    rests there for STUCK_SAMPLES in a row, once at least. (`clipping.py` finds those that rest there but for noise.)"""
    if recording is None:
        return []
    found, shares = [], recording.stops.samples / recording.samples
    for j, name in enumerate(names):
        for k, end in enumerate(("largest", "smallest")):
            if shares[k, j] > CLIPPED:
                text = f"the torque of {name} rests at its {end} value {recording.stops.level[k, j]:.4g} in {shares[k, j]:.1%} of "
                text += "the samples: the drive or the sensor could do no more"
                found.append(Concern("at a limit", text, joints=(name,)))
    return found


def unexplained(names: Sequence[str], left: Errors, motion: MotionSummary) -> list[Concern]:
    """A model that does not fit: all torques together, filtered or as measured, more of them beyond their noise than arms leave
    that can be predicted, or those of a joint by itself."""
    found, floor = [], motion.noise
    raw = unexplained_raw(left, motion)
    if raw > UNEXPLAINED >= left.relative:
        text = f"{percent(raw)} of the torques as measured remain beyond their noise, though only {left.relative:.1%} of the "
        text += f"filtered ones: much happens above the cut-off of {motion.excerpt.cutoff:.3g} Hz, where the model does not hold"
        found.append(Concern("above the cut-off", text))
    missed = float(np.linalg.norm(structure(left.rms, floor)) / np.linalg.norm(left.size))
    if left.relative > UNEXPLAINED:
        text = f"{percent(left.relative)} of the filtered torques remain: are units, signs and the order of joints right?"
        found.append(Concern("all torques", text))
    elif missed > MISSED:
        noise = float(np.linalg.norm(floor) / np.linalg.norm(left.size))
        text = f"{percent(left.relative)} of the filtered torques remain, where noise would leave {percent(noise)}: predictions "
        text += f"miss as much (at most {MISSED:.0%}). Something acts on the arm, or is done to its torques, that no model here has"
        found.append(Concern("beyond noise", text))
    for j in np.flatnonzero((left.size > 0) & (structure(left.rms, floor) > UNEXPLAINED * left.size)).tolist():
        share = left.rms[j] / left.size[j]
        remains = f"{share:.0%} remain" if share < 1 else "all remain"
        text = f"{names[j]} shows {left.size[j]:.2g} N m, of which {remains}, where noise would leave {floor[j]:.1g} N m: "
        wrong = share**2 > MOST_OF_IT
        text += "is this the torque of that joint, in the right unit?" if wrong else "something acts on it that no model here has"
        found.append(Concern("torque of a joint", text, joints=(names[j],)))
    return found


def unexplained_raw(left: Errors, motion: MotionSummary) -> float:
    """Part of the torques as measured that remains and is no white noise."""
    white = motion.noise / np.linalg.norm(motion.excerpt.low_pass.smooth)
    size = np.linalg.norm(left.rms_raw) / left.relative_raw if left.relative_raw > 0 else np.inf
    return float(np.linalg.norm(structure(left.rms_raw, white)) / size)


def driving(estimate: Estimate, trial: Trial, left: Errors) -> list[Concern]:
    """Friction that would drive a joint instead of braking it, all its laws together, by more than its uncertainty and by more than
    is unexplained."""
    found, base = [], trial.base
    slides = np.array([is_friction(name) for name in base.names])
    for j, (name, rows, here) in enumerate(zip(trial.names, trial.each(trial.whole), trial.of.columns)):
        columns = rows[:, :-1] * slides[here]
        braking = np.zeros(base.rank)
        braking[here] = np.mean(columns * trial.motion.qd[:, j : j + 1], axis=0)  # power, W
        power, deviation = float(braking @ estimate.theta), float(np.sqrt(braking @ estimate.sandwich @ braking))
        if power < -float(estimate.reach.max()) * deviation and rms(columns @ estimate.theta[here]) > left.rms[j]:
            text = f"friction of {name} came out driving it, with {-power:.2g} +- {deviation:.1g} W"
            found.append(Concern("driving friction", f"{text}: its torques or positions have the other sign", joints=(name,)))
    if len(found) == len(trial.names) > 1:
        if trial.inertia_power < 0:
            return [Concern("sign", f"friction and inertia came out negative: all torques have the other sign ({found[0].text})")]
        text = f"friction of all joints came out driving them, as if time ran backwards ({found[0].text})"
        return [Concern("time", text)]
    return found


def explained_otherwise(others: Alternatives, left: Errors, floor: np.ndarray) -> list[Concern]:
    """Something is wrong with the log or the description, and it can be named: most of what is unexplained goes with it, or nearly
    all where that is less than drives leave, though more than noise."""
    beyond = structure(left.rms, floor)
    matters = bool(np.any(beyond > MATTERS * left.size))
    if not matters and not np.any((beyond > SMALL_FAULT * left.size) & (beyond > TRACE * floor)):
        return []
    best = [found for found in others.found if found.share > MOST_OF_IT]
    best = best if matters else [found for found in others.lasting if found.share > NEARLY_ALL]
    rest = f"of what is unexplained ({left.relative:.2%} of the torques)"
    if not best and (alone := of_one_joint(others, beyond > MATTERS * left.size)):
        text = f"{alone.text}: that explains {alone.own:.0%} of what is unexplained there"
        return [Concern(alone.kind, text, joints=alone.joints)]
    if best:
        rivals = {found.kind: found for found in reversed(best) if found.kind != best[0].kind}  # the best of each kind
        or_else = "".join(f"; or {found.text} ({found.share:.0%})" for found in [*reversed(rivals.values())][:2])
        text = f"{best[0].text}: that explains {best[0].share:.0%} {rest}{or_else}"
        return [Concern(best[0].kind, text, joints=best[0].joints)]
    small = [found for found in others.found if found.kind in ("delay", "tilt") and found.share > WORTH_A_WORD and matters]
    return [Concern(found.kind, f"perhaps {found.text}: that would explain {found.share:.0%} {rest}", False) for found in small]


def of_one_joint(others: Alternatives, matters: np.ndarray) -> Alternative | None:
    """Something that happened to a single joint for a while and explains nearly all that is unexplained of it, whatever there is at
    the others; `matters` (nv,): whether that is more than drives leave."""
    some = {name for name, much in zip(others.trial.names, matters) if much}
    found = [one for one in others.found if one.kind in FOR_A_WHILE and one.own > NEARLY_ALL and some.issuperset(one.joints)]
    return max(found, key=lambda one: one.own, default=None)


def units(base: Base, estimate: Estimate, signals: Signals) -> list[Concern]:
    """The weight that was found against the weight as described: currents for torques, milli for whole, motor for joint side."""
    slope = weight_found(base, estimate, signals)
    if slope is None or 1 / WEIGHT_FACTOR < slope < WEIGHT_FACTOR:
        return []
    text = f"the weight in the torques is {slope:.3g} times that of the robot as described: torques in another unit, currents, "
    text += "motor side, or a description without proper masses"
    return [Concern("units", text, serious=not 1 / WEIGHT_OF_NO_ARM < abs(slope) < WEIGHT_OF_NO_ARM)]


def upside_down(base: Base, estimate: Estimate, signals: Signals) -> list[Concern]:
    """Joints that always carry the same weight, the other way round: a SCARA's slide whose positions and torques count downwards
    has the same inertia and friction, and an offset takes in twice its weight."""
    found = []
    for name, here, weight in zip(base.parameter_set.robot.joint_names, *standing(base, estimate, signals)):
        least = max(NO_WEIGHT, float(np.std(weight)) / WEIGHT_VARIES)
        slope = float(here.mean() / weight.mean()) if abs(weight.mean()) > least else 0.0
        if 1 / WEIGHT_FACTOR < -slope < WEIGHT_FACTOR:
            text = f"at rest {name} holds {here.mean():.3g} N (N m), where its weight as described asks for {weight.mean():.3g}: "
            text += "it counts positions and torques the other way, or hangs upside down"
            found.append(Concern("axis", text, joints=(name,)))
    return found


def weight_found(base: Base, estimate: Estimate, signals: Signals) -> float | None:
    """Slope of the identified gravity torque over the described one, along the log; None where nothing is described."""
    found, described = (x.T for x in standing(base, estimate, signals))
    least = WEIGHT_VARIES**2 * float(np.sum(described**2))  # of a weight that is always the same (a SCARA's), only rounding varies
    described, found = (x - x.mean(axis=0) for x in (described, found))  # an offset is no weight
    power = float(np.sum(described**2))
    return float(np.sum(described * found) / power) if power > max(least, NO_WEIGHT**2 * described.size) else None


def standing(base: Base, estimate: Estimate, signals: Signals) -> tuple[np.ndarray, np.ndarray]:
    """The torques of each joint at rest in the log's postures (nv, N), as identified and as described."""
    parameter_set, some = base.parameter_set, few(signals)
    rest = np.zeros_like(some.q)
    found = parameter_set.matrix(some.q, rest, rest)[..., list(base.independent)] @ estimate.theta
    if parameter_set.evaluator().knows:
        found += parameter_set.known_torque(some.q, rest, rest) - parameter_set.robot.spring_torque(some.q)
    return found.T, parameter_set.robot.gravity_torque(some.q).T
