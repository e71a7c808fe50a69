"""The estimate of base parameters from a recording, by one method, and with further laws of friction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from qddot.errors import ConvergenceError, InputError
from qddot.identify.checks.laws import Law, gained
from qddot.identify.checks.positive import never_negative
from qddot.identify.checks.pulls import sharper_edges
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.estimators import Estimate, least_squares, solve, squared_errors
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
    LOAD_MEMORY,
    LOAD_ROUNDS,
    ROBUST_ROUNDS,
    SAME_LOAD,
    SMALL_LAW_GAIN,
    TIME_BLOCKS,
    TRIAL_FIFTHS,
    UNEXPLAINED,
)


class Estimated(NamedTuple):
    """Base parameters, the factors of the log, the estimate, and its residuals."""

    base: Base
    factors: Factors
    estimate: Estimate
    left: Errors


def estimated(base: Base, record: Record, method: str, how: Mapping[str, Any], progress: bool | None = False) -> Estimated:
    """Estimate base parameters by one method. If friction grows with the load, the fit is repeated with the load of the parameters
    found until that settles. Raises ConvergenceError: it does not settle."""
    if base.parameter_set.is_loaded and base.parameter_set.carried is None:
        base = with_own_load(base, record, method, how)
    found = with_this_load(base, record, method, how, progress)
    carried, rounds = found.estimate.theta, []
    for _ in range(LOAD_ROUNDS if base.parameter_set.is_loaded else 0):
        carrying = replace(base, parameter_set=base.parameter_set.carrying(base.completed(carried)))
        found = with_this_load(carrying, record, method, how)
        rounds.append((carried, found.estimate.theta))
        if np.abs(found.estimate.theta - carried).max() <= SAME_LOAD * np.abs(carried).max():
            return found
        carried = settled_ahead(rounds[-LOAD_MEMORY:])
    if base.parameter_set.is_loaded:
        raise ConvergenceError("friction by load: the load of the robot found is not the one it was found with; leave load out")
    return found


def settled_ahead(rounds: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Parameters (r,) that a round would not change if rounds were linear, from those that went into the last ones and those that
    came out (Anderson's extrapolation). Rounds alone settle slowly where other friction can stand in for friction by the load."""
    went, came = (np.stack(each) for each in zip(*rounds))
    changes = came - went
    back = np.linalg.lstsq(np.diff(changes, axis=0).T, changes[-1], rcond=None)[0]
    return came[-1] - back @ np.diff(came, axis=0)


def with_own_load(base: Base, record: Record, method: str, how: Mapping[str, Any]) -> Base:
    """Base parameters with the load of a fit without friction by the load. With the described load, friction by the load would be
    left out for a joint whose description has neither a rotor nor a heavy link."""
    parameter_set = base.parameter_set
    loads = [name for name in parameter_set.names if name.endswith(f".{LOAD}")]
    plain = base_parameters(parameter_set.without(loads))
    theta = with_this_load(plain, record, method, how).estimate.theta
    return base_parameters(parameter_set.carrying(plain.completed(theta)))


def with_this_load(base: Base, record: Record, method: str, how: Mapping[str, Any], progress: bool | None = False) -> Estimated:
    """Estimate base parameters by one method, with the load that the parameter set has."""
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
    """Estimate with further laws. None if fifths of the whole log, not only of an excerpt, are then predicted no better, if the
    motion does not tell the laws apart, if the load does not settle, or if only impossible values (springs that push, friction that
    drives) would help. If an offset cannot be told from friction of each direction, as without slow motion, it is left out."""
    options = {name: value for law in laws for name, value in law.options.items()}
    found = with_more(options, before, record, method, how, progress)
    if found is None and options.get("asymmetric"):
        found = with_more(options | {"offset": False}, before, record, method, how, progress)
    return found


def with_more(
    options: Mapping[str, Any], before: Estimated, record: Record, method: str, how: Mapping[str, Any], progress: bool | None
) -> Estimated | None:
    """Estimate with further laws, given as options of `ParameterSet.of`; None as for `with_laws`."""
    parameter_set, options = before.base.parameter_set, dict(options)

    def base() -> Base:
        asked = {**parameter_set.asked, **options}
        return base_parameters(with_needed_rests(ParameterSet.of(parameter_set.robot, **asked), record.parts()))

    try:
        speeds = dry_speeds(parameter_set.robot, record.signals, options)
        options |= {"standstill": speeds.standstill} | ({} if speeds.stribeck is None else {"stribeck": speeds.stribeck})
        found = estimated(base(), record, method, how, progress)
        if options.get("pulls"):
            options["pulls"] = sharper_edges(found.base, record.signals)
            found = estimated(base(), record, method, how)
        possible = without_impossible(found, record, method, how)
    except (ConvergenceError, InputError):
        return None
    if possible is None or possible.estimate.condition > max(CONDITION, before.estimate.condition):
        return None
    missed, now = missed_of_fifths(before), missed_of_fifths(possible)
    worth_it = possible is found or gained(missed, now) > SMALL_LAW_GAIN  # without its impossible terms it must gain on its own
    return possible if worth_it and np.linalg.norm(now) <= np.linalg.norm(missed) else None


def without_impossible(found: Estimated, record: Record, method: str, how: Mapping[str, Any]) -> Estimated | None:
    """Estimate without those terms of further laws that came out with values that no drive has. None if other terms keep coming out
    so instead."""
    usual = set(ParameterSet.of(found.base.parameter_set.robot).names)
    for _ in range(IMPOSSIBLE_ROUNDS):
        value = found.estimate.theta
        loads = np.array([name.endswith(f".{LOAD}") for name in found.base.names])
        bad = (never_negative(found.base) & (value < 0)) | (loads & (value >= 1))  # friction that no torque overcomes
        names = [name for name, is_bad in zip(found.base.names, bad) if is_bad and name not in usual]
        if not names:
            return found
        found = estimated(base_parameters(found.base.parameter_set.without(names)), record, method, how)
    return None


def missed_of_fifths(found: Estimated) -> np.ndarray:
    """Rms residual of each joint (nv,), N m, with each fifth of the log predicted by parameters of the others."""
    _, factors, estimate, _ = found
    fifths = [part for part in np.array_split(np.arange(len(factors.R)), TRIAL_FIFTHS) if len(part)]
    total = np.zeros(len(factors.columns))
    for part in fifths:
        others = factors.merged(np.setdiff1d(np.arange(len(factors.R)), part)) if len(fifths) > 1 else factors.merged(part)
        theta = solve(found.base, factors.columns, others, estimate.sigma)
        total += squared_errors(factors.columns, factors.merged(part), theta)
    return np.sqrt(total / factors.counts.sum())
