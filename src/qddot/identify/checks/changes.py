"""Alternatives for changes in the course of a log: a brake that drags for a while, warming friction, a lower gain, another load.

An effect that lasts from part a to part b of a log is a column, or several, that are 0 elsewhere. With z_k their signals in part k
alone, projected off the columns of that joint's parameters, all such columns are compared at once: those of parts a to b reduce the
squared residual e by

    g . H^-1 g,        g = sum of z_k^T e,   H = sum of z_k^T z_l,        k and l from a to b

The best is then fitted together with the parameters, like every alternative.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from qddot.identify.checks.normal_equations import Left, fitted
from qddot.identify.checks.trial import Alternative, Trial, later_half
from qddot.identify.checks.verdict import listed
from qddot.identify.regression.drive_terms import is_friction
from qddot.model.friction import smooth_step
from qddot.thresholds import (
    CHANGE_PARTS,
    CLEARLY,
    INDEPENDENT,
    MATTERS,
    NEARLY_ALL,
    PLACES_NAMED,
    SHORT_WHILE,
    SHOWS_THERE,
    STANDS_OUT,
    TRIAL_PARTS,
    WORTH_A_WORD,
)


def changes(trial: Trial) -> Iterator[Alternative]:
    """Alternatives that hold for a part of the log only, or grow in its course."""
    acting = (trial.sliding_torques, trial.torques, directions(trial))
    friction, torques, sliding = (trial.filtered(x) for x in acting)
    laws = friction_columns(trial)
    for j, name in enumerate(trial.names):
        only = trial.only(j)
        yield dragged(trial, sliding * only, j)
        if laws[j].shape[-1]:
            yield stepped(trial, "friction changes", f"friction of {name}", friction * only, laws[j], j)
        yield stepped(trial, "gain changes", f"the torque of {name}", torques * only, None, j)
        yield drifting(trial, f"the torque of {name}", torques * only, j)
    if trial.nv > 1:
        if any(law.shape[-1] for law in laws):
            yield stepped(trial, "friction changes", "friction of all joints", friction, np.concatenate(laws, axis=-1))
        yield stepped(trial, "gain changes", "the torque of all joints", torques)
        yield drifting(trial, "the torque of all joints", torques)
    yield from for_a_while(trial)
    yield from from_then_on(trial)


def directions(trial: Trial) -> np.ndarray:
    """Direction of each joint's motion (N, nv), smoothed like dry friction."""
    sliding, qd = trial.sliding(trial.motion), trial.motion.qd
    return smooth_step(qd if sliding is None else sliding, np.maximum(trial.base.parameter_set.widths, 1e-12))


def dragged(trial: Trial, z: np.ndarray, j: int) -> Alternative:
    """A brake that acts on joint j for a while with a signal z (M, nv)."""
    a, b = best_stretch(trial, z[..., None])
    (size,), left = trial.with_filtered((z * within(trial, a, b))[..., None], passing=True)
    more = "more" if size > 0 else "less"
    text = f"the torque of {trial.names[j]} has {abs(size):.2g} N m {more} in the direction of its motion {trial.between(a, b)}"
    return trial.told("brake", f"{text} (a brake?)" if size > 0 else text, left, j)


def friction_columns(trial: Trial) -> list[np.ndarray]:
    """For each joint the filtered torques (M, nv, d) of one unit of each of its constants of friction."""
    found = []
    for j, (rows, here) in enumerate(zip(trial.each(trial.given), trial.regressor.columns)):
        some = np.array([is_friction(trial.base.names[k]) for k in here])
        found.append(rows[:, None, :-1][..., some] * trial.only(j)[:, None])
    return found


def stepped(trial: Trial, kind: str, what: str, z: np.ndarray, laws: np.ndarray | None = None, *joints: int) -> Alternative:
    """A part z (M, nv) of the torques that changes from some time on: each joint's by a factor, or the sizes of several `laws`
    (M, nv, d), each by its own, as z is made of them in proportions that the change has falsified."""
    columns = each_alone(z) if laws is None else laws
    a, b = best_stretch(trial, columns, to_the_end=True)
    later = within(trial, a, b)
    by, left = trial.with_filtered(columns * later[..., None], passing=True)
    more = np.sum(columns * by, axis=-1)
    factors = np.sum(more * z, axis=0)[np.any(z, axis=0)] / np.sum(z**2, axis=0)[np.any(z, axis=0)]
    return trial.told(kind, f"{what} changes {trial.since(a)}{by_how_much(trial, z, factors)}", left, *joints)


def drifting(trial: Trial, what: str, z: np.ndarray, *joints: int) -> Alternative:
    """Torques z (M, nv) that grow or shrink in the course of the log, each joint by its own factor."""
    s = np.linspace(0, 1, len(z))[:, None]
    by, left = trial.with_filtered(np.concatenate([each_alone(z * s), each_alone(z * s**2)], axis=-1), passing=True)
    text = f"{what} changes in the course of the log{by_how_much(trial, z, by.reshape(2, -1).sum(axis=0))}"
    return trial.told("gain changes", f"{text}, as by a motor that warms", left, *joints)


def each_alone(z: np.ndarray) -> np.ndarray:
    """Split a signal (M, nv) into a column (M, nv, d) for each of the d joints at which it is not 0."""
    return z[..., None] * np.eye(z.shape[1])[:, np.any(z, axis=0)]


def by_how_much(trial: Trial, z: np.ndarray, by: np.ndarray) -> str:
    """Changes `by` (d,) of the joints at which a signal z (M, nv) is not 0, in words."""
    if len(by) == 1:
        return f" by {by[0]:+.0%}"
    return ", by " + ", ".join(f"{x:+.0%} at {name}" for name, x in zip(np.array(trial.names)[np.any(z, axis=0)], by))


def best_stretch(trial: Trial, Z: np.ndarray, *, to_the_end: bool = False) -> tuple[int, int]:
    """The rows [a, b) in which further columns Z (M, nv, d), each of one joint, would explain most; `to_the_end`: b is the number
    of rows."""
    cuts, e = trial.cuts(CHANGE_PARTS), trial.errors / trial.noise
    parts = np.searchsorted(cuts, np.arange(len(Z)), side="right") - 1
    n = len(cuts) - 1
    first, last = np.triu_indices(n + 1, 1)
    if to_the_end:
        first = np.arange(n // 10, n - n // 10)  # a change at either end would be one of the whole log
        last = np.full(len(first), n)
    gain = np.zeros(len(first))
    for j, Q in enumerate(trial.bases):
        z = Z[:, j, np.any(Z[:, j], axis=0)] / trial.noise[j]
        d = z.shape[1]
        if not d:
            continue
        apart = np.zeros((len(z), n, d))
        apart[np.arange(len(z)), parts] = z
        apart = apart.reshape(len(z), n * d)
        apart -= Q @ (Q.T @ apart)
        H = apart.T @ apart
        g = np.pad((apart.T @ e[:, j]).reshape(n, d).cumsum(axis=0), ((1, 0), (0, 0)))
        S = np.pad(H.reshape(n, d, n, d).cumsum(axis=0).cumsum(axis=2), ((1, 0), (0, 0), (1, 0), (0, 0)))
        power = S[last, :, last] - S[first, :, last] - S[last, :, first] + S[first, :, first]
        power += 1e-9 * np.trace(H) * np.eye(d)  # which the model's own columns explain as well
        change = g[last] - g[first]
        gain += np.sum(change * np.linalg.solve(power, change[..., None])[..., 0], axis=1)
    k = int(np.argmax(gain))
    return int(cuts[first[k]]), int(cuts[last[k]])


def within(trial: Trial, a: int, b: int) -> np.ndarray:
    """1 in rows [a, b), else 0 (M, 1)."""
    row = np.arange(len(trial.given))[:, None]
    return ((row >= a) & (row < b)).astype(float)


def for_a_while(trial: Trial) -> Iterator[Alternative]:
    """A contact during some stretch of time, which is left out, if that changes the parameters: errors of a law that is missing
    come and go, too, but wherever they do the parameters are about the same."""
    power = standing_out(trial, trial.errors, trial.noise)
    cuts = trial.cuts(TRIAL_PARTS)
    sums = np.array([power[a:b].sum() for a, b in pairwise(cuts)])
    a, b = about_peak(sums, int(SHORT_WHILE * TRIAL_PARTS))
    text = f"something else acts on the arm {trial.between(cuts[a], cuts[b])} (a contact?)"
    found = trial.told("contact", text, outside(trial, within(trial, cuts[a], cuts[b])[:, 0] > 0)[1])
    if trial.elsewhere(found) > MATTERS:
        yield found


def contacts(trial: Trial) -> Iterator[Alternative]:
    """Several contacts, if they explain nearly all. To be tried only if nothing else is found, since leaving out the worst parts of
    a log explains much of any residual that comes and goes."""
    cuts, errors, left = trial.cuts(CHANGE_PARTS), trial.errors, trial.left
    some = np.zeros(len(cuts) - 1, bool)
    for _ in range(2):  # parameters fitted without the first contacts reveal further ones
        some = worst_parts(standing_out(trial, errors, left.noise), cuts)
        theta, left = outside(trial, np.repeat(some, np.diff(cuts)))
        errors = trial.measured - trial.regressor.torques(trial.given, theta)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], some, [False]]))).reshape(-1, 2)
    power = np.array([np.sum(standing_out(trial, errors, left.noise)[cuts[a] : cuts[b]]) for a, b in ends])
    stretches = ends[power > WORTH_A_WORD * power.max(initial=0.0)]  # not those that the other samples hardly determine
    told = listed([trial.between(cuts[a], cuts[b]) for a, b in stretches[:PLACES_NAMED]]) if len(stretches) else ""
    more = f" and {len(stretches) - PLACES_NAMED} times more" if len(stretches) > PLACES_NAMED else ""
    found = trial.told("contact", f"something else acts on the arm {told}{more} (contacts?)", left)
    if len(stretches) > 1 and found.share > CLEARLY and trial.elsewhere(found) > MATTERS:
        yield found


def standing_out(trial: Trial, errors: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Squared errors of all joints together (M,), in units of their noise (nv,), beyond what friction causes that holds a joint for
    a moment, which is no contact."""
    return np.sum((np.maximum(np.abs(errors) - trial.holding, 0.0) / noise) ** 2, axis=1)


def worst_parts(power: np.ndarray, cuts: list[int]) -> np.ndarray:
    """Mask of the parts of a log whose squared errors (M,) stand out, limited to the worst ones of a short time together."""
    mean = np.array([power[a:b].mean() for a, b in pairwise(cuts)])
    worst = np.argsort(-mean)
    short = np.cumsum(np.diff(cuts)[worst]) < SHORT_WHILE * len(power)
    some = np.zeros(len(mean), bool)
    some[worst[short & (mean[worst] > STANDS_OUT * np.median(mean))]] = True
    return some


def outside(trial: Trial, some: np.ndarray) -> tuple[np.ndarray, Left]:
    """Fit without the rows `some` (M,): parameters (r,) and residuals."""
    rest = trial.equations(trial.given[~some], later_half(int(np.sum(~some))))
    return fitted(rest.G, rest.samples)


def from_then_on(trial: Trial) -> Iterator[Alternative]:
    """Another load, or arm, from some time on, if that explains nearly all: all parameters change. Before and after are fitted by
    themselves, and what counts is how well every other part of either is predicted by those between."""
    rows, cuts = trial.given, trial.cuts(TRIAL_PARTS)
    none = np.zeros(len(rows), bool)
    each = np.stack([trial.equations(rows[a:b], none[a:b]).G[0] for a, b in pairwise(cuts)])
    known, moves = INDEPENDENT * trial.nv, np.cumsum(trial.moving.any(axis=1))  # independent torques a row, since rows overlap
    for k, cut in enumerate(cuts[3:-3], start=3):
        count = cut, len(rows) - cut
        if known * min(moves[cut - 1], moves[-1] - moves[cut - 1]) <= trial.base.rank:
            continue  # so few rows would fit any arm
        halves = (np.stack([side[::2].sum(axis=0), side[1::2].sum(axis=0)]) for side in (each[:k], each[k:]))
        sides = [fitted(G, n)[1] for G, n in zip(halves, count)]
        noise = np.sqrt(sum(n * side.unseen**2 for n, side in zip(count, sides)) / len(rows))  # seen, more parameters leave less
        shows = [name for name, ratio in zip(trial.names, noise / trial.noise) if ratio**2 < 1 - SHOWS_THERE]
        where = f" (at {', '.join(shows)})" if 0 < len(shows) < trial.nv else ""
        text = f"{trial.since(cut)} the arm carries another load, or is another one{where}"
        found = trial.told("load", text, Left(noise, max(side.unpredicted for side in sides), noise))
        if found.share > NEARLY_ALL:
            yield found


def about_peak(x: np.ndarray, longest: int) -> tuple[int, int]:
    """The range [a, b) around the largest value, with neighbours that stand out too, of at most `longest` values."""
    a, usual = int(np.argmax(x)), STANDS_OUT * np.median(x)
    b = a + 1
    while b - a < longest:
        before, after = x[a - 1] if a else 0.0, x[b] if b < len(x) else 0.0
        if max(before, after) <= usual:
            break
        a, b = (a - 1, b) if before > after else (a, b + 1)
    return a, b
