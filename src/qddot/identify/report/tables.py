"""Tables of a fit's parameters and errors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from qddot.algorithms.regressor import INERTIAL
from qddot.card import Card, Table
from qddot.identify.checks.positive import never_negative
from qddot.identify.checks.verdict import between
from qddot.identify.fit import Fit
from qddot.identify.regression.bodies import body_inertias
from qddot.identify.regression.drive_terms import PULLS, is_harmonic
from qddot.identify.regression.parameter_set import ParameterSet
from qddot.model.details import WORDS, units
from qddot.model.friction import OTHER_WAY


def states(fit: Fit) -> list[str]:
    """State of each parameter in words: identified only if the fit is, if the value is possible, and if its 95 % interval is within
    half the value to each side."""
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
    """Yield name, value with unit, standard deviations (by blocks, classical), interval and state of each parameter."""
    classical = dict(zip(fit.base.names, fit.estimate.std_classical))
    for (name, value), said in zip(fit.parameters.items(), states(fit)):
        low, high = fit.intervals[name]
        value = f"{value:.5g} {unit(fit.parameter_set, name)}".strip()
        yield name, value, f"{fit.std[name]:.2g}", f"{classical[name]:.2g}", between(low, high), said


def unit(parameter_set: ParameterSet, name: str) -> str:
    """Return the unit of a parameter of this name; none for a ratio, such as friction by the load."""
    owner, _, kind = name.rpartition(".")
    kinds = {joint.name: joint.kind for joint in parameter_set.robot.model.joints}
    if kind in INERTIAL:
        return "kg" if kind == "m" else "kg m" if kind.startswith("mc") else "kg m^2"
    x, f = units(kinds.get(owner, "revolute"))  # no joint's name: coupled motors, of hinges
    if kind == "armature":
        return "kg" if x == "m" else "kg m^2"
    if kind in PULLS:
        return f"{f}/{x}" if kind == PULLS[0] else f"{f}/{x}^2"
    if is_harmonic(kind):
        return f
    constant = {"stribeck": "coulomb", "load": "load_friction"}.get(kind, kind).removesuffix(OTHER_WAY)
    return WORDS[constant][1].format(x=x, f=f)


HEAD = ("base parameter", "value", "std (blocks)", "std (classical)", "95 % interval", "state")
STANDS_FOR = "stands for"  # heads the column with the combination that a base parameter is


def parameter_table(fit: Fit) -> Table:
    found = list(rows(fit))
    doubtful = frozenset(k for k, row in enumerate(found) if row[-1] != "identified")
    deviations = frozenset(k for k, name in enumerate(HEAD) if name.startswith("std"))
    whole = [[*row, fit.base.combination(row[0])] for row in found]
    return Table([*HEAD, STANDS_FOR], whole, doubtful=doubtful, spare=deviations, below=len(HEAD))


def card(fit: Fit) -> Card:
    """Card that displays a fit in notebooks and consoles: the verdict, errors of the torques, the parameters."""
    name, line = repr(fit).split(": ", 1)
    unseen = [] if fit.cross_validation is None else [str(fit.cross_validation).splitlines()[0]]
    return Card(name, [line, *unseen, str(fit.verdict)], [parameter_table(fit)])


# CAD against identified -----------------------------------------------------------------------------------------------------


def described_table(fit: Fit) -> Table:
    """Base parameters as described and as identified; rows are marked where the interval leaves the description out."""
    found, estimate = [], fit.estimate
    for name, value, described, std in zip(fit.base.names, estimate.theta, fit.base.described, estimate.std.tolist()):
        low, high = fit.intervals[name]
        off = (described - value) / max(std, 1e-300)
        said = "agrees" if low <= described <= high else f"{off:+.1f} std" if abs(off) < 1000 else "far off"
        value = f"{value:.5g} {unit(fit.parameter_set, name)}".strip()
        found.append([name, f"{described:.5g}", value, between(low, high), said])
    doubtful = frozenset(k for k, row in enumerate(found) if row[-1] != "agrees")
    return Table(["base parameter", "as described", "identified", "95 % interval", ""], found, doubtful=doubtful)


def link_table(fit: Fit) -> Table:
    """Mass and centre of mass of each link as described and in `fit.robot`."""
    before, after = body_inertias(fit.parameter_set.robot), body_inertias(fit.robot)
    both = ((body, old, after[body]) for body, old in before.items())
    found = [[body, f"{old[0]:.4g}", f"{new[0]:.4g}", centre(old), centre(new)] for body, old, new in both]
    return Table(["link", "mass, described, kg", "in fit.robot, kg", "centre of mass, described, m", "in fit.robot, m"], found)


def centre(ten: np.ndarray) -> str:
    return ", ".join(f"{x / ten[0]:.3f}" for x in ten[1:4]) if ten[0] > 0 else "-"


def error_table(fit: Fit) -> Table:
    """Relative errors of the torques of all joints together."""
    found = []
    for name, errors in (("training", fit.training), ("validation", fit.validation)):
        if errors is not None:
            values = (errors.relative, errors.relative_raw, errors.nrms, errors.nrms_raw)
            found.append([name, *("-" if np.isnan(x) else f"{x:.3%}" for x in values)])
    return Table(["", "relative, filtered", "relative, raw", "NRMS, filtered", "NRMS, raw"], found)


def joint_table(fit: Fit) -> Table:
    """Rms errors of each joint's torques, N m (N)."""
    found, unseen = [], fit.validation
    for j, joint in enumerate(fit.parameter_set.robot.joint_names):
        values = [fit.estimate.sigma[j], fit.estimate.unseen[j], fit.training.rms[j], fit.training.rms_raw[j]]
        values += [unseen.rms[j], unseen.rms_raw[j]] if unseen is not None else []
        found.append([joint, *("-" if np.isnan(x) else f"{x:.4g}" for x in values)])
    head = ["joint", "noise", "unseen blocks", "training", "training, raw"]
    head += ["validation", "validation, raw"] if unseen is not None else []
    return Table(head, found, "Rms errors of each joint's torques, N m (N)")
