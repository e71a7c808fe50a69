"""Plots of a fit: torques, residuals, spectra, friction with its data, and parameters with their intervals."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from qddot.errors import unknown_name
from qddot.identify.fit import Fit
from qddot.identify.regression.drive_terms import Motion
from qddot.identify.regression.residuals import residuals
from qddot.identify.report.tables import states
from qddot.logs.spectrum import densities, noise_floor
from qddot.model.friction import NAMES
from qddot.pictures.look import beside, color, looking_so, one, panels

POINTS = 2000
"""Largest number of samples in a curve."""

TIMES = "t [s]"
"""Label of the axis of time."""

BINS = 400
"""Number of frequency bins, over each of which a spectrum is averaged."""


def plot(fit: Fit, what: str, ax: Any) -> Any:
    """See `Fit.plot`."""
    if what == "parameters":
        return parameter_plot(fit, ax)
    if not isinstance(what, str) or what not in PANELS:
        raise unknown_name("plot", what, (*PANELS, "parameters"))
    title, across, draw = PANELS[what]
    shown, robot = Shown(fit), fit.parameter_set.robot
    found = panels(ax, robot.nv, size=(9, 1 + 1.4 * robot.nv), sharex=across == TIMES)
    for j, (each, joint) in enumerate(zip(found, robot.joint_names)):
        draw(shown, each, j)
        each.set_ylabel(f"{joint}\n{each.get_ylabel()}")
    found[-1].set_xlabel(shown.times if across == TIMES else across or found[-1].get_xlabel())
    if ax is None:
        found[0].set_title(f"{robot.name}: {title}, {shown.where}")
    beside(found[0])
    return found


def joint_plot(shown: Shown, j: int) -> Any:
    """Draw torque and residual of one joint over time, their spectrum, and friction; returns the figure."""
    with looking_so() as plt:
        figure, axes = plt.subplots(2, 2, figsize=(11, 5.2), layout="constrained", width_ratios=(1.5, 1))
        for each, (title, across, draw) in zip(axes.T.ravel(), PANELS.values()):
            draw(shown, each, j)
            each.set_title(title)
            each.set_xlabel(shown.times if across == TIMES else across or each.get_xlabel())
            if len(each.get_lines()) > 1:
                each.legend(loc="best")
    return figure


class Shown:
    """Data of the plots, from the log kept for validation, or else that of the fit; of a streamed log the chunk with most
    motion."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.log = fit, fit.judged
        self.where = "training" if fit.validation is None else "validation"
        turns = [c.parts[0].angle for c in fit.parameter_set.robot.model.mechanism.coordinates]
        self.torque = ["N m" if turning else "N" for turning in turns]
        self.speed = ["rad/s" if turning else "m/s" for turning in turns]

    @cached_property
    def left(self) -> Any:
        return residuals(self.fit.base, self.fit.estimate.theta, self.log)

    def over_time(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Times and values of a curve through filtered samples (M,), with breaks between segments."""
        t, parts = self.log.decimated(self.log.elapsed), self.log.decimated_segments
        every = max(1, len(t) // POINTS)
        times = [x for part in parts for x in (t[part][::every], [np.nan])]
        return np.concatenate(times), np.concatenate([x for part in parts for x in (y[part][::every], [np.nan])])

    @cached_property
    def times(self) -> str:
        """Label of the axis of time."""
        return TIMES if np.array_equal(self.log.elapsed, self.log.t) else f"{TIMES}, one recording after the other"

    @cached_property
    def spectra(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Frequencies, and spectral densities of the measured torques and of the residuals."""
        longest = max(self.log.segments, key=lambda s: s.stop - s.start)
        f, measured = densities(self.left.measured[longest], self.log.rate)
        return f, measured, densities(self.left.raw[longest], self.log.rate)[1]

    @cached_property
    def parameters(self) -> np.ndarray:
        """All parameters (P,), with dependent ones at zero."""
        parameter_set = self.fit.parameter_set
        return parameter_set.T[:, list(self.fit.base.independent)] @ self.fit.estimate.theta + parameter_set.constant

    def friction(self, j: int, motion: Motion) -> np.ndarray:
        """Identified friction of joint j (N,) along a motion."""
        parameter_set = self.fit.parameter_set
        first = len(parameter_set.T) - len(parameter_set.terms)
        found = np.zeros(len(motion.qd))
        for k, term in enumerate(parameter_set.terms):
            if j in term.rows and term.name.rpartition(".")[2] in NAMES and "+" not in term.name:
                found = found + term.rows[j](motion) * self.parameters[first + k]
        return found

    @cached_property
    def motion(self) -> Motion:
        log = self.log
        return self.fit.parameter_set.evaluator().at(log.q, log.qd, log.qdd).motion


def torque_panel(shown: Shown, ax: Any, j: int) -> None:
    left = shown.left
    ax.plot(*shown.over_time(left.filtered_measured[:, j]), color=color("measured"), lw=1.8, label="measured")
    ax.plot(*shown.over_time(left.filtered_predicted[:, j]), color=color("predicted"), lw=0.8, label="predicted")
    ax.set_ylabel(f"[{shown.torque[j]}]")


def residual_panel(shown: Shown, ax: Any, j: int) -> None:
    ax.plot(*shown.over_time(shown.left.filtered[:, j]), color=color("friction"), lw=0.7, label="measured less predicted")
    ax.set_ylabel(f"[{shown.torque[j]}]")


def spectrum_panel(shown: Shown, ax: Any, j: int) -> None:
    f, measured, left = shown.spectra
    edges = np.unique(np.geomspace(1, len(f), BINS).astype(int))[:-1]
    middle = np.add.reduceat(f, edges) / np.diff([*edges, len(f)])
    for density, ink, label in ((measured, "measured", "measured"), (left, "friction", "residual")):
        mean = np.add.reduceat(density[:, j], edges) / np.diff([*edges, len(f)])
        ax.loglog(middle, np.sqrt(np.maximum(mean, 1e-300)), color=color(ink), lw=1.0, label=label)
    floor = float(np.sqrt(noise_floor(f, measured)[j]))
    if floor > 0:
        ax.axhline(floor, color=color("faint"), lw=0.8, ls=":", label="white noise")
    ax.axvline(shown.log.cutoff, color=color("inertial"), lw=0.8, ls="--", label="cut-off")
    ax.set_ylabel(f"[{shown.torque[j]} / √Hz]")


def friction_panel(shown: Shown, ax: Any, j: int) -> None:
    """Draw friction found, and beside it what remains of the torques. Low-passed friction itself would bend off the curve wherever
    a joint turns back, though nothing is wrong."""
    log, left, axis = shown.log, shown.left, np.eye(shown.log.q.shape[1])[j]
    moving, v, load = left.filtered_moving[:, j], log.decimated(log.qd[:, j]), shown.motion.load
    load = log.decimated(load[:, j]) if len(load) else np.zeros_like(v)

    def friction(speed: np.ndarray, load: Any) -> np.ndarray:
        at = speed[:, None] * axis
        return shown.friction(j, Motion(at * 0, at, at * 0, np.ones_like(at) * np.reshape(load, (-1, 1))))

    few = np.flatnonzero(moving)[:: max(1, int(moving.sum()) // POINTS)]
    measured = friction(v[few], load[few]) + left.filtered[few, j]
    ax.plot(v[few], measured, ".", ms=2, color=color("measured"), rasterized=True, label="measured less the rest")
    grid = np.linspace(v.min(), v.max(), 801)
    ax.plot(grid, friction(grid, np.median(np.abs(load))), color=color("friction"), lw=1.6, label="friction found")
    ax.set_ylabel(f"[{shown.torque[j]}]")
    ax.set_xlabel(f"speed [{shown.speed[j]}]")


Panel = Callable[[Shown, Any, int], None]

PANELS: dict[str, tuple[str, str, Panel]] = {
    "torques": ("measured and predicted torque", TIMES, torque_panel),
    "residuals": ("residual", TIMES, residual_panel),
    "spectrum": ("spectrum of the torques", "frequency [Hz]", spectrum_panel),
    "friction": ("friction", "", friction_panel),
}


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
