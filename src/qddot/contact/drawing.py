"""Plots over time of a motion among contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.pictures.look import beside, color, coordinate_names, curves, panels, units

if TYPE_CHECKING:
    from qddot.contact.time_stepping import ContactMotion


def plot(motion: ContactMotion, ax: Any) -> np.ndarray:
    """See `ContactMotion.plot`."""
    contacts = motion.contacts
    mechanism = contacts.robot.model.mechanism
    q, qd, force, energy = found = panels(ax, 4, size=(8, 8))
    curves(q, motion.t, motion.q, coordinate_names(mechanism, "q"), "positions q", units(mechanism, "rad", "m"))
    curves(qd, motion.t, motion.qd, coordinate_names(mechanism, "v"), "speeds qd", units(mechanism, "rad/s", "m/s"))
    touched = np.flatnonzero((motion.force[..., 0] > 0).any(0))
    for k in touched:
        force.plot(motion.t, motion.force[:, k, 0], label=contacts.pair_name(int(k)))
    force.set_ylabel("normal forces [N]")
    energy.plot(motion.t, motion.energy, color=color("ink"))
    energy.set_ylabel("energy [J]")
    energy.set_xlabel("t [s]")
    beside(q)
    if len(touched):
        beside(force)
    if ax is None:
        q.set_title(f"{contacts.robot.name}, among contacts")
    return found
