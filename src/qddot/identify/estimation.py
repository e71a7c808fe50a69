"""The estimate of a recording by one method, and with laws that it asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from qddot.errors import ConvergenceError
from qddot.identify.checks.halves import left
from qddot.identify.checks.laws import Law, gained
from qddot.identify.checks.positive import never_negative
from qddot.identify.checks.pulls import sharper_edges
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.estimators import Estimate, least_squares, solve
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.pieces import streamed
from qddot.identify.regression.record import Record
from qddot.identify.regression.reduction import Factors, reduce
from qddot.identify.regression.residuals import Errors, residuals_of_parts
from qddot.identify.regression.rest import with_needed_rests
from qddot.identify.regression.standstill import dry_speeds
from qddot.model.friction import LOAD
from qddot.progress import shown
from qddot.thresholds import (
    CONDITION,
    IMPOSSIBLE_ROUNDS,
    LOAD_ROUNDS,
    ROBUST_ROUNDS,
    SAME_LOAD,
    SMALL_LAW_GAIN,
    TIME_BLOCKS,
    TRIAL_FIFTHS,
    UNEXPLAINED,
)


class Estimated(NamedTuple):
    """Base parameters, what is left of the log, their estimate, and what is left of its torques."""

    base: Base
    factors: Factors
    estimate: Estimate
    left: Errors


def estimated(base: Base, record: Record, method: str, how: Mapping[str, Any], progress: bool | None = False) -> Estimated:
    """The base parameters by one method. Where friction grows with the load, again and again: with the load of the robot found, not
    of the one described. Raises ConvergenceError: the load that a robot makes is never the one it was found with."""
    if base.parameter_set.is_loaded and base.parameter_set.carried is None:
        base = with_own_load(base, record, method, how)
    found = with_this_load(base, record, method, how, progress)
    for _ in range(LOAD_ROUNDS if base.parameter_set.is_loaded else 0):
        before = found.estimate.theta
        carrying = replace(base, parameter_set=base.parameter_set.carrying(base.completed(before)))
        found = with_this_load(carrying, record, method, how)
        if np.abs(found.estimate.theta - before).max() <= SAME_LOAD * np.abs(before).max():
            return found
    if base.parameter_set.is_loaded:
        raise ConvergenceError("friction by load: the load of the robot found is not the one it was found with; leave load out")
    return found


def with_own_load(base: Base, record: Record, method: str, how: Mapping[str, Any]) -> Base:
    """Base parameters by the load of the robot that is found without friction by it: a joint of which the description has no rotor,
    and hardly a link, carries nothing as described, and its friction by load would be left out."""
    parameter_set = base.parameter_set
    loads = [name for name in parameter_set.names if name.endswith(f".{LOAD}")]
    plain = base_parameters(parameter_set.without(loads))
    theta = with_this_load(plain, record, method, how).estimate.theta
    return base_parameters(parameter_set.carrying(plain.completed(theta)))


def with_this_load(base: Base, record: Record, method: str, how: Mapping[str, Any], progress: bool | None = False) -> Estimated:
    """The base parameters by one method, what is left of the log, and what is left of its torques."""
    blocks = None if record.streamed else TIME_BLOCKS
    factors = reduce(base, shown(streamed(record.parts()), "regressor", blocks, lambda piece: piece[0], progress), **how)
    estimate = least_squares(factors, "ols" if method == "ols" else "wls")
    left = residuals_of_parts(base, estimate.theta, record.parts())
    if method == "irls" or (method == "auto" and left.has_outliers and left.relative < UNEXPLAINED):
        for _ in range(ROBUST_ROUNDS):
            factors = reduce(base, streamed(record.parts()), robust=(estimate.theta, left.spread), **how)
            estimate = least_squares(factors, "irls")
            left = residuals_of_parts(base, estimate.theta, record.parts())
    return Estimated(base, factors, estimate, left)


def with_laws(
    laws: Sequence[Law], before: Estimated, record: Record, method: str, how: Mapping[str, Any], progress: bool | None
) -> Estimated | None:
    """The estimate with more laws; None where all of the log, not only an excerpt, says that its fifths are then predicted no
    better, where its motion does not tell the laws apart, where the load does not settle, or where only springs that push and
    friction that drives would do it. An offset, which shows beside
    friction of each direction only where joints nearly rest, is left out where it cannot be told from that."""
    options = {name: value for law in laws for name, value in law.options.items()}
    found = with_more(options, before, record, method, how, progress)
    if found is None and options.get("asymmetric"):
        found = with_more(options | {"offset": False}, before, record, method, how, progress)
    return found


def with_more(
    options: Mapping[str, Any], before: Estimated, record: Record, method: str, how: Mapping[str, Any], progress: bool | None
) -> Estimated | None:
    """See `with_laws`; the laws as options of `ParameterSet.of`."""
    parameter_set, options = before.base.parameter_set, dict(options)
    speeds = dry_speeds(parameter_set.robot, record.signals, options)
    options |= {"standstill": speeds.standstill} | ({} if speeds.stribeck is None else {"stribeck": speeds.stribeck})
    make = with_options(parameter_set)
    try:
        found = estimated(base_parameters(with_needed_rests(make(options), record.parts())), record, method, how, progress)
        if options.get("pulls"):
            options["pulls"] = sharper_edges(found.base, record.signals)
            found = estimated(base_parameters(with_needed_rests(make(options), record.parts())), record, method, how)
        possible = without_impossible(found, record, method, how)
    except ConvergenceError:
        return None
    if possible is None or possible.estimate.condition > max(CONDITION, before.estimate.condition):
        return None
    missed, now = missed_of_fifths(before), missed_of_fifths(possible)
    worth_it = possible is found or gained(missed, now) > SMALL_LAW_GAIN  # its other terms alone, where some are gone
    return possible if worth_it and np.linalg.norm(now) <= np.linalg.norm(missed) else None


def without_impossible(found: Estimated, record: Record, method: str, how: Mapping[str, Any]) -> Estimated | None:
    """The estimate without those terms of laws that came out as no drive has them, whose part a robot could not play. None where
    others come out so in their place, again and again."""
    usual = set(ParameterSet.of(found.base.parameter_set.robot).names)
    for _ in range(IMPOSSIBLE_ROUNDS):
        value = found.estimate.theta
        loads = np.array([name.endswith(f".{LOAD}") for name in found.base.names])
        bad = (never_negative(found.base) & (value < 0)) | (loads & (value >= 1))  # friction that no load overcomes
        names = [name for name, is_bad in zip(found.base.names, bad) if is_bad and name not in usual]
        if not names:
            return found
        found = estimated(base_parameters(found.base.parameter_set.without(names)), record, method, how)
    return None


def with_options(parameter_set: ParameterSet) -> Callable[[Mapping[str, Any]], ParameterSet]:
    """Function that makes a set of parameters with the same options, and more."""
    return lambda more: ParameterSet.of(parameter_set.robot, **{**parameter_set.asked, **more})


def missed_of_fifths(found: Estimated) -> np.ndarray:
    """Torque of each fifth of the log that parameters of the others leave, of each joint (nv,), rms, N m."""
    _, factors, estimate, _ = found
    fifths = [part for part in np.array_split(np.arange(len(factors.R)), TRIAL_FIFTHS) if len(part)]
    total = np.zeros(len(factors.columns))
    for part in fifths:
        others = factors.merged(np.setdiff1d(np.arange(len(factors.R)), part)) if len(fifths) > 1 else factors.merged(part)
        theta = solve(found.base, factors.columns, others, estimate.sigma)
        total += left(factors.columns, factors.merged(part), theta)
    return np.sqrt(total / factors.counts.sum())
