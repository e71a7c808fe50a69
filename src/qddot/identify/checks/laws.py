"""Choice, from a log, of further laws of friction beyond those that every joint has.

A law is worth adding if it improves predictions: with it, parameters fitted to four fifths of the log predict the remaining fifth
with a smaller error. Its gain is the fraction by which it reduces the squared error there,

    gain = 1 - (product over joints of e_j^2 with it / e_j^2 without it)^(1 / joints)

The best law is added first, then, with all parameters fitted anew, the next best, as long as there is much to gain. More
parameters alone gain nothing, since they do not predict the fifth to which they were not fitted. If a fault of the log explains
more, no law is added, since it would only hide the fault.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.checks.alternatives import Alternatives
from qddot.identify.checks.joint_gains import gains_of_joint
from qddot.identify.checks.normal_equations import Left, fitted
from qddot.identify.checks.pulls import Edge, new_edges
from qddot.identify.checks.trial import Trial
from qddot.identify.physical.identified import HINGES
from qddot.identify.regression.drive_terms import Motion, drive_columns, is_harmonic, orders
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.identify.regression.residuals import rms, structure
from qddot.thresholds import (
    COGS_AT_ONCE,
    LAW_AS_WELL,
    LAW_GAIN,
    MATTERS,
    MOST_HARMONICS,
    MOST_OF_IT,
    OWN_SPEEDS,
    SLOWEST_COG,
    SMALL_LAW_GAIN,
    STRIBECK_SPEEDS,
    TRACE,
)

NOTHING: Mapping[str, Any] = MappingProxyType({})


class Law(NamedTuple):
    """A further law of friction, or of other torques of a drive."""

    text: str  # the law in words
    options: dict[str, Any]  # arguments of `ParameterSet.of`
    gain: float = 0.0  # fraction by which it reduces the squared error in predicted fifths

    def __str__(self) -> str:
        return self.text


def laws(hinges: tuple[str, ...], usual: float) -> Iterator[Law]:
    """Yield the laws to try for joints with this usual speed, rad/s or m/s; `hinges`: names of the revolute joints."""
    yield Law("viscous friction with powers of the speed up to the third", {"viscous": 3})
    yield Law("friction that differs between directions", {"asymmetric": True})
    for share in STRIBECK_SPEEDS:
        yield curve(share * usual)
    yield Law("friction in proportion to the load", {"load": True})
    yield Law("springs: torques in proportion to the position", {"spring": True})
    yield Law("torques that depend on the position, as of what balances an arm", {"harmonics": dict.fromkeys(hinges, 1)})


def cogging(trial: Trial, hinges: tuple[str, ...], before: Mapping[str, int | tuple[int, ...]]) -> Iterator[Law]:
    """Yield the law of the harmonic of each joint's position that explains most of the residual of its torque.

    If there are harmonics `before`, the best pair is sought instead, since one of two alone may look like a third between them.
    """
    kept = {name: tuple(k for k in orders(given) if k < SLOWEST_COG) for name, given in before.items()}
    count = 1 + max((len(orders(before[name])) - len(kept[name]) for name in before), default=0)
    if count > COGS_AT_ONCE:
        return
    found = dict(before)
    for name in hinges:
        best = shown_best(trial, trial.names.index(name), count)
        if best:
            found[name] = (*kept.get(name, ()), *best)
    if found != dict(before):
        told = ", ".join(f"{name} {' and '.join(map(str, orders(ks)))}" for name, ks in found.items())
        yield Law(f"torques that come again so many times a turn, as of a motor that cogs: {told}", {"harmonics": found})


def shown_best(trial: Trial, j: int, count: int) -> tuple[int, ...]:
    """Return the `count` harmonics of joint j's position that explain most of its torque's residual in predicted fifths.

    All parameters but the joint's harmonics are fitted anew. The result is empty if the harmonics explain little.
    """
    tried = range(SLOWEST_COG, MOST_HARMONICS + 1)
    waves = np.stack([f(k * trial.motion.q[:, j]) for k in tried for f in (np.cos, np.sin)], axis=1)
    sets = list(combinations(range(len(tried)), count))
    at = np.array([[c for i in one for c in (2 * i, 2 * i + 1)] for one in sets])
    _, gains = gains_of_joint(trial, j, waves, at, is_harmonic)
    best = int(np.argmax(gains))
    return tuple(tried[i] for i in sets[best]) if gains[best] > SMALL_LAW_GAIN else ()


def curve(speed: float | Mapping[str, float], gain: float = 0.0) -> Law:
    """Return the law of Stribeck's curve that has halved at this speed, or joint -> speed, rad/s or m/s."""
    told = ", ".join(f"{x:.2g} in {name}" for name, x in speed.items()) if isinstance(speed, Mapping) else f"{speed:.2g}"
    return Law(f"Stribeck's curve, halved at (rad/s, m/s) {told}", {"stribeck": speed}, gain)


def own_curves(trial: Trial, before: float | Mapping[str, float] | None) -> Iterator[Law]:
    """Yield the law of Stribeck's curve with a speed of each joint's own, if it was the same for all `before`."""
    if before is None or isinstance(before, Mapping):
        return
    speeds, found, parameter_set, motion = before * OWN_SPEEDS, {}, trial.base.parameter_set, sliding_motion(trial)
    for j, name in enumerate(trial.names):
        curves = (dict(drive_columns({**parameter_set.asked, "stribeck": x}, name, j, parameter_set.widths[j])) for x in speeds)
        columns = np.stack([one["stribeck"](motion) for one in curves], axis=1)
        seen, _ = gains_of_joint(trial, j, columns, np.arange(len(speeds))[:, None], lambda kind: kind == "stribeck")
        found[name] = float(speeds[np.argmax(seen)])
    yield curve(found)


def pulling(trial: Trial, before: Mapping[str, Edge]) -> Iterator[Law]:
    """Yield the law of pulls with new edges, at joints without one in `before`, if the log shows any."""
    found = {**before, **new_edges(trial, before)}
    if found != dict(before):
        yield pulls(found)


def pulls(edges: Mapping[str, Edge], gain: float = 0.0) -> Law:
    """Return the law of pulls at joints beyond these edges."""
    told = ", ".join(f"{name} {'above' if way > 0 else 'below'} {edge:.2g}" for name, (edge, way) in edges.items())
    return Law(f"torques that grow beyond a position (rad, m), as of a cable that pulls: {told}", {"pulls": dict(edges)}, gain)


def as_found(law: Law, parameter_set: ParameterSet) -> Law:
    """Return a law with the edges or speeds that the fit found, since it seeks them again."""
    sought = {"pulls": pulls, "stribeck": curve}
    return next((sought[name](parameter_set.asked[name], law.gain) for name in law.options if name in sought), law)


def missing_laws(known: Alternatives, chosen: Mapping[str, Any] = NOTHING) -> list[Law]:
    """Return the laws worth adding to a fit, each tried by itself, in the order of the residual they leave.

    A pull comes before another law only if it leaves less than half of that law's residual: with an edge near the end of the
    recorded range it cannot be distinguished from a spring there, but predicts other torques elsewhere.

    `chosen`: options of the laws that were added before.
    """
    trial = known.fine_trial
    least = least_gain(trial.left, known.noise, trial.size)
    if least is None:
        return []
    usual = float(np.median(rms(trial.motion.qd)))
    before, found = with_columns(trial, new_columns(trial, Law("what a fit without the next law dropped", {}))), []
    hinges = tuple(joint.name for joint in trial.robot.model.joints if joint.kind in HINGES and joint.name in trial.names)
    first = (law for law in laws(hinges, usual) if not law.options.keys() & chosen.keys())
    more = cogging(trial, hinges, chosen.get("harmonics", {})), pulling(trial, chosen.get("pulls", {}))
    for law in chain(first, *more, own_curves(trial, chosen.get("stribeck"))):
        columns = new_columns(trial, law)
        if columns is None:
            continue
        left = with_columns(trial, columns)
        gain = gained(before.unseen, left.unseen) if left.unpredicted <= before.unpredicted + LAW_AS_WELL else 0.0
        if gain > least:
            found.append(law._replace(gain=gain))
    found.sort(key=lambda law: (1 - law.gain) / (1 - MOST_OF_IT if "pulls" in law.options else 1.0))
    if found and not chosen:
        faults = known.found if least == LAW_GAIN else known.lasting
        if max((one.share for one in faults), default=0.0) > max(found[0].gain, MOST_OF_IT):
            return []
    common = [isinstance(law.options.get("stribeck"), float) for law in found]
    return [with_best_speed(trial, law, before) if one else law for law, one in zip(found, common)]


def least_gain(left: Left, floor: np.ndarray, size: np.ndarray) -> float | None:
    """Return the smallest gain for which a law is added; None if only noise is left.

    It is large if a residual is above the accuracy to which drives are known, since real drives always leave such residuals, and
    small if all but a trace is explained.
    """
    beyond = structure(left.noise, floor)
    if np.any(beyond > MATTERS * size):
        return LAW_GAIN
    return SMALL_LAW_GAIN if np.any(beyond > TRACE * floor) else None


def with_best_speed(trial: Trial, law: Law, before: Left) -> Law:
    """Return Stribeck's law with the speed that leaves the smallest residual."""

    def tried(log_speed: float) -> tuple[Law, Left]:
        speed = float(np.exp(log_speed))
        told = curve(speed)
        columns = new_columns(trial, told)
        assert columns is not None  # as at the other speeds
        return told, with_columns(trial, columns)

    start = np.log(law.options["stribeck"])
    best = fminbound(lambda x: float(np.sum(np.log(tried(x)[1].noise))), start - 1.5, start + 1.5, xtol=0.02)
    closer, left = tried(float(np.asarray(best)))
    gain = gained(before.unseen, left.unseen)
    return closer._replace(gain=gain) if gain > law.gain else law


def with_columns(trial: Trial, Z: np.ndarray | None) -> Left:
    """Return the residuals with further columns Z (N, nv, d), if any, each fifth predicted by the others."""
    if Z is None:
        return fitted(trial.in_fifths.G, trial.in_fifths.samples)[1]
    return fitted(trial.in_fifths.with_columns(trial.filtered(Z)), trial.in_fifths.samples)[1]


def new_columns(trial: Trial, law: Law) -> np.ndarray | None:
    """Return the columns (N, nv, d) of those parameters of a law that the fit does not have, or has at another speed; None if it
    has them all. Those that came out impossible, and were dropped, are among them: often another law was missing."""
    parameter_set = trial.base.parameter_set
    known = {term.name for term in parameter_set.terms}.difference(parameter_set.dropped)
    asked = {**parameter_set.asked, **law.options}
    motion, found = sliding_motion(trial), []
    for j, joint in enumerate(trial.names):
        for name, column in drive_columns(asked, joint, j, parameter_set.widths[j]):
            if f"{joint}.{name}" not in known or name in law.options:
                found.append(column(motion)[:, None] * trial.only(j))
    return np.stack(found, axis=-1) if found else None


def sliding_motion(trial: Trial) -> Motion:
    """Return the motion of an excerpt, from which columns of friction are computed."""
    q, qd, qdd, _ = trial.motion
    return Motion(q, qd, qdd, trial.load, trial.sliding(trial.motion))


def gained(before: np.ndarray, after: np.ndarray) -> float:
    """Return the fraction by which squared errors in predicted fifths were reduced, from rms errors (nv,) before and after.

    It is the larger of the geometric mean over the joints and the value for all torques together.
    """
    total = np.log(np.sum(after**2) / np.sum(before**2))
    return float(1 - np.exp(min(np.mean(2 * np.log(after / before)), total)))
