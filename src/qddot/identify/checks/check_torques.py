"""Checks of the torques behind a fit: dead or clipped channels, and unexplained torques with their possible reasons."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from qddot.identify.checks.alternatives import AT_TURNS, FOR_A_WHILE, Alternatives
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
    HARM,
    MATTERS,
    MISSED,
    MOST_OF_IT,
    MOVED,
    NEARLY_ALL,
    NO_WEIGHT,
    SMALL_FAULT,
    SURE_SLOPE,
    TRACE,
    UNEXPLAINED,
    WEIGHT_FACTOR,
    WEIGHT_OF_NO_ARM,
    WEIGHT_VARIES,
    WORTH_A_WORD,
)


def dead(names: Sequence[str], tau: Range) -> list[Concern]:
    """Report torques that never change."""
    still = [name for name, reach in zip(names, tau.reach) if reach == 0]
    text = f"the torque of {listed(still)} is the same throughout" if still else ""
    return [Concern("dead channel", text, joints=tuple(still))] if still else []


def copied(names: Sequence[str], left: Errors, motion: MotionSummary) -> list[Concern]:
    """Report channels that are the same, sample by sample. Where the model fits, joints may move alike, and equal ones need equal
    torques then."""
    signals = motion.excerpt
    fits = np.linalg.norm(structure(left.rms, motion.noise)) <= MISSED * np.linalg.norm(left.size)
    found = []
    for what, x in (("torques", signals.tau_raw), *(() if fits else (("positions", signals.q),))):
        for i, j in combinations(range(len(names)), 2):
            alike = fits and np.array_equal(signals.q[:, i], signals.q[:, j])
            if np.ptp(x[:, i]) > 0 and np.array_equal(x[:, i], x[:, j]) and not alike:
                text = f"the {what} of {names[i]} and {names[j]} are the same, sample by sample: one is a copy of the other"
                found.append(Concern("copied channel", text, joints=(names[i], names[j])))
    return found


def clipped(names: Sequence[str], recording: LogSummary | None) -> list[Concern]:
    """Report torques that rest at their largest or smallest value, for STUCK_SAMPLES in a row at least once: what the arm needed
    beyond is not in the log. (`clipping.py` finds those that rest there except for noise.)"""
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


def unexplained(names: Sequence[str], left: Errors, motion: MotionSummary, is_poor: bool = False) -> list[Concern]:
    """Report a model that does not fit: large residuals of all torques, filtered or raw, or of a single joint; or smaller ones that
    are further beyond the noise than those of arms whose torques can be predicted. Parameters that a poor log leaves open may be
    anything, and so may unfiltered torques: then those say nothing."""
    found, floor = [], motion.noise
    raw = unexplained_raw(left, motion)
    if raw > UNEXPLAINED >= left.relative and not is_poor:
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
    """Fraction of the unfiltered torques that is left unexplained and is not white noise."""
    white = motion.noise / np.linalg.norm(motion.excerpt.low_pass.smooth)
    size = np.linalg.norm(left.rms_raw) / left.relative_raw if left.relative_raw > 0 else np.inf
    return float(np.linalg.norm(structure(left.rms_raw, white)) / size)


def driving(estimate: Estimate, trial: Trial, left: Errors) -> list[Concern]:
    """Report friction, all its laws together, that drives a joint instead of braking it, by more than its uncertainty and by more
    than the residual."""
    found, base = [], trial.base
    slides = np.array([is_friction(name) for name in base.names])
    for j, (name, rows, here) in enumerate(zip(trial.names, trial.each(trial.whole), trial.regressor.columns)):
        columns = rows[:, :-1] * slides[here]
        braking = np.zeros(base.rank)
        braking[here] = np.mean(columns * trial.motion.qd[:, j : j + 1], axis=0)  # power, W
        power, deviation = float(braking @ estimate.theta), float(np.sqrt(braking @ estimate.sandwich @ braking))
        if power < -float(estimate.reach.max()) * deviation and rms(columns @ estimate.theta[here]) > left.rms[j]:
            text = f"friction of {name} came out driving it, with {-power:.2g} +- {deviation:.1g} W"
            found.append(Concern("driving friction", f"{text}: its torques or positions have the other sign", joints=(name,)))
    if len(found) == len(trial.names) > 1:
        if not trial.is_an_arm(estimate.theta):
            return [Concern("sign", f"friction and inertia came out negative: all torques have the other sign ({found[0].text})")]
        text = f"friction of all joints came out driving them, as if time ran backwards ({found[0].text})"
        return [Concern("time", text)]
    return found


def explained_otherwise(
    others: Alternatives, estimate: Estimate, left: Errors, floor: np.ndarray, is_poor: bool = False
) -> list[Concern]:
    """Name a fault of the log or the description that explains most of the residual; or nearly all of a residual that is smaller
    than drives usually leave, though larger than the noise. `is_poor`: the log leaves parameters open."""
    beyond = structure(left.rms, floor)
    matters = bool(np.any(beyond > MATTERS * left.size))
    if not matters and not np.any(beyond > TRACE * floor):
        return []
    if not matters and not np.any((beyond > SMALL_FAULT * left.size) & (beyond > TRACE * floor)):
        return harmful(others, estimate, left, floor)
    best = [found for found in others.told_by(is_poor) if found.share > MOST_OF_IT]
    best = best if matters else [found for found in best if found.kind not in FOR_A_WHILE and found.share > NEARLY_ALL]
    held = matters and others.is_only_at_turns
    if held:  # a stick is no delay, but torques that are late are so wherever friction turns round
        best = [found for found in best if found.kind in AT_TURNS or (found.kind == "delay" and found.share > NEARLY_ALL)]
    rest = f"of what is unexplained ({left.relative:.2%} of the torques)"
    if not best and not is_poor and not held and (alone := of_one_joint(others, beyond > MATTERS * left.size)):
        text = f"{alone.text}: that explains {alone.own:.0%} of what is unexplained there"
        return [Concern(alone.kind, text, joints=alone.joints)]
    if best:
        rivals = {found.kind: found for found in reversed(best) if found.kind != best[0].kind}  # the best of each kind
        or_else = "".join(f"; or {found.text} ({found.share:.0%})" for found in [*reversed(rivals.values())][:2])
        text = f"{best[0].text}: that explains {best[0].share:.0%} {rest}{or_else}"
        return [Concern(best[0].kind, text, joints=best[0].joints)]
    if absorbed := [] if is_poor else harmful(others, estimate, left, floor):
        return absorbed
    if despite := despite_friction(others, left) if matters and not is_poor else []:
        return despite
    small = [found for found in others.found if found.kind in ("delay", "tilt") and found.share > WORTH_A_WORD and matters]
    return [Concern(found.kind, f"perhaps {found.text}: that would explain {found.share:.0%} {rest}", False) for found in small]


def harmful(others: Alternatives, estimate: Estimate, left: Errors, floor: np.ndarray) -> list[Concern]:
    """Name a fault that parameters absorb but for a trace, if it explains nearly all of the trace, and torques elsewhere in the
    workspace or the intervals depend on it: a scaled torque, for example, is nearly as good as a heavier link."""
    trial, reach = others.fine_trial, estimate.reach * estimate.std
    for one in others.absorbed:
        explained, elsewhere, moved = trial.beyond_noise(one, floor), trial.elsewhere(one), trial.moved(one, reach)
        if explained > NEARLY_ALL and elsewhere > (MATTERS * WORTH_A_WORD if moved > MOVED else MATTERS):
            text = (
                f"{one.text}: that explains {explained:.0%} of what is not noise ({left.relative:.2%} of the torques remain). It "
            )
            text += (
                f"changes torques elsewhere in the workspace by {elsewhere:.1%}, and {moved:.0%} of all parameters by more than "
            )
            return [Concern(one.kind, f"{text}their intervals", joints=one.joints)]
    return []


def despite_friction(others: Alternatives, left: Errors) -> list[Concern]:
    """Name a fault that explains nearly all of what is left if friction may be any, and that torques elsewhere in the workspace
    depend on much. A law of friction that the model lacks may leave more than the fault itself."""
    freer = others.with_any_friction
    if freer is None:
        return []
    for one in freer.absorbed:
        elsewhere = freer.fine_trial.elsewhere(one)
        if one.share > NEARLY_ALL and elsewhere > HARM:
            text = f"{one.text}: that explains {one.share:.0%} of what no friction explains ({left.relative:.2%} of the torques "
            text += f"remain), and changes torques elsewhere in the workspace by {elsewhere:.1%}"
            return [Concern(one.kind, text, joints=one.joints)]
    return []


def of_one_joint(others: Alternatives, matters: np.ndarray) -> Alternative | None:
    """The fault of a single joint, for a part of the log, that explains nearly all of its residual, whatever the others'; `matters`
    (nv,): True for residuals larger than drives usually leave."""
    some = {name for name, much in zip(others.trial.names, matters) if much}
    found = [one for one in others.found if one.kind in FOR_A_WHILE and one.own > NEARLY_ALL and some.issuperset(one.joints)]
    return max(found, key=lambda one: one.own, default=None)


def units(base: Base, estimate: Estimate, signals: Signals) -> list[Concern]:
    """Report a weight far from the described one: currents for torques, milli-units, motor side instead of joint side. Where no
    weight shows, as in a SCARA or a gantry, the inertia tells as much, except that rotors may add to it several times."""
    slope = weight_found(base, estimate, signals)
    what, least = ("weight", WEIGHT_FACTOR) if slope is not None else ("inertia", WEIGHT_OF_NO_ARM)
    slope = inertia_found(base, estimate, signals) if slope is None else slope
    if slope is None or 1 / least < slope < least:
        return []
    text = f"the {what} in the torques is {slope:.3g} times that of the robot as described: torques in another unit, currents, "
    text += "motor side, or a description without proper masses"
    return [Concern("units", text, serious=not 1 / WEIGHT_OF_NO_ARM < abs(slope) < WEIGHT_OF_NO_ARM)]


def upside_down(base: Base, estimate: Estimate, signals: Signals) -> list[Concern]:
    """Report joints that always carry the same weight, if it comes out with the other sign. A SCARA's slide that counts positions
    and torques downwards has the same inertia and friction, and the offset absorbs twice its weight."""
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
    """Slope of the identified gravity torque over the described one, along the log; None if the described one hardly varies."""
    found, described = (x.T for x in standing(base, estimate, signals))
    least = WEIGHT_VARIES**2 * float(np.sum(described**2))  # a weight that is always the same (a SCARA's) varies by rounding only
    described, found = (x - x.mean(axis=0) for x in (described, found))  # an offset is no weight
    power = float(np.sum(described**2))
    return float(np.sum(described * found) / power) if power > max(least, NO_WEIGHT**2 * described.size) else None


def inertia_found(base: Base, estimate: Estimate, signals: Signals) -> float | None:
    """Slope of the identified torques of inertia, rotors included, over the described ones, along the log; None if the description
    has no inertia, or if the slope is not known to be off by as much as no arm is."""
    some = few(signals)
    described = np.einsum("nij,nj->ni", base.parameter_set.robot.mass_matrix(some.q), some.qdd)
    power = float(np.sum(described**2))
    if power <= NO_WEIGHT**2 * described.size:
        return None
    at_rest, pushed = (columns_without_speed(base, some.q, qdd) for qdd in (0 * some.q, some.qdd))
    slopes = np.einsum("nj,njr->r", described, pushed[0] - at_rest[0]) / power
    slope = float(slopes @ estimate.theta + np.sum(described * (pushed[1] - at_rest[1])) / power)
    doubt = SURE_SLOPE * float(np.sqrt(slopes @ estimate.sandwich @ slopes))
    sure = abs(slope) + doubt < 1 / WEIGHT_OF_NO_ARM or abs(slope) - doubt > WEIGHT_OF_NO_ARM
    return slope if sure else None


def standing(base: Base, estimate: Estimate, signals: Signals) -> tuple[np.ndarray, np.ndarray]:
    """Torques of each joint at rest in the log's postures (nv, N), as identified and as described."""
    robot, some = base.parameter_set.robot, few(signals)
    X, known = columns_without_speed(base, some.q, np.zeros_like(some.q))
    if base.parameter_set.evaluator().knows:
        known = known - robot.spring_torque(some.q)
    return (X @ estimate.theta + known).T, robot.gravity_torque(some.q).T


def columns_without_speed(base: Base, q: np.ndarray, qdd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the base parameters (N, nv, r) at positions and accelerations (N, nv), speeds being 0, and the known torques
    (N, nv)."""
    parameter_set, rest = base.parameter_set, np.zeros_like(q)
    known = parameter_set.known_torque(q, rest, qdd) if parameter_set.evaluator().knows else rest
    return parameter_set.matrix(q, rest, qdd)[..., list(base.independent)], known
