"""Plots of trajectories over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import unknown_name
from qddot.pictures.look import beside, color, coordinate_names, curves, panels, units

if TYPE_CHECKING:
    from qddot.simulate.trajectory import Trajectory

SIGNALS = {
    "q": ("positions", "rad", "m"),
    "qd": ("speeds", "rad/s", "m/s"),
    "qdd": ("accelerations", "rad/s²", "m/s²"),
    "tau": ("joint forces", "N m", "N"),
    "energy": ("energy", "J", "J"),
}
USUAL = ("q", "qd", "tau", "energy")


def plot(motion: Trajectory, signals: tuple[str, ...], ax: Any) -> np.ndarray:
    """See `Trajectory.plot`."""
    for signal in signals:
        if not isinstance(signal, str) or signal not in SIGNALS:
            raise unknown_name("signal", signal, SIGNALS)
    chosen = signals or USUAL[: len(USUAL) if ax is None else np.size(ax)]
    found = panels(ax, len(chosen), size=(8, 1.2 + 1.7 * len(chosen)))
    for each, signal in zip(found, chosen):
        (energies if signal == "energy" else joints)(each, motion, signal)
    for k in {0, *(k for k, signal in enumerate(chosen) if signal == "energy")}:  # one legend serves all panels of joints
        beside(found[k])
    found[-1].set_xlabel("t [s]")
    if ax is None:
        found[0].set_title(f"{motion.robot.name}, moving")
    return found


def joints(ax: Any, motion: Trajectory, signal: str) -> None:
    """Draw one signal of all joints over time."""
    what, *both = SIGNALS[signal]
    mechanism = motion.robot.model.mechanism
    names, values = coordinate_names(mechanism, "q" if signal == "q" else "v"), getattr(motion, signal)
    curves(ax, motion.t, values, names, f"{what} {signal}", units(mechanism, *both))
    if not values.any():  # all zero: on an automatic scale of hundredths the curves would look like measurements
        ax.set_ylim(-1, 1)
        ax.set_yticks([0])


def energies(ax: Any, motion: Trajectory, signal: str) -> None:
    """Draw kinetic and potential energy and their sum over time."""
    for name, role in (("kinetic", "inertial"), ("potential", "gravity")):
        ax.plot(motion.t, getattr(motion, f"{name}_energy"), color=color(role), label=name)
    ax.plot(motion.t, motion.energy, color=color("ink"), linestyle="--", label="sum")
    ax.set_ylabel(f"{signal} [J]")
