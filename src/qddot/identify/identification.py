"""Every step of the identification in one call: from a log to a fit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qddot.arguments import flag, word
from qddot.errors import ConvergenceError, InputError, MissingExtraError, as_written
from qddot.identify.alignment import alignable, common_delay, told_delays
from qddot.identify.checks.alternatives import Alternatives
from qddot.identify.checks.check_motion import impossible_rotors
from qddot.identify.checks.judge import Unseen, verdict
from qddot.identify.checks.laws import Law, as_found, missing_laws
from qddot.identify.checks.verdict import Concern, Verdict
from qddot.identify.command import python_call
from qddot.identify.estimation import Estimated, estimated, with_laws
from qddot.identify.fit import Fit
from qddot.identify.friction_shape import allowing_for_shape
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.bodies import without_drives, without_mass
from qddot.identify.regression.filter_choice import Velocity
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import streamed
from qddot.identify.regression.record import Record, Recorded, whole
from qddot.identify.regression.reduction import ENGINES, reduce
from qddot.identify.regression.residuals import residuals_of_parts, structure
from qddot.identify.regression.rest import left_out, with_needed_rests
from qddot.identify.regression.standstill import standstill_speeds
from qddot.identify.temperature import ThermalFriction, at_reference, next_step, thermal_friction
from qddot.logs.audit import Audit
from qddot.logs.log import Log
from qddot.logs.table import Finding
from qddot.robot import Robot
from qddot.thresholds import LAW_GAIN, MISSED, MOST_LAWS, ROTOR_ROUNDS

METHODS = ("auto", "ols", "wls", "irls")
UNSEEN = "the squared errors in a fifth of the log that the others predict"


def identify(
    robot: Robot,
    log: Recorded,
    *,
    parameter_set: ParameterSet | None = None,
    validation: Recorded | float | None = None,
    method: str = "auto",
    cutoff: float | None = None,
    velocity: Velocity | None = None,
    engine: str = "serial",
    address: Any = None,
    progress: bool | None = None,
) -> Fit:
    """See `Robot.identify`.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> fit = qddot.identify.identify(robot, log)  # robot.identify(log) is the same
    >>> round(fit.parameters["body_2.mcx"], 3)
    0.245
    """
    word("method", method, METHODS)
    word("engine", engine, ENGINES)
    progress = progress if progress is None else flag("progress", progress)
    check_robot(robot, parameter_set)
    given = log, validation
    if isinstance(validation, float | int):
        log, validation = parted(log, validation, robot)
    record = Record.of(robot, log, cutoff, velocity)
    other = None if validation is None else Record.of(robot, validation, record.signals.cutoff, velocity)
    options = {"method": method, "cutoff": cutoff, "velocity": velocity}
    command = python_call(robot.name, *given, None if parameter_set is None else "parameter_set", options)
    how = {"engine": engine, "address": address}
    fit = fitted(robot, record, other, parameter_set, method, how, progress, command)
    thermal, findings = warmth(record, fit.parameter_set)
    if thermal is not None:
        widths = fit.parameter_set.widths
        record, other = at_reference(thermal, record, widths), other and at_reference(thermal, other, widths)
        fit = fitted(robot, record, other, parameter_set, method, how, progress, command)
    fit = replace(fit, thermal=thermal, findings=(*fit.findings, *findings))
    return fit if record.streamed else judged_with_robot(fit)


def fitted(
    robot: Robot,
    record: Record,
    other: Record | None,
    parameter_set: ParameterSet | None,
    method: str,
    how: dict[str, Any],
    progress: bool | None,
    command: str,
) -> Fit:
    """Fit a recording, and judge it by itself and by the other one, which is kept for validation."""
    signals, findings, audit = record.signals, list(record.findings), record.audit()
    chosen, sound = parameter_set is None, not any(finding.serious for finding in audit.findings)
    if sound:
        usual = ParameterSet.of(robot) if parameter_set is None else parameter_set
        record = record.aligned(alignable(common_delay(base_parameters(usual), record.signals), record.signals.rate))
    if parameter_set is None and not sound:
        parameter_set = ParameterSet.of(robot)  # speeds from a log with wrong units would mean nothing
    elif parameter_set is None:
        speeds = standstill_speeds(robot, record.signals)
        parameter_set = ParameterSet.of(robot, standstill=speeds)
        findings.append(Finding("found", "standstill", told(speeds)))
    parameter_set = with_needed_rests(parameter_set, record.parts())
    try:
        base = base_parameters(parameter_set)
    except InputError:
        if not chosen:
            raise
        parameter_set = with_needed_rests(ParameterSet.of(robot), record.parts())  # so wide a step would be viscous friction
        base = base_parameters(parameter_set)
    findings += [*rounding(base), *split(robot)]
    found = estimated(base, record, method, how, progress)
    missed = np.linalg.norm(structure(found.left.rms, signals.noise)) > MISSED * np.linalg.norm(found.left.size)
    if chosen and sound and missed:  # then speeds at which friction takes its step have absorbed part of what is wrong
        base = base_parameters(with_needed_rests(ParameterSet.of(robot), record.parts()))
        found = estimated(base, record, method, how, progress)
        findings = [finding for finding in findings if finding.code != "standstill"]
    others = Alternatives(found.base, found.estimate.theta, record.signals)
    laws: list[Law] = []
    while chosen and sound and len(laws) < MOST_LAWS:
        options = {name: value for law in laws for name, value in law.options.items()}
        tried = ((law, with_laws([*laws, law], found, record, method, how, progress)) for law in missing_laws(others, options)[:2])
        law, richer = next(((law, more) for law, more in tried if more is not None), (None, None))
        if law is None or richer is None:
            break
        laws = [*(one for one in laws if not one.options.keys() & law.options.keys()), law]
        found, laws = richer, [as_found(one, richer.base.parameter_set) for one in laws]
        others = Alternatives(found.base, found.estimate.theta, record.signals)
    findings += [Finding("found", "friction", f"{law}: added, since {law.gain:.0%} of {UNSEEN} go") for law in laws]
    delay = alignable(common_delay(found.base, record.signals), record.signals.rate) if laws else record.signals.delay
    if delay != record.signals.delay:
        record = record.aligned(delay)
        found = estimated(found.base, record, method, how, progress)
        others = Alternatives(found.base, found.estimate.theta, record.signals)
    findings += told_delays(record.signals)
    if other is not None:
        other = other.aligned(alignable(delay, other.signals.rate))
        findings.insert(1, Finding("found", "validation", f"kept for it: {other.size}"))
    found, shape = allowing_for_shape(found, record.signals)
    own = judged(found, record, audit, others)  # the fit must not depend on the log kept for validation
    for _ in range(ROTOR_ROUNDS if chosen and own else 0):
        names = impossible_rotors(found.base, found.estimate, found.left)
        if not names:
            break
        found = estimated(base_parameters(found.base.parameter_set.without(names)), record, method, how, progress)
        found, shape = allowing_for_shape(found, record.signals)
        own = judged(found, record, audit, others)
        message = f"{', '.join(names)} came out negative by more than the uncertainty, which no arm can be: taken as 0"
        findings.append(Finding("assumed", "rotors", message))
    findings += shape
    base, factors, estimate, left = found
    unseen = None
    if other is not None:
        unseen = Unseen(residuals_of_parts(base, estimate.theta, other.parts()), reduce(base, streamed(other.parts()), **how))
    findings += left_out(factors)
    if estimate.method == "irls":
        why = "asked for" if method == "irls" else f"{left.outliers.max():.2%} of a joint's torques are outliers"
        findings.append(Finding("found", "robust", f"rows are reweighted by Hampel's function: {why}"))
    return Fit(
        parameter_set=base.parameter_set,
        base=base,
        estimate=estimate,
        factors=factors,
        signals=record.signals,
        training=left,
        validation=unseen and unseen.left,
        judged=record.signals if other is None else other.signals,
        verdict=with_next_step(own if unseen is None else judged(found, record, audit, others, unseen), record.log),
        findings=tuple(findings),
        command=command,
    )


def judged_with_robot(fit: Fit) -> Fit:
    """Add a concern to the verdict if the fit's robot predicts worse than the fit, or is heavier than any.

    The former is checked where it is likely: with laws that a robot may not hold, or impossible values; the latter where no mass is
    described that would tell torques in another unit. Without the extra `id` there is no such robot.
    """
    robot, found = fit.parameter_set.robot, []
    unusual = set(fit.parameter_set.names) - set(ParameterSet.of(robot).names)
    try:
        if fit.verdict and without_mass(robot) and fit.overweight:
            found.append(Concern("units", f"{fit.overweight}: torques in another unit? (gains=)"))
        if fit.verdict and (unusual or fit.verdict.has("impossible values")) and fit.robot_doubt:
            found.append(Concern("robot", fit.robot_doubt, serious=False))
    except MissingExtraError:
        return fit
    except ConvergenceError as error:
        found.append(Concern("robot", str(error), serious=False))
    concerns = sorted((*fit.verdict.concerns, *found), key=lambda concern: not concern.serious)
    return replace(fit, verdict=Verdict(tuple(concerns))) if found else fit


def judged(found: Estimated, record: Record, audit: Audit, others: Alternatives, unseen: Unseen | None = None) -> Verdict:
    """Judge an estimate by its recording, and by another one kept for validation, if there is one."""
    base, factors, estimate, left = found
    return verdict(base, estimate, record.motion, left, audit, factors, unseen, others)


def with_next_step(found: Verdict, log: Log) -> Verdict:
    """Return a verdict that tells what to do about friction that changes as joints warm, if it has such a concern."""
    step = next_step(log)
    told = (replace(one, text=f"{one.text}. {step}") if one.kind == "warming" else one for one in found.concerns)
    return Verdict(tuple(told))


def parted(log: Recorded, share: float, robot: Robot) -> tuple[Log, Log]:
    """Split a log into the first part and the last one, whose share is given."""
    if isinstance(share, bool) or not 0 < share < 1:
        raise InputError(f"validation={share!r}: another log, or the part of this one that is kept for it, between 0 and 1")
    return whole(robot, log).split(1 - share)


def warmth(record: Record, parameter_set: ParameterSet) -> tuple[ThermalFriction | None, list[Finding]]:
    """Fit friction that changes with temperature, and report it; None without temperatures, or if it gains less than a law must."""
    if record.log.temperature is None:
        return None, []
    if record.streamed:
        why = "of a log that is read piece by piece it is left out; thermal_friction takes a part of it that is loaded"
        return None, [Finding("found", "warmth", f"temperature: {why}")]
    try:
        found = thermal_friction(record.robot, record.log, parameter_set=parameter_set, cutoff=record.signals.cutoff)
    except InputError as error:
        return None, [Finding("found", "warmth", str(error))]
    message = f"friction that changes with temperature leaves {found.after:.2%} of the torques, {found.before:.2%} without"
    if 1 - (found.after / found.before) ** 2 < LAW_GAIN:
        most = np.ptp(record.log.temperature, axis=0).max()
        return None, [Finding("found", "warmth", f"{message}: left out, too little to tell, with {most:.2g} degrees at most")]
    return found, [Finding("found", "warmth", f"{message}: taken off, so that parameters are those at its mean (fit.thermal)")]


def told(speeds: dict[str, float]) -> str:
    """Report the standstill speeds that were found."""
    return f"friction takes its step at {', '.join(f'{speed:.2g}' for speed in speeds.values())} rad/s (m/s), joint by joint"


def split(robot: Robot) -> list[Finding]:
    """Report links without a described mass, which get one in the identified robot."""
    bodies = without_mass(robot)
    if not bodies:
        return []
    message = f"the description has no mass for {', '.join(bodies)}: in fit.robot they are bodies of their size and of one density"
    return [Finding("assumed", "split", f"{message}, which torques do not show (fit.robot_weighing, if the arm has been weighed)")]


def rounding(base: Base) -> list[Finding]:
    """Report parameters that seem independent only because the description's geometry is rounded."""
    if not base.rounded:
        return []
    names, most = ", ".join(base.rounded), max(base.rounded.values())
    message = f"{names}: beyond the others only {most:.1g} of the column shows, as where 1.5708 stands for pi/2; taken as dependent"
    return [Finding("assumed", "geometry", message)]


def check_robot(robot: Robot, parameter_set: ParameterSet | None) -> None:
    """Refuse robots with closed loops, for which `tau = Y pi` does not hold, and parameters of another robot."""
    closed = [c.name for c in robot.model.constraints if c.active]
    if closed:
        raise InputError(
            f"{robot.name} has closed loops ({', '.join(closed)}): their forces act on the joints besides tau = Y pi, so it cannot "
            f"be identified from joint torques"
        )
    if parameter_set is None:
        return
    if not isinstance(parameter_set, ParameterSet):
        raise InputError(f"parameter_set={as_written(parameter_set)}: give ParameterSet.of(robot, ...), or None for all that show")
    if parameter_set.robot is robot:
        return
    if parameter_set.robot.joint_names != robot.joint_names or parameter_set.robot.body_names != robot.body_names:
        raise InputError(f"the parameters are of {parameter_set.robot.name}, not of {robot.name} (ParameterSet.of(robot))")
    state = np.random.default_rng(0).normal(size=(3, 4, robot.nv))
    if not np.allclose(*(without_drives(one).regressor(*state) for one in (robot, parameter_set.robot)), rtol=1e-9, atol=1e-9):
        raise InputError(
            f"the parameters are of another {parameter_set.robot.name}: its geometry or gravity differs (ParameterSet.of(robot))"
        )
