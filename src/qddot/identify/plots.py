"""A fit as pictures: torques, what is left of them, and the parameters with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import unknown_name
from qddot.identify.report import states
from qddot.pictures.look import beside, color, one, panels, units

if TYPE_CHECKING:
    from qddot.identify.fit import Fit

POINTS = 2000
"""Samples that a curve shows at most."""


def plot(fit: Fit, what: str, ax: Any) -> Any:
    """See `Fit.plot`."""
    if what not in PLOTS:
        raise unknown_name("plot", what, PLOTS)
    return PLOTS[what](fit, ax)


def judged(fit: Fit) -> tuple[Any, str, slice]:
    """The residuals that are shown, of which log they are, and which samples of them."""
    errors, where = (fit.training, "training") if fit.validation is None else (fit.validation, "validation")
    return errors.shown, where, slice(None, None, max(1, len(errors.shown.t_filtered) // POINTS))


def torque_plot(fit: Fit, ax: Any) -> np.ndarray:
    shown, where, some = judged(fit)
    found = joint_panels(fit, ax, f"measured and predicted, {where}, filtered")
    for j, each in enumerate(found):
        each.plot(shown.t_filtered[some], shown.filtered_measured[some, j], color=color("measured"), lw=1.6, label="measured")
        each.plot(shown.t_filtered[some], shown.filtered_predicted[some, j], color=color("predicted"), lw=0.8, label="predicted")
    beside(found[0])
    return found


def residual_plot(fit: Fit, ax: Any) -> np.ndarray:
    shown, where, some = judged(fit)
    found = joint_panels(fit, ax, f"residuals, {where}, filtered")
    for j, each in enumerate(found):
        each.plot(shown.t_filtered[some], shown.filtered[some, j], color=color("friction"), lw=0.7)
    return found


def joint_panels(fit: Fit, ax: Any, title: str) -> np.ndarray:
    robot = fit.columns.robot
    found = panels(ax, len(robot.joint_names), size=(9, 1 + 1.4 * len(robot.joint_names)))
    for each, joint in zip(found, robot.joint_names):
        each.set_ylabel(f"{joint}\n[{units(robot.model.mechanism, 'N m', 'N')}]")
    found[-1].set_xlabel("t [s]")
    if ax is None:
        found[0].set_title(f"{robot.name}: {title}")
    return found


def parameter_plot(fit: Fit, ax: Any) -> Any:
    ax = one(ax, size=(9, 0.2 * fit.base.rank + 1.2))
    scale = np.maximum(np.abs(fit.estimate.theta), fit.estimate.std)
    low, high = (fit.estimate.intervals / scale[:, None]).T
    known = np.array([said == "identified" for said in states(fit)])
    for those, ink, label in ((known, color("inertial"), "identified"), (~known, color("measured"), "not, or poorly, known")):
        at = np.flatnonzero(those)
        if len(at):
            middle, half = (fit.estimate.theta / scale)[at], (high - low)[at] / 2
            ax.errorbar(middle, at, xerr=half, fmt="o", ms=3, lw=1, color=ink, label=label)
    ax.axvline(0, color=color("faint"), lw=0.8)
    ax.set_yticks(range(fit.base.rank), fit.base.names, fontsize=7)
    ax.set_ylim(fit.base.rank - 0.5, -0.5)
    ax.set_xlabel("value and 95 % interval, relative to the value [-]")
    beside(ax)
    return ax


PLOTS = {"torques": torque_plot, "residuals": residual_plot, "parameters": parameter_plot}
