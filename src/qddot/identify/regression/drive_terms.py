"""Parameters of the drives and their columns of the regressor: the laws of `qddot.model.friction` at the samples of a log."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from qddot.errors import InputError
from qddot.model.directed import pair
from qddot.model.field import Arrays
from qddot.model.friction import ANY_SIGN, LAWS, LOAD, OTHER_WAY, ShaftFriction

POWERS = ("viscous", "viscous_quadratic", "viscous_cubic")
PULLS = ("pull", "pull_rise")  # torque per radian, and per square radian, beyond the edge
ARRAYS = Arrays()


class Motion(NamedTuple):
    """Motion of the joints and load on them at the samples of a log; each (N, nv).

    Attributes:
        q: positions.
        qd: rates.
        qdd: accelerations.
        load: sum of all that acts on the joints except friction.
        sliding: rates for dry friction, if they differ from `qd`: they are smaller if its step is over between two samples.
    """

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    load: np.ndarray
    sliding: np.ndarray | None = None

    def speed(self, j: int, dry: bool) -> np.ndarray:
        """Return the speed of joint j (N,) from which dry or other friction is computed."""
        return (self.sliding if dry and self.sliding is not None else self.qd)[:, j]


Column = Callable[[Motion], np.ndarray]
"""Function that returns a column (N,) of one joint's rows of the regressor."""


class Term(NamedTuple):
    """A parameter of the drives, with its column for each joint on which it acts, by the joint's index."""

    name: str
    rows: Mapping[int, Column]
    value: float  # its value in the robot as described


def drive_columns(asked: Mapping[str, Any], joint: str, j: int, width: float) -> Iterator[tuple[str, Column]]:
    """Yield the name and column of each constant of joint j's friction, spring, harmonics and pull that was asked for.
    `width`: the smoothing velocity of dry friction; 0: a sign."""
    for law in asked_laws({**asked, "stribeck": stribeck_of(asked, joint)}, width):
        for constant, _ in law.constants(law):
            yield constant, friction_column(law, constant, j)
    if asked["spring"]:
        yield "stiffness", lambda x: x.q[:, j]
    for k in orders((asked["harmonics"] or {}).get(joint, 0)):
        yield f"cos{k}", lambda x, k=k: np.cos(k * x.q[:, j])
        yield f"sin{k}", lambda x, k=k: np.sin(k * x.q[:, j])
    if joint in (asked["pulls"] or {}):
        edge, way = asked["pulls"][joint]
        yield PULLS[0], lambda x: way * beyond(x.q[:, j], edge, way)
        yield PULLS[1], lambda x: way * beyond(x.q[:, j], edge, way) ** 2


def beyond(q: np.ndarray, edge: float, way: float) -> np.ndarray:
    """Return how far positions (N,) are above an edge (`way` 1) or below it (`way` -1); 0 for those that are not."""
    return np.maximum(way * (q - edge), 0.0)


def is_smooth(name: str, names: Container[str]) -> bool:
    """Return True if the column of a parameter is as smooth as positions and rates, with two continuous derivatives: so every few
    samples represent it (`rows.Rows`)."""
    kind = name.rpartition(".")[2]
    return kind in ("armature", "viscous", "viscous_cubic", "offset", "stiffness") and name + OTHER_WAY not in names


def is_friction(name: str) -> bool:
    """Return True if a parameter of this name is a constant of friction that brakes, which an offset is not."""
    kind = name.rpartition(".")[2].removesuffix(OTHER_WAY)
    return kind == LOAD or kind in {law.name for law in LAWS}.difference(ANY_SIGN)


def is_harmonic(kind: str) -> bool:
    """Return True if a drive's constant of this name belongs to a harmonic: `cos7`, `sin7`."""
    return kind[:3] in ("cos", "sin") and kind[3:].isdigit()


def asked_laws(asked: Mapping[str, Any], width: float) -> list[ShaftFriction]:
    """Return a friction model for each law that is asked for, with a constant of one."""
    asymmetric, stribeck = asked["asymmetric"], asked["stribeck"]
    both = (1.0, 2.0) if asymmetric else (1.0, 1.0)  # constants that differ get a column for each direction
    wanted: dict[str, Any] = {name: both if name == "viscous" else 1.0 for name in POWERS[: int(asked["viscous"])]}
    wanted |= {"coulomb": both} if asked["coulomb"] else {}
    wanted |= {"offset": 1.0} if asked["offset"] and (width or not asymmetric) else {}  # a sign each way contains the offset
    wanted |= {"stribeck": (1.0, 1.0)} if stribeck is not None else {}
    wanted |= {"load": 1.0} if asked["load"] else {}
    steepness = 1 / stribeck if stribeck else 0.0
    return [ShaftFriction(**{name: value}, width=width, steepness=steepness) for name, value in wanted.items()]


def stribeck_of(asked: Mapping[str, Any], joint: str) -> float | None:
    """Return the speed at which a joint's Stribeck curve has halved; None without one."""
    speed = asked["stribeck"]
    return speed.get(joint) if isinstance(speed, Mapping) else speed


def orders(harmonics: int | Sequence[int]) -> Sequence[int]:
    """Return the orders of the harmonics, which are given as their number or as a list."""
    found = range(1, harmonics + 1) if isinstance(harmonics, int) else tuple(harmonics)
    if any(k < 1 for k in found) or len(set(found)) < len(found):
        raise InputError(f"harmonics={harmonics!r}: how many, or which of them: 1, 2, ..., each once")
    return found


def friction_column(friction: ShaftFriction, constant: str, j: int) -> Column:
    """Return the column of one constant of joint j's friction; `friction` has only the law of this constant."""
    law = next((law for law in LAWS if law.name == constant.removesuffix(OTHER_WAY)), None)  # none: friction by the load
    dry = law is None or law.is_dry
    if constant == "stribeck":  # only its step takes the speed for dry friction, its fall takes qd
        return lambda x: friction.at(ARRAYS, x.speed(j, dry)).step / friction.at(ARRAYS, x.qd[:, j]).fall
    if law is not None and law.is_same_both_ways(friction):
        return lambda x: np.broadcast_to(law.curve(friction.at(ARRAYS, x.speed(j, dry))), len(x.qd))
    return lambda x: friction.at(ARRAYS, x.speed(j, dry)).curves(x.load[:, j] if law is None else 0.0)[constant]


def described(friction: ShaftFriction, constant: str, asymmetric: bool) -> float:
    """Return the value of a constant in a described drive.

    If one constant is sought for both directions, it is the mean of those of the directions, and half the difference of Coulomb
    friction is part of the offset. Springs, harmonics and pulls are sought in addition to those described, so their value is 0.
    """
    if not hasattr(friction, constant.removesuffix(OTHER_WAY)):
        return 0.0
    of = {name: pair(getattr(friction, name)) for name in ("viscous", "coulomb", "stribeck")}
    name = constant.removesuffix(OTHER_WAY)
    if name == "offset":
        return float(friction.offset + (0.0 if asymmetric else (of["coulomb"][0] - of["coulomb"][1]) / 2))
    if name not in of:
        return float(getattr(friction, name))
    if name == "stribeck" or not asymmetric:
        return float(sum(of[name]) / 2)
    return float(of[name][constant != name])


def dry_step(v: np.ndarray, width: float) -> np.ndarray:
    """Return the step of dry friction at speeds v (N,), smoothed over `width`; 0: a sign."""
    return ShaftFriction(coulomb=(1.0, 1.0), width=width).at(ARRAYS, v).step


def coupling(i: int, j: int, name: str, width: float) -> list[Term]:
    """Return the terms of a motor that turns with the sum of two joints: its rotor and friction act in the rows of both.

    The part of the rotor and of viscous friction by which a joint acts on itself is contained in that joint's own parameters.
    """
    both = lambda x: dry_step(x.qd[:, i] + x.qd[:, j], width)  # noqa: E731
    return [
        Term(f"{name}.armature", {i: lambda x: x.qdd[:, j], j: lambda x: x.qdd[:, i]}, 0.0),
        Term(f"{name}.viscous", {i: lambda x: x.qd[:, j], j: lambda x: x.qd[:, i]}, 0.0),
        Term(f"{name}.coulomb", {i: both, j: both}, 0.0),
    ]
