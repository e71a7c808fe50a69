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
        yield Law(f"Stribeck's curve, halved at {share * usual:.2g} rad/s", {"stribeck": share * usual})
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
    """Return a law with the edges that the fit found, since it seeks them again."""
    return pulls(parameter_set.asked["pulls"], law.gain) if "pulls" in law.options else law


def missing_laws(known: Alternatives, chosen: Mapping[str, Any] = NOTHING) -> list[Law]:
    """Return the laws worth adding to a fit, each tried by itself, in the order of the residual they leave.

    A pull comes before another law only if it leaves less than half of that law's residual: with an edge near the end of the
    recorded range it cannot be distinguished from a spring there, but predicts other torques elsewhere.

    `chosen`: options of the laws that were added before.
    """
    trial, floor = known.fine_trial, known.signals.noise
    least = least_gain(trial.left, floor, trial.size)
    if least is None:
        return []
    usual = float(np.median(rms(trial.motion.qd)))
    before, found = fitted(trial.in_fifths.G, trial.in_fifths.samples)[1], []
    hinges = tuple(joint.name for joint in trial.robot.model.joints if joint.kind in HINGES and joint.name in trial.names)
    first = (law for law in laws(hinges, usual) if not law.options.keys() & chosen.keys())
    more = chain(cogging(trial, hinges, chosen.get("harmonics", {})), pulling(trial, chosen.get("pulls", {})))
    for law in chain(first, more):
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
    return [with_best_speed(trial, law, before) if "stribeck" in law.options else law for law in found]


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
        told = Law(f"Stribeck's curve, halved at {speed:.2g} rad/s", {"stribeck": speed})
        columns = new_columns(trial, told)
        assert columns is not None  # as at the other speeds
        return told, with_columns(trial, columns)

    start = np.log(law.options["stribeck"])
    best = fminbound(lambda x: float(np.sum(np.log(tried(x)[1].noise))), start - 1.5, start + 1.5, xtol=0.02)
    closer, left = tried(float(np.asarray(best)))
    gain = gained(before.unseen, left.unseen)
    return closer._replace(gain=gain) if gain > law.gain else law


def with_columns(trial: Trial, Z: np.ndarray) -> Left:
    """Return the residuals with further columns Z (N, nv, d), each fifth predicted by the others."""
    return fitted(trial.in_fifths.with_columns(trial.filtered(Z)), trial.in_fifths.samples)[1]


def new_columns(trial: Trial, law: Law) -> np.ndarray | None:
    """Return the columns (N, nv, d) of those parameters of a law that the fit does not have; None if it has them all."""
    q, qd, qdd, _ = trial.motion
    parameter_set = trial.base.parameter_set
    known, asked = {term.name for term in parameter_set.terms}, {**parameter_set.asked, **law.options}
    motion, found = Motion(q, qd, qdd, trial.load, trial.sliding(trial.motion)), []
    for j, joint in enumerate(trial.names):
        for name, column in drive_columns(asked, joint, j, parameter_set.widths[j]):
            if f"{joint}.{name}" not in known:
                found.append(column(motion)[:, None] * trial.only(j))
    return np.stack(found, axis=-1) if found else None


def gained(before: np.ndarray, after: np.ndarray) -> float:
    """Return the fraction by which squared errors in predicted fifths were reduced, from rms errors (nv,) before and after.

    It is the larger of the geometric mean over the joints and the value for all torques together.
    """
    total = np.log(np.sum(after**2) / np.sum(before**2))
    return float(1 - np.exp(min(np.mean(2 * np.log(after / before)), total)))
