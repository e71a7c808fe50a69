"""Which laws of friction a log asks for, beyond those that every joint has.

A law is worth adding where it predicts: parameters of four fifths of the log, its own among them, then miss less of the fifth.
What it gains is the part of the squared error there that it takes away,

    gain = 1 - (product over joints of e_j^2 with it / e_j^2 without it)^(1 / joints)

The best is taken first; then, all parameters fitted anew with it, the best beside it, as long as there is much to gain. More
freedom alone gains nothing: it learns some fifths and misses the other. Where a fault of the log explains more, nothing is added:
it would only be hidden.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.checks.alternatives import Alternatives
from qddot.identify.checks.normal_equations import Left, fitted
from qddot.identify.checks.trial import Trial
from qddot.identify.regression.drive_terms import Motion, drive_columns
from qddot.identify.regression.residuals import rms, structure
from qddot.thresholds import LAW_AS_WELL, LAW_GAIN, MATTERS, MOST_HARMONICS, MOST_OF_IT, SMALL_LAW_GAIN, STRIBECK_SPEEDS, TRACE

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Law(NamedTuple):
    """Something that friction may depend on besides."""

    text: str  # in words
    options: dict[str, Any]  # of `ParameterSet.of`
    gain: float = 0.0  # part of the squared error in unseen fifths that it takes away

    def __str__(self) -> str:
        return self.text


def laws(joints: tuple[str, ...], usual: float) -> Iterator[Law]:
    """Laws of friction that can be tried, for joints that usually move at this speed."""
    yield Law("viscous friction with powers of the speed up to the third", {"viscous": 3})
    yield Law("friction that differs between directions", {"asymmetric": True})
    for share in STRIBECK_SPEEDS:
        yield Law(f"Stribeck's curve, halved at {share * usual:.2g} rad/s", {"stribeck": share * usual})
    yield Law("friction in proportion to the load", {"load": True})
    yield Law("springs: torques in proportion to the position", {"spring": True})
    yield Law("torques that depend on the position, as of what balances an arm", {"harmonics": dict.fromkeys(joints, 1)})


def cogging(trial: Trial) -> Iterator[Law]:
    """The harmonic of each position that shows most in what is left of its torque."""
    q = trial.filtered(trial.motion.q)
    tried = range(2, MOST_HARMONICS + 1)
    found = {}
    for j, name in enumerate(trial.names):
        power = []
        for k in tried:
            X = np.column_stack([np.cos(k * q[:, j]), np.sin(k * q[:, j]), np.ones(len(q))])
            power.append(np.linalg.norm(X @ np.linalg.lstsq(X, trial.errors[:, j], rcond=None)[0]))
        found[name] = (tried[int(np.argmax(power))],)
    told = ", ".join(f"{name} {k}" for name, (k,) in found.items())
    yield Law(f"torques that come again so many times a turn, as of a motor that cogs: {told}", {"harmonics": found})


def missing_laws(known: Alternatives, chosen: Mapping[str, Any] = NOTHING) -> list[Law]:
    """The laws that a log asks for, each by itself, beyond those of its fit, the most telling first. `chosen`: options of the laws
    that were added before."""
    trial, floor = known.fine_trial, known.signals.noise
    least = least_gain(trial.left, floor, trial.size)
    if least is None:
        return []
    usual = float(np.median(rms(trial.motion.qd)))
    before, found = fitted(trial.in_fifths.G, trial.in_fifths.samples)[1], []
    for law in chain(laws(trial.names, usual), cogging(trial)):
        if law.options.keys() & chosen.keys():
            continue
        columns = new_columns(trial, law)
        if columns is None:
            continue
        left = with_columns(trial, columns)
        gain = gained(before, left) if left.unpredicted <= before.unpredicted + LAW_AS_WELL else 0.0
        if gain > least:
            found.append(law._replace(gain=gain))
    found.sort(key=lambda law: -law.gain)
    if found and not chosen:
        faults = known.found if least == LAW_GAIN else known.lasting
        if max((one.share for one in faults), default=0.0) > max(found[0].gain, MOST_OF_IT):
            return []
    return [with_best_speed(trial, law, before) if "stribeck" in law.options else law for law in found]


def least_gain(left: Left, floor: np.ndarray, size: np.ndarray) -> float | None:
    """How much a law must gain: much where more is left of a joint's torque than a drive's is known by, since real drives leave
    that, too; little where all but a trace is explained; None where nothing but noise is left."""
    beyond = structure(left.noise, floor)
    if np.any(beyond > MATTERS * size):
        return LAW_GAIN
    return SMALL_LAW_GAIN if np.any(beyond > TRACE * floor) else None


def with_best_speed(trial: Trial, law: Law, before: Left) -> Law:
    """Stribeck's curve at the speed that leaves least."""

    def tried(log_speed: float) -> tuple[Law, Left]:
        speed = float(np.exp(log_speed))
        told = Law(f"Stribeck's curve, halved at {speed:.2g} rad/s", {"stribeck": speed})
        columns = new_columns(trial, told)
        assert columns is not None  # as at the other speeds
        return told, with_columns(trial, columns)

    start = np.log(law.options["stribeck"])
    best = fminbound(lambda x: float(np.sum(np.log(tried(x)[1].noise))), start - 1.5, start + 1.5, xtol=0.02)
    closer, left = tried(float(np.asarray(best)))
    gain = gained(before, left)
    return closer._replace(gain=gain) if gain > law.gain else law


def with_columns(trial: Trial, Z: np.ndarray) -> Left:
    """Errors that remain with columns Z (N, nv, d) besides, each fifth predicted by the others."""
    return fitted(trial.in_fifths.with_columns(trial.filtered(Z) * trial.moving[..., None]), trial.in_fifths.samples)[1]


def new_columns(trial: Trial, law: Law) -> np.ndarray | None:
    """Return the effect on the torques (N, nv, d) of those parameters of a law that the fit has not; None: it has them all."""
    q, qd, qdd, _ = trial.motion
    parameter_set = trial.base.parameter_set
    known, asked = {term.name for term in parameter_set.terms}, {**parameter_set.asked, **law.options}
    motion, found = Motion(q, qd, qdd, trial.rigid, trial.sliding(trial.motion)), []
    for j, joint in enumerate(trial.names):
        for name, column in drive_columns(asked, joint, j, parameter_set.widths[j]):
            if f"{joint}.{name}" not in known:
                found.append(column(motion)[:, None] * trial.only(j))
    return np.stack(found, axis=-1) if found else None


def gained(before: Left, after: Left) -> float:
    """The part of the squared errors in unseen fifths that is gone, in the geometric mean of the joints or of all torques."""
    total = np.log(np.sum(after.unseen**2) / np.sum(before.unseen**2))
    return float(1 - np.exp(min(np.mean(2 * np.log(after.unseen / before.unseen)), total)))
