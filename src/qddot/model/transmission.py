"""Motors that drive several joints at once: `motor speeds = N qd`, `tau = N^T motor torques`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from qddot.errors import ModelReferenceError, ModelValueError, near_matches
from qddot.model.drive import Drive
from qddot.model.scalar import Scalar, as_scalar
from qddot.place import Place

if TYPE_CHECKING:
    from qddot.model.model import Model

Row = tuple[Scalar, ...]


@dataclass(frozen=True)
class Transmission:
    """Coupled drives: each row of `matrix` is a motor, each column one of `joints`.

    Args:
        joints: names of joints with one coordinate of their own.
        matrix: N, motor turns per joint turn (rad/rad, or rad/m for a slider).
        drives: one for each motor, all on the motor's own side: `rotor_inertia`, `viscous`, `coulomb` and the like; None for
            nothing.
        motors: names; `<first joint>.motor1` and so on by default.

    Raises:
        ModelValueError: a matrix without one row per motor and one column per joint, or a drive with constants only a joint can
            have.

    >>> differential = qddot.Transmission(["joint1", "joint2"], [[1, 1], [1, -1]], motors=["left", "right"])
    >>> wrist = qddot.load("two_link").with_transmission(differential)
    >>> wrist.transmission_matrix.T @ [1.0, -1.0]  # motors against each other turn the second joint
    array([0., 2.])
    """

    joints: tuple[str, ...]
    matrix: tuple[Row, ...]
    drives: tuple[Drive | None, ...] = ()
    motors: tuple[str, ...] = ()
    place: Place | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("joints", "matrix", "drives", "motors"):
            given = getattr(self, name)
            if not is_list(given):
                raise self.refuse(name, given, "a list is needed")
            object.__setattr__(self, name, tuple(given))
        if not all(isinstance(name, str) for name in (*self.joints, *self.motors)):
            raise self.refuse("joints", self.joints, "joints and motors are given by their names")
        if not all(drive is None or isinstance(drive, Drive) for drive in self.drives):
            raise self.refuse("drives", self.drives, "a Drive or None for each motor is needed")
        if not all(is_list(row) and getattr(row, "ndim", 1) == 1 for row in self.matrix):
            raise self.refuse("matrix", self.matrix, "one row a motor is needed, each a list of numbers")
        rows = tuple(tuple(self._number(x) for x in row) for row in self.matrix)
        count = len(rows)
        drives = self.drives or (None,) * count
        motors = self.motors or tuple(f"{self.joints[0] if self.joints else ''}.motor{k + 1}" for k in range(count))
        if not rows or any(len(row) != len(self.joints) for row in rows):
            raise self.refuse("matrix", self.matrix, f"one row a motor, with one number for each of {len(self.joints)} joints")
        for name, given in (("drives", drives), ("motors", motors)):
            if len(given) != count:
                raise self.refuse(name, given, f"one for each of {count} motors is needed")
        for drive in drives:
            own = drive and (drive.gear_ratio != 1, drive.stiffness, drive.series_stiffness, drive.load_friction, drive.rotor_axis)
            if own and any(own):
                rule = "a coupled motor has no gear ratio, spring, elastic gear, load friction or rotor axis of its own"
                raise self.refuse("drives", drive, rule)
        for name, value in (("matrix", rows), ("drives", drives), ("motors", motors)):
            object.__setattr__(self, name, value)

    def _number(self, x: object) -> Scalar:
        try:
            return as_scalar(x)
        except (TypeError, ValueError) as error:
            raise self.refuse("matrix", x, str(error)) from None

    def refuse(self, attribute: str, value: object, rule: str) -> ModelValueError:
        fix = "give joints=[...], matrix=[[...], ...] with a row a motor and a column a joint, and for each motor a Drive or None"
        return ModelValueError(rule, place=self.place, element="transmission", attribute=attribute, text=str(value), fix=fix)

    def map(self, f: Callable[[Scalar], Scalar]) -> Transmission:
        """Return the transmission with `f` applied to every number."""
        matrix = tuple(tuple(map(f, row)) for row in self.matrix)
        return replace(self, matrix=matrix, drives=tuple(drive and drive.map(f) for drive in self.drives))


def is_list(value: object) -> bool:
    """True for a sequence or an array that is not a text."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str) and getattr(value, "ndim", 1) > 0


def check_transmissions(transmissions: Sequence[Transmission], single: Collection[str], joints: Sequence[str]) -> None:
    """Check that every joint named has one coordinate of its own, and that motor names differ. Raises ModelReferenceError: no such
    joint, or one that follows another or has several coordinates; ModelValueError: a name twice."""
    motors = [name for x in transmissions for name in x.motors]
    for x in transmissions:
        for name in x.joints:
            if name not in single:
                rule = f"the joint {name!r} has no single coordinate of its own" if name in joints else f"no joint {name!r}"
                raise ModelReferenceError(rule, place=x.place, element="transmission", fix=near_matches(name, single))
        for name in x.motors:
            if motors.count(name) > 1:
                raise x.refuse("motors", name, "two motors of one name")


def electric_motors(model: Model) -> list[tuple[str, list[Scalar], Drive]]:
    """Return (name, ratios by which each column of qd turns it, its constants) of each motor that can be put under voltage."""
    drives = {joint.name: joint.drive for joint in model.joints}
    drives |= {name: drive for x in model.transmissions for name, drive in zip(x.motors, x.drives)}
    electric = {name: drive for name, drive in drives.items() if drive and drive.is_electric}
    rows = transmission_rows(model) if electric else []
    return [(name, row, electric[name]) for name, row in rows if name in electric]


def transmission_rows(model: Model) -> list[tuple[str, list[Scalar]]]:
    """Return (motor, ratios by which each column of qd turns it): the coupled motors, then those of single joints."""
    coupled = {name for x in model.transmissions for name in x.joints}
    joints = {joint.name: joint for joint in model.joints}
    columns = {c.name: c.v for c in model.mechanism.coordinates}
    rows: list[tuple[str, list[Scalar]]] = []
    for x in model.transmissions:
        for name, ratios in zip(x.motors, x.matrix):
            row: list[Scalar] = [0.0] * model.mechanism.nv
            for joint, ratio in zip(x.joints, ratios):
                row[columns[joint].start] = ratio
            rows.append((name, row))
    for name in columns:
        if name in coupled or name not in joints:  # a coordinate without a joint is the motor of an elastic one
            continue
        drive = joints[name].drive
        elastic = drive is not None and drive.series_stiffness is not None
        for c in columns[f"{name}.motor"] if elastic else columns[name]:
            row = [0.0] * model.mechanism.nv
            row[c] = drive.gear_ratio if drive else 1.0
            rows.append((name, row))
    return rows
