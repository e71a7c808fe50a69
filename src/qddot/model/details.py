"""A robot in words and as data: each moving link with its joint, limits, inertia and drive."""

from __future__ import annotations

import math
from typing import Any

from qddot.model.description import Joint, Limits
from qddot.model.diagram import joint_words
from qddot.model.drive import Drive
from qddot.model.inertia import Inertia
from qddot.model.lower import in_order
from qddot.model.model import Model
from qddot.model.scalar import few_digits, is_symbolic, is_zero
from qddot.model.spatial import upper

WORDS = {
    "gear_ratio": ("gear", ""),
    "rotor_inertia": ("rotor", "kg m^2"),
    "viscous": ("viscous", "{f} s/{x}"),
    "damping": ("damper", "{f} s/{x}"),
    "coulomb": ("Coulomb", "{f}"),
    "static": ("static", "{f}"),
    "stribeck_velocity": ("Stribeck speed", "{x}/s"),
    "smoothing_velocity": ("smoothed below", "{x}/s"),
    "viscous_quadratic": ("quadratic", "{f} s^2/{x}^2"),
    "viscous_cubic": ("cubic", "{f} s^3/{x}^3"),
    "load_friction": ("of the load", ""),
    "offset": ("offset", "{f}"),
    "stiffness": ("spring", "{f}/{x}"),
    "rest": ("relaxed at", "{x}"),
    "series_stiffness": ("elastic gear", "{f}/{x}"),
    "series_damping": ("gear damping", "{f} s/{x}"),
    "torque_speed": ("stall torque and no-load speed", "N m, rad/s"),
    "resistance": ("resistance", "ohm"),
    "inductance": ("inductance", "H"),
    "torque_constant": ("torque constant", "N m/A"),
    "harmonics": ("orders, cosines and sines", "{f}"),
}
"""Words and unit for each key of a drive, with {f} for N m or N and {x} for rad or m."""


class Details:
    """All numbers of a description's links and joints: `print` shows them, `rows()` gives them as data.

    >>> import qddot
    >>> qddot.load("two_link").details().rows()[1]["mass"]
    0.7
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.inertias = {link.name: link.inertia for link in model.links}

    @property
    def mass(self) -> Any:
        """Mass of all links that move, kg; an expression where it is symbolic."""
        fixed = {name for name, (body, _) in self.model.mechanism.frames.items() if body < 0}
        return sum(x.mass for name, x in self.inertias.items() if x is not None and name not in fixed)

    def rows(self) -> list[dict[str, Any]]:
        """Return one mapping per joint: names, type, axis, limits, drive, and mass, com and inertia of the link it moves (about its
        centre of mass: Ixx, Ixy, Ixz, Iyy, Iyz, Izz). Expressions with symbols are given as texts."""
        coordinates = {c.name: c for c in self.model.mechanism.coordinates}
        found = []
        for joint in in_order(self.model.joints, self.model.root):
            c, inertia = coordinates.get(joint.name), self.inertias[joint.child]
            found.append(
                {
                    "joint": joint.name,
                    "type": joint.kind,
                    "parent": joint.parent,
                    "link": joint.child,
                    "axis": None if joint.kind in ("fixed", "free", "spherical") else [plain(x) for x in joint.axis],
                    "q": None if c is None else [c.q.start, c.q.stop],
                    "limits": limits_of(joint.limits),
                    "mass": None if inertia is None else plain(inertia.mass),
                    "com": None if inertia is None else [plain(x) for x in inertia.com],
                    "inertia": None if inertia is None else [plain(x) for x in upper(inertia.tensor)],
                    "drive": drive_of(joint.drive),
                }
            )
        return found

    def __str__(self) -> str:
        lines = [f"{self.model.name}: moving mass {few_digits(self.mass)} kg"]
        for joint in in_order(self.model.joints, self.model.root):
            lines.append(f"{joint.child} on {joint.parent}")
            lines.append(f"  {joint_words(joint)}{limit_words(joint)}")
            lines += [f"  {line}" for line in inertia_words(self.inertias[joint.child])]
            if words := drive_words(joint.drive, joint.kind):
                lines.append(f"  drive: {words}")
        return "\n".join(lines)

    __repr__ = __str__


def limits_of(limits: Limits) -> dict[str, float]:
    """Return the finite limits of a joint, by name."""
    found = {name: getattr(limits, name) for name in ("lower", "upper", "velocity", "effort")}
    return {name: x for name, x in found.items() if math.isfinite(x)}


def drive_of(drive: Drive | None) -> dict[str, Any] | None:
    """Return the constants of a drive that were given, by name; None without a drive."""
    if drive is None:
        return None
    return {name: [plain(x) for x in value] if isinstance(value, tuple) else plain(value) for name, value in drive.given.items()}


def plain(x: Any) -> Any:
    """A number, or the text of an expression."""
    return str(x) if is_symbolic(x) else x


def limit_words(joint: Joint) -> str:
    """Return words such as `, -2.9 to 2.9 rad, at most 2.2 rad/s and 90 N m`."""
    limits = limits_of(joint.limits)
    x, f = units(joint.kind)
    words = ""
    if "lower" in limits or "upper" in limits:
        words += f", {limits.get('lower', -math.inf):.5g} to {limits.get('upper', math.inf):.5g} {x}"
    most = [f"{limits[name]:.5g} {unit}" for name, unit in (("velocity", f"{x}/s"), ("effort", f)) if name in limits]
    return words + (f", at most {' and '.join(most)}" if most else "")


def inertia_words(inertia: Inertia | None) -> list[str]:
    """Return mass, centre and tensor with units; products of inertia only if some are not zero."""
    if inertia is None:
        return ["no inertia"]
    centre = ", ".join(few_digits(x) for x in inertia.com)
    xx, xy, xz, yy, yz, zz = (few_digits(x) for x in upper(inertia.tensor))
    moments = f"Ixx {xx}, Iyy {yy}, Izz {zz}"
    if any(not is_zero(x) for x in (inertia.tensor[0][1], inertia.tensor[0][2], inertia.tensor[1][2])):
        moments += f", Ixy {xy}, Ixz {xz}, Iyz {yz}"
    return [f"mass {few_digits(inertia.mass)} kg, centre of mass ({centre}) m", f"about it {moments} kg m^2"]


def drive_words(drive: Drive | None, kind: str = "revolute") -> str:
    """Return words such as `gear 62.6, rotor 0.0002 kg m^2, viscous 0.00148 N m s/rad (on the motor's side)`."""
    if drive is None:
        return ""
    x, f = ("rad", "N m") if drive.side == "motor" else units(kind)
    words = []
    for name, value in drive.given.items():
        if name in WORDS:
            called, unit = WORDS[name]
            shown = "/".join(few_digits(v) for v in value) if isinstance(value, tuple) else few_digits(value)
            words.append(f"{called} {shown} {unit.format(x=x, f=f)}".strip())
        elif name == "rotor_axis":
            words.append(f"a gyroscope about ({', '.join(few_digits(v) for v in value)})")
    return ", ".join(words) + (" (on the motor's side)" if drive.side == "motor" and words else "")


def units(kind: str) -> tuple[str, str]:
    """Return the units of a joint's position and of its force."""
    return ("m", "N") if kind == "prismatic" else ("rad", "N m")
