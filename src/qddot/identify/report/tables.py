"""The parameters of a fit as tables of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from qddot.card import Card, Table
from qddot.identify.checks.positive import never_negative
from qddot.identify.regression.bodies import body_inertias

if TYPE_CHECKING:
    from qddot.identify.fit import Fit


def states(fit: Fit) -> list[str]:
    """Word for each parameter: identified only if the fit is, if the value can exist, and if it is known to a factor of
    two at least."""
    if not fit.verdict.identified:
        return ["not identified"] * fit.base.rank
    return [state(*each) for each in zip(fit.estimate.theta, fit.estimate.intervals, never_negative(fit.base))]


def state(value: float, interval: np.ndarray, positive: bool) -> str:
    low, high = interval
    if positive and high < 0:
        return "impossible: cannot be negative"
    if low <= 0 <= high:
        return "not distinguishable from 0"
    if high - low > abs(value):
        return f"poorly known: +- {(high - low) / 2 / abs(value):.0%}"
    return "identified"


def rows(fit: Fit) -> Iterator[tuple[str, ...]]:
    """Name, value, standard deviations (by blocks, classical), interval, state."""
    classical = dict(zip(fit.base.names, fit.estimate.std_classical))
    for (name, value), said in zip(fit.parameters.items(), states(fit)):
        low, high = fit.intervals[name]
        yield name, f"{value:.5g}", f"{fit.std[name]:.2g}", f"{classical[name]:.2g}", f"{low:.4g} to {high:.4g}", said


HEAD = ("base parameter", "value", "std (blocks)", "std (classical)", "95 % interval", "")
STANDS_FOR = "stands for"  # since a base parameter is a sum of parameters, of which only the first names it


def parameter_table(fit: Fit) -> Table:
    found = list(rows(fit))
    doubtful = frozenset(k for k, row in enumerate(found) if row[-1] != "identified")
    return Table([*HEAD, STANDS_FOR], [[*row, fit.base.combination(row[0])] for row in found], doubtful=doubtful)


def card(fit: Fit) -> Card:
    """Card by which a fit shows itself: the verdict, errors of the torques, the parameters."""
    name, line = repr(fit).split(": ", 1)
    unseen = [] if fit.cross_validation is None else [str(fit.cross_validation).splitlines()[0]]
    return Card(name, [line, *unseen, str(fit.verdict)], [parameter_table(fit)])


# CAD against identified -----------------------------------------------------------------------------------------------------


def described_table(fit: Fit) -> Table:
    """Base parameters as described and as identified; rows are marked where the interval leaves the description out."""
    found, doubtful = [], set()
    for k, (name, value, described) in enumerate(zip(fit.base.names, fit.estimate.theta, fit.base.described)):
        low, high = fit.intervals[name]
        agrees = low <= described <= high
        if not agrees:
            doubtful.add(k)
        off = (described - value) / max(float(fit.estimate.std[k]), 1e-300)
        said = "agrees" if agrees else f"{off:+.1f} std" if abs(off) < 1000 else "far off"
        found.append([name, f"{described:.5g}", f"{value:.5g}", f"{low:.4g} to {high:.4g}", said])
    return Table(["base parameter", "as described", "identified", "95 % interval", ""], found, doubtful=frozenset(doubtful))


def link_table(fit: Fit) -> Table:
    """Mass and centre of mass of each link as described and in `fit.robot`."""
    found = []
    before, after = body_inertias(fit.parameter_set.robot), body_inertias(fit.robot)
    for body, old in before.items():
        new = after[body]
        found.append([body, f"{old[0]:.4g}", f"{new[0]:.4g}", centre(old), centre(new)])
    return Table(["link", "mass, described, kg", "in fit.robot, kg", "centre of mass, described, m", "in fit.robot, m"], found)


def centre(ten: np.ndarray) -> str:
    return ", ".join(f"{x / ten[0]:.3f}" for x in ten[1:4]) if ten[0] > 0 else "-"


def error_table(fit: Fit) -> Table:
    """Errors of the torques of all joints together."""
    found = []
    for name, errors in (("training", fit.training), ("validation", fit.validation)):
        if errors is not None:
            values = (errors.relative, errors.relative_raw, errors.nrms, errors.nrms_raw)
            found.append([name, *("-" if np.isnan(x) else f"{x:.3%}" for x in values)])
    return Table(["", "relative, filtered", "relative, raw", "NRMS, filtered", "NRMS, raw"], found)


def joint_table(fit: Fit) -> Table:
    """Errors of each joint's torques, N m (N)."""
    found, unseen = [], fit.validation
    for j, joint in enumerate(fit.parameter_set.robot.joint_names):
        values = [fit.estimate.sigma[j], fit.estimate.unseen[j], fit.training.rms[j]]
        values += [unseen.rms[j], unseen.rms_raw[j]] if unseen is not None else [np.nan, np.nan]
        found.append([joint, *("-" if np.isnan(x) else f"{x:.4g}" for x in values)])
    return Table(["joint", "noise, N m", "unseen blocks, N m", "training, N m", "validation, N m", "validation raw, N m"], found)
