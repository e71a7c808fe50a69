"""Alternative of several small errors at once, such as two zeros or a gain and a delay, of which each explains too little alone.

Each error is one column or two, its effect on the torques to first order, in units of the joints' noise and projected off the
columns of the arm's parameters. They are chosen greedily: in each step the error that reduces the squared residual most, as long as
that is enough to be mentioned. The chosen ones are then fitted together with the parameters, like every alternative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from qddot.identify.checks.arm_faults import across, by_gravity, told_tilt
from qddot.identify.checks.sensor_faults import told_delay, told_zero
from qddot.identify.checks.trial import Alternative, Trial
from qddot.identify.checks.verdict import listed
from qddot.identify.regression.signals import slopes
from qddot.identify.scaling import column_lengths
from qddot.thresholds import FAULTS_AT_ONCE, NEARLY_ALL, POSITION_STEP, WORTH_A_WORD

SMALL = ("delay", "tilt", "zero", "gain")
"""Kinds of errors that are combined: if a single one leaves much unexplained, there may be others."""


class Error(NamedTuple):
    """A small error of a log or of its arm."""

    kind: str
    columns: np.ndarray  # (M, nv, d): its effect on the filtered torques
    text: Callable[[np.ndarray], str]  # describes the error by its size (d,)


def several(trial: Trial) -> Iterator[Alternative]:
    """Yield the combination of small errors, if it explains nearly all of the residual."""
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
    """Yield the small errors that may be combined."""
    late, rigid = (trial.filtered(x) for x in (-slopes(trial.torques, trial.signals), trial.rigid))
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
    """Indices of the errors (M, nv, d) that are chosen, in the order of choice."""
    rows, M = np.zeros((trial.nv, len(trial.given), trial.base.rank)), len(trial.given)
    for j, (a, here) in enumerate(zip(trial.each(trial.given), trial.regressor.columns)):
        rows[j][:, here] = a[:, :-1] / trial.noise[j]
    Q = orthonormal(rows.reshape(trial.nv * M, -1))
    weights = 1 / trial.noise[:, None]
    stacked = [np.moveaxis(x * weights, 1, 0).reshape(trial.nv * M, -1) for x in (trial.errors[..., None], *columns)]
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
    """An orthonormal basis of columns (N, d), without directions in which they hardly differ."""
    U, s, _ = np.linalg.svd(x / column_lengths(x), full_matrices=False)
    return U[:, s > 1e-6]


def beyond(Q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The part of x that is orthogonal to an orthonormal basis Q."""
    return x - Q @ (Q.T @ x)
