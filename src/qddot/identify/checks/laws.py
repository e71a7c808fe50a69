"""Which laws of friction a log asks for, beyond those that every joint has.

A law is worth adding where it predicts: parameters of four fifths of the log, its own among them, then miss less of the fifth.
What it gains is the part of the squared error there that it takes away,

    gain = 1 - (product over joints of e_j^2 with it / e_j^2 without it)^(1 / joints)

The best is taken first; then, all parameters fitted anew with it, the best beside it, as long as there is much to gain. More
freedom alone gains nothing: it learns some fifths and misses the other. Where a fault of the log explains more, nothing is added:
it would only be hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain, combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.checks.alternatives import Alternatives
from qddot.identify.checks.normal_equations import Left, balanced, fitted
from qddot.identify.checks.trial import Trial
from qddot.identify.physical.identified import HINGES
from qddot.identify.regression.drive_terms import Motion, beyond, drive_columns, is_harmonic, orders
from qddot.identify.regression.residuals import rms, structure
from qddot.thresholds import (
    COGS_AT_ONCE,
    EDGE_ROUNDS,
    EDGES_TRIED,
    EDGES_WITHIN,
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
    """Something that friction may depend on besides."""

    text: str  # in words
    options: dict[str, Any]  # of `ParameterSet.of`
    gain: float = 0.0  # part of the squared error in unseen fifths that it takes away

    def __str__(self) -> str:
        return self.text


def laws(hinges: tuple[str, ...], usual: float) -> Iterator[Law]:
    """Laws of friction that can be tried, for joints that usually move at this speed; `hinges`: those of them that turn."""
    yield Law("viscous friction with powers of the speed up to the third", {"viscous": 3})
    yield Law("friction that differs between directions", {"asymmetric": True})
    for share in STRIBECK_SPEEDS:
        yield Law(f"Stribeck's curve, halved at {share * usual:.2g} rad/s", {"stribeck": share * usual})
    yield Law("friction in proportion to the load", {"load": True})
    yield Law("springs: torques in proportion to the position", {"spring": True})
    yield Law("torques that depend on the position, as of what balances an arm", {"harmonics": dict.fromkeys(hinges, 1)})


def cogging(trial: Trial, hinges: tuple[str, ...], before: Mapping[str, int | tuple[int, ...]]) -> Iterator[Law]:
    """The harmonic of each position that shows most in what is left of its torque; beside harmonics `before`, the two that do
    together: alone, one of two may look like a third between them."""
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
    """The `count` harmonics of joint j's positions that take most from what is left of its torque in unseen fifths, all parameters
    but its harmonics fitted anew with them; none where that is little."""
    tried = range(SLOWEST_COG, MOST_HARMONICS + 1)
    waves = np.stack([f(k * trial.motion.q[:, j]) for k in tried for f in (np.cos, np.sin)], axis=1)
    sets = list(combinations(range(len(tried)), count))
    at = np.array([[c for i in one for c in (2 * i, 2 * i + 1)] for one in sets])
    gains = gains_of_joint(trial, j, waves, at, is_harmonic)
    best = int(np.argmax(gains))
    return tuple(tried[i] for i in sets[best]) if gains[best] > SMALL_LAW_GAIN else ()


def pulling(trial: Trial, before: Mapping[str, tuple[float, float]]) -> Iterator[Law]:
    """Something that pulls at a joint the more the further it goes beyond an edge, one way: a hose, a cable that becomes taut. Of
    joints that have no such law `before`, the edge and the way that show most."""
    found = dict(before)
    for j, name in enumerate(trial.names):
        best = None if name in before else best_edge(trial, j)
        if best:
            found[name] = best
    if found != dict(before):
        told = ", ".join(f"{name} {'above' if way > 0 else 'below'} {edge:.2g}" for name, (edge, way) in found.items())
        yield Law(f"torques that grow beyond a position (rad, m), as of a cable that pulls: {told}", {"pulls": found})


def best_edge(trial: Trial, j: int) -> tuple[float, float] | None:
    """The edge, rad or m, and the way from which on a pull takes most from what is left of joint j's torque in unseen fifths; None
    where that is little. Sought from coarse to fine among the joint's positions."""
    q = trial.motion.q[:, j]
    low, high = np.quantile(q, EDGES_WITHIN)
    best, most = None, SMALL_LAW_GAIN
    for way in (1.0, -1.0):
        a, b = low, high
        for _ in range(EDGE_ROUNDS):
            edges = np.linspace(a, b, EDGES_TRIED)
            x = [beyond(q, edge, way) for edge in edges]
            columns = np.stack([column for one in x for column in (one, one**2)], axis=1)
            gains = gains_of_joint(trial, j, columns, np.arange(2 * EDGES_TRIED).reshape(-1, 2), lambda kind: False)
            k = int(np.argmax(gains))
            if gains[k] > most:
                best, most = (float(edges[k]), way), float(gains[k])
            a, b = edges[max(k - 1, 0)], edges[min(k + 1, EDGES_TRIED - 1)]
    return best


def gains_of_joint(trial: Trial, j: int, columns: np.ndarray, sets: np.ndarray, instead_of: Callable[[str], bool]) -> np.ndarray:
    """The part of what is left of joint j's squared errors that each set of some columns (N, d) takes away in unseen fifths.

    Args:
        sets: places of a set's columns (sets, k).
        instead_of: whether a parameter of the joint, by its kind, is left out where the columns are tried.
    """
    Z = trial.filtered(columns) * trial.moving[:, j, None]
    owner = f"{trial.names[j]}."
    others = np.array([not (name.startswith(owner) and instead_of(name.removeprefix(owner))) for name in trial.base.names])
    G = trial.known.G.sum(axis=0)[:, np.append(others, True)][..., np.append(others, True)]
    theta, noise = balanced(G, len(Z))
    A = np.zeros((len(Z), len(others)))
    A[:, trial.of.columns[j]] = trial.each(trial.given)[j][:, :-1]
    A = A[:, others]
    whole = np.tensordot((noise[j] / noise) ** 2, G[:, :-1, :-1], axes=1)
    scale = np.sqrt(np.maximum(np.diagonal(whole), 1e-300))
    instead = np.linalg.lstsq(whole / np.outer(scale, scale), (A.T @ Z) / scale[:, None], rcond=1e-12)[0] / scale[:, None]
    left = trial.measured[:, j] - A @ theta
    Z = Z - A @ instead  # what the other parameters do not take in
    parts = [(Z[part].T @ Z[part], Z[part].T @ left[part]) for part in trial.in_fifths.parts]
    gains = np.zeros(len(sets))
    for ZZ, Zy in parts:  # of each fifth, with sizes of the others
        elsewhere, there = sum(one for one, _ in parts) - ZZ, sum(one for _, one in parts) - Zy
        inverse = np.linalg.pinv(elsewhere[sets[:, :, None], sets[:, None, :]], 1e-9, hermitian=True)
        size = np.einsum("sij,sj->si", inverse, there[sets])
        gains += np.einsum("si,si->s", size, 2 * Zy[sets] - np.einsum("sij,sj->si", ZZ[sets[:, :, None], sets[:, None, :]], size))
    return gains / max(float(left @ left), 1e-300)


def missing_laws(known: Alternatives, chosen: Mapping[str, Any] = NOTHING) -> list[Law]:
    """The laws that a log asks for, each by itself, beyond those of its fit, the most telling first. `chosen`: options of the laws
    that were added before."""
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
    gain = gained(before.unseen, left.unseen)
    return closer._replace(gain=gain) if gain > law.gain else law


def with_columns(trial: Trial, Z: np.ndarray) -> Left:
    """Errors that remain with columns Z (N, nv, d) besides, each fifth predicted by the others."""
    return fitted(trial.in_fifths.with_columns(trial.filtered(Z) * trial.moving[..., None]), trial.in_fifths.samples)[1]


def new_columns(trial: Trial, law: Law) -> np.ndarray | None:
    """Return the effect on the torques (N, nv, d) of those parameters of a law that the fit has not; None: it has them all."""
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
    """The part of the squared errors in unseen fifths, each joint's (nv,), that is gone, in the geometric mean of the joints or of
    all torques."""
    total = np.log(np.sum(after**2) / np.sum(before**2))
    return float(1 - np.exp(min(np.mean(2 * np.log(after / before)), total)))
