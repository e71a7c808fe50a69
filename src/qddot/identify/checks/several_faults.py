"""Several small errors at once: zeros of two joints, a gain beside a delay, of which each alone explains too little to be named.

Each error is a column, or two, its effect on the torques by first order. In units of the joints' noise, and without what the arm's
parameters could take in, the columns are chosen one after the other: the one that takes most from the squared errors with those
chosen before, as long as that is worth a word. Whatever comes of it is fitted with the parameters, as every alternative is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from qddot.identify.checks.arm_faults import across, by_gravity, told_tilt
from qddot.identify.checks.sensor_faults import slopes, told_delay, told_zero
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.checks.verdict import listed
from qddot.thresholds import FAULTS_AT_ONCE, NEARLY_ALL, POSITION_STEP, WORTH_A_WORD

SMALL = ("delay", "tilt", "zero", "gain")
"""Kinds of errors that are looked for together: a single one that leaves much may have others beside it."""


class Error(NamedTuple):
    """A small error of a log or of its arm."""

    kind: str
    columns: np.ndarray  # (M, nv, d): its effect on the filtered torques
    text: Callable[[np.ndarray], str]  # of its size (d,)


def several(trial: Trial) -> Iterator[Alternative]:
    """Small errors that together explain nearly all that is unexplained."""
    tried = list(errors(trial))
    some = chosen(trial, [one.columns for one in tried])
    if len(some) < 2:
        return
    sizes, left = trial.with_filtered(np.concatenate([tried[k].columns for k in some], axis=-1))
    ends = np.cumsum([tried[k].columns.shape[-1] for k in some])[:-1]
    text = listed([tried[k].text(size) for k, size in zip(some, np.split(sizes, ends))])
    found = trial.told(tried[some[0]].kind, text, left)
    if found.share > NEARLY_ALL:
        yield found


def errors(trial: Trial) -> Iterator[Error]:
    """Small errors that are looked for together."""
    late, rigid = (trial.filtered(x) for x in (-slopes(trial), trial.rigid))
    yield Error("delay", late[..., None], lambda size: f"torques are {told_delay(size[0])}")
    if sideways := across(trial):
        yield Error("tilt", trial.filtered(by_gravity(trial, sideways)), told_tilt)
    for j, name in enumerate(trial.names):
        only = trial.only(j)
        moved = trial.motion._replace(q=trial.motion.q + POSITION_STEP * only)
        zero = trial.filtered(trial.predicted(moved) - trial.torques) / POSITION_STEP
        yield Error("zero", zero[..., None], lambda size, name=name: told_zero(name, size[0]))
        yield Error("delay", (late * only)[..., None], lambda size, name=name: f"torques of {name} are {told_delay(size[0])}")
        times = lambda size, name=name: f"torques of {name} are {1 + size[0]:.3g} times what they should be"  # noqa: E731
        yield Error("gain", (rigid * only)[..., None], times)


def chosen(trial: Trial, columns: list[np.ndarray]) -> list[int]:
    """Which of the errors (M, nv, d) are worth a word one after the other, the most telling first."""
    rows, M = np.zeros((trial.nv, len(trial.given), trial.base.rank)), len(trial.given)
    for j, (a, here) in enumerate(zip(trial.each(trial.given), trial.of.columns)):
        rows[j][:, here] = a[:, :-1] / trial.noise[j]
    Q = orthonormal(rows.reshape(trial.nv * M, -1))
    counts = trial.moving[..., None] / trial.noise[:, None]
    stacked = [np.moveaxis(x * counts, 1, 0).reshape(trial.nv * M, -1) for x in (trial.errors[..., None], *columns)]
    left, *new = (beyond(Q, x) for x in stacked)
    left = left[:, 0]
    whole, found = float(left @ left), []
    while len(found) < FAULTS_AT_ONCE:
        bases = [orthonormal(x) for x in new]
        gains = [float(np.sum((U.T @ left) ** 2)) for U in bases]
        best = int(np.argmax(gains))
        if gains[best] < WORTH_A_WORD * whole:
            break
        found.append(best)
        left = beyond(bases[best], left)
        new = [beyond(bases[best], x) for x in new]
    return found


def orthonormal(x: np.ndarray) -> np.ndarray:
    """An orthonormal basis of columns (N, d), without those that are next to nothing beside the others."""
    size = np.linalg.norm(x, axis=0)
    U, s, _ = np.linalg.svd(x / np.where(size > 0, size, 1.0), full_matrices=False)
    return U[:, s > 1e-6]


def beyond(Q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The part of x that an orthonormal basis Q has not."""
    return x - Q @ (Q.T @ x)
